"""Keys and passwords, taken out of what is said and written about an address."""

import re

_MASK = "***"
# A password may hold what belongs elsewhere in an address; what is hidden too much is no harm.
_USER = re.compile(r"(?<=://)(?:[^\s/@:'\"]*:[^\s'\"]*|[^\s/'\"]*)@")
_VALUE = re.compile(
    r"([?&;#][\w.%-]*(?:key|token|secret|passw|pwd|sig|auth|credential|session)[\w.%-]*=|\bpassword=)[^&#;\s'\"]+",
    re.IGNORECASE,
)
# What services give out as keys looks like nothing else, wherever it stands.
_TOKEN = re.compile(
    r"\bsk[-_](?=[\w-]*\d)[\w-]{16,}"
    r"|\b(?:(?:gsk|hf|ghp|r8|github_pat|lsv2_[ps][tk])_|(?:xai|nvapi|pplx)-|AIza|AKIA)(?=\w*\d)[A-Za-z0-9]{16,}[\w-]*"
    r"|(?<=Bearer )[\w.~+/-]{8,}"
)


def masked(text: str) -> str:
    """The text without the user and password of an address, what a parameter named like a key holds, and keys."""
    return _TOKEN.sub(_MASK, _VALUE.sub(rf"\g<1>{_MASK}", _USER.sub(f"{_MASK}@", text)))
