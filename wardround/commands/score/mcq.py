"""``wardround score mcq``: a finished run's cases as multiple-choice questions, beside its interactive diagnoses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wardround.commands.score.output import ExtraTable, JsonOption, Mode, Scores, refuse, show
from wardround.commands.score.transcripts import compared

if TYPE_CHECKING:
    from scoring.aie.transcripts import AieTranscript
    from scoring.metrics.samples import Sample


def mcq(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    json_file: JsonOption = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="The model of mcq_doctor or distractor_writer; repeatable."),
    ] = None,
) -> None:
    """The multiple-choice format against the interactive one, on the cases of a finished run (percent).

    Each case gets four distractors once, kept in the run directory as options.jsonl.
    """
    import asyncio

    from cases import CaseFileError
    from scoring.metrics.samples import estimates
    from wardround.analysis.multiple_choice import compare_formats
    from wardround.config.experiment_file import parse_models
    from wardround.store.durable_lines import RunStoppedError

    try:
        found = asyncio.run(compare_formats(run, parse_models(models or [])))
    except (CaseFileError, RunStoppedError, ValueError) as error:
        refuse(str(error))
    metrics = estimates(found.samples, clustered=True)
    table = formats_compared(*found.samples.values())
    show(Scores("mcq", Mode.SOUND, found.cases, metrics, [table], found.missing), json_file)


def formats_compared(mcq: "list[Sample]", interactive: "list[Sample]") -> ExtraTable:
    """The paired difference of the two formats."""
    title = "Multiple choice minus interactive, paired by case"
    return compared({"DIAGNOSIS": mcq}, {"DIAGNOSIS": interactive}, title)


def ask_again_as_mcq(transcripts: "list[AieTranscript]", spec: str) -> "tuple[list[Sample], list[str]]":
    """MCQ_DIAGNOSIS of the cases of transcripts, each asked once; and what is missing, one sentence each.

    Raises:
        typer.Exit: with code 2 if the model spec cannot be used.
    """
    import asyncio

    from llm import ModelSettings
    from llm.specs import HUMAN
    from scoring.aie.mcq import METRIC, answer_questions, mcq_diagnosis, mcq_doctor, questions_of

    if spec == HUMAN:
        refuse("--mcq: a person cannot be asked here; name a model or 'offline'")
    questions, reasons = questions_of(transcripts)
    try:
        settings = ModelSettings(models={mcq_doctor.name: spec})
        answered = asyncio.run(answer_questions(questions, settings))
    except ValueError as error:  # a misspelt model, or one whose package or key is missing
        refuse(f"--mcq: {error}")
    missing = [f"Case {case}: {METRIC} missing ({reason})." for case, reason in (reasons | answered.failures).items()]
    return mcq_diagnosis(questions, answered.letters), missing
