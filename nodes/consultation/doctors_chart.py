"""Which doctor consults, and what that doctor knows of the case."""

from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Chart, Findings, of_the_dialogue
from nodes.workflow.stages import read_chart


def stage_of_doctor(context: Context, consultation: bool) -> str:
    """Return the stage of the doctor's role; in a consultation with examinations, the patient system names it."""
    patient = PATIENTS[context.patient]
    if not consultation or not patient.examines:
        return "history_taking"
    return patient.doctor


def chart_of_doctor(findings: Findings, stage: str, context: Context, consultation: bool) -> Chart:
    """Return the chart as that doctor reads it at a stage of the workflow; only the dialogue, if nothing else is known.

    What is known is as set, else nothing with CliniChat's patient alone, as published.
    """
    chart = read_chart(findings, stage, context.language)
    published = "nothing" if stage_of_doctor(context, consultation) == "clinichat" else "complaint"
    return of_the_dialogue(chart) if (context.doctor_knows or published) == "nothing" else chart
