"""Drafted tests of a patient simulator, as a checklist for a person (AIE, section 2.2.1)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from cases.files import CaseFileError
from cases.importers.source import Source
from cases.problems import Problem
from nodes.patients.saps.state_tracker import Action
from scoring.aie.drafting import Draft
from scoring.aie.transcripts import ACTIONS, CODES, each_test
from wardround.rating.checklists import Line


class TestLine(Line):
    """A test: the number of exchanges before it, the doctor's action and words, and the expected answer."""

    round: int = Field(ge=0)
    action: Action
    doctor: str = Field(min_length=1)
    answer: str = Field(min_length=1)
    facts: str = ""
    by_rule: str = ""


class CheckedTests(NamedTuple):
    """The result of a checklist."""

    records: list[dict[str, Any]]  # all cases, in the authors' form
    kept: int  # tests that a person kept
    mended: int  # of these, tests that the person changed or added
    dropped: int  # tests that were removed
    open: int  # tests without a decision; they stay as drafted


def lines_of(drafts: Iterable[Draft], heard: Mapping[tuple[str, str, str], str]) -> list[TestLine]:
    """Return drafted tests as a checklist.

    ``heard`` has the action that the rules assign to the doctor's words, by case, round and code; it is shown if it
    differs.
    """
    lines = []
    for draft in drafts:
        name = str(draft.record["id"])
        for turn, code, test in each_test(draft.record["patient_test"]):
            by_rule = heard.get((name, turn, code), "")
            fields = {"action": ACTIONS[code], "doctor": test["question"], "answer": test["answer"]}
            fields |= {"facts": draft.facts[turn, code], "by_rule": "" if by_rule == ACTIONS[code] else by_rule}
            lines.append(TestLine.model_validate({"case": name, "round": int(turn), **fields}))
    return lines


def tests_taken_back(file: Path, lines: Mapping[str, TestLine], path: Path) -> CheckedTests:
    """Return the tests as a person left them; kept tests have the person's action and answer (``human_...``).

    For a case on the list, only its lines remain; other cases are unchanged. ``lines`` are by their place in the list
    ``path``, which messages name.

    Raises:
        CaseFileError: a line matches no case, or repeats another; each is named.
    """
    source = Source(file)
    records: list[Any] = [record.value for record in source.records()]
    if source.problems:
        raise CaseFileError(source.problems)
    by_id = {str(record["id"]): record for record in records if isinstance(record, dict) and "id" in record}
    checked: dict[str, dict[str, dict[str, Any]]] = {}
    problems = []
    kept = mended = undecided = 0
    for where, line in lines.items():
        code = CODES[line.action]
        if line.case not in by_id:
            problems.append(Problem(str(path), where, "case", f"{file} has no case {line.case!r}"))
            continue
        tests = checked.setdefault(line.case, {})
        if line.keep is False:
            continue
        round_tests = tests.setdefault(str(line.round), {})
        if code in round_tests:
            fault = f"{line.case} already has a {line.action} in round {line.round}, further up; keep only one"
            problems.append(Problem(str(path), where, "action", fault))
            continue
        drafted = by_id[line.case].get("patient_test", {}).get(str(line.round), {}).get(code, {})
        round_tests[code] = {"question": line.doctor, "answer": line.answer}
        if line.keep:
            kept += 1
            mended += (drafted.get("question"), drafted.get("answer")) != (line.doctor, line.answer)
            round_tests[code] = {"question": line.doctor, "human_state": code, "human_answer": line.answer}
        else:
            undecided += 1
    if problems:
        raise CaseFileError(problems)
    before = sum(_size(by_id[name].get("patient_test", {})) for name in checked)
    changed = [
        {**record, "patient_test": _in_order(checked[name])} if (name := str(record["id"])) in checked else record
        for record in by_id.values()
    ]
    return CheckedTests(changed, kept, mended, max(before - sum(map(_size, checked.values())), 0), undecided)


def _size(tests: Mapping[str, Mapping[str, Any]]) -> int:
    return sum(map(len, tests.values()))


def _in_order(tests: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        turn: {code: tests[turn][code] for code in ACTIONS if code in tests[turn]}
        for turn in sorted(tests, key=int)
        if tests[turn]
    }
