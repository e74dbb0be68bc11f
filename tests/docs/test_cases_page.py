"""The case that the page on cases shows: whoever copies it has a file that can be run."""

import re
from pathlib import Path

from cases import check_cases
from cases.doubts import doubts
from tests.test_architecture import ROOT

PAGE = ROOT / "docs" / "cases.md"


def test_the_case_on_the_page_is_a_sound_case_file(tmp_path: Path) -> None:
    (written,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "mine.jsonl").write_text(written, "utf-8")
    cases, problems = check_cases(tmp_path / "mine.jsonl")
    assert [case.id for case in cases] == ["ward-001"] and problems == [] and list(doubts(cases)) == []
