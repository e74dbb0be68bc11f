"""Convert our consultations to Med-PMC transcripts, as read by ``wardround score medpmc``."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from cases import Case
from cases.text.record_sentences import facts_of
from cases.vocabulary import Language, label
from llm import ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Turn
from nodes.workflow.examiner import release
from prompts import load_words, mark
from scoring.aie import transcripts as aie
from scoring.consultation import ConsultationAnswers, doctor_turns
from scoring.medpmc.transcripts import END, MedPmcTranscript

# Med-PMC's action codes; it has none for demands.
CODES = {**aie.CODES, "Initialization": "0", "Demand": "B-B", "Other Topic": "C", "Conclusion": END}


def pictures_withheld(context: Context) -> bool:
    """Whether the dialogue cannot show a picture, so that there is none to analyse.

    Without the tracker, and by patients that show none, results are told in words.
    """
    patient = PATIENTS[context.patient]
    shows = patient.examines and patient.shows and context.tracker
    return not (shows and context.send_pictures and context.pictures_in_dialogue == "consultation")


def medpmc_transcript(
    case: Case, dialogue: Sequence[Turn], report: FinalReport | None, *, withheld: bool = False
) -> dict[str, Any]:
    """Return one record of a transcript file; ``withheld``, our own field, marks that no picture could be shown.

    The texts are the source's own if the case kept them, so that the recalls have the authors' references. A doctor's
    turn without a reply is the end. The patient's words are those that the doctor heard, with the plain ones beside
    them if a persona changed them. An untracked turn has an empty state.
    """
    key = case.key
    released, _ = release(case.examinations, list(case.examinations.results), case.folder, send_pictures=True)
    colon = mark("label", case.language)
    results = [f"{label(item, case.language)}{colon}{text}" for item, text in released.items()]
    marks = [
        f"{image.name or label(image.item, case.language)}{colon}{_mark(Path(image.file).name)}"
        for image in case.examinations.images
    ]
    return {
        "id": case.id,
        "Text": {
            **patient_sections(case),
            "Examinations": "\n".join([*results, *marks]),
            "Diagnosis": mark("series", case.language).join(key.diagnosis),
            "Treatment": key.treatment_course,
            **case.provenance.sections,
        },
        "Image": {Path(image.file).name: case.report_of(image.item, image.file) for image in case.examinations.images},
        "history": list(_history(dialogue)),
        "diagnosis_self": _markdown(report, case.language) if report else "",
        **({"withheld": True} if withheld else {}),
    }


def transcript_of(case: Case, answers: ConsultationAnswers, settings: ModelSettings | None = None) -> MedPmcTranscript:
    """Return a consultation as a transcript; with a run's settings, marked if it could show no picture."""
    withheld = isinstance(settings, Context) and pictures_withheld(settings)
    record = medpmc_transcript(case, answers.dialogue, answers.report, withheld=withheld)
    return MedPmcTranscript.model_validate(record)


def patient_sections(case: Case) -> dict[str, str]:
    """Return the patient's sections of a Med-PMC record, without examinations, diagnosis and treatment."""
    patient = case.patient
    person = [fact.text for fact in facts_of(case) if fact.section == "person"]
    past = [patient.past_history, patient.personal_history, patient.family_history]
    return {
        "Patient Information": mark("space", case.language).join(person),
        "Chief Complaint": patient.chief_complaint,
        "Present Illness": patient.present_illness,
        "Physical Condition": "",
        "Past Medical History": mark("space", case.language).join(part for part in past if part),
    }


def _history(dialogue: Sequence[Turn]) -> Iterator[dict[str, str]]:
    for one in doctor_turns(dialogue):
        asked, replies = one.doctor, [turn for turn in one.reply if turn.addressee != "examiner"]
        if not replies:
            yield {"doctor": asked.text, "state": END, "memory": ""}
            continue
        by_technician = replies[0].speaker == "examiner"
        entry = {
            "doctor": asked.text,
            "state": CODES.get(asked.action or "", ""),
            "exam_memory" if by_technician else "memory": "\n".join(fact for turn in replies for fact in turn.facts),
        }
        if any(turn.plain for turn in replies):
            entry["standard_patient"] = "\n".join(turn.plain or turn.text for turn in replies)
        told = [(turn.text, *(_mark(Path(picture.file).name) for picture in turn.pictures)) for turn in replies]
        yield {**entry, "patient": "\n".join(chain(*told))}


def _mark(name: str) -> str:
    """Return Med-PMC's mark of an image in a text."""
    return f"<\\image{name}>"


def _markdown(report: FinalReport, language: Language) -> str:
    diagnosis = mark("series", language).join(report.diagnosis)
    parts = (report.symptoms, report.examinations, diagnosis, report.basis, report.treatment)
    headings = load_words("judges/words", language)["report"]
    return "\n\n".join(f"## {heading}\n{part}" for heading, part in zip(headings, parts, strict=True) if part)
