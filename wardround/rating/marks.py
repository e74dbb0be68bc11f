"""The file of ratings: one line per answer of a rater, on the disk before the page reports it as saved."""

import logging
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import Annotated

from filelock import FileLock
from pydantic import AfterValidator, Field, ValidationError, field_validator

from cases.strict import NotBoolean, Strict
from cases.validation import in_a_line
from wardround.config.experiment import ConfigurationError
from wardround.printing import reason
from wardround.rating.items import Key
from wardround.rating.scales import Name, scale_of
from wardround.store.durable_lines import append_line, drop_cut_line, is_cut_off, raw_lines
from wardround.store.recorded_run import RecordedRun

FILE = "ratings.jsonl"
_log = logging.getLogger(__name__)


def clean_name(given: str) -> str:
    """Return a name on one line, without invisible characters; with them, one rater would count as two."""
    return " ".join("".join(character if character.isprintable() else " " for character in given).split())


class Mark(Strict):
    """One answer of one person; a later answer to the same question replaces it."""

    rater: Annotated[str, AfterValidator(clean_name)] = Field(min_length=1, max_length=80)
    scale: Name
    question: str
    value: Annotated[int, NotBoolean] = Field(
        description="Of a pair: -1 for `run`, 1 for `against`, 0 for neither, whichever was shown first."
    )
    run: str
    against: str = Field(default="", description="The other run of a pair.")
    case_id: str = Field(coerce_numbers_to_str=True)  # spreadsheets make numbers of some ids
    epoch: int
    shown_first: str = Field(default="", description="The run of a pair that was shown first.")
    run_ids: tuple[str, ...] = Field(
        default=(), description="Identities of the runs, which outlive the names of directories."
    )
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @field_validator("at")
    @classmethod
    def _in_a_zone(cls, at: datetime) -> datetime:
        return at if at.tzinfo else at.replace(tzinfo=UTC)

    @property
    def item(self) -> Key:
        """What was rated."""
        return self.run, self.against, self.case_id, self.epoch

    @property
    def asked(self) -> tuple[str, Name, Key, str]:
        """Rater and question, as a key."""
        return self.rater, self.scale, self.item, self.question


class Marks:
    """The ratings in a file and those added to it; several raters, and several servers, may share it."""

    def __init__(self, file: Path, runs: Sequence[RecordedRun] | None = None) -> None:
        """Read the existing ratings; with ``runs`` those of these runs, under their present names.

        Raises:
            ConfigurationError: a line is not a rating; it is named. Or the file is a link, as a directory received
                from others may have; the path that a link of the user's own leads to is given instead. Or it cannot be
                written.
        """
        if file.is_symlink():
            raise ConfigurationError(
                f"{file}: is a link, through which no ratings are written; name a file with --marks"
            )
        self.file, self._lock = file, Lock()
        self._given: dict[tuple[str, Name, Key], dict[str, Mark]] = {}
        marks = read_marks(file)
        for mark in marks if runs is None else marks_of_runs(runs, marks)[0]:
            self._add(mark)
        # A place that cannot be written is told now, and not at the first choice.
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("ab") if file.exists() else TemporaryFile(dir=file.parent):
                pass
        except OSError as error:
            message = f"{file}: cannot be written ({reason(error)}); name a file that you can write with --marks"
            raise ConfigurationError(message) from error

    def add(self, mark: Mark) -> None:
        """Write a rating durably, as later than the answer that it replaces, also if the clock was put back since.

        Raises:
            OSError: it cannot be written, and then does not count.
        """
        with self._lock, FileLock(f"{self.file}.lock"):
            if before := self._of(mark).get(mark.question):
                mark = mark.model_copy(update={"at": max(mark.at, before.at + timedelta(microseconds=1))})
            drop_cut_line(self.file)
            append_line(self.file, mark.model_dump_json())
            self._add(mark)

    def of(self, rater: str, scale: Name, item: Key) -> dict[str, int]:
        """Return a rater's answers about an item on a scale, by question."""
        with self._lock:
            return {question: mark.value for question, mark in self._given.get((rater, scale, item), {}).items()}

    def _of(self, mark: Mark) -> dict[str, Mark]:
        """Return the answers of the mark's rater about its item on its scale, by question."""
        return self._given.setdefault((mark.rater, mark.scale, mark.item), {})

    def _add(self, mark: Mark) -> None:
        self._of(mark)[mark.question] = mark


def read_marks(file: Path) -> Sequence[Mark]:
    """Return the ratings in a file, the latest for each question; none if there is no file.

    Raises:
        ConfigurationError: a line is not a rating, or not an answer that its scale allows.
    """
    last: dict[tuple[str, Name, Key, str], Mark] = {}
    for number, given_line in enumerate(raw_lines(file), 1):
        if is_cut_off(given_line):
            _log.warning("%s: line %d is cut off and does not count; complete or delete it", file, number)
            continue
        if not (line := given_line.removeprefix(BOM_UTF8).strip()):  # as editors and tables put files together
            continue
        if not line.startswith(b"{"):
            needed = ", ".join(name for name, field in Mark.model_fields.items() if field.is_required())
            raise ConfigurationError(
                f"{file}: line {number}: expected one answer, as a JSON object with {needed} (docs/rating.md makes "
                "them of a spreadsheet); correct or delete it"
            )
        try:
            mark = Mark.model_validate_json(line)
        except ValidationError as error:
            faults = in_a_line(error, "the line", most=1)
            raise ConfigurationError(f"{file}: line {number}: {faults}; correct or delete it") from None
        if not scale_of(mark.scale, "en").accepts(mark.question, mark.value):
            given = f"{mark.question} = {mark.value}"
            raise ConfigurationError(
                f"{file}: line {number}: scale {mark.scale} has no answer {given}; correct or delete it"
            )
        if mark.asked not in last or mark.at >= last[mark.asked].at:  # a file may be put together from several
            last[mark.asked] = mark
    return list(last.values())


def marks_of_runs(runs: Sequence[RecordedRun], marks: Sequence[Mark]) -> tuple[list[Mark], list[Mark]]:
    """Return the ratings of these runs' results, the latest for each question, and all others.

    A rating finds its run by identity, and gets its present name; one without identities, as in a file made by hand,
    by name. A pair stands in the order of ``runs``.
    """
    names, ids = [run.name for run in runs], [run.id for run in runs]
    results = {run.name: {result.key for result in run.results} for run in runs}
    own: dict[tuple[str, Name, Key, str], Mark] = {}
    others = []
    for mark in sorted(marks, key=lambda mark: mark.at):  # two names of a run, or sides of a pair, are one question
        given = (mark.run, mark.against) if mark.against else (mark.run,)
        found = [_present_name(*one, names, ids) for one in zip_longest(given, mark.run_ids, fillvalue="")]
        if not all((mark.case_id, mark.epoch) in results.get(name, ()) for name in found):
            others.append(mark)
            continue
        renamed = mark.model_copy(update=dict(zip(("run", "against"), found, strict=False)))
        if mark.against and names.index(renamed.run) > names.index(renamed.against):
            turned = {"run": renamed.against, "against": renamed.run, "value": -mark.value}
            renamed = renamed.model_copy(update={**turned, "run_ids": mark.run_ids[::-1]})
        own[renamed.asked] = renamed
    return list(own.values()), others


def _present_name(name: str, identity: str, names: Sequence[str], ids: Sequence[str]) -> str:
    """Return the present name of a rated run, empty if it is not among these; of copies, the one with its name."""
    matches = [present for present, own in zip(names, ids, strict=True) if identity in ("", own)]
    return name if name in matches else next(iter(matches if identity else ()), "")
