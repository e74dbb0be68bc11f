"""Physicians rate cases: MedChain's six dimensions (section 3.1), AI Hospital's three questions (section 3.3)."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

from cases import Case
from scoring.metrics.statistics import estimate
from scoring.panel import cohen_kappa
from wardround.config.experiment import ConfigurationError
from wardround.rating.agreement import Votes, disagreements, resampled_interval
from wardround.rating.items import Item
from wardround.rating.marks import Mark
from wardround.rating.scales import Name, scale_of
from wardround.tables.table import SPREAD, Column, Table, measured

SOUND = 2  # the choice that a case passes by; 1 is the other
ALL, TOGETHER = "a case as a whole", "all answers together"


def case_items(cases: Sequence[Case], per_department: int | None = None, seed: int = 0) -> list[Item]:
    """The cases as they are rated: all, or so many of each first-level department, drawn.

    Raises:
        ConfigurationError: there is no case.
    """
    by_department: dict[str | None, list[Case]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: case.id):
        by_department[case.key.department].append(case)
    draw = random.Random(seed)
    drawn = [
        case
        for found in by_department.values()
        for case in (found if per_department is None else draw.sample(found, min(per_department, len(found))))
    ]
    if not drawn:
        raise ConfigurationError("no case to rate")
    return sorted((Item(("", "", case.id, 0), case, ()) for case in drawn), key=lambda item: item.key)


def tables_of(cases: Sequence[Case], scale: Name, marks: Sequence[Mark]) -> list[Table]:
    """How many cases pass by each question and as a whole, how far two people agree, and where they do not."""
    known = {case.id for case in cases}
    given = [mark for mark in marks if mark.scale == scale and not mark.run and mark.case_id in known]
    votes: dict[str, dict[tuple[str, str, str, int], dict[str, int]]] = {
        question.key: defaultdict(dict) for question in scale_of(scale, "en").questions
    }
    for mark in given:
        votes[mark.question][mark.item][mark.rater] = mark.value
    every = {question: dict(by_item) for question, by_item in votes.items() if by_item}
    whole: dict[tuple[str, str, str, int], dict[str, int]] = defaultdict(dict)
    for item, rater in {(mark.item, mark.rater) for mark in given}:
        answers = [by_item[item].get(rater) for by_item in votes.values() if item in by_item]
        if len(answers) == len(votes) and None not in answers:
            whole[item][rater] = SOUND if set(answers) == {SOUND} else 1
    rows = [_row(name, by_item) for name, by_item in [*every.items(), *([(ALL, whole)] if whole else [])]]
    if len(every) > 1:
        pooled = {(name, *item[1:]): values for name, by_item in every.items() for item, values in by_item.items()}
        rows.append(_row(TOGETHER, pooled))
    columns = [
        Column("question", "Question", key=True),
        Column("passed", "Passed", form=".3f", mean=True),
        Column("items", "Cases"),
        Column("raters", "Raters"),
        Column("kappa", "Cohen's kappa", form=".3f"),
        Column("kappa_low", "From", "95 % interval"),
        Column("kappa_high", "To", "95 % interval"),
        Column("pairs", "Rated twice"),
    ]
    notes = [
        "Passed: the share of raters who say yes (2; no is 1), over cases; a case as a whole passes with a yes to all.",
        "Kappa of every two people on what both rated (the mean, if there are more than two); percentile bootstrap.",
        f"{SPREAD}.",
    ]
    made = [Table("case_ratings", "Cases as people rate them", columns, rows, notes), disagreements(every)]
    return [table for table in made if table.rows]


def _row(question: str, by_item: Votes) -> dict[str, float | str | None]:
    shares = [sum(value == SOUND for value in values.values()) / len(values) for values in by_item.values()]
    cases = [item[2] for item in by_item]
    by_case: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for item, values in by_item.items():
        if len(values) > 1:
            by_case[item[2]].append(values)
    low, high = resampled_interval(list(by_case.values()), lambda drawn: _kappa(chain(*drawn))) or (None, None)
    return {
        "question": question,
        **measured({"passed": estimate(shares, cases, ends=(0.0, 1.0))}),
        "items": len(set(cases)),
        "raters": len({rater for values in by_item.values() for rater in values}),
        "kappa": _kappa(chain(*by_case.values())),
        "kappa_low": low,
        "kappa_high": high,
        "pairs": len(by_case),
    }


def _kappa(rated: Iterable[Mapping[str, float]]) -> float | None:
    found = [kappa for pairs in _pairs(list(rated)) if (kappa := cohen_kappa(pairs)) is not None]
    return sum(found) / len(found) if found else None


def _pairs(rated: Sequence[Mapping[str, float]]) -> Iterator[list[tuple[float, float]]]:
    for one, other in combinations(sorted({rater for values in rated for rater in values}), 2):
        yield [(values[one], values[other]) for values in rated if one in values and other in values]
