"""What a type finds wrong with data, as whoever said it said it."""

from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_BEFORE = "Value error, "  # what Pydantic puts before a sentence of ours


def faults(error: ValidationError) -> "list[ErrorDetails]":
    """Each fault: where it is (``loc``), what is said of it (``msg``), and of which kind it is (``type``)."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [{**each, "msg": each["msg"].removeprefix(_BEFORE)} for each in found]


def in_a_line(error: BaseException, whole: str = "", most: int = 8) -> str:
    """An error in one line; of a `ValidationError` the first faults, each with its place.

    Args:
        error: any error.
        whole: what stands for the place of a fault that is in no field.
        most: how many faults are told.
    """
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    placed = ((".".join(map(str, each["loc"])) or whole, each["msg"]) for each in faults(error)[:most])
    return "; ".join(f"{place}: {message}" if place else message for place, message in placed)
