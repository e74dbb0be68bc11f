"""The errors of a question that got no answer. A recorded failure is never turned into a score."""

from cases.validation import InputError
from llm.masking import masked


class AskError(RuntimeError):
    """A role could not answer; ``reason`` is the case's termination reason, ``call`` and ``stage`` say where."""

    reason = "ask_error"
    call = ""
    stage = ""


class AnswerError(AskError):
    """The model gave no valid answer of the type, even after the repairs."""

    reason = "unparseable_answer"


class ModelError(AskError):
    """The model could not be reached or refused the call, even after the allowed attempts."""

    reason = "model_error"


LONGER = "serve the model with a longer context, or use a model that has one"
TOO_LONG = f"the prompt is too long; {LONGER}"


class ContextLengthError(ModelError):
    """The prompt exceeds the model's context; asking in another form does not help."""

    reason = "context_length"


LESS = "the request has more tokens than the account may use in a while; ask for a higher limit, or lower max_tokens"


class NoRoomError(AnswerError):
    """The model's context was full before its answer was complete, even after the repairs."""

    reason = ContextLengthError.reason


class RateError(ContextLengthError):
    """One request has more tokens than the account may use in a minute or a day: it never passes unless shortened."""

    reason = "rate_limit"


class RefusedError(AskError):
    """The server will answer no question: key or account refused, unknown model, or no credit.

    Code that gathers answers and tolerates missing ones must re-raise this error: no further answer will come.
    """

    reason = "refused"


class BatchFileError(RefusedError):
    """The file of batches cannot be written, as on a full disk: what is asked from now on might be paid twice."""


PROMPT_ERROR = "prompt_error"  # reason of a `PromptError`, which is not a failed answer
UNANSWERED = (AnswerError, ModelError)  # one question got no answer; code that gathers answers may continue without it


class LimitError(AskError):
    """A limit was reached; ``reason`` names whose and which, as in `case_tokens_limit`.

    Code that gathers answers and tolerates missing ones must re-raise this error.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason, message)  # what it is made of, so that a pool of processes can pickle it
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        """Return the message."""
        return self.message


class ModelSpecError(InputError):
    """The model map names an unknown provider, model spelling or role; raised before the first call."""

    def __init__(self, message: str) -> None:
        super().__init__(masked(message))


class CacheError(ModelSpecError):
    """The response cache cannot be used."""


class OversizeReplyError(RuntimeError):
    """A server's answer is rejected: too large, or in an encoding that was not requested."""
