"""The base class, the text type and the kinds of lists of values read from files and models.

Unknown fields are errors, so that typos are found.
"""

from collections.abc import Callable, Hashable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationInfo

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
