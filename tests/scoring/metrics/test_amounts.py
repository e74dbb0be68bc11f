"""Amounts are read with their units, however these are written."""

import pytest

from scoring.metrics.amounts import amounts, as_in, in_full, told_otherwise
from scoring.metrics.stated_share import stated_share


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,500 ml; 0.5g", {"1500": {"mL"}, "0.5": {"g"}}),
        ("50 mcg, 50 μg, 50 µg, 50微克", {"50": {"µg"}}),
        ("1.2 mg/dL and 1.2 mg per litre", {"1.2": {"mg/dL", "mg/L"}}),
        ("1 mg/kg/day, 100 mg/day", {"1": {"mg/kg"}, "100": {"mg"}}),
        ("３９℃ or 39 °C", {"39": {"degrees_C"}}),
        ("three weeks, a 45-year-old, 3个月", {"3": {"week", "month"}, "45": {"year"}}),
        ("ALT 40 IU/L, ALT 40 U/L", {"40": {"unit/L"}}),
        ("200万单位, 2 million units", {"200": {"万unit"}, "2": {"millionunit"}}),
        ("BNP 90 pg/mL, TSH 2 mIU/L, 30 mg/g", {"90": {"pg/mL"}, "2": {"mU/L"}, "30": {"mg/g"}}),
        ("每次20毫克, 5月7日, 7 doses", {"20": {"mg"}, "5": {"month"}, "7": {"time"}}),
        ("15.2×10⁹/L, L4, 1克罗恩病, 5 and 7", {}),
    ],
)
def test_numbers_have_their_units(text: str, expected: dict[str, set[str]]) -> None:
    assert amounts(text) == expected


def test_a_number_without_a_unit_is_in_no_other() -> None:
    assert told_otherwise("500 mg", "500 g") == told_otherwise("500 g", "500 mg") == {"500"}
    assert not told_otherwise("500 mg", "500") and not told_otherwise("500", "500 g")
    assert not told_otherwise("500 mg", "500 g, then 500 mg") and not told_otherwise("500 mg", "0.5 g")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("once daily", "3 times a day"),
        ("twice a day", "thrice daily"),
        ("two times per week", "3 times/week"),
        ("每日两次", "一日三次"),
        ("2次/日", "每天服3次"),
        ("twice daily", "twice weekly"),
        ("每天3次", "每周3次"),
        ("每日一次", "隔日一次"),
        ("once a day", "once every other day"),
        ("once daily", "once every 3 days"),
        ("once a day", "every other day"),
        ("每3天1次", "每天1次"),
        ("b.i.d.", "three times a day"),
        ("20 mg TID", "20 mg twice daily"),
        ("20mg tid", "20mg每日两次"),
        ("20 mg q8h", "20 mg every 12 hours"),
        ("500 mg daily", "500 mg twice daily"),
        ("2 tablets by mouth daily", "2 tablets three times a day"),
    ],
)
def test_how_often_is_told_otherwise_only_by_another_number_of_the_same_time(one: str, other: str) -> None:
    assert told_otherwise(one, other) and told_otherwise(other, one)
    assert not told_otherwise(one, one) and not told_otherwise(one, f"{one}, {other}")
    assert not told_otherwise(one, "daily, 每日, 5 times an hour, 5 times in all")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("500 mg/day", "500 mg per dose"),
        ("500毫克/天", "500毫克/次"),
        ("每次500毫克", "每天500毫克"),
        ("100 mL/h", "100 mL per day"),
        ("1 mg/kg/day", "1 mg/kg/dose"),
        ("1 g/day", "1000 mg/hour"),
        ("每天1克", "每次1000毫克"),
        ("5 mg daily", "5 mg weekly"),
        ("5 mg a day", "5 mg once weekly"),
        ("90 pg/mL", "90 ng/mL"),
        ("30 mg/g", "30 mg/mmol"),
    ],
)
def test_an_amount_per_time_is_told_otherwise_by_that_amount_per_another(one: str, other: str) -> None:
    for text, report in ((one, other), (other, one)):
        assert told_otherwise(as_in(text, report), report)
        assert not told_otherwise(text, text) and not told_otherwise(text, f"{one}, {other}")


def test_an_amount_without_a_time_is_per_no_other() -> None:
    for one, other in (("500 mg", "500 mg/day"), ("每次500毫克", "500毫克"), ("1 mg/kg", "1 mg/kg/day")):
        assert not told_otherwise(one, other) and not told_otherwise(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.5 g", "500 mg"),
        ("90 pg/mL", "90 ng/L"),
        ("2.5 mIU/L", "2.5 μIU/mL"),
        ("0.5克", "500毫克"),
        ("50 μg", "0.05 mg"),
        ("1.5 L", "1,500 mL"),
        ("8.2 g/dL", "82 g/L"),
        ("5 mmol/L", "5000 μmol/L"),
        ("2 million units", "200万单位"),
        ("14 days", "2 weeks"),
        ("1 mg/kg", "1000 μg/kg"),
    ],
)
def test_an_amount_is_written_as_the_report_has_it(one: str, other: str) -> None:
    assert as_in(f"It is {one}.", other) == f"It is {other}." and as_in(other, f"It is {one}.") == one
    for report in (f"{one} or {other}", "500 units", one, ""):
        assert as_in(one, report) == one


def test_how_often_counts_the_same_in_latin_and_in_words() -> None:
    for one, other in (
        ("Furosemide 40 mg b.i.d.", "Furosemide 40 mg twice daily."),
        ("Furosemide 40 mg q8h", "Furosemide 40 mg every 8 hours"),
        ("呋塞米20mg tid", "呋塞米20mg每日三次"),
    ):
        assert stated_share(one, other) == stated_share(other, one) == 1
        assert not told_otherwise(one, other)
    assert not told_otherwise("Mesalazine 2 g twice daily", "Mesalazine 4 g daily in two divided doses")


@pytest.mark.parametrize(
    ("one", "other"),
    [("500 mg daily", "500 mg once a day"), ("1 g once daily", "1 g q24h"), ("5 mg annually", "5 mg once a year")],
)
def test_a_dose_without_a_count_is_taken_once(one: str, other: str) -> None:
    assert not told_otherwise(one, other) and not told_otherwise(other, one)


@pytest.mark.parametrize("often", ["b.i.d.", "t.i.d.", "q.i.d.", "q.d."])
def test_a_sentence_that_ends_in_how_often_is_no_part_of_the_next(often: str) -> None:
    assert stated_share(f"No edema on furosemide 40 mg {often} Chest pain is present.", "Chest pain") == 1


def test_the_full_stop_of_a_short_form_ends_a_sentence_only_before_another_one() -> None:
    assert in_full("Twice: b.i.d. with food. 1 g t.i.d. Stop. 2. BID") == (
        "Twice: twice daily with food. 1 g 3 times daily. Stop. 2. twice daily"
    )
    assert in_full("1 g q.d.s., 1 g q.i.d., 2 g q12h.") == "1 g q.d.s., 1 g 4 times daily, 2 g every 12 hours."


def test_an_amount_keeps_its_time_when_written_as_the_report_has_it() -> None:
    assert as_in("1 g/day, 每次0.5克", "1000 mg per dose, 500毫克") == "1000 mg/day, 每次500毫克"
    assert as_in("5月7日", "1周") == "5月7日"


def test_a_number_of_any_length_is_read() -> None:
    assert amounts("1" * 100_000) == {} and amounts(f"{'1' * 100_000} mg {'1,' * 9}mg") == {"inf": {"mg"}}
