"""How a role speaks: one door, `ask`, to chat models, offline rules and people."""

from models.ask import ask
from models.errors import AnswerError, AskError, CacheError, LimitError, ModelError, ModelSpecError
from models.limits import Limits, Meter, metering
from models.role import Role, Speech
from models.settings import ModelSettings
from models.trace import Call, Trace, merge_traces

__all__ = [
    "AnswerError",
    "AskError",
    "CacheError",
    "Call",
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
