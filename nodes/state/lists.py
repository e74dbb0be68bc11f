"""Lists in answers: of so many entries at most, and each entry once."""

from collections.abc import Callable, Hashable
from typing import Any

from pydantic import AfterValidator, Field, ValidationInfo


def at_most(most: int) -> tuple[Any, Any]:
    """Make the annotations of a list of so many entries at most: further ones go back once, and are then left out."""

    def first(entries: list[Any], info: ValidationInfo) -> list[Any]:
        if len(entries) > most and (info.context or {}).get("closed") is not False:
            raise ValueError(f"{len(entries)} are too many; at most {most} are allowed")
        return entries[:most]

    return AfterValidator(first), Field(json_schema_extra={"maxItems": most})


def each_once(by: Callable[[Any], Hashable]) -> Any:
    """Make the annotation of a list without repetitions: what stands there again would be asked and paid again."""

    def first(entries: list[Any]) -> list[Any]:
        found: dict[Hashable, Any] = {}
        for entry in entries:
            found.setdefault(by(entry), entry)
        return list(found.values())

    return AfterValidator(first)
