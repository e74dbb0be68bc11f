import random
import string
import tracemalloc
from collections import Counter

import pytest

from cases import Case, load_cases
from cases.splits import duplicates, split_cases

CASES = load_cases()


def retold(case: Case, number: int = 0) -> Case:
    """The same patient under another id, in slightly other words."""
    told = case.patient.present_illness.replace("two", "2").replace("三", "3") + (" Later seen." if number else "")
    return case.model_copy(
        update={"id": f"{case.id}-again{number}", "patient": case.patient.model_copy(update={"present_illness": told})}
    )


def test_records_of_one_patient_go_into_one_split() -> None:
    again = [retold(case, number) for number in (0, 1) for case in CASES]
    divided = {case.id: case.split for case in split_cases([*CASES, *again], seed=3)}
    assert all(divided[case.id] == divided[f"{case.id}-again0"] == divided[f"{case.id}-again1"] for case in CASES)


def test_different_patients_are_not_taken_for_one() -> None:
    assert [len(group) for group in duplicates(CASES)] == [1] * len(CASES)


def test_long_histories_are_compared_in_little_memory() -> None:
    """50,000 cases took 3.5 GB: what is kept of a history is four bytes for each of its places."""
    chance = random.Random(0)
    told = ["".join(chance.choices(string.ascii_letters, k=1_000)) for _ in range(120)]
    cases = [
        CASES[0].model_copy(
            update={"id": str(n), "patient": CASES[0].patient.model_copy(update={"present_illness": text})}
        )
        for n, text in enumerate(told)
    ]
    tracemalloc.start()
    groups = duplicates(cases)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(groups) == 120 and peak < 8e6, "four bytes for each of 120,000 places, and the work on one history"


@pytest.mark.parametrize(
    ("ratio", "shares"),
    [("7:1:2", {"train": 101, "validation": 14, "test": 29}), ("7:3", {"train": 101, "test": 43})],
)
def test_the_whole_and_every_department_are_divided_in_the_ratio(ratio: str, shares: dict[str, int]) -> None:
    divided = split_cases(CASES, ratio)
    assert Counter(case.split for case in divided) == shares
    for department in {case.key.department for case in CASES}:
        here = [case.split for case in divided if case.key.department == department]
        for split, count in shares.items():
            assert abs(here.count(split) - len(here) * count / len(CASES)) < 2, department  # type: ignore[arg-type]


def test_a_split_is_drawn_by_its_seed_alone_and_leaves_the_cases_else_as_they_are() -> None:
    first, again, other = split_cases(CASES, seed=1), split_cases(CASES, seed=1), split_cases(CASES, seed=2)
    assert first == again and [case.split for case in first] != [case.split for case in other]
    assert [case.model_copy(update={"split": None}) for case in first] == [
        case.model_copy(update={"split": None}) for case in CASES
    ]


def test_by_some_seed_every_case_of_a_small_department_is_tested() -> None:
    """In one order of departments, some of two cases were never tested, and of others one case always."""
    cases = [case for case in CASES if case.language == "zh"]  # two or three of each department
    drawn = [split_cases(cases, seed=seed) for seed in range(50)]
    counts = Counter(case.id for divided in drawn for case in divided if case.split == "test")
    assert counts.keys() == {case.id for case in cases} and max(counts.values()) < 25


@pytest.mark.parametrize("ratio", ["7", "7:1:2:3", "a:b", "0:1:2", "7:1:0", ""])
def test_what_is_no_ratio_is_refused(ratio: str) -> None:
    with pytest.raises(ValueError, match=r"expected train:validation:test"):
        split_cases(CASES, ratio)


def test_variants_of_one_case_go_with_it_whatever_their_words() -> None:
    variants = [
        case.model_copy(
            update={
                "id": f"{case.id}+attack",
                "parent_id": case.id,
                "patient": case.patient.model_copy(update={"chief_complaint": case.id, "present_illness": ""}),
            }
        )
        for case in CASES
    ]
    divided = {case.id: case.split for case in split_cases([*CASES, *variants])}
    assert all(divided[case.id] == divided[f"{case.id}+attack"] for case in CASES)
