"""The run directory: what was run, one durable line per case and epoch, every call, and the summary."""

import contextlib
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import Item
from wardround.store.durable_lines import append_line, drop_cut_line, only_writer, whole_lines, writing
from wardround.store.manifest import manifest_of
from wardround.store.provenance import differences, write_whole

LIMIT = "_limit"  # how the termination of a case ends that was stopped at a limit
LIMIT_OF_RUN = "run_"


RunAnswers = Answers | ConsultationAnswers | ReconstructionAnswers


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
    answers: RunAnswers | None = Field(None, description="What the graph came to; None if it did not get that far.")

    @property
    def scored(self) -> bool:
        """Whether the case ended with answers that could be scored; a failed one has none."""
        return self.termination == "completed" or self.limited

    @property
    def limited(self) -> bool:
        """Whether the case was stopped at a limit, and scored with what it had."""
        return self.termination.endswith(LIMIT)

    @property
    def limited_by_run(self) -> bool:
        """Whether it was the whole run's limit."""
        return self.limited and self.termination.startswith(LIMIT_OF_RUN)

    @property
    def final(self) -> bool:
        """Whether running again would not change it: an unreachable model may be reachable, a run's limit raised."""
        if self.limited:
            return not self.limited_by_run
        return self.termination in ("completed", "unparseable_answer", "sex_bound")


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

    @contextlib.contextmanager
    def opened(
        self, experiment: Experiment, items: Sequence[Item], remembered: Mapping[str, int] | None = None
    ) -> Iterator["RunDirectory"]:
        """Hold the directory for a run of this experiment; made if new, resumed if it is the same run's.

        Raises:
            ConfigurationError: another process runs here, or what stands here was run otherwise (differences named).
        """
        with self._held():
            try:
                self._check_manifest(manifest_of(experiment, items, remembered))
                for file in (self._results, self._pseudo_cases, *self.traces.glob("*.jsonl")):
                    drop_cut_line(file)
            except OSError as error:
                raise ConfigurationError(f"--out {self.path}: cannot be written: {error}") from error
            yield self

    @property
    def exists(self) -> bool:
        """Whether a run was begun here."""
        return (self.path / "manifest.json").is_file()

    def each_result(self) -> Iterator[Result]:
        """The results so far, one after the other; a last line that a kill has cut off is left out."""
        for line in whole_lines(self._results):
            try:
                yield Result.model_validate_json(line)
            except ValidationError as error:
                raise ConfigurationError(f"{self._results}: a line is not a result: {line[:80]!r}") from error

    def results(self, *, answers: bool = True) -> list[Result]:
        """The results so far, as a list.

        Args:
            answers: whether to keep what the graph came to, which is the bulk of a result.
        """
        return [one if answers else one.model_copy(update={"answers": None}) for one in self.each_result()]

    def resume(self) -> set[tuple[str, int]]:
        """The cases (by id and epoch) that are finished; the others' results, which are tried again, are taken out."""
        results = self.results()
        final = [result for result in results if result.final]
        if len(final) < len(results):
            with writing(self.path):
                write_whole(self._results, "".join(result.model_dump_json() + "\n" for result in final))
        return {(result.case_id, result.epoch) for result in final}

    def add(self, result: Result) -> None:
        """Append one result so that it survives a power cut."""
        with writing(self.path):
            append_line(self._results, result)

    def trace_file(self, case_id: str, epoch: int) -> Path:
        """Where the calls of a case are written."""
        safe = re.sub(r"[^\w.-]", "_", case_id)[:80]
        if safe != case_id:
            safe += "-" + hashlib.sha256(case_id.encode()).hexdigest()[:8]
        return self.traces / f"{safe}-{epoch}.jsonl"

    def trace_files(self) -> list[Path]:
        """The calls of every case that was begun."""
        return sorted(self.traces.glob("*.jsonl"))

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``, whole or not at all."""
        with writing(self.path):
            write_whole(self.path / "summary.json", json.dumps(summary, ensure_ascii=False, indent=2) + "\n")

    def remember(self, course: BaseModel) -> None:
        """Keep a pseudo-case, so that a resumed run remembers what it had learnt."""
        with writing(self.path):
            append_line(self._pseudo_cases, course)

    def remembered(self) -> list[str]:
        """The pseudo-cases kept so far, as JSON."""
        return list(whole_lines(self._pseudo_cases))

    def options(self) -> list[str]:
        """The multiple-choice options kept so far, a case each, as JSON."""
        return list(whole_lines(self._options))

    @contextlib.contextmanager
    def adding_options(self) -> Iterator[Callable[[BaseModel], None]]:
        """Hold the directory, to append options so that they survive a power cut; what is kept is never rewritten.

        Raises:
            ConfigurationError: another process runs here, or nothing can be written here.
            RunStoppedError: it can no longer be written.
        """

        def add(options: BaseModel) -> None:
            with writing(self.path):
                append_line(self._options, options)

        with self._held():
            with writing(self.path):
                drop_cut_line(self._options)
            yield add

    def _held(self) -> contextlib.AbstractContextManager[None]:
        taken = f"{self.path}: another process is running here; wait for it or choose another --out"
        return only_writer(self.path, "traces", ConfigurationError, taken)

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        path = self.path / "manifest.json"
        if not path.exists():
            # Pseudo-cases are filed under this name; a later run in the same place must not find them.
            self.run = manifest["run"] = uuid.uuid4().hex
            write_whole(path, json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
            return
        try:
            before = json.loads(path.read_text("utf-8"))
            self.run = before["run"]
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(f"{path}: is not a manifest ({error!r}); choose another --out") from error
        fixed = ("configuration", "data", "memory", "prompts", "plugins")
        changes = [change for part in fixed for change in differences(before.get(part), manifest[part], part)]
        if changes:
            listed = "\n".join(f"  {change}" for change in changes[:12])
            raise ConfigurationError(
                f"{self.path} holds a run of another configuration:\n{listed}\nChoose another --out, or run as before."
            )
