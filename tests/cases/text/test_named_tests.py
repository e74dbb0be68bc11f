import random

import pytest

from cases.text.named_tests import _overlapping, is_other, labelled_test, named_tests, occurs, reported, told_of
from cases.vocabulary import EXAMINATION_ITEMS


def items(text: str) -> list[str]:
    return [test.item for test in named_tests(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please have a complete blood count and a chest X-ray done.", ["Blood Test", "X-ray"]),
        ("请做血常规和腹部B超。", ["Blood Test", "Ultrasound"]),
        ("MRI of the brain; CT of the chest", ["MRI", "CT"]),
        ("A CT scan of the abdomen", ["CT"]),
        ("A CT angiogram of the head", ["CT"]),
        ("A CT pulmonary angiogram", ["CT"]),
        ("An MR angiogram", ["MRI"]),
        ("做个头颅CT血管造影。", ["CT"]),
        ("A CT and an angiogram", ["CT", "X-ray"]),
        ("An MRI scan of the liver and a scan of the kidneys", ["MRI", "Ultrasound"]),
        ("Blood routine, urine routine and biochemical tests", ["Blood Test", "Urine Test", "Blood Test"]),
        ("Let me examine your chest and abdomen.", ["Chest Examination", "Abdominal Examination"]),
        ("检查一下腹部。", ["Abdominal Examination"]),
        ("请先做以下体格检查：一般检查；胸部检查。", ["General Examination", "Chest Examination"]),
        ("检查一下下体。", ["Urogenital System Examination"]),
        ("I want a skin exam", ["Skin Examination"]),
        ("An ECG and a lumbar puncture", ["Chest Examination", "Neurological Examination"]),
        ("给您查个类风湿。", ["Blood Test"]),
    ],
)
def test_a_test_is_known_by_the_names_that_doctors_give_it(text: str, expected: list[str]) -> None:
    assert items(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "Give me all lab results and imaging.",
        "A general physical examination, please.",
        "What is your general condition?",
        "The chest pain began yesterday.",
        "做个全面检查，所有化验结果都要。",
        "身体一般情况怎么样？",
        "有类风湿性关节炎病史3年。",
        "看过皮肤科没有？",
        "看过心理医生没有？",
    ],
)
def test_what_calls_no_examination_by_a_name_of_its_own_names_none(text: str) -> None:
    assert items(text) == []


def test_a_name_inside_a_longer_one_is_that_one() -> None:
    assert [test.spelling for test in named_tests("chest x-ray")] == ["chest x-ray"]
    assert items("请做腹部超声检查。") == ["Ultrasound"], "the verb of a test examines no region"


def test_every_item_of_the_vocabulary_is_named_by_its_own_names() -> None:
    for term in EXAMINATION_ITEMS.terms:
        assert {tuple(items(name)) for name in term.names} == {(term.en,)}


def test_the_name_of_an_item_stands_for_all_of_it_and_the_name_of_a_test_for_its_own_spellings() -> None:
    assert [test.spellings for test in named_tests("blood test")] == [()]
    [count] = named_tests("CBC")
    assert {"complete blood count", "血常规", "hemoglobin"} <= set(count.spellings)


def test_a_region_alone_is_the_label_of_its_examination_but_a_vague_label_is_none() -> None:
    assert [test.item for test in labelled_test("Chest")] == ["Chest Examination"]
    assert [test.item for test in labelled_test("Ultrasound")] == ["Ultrasound"]
    assert labelled_test("General") == labelled_test("everything") == []


def test_a_name_occurs_as_a_word_of_its_own_and_in_chinese_anywhere() -> None:
    assert occurs("ALT", "ALT 38 U/L") and not occurs("ALT", "salt")
    assert occurs("血钾", "复查血钾3.1") and not occurs("", "anything")


def test_overlapping_names_are_found_in_one_pass_as_each_beside_each() -> None:
    draw = random.Random(0)
    for _ in range(200):
        starts = [draw.randrange(12) for _ in range(draw.randrange(8))]
        spans = [(start, start + draw.randint(1, 5)) for start in starts]
        within = {(a, b) for a, b in spans for c, d in spans if c <= a and b <= d and (a, b) != (c, d)}
        beyond = {(a, b) for a, b in spans for c, d in spans if a < c < b < d}
        assert _overlapping(spans) == (within, beyond), spans
    many = [(start, start + 2) for start in range(0, 300_000, 3)]  # each beside each: ten thousand million
    assert _overlapping(many) == (set(), set())


def test_what_a_test_shows_is_told_near_its_name() -> None:
    """All of a line was read from each of its tests on: for thousands in one line, the square of its length."""
    assert [test.item for test in reported("Angiography of both legs shows a thrombus.")]
    assert not reported(f"Angiography {'of both legs ' * 50}shows a thrombus.")


@pytest.mark.parametrize(
    ("test", "report", "about"),
    [
        ("chest X-ray", ["The lungs are clear.", "Angiography shows a thrombus."], []),
        ("chest X-ray", ["X-ray of good quality.", "Hemoglobin 120 g/L.", "Lungs clear."], [0, 1, 2]),
        ("angiography", ["The lungs are clear.", "Angiography shows a thrombus."], [1]),
        ("angiography", ["The lungs are clear."], []),
        ("gastroscopy", ["The stomach is red."], [0]),
        ("hemoglobin", ["The count is low."], []),
        ("hemoglobin", ["Hemoglobin 120 g/L", "Glycated hemoglobin 7 %"], [0]),
        ("pulse", ["P 80, T 36.8", "The abdomen is soft."], [0]),
        ("temperature", ["Temperature 38.", "P 80", "The abdomen is soft."], [0]),
    ],
)
def test_a_report_is_told_of_a_test_by_its_names_or_else_whole_where_it_names_no_other(
    test: str, report: list[str], about: list[int]
) -> None:
    assert told_of(named_tests(test)[0], report) == [report[place] for place in about]


def test_a_picture_named_by_an_item_is_of_no_other_test() -> None:
    (test,) = named_tests("angiography")
    assert not is_other(test, "Chest X-ray") and not is_other(test, "Angiography")
