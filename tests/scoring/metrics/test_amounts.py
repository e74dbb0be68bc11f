"""Amounts are read with their units, however these are written."""

import pytest

from scoring.metrics.amounts import amounts, in_other_units


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
    assert in_other_units("500 mg", "500 g") == in_other_units("500 g", "500 mg") == {"500"}
    assert not in_other_units("500 mg", "500") and not in_other_units("500", "500 g")
    assert not in_other_units("500 mg", "500 g, then 500 mg") and not in_other_units("500 mg", "0.5 g")


def test_a_number_of_any_length_is_read() -> None:
    assert amounts("1" * 100_000) == {} and amounts(f"{'1' * 100_000} mg {'1,' * 9}mg") == {"inf": {"mg"}}
