"""Retry failed requests: how often for one answer, and with which pauses."""

import random

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from llm.failed_requests import (
    ServerAwayError,
    is_filtered,
    is_of_a_closed_loop,
    is_time_out,
    is_too_many,
    is_transient,
    retry_after,
)

# A 429 says nothing about the question, so it uses up the patience more slowly by this factor.
BUSY_PER_ATTEMPT = 4
_MOST_TOKENS = 1_000_000_000  # of one request; a server may report any number
_FIRST_WAIT = 0.25
_LONGEST_OWN_WAIT = 20.0


class Patience:
    """The retries left for one answer, shared by all forms of asking for it.

    A slow server usually keeps working on abandoned requests, so it is given longer and asked less often: after each
    time-out, the next request may take one time-out longer and, if it times out too, uses up as many attempts.
    """

    def __init__(self, attempts: int) -> None:
        self.sent = self.input_tokens = self.output_tokens = 0  # of all requests, failed ones included
        self._failed = 0  # without those that a server's absence failed
        self._times_out = 0
        self._failures_left = attempts
        self._refusals_left = attempts * BUSY_PER_ATTEMPT

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """Count what a server says that an answer took, also one that failed, as it is paid all the same."""
        self.input_tokens += min(max(input_tokens, 0), _MOST_TOKENS)
        self.output_tokens += min(max(output_tokens, 0), _MOST_TOKENS)

    def failed(self, error: BaseException, *, passing: bool = False) -> None:
        """Count a failed request; ``passing`` means that, like a 429, it says nothing about the question.

        A refused form is not a failure: the next form is tried.
        """
        if passing or is_too_many(error) or is_of_a_closed_loop(error):
            self._failed += 1
            self._refusals_left -= 1
        elif is_transient(error):
            self._failed += 1
            self._failures_left -= self.patient if is_time_out(error) else 1
            self._times_out += is_time_out(error)

    @property
    def patient(self) -> int:
        """The factor on the next request's time-out."""
        return max(1, min(self._times_out + 1, self._failures_left))

    def wait(self, state: RetryCallState) -> float:
        """Return the seconds until the next request (tenacity's ``wait``): as asked, or exponential with jitter."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, ServerAwayError) or (error and (is_filtered(error) or is_of_a_closed_loop(error))):
            return 0.0  # the throttle makes the pauses; an answer that was filtered needs none, nor an old connection
        if (asked := retry_after(error)) is not None:
            return asked
        own = _FIRST_WAIT * 2.0 ** min(self._failed - 1, 10)  # not by the attempts: an outage takes dozens of them
        return min(own, _LONGEST_OWN_WAIT) * random.uniform(0.75, 1.25)

    def is_used_up(self, state: RetryCallState) -> bool:
        """Whether to give up (tenacity's ``stop``)."""
        return self._failures_left <= 0 or self._refusals_left <= 0


def retrying(patience: Patience) -> AsyncRetrying:
    """Return tenacity's loop over the requests for one answer in one form."""
    return AsyncRetrying(
        retry=retry_if_exception(is_transient), stop=patience.is_used_up, wait=patience.wait, reraise=True
    )
