"""AI Hospital's texts: lists in lines, diagnoses in one text, and results in running text."""

import re

from cases.importers.findings import Findings
from cases.text.lexicon import GENERAL
from cases.text.named_tests import named_tests
from cases.text.prose import prose
from cases.text.sentences import sentences
from cases.text.words import has_chinese
from cases.vocabulary import PHYSICAL_ITEMS, patterns

_PATTERNS = patterns("cases", "vocabularies/ai_hospital")
_BULLET = re.compile(r"^\s*[-•*](?:\s+|(?=[^\s\d]))")  # not a minus
_CLAUSE_END = re.compile(r"(?<=[，；;])|(?<=, )")


def entries_in(value: object) -> list[str]:
    """Return the entries of a list in lines, each with the heading above it if it is the first below it."""
    if not isinstance(value, str):
        return [prose(value)]
    lines = [line for line in value.split("\n") if line.strip()]
    if not any(_BULLET.match(line) for line in lines):
        return [prose(value)]
    entries, heading = [], ""
    for place, line in enumerate(lines):
        text = heading + _BULLET.sub("", line).strip()
        below = lines[place + 1] if place + 1 < len(lines) else ""
        holds = _BULLET.match(below) and (text.endswith((":", "：")) or _indent(below) > _indent(line))
        heading = f"{text.rstrip(':：')}{'：' if has_chinese(text) else ': '}" if holds else ""
        entries += [] if holds else [prose(text)]
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def filed(physical: str, tests: str) -> dict[str, dict[str, str]]:
    """File results in running text clause by clause, each under the item of the test that it names.

    A clause that names none is filed with the one before it, and at the beginning of a sentence with the next one.
    """
    findings, last = Findings(), GENERAL
    if physical:
        findings.by_item[GENERAL] = [physical]
    for sentence in sentences(tests):
        parts = [(_tested(clause), clause) for clause in _CLAUSE_END.split(sentence)]
        last = next((item for item, _ in parts if item), last)
        by_item: dict[str, list[str]] = {}
        for item, clause in parts:
            last = item or last
            by_item.setdefault(last, []).append(clause)
        for item, told in by_item.items():
            findings.by_item.setdefault(item, []).append("".join(told).rstrip("，,；; "))
    return findings.record


def _tested(clause: str) -> str | None:
    """Return the item of the first test that a clause names, other than by hand."""
    named = named_tests(_PATTERNS["no_test"].sub("", clause))
    return next((test.item for test in named if test.apart or test.item not in PHYSICAL_ITEMS.names), None)


def names_in(text: str) -> list[str]:
    """Return the diagnoses of a text, separated by lines or commas outside of brackets, without their numbers."""
    items = re.findall(r"(?:[(（](?:[^()（）\n]|[(（][^()（）\n]*[)）])*[)）]|[^\n,，;；])+", text)
    parts = [part for item in items for part in re.split(r"(?<=\S)\s+(?=\d{1,2}[.、)）．])|\s\s+", item)]
    return [name for part in parts if (name := _PATTERNS["number"].sub("", part).strip(" 。.:：\t"))]
