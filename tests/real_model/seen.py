"""What a course of a real model has shown, as a line of the lane's table."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

TITLES = (
    "course", "ended", "calls", "typed at once", "after repair", "failed", "tokens in", "from cache", "tokens out", "s"
)  # fmt: skip
_LOOP = re.compile(r"(.{2,200}?)\1{5,}", re.DOTALL)


class Seen(BaseModel):
    """One line."""

    course: str
    ended: str
    calls: int
    typed: int
    repaired: int
    failed: dict[str, int]
    read: int
    reused: int | None  # None where the server does not tell
    written: int
    seconds: float

    @classmethod
    def of(cls, course: str, ended: str, calls: list[dict[str, Any]], reused: int | None, seconds: float) -> "Seen":
        """The line of a course that asked these calls."""
        asked = [call for call in calls if call["attempts"]]
        answered = [call for call in asked if call["error"] is None]
        repaired = sum(call["repaired"] for call in answered)
        return cls(
            course=course,
            ended=ended,
            calls=len(asked),
            typed=len(answered) - repaired,
            repaired=repaired,
            failed=Counter(call["error"].split(":")[0] for call in asked if call["error"]),
            read=sum(call["input_tokens"] for call in asked),
            reused=reused,
            written=sum(call["output_tokens"] for call in asked),
            seconds=seconds,
        )

    @property
    def row(self) -> tuple[str, ...]:
        """The cells under `TITLES`."""
        failed = ", ".join(f"{count} {reason}" for reason, count in sorted(self.failed.items())) or "0"
        share = f"{self.reused / self.read:.0%}" if self.read and self.reused is not None else "-"
        numbers = (str(self.calls), str(self.typed), str(self.repaired), failed, f"{self.read:,}", share)
        return (self.course, self.ended, *numbers, f"{self.written:,}", f"{self.seconds:.0f}")


def table(rows: list[tuple[str, ...]]) -> str:
    """The lines as the table of the page."""
    lines = [TITLES, ("---",) * len(TITLES), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def looped(answer: Any) -> Iterator[str]:
    """Texts of an answer, however deep, in which something is said six times in a row or more."""
    if isinstance(answer, str) and _LOOP.search(answer):
        yield answer
    elif isinstance(answer, dict | list):
        for part in answer.values() if isinstance(answer, dict) else answer:
            yield from looped(part)
