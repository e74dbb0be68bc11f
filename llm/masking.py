"""Mask keys and passwords in addresses and messages."""

import re

_MASK = "***"
# A password may contain characters that are otherwise special in a URL; masking too much does no harm.
_USER = re.compile(r"(?<=://)(?:[^\s/@:'\"]*:[^\s'\"]*|[^\s/'\"]*)@")
_VALUE = re.compile(
    r"([?&;#][\w.%-]*(?:key|token|secret|passw|pwd|sig|auth|credential|session)[\w.%-]*=|\bpassword=)[^&#;\s'\"]+",
    re.IGNORECASE,
)
# Keys have a recognisable form, wherever they appear.
_TOKEN = re.compile(
    r"\bsk[-_](?=[\w-]*\d)[\w-]{16,}"
    r"|\b(?:(?:gsk|hf|ghp|r8|github_pat|lsv2_[ps][tk])_|(?:xai|nvapi|pplx)-|AIza|AKIA)(?=\w*\d)[A-Za-z0-9]{16,}[\w-]*"
    r"|(?<=Bearer )[\w.~+/-]{8,}"
)


def masked(text: str) -> str:
    """Return the text with URL users and passwords, values of key-like parameters, and API keys masked."""
    return _TOKEN.sub(_MASK, _VALUE.sub(rf"\g<1>{_MASK}", _USER.sub(f"{_MASK}@", text)))
