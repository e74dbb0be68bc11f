"""The offline judges' verdicts on pairs that a person labelled first: findings, diagnoses and treatments.

Of the part `kept`, the rules' authors read nothing but how many agree.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from scoring.metrics.claims import entailed
from scoring.metrics.diagnosis_names import grade_names
from scoring.mvme.judges import GradingView, ReportParts, director

PAIRS: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("judged_pairs.toml").read_text("utf-8"))["pair"]
LEVELS = {"same": {5}, "partly": {2, 3, 4}, "other": {1}}
OPTIONS = {"same": {"A"}, "partly": {"B", "C"}, "other": {"D"}}


def agrees(pair: dict[str, Any]) -> bool:
    """Whether the offline judge says of a pair what its label does."""
    given, reference, label = pair["given"], pair["reference"], pair["label"]
    if pair["of"] == "finding":
        return entailed([reference], given) == [label == "same"]
    if pair["of"] == "diagnosis":
        grade = grade_names([given], [reference])
        return grade is not None and grade.level in LEVELS[label]
    view = GradingView(ReportParts(treatment=given), ReportParts(treatment=reference), ("treatment",))
    graded = director.offline(view).treatment
    return graded is not None and graded.option in OPTIONS[label]


@pytest.mark.parametrize(("part", "least"), [("read", 18), ("kept", 14)])
def test_the_judges_by_rule_agree_with_a_persons_labels(part: str, least: int) -> None:
    pairs = [pair for pair in PAIRS if pair["part"] == part]
    assert len(pairs) == 20
    assert sum(map(agrees, pairs)) >= least


def test_a_label_turned_round_would_not_be_agreed_with() -> None:
    agreed = [pair for pair in PAIRS if agrees(pair)]
    turned = [{**pair, "label": "other" if pair["label"] == "same" else "same"} for pair in agreed]
    assert not any(map(agrees, turned))
