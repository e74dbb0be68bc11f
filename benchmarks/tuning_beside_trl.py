"""Train the same base on the same dialogues by TRL's own example and by `wardround tune`: time and memory.

    python -m benchmarks.tuning_beside_trl BASE DIALOGUES.jsonl [--batch 8] [--longest 2177] [--json FILE]

BASE is a folder of weights. Each way trains for one epoch in a process of its own, with adapters of the same size on a
base of the same precision. A dialogue's tokens are counted once, however often a way reads them, so tokens a second
compares the time that the same dialogues take. The first step, which warms up, is not timed. Peak memory is measured
on CUDA only. TRL's example is `trl/scripts/sft.py`, called as `trl sft` calls it.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
import transformers
import typer
from rich.console import Console
from rich.table import Table

from cases.dialogue_files import read_dialogues
from cases.dialogues import PHYSICIAN, Dialogue

GPU = torch.cuda.is_available()
PRECISION = "bfloat16" if GPU else "float32"
RANK, TARGET = 8, 128
# The name of a way, with the options that make it; the first ones are TRL's, the others `wardround tune`'s.
TRL: dict[str, list[str]] = {
    "TRL": [],
    "TRL, without checkpointing": ["--gradient_checkpointing", "false"],
    "TRL, packing, without checkpointing": ["--gradient_checkpointing", "false", "--packing"],
}
OURS: dict[str, dict[str, Any]] = {
    "LoRA, dialogues, checkpointing": {"method": "lora", "example": "dialogue", "checkpointing": True},
    "LoRA, dialogues": {"method": "lora", "example": "dialogue"},
    "LoRA, dialogues, packing": {"method": "lora", "example": "dialogue", "packing": True},
    "LoRA, turns": {"method": "lora", "example": "turn"},
    "prefix, dialogues": {"method": "prefix", "example": "dialogue"},
    "prefix, turns": {"method": "prefix", "example": "turn"},
}


class Clock(transformers.TrainerCallback):
    """Records when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for the device and record the time."""
        if GPU:
            torch.cuda.synchronize()
        self.ends.append(time.perf_counter())


def train_by_trl(way: str, base: str, dialogues: Sequence[Dialogue], batch: int, longest: int, folder: Path) -> None:
    """Call TRL's example on the dialogues as chat messages."""
    from trl.scripts import sft

    (folder / "data").mkdir()
    with (folder / "data" / "train.jsonl").open("w", encoding="utf-8") as file:
        for dialogue in dialogues:
            messages = [{"role": message.role, "content": message.content} for message in dialogue.spoken]
            file.write(json.dumps({"messages": messages}) + "\n")
    lora = ["--use_peft", "--lora_r", f"{RANK}", "--lora_alpha", f"{2 * RANK}", "--lora_target_modules", "all-linear"]
    size = ["--per_device_train_batch_size", f"{batch}", "--max_length", f"{longest}", "--num_train_epochs", "1"]
    places = ["--model_name_or_path", base, "--dataset_name", f"{folder / 'data'}", "--output_dir", f"{folder / 'out'}"]
    rest = ["--report_to", "none", "--save_strategy", "no", "--learning_rate", "2e-4", "--dtype", PRECISION]
    rest += ["--bf16", str(GPU)]
    sft.main(*sft.make_parser().parse_args_and_config([*places, *lora, *size, *rest, *TRL[way]]))


def train_by_us(way: str, base: str, dialogues: Sequence[Dialogue], batch: int, longest: int, folder: Path) -> None:
    """Do what `wardround tune` does; a step has as many turns as its dialogues have."""
    from wardround.tuning.configuration import read_tuning
    from wardround.tuning.train import train

    turns = sum(message.role == PHYSICIAN for one in dialogues for message in one.spoken) // len(dialogues)
    examples = batch * turns if OURS[way]["example"] == "turn" else batch
    sizes = {"batch": examples, "source": longest - TARGET - 1, "target": TARGET}
    train(read_tuning({"base": base, "precision": PRECISION, **sizes, **OURS[way]}), dialogues, folder / "out")


def measure(way: str, base: str, dialogues: Sequence[Dialogue], batch: int, longest: int) -> dict[str, Any]:
    """Return the seconds that an epoch takes in this way, and the peak of memory in GiB (None without CUDA)."""
    callbacks: list[Any] = transformers.trainer.DEFAULT_CALLBACKS  # of every trainer, TRL's own too
    clock = Clock()
    callbacks.append(clock)
    with tempfile.TemporaryDirectory() as temporary:
        train = train_by_trl if way in TRL else train_by_us
        train(way, base, dialogues, batch, longest, Path(temporary))
    steps = len(clock.ends)
    seconds = (clock.ends[-1] - clock.ends[0]) * steps / (steps - 1)
    peak = torch.cuda.max_memory_allocated() / 2**30 if GPU else None
    return {"way": way, "steps": steps, "seconds": seconds, "GiB": peak}


def count_tokens(base: str, dialogues: Sequence[Dialogue]) -> int:
    """Return the tokens of the dialogues, each read once."""
    from wardround.tuning.base import load_tokenizer

    tokenizer = load_tokenizer(base)
    return sum(len(tokenizer(message.content).input_ids) for one in dialogues for message in one.spoken)


def main(
    base: Path,
    dialogues: Path,
    batch: Annotated[int, typer.Option(help="Dialogues per step.")] = 8,
    longest: Annotated[int, typer.Option(help="Tokens of the longest sequence.")] = 2177,
    ways: Annotated[str, typer.Option("--ways", help="Only the ways whose names begin so, by ;")] = "",
    result: Annotated[Path | None, typer.Option("--json", help="File for the figures.")] = None,
    one: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure each way in a process of its own, and print a table."""
    read, problems = read_dialogues(dialogues)
    if problems:
        raise typer.BadParameter("; ".join(map(str, problems)))
    if one:
        print("\n" + json.dumps(measure(one, str(base), read, batch, longest)))
        return
    tokens = count_tokens(str(base), read)
    device = torch.cuda.get_device_name() if GPU else "CPU"
    table = Table("way", "steps", "seconds an epoch", "tokens a second", "peak GiB")
    rows = []
    for way in (way for way in (*TRL, *OURS) if way.startswith(tuple(ways.split(";")))):
        done = subprocess.run([*sys.orig_argv, "--one", way], capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["ended"])[-1]
            print(f"{way}: {reason}", file=sys.stderr)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        rows.append({**row, "tokens a second": tokens / row["seconds"], "device": device, "batch": batch})
        memory = "-" if row["GiB"] is None else f"{row['GiB']:.2f}"
        table.add_row(way, str(row["steps"]), f"{row['seconds']:.2f}", f"{tokens / row['seconds']:.0f}", memory)
    Console().print(f"{len(read)} dialogues, {tokens} tokens, {batch} dialogues per step, {PRECISION}, {device}", table)
    if result is not None:
        result.write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    typer.run(main)
