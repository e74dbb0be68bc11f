"""What the README shows of a run is what `wardround run` prints: `python -m tests.docs.first_run` writes it anew.

It is held against the run of the wheel, in `tests/end_to_end/test_wheel.py`.
"""

import re
import tempfile
from pathlib import Path

from tests.support.processes import to_its_end
from tests.test_architecture import ROOT

PAGE = ROOT / "README.md"
SHOWN = re.compile(r"(?<=```text\n)Scores\n.*?(?=```)", re.DOTALL)


def scores_in(printed: str) -> str:
    """The table of scores, to the line that counts the cases; blanks that pad a line are left out."""
    lines = [line.rstrip() for line in printed.splitlines()]
    (last,) = [number for number, line in enumerate(lines) if " cases attempted: " in line]
    return "\n".join([*lines[lines.index("Scores") : last + 1], ""])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        printed = to_its_end(["run"], folder=Path(folder)).stdout
    PAGE.write_text(SHOWN.sub(lambda _: scores_in(printed), PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
