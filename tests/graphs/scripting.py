"""Scripted members of the cast, for offline runs and over the fake server, and what is read off their calls."""

import dataclasses
import functools
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from cases import Case, load_cases
from llm import Call, Trace
from nodes.consultation import doctor
from nodes.patients import medchain as patient
from nodes.state.chart import Presentation
from nodes.state.decisions import Referral, Triage, Verdict
from nodes.workflow import case_retrieval, feedback_agent, general_agent, reviewer
from nodes.workflow import order_extraction as extraction_agent
from nodes.workflow import summarizing_agent as summary
from retrieval import remember
from tests.support.fake_server import ChatRequest, FakeServer

ROLES = ("general", "summarizing", "feedback", "doctor", "patient", "extraction", "refiner", "reviewer")
_DECLARED: dict[str, tuple[Any, str]] = {
    "general": (general_agent, "general_agent"),
    "summarizing": (summary, "summarizing_agent"),
    "feedback": (feedback_agent, "feedback_agent"),
    "patient": (patient, "patient"),
    "extraction": (extraction_agent, "extraction_agent"),
    "refiner": (case_retrieval, "refiner"),
    "reviewer": (reviewer, "reviewer"),
}


def script(patch: pytest.MonkeyPatch, role: str, rule: Callable[[Any], Any]) -> None:
    """Give a role another offline rule, at every stage where it has a part."""
    if role == "doctor":
        for stage, declared in doctor.DOCTORS.items():
            patch.setitem(doctor.DOCTORS, stage, dataclasses.replace(declared, offline=rule))
        return
    module, name = _DECLARED[role]
    patch.setattr(module, name, dataclasses.replace(getattr(module, name), offline=rule))


def accept(view: Any) -> Verdict:
    return Verdict(accepted=True, reason="")


def object_always(view: Any) -> Verdict:
    return Verdict(accepted=False, reason="wrong side")


class Verdicts:
    """Judges that read their verdicts from a script: one list a judge, accepted once a list is used up."""

    def __init__(self, by_judge: Mapping[str, list[bool]]) -> None:
        self.by_judge = by_judge
        self.given: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, view: Any) -> Verdict:
        with self._lock:
            turn = self.given[view.judge]
            self.given[view.judge] += 1
        script = self.by_judge.get(view.judge, [])
        accepted = script[turn] if turn < len(script) else True
        return Verdict(accepted=accepted, reason="fine" if accepted else f"objection {turn} of {view.judge}")


@functools.cache
def _builtin() -> dict[str, Case]:
    return {case.id: case for case in load_cases()}


def builtin(case_id: str) -> Case:
    return _builtin()[case_id].model_copy(deep=True)


def findings(**more: Any) -> dict[str, Any]:
    """The least that every stage can start from."""
    return {
        "case_id": "made-up",
        "presentation": Presentation(language="en", chief_complaint="A cough for two weeks."),
        "symptoms": remember(builtin("internal-medicine-01")).symptoms,  # of a text whose embedding is shipped
        "triage": Triage(urgency="routine", department="Internal Medicine"),
        "referral": Referral(urgency="routine", department="Internal Medicine", sub_departments=["Cardiology"]),
        **more,
    }


def calls(result: Mapping[str, Any], role: str = "", stage: str = "", place: str = "") -> list[Call]:
    """The calls of a run by role, stage and a part of their place; all of them if nothing is named."""
    trace: Trace = result.get("trace") or Trace()
    return [
        call
        for call in trace.calls
        if role in ("", call.role) and call.stage.startswith(stage) and (not place or place in call.id.split("/"))
    ]


def words(call: Call) -> str:
    """All that a call said."""
    return "\n".join(str(message.get("content", "")) for message in call.messages or [])


def seats(server: FakeServer, **models: str) -> dict[str, str]:
    """A model map that asks the server for everybody, each under the role's own name as the model."""
    return {role: f"openai:{role}@{server.base_url}" for role in ROLES} | models


def asked_of(server: FakeServer, role: str) -> list[ChatRequest]:
    return [request for request in server.requests if request.model == role]


def most_at_once(requests: Sequence[ChatRequest]) -> int:
    """How many of the requests were in flight together at most."""
    ends = [(request.time_out or request.time_in, -1) for request in requests]
    at_once, most = 0, 0
    for _, step in sorted([*ends, *((request.time_in, 1) for request in requests)]):
        at_once += step
        most = max(most, at_once)
    return most


def raw(request: ChatRequest) -> str:
    """The messages as they went over the wire."""
    return json.dumps(request.messages, ensure_ascii=False)


def pictures_in(request: ChatRequest) -> list[str]:
    """The pictures of a request, as data URLs."""
    blocks = [block for message in request.messages for block in message["content"] if isinstance(block, dict)]
    return [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]
