"""``wardround score mcq``: ask a run's cases as multiple-choice questions, beside the diagnoses of its dialogues."""

from typing import Annotated

from typer import Option

from wardround.analysis.multiple_choice import compare_formats
from wardround.commands.score.choices import formats_compared, percentages
from wardround.commands.score.output import Scores
from wardround.commands.score.rescored import RunDirectory
from wardround.config.command_line import parse_models
from wardround.run.own_loop import run_alone


def mcq(
    run: RunDirectory,
    models: Annotated[
        list[str] | None,
        Option(metavar="ROLE=SPEC", help="Model for mcq_doctor or distractor_writer; may be repeated."),
    ] = None,
) -> Scores:
    """Compare multiple-choice with interactive diagnoses.

    Scores are in percent, on the cases of a finished run. A case's own options are used if the correct one is its
    diagnosis. Every other case gets four distractors, written once for all runs of a sweep and saved as options.jsonl
    in the run directory. To ask questions about anything other than the diagnosis, use `score aie RUN --mcq`.
    """
    found = run_alone(compare_formats, run, parse_models(models or []))
    metrics, over_answered = (percentages(values) for values in (found.samples, found.answered))
    answered = {name: one for name, one in over_answered.items() if one.n < metrics[name].n}
    tables = [formats_compared(*found.samples.values())]
    failed = bool(answered or found.unwritten)
    return Scores(
        "mcq", "sound", found.cases, metrics, tables, found.missing, failed, answered, mcq_chosen=found.chosen
    )
