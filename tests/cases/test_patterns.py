"""Patterns in files: compiled when they are first asked for, hence all compiled here."""

import re
from pathlib import Path

import pytest

from cases.vocabulary import data_file, patterns

ROOT = Path(__file__).parents[2]
FILES = [
    file.relative_to(ROOT)
    for folder in ("cases", "llm", "nodes", "scoring")
    for file in sorted((ROOT / folder).rglob("*.toml"))
    if re.search(r"^\[pattern\]", file.read_text("utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_pattern_of_a_file_can_be_compiled(file: Path) -> None:
    package = file.parts[0] if file.parts[0] == "cases" else ".".join(file.parent.parts)
    name = "/".join(file.relative_to(Path(*package.split("."))).with_suffix("").parts)
    found, names = patterns(package, name), data_file(package, name)["pattern"]
    assert names and all(found[name].pattern for name in names)


def test_there_are_such_files() -> None:
    assert len(FILES) > 5
