"""``wardround tune``: train an interviewer on dialogues (CliniChatGLM)."""

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wardround.commands.exit_codes import INTERRUPTED, SOME_FAILED
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from cases.dialogues import Dialogue
    from wardround.tuning.curve import Step


def tune(
    context: typer.Context,
    dialogues: Annotated[Path | None, typer.Argument(metavar="DIALOGS", help="A JSON-lines file of dialogues.")] = None,
    base: Annotated[str | None, typer.Option(metavar="MODEL_OR_PATH", help="The model that is adapted.")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the adapter and its record go.")] = None,
    method: Annotated[
        str | None, typer.Option(metavar="prefix|lora", help="P-Tuning v2, or LoRA.", show_default="prefix")
    ] = None,
    example: Annotated[
        str | None, typer.Option(metavar="turn|dialogue", help="What is encoded as one example.", show_default="turn")
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Times through the dialogues.", show_default="1")] = None,
    batch: Annotated[int | None, typer.Option(help="Examples of one step.", show_default="48")] = None,
    accumulate: Annotated[
        int | None, typer.Option(help="Parts in which a batch goes through the model.", show_default="1")
    ] = None,
    prefix: Annotated[int | None, typer.Option(help="Virtual tokens of the prefix.", show_default="128")] = None,
    rank: Annotated[int | None, typer.Option(help="Rank of LoRA's matrices.", show_default="8")] = None,
    source: Annotated[int | None, typer.Option(help="Tokens of dialogue read at most.", show_default="2048")] = None,
    target: Annotated[
        int | None, typer.Option(help="Tokens of the physician's words at most.", show_default="128")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="At the start; falls linearly.", show_default="0.01; LoRA 0.0002")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(metavar="float32|bfloat16", help="Of the frozen base.", show_default="float32")
    ] = None,
    checkpointing: Annotated[
        bool | None, typer.Option("--checkpointing", help="Less memory for more time (LoRA).")
    ] = None,
    packing: Annotated[
        bool | None, typer.Option("--packing", help="Fill each sequence with whole examples (LoRA).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the adapter and the order.", show_default="0")] = None,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between two checkpoints.")] = 100,
    keep: Annotated[int, typer.Option(min=1, help="How many checkpoints are kept, the newest.")] = 2,
    evaluate: Annotated[
        Path | None, typer.Option(metavar="EXPERIMENT", help="Interviews by each checkpoint, as `clinichat.doctor`.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Train a tiny random model, offline, and check what must hold.")
    ] = False,
) -> None:
    """Train an interviewer on dialogues.

    It learns the physician's words, given the dialogue so far. The defaults are CliniChat's Table 5. Running the same
    command again goes on at the last checkpoint.
    """
    from wardround.tuning.configuration import TrainingStoppedError, Tuning, TuningError, read_tuning

    given = {name: value for name, value in context.params.items() if name in Tuning.model_fields and value is not None}
    try:
        from wardround.tuning.base import require_extra

        require_extra()
        _silence_libraries()
        if smoke:
            if given or dialogues is not None or out is not None or evaluate is not None:
                raise TuningError("--smoke takes no other option")
            _smoke()
            return
        if dialogues is None or base is None or out is None:
            raise TuningError("DIALOGS, --base and --out are needed (or --smoke)")
        tuning = read_tuning(given)
        read = _read(dialogues)

        from wardround.tuning.train import train

        outcome = train(tuning, read, out, _report, save_every, keep, evaluate, partial(echo, err=True))
    except TrainingStoppedError as error:
        echo(f"error: {error}", err=True)
        raise typer.Exit(SOME_FAILED) from None
    except KeyboardInterrupt:
        echo("interrupted; run the same command again to go on at the last checkpoint", err=True)
        raise typer.Exit(INTERRUPTED) from None
    counts = outcome.counts
    echo(
        f"{counts.dialogues} dialogues, {counts.turns} turns of the physician in {counts.examples} examples; "
        f"{counts.shortened_sources} without their oldest turns, {counts.cut_targets} cut at the target length"
    )
    left_out = counts.openings + counts.unanswerable + counts.empty
    if left_out:
        echo(f"no examples: {counts.openings} openings, {counts.unanswerable} too long, {counts.empty} empty")
    if outcome.model is None:
        echo("already trained")
    echo(f"{len(outcome.steps)} steps, loss {outcome.steps[0].loss:.3f} to {outcome.steps[-1].loss:.3f}")
    echo(f"Model: hf:{out}")


def _read(path: Path) -> "list[Dialogue]":
    from cases.dialogues import read_dialogues
    from wardround.tuning.configuration import TuningError

    read, problems = read_dialogues(path)
    if problems:
        raise TuningError("\n".join(str(problem) for problem in problems))
    return read


def _report(step: "Step", steps: int) -> None:
    echo(f"step {step.step}/{steps}: loss {step.loss:.4f}", err=True)


def _silence_libraries() -> None:
    """Silence the libraries' warnings and progress bars; errors are still shown."""
    import os
    import warnings

    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    import datasets
    import transformers

    for library in (transformers, datasets):
        logging: Any = library.utils.logging
        logging.set_verbosity_error()
        logging.disable_progress_bar()


def _smoke() -> None:
    from wardround.tuning.smoke import smoke

    with tempfile.TemporaryDirectory() as temporary:
        checks = []
        for check in smoke(Path(temporary), echo):
            checks.append(check)
            echo(f"{'FAILED' if check.faults else 'ok'}: {check.name}")
            for fault in check.faults:
                echo(f"  {fault}")
    failed = sum(bool(check.faults) for check in checks)
    echo(f"{len(checks)} checks, {failed} failed")
    if failed:
        raise typer.Exit(SOME_FAILED)
