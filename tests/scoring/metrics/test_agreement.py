import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.metrics.agreement import alpha


def votes(*levels: float | None) -> dict[str, float]:
    return {f"judge {seat}": level for seat, level in enumerate(levels) if level is not None}


def brute_force_alpha(rows: list[list[float]]) -> float | None:
    """Krippendorff's alpha for interval data by its definition: mean squared distance within cases and overall."""
    rows = [row for row in rows if len(row) > 1]
    everything = [value for row in rows for value in row]
    total = len(everything)
    if len(set(everything)) < 2:
        return None
    within = (
        sum(
            sum((one - other) ** 2 for i, one in enumerate(row) for j, other in enumerate(row) if i != j)
            / (len(row) - 1)
            for row in rows
        )
        / total
    )
    overall = sum(
        (one - other) ** 2 for i, one in enumerate(everything) for j, other in enumerate(everything) if i != j
    )
    return 1 - within / (overall / (total * (total - 1)))


@given(st.lists(st.lists(st.sampled_from([None, 1.0, 2.0, 3.0, 5.0]), min_size=3, max_size=3), min_size=1, max_size=8))
def test_alpha_is_what_its_definition_says(rows: list[list[float | None]]) -> None:
    expected = brute_force_alpha([[value for value in row if value is not None] for row in rows])
    found = alpha([votes(*row) for row in rows])
    assert found is None if expected is None else found == pytest.approx(expected)


def test_alpha_of_the_textbooks_example() -> None:
    # Krippendorff 2011, nominal data with missing values: 0.743.
    table = ["123321412___", "1233224125_3", "_3332342251_", "12332441251_"]
    rows = [[None if cell == "_" else float(cell) for cell in column] for column in zip(*table, strict=True)]
    assert alpha([votes(*row) for row in rows], "nominal") == pytest.approx(0.743, abs=0.0005)


def test_alpha_takes_any_number_of_different_scores() -> None:
    far = [{"one": float(score), "other": score + 1.0} for score in range(0, 20_002, 2)]
    assert alpha(far) == pytest.approx(1)


def test_alpha_of_words_is_nominal_unless_told_otherwise() -> None:
    pairs = ("xx", "yy", "xy", "xx")
    words = [{str(seat): word for seat, word in enumerate(pair)} for pair in pairs]
    assert alpha(words) == pytest.approx(alpha(words, "nominal"))
    assert alpha(words) == pytest.approx(1 - (2 / 8) / (2 * 5 * 3 / 56))
