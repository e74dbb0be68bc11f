"""``wardround score medchain``: a finished run, judged again."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.score.output import ExtraTable, JsonOption, Mode, ModeOption, Scores, refuse, show


def medchain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="A judge's model, such as diagnosis_judge=openai:gpt-4o; repeatable."),
    ] = None,
) -> None:
    """The stage scores of a run of the clinical workflow, from its recorded answers; no doctor is asked again."""
    import asyncio

    from cases import CaseFileError
    from llm import ModelSpecError
    from scoring.metrics.statistics import Estimate
    from wardround.analysis.rescoring import rescore
    from wardround.config.experiment import ConfigurationError
    from wardround.config.experiment_file import parse_models

    try:
        results, summary = asyncio.run(rescore(run, parse_models(models or []), "medchain"))
    except (CaseFileError, ConfigurationError, ModelSpecError, ValueError) as error:
        refuse(str(error))
    passages = ExtraTable(
        "Error propagation (threshold 0.5)",
        ("stage", "entered", "still right", "accuracy"),
        [
            (
                passage["stage"],
                str(passage["entered"]),
                str(passage["still_right"]),
                "-" if passage["accuracy"]["mean"] is None else f"{passage['accuracy']['mean']:.3f}",
            )
            for passage in summary["error_propagation"]
        ],
    )
    notes = [
        f"{stage}: {count} not scored ({reason})"
        for stage, reasons in summary["unscored"].items()
        for reason, count in reasons.items()
    ]
    if mode is Mode.PAPER:
        notes.append("Both modes agree here: the paper leaves nothing else to compute.")
    metrics = {name: Estimate.model_validate(score) for name, score in summary["scores"].items()}
    show(Scores("medchain", mode, len(results), metrics, [passages], notes), json_file)
