"""Measure how fast an interviewer is trained, and its memory: a random model of a usual shape, a few steps, no data.

    python -m benchmarks.tuning_speed [--shape tiny|0.5b|1.5b|7b] [--method prefix|lora] [--batch 48] [--accumulate 16]
                                      [--source 2048] [--target 128] [--steps 5] [--precision bfloat16]

The shapes are those of Qwen2.5. Each example has the maximum length, unlike any real dialogue, so the output is the
worst case. The first step, which warms up, is not timed. Peak memory is measured on CUDA only.
"""

import tempfile
import time
from array import array
from pathlib import Path
from typing import Any

import torch
import transformers
import typer
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from wardround.tuning.base import load_adapted
from wardround.tuning.configuration import Tuning, read_tuning
from wardround.tuning.examples import UNLABELLED, Example
from wardround.tuning.smoke import make_base
from wardround.tuning.train import trainer_of

GPU = torch.cuda.is_available()
# hidden size, intermediate size, layers, heads, key-value heads, vocabulary
SHAPES = {
    "tiny": (64, 128, 2, 4, 2, 1000),
    "0.5b": (896, 4864, 24, 14, 2, 151936),
    "1.5b": (1536, 8960, 28, 12, 2, 151936),
    "7b": (3584, 18944, 28, 28, 4, 152064),
}


def write_base(folder: Path, shape: str, precision: str) -> int:
    """Write a random model, and return its number of parameters."""
    hidden, intermediate, layers, heads, shared, vocabulary = SHAPES[shape]
    config = Qwen2Config(
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        vocab_size=vocabulary,
        max_position_embeddings=32768,
        tie_word_embeddings=hidden < 2048,
        dtype=precision,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, precision))
    try:
        with torch.device("cuda" if GPU else "cpu"):
            model: Any = Qwen2ForCausalLM(config)
    finally:
        torch.set_default_dtype(before)
    make_base(folder)  # for its tokenizer
    model.save_pretrained(folder)
    return int(model.num_parameters())


class Clock(transformers.TrainerCallback):
    """Records when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for the device and record the time."""
        if GPU:
            torch.cuda.synchronize()
        self.ends.append(time.perf_counter())


def timed(tuning: Tuning, vocabulary: int, steps: int, folder: Path) -> tuple[float, float]:
    """Return the seconds per step, and the peak memory in GiB (0 without CUDA)."""
    model = load_adapted(tuning)
    model.print_trainable_parameters()
    generator = torch.Generator().manual_seed(tuning.seed)
    tokens = torch.randint(vocabulary, (tuning.batch * (steps + 1), tuning.longest), generator=generator).tolist()
    labels = [[*[UNLABELLED] * tuning.source, *row[tuning.source :]] for row in tokens]
    examples = [Example(array("q", row), array("q", label)) for row, label in zip(tokens, labels, strict=True)]
    clock = Clock()
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    trainer = trainer_of(model, AutoTokenizer.from_pretrained(tuning.base), examples, tuning, folder / "out")
    trainer.add_callback(clock)
    trainer.train()
    peak = torch.cuda.max_memory_allocated() / 2**30 if GPU else 0.0
    return (clock.ends[-1] - clock.ends[0]) / steps, peak


def main(
    shape: str = "0.5b" if GPU else "tiny",
    method: str = "prefix",
    batch: int = 48,
    accumulate: int = 16,
    source: int = 2048 if GPU else 256,
    target: int = 128 if GPU else 32,
    steps: int = 5,
    precision: str = "bfloat16" if GPU else "float32",
) -> None:
    """Make the model, train and print."""
    sizes = {"batch": batch, "accumulate": accumulate, "source": source, "target": target}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        parameters = write_base(folder / "base", shape, precision)
        tuning = read_tuning({"base": str(folder / "base"), "method": method, "precision": precision, **sizes})
        seconds, peak = timed(tuning, SHAPES[shape][-1], steps, folder)
    tokens = tuning.batch * tuning.longest
    device = torch.cuda.get_device_name() if GPU else "CPU"
    print(f"{shape} ({parameters / 1e6:.1f} M parameters), {tuning.method}, {tuning.precision}, on {device}")
    print(f"{seconds:.2f} s a step of {tuning.batch} examples; {tokens / seconds:.0f} tokens a second")
    print(f"peak memory: {peak:.2f} GiB" if GPU else "peak memory: not told without CUDA")


if __name__ == "__main__":
    typer.run(main)
