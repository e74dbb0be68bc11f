"""Records with a checksum: JSON objects with one more field that reveals any later change.

The checksum covers the content, not the spelling, so a line rewritten by another tool with other spaces is still valid.
Lines of older versions have no checksum and are accepted.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from llm.replies import whole

CHECKSUM = "checksum"
Record = TypeVar("Record")


def digest(content: bytes) -> str:
    """Return the beginning of a SHA-256, 16 hexadecimal digits: enough to reveal a change."""
    return hashlib.sha256(content).hexdigest()[:16]


def checksum(content: Mapping[str, Any]) -> str:
    """Return the checksum of the content as JSON keeps it, 16 hexadecimal digits."""
    return digest(_dump(content).encode())


def sealed(record: BaseModel) -> str:
    """Return the record as one line of JSON (without a line feed) that ends with its checksum."""
    try:
        text = _dump(record.model_dump(mode="json"), allow_nan=False)
        end = digest(text.encode())
    except ValueError:  # a server's text may hold half a surrogate pair, its numbers NaN
        text = type(record).model_validate(whole(record.model_dump())).model_dump_json()
        end = checksum(json.loads(text))
    return f'{text[:-1]},"{CHECKSUM}":"{end}"}}'


def unsealed(text: str) -> str:
    """Return the record as JSON without its checksum.

    Raises:
        ValueError: it is not a JSON object, or was changed after it was written.
    """
    body, mark, end = text.rstrip("\n").rpartition(f',"{CHECKSUM}":"')
    if mark and end == f'{digest((body + "}").encode())}"}}':
        return body + "}"  # exactly as `sealed` wrote it
    try:
        content = json.loads(text.removeprefix("\ufeff"))  # a byte order mark that some editors add
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        raise ValueError("is not JSON") from error
    if not isinstance(content, dict):
        raise ValueError("is not a JSON object")
    written, body = content.pop(CHECKSUM, None), _dump(content)
    if written not in (None, digest(body.encode())):
        raise ValueError("has changed since it was written: its checksum does not match")
    return body


def read_sealed(text: str, kind: TypeAdapter[Record]) -> Record:
    """Read the record of a line; fields added by other versions are ignored.

    Raises:
        ValueError: as for `unsealed`, or it is not such a record.
    """
    content = unsealed(text)
    try:
        return kind.validate_json(content)
    except ValidationError:
        return kind.validate_json(content, extra="ignore")


def _dump(content: Mapping[str, Any], *, allow_nan: bool = True) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=allow_nan, separators=(",", ":"))
