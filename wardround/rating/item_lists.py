"""Items that a model read from imported cases, as a checklist for a person (MedChain, appendix A.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from cases.case import Case
from cases.files import CaseFileError
from cases.problems import Problem
from cases.vocabulary import EXAMINATION_ITEMS, TREATMENT_ITEMS, Vocabulary
from nodes.workflow.item_reader import ReadItems
from wardround.rating.checklists import Line

Part = Literal["examination_items", "treatment_items"]
PARTS: Mapping[Part, Vocabulary] = {"examination_items": EXAMINATION_ITEMS, "treatment_items": TREATMENT_ITEMS}


class ItemLine(Line):
    """An item of a case's key, the words it was read from, and who found it; a line added by a person needs no more."""

    part: Part
    item: str = Field(min_length=1)
    words: str = ""
    found_by: str = "person"


class Checked(NamedTuple):
    """The result of a checklist."""

    cases: list[Case]  # all cases; checked parts of their keys count as stated
    parts: int  # number of checked parts
    open: list[str]  # parts with an undecided line, as ``case: part``; they are unchanged
    kept: dict[str, tuple[int, int]]  # by finder: number of kept items, and of decided items
    absent: list[str]  # proposed items of checked parts that no line names, as ``case: item``; no longer in the key


def open_parts(case: Case) -> list[Part]:
    """Return the parts of a key that the source does not state although the record has material for them."""
    has_source = {
        "examination_items": bool(case.examinations.results or case.examinations.images),
        "treatment_items": bool(case.key.treatment_course),
    }
    return [part for part in PARTS if has_source[part] and (part in case.key.inferred or not getattr(case.key, part))]


def proposed(case: Case, read: ReadItems | None, reader: str) -> tuple[Case, list[ItemLine]]:
    """Return the case with the read items as inferred parts of its key, and their checklist.

    Items that only the importer's rules found are listed without entering the key. If the reader gave no answer (None),
    the case is unchanged.
    """
    listed: Mapping[str, Sequence[Any]] = (
        {} if read is None else {"examination_items": read.examinations, "treatment_items": read.treatments}
    )
    found = {part: {one.item: one.words for one in reversed(listed.get(part, ()))} for part in PARTS}  # the first count
    key: dict[str, Any] = {}
    lines = []
    for part in open_parts(case):
        rule_items = getattr(case.key, part)
        for item in (name for name in PARTS[part].names if name in found[part] or name in rule_items):
            finders = [who for who, names in ((reader, found[part]), ("rule", rule_items)) if item in names]
            words = found[part].get(item) or case.examinations.results.get(item, "")
            lines.append(
                ItemLine(case=case.id, part=part, item=item, words=words, found_by=" and ".join(dict.fromkeys(finders)))
            )
        if read is not None:
            key[part] = [name for name in PARTS[part].names if name in found[part]]
    return _with_key(case, key, inferred=[*case.key.inferred, *key]), lines


def taken_back(cases: Sequence[Case], lines: Mapping[str, ItemLine], path: Path, checker: str) -> Checked:
    """Return the cases with the items that a person kept; a part whose every line is decided is no longer inferred.

    ``lines`` are by their place in the file ``path``, which messages name; the checker is added to the provenance.

    Raises:
        CaseFileError: a line does not match a case, an open part or an item; each is named.
    """
    by_id = {case.id: case for case in cases}
    decided: dict[tuple[str, Part], dict[str, bool | None]] = {}
    problems: list[Problem] = []
    kept: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for where, line in lines.items():
        item = PARTS[line.part].canonical(line.item)
        decided_items = decided.setdefault((line.case, line.part), {})
        if line.case not in by_id:
            problems.append(Problem(str(path), where, "case", f"there is no case {line.case!r}"))
        elif line.part not in open_parts(by_id[line.case]):
            fault = f"{line.case}: the source states this part, or has nothing from which it could be read"
            problems.append(Problem(str(path), where, "part", fault))
        elif item is None:
            fault = f"{line.item!r} is not in the list: expected {PARTS[line.part].choices}"
            problems.append(Problem(str(path), where, "item", fault))
        elif decided_items.get(item, line.keep) != line.keep:
            problems.append(Problem(str(path), where, "keep", f"{item} has a different decision further up"))
        elif item not in decided_items:  # a doubled line counts once
            decided_items[item] = line.keep
            seen[line.found_by] += line.keep is not None
            kept[line.found_by] += line.keep is True
    if problems:
        raise CaseFileError(problems)
    keys: dict[str, dict[str, Any]] = {}
    undecided, absent = [], []
    for (name, part), items in decided.items():
        if None in items.values():
            undecided.append(f"{name}: {part}")
        else:
            keys.setdefault(name, {})[part] = [item for item in PARTS[part].names if items.get(item)]
            absent += [f"{name}: {item}" for item in getattr(by_id[name].key, part) if item not in items]
    checked = [_with_checked_parts(case, keys[case.id], checker) if case.id in keys else case for case in cases]
    counts = {who: (kept[who], seen[who]) for who in seen if seen[who]}
    return Checked(checked, sum(map(len, keys.values())), undecided, counts, absent)


def _with_checked_parts(case: Case, key: Mapping[str, Any], checker: str) -> Case:
    note_text = " ".join(f"{part.replace('_', ' ').capitalize()} checked by {checker}." for part in key)
    note = f"{case.provenance.note} {note_text}".strip()
    checked_case = _with_key(case, key, inferred=[part for part in case.key.inferred if part not in key])
    return checked_case.model_copy(update={"provenance": case.provenance.model_copy(update={"note": note})})


def _with_key(case: Case, parts: Mapping[str, Any], inferred: Sequence[str]) -> Case:
    key = case.key.model_copy(update={**parts, "inferred": list(dict.fromkeys(inferred))})
    return case.model_copy(update={"key": key})
