"""Registries for what plug-ins can add: importers, patients, strategies, suites and others."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial, wraps
from typing import Any, ForwardRef, Generic, NamedTuple, ParamSpec, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from cases.validation import InputError, nearest

Entry = TypeVar("Entry")
Given = ParamSpec("Given")
Found = TypeVar("Found")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class RegistryError(InputError):
    """A name is not registered, or something cannot be registered under it."""


class GivenError(ValueError):
    """Registered code returned something other than required; the fault is in that code."""


_KINDS: dict[str, Callable[[Any], bool]] = {
    "a class": inspect.isclass,
    "a coroutine function": inspect.iscoroutinefunction,
    "a generator": inspect.isgeneratorfunction,
    "an asynchronous generator": inspect.isasyncgenfunction,
}


def check_named(kind: str, name: object) -> None:
    """Reject a decorator without parentheses, which would take the function for the name.

    Raises:
        RegistryError: ``name`` is not a string.
    """
    if not isinstance(name, str):
        raise RegistryError(f"{kind}: expected a name in the decorator's parentheses, such as ('my_{kind}')")


def check_function(kind: str, name: str, function: object, arguments: str, *also: str) -> None:
    """Reject a function that cannot be called as required.

    Args:
        kind: what is registered, for messages.
        name: the name it is registered under.
        function: the function.
        arguments: the arguments it will be called with, as in ``case, answers``.
        also: kinds of callables that are allowed besides plain functions, as named in ``_KINDS``.

    Raises:
        RegistryError: it takes other arguments, or is a class, a coroutine function or a generator.
    """
    expected = f"{kind} {name!r}: expected a function, def {name}({arguments})"
    ours = list(filter(None, arguments.split(", ")))
    try:
        bound = signature_of(function).bind(*ours)
        if turned := [name for name, given in bound.arguments.items() if name in ours and name != given]:
            raise TypeError(f"{', '.join(turned)} in another order")
    except (TypeError, ValueError) as error:
        raise RegistryError(f"{expected}: {error}") from error
    for what, is_one in _KINDS.items():
        if what not in also and is_one(function):
            raise RegistryError(f"{expected}, found {what}")


def signature_of(function: Any) -> inspect.Signature:
    """Return a function's signature; its annotations may name what is imported for type checkers only.

    Raises:
        TypeError, ValueError: it is no function, or has no signature.
    """
    if sys.version_info >= (3, 14):  # which evaluates annotations when they are read
        from annotationlib import Format

        return inspect.signature(function, annotation_format=Format.FORWARDREF)
    return inspect.signature(function)


def first_annotation(function: Callable[..., Any]) -> Any:
    """Return what a function's first parameter is annotated with; None if it has no annotation.

    The others are not evaluated: they may name what is imported for type checkers only.

    Raises:
        NameError: it names what its module does not have.
    """
    parameters = signature_of(function).parameters.values()
    found = next((parameter.annotation for parameter in parameters), inspect.Parameter.empty)
    if sys.version_info >= (3, 14) and isinstance(found, ForwardRef):
        found = found.evaluate()
    if isinstance(found, str):  # as with `from __future__ import annotations`
        code: Any = inspect.unwrap(function)
        while isinstance(code, partial):
            code = inspect.unwrap(code.func)
        found = eval(found, getattr(code, "__globals__", None) or getattr(type(code).__call__, "__globals__", {}))
    return None if found is inspect.Parameter.empty else found


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in the order of registration.

    Args:
        kind: the name of one entry in messages (``patient``).
        check: raises a `RegistryError` for an entry that cannot be used, given its name and the entry.
        code_of: returns the user's code in an entry that is added without it.
    """

    def __init__(
        self,
        kind: str,
        check: Callable[[str, Any], None] = lambda name, entry: None,
        code_of: Callable[[Any], Callable[..., Any] | None] = lambda entry: None,
    ) -> None:
        self.kind = kind
        self._check, self._code_of = check, code_of
        self._entries: dict[str, Entry] = {}
        self._renewals = 0

    def add(self, name: str, entry: Entry, code: Callable[..., Any] | None = None) -> Entry:
        """Register an entry, made of a user's ``code``, and return it.

        A function of a notebook's cell that is run again takes its own place.

        Raises:
            RegistryError: the name is taken, or has other characters than lower-case letters, digits and underscores,
                or the entry cannot be used.
        """
        if not _NAME.fullmatch(name):
            raise RegistryError(
                f"{self.kind} {name!r}: a name has only lower-case letters, digits and underscores, and begins with a "
                "letter"
            )
        code = code or self._code_of(entry)
        if name in self._entries:
            additions = (each for each in reversed(_additions) if each.registry is self and each.name == name)
            before = next(additions, _Addition(self, name, "", None))
            of_plugin = before.by or _by[-1]
            if of_plugin or not _is_run_again(before.code, code):
                # A cell of a notebook that is run again, perhaps; what we or a plug-in have registered stays.
                again = "" if of_plugin else ", or restart Python if it is your own of before"
                raise RegistryError(
                    f"{self.kind} {name!r} is already registered{before.by}; choose another name{again}"
                )
            self._renewals += 1
        self._check(name, entry)
        self._entries[name] = entry
        _additions.append(_Addition(self, name, _by[-1], code))
        return entry

    def cached(self, function: Callable[Given, Found]) -> Callable[Given, Found]:
        """Cache a function that builds on entries, as `functools.cache` does, until one of them takes its own place."""
        kept: Any = cache(lambda _, /, *args, **kwargs: function(*args, **kwargs))

        @wraps(function)
        def found(*args: Given.args, **kwargs: Given.kwargs) -> Found:
            result: Found = kept(self._renewals, *args, **kwargs)
            return result

        return found

    def __getitem__(self, name: str) -> Entry:
        """Return the entry of a name.

        Raises:
            RegistryError: there is none; suggests the most similar name.
        """
        try:
            return self._entries[name]
        except (KeyError, TypeError):  # or no name at all, which may have no hash
            raise RegistryError(f"unknown {self.kind} {name!r}: {nearest(name, self._entries)}") from None

    def __contains__(self, name: object) -> bool:
        """Whether the name is registered."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)


class _Addition(NamedTuple):
    registry: Registry[Any]
    name: str
    by: str  # who added it, such as ", by plug-in my_ward"; empty for us, and for a script or notebook
    code: Callable[..., Any] | None


_additions: list[_Addition] = []  # of all registries, in order
_by = [""]  # a stack of who is registering, such as ", by plug-in my_ward"


@contextmanager
def registering(who: str) -> Iterator[Callable[[], list[str]]]:
    """Record what is registered in any registry inside the block; an exception undoes it, so that it can be retried.

    Yields:
        A function that lists what has been registered so far, such as ``metric urgency``.
    """
    before = len(_additions)
    _by.append(f", by {who}")
    try:
        yield lambda: [f"{each.registry.kind} {each.name}" for each in _additions[before:]]
    except BaseException:
        for each in _additions[before:]:
            each.registry._entries.pop(each.name, None)
        del _additions[before:]
        raise
    finally:
        _by.pop()


def code_outside_plugins() -> dict[str, Callable[..., Any]]:
    """Return the functions that no plug-in has registered, ours and scripts', by what they are: ``metric urgency``."""
    latest = {(each.registry.kind, each.name): each for each in _additions if each.name in each.registry}
    return {" ".join(key): each.code for key, each in latest.items() if each.code and not each.by}


def _is_run_again(before: Callable[..., Any] | None, code: Callable[..., Any] | None) -> bool:
    """Whether two functions are one in a notebook's cell, before and after it was run again."""
    name = _name_in_cell(code)
    return name is not None and name == _name_in_cell(before)


def _name_in_cell(code: Callable[..., Any] | None) -> str | None:
    """Return the name of a function of a notebook's cell, whose file does not exist; None for other code."""
    own = inspect.unwrap(code) if code is not None else None
    if not inspect.isfunction(own) or own.__module__ != "__main__" or os.path.isfile(own.__code__.co_filename):
        return None
    return own.__qualname__


class NameIn:
    """Marks a field of a Pydantic model, ``Annotated[str, NameIn(registry)]``, whose value is a registered name.

    The registry is read on validation and on schema generation, so that names added by plug-ins are known.
    """

    def __init__(self, registry: Registry[Any]) -> None:
        self._registry = registry

    @property
    def names(self) -> list[str]:
        """The currently registered names."""
        return list(self._registry)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of a string that must be a registered name."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return an enumeration of the names."""
        return {**handler(schema), "enum": self.names}

    def _check(self, name: str) -> str:
        self._registry[name]
        return name
