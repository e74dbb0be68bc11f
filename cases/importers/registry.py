"""Importers by format name, including those of plug-ins."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cases.case import AnswerKey, Case, ExaminationRecord, PatientRecord, Provenance
from cases.importers.source import Source, describe
from cases.pictures import picture_faults
from cases.problems import validation_problems
from cases.readable import unreadable
from cases.registry import Registry, check_function, check_named, first_annotation
from cases.validation import in_a_line, line_in

Importer = Callable[[Source], Iterable[Case]]
Read = TypeVar("Read", bound=Callable[[Any], Iterable[Case]])  # of a path, or of a `Source`

# The types that an importer builds, by the name that an error has of them.
_BUILT = {model.__name__: model for model in (Case, PatientRecord, ExaminationRecord, AnswerKey, Provenance)}

IMPORTERS: Registry[Importer] = Registry("format")


def importer(name: str) -> Callable[[Read], Read]:
    """Register a function that yields the cases of a foreign file: ``@wr.importer("my_format")``.

    It is called with the file's path or, if its parameter is annotated as :class:`Source`, with a source, which reads
    JSON records and collects faults. A faulty case is reported by its number among those read, and the field.

    Raises:
        RegistryError: the name is taken, or the function does not take exactly one argument.
    """
    check_named("format", name)

    def register(read: Read) -> Read:
        check_function("format", name, read, "source", "a generator")
        IMPORTERS.add(name, _guarded(read, _takes_an_open_source(read)), read)
        return read

    return register


def _takes_an_open_source(read: Callable[..., Any]) -> bool:
    try:
        return first_annotation(read) is Source
    except NameError:  # a path, imported for type checkers only
        return False


def _guarded(read: Callable[[Any], Iterable[Case]], opened: bool) -> Importer:
    """Wrap an importer, of an open source or a path, so that everything it does becomes cases or problems."""

    def import_(source: Source) -> Iterator[Case]:
        number, seen = 0, set[str]()

        def place() -> str:
            return source.reading or f"case {number + 1}"

        try:
            found = read(source if opened else source.path)
            if not isinstance(found, Iterable) or isinstance(found, BaseModel):
                source.error(f"the importer returned {describe(found)}; expected an iterable of cases")
                return
            for number, case in enumerate(found, start=1):
                if (sound := _checked(source, f"case {number}", case, seen)) is not None:
                    yield sound
        except ValidationError as error:
            for problem in validation_problems(source.path, place(), error, _BUILT.get(error.title)):
                source.error(f"{problem.message}{line_in(error, read)}", problem.record, problem.field)
        except (Exception, SystemExit) as error:  # raised by the importer's own code
            if isinstance(error, OSError) and error.filename in (source.path, str(source.path)):
                source.error(unreadable(error))
                return
            source.error(f"{type(error).__name__}: {in_a_line(error)}{line_in(error, read)}", place())

    return import_


def _checked(source: Source, record: str, case: object, seen: set[str]) -> Case | None:
    """Return the case, with the source's folder, if it is valid."""
    if not isinstance(case, Case):
        source.error(f"expected a Case, found {describe(case)}", record)
        return None
    record = f"{record} ({case.id})"
    if case.id in seen:
        source.error(f"the id {case.id!r} is already used by an earlier case; ids must be unique", record, "id")
        return None
    seen.add(case.id)
    if case.id in source.ids:  # made and checked by `Record.case`
        return case
    folder = case.folder or str(source.folder)
    try:  # again, as a copy with changes was not validated
        case = Case.model_validate({**case.model_dump(warnings=False), "folder": folder})
    except ValidationError as error:
        for problem in validation_problems(source.path, record, error):
            source.error(problem.message, record, problem.field)
        return None
    for field, fault in picture_faults(case):
        source.error(fault, record, field)
    return case
