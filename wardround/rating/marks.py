"""The file of judgements: a line for each answer of each rater, on the disk before the page says that it is saved."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from filelock import FileLock
from pydantic import Field, ValidationError

from cases.strict import Strict
from cases.validation import in_a_line
from wardround.config.experiment import ConfigurationError
from wardround.rating.items import Key
from wardround.rating.scales import Name, scale_of
from wardround.store.durable_lines import append_line, drop_cut_line, whole_lines

FILE = "ratings.jsonl"


class Mark(Strict):
    """One answer of one person; a later one to the same question takes its place."""

    rater: str = Field(min_length=1, max_length=80)
    scale: Name
    question: str
    value: int = Field(description="Of a pair: -1 for `run`, 1 for `against`, 0 for neither, wherever they stood.")
    run: str
    against: str = Field("", description="The other run of a pair.")
    case_id: str
    epoch: int
    shown_first: str = Field("", description="Which run of a pair stood first on the page.")
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @property
    def item(self) -> Key:
        """What was judged."""
        return self.run, self.against, self.case_id, self.epoch

    @property
    def asked(self) -> tuple[str, Name, Key, str]:
        """What was asked, and of whom."""
        return self.rater, self.scale, self.item, self.question


class Marks:
    """The judgements of a file, and those added to it; several raters, and several servers, may share it."""

    def __init__(self, file: Path) -> None:
        """Read what is there.

        Raises:
            ConfigurationError: a line is not a judgement; it is named.
        """
        self.file, self._lock = file, Lock()
        self._given: dict[tuple[str, Name, Key], dict[str, int]] = {}
        for mark in read_marks(file):
            self._take(mark)

    def add(self, mark: Mark) -> None:
        """Write a judgement down for good.

        Raises:
            OSError: it cannot be written; then it does not count.
        """
        with self._lock, FileLock(f"{self.file}.lock"):
            drop_cut_line(self.file)
            append_line(self.file, mark.model_dump_json())
            self._take(mark)

    def of(self, rater: str, scale: Name, item: Key) -> dict[str, int]:
        """What a rater has answered about an item on a scale, by question."""
        with self._lock:
            return dict(self._given.get((rater, scale, item), {}))

    def _take(self, mark: Mark) -> None:
        self._given.setdefault((mark.rater, mark.scale, mark.item), {})[mark.question] = mark.value


def read_marks(file: Path) -> Sequence[Mark]:
    """The judgements of a file, of each question the last; none if there is no file.

    Raises:
        ConfigurationError: a line is not a judgement, or answers what its scale does not ask.
    """
    last: dict[tuple[str, Name, Key, str], Mark] = {}
    for number, line in enumerate(whole_lines(file), 1):
        try:
            mark = Mark.model_validate_json(line)
        except ValidationError as error:
            wrong = in_a_line(error, "the line", most=1)
            raise ConfigurationError(f"{file}: line {number}: {wrong}; mend or delete it") from None
        if not scale_of(mark.scale, "en").accepts(mark.question, mark.value):
            asked = f"{mark.question} = {mark.value}"
            raise ConfigurationError(f"{file}: line {number}: scale {mark.scale} knows no {asked}; mend or delete it")
        last[mark.asked] = mark
    return list(last.values())
