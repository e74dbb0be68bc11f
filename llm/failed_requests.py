"""What a failed request means: whether a retry can help, when the server wants it, and what is wrong there."""

import json
import math
import re
import time
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime

from cases.vocabulary import patterns
from llm.masking import masked

_SAYS = patterns("llm", "servers")

_TOO_MANY = 429
_LONGEST_WAIT = 60.0
_TOO_LONG_TO_WAIT = 3600.0  # seconds: a server that asks for more comes back, but not while a run waits
_SEARCHED = 4000  # characters of an error body that are searched
_SECONDS_TO_CONNECT = 5.0
# 424: a failed generation (TGI, MindIE); 498: no capacity at the moment (Groq).
_PASSING = (408, 409, 424, 425, 498)
# Of a proxy whose server is away; the later ones are Cloudflare's, also of a tunnel to it.
_BEHIND = (502, 503, 521, 522, 523, 530)
_TUNNEL = "ngrok-error-code"  # the header of ngrok's own answers, as with a 404 if the tunnel's other end is away
# "Please retry in 41.8s", "try again in 1h2m3.5s", "retry after 26 seconds", "try again in 20 minutes", "Please wait 37
# seconds" (GitHub), and Gemini's `"retryDelay": "41s"` among the details of its body.
_UNITS = {
    "d(?:ays?)?": 86400.0,
    "h(?:(?:ou)?rs?)?": 3600.0,
    "m(?:in(?:ute)?s?)?": 60.0,
    "s(?:ec(?:ond)?s?)?": 1.0,
    "ms|milliseconds?": 0.001,
}
_WAIT_IN_WORDS = re.compile(
    r"(?i)(?:(?:retry|try again) (?:in|after) |please wait |retry_?delay\W+)(?=\d)"
    + "".join(rf"(?:(\d+(?:\.\d+)?) ?(?:{unit})(?![a-z])[, ]*(?:and )?)?" for unit in _UNITS)
)
_NO_KEY, _NO_MODEL, _UNPAID = "the API key is not accepted", "it does not have this model", "payment is required"
NO_API = "nothing is served at this address; base URLs mostly end with /v1"
# What a server says, with which statuses (None: what went wrong before any), if it answers no question until someone
# intervenes; and why.
_REFUSALS: tuple[tuple[tuple[int | None, ...], str, str], ...] = (
    ((400,), "no_key", _NO_KEY),  # Gemini, and LiteLLM in front of it
    ((400, 429), "no_credit", _UNPAID),
    ((400, 404), "no_chat", "it does not serve this model for chats; name another"),
    ((404,), "no_model", _NO_MODEL),
    ((400, 404, 410), "no_model_here", _NO_MODEL),
    ((500,), "no_api", NO_API),
    ((400, 500), "no_memory", "it has too little memory for this model"),
    ((None,), "no_tls", "its address begins with https://, and it answers without encryption; try http://"),
    ((None,), "no_issuer", "its certificate is not trusted; SSL_CERT_FILE may name a file with that of its authority"),
    ((None,), "no_certificate", "its certificate is not valid"),
)


class EmptyReplyError(RuntimeError):
    """The server answered without a choice."""


def is_transient(error: BaseException) -> bool:
    """Whether a retry can help: the server is busy, failing or unreachable, or sent nothing."""
    if (status := status_of(error)) is not None:
        is_busy = is_too_many(error) or status in _PASSING or (status >= 500 and status != 501)
        return is_busy or is_passing(error) or is_of_the_moment(error) or is_filtered(error)
    if isinstance(error, EmptyReplyError) or is_of_a_closed_loop(error):
        return True
    return bool(re.search("Timeout|Connection|TransportError", kinds_of(error)))


def is_of_a_closed_loop(error: BaseException) -> bool:
    """Whether a model object's connection was opened in an event loop that is closed; its next one is a new one."""
    return isinstance(error, RuntimeError) and str(error) == "Event loop is closed"


def is_of_the_moment(error: BaseException) -> bool:
    """Whether a 400 says nothing of the request: the model went away, and comes back."""
    return status_of(error) == 400 and _says("of_the_moment", error)


def is_filtered(error: BaseException) -> bool:
    """Whether a filter took back what the model wrote; another answer may pass."""
    return status_of(error) == 400 and _says("of_the_output", error)


def _says(what: str, error: BaseException) -> bool:
    return _SAYS[what].search(words_of(error)) is not None


def is_time_out(error: BaseException) -> bool:
    """Whether a request timed out without any response."""
    return status_of(error) is None and "Timeout" in kinds_of(error)


def kinds_of(error: BaseException | None) -> str:
    """Return the names of an error's types; each integration has its own."""
    return " ".join(kind.__name__ for kind in type(error).__mro__)


def refusal(error: BaseException) -> str | None:
    """Return why the server will answer no question until someone intervenes; None if the error does not say so."""
    status, first = status_of(error), root_cause(error)
    text = str(first) if status is None else words_of(error)
    if status == 407 or (type(first).__name__ == "ProxyError" and str(first).startswith("407")):
        return "the proxy (HTTPS_PROXY or HTTP_PROXY) wants another name and password"
    if status in (401, 402, 403) and not _SAYS["of_the_prompt"].search(text):
        return {401: _NO_KEY, 402: _UNPAID, 403: "access is denied"}[status]
    if status == 405:
        return NO_API
    if why := next((why for statuses, said, why in _REFUSALS if status in statuses and _SAYS[said].search(text)), None):
        return why
    if 300 <= (status or 0) < 400:
        return "it has another address"
    return _used_up(error) if status == _TOO_MANY else None


def _used_up(error: BaseException) -> str | None:
    """Return that the quota is used up, or how long a wait a 429 asks for; None if it passes while a run waits."""
    asked = _asked_wait(error) or 0.0
    is_long = asked > _TOO_LONG_TO_WAIT or (not asked and _says("quota_of_today", error))
    of_a_day = _says("quota_of_a_day", error)
    comes_back = _says("quota_of_a_minute", error) and not of_a_day
    if (_says("no_quota", error) and not comes_back) or (is_long and (comes_back or of_a_day)):
        return "the quota is used up"
    return f"it asks to wait for {asked / 3600:,.1f} hours" if is_long else None


def is_refused_alike(error: BaseException, others: Iterable[str]) -> bool:
    """Whether a question is refused with the same message in all forms (``others``), and not for its content."""
    status = status_of(error) or 0
    return 400 <= status < 500 and not _says("of_the_prompt", error) and set(others) == {brief(error)}


def is_too_long(error: BaseException) -> bool:
    """Whether the error says that the prompt exceeds the model's context, in the wording of several servers."""
    status = status_of(error)
    if status == 413 or "ContextOverflow" in type(error).__name__:  # LangChain's own error has no status
        return not is_too_many(error)
    return _says("too_long", error) if status in (400, 422, 500) else status == 503 and _says("too_long_behind", error)


def seems_away(error: BaseException) -> bool:
    """Whether a request failed as if the server were down, restarting, or unreachable behind a proxy."""
    if status_of(error) is not None:
        return status_of(error) in (503, 504) or is_passing(error)
    return "Connection" in kinds_of(error) and "Timeout" not in kinds_of(error)


def is_passing(error: BaseException) -> bool:
    """Whether a proxy reports that the server behind it is unavailable, which says nothing about the question."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    return status_of(error) in _BEHIND or (status_of(error) == 500 and _says("behind", error)) or _TUNNEL in headers


def is_loading(error: BaseException) -> bool:
    """Whether the server says that it is still loading the model."""
    return status_of(error) == 503 and _says("loading", error)


async def is_there(base_url: str) -> bool:
    """Whether a server accepts connections and does not close them unanswered, as a tunnel does without its server.

    One that is silent is busy.
    """
    import httpx2

    from llm.transport import certificates

    client = httpx2.AsyncClient(timeout=_SECONDS_TO_CONNECT, trust_env=False, verify=certificates())
    try:
        async with client, client.stream("GET", f"{base_url}/models"):
            return True
    except httpx2.TransportError as error:
        return isinstance(error, httpx2.ReadTimeout)


def is_never_connected(error: BaseException) -> bool:
    """Whether a request found nobody who takes connections, so that it cannot be what brought the server down."""
    return any(type(each).__name__ == "ConnectError" for each in _causes(error))  # HTTPX's, of whichever version


class ServerAwayError(ConnectionError):
    """A server that has answered before is away; the question is sent again when it is back."""


def is_too_many(error: BaseException) -> bool:
    """Whether the server asks for fewer requests."""
    return not is_over_rate(error) and (status_of(error) == _TOO_MANY or _rate(error) is not None)


def is_over_rate(error: BaseException) -> bool:
    """Whether one request has more tokens than the account may use in a minute or a day, so that it never passes."""
    rate = _rate(error)
    return rate is not None and rate[1] > rate[0]


def _rate(error: BaseException) -> tuple[int, int] | None:
    """Return the limit of tokens and the tokens of the request, if a 413 (Groq) or 429 (OpenAI) names both."""
    if status_of(error) not in (413, _TOO_MANY) or not (said := _SAYS["rate_of_tokens"].search(words_of(error))):
        return None
    limit, requested = (int(number.replace(",", "")) for number in said.groups())
    return limit, requested


def retry_after(error: BaseException | None) -> float | None:
    """Return the seconds that the server asked to wait, at most a minute; None if it named no time."""
    asked = _asked_wait(error)
    return None if asked is None else min(asked, _LONGEST_WAIT)


def _asked_wait(error: BaseException | None) -> float | None:
    if error is None:
        return None
    headers = getattr(getattr(error, "response", None), "headers", {})
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers.get(header, "nan")) * unit
        except ValueError:
            asked = _until(headers[header], headers.get("date"))
        if 0 < asked < math.inf:  # servers send 0 for less than a second: asked again at once, it would refuse again
            return asked
    if is_too_many(error) and (said := _WAIT_IN_WORDS.search(words_of(error))) and any(said.groups()):
        named = zip(said.groups(), _UNITS.values(), strict=True)
        return sum(float(number) * unit for number, unit in named if number) or None
    return None


def _until(date: str, sent: str | None) -> float:
    """Return the seconds until a date; NaN if it is invalid or past.

    It is a date of the server's clock, and so is the one when it ``sent`` its answer; this machine's may be wrong.
    """
    try:
        now = parsedate_to_datetime(sent).timestamp() if sent else time.time()
        seconds = parsedate_to_datetime(date).timestamp() - now
    except ValueError:
        return math.nan
    return seconds if seconds > 0 else math.nan


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a failed request, if it got a response."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def words_of(error: BaseException) -> str:
    """Return the error's message with the response body, as OpenAI's client shows only its ``message``; no HTML."""
    body = getattr(error, "body", None)
    text = body if isinstance(body, str | None) else json.dumps(body, ensure_ascii=False)
    message = str(error)[:_SEARCHED]  # holds the body once more
    return message if not text or text.startswith("<") else f"{message} - {text[:_SEARCHED]}"


def brief(error: BaseException) -> str:
    """Return the error as one line for records, with keys masked."""
    if 300 <= (status_of(error) or 0) < 400:
        return (
            f"HTTP {status_of(error)}: redirects to another host, or to a page, are not followed; use the base URL to "
            "which it leads"
        )
    message = words_of(error) if str(error) == f"Error code: {status_of(error)}" else str(error)
    if message == "Connection error.":  # OpenAI's client hides the cause
        message += f" ({root_cause(error)})"
    text = masked(" ".join(message.split())[:_SEARCHED]) or " from ".join(type(one).__name__ for one in _causes(error))
    return f"{type(error).__name__}: {text[:300]}" if not text.startswith(type(error).__name__) else text[:300]


def root_cause(error: BaseException) -> BaseException:
    """Return what first went wrong."""
    *_, first = _causes(error)
    return first


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
