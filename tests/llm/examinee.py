"""One role, put to the test: what it is asked, what it answers, and a way to ask it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from cases.vocabulary import Department, Language
from llm import Call, ModelSettings, Role, ask
from llm.trace import collecting_calls
from tests.support.fake_server import FakeServer


class Opinion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    accepted: bool
    reason: str
    department: Department


@dataclass(frozen=True)
class View:
    report: str = "A small left pleural effusion."


GOOD: dict[str, Any] = {"accepted": True, "reason": "It fits.", "department": "Internal Medicine"}
OPINION = Opinion.model_validate(GOOD)
OFFLINE_OPINION = Opinion(accepted=False, reason="By rule.", department="Surgery")

EXAMINEE = Role("examinee", "rehearsal", "judges/claims", Opinion, offline=lambda view: OFFLINE_OPINION)


def spec(server: FakeServer) -> str:
    return f"openai:any@{server.base_url}"


def served(server: FakeServer, **options: Any) -> ModelSettings:
    return ModelSettings(models={"default": spec(server)}, **{"repairs": 1, **options})


async def put(settings: ModelSettings, language: Language = "en", pictures: Sequence[str] = ()) -> tuple[Opinion, Call]:
    """The answer and the record of the call."""
    with collecting_calls() as calls:
        opinion = await ask(EXAMINEE, View(), settings, language=language, place="seat 1", pictures=pictures)
    (call,) = calls
    return opinion, call


async def fail(settings: ModelSettings, error: type[Exception]) -> tuple[str, Call]:
    """The error's text and the record of the call."""
    with collecting_calls() as calls:
        try:
            await ask(EXAMINEE, View(), settings, language="en", place="seat 1")
        except error as raised:
            (call,) = calls
            return str(raised), call
    raise AssertionError(f"no {error.__name__} was raised")
