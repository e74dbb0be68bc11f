"""``wardround tune``: train an interviewer on dialogues (CliniChatGLM)."""

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option

from wardround.commands.exit_codes import fail_if, refuse
from wardround.printing import echo

if TYPE_CHECKING:
    from wardround.tuning.curve import Step


def tune(
    context: Context,
    dialogues: Annotated[Path | None, Argument(metavar="DIALOGS", help="JSON-lines file of dialogues.")] = None,
    base: Annotated[
        str | None, Option(metavar="MODEL_OR_PATH", help="Model to adapt: a name on the Hugging Face Hub, or a path.")
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="DIR", help="Directory for the adapter and the training record.")
    ] = None,
    method: Annotated[
        str, Option(metavar="prefix|lora", help="Adapt with P-Tuning v2 (prefix) or LoRA (lora).")
    ] = "prefix",
    example: Annotated[
        str, Option(metavar="turn|dialogue", help="Encode each turn, or each dialogue, as one example.")
    ] = "turn",
    epochs: Annotated[int, Option(help="Number of passes over the dialogues.")] = 1,
    batch: Annotated[int, Option(help="Number of examples per step.")] = 48,
    accumulate: Annotated[int, Option(help="Number of parts that a batch is split into (gradient accumulation).")] = 1,
    prefix: Annotated[int, Option(help="Number of virtual tokens of the prefix.")] = 128,
    rank: Annotated[int, Option(help="Rank of the LoRA matrices; alpha is twice that.")] = 8,
    source: Annotated[int, Option(help="Maximum number of tokens of the dialogue so far.")] = 2048,
    target: Annotated[int, Option(help="Maximum number of tokens of the physician's turn.")] = 128,
    learning_rate: Annotated[
        float | None, Option(help="Learning rate at the start; it falls linearly.", show_default="0.01; LoRA 0.0002")
    ] = None,
    precision: Annotated[
        str, Option(metavar="float32|bfloat16", help="Number format of the frozen base model.")
    ] = "float32",
    checkpointing: Annotated[
        bool, Option("--checkpointing", help="Save memory by recomputing activations (LoRA).")
    ] = False,
    packing: Annotated[bool, Option("--packing", help="Fill each sequence with whole examples (LoRA).")] = False,
    seed: Annotated[int, Option(help="Seed of the initial adapter and of the order of the examples.")] = 0,
    save_every: Annotated[int, Option(min=1, help="Number of steps between checkpoints.")] = 100,
    keep: Annotated[int, Option(min=1, help="Number of newest checkpoints to keep.")] = 2,
    evaluate: Annotated[
        Path | None,
        Option(metavar="EXPERIMENT", help="Run this experiment with each checkpoint as `clinichat.doctor`."),
    ] = None,
    smoke: Annotated[bool, Option("--smoke", help="Check the training offline, on a tiny random model.")] = False,
) -> None:
    """Train an interviewer on dialogues.

    The model learns the physician's next turn from the dialogue so far. The defaults are those of CliniChat's Table 5.
    Run the same command again to resume from the last checkpoint.
    """
    from cases import CaseFileError
    from cases.dialogue_files import read_dialogues
    from wardround.tuning.base import require_extra
    from wardround.tuning.configuration import Tuning, read_tuning

    sources = {name: context.get_parameter_source(name) for name in Tuning.model_fields}
    given = {name: context.params[name] for name, source in sources.items() if source and source.name != "DEFAULT"}
    require_extra()
    _silence_libraries()
    if smoke:
        if given or dialogues is not None or out is not None or evaluate is not None:
            refuse("--smoke takes no other options; leave them out")
        _smoke()
        return
    if dialogues is None or base is None or out is None:
        refuse("DIALOGS, --base and --out are required, unless --smoke is given")
    tuning = read_tuning(given)
    read, problems = read_dialogues(dialogues)
    if problems:
        raise CaseFileError(problems)

    from wardround.tuning.train import train

    outcome = train(tuning, read, out, _report, save_every, keep, evaluate, partial(echo, err=True))
    counts = outcome.counts
    echo(
        f"{counts.dialogues} dialogues, {counts.turns} turns of the physician in {counts.examples} examples; "
        f"{counts.shortened_sources} shortened by their oldest turns, {counts.cut_targets} cut at the target length"
    )
    left_out = counts.openings + counts.unanswerable + counts.empty
    if left_out:
        echo(f"turns left out: {counts.openings} openings, {counts.unanswerable} too long, {counts.empty} empty")
    if outcome.model is None:
        echo("already trained")
    echo(f"{len(outcome.steps)} steps, loss {outcome.steps[0].loss:.3f} to {outcome.steps[-1].loss:.3f}")
    echo(f"Model: hf:{out}")


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
    fail_if(failed)
