from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from llm import ModelSettings
from llm.asked import fingerprint

SETTINGS = ModelSettings()
ASKED: dict[str, Any] = {
    "call_id": "rehearsal/examinee/seat 1",
    "spec": "openai:any",
    "messages": [SystemMessage("You judge."), HumanMessage("Well?")],
    "schema": {"type": "object"},
    "instruction": "Answer in JSON.",
    "settings": SETTINGS,
}


def picture(content: str) -> BaseMessage:
    return HumanMessage([{"type": "image", "base64": content, "mime_type": "image/png"}])


CHANGES: dict[str, Callable[[], dict[str, Any]]] = {
    "another seat": lambda: {"call_id": "rehearsal/examinee/seat 2"},
    "another model": lambda: {"spec": "openai:other"},
    "other words": lambda: {"messages": [SystemMessage("You judge."), HumanMessage("Well!")]},
    "another speaker": lambda: {"messages": [SystemMessage("You judge."), AIMessage("Well?")]},
    "another boundary": lambda: {"messages": [SystemMessage("You judge.Well?"), HumanMessage("")]},
    "one picture": lambda: {"messages": [picture("AAAA")]},
    "another picture": lambda: {"messages": [picture("AAAB")]},
    "another answer type": lambda: {"schema": {"type": "object", "required": []}},
    "another instruction": lambda: {"instruction": "Answer in YAML."},
    "temperature": lambda: {"settings": ModelSettings(temperature=0.1)},
    "length": lambda: {"settings": ModelSettings(max_tokens=10)},
    "seed": lambda: {"settings": ModelSettings(seed=0)},
    "epoch": lambda: {"settings": ModelSettings(epoch=1)},
}


def test_whatever_an_answer_depends_on_makes_another_question() -> None:
    keys = [fingerprint(**{**ASKED, **change()}) for change in CHANGES.values()]
    assert len({fingerprint(**ASKED), *keys}) == len(CHANGES) + 1


@pytest.mark.parametrize(
    "settings",
    [
        {"timeout": 1.0},
        {"max_attempts": 1},
        {"max_connections": 1},
        {"trace_file": "elsewhere.jsonl"},
        {"prices": {"openai:any": (1.0, 1.0)}},
        {"cache": "cache.sqlite"},
        {"models": {"default": "openai:any", "examinee": "openai:any"}},
    ],
)
def test_what_only_says_how_it_is_asked_makes_the_same_question(settings: dict[str, Any]) -> None:
    assert fingerprint(**{**ASKED, "settings": ModelSettings(**settings)}) == fingerprint(**ASKED)


@given(st.tuples(st.text(), st.text(), st.text()), st.tuples(st.text(), st.text(), st.text()))
def test_no_part_can_pass_for_another(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    def key(parts: tuple[str, str, str]) -> str:
        return fingerprint(parts[0], "openai:any", [HumanMessage(parts[1])], {"type": "object"}, parts[2], SETTINGS)

    assert (key(one) == key(other)) == (one == other)
