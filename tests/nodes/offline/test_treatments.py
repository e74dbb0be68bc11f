from typing import Any

import pytest

from nodes.offline.treatments import called_for_by_signs


@pytest.mark.parametrize(
    ("language", "text", "quoted"),
    [
        (
            "en",
            "CRP: Elevated, indicating inflammation or infection.",
            "CRP: Elevated, indicating inflammation or infection",
        ),
        ("en", "Pulse 104/min, temperature 38.5 °C, BMI 29.", "temperature 38.5 °C"),
        ("zh", "胸部CT，考虑肺部感染。", "考虑肺部感染"),
        ("zh", "白细胞15×10⁹/L，并有脓性分泌物。", "白细胞15×10⁹/L，并有脓性分泌物"),
    ],
)
def test_a_sign_is_quoted_with_the_words_that_make_it_a_sentence(language: Any, text: str, quoted: str) -> None:
    """An intern quoted "indicating inflammation or infection" alone."""
    assert called_for_by_signs(text, language) == {"Antibiotic Therapy": quoted}


@pytest.mark.parametrize(
    ("language", "text"), [("en", "There is no sign of infection."), ("zh", "查体未见明显感染征象。")]
)
def test_a_sign_that_was_not_found_calls_for_nothing(language: Any, text: str) -> None:
    assert called_for_by_signs(text, language) == {}
