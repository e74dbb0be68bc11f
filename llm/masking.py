"""Mask keys and passwords in addresses and messages."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote

# Environment variables with secret values.
SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD")
_OF_OTHER_PROGRAMS = re.compile(r"PASSWD|PASSPHRASE|_(?:PWD|PAT)$")  # not PWD, the working directory
_SHORTEST = 8  # characters of a value that counts as secret; shorter ones stand in words too
_LONGEST = 4_000  # characters of a message; a server may send megabytes
_MASK = "***"
# The repetitions are bounded, as the text may be a stranger's: unbounded ones would take quadratic time.
# A password may contain characters that are otherwise special in a URL; masking too much does no harm.
_USER = re.compile(r"(?<=://)(?:[^\s/@:'\"]{0,200}:[^\s'\"]{0,400}|[^\s/'\"]{0,400})@")
_VALUE = re.compile(
    r"([?&;#][\w.%-]{0,40}(?:key|token|secret|passw|pwd|sig|auth|credential|session)[\w.%-]{0,40}=|\bpassword=)"
    r"[^&#;\s'\"]+",
    re.IGNORECASE,
)
# Keys have a recognisable form, wherever they appear.
_TOKEN = re.compile(
    r"\bsk[-_](?=[\w-]{0,200}\d)[\w-]{16,}"
    r"|\b(?:(?:gsk|hf|ghp|r8|github_pat|lsv2_[ps][tk])_|(?:xai|nvapi|pplx)-|AIza|AKIA)(?=\w{0,200}\d)[A-Za-z0-9]{16,}[\w-]*"
    r"|(?<=Bearer )[\w.~+/-]{8,}|(?<=Basic )(?=[A-Za-z]{0,200}[\d+/=])[\w+/=]{8,}"
)


def masked(text: str) -> str:
    """Return the text with the environment's secrets, and all else that looks like a key or password, masked."""
    for name, secret in _own_secrets():
        text = text.replace(secret, f"<{name}>")
    return _without_keys(text)


def holds_key(text: str) -> bool:
    """Whether a part of the text looks like a key or password, so that no record may hold it."""
    return _without_keys(text) != text


def mask_chain(error: BaseException) -> None:
    """Mask and shorten the messages of an error and its causes, which tracebacks, tracers and checkpoints repeat."""
    cause: BaseException | None = error
    seen = set[int]()  # an error that is raised again from its own consequence is its own cause
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        cause.args = tuple(_in_short(part) if isinstance(part, str) else part for part in cause.args)
        cause = cause.__cause__ or cause.__context__


def _in_short(message: str) -> str:
    return masked(message[: 2 * _LONGEST])[:_LONGEST]  # no part of a key is left at its end


def _without_keys(text: str) -> str:
    return _TOKEN.sub(_MASK, _VALUE.sub(rf"\g<1>{_MASK}", _USER.sub(f"{_MASK}@", text)))


def _is_secret(name: str) -> bool:
    return bool(SECRET_NAME.search(name) or _OF_OTHER_PROGRAMS.search(name))


def _own_secrets() -> Iterator[tuple[str, str]]:
    """Yield the secret variables of the environment, each with its value as a server or library may repeat it."""
    values = {name: value.strip() for name, value in os.environ.items() if _is_secret(name)}
    for name, value in sorted(values.items(), key=lambda item: -len(item[1])):  # one may be part of another
        if len(value) >= _SHORTEST:
            in_bytes = value.encode(errors="surrogateescape")
            spelt = (value, json.dumps(value)[1:-1], quote(in_bytes), quote(in_bytes, ""), b64encode(in_bytes).decode())
            yield from ((name, each) for each in dict.fromkeys(spelt))
