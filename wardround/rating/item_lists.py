"""Items that a reader found in imported cases, as a list for a person to check (MedChain, A.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from cases.case import Case
from cases.files import CaseFileError, Problem
from cases.vocabulary import EXAMINATION_ITEMS, TREATMENT_ITEMS, Vocabulary
from nodes.workflow.item_reader import ReadItems
from wardround.rating.checklists import Line

Part = Literal["examination_items", "treatment_items"]
PARTS: Mapping[Part, Vocabulary] = {"examination_items": EXAMINATION_ITEMS, "treatment_items": TREATMENT_ITEMS}


class ItemLine(Line):
    """An item of a case's key, the words that tell of it, and who found it; a person's own line needs no more."""

    part: Part
    item: str = Field(min_length=1)
    words: str = ""
    found_by: str = "person"


class Checked(NamedTuple):
    """What a list made of the cases."""

    cases: list[Case]  # all of them; what was checked is stated by their keys
    parts: int  # how many parts were checked
    open: list[str]  # the parts that some line leaves open, as ``case: part``; they stay as they were
    kept: dict[str, tuple[int, int]]  # how many lines were kept, and of how many, by who had found them


def open_parts(case: Case) -> list[Part]:
    """The parts of a key that the source does not state although the record tells of them."""
    tells = {
        "examination_items": bool(case.examinations.results or case.examinations.images),
        "treatment_items": bool(case.key.treatment_course),
    }
    return [part for part in PARTS if tells[part] and (part in case.key.inferred or not getattr(case.key, part))]


def proposed(case: Case, read: ReadItems | None, reader: str) -> tuple[Case, list[ItemLine]]:
    """The case with the items that were read as inferred parts of its key, and the list of them.

    What the importer's rules had found and the reader did not stands in the list alone. Where the reader gave no answer
    (None) the case stays as it is.
    """
    found: dict[Part, dict[str, str]] = {"examination_items": {}, "treatment_items": {}}
    if read is not None:
        for examination in read.examinations:
            found["examination_items"].setdefault(examination.item, examination.words)
        for treatment in read.treatments:
            found["treatment_items"].setdefault(treatment.item, treatment.words)
    key: dict[str, Any] = {}
    lines = []
    for part in open_parts(case):
        ruled = getattr(case.key, part)
        for item in (name for name in PARTS[part].names if name in found[part] or name in ruled):
            by = [who for who, names in ((reader, found[part]), ("rule", ruled)) if item in names]
            words = found[part].get(item) or case.examinations.results.get(item, "")
            lines.append(
                ItemLine(case=case.id, part=part, item=item, words=words, found_by=" and ".join(dict.fromkeys(by)))
            )
        if read is not None:
            key[part] = [name for name in PARTS[part].names if name in found[part]]
    return _with_key(case, key, inferred=[*case.key.inferred, *key]), lines


def taken_back(cases: Sequence[Case], lines: Mapping[str, ItemLine], path: Path, checker: str) -> Checked:
    """The cases with what a person kept: a part whose every line is decided is inferred no more.

    Lines are by where they stand in the list, whose path messages name; the checker stands in the provenance.

    Raises:
        CaseFileError: a line fits no case, no open part or no item; each is named.
    """
    by_id = {case.id: case for case in cases}
    decided: dict[tuple[str, Part], dict[str, bool | None]] = {}
    problems: list[Problem] = []
    kept: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for where, line in lines.items():
        item = PARTS[line.part].canonical(line.item)
        before = decided.setdefault((line.case, line.part), {})
        if line.case not in by_id:
            problems.append(Problem(str(path), where, "case", f"there is no case {line.case!r}"))
        elif line.part not in open_parts(by_id[line.case]):
            fault = f"{line.case}: the source states this part, or nothing that it could be read from"
            problems.append(Problem(str(path), where, "part", fault))
        elif item is None:
            fault = f"{line.item!r} is none of the list: expected {PARTS[line.part].choices}"
            problems.append(Problem(str(path), where, "item", fault))
        elif before.get(item, line.keep) != line.keep:
            problems.append(Problem(str(path), where, "keep", f"{item} is decided otherwise further up"))
        else:
            before[item] = line.keep
            seen[line.found_by] += line.keep is not None
            kept[line.found_by] += line.keep is True
    if problems:
        raise CaseFileError(problems)
    keys: dict[str, dict[str, Any]] = {}
    undecided = []
    for (name, part), items in decided.items():
        if None in items.values():
            undecided.append(f"{name}: {part}")
        else:
            keys.setdefault(name, {})[part] = [item for item in PARTS[part].names if items.get(item)]
    checked = [_checked(case, keys[case.id], checker) if case.id in keys else case for case in cases]
    return Checked(
        checked, sum(map(len, keys.values())), undecided, {who: (kept[who], seen[who]) for who in seen if seen[who]}
    )


def _checked(case: Case, key: Mapping[str, Any], checker: str) -> Case:
    told = " ".join(f"{part.replace('_', ' ').capitalize()} checked by {checker}." for part in key)
    note = f"{case.provenance.note} {told}".strip()
    sound = _with_key(case, key, inferred=[part for part in case.key.inferred if part not in key])
    return sound.model_copy(update={"provenance": case.provenance.model_copy(update={"note": note})})


def _with_key(case: Case, parts: Mapping[str, Any], inferred: Sequence[str]) -> Case:
    return case.model_copy(
        update={"key": case.key.model_copy(update={**parts, "inferred": list(dict.fromkeys(inferred))})}
    )
