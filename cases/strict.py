"""The base classes of values read from files and models, and the kinds of their numbers, texts and lists.

Unknown fields are errors, so that typos are found.
"""

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
