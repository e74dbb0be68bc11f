"""Amounts are read with their units, however these are written."""

import pytest

from scoring.metrics.amounts import amounts, as_in, told_otherwise


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
    ],
)
def test_how_often_is_told_otherwise_only_by_another_number_of_the_same_time(one: str, other: str) -> None:
    assert told_otherwise(one, other) and told_otherwise(other, one)
    assert not told_otherwise(one, one) and not told_otherwise(one, f"{one}, {other}")
    assert not told_otherwise(one, "daily, 每日, 5 times an hour, 5 times in all")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.5 g", "500 mg"),
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


def test_a_number_of_any_length_is_read() -> None:
    assert amounts("1" * 100_000) == {} and amounts(f"{'1' * 100_000} mg {'1,' * 9}mg") == {"inf": {"mg"}}
