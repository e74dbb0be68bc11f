"""Check values for the fields of a state, given as JSON or as objects, and convert them to the fields' types."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from langgraph.types import Overwrite
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from cases.validation import faults, nearest


class NotStartedError(ValueError):
    """A run cannot start from its input, or from an edited state; the message names the field and a remedy."""


@cache
def types_of(*schemas: type) -> dict[str, Any]:
    """Return the declared type of each field of the state schemas."""
    return {name: hint for schema in schemas for name, hint in get_type_hints(schema).items()}


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint)


def fields_of(given: Mapping[str, Any], types: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return fields of a state, each converted to its type; ``place`` says in messages where they were given.

    Raises:
        NotStartedError: the state has no such field, or a value is of the wrong type.
    """
    typed = {}
    for name, value in given.items():
        if name not in types:
            raise NotStartedError(f"{place}: {name!r} is not a field of it: {nearest(name, types)}")
        if isinstance(value, Overwrite):
            typed[name] = Overwrite(fields_of({name: value.value}, types, place)[name])
            continue
        try:
            typed[name] = _value_of(value, _adapter(types[name]))
        except ValidationError as error:
            if is_model(types[name]) and not isinstance(value, Mapping | BaseModel):
                needed = needed_fields(types[name]) or types[name].model_fields
                expected = f"expected an object with {', '.join(needed)}"
                raise NotStartedError(f"{place}: {name}: {expected}, not {value!r:.60}") from None
            fault_texts = [
                f"{'.'.join(map(str, (name, *each['loc'])))}: {each['msg']}" for each in faults(error, types[name])
            ]
            raise NotStartedError(f"{place}: {'; '.join(fault_texts[:8])}") from None
    return typed


def _value_of(value: Any, adapter: TypeAdapter[Any]) -> Any:
    """Return the value converted to its type; an object of the type is kept as it is, with fields that JSON lacks."""
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return adapter.validate_json(to_json(value, fallback=repr))


def is_model(hint: Any) -> bool:
    """Whether a field's type is a Pydantic model."""
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def needed_fields(model: type[BaseModel]) -> list[str]:
    """Return the fields that an object of the type must have."""
    return [name for name, field in model.model_fields.items() if field.is_required()]
