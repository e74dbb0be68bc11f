import re

import pytest

from cases.text.ordered_tests import denied, ordered_tests
from cases.vocabulary import patterns

_RUN_FIRST = re.compile(r"(?:^|\||\n)\[\^[^\]]+\]\*")  # a run of any length that an alternative begins with


@pytest.mark.parametrize("name", ["not_to_be_done", "done_before"])
def test_a_run_of_words_is_looked_for_where_a_clause_begins_alone(name: str) -> None:
    assert not _RUN_FIRST.findall(patterns("cases", "vocabularies/patterns")[name].pattern), "quadratic in a long turn"


def test_what_is_not_to_be_done_is_its_whole_clause() -> None:
    words = "先量个体温，拍片子这次先放一放，胃镜以前做过吗？查个血"
    folded = "先量个体温,拍片子这次先放一放,胃镜以前做过吗?查个血"
    assert [folded[start:end] for start, end in denied(words)] == ["拍片子这次先放一放", "胃镜以前做过吗?"]


@pytest.mark.parametrize(
    ("words", "ordered"),
    [
        ("Please do everything but the ECG.", []),
        ("Run all the usual tests except for the CT.", []),
        ("Apart from the ECG, do everything.", []),
        ("Tell me all results but the blood test.", []),
        ("A CBC, and everything other than a CT.", ["cbc"]),
        ("除了血液学检查，其他都做。", []),
        ("除心电图以外的检查都做。", []),
        ("全套检查都做，除了CT。", []),
        ("查血常规，除了CT，别的都查一下。", ["血常规"]),
        ("Nothing but the ECG, please.", ["ecg"]),
        ("Everything looks fine, but an ECG would help.", ["ecg"]),
        ("Apart from the ECG, let's get a CT.", ["ecg", "ct"]),
        ("除了心电图，还要做CT。", ["心电图", "ct"]),
        ("除了CT，其他的都不用做。", ["ct"]),
        ("Everything but the ECG can wait.", ["ecg"]),
        ("Cancel all tests except the ECG.", ["ecg"]),
        ("All tests except the ECG can be skipped.", ["ecg"]),
        ("You have told me everything but we need an ECG.", ["ecg"]),
        ("That's all except for an ECG.", ["ecg"]),
        ("We've done everything except the ECG, let's do it now.", ["ecg"]),
        ("I have everything except an ECG, so order one.", ["ecg"]),
        ("Order everything but do the ECG first.", ["ecg"]),
        ("Delay all tests except the ECG.", ["ecg"]),
        ("All tests except the ECG are on hold.", ["ecg"]),
        ("I'd like to have everything except the ECG.", []),
        ("除了CT，其他都先等等。", ["ct"]),
        ("除了CT，其他都往后排。", ["ct"]),
        ("除了CT，其他全部停掉。", ["ct"]),
        ("除了血常规，做全套凝血。", ["血常规", "凝血"]),
        ("除了CT，全做。", []),
        ("除了CT，全给您安排上。", []),
        ("除了CT，全套检查做一遍。", []),
        ("除了CT，全化验一遍。", []),
        ("除了CT，查甲功全项。", ["ct", "甲功"]),
        ("除了CT，凝血全套做一下。", ["ct", "凝血"]),
        ("除了CT，另外血常规都查一下。", ["ct", "血常规"]),
        ("除了心电图，做个全腹CT。", ["心电图", "腹ct"]),
    ],
)
def test_what_is_named_to_be_left_out_of_everything_is_not_ordered(words: str, ordered: list[str]) -> None:
    """Its result was handed over."""
    assert [test.spelling for *_, test in ordered_tests(words)] == ordered
