"""Lists in answers: of so many entries at most."""

from typing import Any

from pydantic import AfterValidator, Field, ValidationInfo


def at_most(most: int) -> tuple[Any, Any]:
    """Make the annotations of a list of so many entries at most: further ones go back once, and are then left out."""

    def first(entries: list[Any], info: ValidationInfo) -> list[Any]:
        if len(entries) > most and (info.context or {}).get("closed") is not False:
            raise ValueError(f"{len(entries)} are too many; at most {most} are allowed")
        return entries[:most]

    return AfterValidator(first), Field(json_schema_extra={"maxItems": most})
