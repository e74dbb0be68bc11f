"""Kin of a case among the remembered: nothing recalls itself in another dress, and nothing unrelated is kept away."""

from pathlib import Path

import pytest

from cases import Case, ExaminationRecord, PatientRecord, load_cases
from cases.injections import injected, injected_earlier
from retrieval import build_memory, feature_text, kin_of, open_memory, remember
from retrieval.kinship import NEAR

CASES = load_cases()
REMEMBERED = [remember(case) for case in CASES]


def renamed(case: Case, **texts: str) -> Case:
    """The case under an id that tells nothing, with other texts."""
    return case.model_copy(update={"id": "new", "patient": case.patient.model_copy(update=texts)})


@pytest.mark.slow
def test_no_two_cases_that_are_built_in_are_taken_for_kin() -> None:
    nearest = max(kin_of(case).overlap(other) for case in CASES[::6] for other in REMEMBERED if other.id != case.id)
    assert nearest < NEAR / 2


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES[::12], ids=lambda case: case.id)
def test_variants_are_kin_by_their_parents_and_by_their_text(case: Case) -> None:
    for variant in [*injected(case), *injected_earlier(case)]:
        assert variant.parent_id == case.id
        assert kin_of(variant).includes(remember(case)) and kin_of(case).includes(remember(variant))
        foreign = variant.model_copy(update={"id": "new", "parent_id": None})
        assert kin_of(foreign).includes(remember(case)) and kin_of(case).includes(remember(foreign))


def test_variants_of_one_case_are_kin_of_each_other() -> None:
    first, *_, last = injected(CASES[0])
    short = {"patient": CASES[0].patient.model_copy(update={"chief_complaint": "x", "past_history": ""})}
    assert kin_of(first).includes(remember(last.model_copy(update=short)))
    assert {variant.parent_id for variant in injected(first)} == {CASES[0].id}


def test_a_record_in_slightly_other_words_is_kin_and_its_answer_key_plays_no_part() -> None:
    case = next(case for case in CASES if case.language == "en")
    said = case.patient.past_history.replace(" the ", " his ").upper() + " Seen on Monday."
    assert kin_of(renamed(case, past_history=said, chief_complaint=case.patient.chief_complaint + "!!")).includes(
        remember(case)
    )
    keyless = case.model_copy(update={"id": "new", "key": type(case.key)()})
    assert kin_of(keyless).overlap(remember(case)) == 1
    other = renamed(CASES[-1]).model_copy(update={"key": case.key})
    assert not kin_of(other).includes(remember(case))


def test_records_of_which_each_text_begins_otherwise_are_kin_by_the_rest() -> None:
    for language in ("en", "zh"):
        case = next(case for case in CASES if case.language == language)
        told = {name: getattr(case.patient, name) for name in ("chief_complaint", "present_illness")}
        bare = case.model_copy(update={"patient": PatientRecord(**told), "examinations": ExaminationRecord()})
        copy = renamed(bare, **{name: f"Seen at noon. {text}" for name, text in told.items()})
        assert kin_of(bare).includes(remember(copy))


def test_a_record_in_full_width_letters_and_digits_is_kin() -> None:
    case = next(case for case in CASES if case.language == "en")
    wide = str.maketrans({code: chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
    texts = {name: getattr(case.patient, name).translate(wide) for name in ("chief_complaint", "present_illness")}
    assert kin_of(renamed(case, **texts).model_copy(update={"key": type(case.key)()})).overlap(remember(case)) > 0.9


def test_a_record_without_a_letter_is_nobodys_kin_but_its_own() -> None:
    blank = Case.model_validate({"id": "a", "patient": {"chief_complaint": "?"}, "provenance": {"source": "a test"}})
    twin = remember(blank.model_copy(update={"id": "b"}))
    assert not kin_of(blank).includes(twin) and kin_of(blank).includes(remember(blank))


def test_a_copy_whose_symptoms_a_model_described_is_kin_however_little_else_its_record_has() -> None:
    """Of cases reduced to complaint and present illness, 35 of 144 recalled their renamed copies."""
    for case in CASES:
        told = {name: getattr(case.patient, name) for name in ("chief_complaint", "present_illness")}
        bare = case.model_copy(update={"patient": PatientRecord(**told), "examinations": ExaminationRecord()})
        twin = remember(renamed(bare), "What a model wrote in words of its own, none of which the record has.")
        assert kin_of(bare).includes(twin)
        assert feature_text(twin) == feature_text(twin.model_copy(update={"told": ""}))


def test_what_a_case_is_known_by_tells_nothing_of_it_and_is_small() -> None:
    for case in CASES:
        told = kin_of(case).model_dump_json()
        assert case.patient.chief_complaint not in told and len(told) < 4_000


def test_a_case_without_a_parent_is_written_as_before() -> None:
    assert "parent_id" not in CASES[0].model_dump_json() + REMEMBERED[0].model_dump_json()


def test_kin_are_never_recalled_however_many_there_are_and_others_come_in_their_place(tmp_path: Path) -> None:
    of_department = [case for case in CASES if case.key.department == CASES[0].key.department]
    case, others = of_department[0], of_department[1:]
    copies = [case.model_copy(update={"id": f"copy-{number}"}) for number in range(40)]
    memory = build_memory([*copies, *others], tmp_path)
    symptoms = remember(case).symptoms
    assert {found.case.id for found in memory.recall(symptoms, case.key.department, k=3)} <= {one.id for one in copies}
    for department in (case.key.department, None):
        found = memory.recall(symptoms, department, kin=kin_of(case), k=3)
        expected = open_memory(tmp_path).recall(symptoms, department, exclude=[one.id for one in copies], k=3)
        assert found == expected and {one.case.id for one in found} <= {one.id for one in others} and len(found) == 3
