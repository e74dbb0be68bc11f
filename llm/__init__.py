"""Ask a role for an answer: `ask` is the one entry to chat models, offline rules and people."""

from llm.ask import ask, side_by_side
from llm.errors import (
    UNANSWERED,
    AnswerError,
    AskError,
    CacheError,
    LimitError,
    ModelError,
    ModelSpecError,
    RefusedError,
)
from llm.limits import Limits, Meter, metering
from llm.role import Role, Speech
from llm.settings import ModelSettings
from llm.trace import Call, Event, Trace, merge_traces

__all__ = [
    "UNANSWERED",
    "AnswerError",
    "AskError",
    "CacheError",
    "Call",
    "Event",
    "LimitError",
    "Limits",
    "Meter",
    "ModelError",
    "ModelSettings",
    "ModelSpecError",
    "RefusedError",
    "Role",
    "Speech",
    "Trace",
    "ask",
    "merge_traces",
    "metering",
    "side_by_side",
]
