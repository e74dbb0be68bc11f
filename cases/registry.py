"""Names for things that others may add to: importers, patients, strategies, suites, each in a registry of its own."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

Entry = TypeVar("Entry")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class RegistryError(ValueError):
    """A name that nothing is registered under, or that something cannot be registered under."""


class GivenError(ValueError):
    """What somebody's registered code has given is not what its door asks for: the fault is that code's."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the known name most like a misspelt one, or all of them if none is like it."""
    known = sorted(known)
    if alike := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {alike[0]!r}?"
    return f"known are {', '.join(known)}"


_KINDS: dict[str, Callable[[Any], bool]] = {
    "a class": inspect.isclass,
    "a coroutine function": inspect.iscoroutinefunction,
    "a generator": inspect.isgeneratorfunction,
    "an asynchronous generator": inspect.isasyncgenfunction,
}


def check_named(kind: str, name: object) -> None:
    """Refuse a decorator without its parentheses, which would take the function for the name.

    Raises:
        RegistryError: this is no name.
    """
    if not isinstance(name, str):
        raise RegistryError(f"{kind}: expected a name in the decorator's parentheses, as in ('my_{kind}')")


def check_function(kind: str, name: str, function: object, arguments: str, *also: str) -> None:
    """Refuse what cannot be called as the door calls it.

    Args:
        kind: what is registered, as errors call it.
        name: under which name.
        function: what is registered.
        arguments: what it is called with, as in ``case, answers``.
        also: what else than a plain function it may be, in the words of ``_KINDS``.

    Raises:
        RegistryError: it takes other arguments, or is a class, a coroutine function or a generator.
    """
    expected = f"{kind} {name!r}: expected a function, def {name}({arguments})"
    ours = list(filter(None, arguments.split(", ")))
    try:
        bound = inspect.signature(function).bind(*ours)  # type: ignore[arg-type]
        if turned := [name for name, given in bound.arguments.items() if name in ours and name != given]:
            raise TypeError(f"{', '.join(turned)} in another order")
    except (TypeError, ValueError) as error:
        raise RegistryError(f"{expected}: {error}") from error
    for what, is_one in _KINDS.items():
        if what not in also and is_one(function):
            raise RegistryError(f"{expected}, found {what}")


class Registry(Mapping[str, Entry], Generic[Entry]):
    """What is registered under which name, in the order of registration.

    Args:
        kind: what the entries are, as errors call one of them (``patient``).
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> Entry:
        """Register an entry, and give it back.

        Raises:
            RegistryError: the name is taken, or is not made of small letters, digits and underscores.
        """
        if not _NAME.fullmatch(name):
            raise RegistryError(f"{self.kind} {name!r}: a name has small letters, digits and underscores only")
        if name in self._entries:
            by = next((by for registry, known, by in reversed(_additions) if registry is self and known == name), "")
            raise RegistryError(f"{self.kind} {name!r} is registered already{by}; choose another name")
        self._entries[name] = entry
        _additions.append((self, name, _by[-1]))
        return entry

    def __getitem__(self, name: str) -> Entry:
        """The entry of a name.

        Raises:
            RegistryError: nothing has this name; says which one is most like it.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise RegistryError(f"unknown {self.kind} {name!r}: {nearest(name, self._entries)}") from None

    def __contains__(self, name: object) -> bool:
        """Whether something has this name."""
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._entries)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._entries)


_additions: list[tuple[Registry[Any], str, str]] = []  # of all registries, in their order, and by whom
_by = [""]  # whoever registers now, as in ", by plug-in my_ward"


@contextmanager
def registering(who: str) -> Iterator[Callable[[], list[str]]]:
    """Watch what somebody registers, in whatever registry; an exception takes it back, so that it can be tried again.

    Yields:
        A function that tells what has been registered since, such as ``metric urgency``.
    """
    before = len(_additions)
    _by.append(f", by {who}")
    try:
        yield lambda: [f"{registry.kind} {name}" for registry, name, _ in _additions[before:]]
    except BaseException:
        for registry, name, _ in _additions[before:]:
            registry._entries.pop(name, None)
        del _additions[before:]
        raise
    finally:
        _by.pop()


class NameIn:
    """Marks a field of a Pydantic model, ``Annotated[str, NameIn(registry)]``: its value is a registered name.

    The registry is read when a value is checked or a form is drawn, so that what a plug-in adds is known.
    """

    def __init__(self, registry: Registry[Any]) -> None:
        self._registry = registry

    @property
    def names(self) -> list[str]:
        """The names that are registered now."""
        return list(self._registry)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A string that must be a registered name."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """An enumeration of the names."""
        return {**handler(schema), "enum": self.names}

    def _check(self, name: str) -> str:
        self._registry[name]
        return name
