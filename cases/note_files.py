"""Read clinical notes from text files, tables, JSON, foreign cases and our own cases."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.case import Case, as_usually_typed
from cases.dialogues import NO_LANGUAGE
from cases.files import BUILTIN, CaseFileError, load_cases
from cases.grouping import repetitions
from cases.importers.agentclinic import import_agentclinic
from cases.importers.ai_hospital import import_ai_hospital
from cases.importers.medqa import medqa_notes
from cases.importers.source import Record, Source
from cases.notes import Note, note_of
from cases.problems import Problem
from cases.text.note_sections import note_sections
from cases.text.words import written_in

_KNOWN = (
    "text files, JSON lines or a table with id and note (or text), MTS-Dialog (section_text), PMC-Patients "
    "(patient_uid), MedQA (question and options), AgentClinic (OSCE_Examination), AI Hospital (medical_record, "
    "reference_diagnosis) or Ward Round's own cases (patient)"
)
_AI_HOSPITAL = {"medical_record", "reference_diagnosis", "dialog_history", "final_turn"}
_FIELDS = {"note", "section_text", "OSCE_Examination", "answers", "question", "patient", "provenance", *_AI_HOSPITAL}
# MTS-Dialog's sections that ours do not have.
_MTS_HEADINGS = {
    "PASTSURGICAL": "Past surgical history",
    "EDCOURSE": "Test results",
    "FAM/SOCHX": "Family and social history",
}
_COLUMNS = ("note", "text", "section_text", "patient")  # of a table, one of which has its notes
_NO_NOTES = {"readme", "license", "licence", "copying", "notice"}  # beside notes, by their stems
_IDS = ("id", "note_id", "encounter_id", "patient_uid")  # ours, MIMIC's, ACI-Bench's and PMC-Patients'


def read_notes(source: str | Path | Sequence[str | Path], warnings: list[Problem] | None = None) -> list[Note]:
    """Read notes from a folder of texts, a file in any known format, or the built-in cases (``builtin``).

    Args:
        source: one source, or several that are read in order.
        warnings: extended by the warnings, such as how many questions are not notes.

    Raises:
        CaseFileError: a source cannot be read, or any note is faulty (all faults are listed).
    """
    if not isinstance(source, str | Path):
        sources = list(dict.fromkeys(map(str, source)))
        notes = [note for one in sources for note in read_notes(one, warnings)]
        if duplicates := repetitions(note.id for note in notes):
            faults = [f"{name!r} is the id of notes in several sources; ids must be unique" for name in duplicates]
            raise CaseFileError([Problem(", ".join(sources), "", "id", fault) for fault in faults])
        return notes
    path = Path(source)
    if str(source) == BUILTIN:
        return [note_of(case).model_copy(update={"source": BUILTIN}) for case in load_cases(BUILTIN)]
    reader, folder = Source(path), path.is_dir()
    if path.is_fifo():  # it would be empty when the reader of its format comes
        reader.error("is a pipe, and notes are read more than once; give a file")
        raise CaseFileError(reader.problems)
    files = _in_folder(reader) if folder else [path]
    notes = list(_texts(files, reader) if folder or path.suffix.lower() == ".txt" else _records(reader))
    if not (notes or reader.problems):
        wanted = ".txt files; expected one note per file" if folder else f"notes; expected {_KNOWN}"
        reader.error(f"contains no {wanted}")
    elif not notes and all(problem.severity != "error" for problem in reader.problems):
        reader.error(f"has no note that can be used; the first: {reader.problems[0].message}")
    for note_id, count in repetitions(note.id for note in notes).items():
        reader.error(f"{note_id!r} is the id of {count} notes; ids must be unique", field="id")
    if warnings is not None:
        warnings += [problem for problem in reader.problems if problem.severity != "error"]
    if errors := [problem for problem in reader.problems if problem.severity == "error"]:
        raise CaseFileError(errors)
    return [note.model_copy(update={"source": path.name}) for note in notes]


def _in_folder(source: Source) -> list[Path]:
    """Return the text files of a folder; a warning names what else is there and not read."""
    inside = sorted(path for path in source.path.glob("*") if not path.name.startswith("."))
    texts = [
        path
        for path in inside
        if path.suffix.lower() == ".txt" and path.stem.lower() not in _NO_NOTES and path.is_file()
    ]
    if texts and (others := [path.name for path in inside if path not in texts]):
        source.warn(f"only .txt files of notes are read, not {', '.join(others[:3])}{' ...' if others[3:] else ''}")
    return texts


def _texts(files: Iterable[Path], source: Source) -> Iterator[Note]:
    for file in files:
        text = source.read(file)
        if text is None:
            continue
        if (language := written_in(text)) is None:
            reason = "is neither English nor Chinese; give a file of JSON lines that names the language of each note"
            source.error(reason, file=file)
        elif as_usually_typed(text).strip():
            yield Note(id=file.stem, text=text, language=language)
        else:
            source.error("is empty; expected the text of a note", file=file)


def _records(source: Source) -> Iterator[Note]:
    """Yield the notes of a file of records, whose format is that of its first record."""
    if source.is_table:
        rows = list(source.rows(_COLUMNS))
        first = rows[0].value if rows else None  # each row has all headings
        is_mts = isinstance(first, Mapping) and "section_text" in first
        yield from _read_all(rows, mts_note if is_mts else _plain)
        return
    if source.path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        source.error('is a spreadsheet; save it as "CSV UTF-8", with columns id and note')
        return
    # Read to detect the format, and again by the reader of that format. A text of its own is a note, one in a field of
    # another object may be anything.
    is_note = None if "text" in Source(source.path).first else lambda value: not _FIELDS.isdisjoint(value)
    first = next(Source(source.path).objects("", is_note), None)
    keys = set(first[1]) if first else set()
    if "section_text" in keys:
        yield from _read_all(source.records(is_note), mts_note)
    elif "OSCE_Examination" in keys or "answers" in keys:
        yield from map(note_of, import_agentclinic(source))
    elif _AI_HOSPITAL & keys:
        yield from map(note_of, import_ai_hospital(source))
    elif {"question", "options"} <= keys:
        yield from medqa_notes(source)
    elif {"patient", "provenance"} & keys and "note" not in keys and not (first and _is_pmc(first[1])):
        yield from map(note_of, _own(source))
    else:
        yield from _read_all(source.records(is_note), _plain)


def _is_pmc(value: Mapping[str, Any]) -> bool:
    """Whether a record is of PMC-Patients, whose patient is the text of a case report."""
    return "patient_uid" in value and isinstance(value.get("patient"), str)


def _own(source: Source) -> list[Case]:
    try:
        return load_cases(source.path)
    except CaseFileError as error:
        source.problems.extend(error.problems)
        return []


def _read_all(records: Iterable[Record], read: Callable[[Record, Mapping[str, Any]], Note | None]) -> Iterator[Note]:
    for record in records:
        if not isinstance(record.value, Mapping):
            record.expected("", "an object", record.value)
            continue
        try:
            if note := read(record, record.value):
                yield note
        except ValidationError as error:
            record.invalid(error, Note)


def _plain(record: Record, value: Mapping[str, Any]) -> Note | None:
    """Read the simplest format: ``{"id", "note", "language"?, "department"?, "diseases"?}``, or under other names."""
    names = ("note", "text", *(["patient"] if _is_pmc(value) else []))
    field = next((name for name in names if name in value), "note")
    if not _is_text(record, field, value.get(field), f"the text of a note (known formats: {_KNOWN})"):
        return None
    if not (language := value.get("language") or written_in(value[field])):
        record.error("language", NO_LANGUAGE)
        return None
    diseases = value.get("diseases", value.get("disease")) or []
    numbered = f"{record.source.path.stem}-{record.number:05d}"
    given = next((str(value[name]) for name in _IDS if value.get(name) not in (None, "")), "")
    return Note(
        id=given or record.key or numbered,
        text=value[field],
        language=language,
        department=value.get("department") or None,
        diseases=[diseases] if isinstance(diseases, str) else diseases,
    )


def mts_note(record: Record, value: Mapping[str, Any]) -> Note | None:
    """Read a record of MTS-Dialog: one section of a note with its heading; its dialogue is ignored."""
    text = value.get("section_text")
    if not _is_text(record, "section_text", text, "the text of a section"):
        return None
    assert isinstance(text, str)
    name = str(value.get("section_header") or "").strip().upper()
    head = _MTS_HEADINGS.get(name) or next((s.en for s in note_sections().values() if s.is_headed(name)), "")
    number = value.get("ID", value.get("id", record.key or record.number - 1))
    return Note(id=f"mts-{number}", text=f"{head}: {text.strip()}" if head else text)


def _is_text(record: Record, field: str, value: object, what: str) -> bool:
    if isinstance(value, str) and value.strip():
        return True
    record.expected(field, what, value)
    return False
