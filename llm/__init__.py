"""How a role speaks: one door, `ask`, to chat models, offline rules and people."""

from llm.ask import ask
from llm.errors import AnswerError, AskError, CacheError, LimitError, ModelError, ModelSpecError
from llm.limits import Limits, Meter, metering
from llm.role import Role, Speech
from llm.settings import ModelSettings
from llm.trace import Call, Event, Trace, merge_traces

__all__ = [
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
    "Role",
    "Speech",
    "Trace",
    "ask",
    "merge_traces",
    "metering",
]
