"""How a role speaks: one door, `ask`, to chat models, offline rules and people."""

from models.ask import ask
from models.errors import AnswerError, AskError, ModelError, ModelSpecError
from models.role import Role
from models.settings import ModelSettings
from models.trace import Call, Trace, merge_traces

__all__ = [
    "AnswerError",
    "AskError",
    "Call",
    "ModelError",
    "ModelSettings",
    "ModelSpecError",
    "Role",
    "Trace",
    "ask",
    "merge_traces",
]
