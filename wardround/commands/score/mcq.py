"""``wardround score mcq``: a finished run's cases as multiple-choice questions, beside its interactive diagnoses."""

from typing import Annotated

import anyio
import typer

from llm.specs import HUMAN
from scoring.aie.mcq import METRIC, answer_questions, mcq_diagnosis, mcq_doctor, questions_of
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import PERCENT, Sample, estimates
from wardround.analysis.multiple_choice import compare_formats
from wardround.commands.exits import refuse
from wardround.commands.score.output import ExtraTable, Mode, Scores
from wardround.commands.score.rescored import RunDirectory
from wardround.commands.score.transcripts import asking, compared
from wardround.config.experiment_file import parse_models


def mcq(
    run: RunDirectory,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="The model of mcq_doctor or distractor_writer; repeatable."),
    ] = None,
) -> Scores:
    """The multiple-choice format against the interactive one, on the cases of a finished run (percent).

    Each case gets four distractors once, kept in the run directory as options.jsonl.
    """
    found = anyio.run(compare_formats, run, parse_models(models or []))
    metrics = estimates(found.samples, clustered=True, ends=PERCENT)
    table = formats_compared(*found.samples.values())
    return Scores("mcq", Mode.SOUND, found.cases, metrics, [table], found.missing)


def formats_compared(mcq: list[Sample], interactive: list[Sample]) -> ExtraTable:
    """The paired difference of the two formats."""
    title = "Multiple choice minus interactive, paired by case"
    return compared({"DIAGNOSIS": mcq}, {"DIAGNOSIS": interactive}, title)


def ask_again_as_mcq(transcripts: list[AieTranscript], spec: str) -> tuple[list[Sample], list[str]]:
    """MCQ_DIAGNOSIS of the cases of transcripts, each asked once; and what is missing, one sentence each.

    Raises:
        typer.Exit: with code 2 if the model spec cannot be used.
    """
    if spec == HUMAN:
        refuse("--mcq: a person cannot be asked here; name a model or 'offline'")
    questions, reasons = questions_of(transcripts)
    answered = anyio.run(answer_questions, questions, asking({mcq_doctor.name: spec}, "--mcq"))
    missing = [f"Case {case}: {METRIC} missing ({reason})." for case, reason in (reasons | answered.failures).items()]
    return mcq_diagnosis(questions, answered.letters), missing
