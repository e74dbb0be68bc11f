"""The base class, the text type and the kinds of lists of values read from files and models.

Unknown fields are errors, so that typos are found.
"""

import errno
import os
from collections.abc import Callable, Hashable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def nameable(path: str) -> str:
    """Return a path, whether or not there is a file.

    Raises:
        ValueError: no file can have this name.
    """
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        if not path:
            raise ValueError("is empty; expected a path") from error
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            why = "is too long" if isinstance(error, OSError) else "contains a character that no path may contain"
            raise ValueError(f"{path[:80]!r} {why}; expected a path") from error
    return path


def home_path(path: str) -> str:
    """Return a path in which ``~`` is replaced by the user's folder, so that whoever reads the file need not do so.

    Raises:
        ValueError: no file can have this name.
    """
    return os.path.expanduser(nameable(path))


def _written(path: Any) -> Any:
    return os.fspath(path) if isinstance(path, os.PathLike) else path


PathName = Annotated[str, BeforeValidator(_written), AfterValidator(nameable)]
HomePathName = Annotated[str, BeforeValidator(_written), AfterValidator(home_path)]


class Strict(BaseModel):
    """A value that stays as it was read; a field that it does not know is refused."""

    # Deferred, so that a command does not build the hundred types that it does not use.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _not_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a number, not true or false")
    return value


NotBoolean = BeforeValidator(_not_boolean)  # for numbers: true would be read as 1


class OwnNumbers(BaseModel):
    """Base of settings: where a number is expected, true and false are refused."""

    @field_validator("*", mode="before")
    @classmethod
    def _without_booleans(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, bool):
            return value
        kinds = _kinds(cls.model_fields[str(info.field_name)].annotation)
        return value if bool in kinds or not {int, float} & kinds else _not_boolean(value)


def _kinds(annotation: Any) -> set[Any]:
    """Return the types of which a value may be, without what only describes or joins them."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return {kind for one in get_args(annotation) for kind in _kinds(one)}
    return {annotation} if isinstance(annotation, type) else set()


def each_once(by: Callable[[Any], Hashable] = lambda entry: entry) -> Any:
    """Make the annotation of a list without repetitions: what stands there again would be asked and paid again."""

    def first(entries: list[Any]) -> list[Any]:
        found: dict[Hashable, Any] = {}
        for entry in entries:
            found.setdefault(by(entry), entry)
        return list(found.values())

    return AfterValidator(first)


UniqueItems = each_once()


def at_most(most: int) -> tuple[Any, Any]:
    """Make the annotations of a list of so many entries at most: further ones go back once, and are then left out."""

    def first(entries: list[Any], info: ValidationInfo) -> list[Any]:
        if len(entries) > most and (info.context or {}).get("closed") is not False:
            raise ValueError(f"{len(entries)} are too many; at most {most} are allowed")
        return entries[:most]

    return AfterValidator(first), Field(json_schema_extra={"maxItems": most})
