"""The loss of each step, as a table and as a picture."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ("step", "epoch", "loss", "learning_rate")


class Step(NamedTuple):
    """One step of the training."""

    step: int
    epoch: float
    loss: float
    learning_rate: float


def steps_of(history: Sequence[dict[str, Any]]) -> list[Step]:
    """The steps in a trainer's log; its last line, a summary, is none."""
    return [Step(*(entry[column] for column in COLUMNS)) for entry in history if "loss" in entry]


def write_table(path: Path, steps: Sequence[Step]) -> None:
    """Write the table anew."""
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([COLUMNS, *steps])


def append_step(path: Path, step: Step) -> None:
    """Add one step to the table."""
    with path.open("a", encoding="utf-8", newline="") as out:
        csv.writer(out).writerow(step)


def read_table(path: Path) -> list[Step]:
    """The steps of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return [Step(int(row[0]), *map(float, row[1:])) for row in rows]


def write_picture(path: Path, steps: Sequence[Step]) -> None:
    """Draw the loss over the steps, and its running mean where there are many."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "loss", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        numbers, losses = [step.step for step in steps], [step.loss for step in steps]
        axes.plot(numbers, losses, linewidth=1, color="#9ab", label="each step", marker="." if len(steps) < 50 else "")
        width = max(1, len(steps) // 20)
        if width > 1:
            means = [
                math.fsum(losses[max(0, end - width) : end]) / min(end, width) for end in range(1, len(losses) + 1)
            ]
            axes.plot(numbers, means, linewidth=2, color="#246", label=f"mean of the last {width}")
            axes.legend(frameon=False)
        axes.set(xlabel="step", ylabel="loss of the physician's words", xlim=(0, None))
        axes.grid(alpha=0.3)
        figure.savefig(path, format="svg", metadata={"Date": None})
