"""One consultation with a person in a role, saved in a directory so that it can be resumed."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from cases import Case
from cases.readable import unpiped
from cases.vocabulary import Language
from cases.whole_files import replacing
from graphs.consultation import builder
from llm.checksums import digest
from nodes.context import Context
from nodes.state.chart import Picture, Turn, heard_by
from wardround.config.experiment import ConfigurationError
from wardround.run.checkpoints import damaged_threads, has_begun, saving, serializer, sqlite_fault
from wardround.store.durable_lines import only_writer, writing
from wardround.store.provenance import write_json

Seat = Literal["doctor", "patient"]
_CHECKPOINTS = "checkpoints.sqlite"  # holds what the person said, which the trace does not
_LOCATIONS = {"trace_file", "run", "position"}  # where data is stored, which does not change the session


class Session:
    """The consultation graph on a case, with its checkpoints in a directory."""

    def __init__(self, case: Case, seat: Seat, context: Context, directory: Path, saver: SqliteSaver) -> None:
        self.case = case
        self.seat = seat
        self.directory = directory
        self.context = context.model_copy(update={"trace_file": str(directory / "trace.jsonl")})
        self._saver = saver
        self._graph = builder.compile(name="Consultation", checkpointer=saver)
        self._config: Any = {"configurable": {"thread_id": "consultation"}}

    @property
    def language(self) -> Language:
        """The language of the consultation."""
        return self.context.language or self.case.language

    def go_on(self) -> None:
        """Run until the person is asked, or to the end; do nothing at either."""
        snapshot = self._graph.get_state(self._config)
        if self.question() is None and not self.finished:
            self._run(None if has_begun(snapshot) else {"case": self.case})

    def answer(self, given: Mapping[str, Any]) -> None:
        """Give the person's answer, and run until the next question or the end."""
        self._run(Command(resume=dict(given)))

    def question(self) -> dict[str, Any] | None:
        """Return the person's current question (role, stage, messages and schema); None if there is none."""
        return _pending_question(self._graph.get_state(self._config, subgraphs=True))

    @property
    def finished(self) -> bool:
        """Whether the report is written."""
        snapshot = self._graph.get_state(self._config)
        return "report" in snapshot.values and not snapshot.next

    @property
    def state(self) -> dict[str, Any]:
        """The state of the outer graph."""
        return dict(self._graph.get_state(self._config).values)

    def heard(self) -> list[Turn]:
        """Return what the person has said and heard so far."""
        dialogue = _dialogue(self._graph.get_state(self._config, subgraphs=True))
        # The state of a subgraph called by name is not visible from outside, but its checkpoint is the newest.
        for newest in self._saver.list(self._config, limit=1):
            dialogue = max(dialogue, newest.checkpoint["channel_values"].get("dialogue", []), key=len)
        return heard_by(self.seat, dialogue)

    def show(self, picture: Picture) -> Path:
        """Copy a picture to a file name that reveals nothing about the case."""
        folder = self.directory / "pictures"
        folder.mkdir(exist_ok=True)
        source = Path(picture.file)
        number = hashlib.sha256(picture.file.encode()).hexdigest()[:6]
        copy = folder / f"{picture.item.casefold().replace(' ', '-')}-{number}{source.suffix}"
        if not copy.is_file():
            with source.open("rb") as original, writing(copy), replacing(copy) as out:  # a full disk leaves no half
                shutil.copyfileobj(original, out)
        return copy

    def _run(self, graph_input: Any) -> None:
        with writing(self.directory), saving(self.directory / _CHECKPOINTS):
            self._graph.invoke(graph_input, self._config, context=self.context, durability="sync")


_WRITTEN = ("session.json", "trace.jsonl", _CHECKPOINTS, f"{_CHECKPOINTS}-*", "pictures", "pictures/*", ".*.part")


@contextmanager
def open_session(case: Case, seat: Seat, context: Context, directory: Path) -> Iterator[Session]:
    """Open a session, or resume the one in the directory.

    Raises:
        ConfigurationError: the directory is open elsewhere, holds another session or something else, or cannot be
            written.
    """
    outline = _outline(case, seat, context)
    file = directory / "session.json"
    ours = (".lock", f".{file.name}.part")  # a kill may leave them before there is a session
    if directory.is_dir() and not file.exists() and any(one.name not in ours for one in directory.iterdir()):
        raise ConfigurationError(
            f"{directory} contains other files than a consultation's; choose another directory with --out"
        )
    refusal = (
        f"{directory} is open in another terminal or browser page; continue there, or end that command first (Ctrl-C)"
    )
    with only_writer(directory, "", _WRITTEN, ConfigurationError, refusal):
        try:
            if file.exists():
                _compare(json.loads(unpiped(file).read_text("utf-8")), outline, directory)
            else:
                write_json(file, outline)
            _refuse_damaged(directory)
            connection = sqlite3.connect(directory / _CHECKPOINTS, check_same_thread=False)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError, sqlite3.Error) as error:
            raise ConfigurationError(f"{directory} cannot be used for a consultation: {error}") from error
        with closing(connection):
            saver = SqliteSaver(connection, serde=serializer())
            with saving(directory / _CHECKPOINTS):
                saver.setup()
            yield Session(case, seat, context, directory, saver)


def _refuse_damaged(directory: Path) -> None:
    """Refuse a session whose checkpoints are damaged, rather than begin it again without a word.

    Raises:
        ConfigurationError: they are; or they are empty, though the others have spoken.
    """
    file, trace = directory / _CHECKPOINTS, directory / "trace.jsonl"
    fault = sqlite_fault(file)
    if not fault and file.exists() and damaged_threads(file):
        fault = f"{file}: is damaged (a checksum differs)"
    if not fault and trace.exists() and trace.stat().st_size and not (file.exists() and file.stat().st_size):
        fault = f"{file}: is missing or empty, but {trace.name} is not"
    if fault:
        raise ConfigurationError(
            f"{fault}; restore the directory from a copy, or begin another session with another --out"
        )


def _outline(case: Case, seat: Seat, context: Context) -> dict[str, Any]:
    """Return what identifies a session. The case is a hash, as its id may give the diagnosis away."""
    return {
        "case": digest(case.model_dump_json().encode()),
        "as": seat,
        "context": context.model_dump(mode="json", exclude=_LOCATIONS),
    }


def _compare(saved: Any, expected: dict[str, Any], directory: Path) -> None:
    if not isinstance(saved, dict) or saved.keys() != expected.keys():
        raise ConfigurationError(f"{directory}/session.json does not belong to a consultation")
    differing = [name for name in ("case", "as") if saved[name] != expected[name]]
    context = saved["context"] if isinstance(saved["context"], dict) else {}
    differing += [name for name, value in expected["context"].items() if context.get(name) != value]
    if differing:
        raise ConfigurationError(
            f"{directory} contains another consultation (different: {', '.join(differing)}); choose another with --out"
        )


def _pending_question(snapshot: Any) -> dict[str, Any] | None:
    """Return what the innermost graph waits for; an outer graph may still name a question answered before an error."""
    for task in snapshot.tasks:
        if hasattr(task.state, "values"):
            return _pending_question(task.state)
        if task.interrupts:
            asked: dict[str, Any] = task.interrupts[0].value
            return asked
    return None


def _dialogue(snapshot: Any) -> list[Turn]:
    """Return the dialogue from the innermost graph; an outer graph only has it once the inner one has finished."""
    found: list[Turn] = snapshot.values.get("dialogue", []) if isinstance(snapshot.values, dict) else []
    for task in snapshot.tasks:
        if hasattr(task.state, "values"):
            found = max(found, _dialogue(task.state), key=len)
    return found
