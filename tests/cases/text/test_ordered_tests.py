import re

import pytest

from cases.text.ordered_tests import denied
from cases.vocabulary import patterns

_RUN_FIRST = re.compile(r"(?:^|\||\n)\[\^[^\]]+\]\*")  # a run of any length that an alternative begins with


@pytest.mark.parametrize("name", ["not_to_be_done", "done_before"])
def test_a_run_of_words_is_looked_for_where_a_clause_begins_alone(name: str) -> None:
    assert not _RUN_FIRST.findall(patterns("cases", "vocabularies/patterns")[name].pattern), "quadratic in a long turn"


def test_what_is_not_to_be_done_is_its_whole_clause() -> None:
    words = "先量个体温，拍片子这次先放一放，胃镜以前做过吗？查个血"
    folded = "先量个体温,拍片子这次先放一放,胃镜以前做过吗?查个血"
    assert [folded[start:end] for start, end in denied(words)] == ["拍片子这次先放一放", "胃镜以前做过吗?"]
