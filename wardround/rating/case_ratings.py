"""Physicians' ratings of cases: MedChain's six dimensions (section 3.1), AI Hospital's three questions (3.3)."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from cases import Case
from cases.grouping import grouped
from scoring.metrics.agreement import cohen_kappa
from scoring.metrics.samples import mean, over_cases, share
from wardround.config.experiment import ConfigurationError
from wardround.rating.agreement import Votes, disagreements, narrow_notes, resampled_interval, votes_by_question
from wardround.rating.items import Item, Key
from wardround.rating.marks import Mark
from wardround.rating.scales import Name, scale_of
from wardround.tables.table import Column, Table, alike, measured

SOUND = 2  # the value of "yes", with which a case passes a question; "no" is 1
ALL, TOGETHER = "a case as a whole", "all answers together"


def case_items(cases: Sequence[Case], per_department: int | None = None, seed: int = 0) -> list[Item]:
    """Return the cases to rate: all, or a random sample of ``per_department`` per first-level department.

    Raises:
        ConfigurationError: there is no case.
    """
    by_department = grouped((case.key.department, case) for case in sorted(cases, key=lambda case: case.id))
    generator = random.Random(seed)
    drawn = [
        case
        for found in by_department.values()
        for case in (found if per_department is None else generator.sample(found, min(per_department, len(found))))
    ]
    if not drawn:
        raise ConfigurationError("there are no cases to rate")
    return sorted((Item(("", "", case.id, 0), case, ()) for case in drawn), key=lambda item: item.key)


def tables_of(cases: Sequence[Case], scale: Name, marks: Sequence[Mark]) -> list[Table]:
    """Tabulate how many cases pass each question and as a whole, how far two people agree, and where they do not."""
    known = {case.id for case in cases}
    marks_of_cases = [mark for mark in marks if not mark.run and mark.case_id in known]
    by_question = votes_by_question(scale, marks_of_cases)
    questions = [question.key for question in scale_of(scale, "en").questions]
    overall: dict[Key, dict[str, int]] = defaultdict(dict)
    for item, rater in dict.fromkeys((mark.item, mark.rater) for mark in marks_of_cases if mark.scale == scale):
        answers = {by_question.get(question, {}).get(item, {}).get(rater) for question in questions}
        if None not in answers:
            overall[item][rater] = SOUND if answers == {SOUND} else 1
    rows = [_row(name, by_item) for name, by_item in [*by_question.items(), *([(ALL, overall)] if overall else [])]]
    if len(by_question) > 1:
        pooled = {
            (name, *item[1:]): values for name, by_item in by_question.items() for item, values in by_item.items()
        }
        rows.append(_row(TOGETHER, pooled))
    columns = [
        Column("question", "Question", key=True),
        Column("passed", "Passed", form=".3f", mean=True),
        *alike({"items": "Cases", "raters": "Raters"}),
        Column("kappa", "Cohen's kappa", form=".3f"),
        *alike({"kappa_low": "From", "kappa_high": "To"}, "95 % interval"),
        Column("pairs", "Rated twice"),
    ]
    notes = [
        "Passed: share of raters who answer yes (2; no is 1), over cases; a case as a whole passes if all answers are "
        "yes.",
        "Kappa: of two people on the cases that both rated (mean over all pairs of people); percentile bootstrap.",
        *narrow_notes({f"Kappa of {row['question']}": row["pairs"] for row in rows if row["kappa_low"] is not None}),
    ]
    tables = [Table("case_ratings", "People's ratings of the cases", columns, rows, notes), disagreements(by_question)]
    return [table for table in tables if table.rows]


def _row(question: str, by_item: Votes) -> dict[str, Any]:
    shares = [(item[2], share(value == SOUND for value in values.values())) for item, values in by_item.items()]
    by_case = grouped((item[2], values) for item, values in by_item.items() if len(values) > 1)
    low, high = resampled_interval([by_case[case] for case in sorted(by_case)], lambda drawn: _kappa(chain(*drawn)))
    return {
        "question": question,
        **measured({"passed": over_cases(shares, (0.0, 1.0))}),
        "items": len({case for case, _ in shares}),
        "raters": len({rater for values in by_item.values() for rater in values}),
        "kappa": _kappa(chain(*by_case.values())),
        "kappa_low": low,
        "kappa_high": high,
        "pairs": len(by_case),
    }


def _kappa(rated: Iterable[Mapping[str, float]]) -> float | None:
    """Return the mean Cohen's kappa over all pairs of raters, each on the cases that both rated."""
    ratings = list(rated)
    return mean(
        cohen_kappa([(each[one], each[other]) for each in ratings if one in each and other in each])
        for one, other in combinations(sorted({rater for values in ratings for rater in values}), 2)
    )
