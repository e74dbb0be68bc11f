"""Whatever a model or a record writes is read: no text makes a reader of words, numbers, ages or sentences fail."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cases.text.demographics import beyond_age_and_sex, demographics, without_ages
from cases.text.fact_preservation import changes, terms_in
from cases.text.named_tests import named_tests
from cases.text.note_sections import read_sections
from cases.text.numbers import in_digits, known_numbers, spans_of_time, spoken_numbers, stated_numbers
from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import entries, pieces
from cases.text.statements import mentions, statements

# Letters that match others in another case, digits beyond ASCII, and the endless number of a model that repeats itself.
_PARTS = (
    *("six", "sİx", "ſix", "sıx", "twenty", "hundred", "thousand", "point", "half", "and", "twice", "years", "weeK"),
    *("岁", "天", "个月", "半", "十", "百", "两", "男", "患儿", "我女儿", "my daughter", "of age", "a 45-year-old man"),
    *(
        "9" * 400,
        "9" * 5000,
        "1.5",
        "1,000",
        "٣",
        "²",
        "①",
        "½",
        "１２",
        "(1)",
        "2、",
        "2)",
        "-",
        "–",
        "’",
        "。",
        ".",
        "；",
    ),
    *(
        "\n",
        "\r\n",
        "\u3000",
        "\ufeff",
        "\0",
        "ß",
        "e\u0301",
        "mg",
        "%",
        "120/80",
        "no",
        "否认",
        "左",
        "right",
        "主诉：",
    ),
)
_TEXTS = st.lists(st.one_of(st.sampled_from(_PARTS), st.text(max_size=4)), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


@pytest.mark.parametrize(
    "read",
    [
        *(in_digits, known_numbers, spans_of_time, lambda text: stated_numbers(text, "en"), spoken_numbers),
        *(lambda text: demographics(text, brief=True), lambda text: without_ages(text, 45.0), beyond_age_and_sex),
        *(pieces, entries, statements, mentions, named_tests, ordered_tests),
        *(lambda text: changes(text, "six", "en"), lambda text: terms_in(text, "zh"), lambda t: read_sections(t, "zh")),
    ],
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_TEXTS)
@example(text="sİx weeks")
@example(text="9" * 400 + " point five days")
def test_any_text_is_read(read: Callable[[str], object], text: str) -> None:
    read(text)
