"""The loss of each step, as a table and as a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from wardround.store.provenance import write_whole
from wardround.tables.drawing import as_svg, panels_of


class Step(NamedTuple):
    """One training step."""

    step: int
    epoch: float
    loss: float
    learning_rate: float


def steps_of(history: Sequence[dict[str, Any]]) -> list[Step]:
    """Return the steps in a trainer's log, without its last line, which is a summary."""
    return [Step(*(entry[column] for column in Step._fields)) for entry in history if "loss" in entry]


def write_table(path: Path, steps: Sequence[Step], *, more: bool = False) -> None:
    """Write the table, or append steps to it."""
    pd.DataFrame(steps, columns=list(Step._fields)).to_csv(
        path, mode="a" if more else "w", header=not more, index=False, na_rep="nan"
    )


def read_table(path: Path) -> list[Step]:
    """Read the steps of a table."""
    return [Step(*row) for row in pd.read_csv(path).itertuples(index=False)]


def write_picture(path: Path, steps: Sequence[Step]) -> None:
    """Draw the loss over the steps, with a running mean if there are many."""
    figure, (panel,) = panels_of(1, 1, (7, 4))
    numbers, losses = [step.step for step in steps], [step.loss for step in steps]
    panel.plot(numbers, losses, linewidth=1, color="#9ab", label="each step", marker="." if len(steps) < 50 else "")
    width = max(1, len(steps) // 20)
    if width > 1:
        means = pd.Series(losses).rolling(width, min_periods=1).mean()
        panel.plot(numbers, means, linewidth=2, color="#246", label=f"mean of the last {width}")
        panel.legend(frameon=False)
    panel.set(xlabel="step", ylabel="loss of the physician's words", xlim=(0, None))
    write_whole(path, as_svg(figure))
