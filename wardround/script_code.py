"""The text of what a script or notebook registers, with all that it uses of its own module."""

import dis
import inspect
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def module_of(code: Any) -> str:
    """Return the module that a function comes from, also one with some of its arguments given."""
    return module_of(code.func) if isinstance(code, partial) else str(getattr(code, "__module__", ""))


def text_of(code: Any) -> str:
    """Return the source of a function and, in the order of use, of the helpers, classes, roles and constants it names.

    What another module defines is left out. The text is the same in every process.
    """
    return "\n".join(_texts(code, module_of(code), set()))


def _texts(value: Any, module: str, seen: set[int]) -> Iterator[str]:
    value = inspect.unwrap(value) if callable(value) else value
    constant = None
    with suppress(RecursionError):  # what holds itself is no constant
        constant = _constant(value)
    if constant is not None:
        yield constant
    elif id(value) not in seen:
        seen.add(id(value))
        if isinstance(value, FunctionType | type) and value.__module__ == module:
            yield _source(value)
        for name, part in _parts(value, module).items():
            yield from (f"{name}: {text}" for text in _texts(part, module, seen))


def _parts(value: Any, module: str) -> dict[str, Any]:
    """Return by name what a value is made of, as far as it may come from the module."""
    if isinstance(value, partial):
        return {"": value.func, **_numbered(value.args), **value.keywords}
    if isinstance(value, list | tuple):
        return _numbered(value)
    if isinstance(value, dict):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, ModuleType):
        return {}
    if isinstance(value, FunctionType):
        return _named_in(value) if value.__module__ == module else {}
    held = dict(getattr(value, "__dict__", {}))
    if isinstance(value, type):
        own = {name: part for name, part in held.items() if name == "__doc__" or not name.startswith("__")}
        return {**own, **_functions(held)} if value.__module__ == module else {}
    if type(value).__module__ == module:
        return {"": type(value), **held}
    return held if is_dataclass(value) else _functions(held)  # a role; a node, which holds its function


def _numbered(parts: Sequence[Any]) -> dict[str, Any]:
    return {str(number): part for number, part in enumerate(parts)}


def _functions(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the functions among parts, but not what gives a class its annotations, which are told as its fields."""
    return {name: part for name, part in parts.items() if isinstance(part, FunctionType) and "__annotate" not in name}


def _constant(value: Any) -> str | None:
    """Return a constant as text, whatever the order of its sets; None for anything else."""
    if value is None or isinstance(value, str | bytes | int | float):
        return repr(value)
    if not isinstance(value, dict | list | tuple | set | frozenset):
        return None
    parts = [_constant(part) for part in (sum(value.items(), ()) if isinstance(value, dict) else value)]
    found = [part for part in parts if part is not None]
    listed = ", ".join(sorted(found) if isinstance(value, set | frozenset) else found)
    return f"{type(value).__name__}({listed})" if len(found) == len(parts) else None


def _named_in(function: FunctionType) -> dict[str, Any]:
    """Return what a function finds under the names in its code, and the defaults of its arguments."""
    scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    names = dict.fromkeys(_names(function.__code__))
    defaults = {**_numbered(function.__defaults__ or ()), **(function.__kwdefaults__ or {})}
    return {**{name: scope[name] for name in names if name in scope}, **defaults}


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of a function's code and of functions within, without those of attributes."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            yield step.argval
        elif isinstance(step.argval, CodeType):
            yield from _names(step.argval)


def _source(of: FunctionType | type) -> str:
    """Return the text of a function; the fields of a class, whose text Python does not find in a notebook."""
    if isinstance(of, type):
        fields = getattr(of, "model_fields", None) or inspect.get_annotations(of)
        return f"{of.__qualname__} {_ADDRESS.sub('', repr(fields))}"
    try:
        return inspect.getsource(of)
    except (OSError, TypeError):  # a console keeps no text
        return of.__qualname__
