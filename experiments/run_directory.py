"""The run directory: what was run, one durable line per case and epoch, every call, and the summary."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cases import Case
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
    answers: dict[str, Any] = Field(default_factory=dict, description="What the workflow decided.")

    @property
    def scored(self) -> bool:
        """Whether the case ended with answers that could be scored; a failed one has none."""
        return self.termination == "completed"

    @property
    def final(self) -> bool:
        """Whether running again would not change it: an unreachable model may be reachable later."""
        return self.termination in ("completed", "unparseable_answer")


class RunDirectory:
    """The files of one run. Only one process writes it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.traces = path / "traces"
        self.checkpoints = path / "checkpoints.sqlite"
        self._results = path / "results.jsonl"
        self._lock = FileLock(str(path / ".lock"))

    @contextlib.contextmanager
    def opened(self, experiment: Experiment, cases: Sequence[Case]) -> Iterator["RunDirectory"]:
        """Hold the directory for a run of this experiment; made if new, taken up if it is the same run's.

        Raises:
            ConfigurationError: another process runs here, or what stands here was run otherwise (differences named).
        """
        try:
            self.traces.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"--out {self.path}: cannot be made: {error}") from error
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ConfigurationError(
                f"{self.path}: another process is running here; wait for it or choose another --out"
            ) from None
        try:
            self._check_manifest(manifest_of(experiment, cases))
            yield self
        finally:
            self._lock.release()

    def results(self) -> list[Result]:
        """The results so far, without a last line that a kill has cut off."""
        if not self._results.exists():
            return []
        results = []
        for line in self._results.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                try:
                    results.append(Result.model_validate_json(line))
                except ValidationError as error:
                    raise ConfigurationError(f"{self._results}: a line is not a result: {line[:80]!r}") from error
        return results

    def keep(self, results: Iterable[Result]) -> None:
        """Replace the results by these: when a run is taken up, what is to be tried again is taken out."""
        _write(self._results, "".join(result.model_dump_json() + "\n" for result in results))

    def add(self, result: Result) -> None:
        """Append one result so that it survives a power cut."""
        with self._results.open("a", encoding="utf-8") as out:
            out.write(result.model_dump_json() + "\n")
            out.flush()
            os.fsync(out.fileno())

    def trace_file(self, case_id: str, epoch: int) -> Path:
        """Where the calls of a case are written."""
        safe = re.sub(r"[^\w.-]", "_", case_id)
        if safe != case_id:
            safe += "-" + hashlib.sha256(case_id.encode()).hexdigest()[:8]
        return self.traces / f"{safe}-{epoch}.jsonl"

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``, whole or not at all."""
        _write(self.path / "summary.json", json.dumps(summary, ensure_ascii=False, indent=2) + "\n")

    def remember(self, course: BaseModel) -> None:
        """Keep a pseudo-case, so that a run that is taken up remembers what it had learnt."""
        with (self.path / "pseudo_cases.jsonl").open("a", encoding="utf-8") as out:
            out.write(course.model_dump_json() + "\n")
            out.flush()
            os.fsync(out.fileno())

    def remembered(self) -> list[str]:
        """The pseudo-cases kept so far, as JSON."""
        path = self.path / "pseudo_cases.jsonl"
        if not path.exists():
            return []
        return [line for line in path.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        path = self.path / "manifest.json"
        if not path.exists():
            _write(path, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
            return
        try:
            before = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise ConfigurationError(f"{path}: is not a manifest ({error}); choose another --out") from error
        fixed = ("configuration", "data", "prompts")
        changes = [change for part in fixed for change in _differences(before.get(part), manifest[part], part)]
        if changes:
            listed = "\n".join(f"  {change}" for change in changes[:12])
            raise ConfigurationError(
                f"{self.path} holds a run of another configuration:\n{listed}\nChoose another --out, or run as before."
            )


def manifest_of(experiment: Experiment, cases: Sequence[Case]) -> dict[str, Any]:
    """What a result rests on: configuration, versions, prompts and data."""
    data = hashlib.sha256("\n".join(case.model_dump_json() for case in cases).encode()).hexdigest()
    return {
        "configuration": experiment.identity,
        "data": {"cases": len(cases), "fingerprint": data[:32]},
        "prompts": prompt_hashes(),
        "seed": experiment.seed,
        "versions": {package: _version(package) for package in _PACKAGES},
        "git": _git_state(),
    }


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


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.part")
    with draft.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
