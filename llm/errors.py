"""Why a question got no answer. A recorded failure is never turned into a score."""

from llm.masking import masked


class AskError(RuntimeError):
    """A role could not answer; ``reason`` is the termination reason of the case, ``call`` and ``stage`` are where."""

    reason = "ask_error"
    call = ""
    stage = ""


class AnswerError(AskError):
    """The model answered, but not in the answer's type, also not after the repairs."""

    reason = "unparseable_answer"


class ModelError(AskError):
    """The model could not be reached or refused the call, also not after the allowed attempts."""

    reason = "model_error"


LONGER = "serve the model with a longer context, or name one that reads more"


class ContextLengthError(ModelError):
    """The prompt is longer than the model can read, which no other form of the question changes."""

    reason = "context_length"


class RefusedError(AskError):
    """The server takes no question at all: it refuses the key or the account, knows no such model, or wants money.

    What gathers answers and goes on without the missing ones must let this one through: none will come.
    """

    reason = "refused"


UNANSWERED = (AnswerError, ModelError)  # one question got no answer; what gathers answers can go on without it


class LimitError(AskError):
    """A limit was reached; ``reason`` says whose and which, as in `case_tokens_limit`.

    What gathers answers and goes on without the missing ones must let this one through.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModelSpecError(ValueError):
    """A model map that names an unknown provider, model spelling or role; raised before the first call."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class CacheError(ModelSpecError):
    """The response cache cannot be used."""


class OversizeReplyError(RuntimeError):
    """A server's answer that is not taken: too large, or packed in a way that was not asked for."""
