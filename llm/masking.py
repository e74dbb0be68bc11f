"""Keys and passwords, taken out of what is said and written about an address."""

import re

_MASK = "***"
# A password may hold what belongs elsewhere in an address; what is hidden too much is no harm.
_USER = re.compile(r"(?<=://)(?:[^\s/@:'\"]*:[^\s'\"]*|[^\s/'\"]*)@")
_VALUE = re.compile(
    r"([?&;#][\w.%-]*(?:key|token|secret|passw|pwd|sig|auth|credential|session)[\w.%-]*=)[^&#;\s'\"]+", re.IGNORECASE
)


def masked(text: str) -> str:
    """The text, where an address in it has a user and password, or a parameter named like a key, without them."""
    return _VALUE.sub(rf"\g<1>{_MASK}", _USER.sub(f"{_MASK}@", text))
