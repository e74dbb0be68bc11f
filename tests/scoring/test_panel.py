import math
from typing import Any

import pytest
from pydantic import BaseModel

from llm import AnswerError, ModelSettings, ModelSpecError, Role
from scoring import panel
from scoring.panel import Verdict, ask_panel
from tests.scoring.transcripts_of_ours import medpmc


class Grade(BaseModel):
    level: float
    word: str = "good"
    note: float | None = None


def verdict(*levels: float | None) -> Verdict[Any]:
    seats = {f"judge {seat}": level for seat, level in enumerate(levels)}
    return Verdict({seat: Grade(level=level) for seat, level in seats.items() if level is not None}, {})


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
