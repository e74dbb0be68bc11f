"""One consultation with a person in a seat, kept in a directory so that it can be left and gone on with."""

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
from cases.vocabulary import Language
from graphs.consultation import builder
from nodes.context import Context
from nodes.state.chart import Picture, Turn, heard_by
from wardround.config.experiment import ConfigurationError
from wardround.run.checkpoints import has_begun, serializer
from wardround.store.durable_lines import only_writer
from wardround.store.provenance import write_whole

Seat = Literal["doctor", "patient"]
_OWN = {"trace_file", "run", "position"}  # where something is kept, not what is done


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
        """What is spoken."""
        return self.context.language or self.case.language

    def go_on(self) -> None:
        """Work until the person is asked, or to the end; nothing to do if one of both is reached."""
        reached = self._graph.get_state(self._config)
        if self.question() is None and not self.finished:
            self._run(None if has_begun(reached) else {"case": self.case})

    def answer(self, given: Mapping[str, Any]) -> None:
        """Give the person's answer, and work until the next question or the end."""
        self._run(Command(resume=dict(given)))

    def question(self) -> dict[str, Any] | None:
        """What the person is asked now: role, stage, messages and schema; None if nothing."""
        return _asked(self._graph.get_state(self._config, subgraphs=True))

    @property
    def finished(self) -> bool:
        """Whether the report is written."""
        reached = self._graph.get_state(self._config)
        return "report" in reached.values and not reached.next

    @property
    def state(self) -> dict[str, Any]:
        """What the outer graph has so far."""
        return dict(self._graph.get_state(self._config).values)

    def heard(self) -> list[Turn]:
        """What the person has said and heard so far."""
        known = _dialogue(self._graph.get_state(self._config, subgraphs=True))
        # A graph that the run has chosen by name is seen by nobody above it: its checkpoint is the newest.
        for newest in self._saver.list(self._config, limit=1):
            known = max(known, newest.checkpoint["channel_values"].get("dialogue", []), key=len)
        return heard_by(self.seat, known)

    def show(self, picture: Picture) -> Path:
        """A copy of a picture under a name that tells nothing of the case."""
        folder = self.directory / "pictures"
        folder.mkdir(exist_ok=True)
        source = Path(picture.file)
        number = hashlib.sha256(picture.file.encode()).hexdigest()[:6]
        shown = folder / f"{picture.item.casefold().replace(' ', '-')}-{number}{source.suffix}"
        if not shown.exists():
            shutil.copyfile(source, shown)
        return shown

    def _run(self, entry: Any) -> None:
        self._graph.invoke(entry, self._config, context=self.context, durability="sync")


@contextmanager
def open_session(case: Case, seat: Seat, context: Context, directory: Path) -> Iterator[Session]:
    """Open a session, or resume the one that the directory holds.

    Raises:
        ConfigurationError: the directory is open elsewhere, holds another session or something else, or cannot be
            written.
    """
    wanted = _outline(case, seat, context)
    file = directory / "session.json"
    if directory.is_dir() and not file.exists() and any(one.name != ".lock" for one in directory.iterdir()):
        raise ConfigurationError(f"{directory} holds something else than a consultation; choose another with --out")
    taken = f"{directory} is open in another terminal or browser page; go on there, or end that command first (Ctrl-C)"
    with only_writer(directory, "", ConfigurationError, taken):
        try:
            if file.exists():
                _compare(json.loads(file.read_text("utf-8")), wanted, directory)
            else:
                write_whole(file, json.dumps(wanted, ensure_ascii=False, indent=1))
            connection = sqlite3.connect(directory / "checkpoints.sqlite", check_same_thread=False)
        except (OSError, json.JSONDecodeError, sqlite3.Error) as error:
            raise ConfigurationError(f"{directory} cannot be used for a consultation: {error}") from error
        with closing(connection):
            yield Session(case, seat, context, directory, SqliteSaver(connection, serde=serializer()))


def _outline(case: Case, seat: Seat, context: Context) -> dict[str, Any]:
    """What makes a session this one. The case stands as a fingerprint: its id may tell what a doctor is to find."""
    return {
        "case": hashlib.sha256(case.model_dump_json().encode()).hexdigest()[:16],
        "as": seat,
        "context": context.model_dump(mode="json", exclude=_OWN),
    }


def _compare(kept: Any, wanted: dict[str, Any], directory: Path) -> None:
    if not isinstance(kept, dict) or kept.keys() != wanted.keys():
        raise ConfigurationError(f"{directory}/session.json is not of a consultation")
    differing = [name for name in ("case", "as") if kept[name] != wanted[name]]
    context = kept["context"] if isinstance(kept["context"], dict) else {}
    differing += [name for name, value in wanted["context"].items() if context.get(name) != value]
    if differing:
        raise ConfigurationError(
            f"{directory} holds another consultation (it differs in {', '.join(differing)}); choose another with --out"
        )


def _asked(snapshot: Any) -> dict[str, Any] | None:
    """What the innermost graph waits for: an outer one still names what was answered before a later step failed."""
    for task in snapshot.tasks:
        if hasattr(task.state, "values"):
            return _asked(task.state)
        if task.interrupts:
            asked: dict[str, Any] = task.interrupts[0].value
            return asked
    return None


def _dialogue(snapshot: Any) -> list[Turn]:
    """The dialogue as the innermost graph has it: an outer one learns of it when the inner one is done."""
    found: list[Turn] = snapshot.values.get("dialogue", []) if isinstance(snapshot.values, dict) else []
    for task in snapshot.tasks:
        if hasattr(task.state, "values"):
            found = max(found, _dialogue(task.state), key=len)
    return found
