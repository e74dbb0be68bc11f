import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llm import AnswerError, ModelSettings, ModelSpecError, Role
from scoring import panel
from scoring.panel import Verdict, agreement, ask_panel
from tests.scoring.transcripts_of_ours import medpmc


class Grade(BaseModel):
    level: float
    word: str = "good"
    note: float | None = None


def verdict(*levels: float | None) -> Verdict[Any]:
    seats = {f"judge {seat}": level for seat, level in enumerate(levels)}
    return Verdict({seat: Grade(level=level) for seat, level in seats.items() if level is not None}, {})


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
    found = agreement([verdict(*row) for row in rows], "level")
    assert found is None if expected is None else found == pytest.approx(expected)


def test_alpha_of_the_textbooks_example() -> None:
    # Krippendorff 2011, nominal data with missing values: 0.743.
    table = ["123321412___", "1233224125_3", "_3332342251_", "12332441251_"]
    rows = [[None if cell == "_" else float(cell) for cell in column] for column in zip(*table, strict=True)]
    assert agreement([verdict(*row) for row in rows], "level", "nominal") == pytest.approx(0.743, abs=0.0005)


def test_alpha_takes_any_number_of_different_scores() -> None:
    far = [{"one": float(score), "other": score + 1.0} for score in range(0, 20_002, 2)]
    assert panel.alpha(far) == pytest.approx(1)


def test_alpha_of_words_is_nominal_unless_told_otherwise() -> None:
    pairs = ("xx", "yy", "xy", "xx")
    words = [Verdict({str(seat): Grade(level=0, word=word) for seat, word in enumerate(pair)}, {}) for pair in pairs]
    assert agreement(words, "word") == pytest.approx(agreement(words, "word", "nominal"))
    assert agreement(words, "word") == pytest.approx(1 - (2 / 8) / (2 * 5 * 3 / 56))


def test_mean_and_majority_are_of_those_who_answered() -> None:
    judged = verdict(1, 2, 2, None)
    assert judged.mean("level") == pytest.approx(5 / 3) and judged.majority("level") == 2
    assert verdict(1, 2).majority("level") is None
    assert verdict().mean("level") is None and verdict().majority("level") is None
    assert judged.votes("note") == {} and judged.mean("note") is None
    assert judged.majority("word") == "good"


async def test_a_judge_that_fails_is_missing_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {}

    async def ask(role: Any, view: Any, settings: ModelSettings, *, language: str, place: str) -> Grade:
        spec = settings.models["evaluation.grader"]
        places[place] = spec
        if spec == "offline":
            raise AnswerError("no grade")
        return Grade(level=3)

    monkeypatch.setattr(panel, "ask", ask)
    role: Role[Grade] = Role("grader", "evaluation", "judges/diagnosis", Grade, offline=lambda view: Grade(level=1))
    seats = ["openai:a", "offline", "openai:a"]
    found = await ask_panel(role, None, seats, ModelSettings(), language="en", place="case 7")
    assert found.answers == {"openai:a": Grade(level=3), "openai:a #2": Grade(level=3)}
    assert found.failures == {"offline": "unparseable_answer: no grade"}
    assert places == {"case 7/openai:a": "openai:a", "case 7/offline": "offline", "case 7/openai:a #2": "openai:a"}


async def test_a_misspelt_model_is_refused() -> None:
    from scoring.medpmc.judges import patient_judge, view

    with pytest.raises((ModelSpecError, ValueError), match="not a model"):
        await ask_panel(patient_judge, view(medpmc(), "en"), ["gpt"], ModelSettings(), language="en")


async def test_an_offline_panel_agrees_with_itself() -> None:
    from scoring.medpmc.judges import consultation_judge, view

    found = await ask_panel(
        consultation_judge, view(medpmc(), "en"), ["offline", "offline"], ModelSettings(), language="en"
    )
    one, other = found.answers.values()
    assert one == other and found.failures == {}
    assert not math.isnan(found.mean("inquiry") or math.nan)
