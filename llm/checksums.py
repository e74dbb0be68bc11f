"""Records that can tell whether they are as they were written: JSON with a checksum of its content as one more field.

The checksum is of the content and not of the letters: a line that another tool wrote anew, with other spaces, is still
good. Lines of older versions have none, and are read as they stand.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from llm.replies import whole

CHECKSUM = "checksum"
Record = TypeVar("Record")


def checksum(content: Mapping[str, Any]) -> str:
    """Of what JSON keeps of the content, in 16 hexadecimal digits."""
    return _digest(_plain(content))


def sealed(record: BaseModel) -> str:
    """The record as a line of JSON (without its line feed) that ends with its checksum."""
    try:
        told = _plain(record.model_dump(mode="json"), allow_nan=False)
        seal = _digest(told)
    except ValueError:  # what a server says may hold half a character, or what is no number
        told = type(record).model_validate(whole(record.model_dump())).model_dump_json()
        seal = checksum(json.loads(told))
    return f'{told[:-1]},"{CHECKSUM}":"{seal}"}}'


def unsealed(text: str) -> str:
    """The record as JSON, without its checksum.

    Raises:
        ValueError: it is not a JSON object, or not what was written.
    """
    told, mark, seal = text.rstrip("\n").rpartition(f',"{CHECKSUM}":"')
    if mark and seal == f'{_digest(told + "}")}"}}':
        return told + "}"  # as we write it
    try:
        content = json.loads(text.removeprefix("\ufeff"))  # which some editors put before a file
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        raise ValueError("is not JSON") from error
    if not isinstance(content, dict):
        raise ValueError("is not a JSON object")
    written, told = content.pop(CHECKSUM, None), _plain(content)
    if written not in (None, _digest(told)):
        raise ValueError("is not as it was written: its checksum is another")
    return told


def read_sealed(text: str, kind: TypeAdapter[Record]) -> Record:
    """The record of a line; fields that only another version of ours knows are left out.

    Raises:
        ValueError: as above, or it is a record of something else.
    """
    content = unsealed(text)
    try:
        return kind.validate_json(content)
    except ValidationError:
        return kind.validate_json(content, extra="ignore")


def _plain(content: Mapping[str, Any], *, allow_nan: bool = True) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=allow_nan, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
