"""What a reconstruction leaves on the disk: dialogues, failures, the data sheet, and what it needs to go on.

Beside ``dialogs.jsonl`` stand ``dialogs.failed.jsonl``, ``dialogs.jsonl.sheet.json`` and the folder
``dialogs.jsonl.work/`` with the manifest, the checkpoints of notes under way and the record of every call.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cases.dialogues import Dialogue
from cases.notes import Note
from scoring.clini_eval.data_sheet import DataSheet
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.store.durable_lines import append_line, drop_cut_line, only_writer, whole_lines, writing
from wardround.store.manifest import prompt_hashes
from wardround.store.provenance import differences, git_state, versions, write_whole

_PACKAGES = ("wardround", "langgraph", "langchain-core", "langchain-openai", "pydantic")
_PROMPTS = ("en/reconstruction/", "zh/reconstruction/", "en/ask/", "zh/ask/")
# Words that stand in data files and not in prompts decide what is written as much as prompts do.
_DATA = (
    ("nodes.reconstruction", "*.toml"),
    ("cases", "vocabularies/jargon.toml"),
    ("cases", "vocabularies/note_sections.toml"),
)
GATES = "gates"


class Failure(BaseModel):
    """One line of ``dialogs.failed.jsonl``: a note of which no dialogue was kept, and why."""

    model_config = ConfigDict(extra="forbid")

    id: str
    termination: str = Field(
        description="`gates`, or why nothing was written: `model_error`, `unparseable_answer`, ..."
    )
    gates: list[str] = Field(default_factory=list, description="The gates that the dialogue failed.")
    problems: list[str] = Field(default_factory=list, description="What they found.")
    error: str | None = None
    dialogue: Dialogue | None = Field(None, description="As it was written, for those who want to mend it.")

    @property
    def final(self) -> bool:
        """Whether running again would not change it: an unreachable model may be reachable later."""
        return self.termination in (GATES, "unparseable_answer")

    @property
    def reason(self) -> str:
        """In a few words, for counting."""
        return f"{self.termination}: {', '.join(self.gates)}" if self.gates else self.termination


class ReconstructionRecord:
    """The files of one reconstruction. Only one process writes them at a time."""

    def __init__(self, output: Path) -> None:
        if output.is_dir() or not output.name:
            raise ConfigurationError(f"{output}: is a folder; name a file with -o, for example dialogs.jsonl")
        self.output = output
        self.failed = output.with_name(f"{output.stem}.failed{output.suffix or '.jsonl'}")
        self.sheet = output.with_name(f"{output.name}.sheet.json")
        self.work = output.with_name(f"{output.name}.work")
        self.checkpoints = self.work / "checkpoints.sqlite"
        self.traces = self.work / "traces"
        self._manifest = self.work / "manifest.json"
        self._lock = FileLock(str(self.work / ".lock"))

    @contextlib.contextmanager
    def opened(self, experiment: Experiment, notes: Sequence[Note]) -> Iterator["ReconstructionRecord"]:
        """Hold the files for a reconstruction; made if new, taken up if it is the same one.

        Raises:
            ConfigurationError: another process writes here, or what stands here was made otherwise (differences named).
        """
        taken = f"{self.output}: another process is writing here; wait for it or name another file with -o"
        with only_writer(self._lock, self.traces, ConfigurationError, str(self.output), taken):
            try:
                self._check_manifest(manifest_of(experiment, notes))
                for file in (self.output, self.failed, *self.traces.glob("*.jsonl")):
                    drop_cut_line(file)
                self.output.touch()
            except OSError as error:
                raise ConfigurationError(f"{self.output}: cannot be written: {error}") from error
            yield self

    def dialogues(self) -> Iterator[Dialogue]:
        """The dialogues so far."""
        yield from (self._read(Dialogue, self.output, line) for line in whole_lines(self.output))

    def failures(self) -> list[Failure]:
        """The failures so far."""
        return [self._read(Failure, self.failed, line) for line in whole_lines(self.failed)]

    def take_up(self) -> set[str]:
        """The notes that are done; failures that another try may mend are taken out of the file."""
        done = {dialogue.id for dialogue in self.dialogues()}
        kept = [failure for failure in self.failures() if failure.final and failure.id not in done]
        with writing(self.output):
            write_whole(self.failed, "".join(failure.model_dump_json() + "\n" for failure in kept))
        return done | {failure.id for failure in kept}

    def add(self, outcome: Dialogue | Failure) -> None:
        """Append a dialogue or a failure so that it survives a power cut."""
        with writing(self.output):
            append_line(self.output if isinstance(outcome, Dialogue) else self.failed, outcome)

    def write_sheet(self, sheet: DataSheet) -> None:
        """Write the data sheet, whole or not at all."""
        with writing(self.output):
            write_whole(self.sheet, sheet.model_dump_json(indent=2) + "\n")

    def trace_file(self, note_id: str) -> Path:
        """Where the calls for a note are written."""
        safe = re.sub(r"[^\w.-]", "_", note_id)[:80]
        digest = hashlib.sha256(note_id.encode()).hexdigest()[:8]
        return self.traces / (f"{safe}.jsonl" if safe == note_id else f"{safe}-{digest}.jsonl")

    def _read(self, kind: type[Any], path: Path, line: str) -> Any:
        try:
            return kind.model_validate_json(line)
        except ValidationError as error:
            raise ConfigurationError(
                f"{path}: a line is not a {kind.__name__.lower()} of ours: {line[:80]!r}; name another file with -o"
            ) from error

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        if not self._manifest.exists():
            if self.output.exists() and self.output.stat().st_size:
                raise ConfigurationError(f"{self.output}: exists and was not made here; name another file with -o")
            write_whole(self._manifest, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
            return
        try:
            before = json.loads(self._manifest.read_text("utf-8"))
            changes = [
                change
                for part in ("configuration", "data", "words")
                for change in differences(before.get(part), manifest[part], part)
            ]
        except (ValueError, AttributeError) as error:
            raise ConfigurationError(f"{self._manifest}: is not a manifest ({error}); name another file") from error
        if changes:
            listed = "\n".join(f"  {change}" for change in changes[:12])
            raise ConfigurationError(
                f"{self.output} holds dialogues that were made otherwise:\n{listed}\n"
                "Name another file with -o, or run as before."
            )


def manifest_of(experiment: Experiment, notes: Sequence[Note]) -> dict[str, Any]:
    """What the dialogues rest on: settings, notes, prompts and the data files whose words go into them."""
    digest = hashlib.sha256("\n".join(note.model_dump_json() for note in notes).encode()).hexdigest()[:32]
    prompts = {name: value for name, value in prompt_hashes().items() if name.startswith(_PROMPTS)}
    return {
        "configuration": {"models": experiment.models, "workflow": experiment.workflow, "seed": experiment.seed},
        "data": {"notes": len(notes), "fingerprint": digest},
        "words": {**prompts, **_data_hashes()},
        "versions": versions(_PACKAGES),
        "git": git_state(),
    }


def _data_hashes() -> dict[str, str]:
    return {
        f"{package}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for package, pattern in _DATA
        for path in sorted(Path(str(files(package))).glob(pattern))
    }
