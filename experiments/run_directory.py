"""The run directory: what was run, one durable line per case and epoch, every call, and the summary."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cases import Case
from evaluation.clinical_workflow import Answers
from experiments.configuration import ConfigurationError, Experiment

_PACKAGES = (
    "wardround",
    "langgraph",
    "langchain-core",
    "langchain-openai",
    "chromadb",
    "sentence-transformers",
    "pydantic",
)


class Result(BaseModel):
    """One line of ``results.jsonl``: how one case ended in one epoch."""

    model_config = ConfigDict(extra="forbid")

    case_id: str
    epoch: int
    termination: str = Field(description="`completed`, or the reason why not.")
    scores: dict[str, float | None] = Field(default_factory=dict)
    unscored: dict[str, str] = Field(default_factory=dict, description="Why a score is missing, by its name.")
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    error: str | None = None
    calls: int = 0
    models: dict[str, list[str]] = Field(default_factory=dict, description="The models that answered, by role.")
    stages: dict[str, str] = Field(default_factory=dict, description="How each stage ended: agreed or exhausted.")
    rounds: dict[str, int] = Field(default_factory=dict, description="Decisions that each stage made and had judged.")
    answers: Answers | None = Field(None, description="What the workflow decided; None if it did not get that far.")

    @property
    def scored(self) -> bool:
        """Whether the case ended with answers that could be scored; a failed one has none."""
        return self.termination == "completed"

    @property
    def final(self) -> bool:
        """Whether running again would not change it: an unreachable model may be reachable later."""
        return self.termination in ("completed", "unparseable_answer", "sex_bound")


class RunStoppedError(RuntimeError):
    """The run directory can no longer be written; what was finished before is kept."""


class RunDirectory:
    """The files of one run. Only one process writes it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = ""
        self.traces = path / "traces"
        self.checkpoints = path / "checkpoints.sqlite"
        self._results = path / "results.jsonl"
        self._pseudo_cases = path / "pseudo_cases.jsonl"
        self._options = path / "options.jsonl"
        self._lock = FileLock(str(path / ".lock"))

    @contextlib.contextmanager
    def opened(self, experiment: Experiment, cases: Sequence[Case]) -> Iterator["RunDirectory"]:
        """Hold the directory for a run of this experiment; made if new, taken up if it is the same run's.

        Raises:
            ConfigurationError: another process runs here, or what stands here was run otherwise (differences named).
        """
        with self._held():
            try:
                self._check_manifest(manifest_of(experiment, cases))
                for file in (self._results, self._pseudo_cases, *self.traces.glob("*.jsonl")):
                    _drop_cut_line(file)
            except OSError as error:
                raise ConfigurationError(f"--out {self.path}: cannot be written: {error}") from error
            yield self

    def results(self) -> list[Result]:
        """The results so far, without a last line that a kill has cut off."""
        results = []
        for line in _whole_lines(self._results):
            try:
                results.append(Result.model_validate_json(line))
            except ValidationError as error:
                raise ConfigurationError(f"{self._results}: a line is not a result: {line[:80]!r}") from error
        return results

    def keep(self, results: Iterable[Result]) -> None:
        """Replace the results by these: when a run is taken up, what is to be tried again is taken out."""
        with self._writing():
            _write(self._results, "".join(result.model_dump_json() + "\n" for result in results))

    def add(self, result: Result) -> None:
        """Append one result so that it survives a power cut."""
        with self._writing():
            _append(self._results, result)

    def trace_file(self, case_id: str, epoch: int) -> Path:
        """Where the calls of a case are written."""
        safe = re.sub(r"[^\w.-]", "_", case_id)
        if safe != case_id:
            safe += "-" + hashlib.sha256(case_id.encode()).hexdigest()[:8]
        return self.traces / f"{safe}-{epoch}.jsonl"

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``, whole or not at all."""
        with self._writing():
            _write(self.path / "summary.json", json.dumps(summary, ensure_ascii=False, indent=2) + "\n")

    def remember(self, course: BaseModel) -> None:
        """Keep a pseudo-case, so that a run that is taken up remembers what it had learnt."""
        with self._writing():
            _append(self._pseudo_cases, course)

    def remembered(self) -> list[str]:
        """The pseudo-cases kept so far, as JSON."""
        return _whole_lines(self._pseudo_cases)

    def options(self) -> list[str]:
        """The multiple-choice options kept so far, a case each, as JSON."""
        return _whole_lines(self._options)

    @contextlib.contextmanager
    def adding_options(self) -> Iterator[Callable[[BaseModel], None]]:
        """Hold the directory, to append options so that they survive a power cut; what is kept is never rewritten.

        Raises:
            ConfigurationError: another process runs here, or nothing can be written here.
            RunStoppedError: it can no longer be written.
        """

        def add(options: BaseModel) -> None:
            with self._writing():
                _append(self._options, options)

        with self._held():
            with self._writing():
                _drop_cut_line(self._options)
            yield add

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        try:
            self.traces.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ConfigurationError(
                f"{self.path}: another process is running here; wait for it or choose another --out"
            ) from None
        except OSError as error:
            raise ConfigurationError(f"--out {self.path}: cannot be written: {error}") from error
        try:
            yield
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunStoppedError(
                f"{self.path}: cannot be written: {error}; mend that and run the same command again to go on"
            ) from error

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        path = self.path / "manifest.json"
        if not path.exists():
            # Pseudo-cases are filed under this name; a later run in the same place must not find them.
            self.run = manifest["run"] = uuid.uuid4().hex
            _write(path, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
            return
        try:
            before = json.loads(path.read_text("utf-8"))
            self.run = before["run"]
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(f"{path}: is not a manifest ({error!r}); choose another --out") from error
        fixed = ("configuration", "data", "prompts")
        changes = [change for part in fixed for change in _differences(before.get(part), manifest[part], part)]
        if changes:
            listed = "\n".join(f"  {change}" for change in changes[:12])
            raise ConfigurationError(
                f"{self.path} holds a run of another configuration:\n{listed}\nChoose another --out, or run as before."
            )


def manifest_of(experiment: Experiment, cases: Sequence[Case]) -> dict[str, Any]:
    """What a result rests on: configuration, versions, prompts and data."""
    return {
        "configuration": experiment.identity,
        "data": {"cases": len(cases), "fingerprint": _fingerprint(cases)},
        "prompts": prompt_hashes(),
        "seed": experiment.seed,
        "versions": {package: _version(package) for package in _PACKAGES},
        "git": _git_state(),
    }


def _fingerprint(cases: Sequence[Case]) -> str:
    """A hash of the cases and their pictures."""
    digest = hashlib.sha256("\n".join(case.model_dump_json() for case in cases).encode())
    for case in cases:
        for image in case.examinations.images:
            digest.update(hashlib.sha256(Path(case.folder, image.file).read_bytes()).digest())
    return digest.hexdigest()[:32]


def prompt_hashes() -> dict[str, str]:
    """A hash of every prompt file, by its path under ``prompts/``."""
    root = Path(str(files("prompts")))
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(root.rglob("*.md"))
    }


def default_directory(experiment: Experiment) -> Path:
    """Where a run goes if nothing is said: the same experiment comes back to the same place."""
    digest = hashlib.sha256(json.dumps(experiment.identity, sort_keys=True).encode()).hexdigest()[:8]
    return Path("runs") / f"{experiment.name}-{digest}"


def _differences(before: Any, now: Any, where: str) -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        return [change for key in keys for change in _differences(before.get(key), now.get(key), f"{where}.{key}")]
    return [] if before == now else [f"{where}: was {before!r}, is {now!r}"]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_state() -> dict[str, Any] | None:
    """The commit that the code was run from and whether it was changed; None outside a checkout."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder)]
    try:
        commit = subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True, check=True, timeout=10)
        status = subprocess.run(
            [*command, "status", "--porcelain"], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit.stdout.strip(), "changed": bool(status.stdout.strip())}


def _whole_lines(path: Path) -> list[str]:
    """The lines of a file, none if there is no file; a last one that a kill has cut off is left out.

    Only a line feed ends a line: the text in it may hold the other separators that ``splitlines`` knows.
    """
    if not path.exists():
        return []
    *lines, _ = path.read_bytes().split(b"\n")
    return [line.decode("utf-8") for line in lines]


def _drop_cut_line(path: Path) -> None:
    """Take a cut last line away, so that the next one does not stick to it."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        if not file.seek(0, os.SEEK_END):
            return
        file.seek(-1, os.SEEK_END)
        if file.read() != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)


def _append(path: Path, record: BaseModel) -> None:
    with path.open("a", encoding="utf-8") as out:
        out.write(record.model_dump_json() + "\n")
        out.flush()
        os.fsync(out.fileno())


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.part")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
