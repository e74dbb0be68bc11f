"""Patterns in files: compiled when they are first asked for, hence all compiled here."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases.importers import aie
from cases.text import numbers
from cases.vocabulary import data_file, patterns
from llm.replies import each_value
from nodes.reconstruction.grammar import PATTERNS as spoken_patterns
from nodes.state import decisions
from scoring.clini_eval.points import clini_eval_file
from scoring.medpmc import transcripts
from scoring.metrics import entities
from tests.support.slow_patterns import begins_with_a_run, forks_in_a_loop, runs_that_meet

ROOT = Path(__file__).parents[2]
FILES = [
    file.relative_to(ROOT)
    for folder in ("cases", "llm", "nodes", "scoring")
    for file in sorted((ROOT / folder).rglob("*.toml"))
    if re.search(r"^\[pattern\]", file.read_text("utf-8"), re.MULTILINE)
]

_PACKAGES = ("cases", "graphs", "llm", "nodes", "prompts", "retrieval", "scoring", "wardround")
_LOOP = re.compile(r"\)(?:[*+](?!\+)|\{\d*,\})")


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_pattern_of_a_file_can_be_compiled(file: Path) -> None:
    package = file.parts[0] if file.parts[0] == "cases" else ".".join(file.parent.parts)
    name = "/".join(file.relative_to(Path(*package.split("."))).with_suffix("").parts)
    found, names = patterns(package, name), data_file(package, name)["pattern"]
    assert names and all(found[name].pattern for name in names)


def test_there_are_such_files() -> None:
    assert len(FILES) > 5


def test_no_pattern_has_a_loop_that_can_cut_a_text_in_many_ways() -> None:
    found = [f"{place}: {source[:80]}" for place, source in _looping() if forks_in_a_loop(re.compile(source))]
    assert not found, f"their time doubles with each letter of a text that does not fit in the end: {found}"


@pytest.mark.slow
def test_nor_has_a_pattern_that_is_put_together_while_a_case_is_played() -> None:
    """The text of such a pattern stands in no file, so all modules are imported anew, and compile what they compile."""
    command = [sys.executable, "-m", "tests.support.built_patterns"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    built = [(place, source, flags) for place, source, flags in json.loads(printed) if _LOOP.search(source)]
    assert len({place for place, _, _ in built}) > 20
    found = [f"{place}: {source[:80]}" for place, source, flags in built if forks_in_a_loop(re.compile(source, flags))]
    assert not found, f"their time doubles with each letter of a text that does not fit in the end: {found}"


def test_a_loop_that_can_cut_a_text_in_many_ways_is_told_from_others() -> None:
    forking = [r"(?:\w+ ?)*,", r"\((?:[a-z]{2,}[ ,]*)+\)", "(?:mm+|hm+)+x", "(?:^(?:a[^,]*|[^,]*b))+"]
    sound = [
        r"(?:\w+ )*,",
        r"\([a-z]{2,}(?:[ ,]+[a-z]{2,})*\)",
        "(?:mm++|hm++)+x",
        "(?:^(?>(?:a[^,]*|[^,]*b)(?=,|$)))+",
    ]
    assert [forks_in_a_loop(re.compile(each)) for each in forking + sound] == [True] * 4 + [False] * 4


def test_what_took_hours_is_read_at_once() -> None:
    """The same words a few letters longer took twice as long with each."""
    complaint = "vomiting after eating with friends or family at the weekend in the new restaurant, fever"
    assert spoken_patterns["goes_on"].fullmatch(complaint) is None
    assert spoken_patterns["goes_on"].fullmatch("vomiting after eating with friends at night a lot")
    past = patterns("cases", "vocabularies/ai_hospital")["past"]
    assert past.fullmatch("，".join(["既往高血压史"] * 60) + "，腹痛") is None and past.fullmatch(
        "既往高血压史3年，糖尿病史。"
    )
    explained = re.compile(clini_eval_file()["words"]["explained_en"], re.IGNORECASE)
    assert explained.search("(please remember that this is quite painless and nothing will happen.") is None
    assert explained.search("hypertension (high blood pressure)")
    go_on = re.compile(clini_eval_file()["words"]["go_on_en"], re.IGNORECASE)
    assert go_on.fullmatch("H" + "m" * 80 + ", where?") is None and go_on.fullmatch("Mm, hmm, and so?")


def _looping() -> Iterator[tuple[str, str]]:
    """Yield the patterns of code and of files that have a loop around more than one sign, with their place."""
    files = [file for package in _PACKAGES for file in sorted((ROOT / package).rglob("*.*"))]
    for file in files:
        if file.suffix not in (".py", ".toml") or not _LOOP.search(text := file.read_text("utf-8")):
            continue
        if file.suffix == ".py":
            calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.args)
            firsts = (call.args[0] for call in calls if ast.unparse(call.func).startswith("re."))
            sources = [first.value for first in firsts if isinstance(first, ast.Constant)]
        else:
            sources = [*each_value(tomllib.loads(text))]
        for source in sources:
            if isinstance(source, str) and _LOOP.search(source) and _is_pattern(source.replace("\n", "")):
                yield str(file.relative_to(ROOT)), source.replace("\n", "")


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


WHOLE_TEXTS = [  # patterns that read whole texts of strangers, and not sentence by sentence
    ("cases", "vocabularies/patterns", "between_results"),
    ("cases", "vocabularies/impersonal", "alone_zh"),
    ("cases", "vocabularies/medpmc", "leads"),
    ("scoring.mvme", "patterns", "heading"),
    ("scoring.mvme", "patterns", "plain_heading"),
    ("scoring.aie", "letters", "said"),
    ("scoring.aie", "letters", "another"),
    ("nodes.reconstruction", "patterns", "not_said"),
    ("nodes.reconstruction", "patterns", "sign"),
]


@pytest.mark.parametrize(("package", "file", "name"), WHOLE_TEXTS)
def test_a_pattern_for_whole_texts_has_no_runs_that_meet(package: str, file: str, name: str) -> None:
    assert not runs_that_meet(patterns(package, file)[name])


@pytest.mark.parametrize(
    "pattern",
    [aie._NOTHING_MORE, decisions._NO_REASON, entities._IMAGE_MARK, numbers._COUNTED, transcripts._IMAGE],
    ids=lambda pattern: pattern.pattern[:20],
)
def test_a_pattern_of_code_for_whole_texts_has_none_either_nor_begins_with_one(pattern: re.Pattern[str]) -> None:
    assert not runs_that_meet(pattern)
    assert pattern is decisions._NO_REASON or not begins_with_a_run(pattern)  # that must fit the whole text
