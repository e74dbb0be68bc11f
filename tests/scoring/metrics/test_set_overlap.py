from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.vocabulary import EXAMINATION_ITEMS
from scoring.metrics.set_overlap import canonical_items, canonical_sub_departments, exact_match, intersection_over_union

ITEMS = st.lists(st.sampled_from(EXAMINATION_ITEMS.names))


def test_two_of_four_items_in_common_score_one_half() -> None:
    assert intersection_over_union(["CT", "MRI", "X-ray"], ["CT", "MRI", "Ultrasound"]) == 0.5


def test_an_empty_reference_is_unscored_and_an_empty_prediction_scores_zero() -> None:
    assert intersection_over_union(["CT"], []) is None
    assert intersection_over_union([], []) is None
    assert intersection_over_union([], ["CT"]) == 0


def test_a_superfluous_item_lowers_the_score() -> None:
    assert intersection_over_union(["CT", "MRI"], ["CT"]) == 0.5


@given(ITEMS, ITEMS.filter(bool), st.randoms())
def test_the_overlap_is_in_range_and_ignores_order_and_repetition(
    predicted: list[str], reference: list[str], random: Random
) -> None:
    score = intersection_over_union(predicted, reference)
    assert score is not None and 0 <= score <= 1
    shuffled = predicted + predicted[:1]
    random.shuffle(shuffled)
    assert intersection_over_union(shuffled, reference[::-1]) == score
    assert intersection_over_union(reference, predicted) in (score, None)


@given(ITEMS.filter(bool))
def test_the_reference_itself_scores_one(items: list[str]) -> None:
    assert intersection_over_union(items, items) == 1


def test_items_compare_under_their_canonical_names_in_any_spelling_and_language() -> None:
    assert canonical_items([" ct ", "X线片", "超声", "CT"], EXAMINATION_ITEMS) == {"CT", "X-ray", "Ultrasound"}
    heent, nuclear = "Head, Eyes, Ears, Nose and Throat Examination", "Nuclear Medicine Imaging"
    assert canonical_items(["头眼耳鼻喉检查", "核医学显像"], EXAMINATION_ITEMS) == {heent, nuclear}
    invisible = ["C\u200bT", "\ufeffX线片", "Ultra\u00adsound"]
    assert canonical_items(invisible, EXAMINATION_ITEMS) == {"CT", "X-ray", "Ultrasound"}


def test_a_blank_item_is_no_item_and_an_unknown_one_counts_as_wrong() -> None:
    assert canonical_items(["", " \n", "。", "Palm Reading"], EXAMINATION_ITEMS) == {"palm reading"}
    assert intersection_over_union(canonical_items(["CT", "palm reading"], EXAMINATION_ITEMS), ["CT"]) == 0.5


def test_second_level_departments_compare_by_alias_and_an_unlisted_one_by_its_normalised_spelling() -> None:
    assert canonical_sub_departments(["伤口造口护理"]) == canonical_sub_departments(["wound and ostomy care "])
    assert canonical_sub_departments(["Sleep  Clinic."]) == canonical_sub_departments(["sleep clinic"])
    assert canonical_sub_departments([" ", ""]) == canonical_items([" "], EXAMINATION_ITEMS) == frozenset()


@given(st.lists(st.text()))
def test_any_text_has_a_canonical_form_that_is_its_own(texts: list[str]) -> None:
    items = canonical_items(texts, EXAMINATION_ITEMS)
    assert canonical_items(items, EXAMINATION_ITEMS) == items
    names = canonical_sub_departments(texts)
    assert canonical_sub_departments(names) == names


@pytest.mark.parametrize(
    ("predicted", "reference", "score"),
    [("Surgery", "Surgery", 1.0), ("Oncology", "Surgery", 0.0), (None, "Surgery", 0.0), ("Surgery", None, None)],
)
def test_an_exact_match_is_one_and_a_missing_reference_unscored(
    predicted: str | None, reference: str | None, score: float | None
) -> None:
    assert exact_match(predicted, reference) == score
