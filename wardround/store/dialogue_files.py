"""The output files of a reconstruction from notes: dialogues, failures with reasons, and the data sheet.

Next to ``dialogs.jsonl`` are ``dialogs.failed.jsonl``, ``dialogs.jsonl.sheet.json`` and the run directory
``dialogs.jsonl.work/``. All of them are made from the run's results, and can be made again.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from cases.dialogues import Dialogue
from cases.whole_files import is_device
from llm.trace import summed
from nodes.reconstruction.gates import GATES as ALL_GATES
from nodes.reconstruction.gates import check_dialogue
from scoring.clini_eval.data_sheet import DataSheet, ModelUse, data_sheet
from scoring.clini_eval.dialogue import ReconstructionAnswers
from wardround.config.experiment import ConfigurationError
from wardround.store.durable_lines import append_line, whole_lines, writing
from wardround.store.manifest import is_run, other_program, recorded_manifest
from wardround.store.provenance import write_whole
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace

GATES = "gates"


class Failure(BaseModel):
    """One line of ``dialogs.failed.jsonl``: a note of which no dialogue was kept, and why."""

    model_config = ConfigDict(extra="forbid")

    id: str
    termination: str = Field(
        description="`gates`, or why no dialogue was written: `model_error`, `unparseable_answer`, ..."
    )
    gates: list[str] = Field(default_factory=list, description="The gates that the dialogue failed.")
    problems: list[str] = Field(default_factory=list, description="What these gates found.")
    error: str | None = None
    dialogue: Dialogue | None = Field(
        default=None, description="The dialogue as it was written, in case it is to be corrected."
    )

    @property
    def reason(self) -> str:
        """The termination and the failed gates, as a key for counting."""
        return f"{self.termination}: {', '.join(self.gates)}" if self.gates else self.termination


def outcome_of(result: Result, refused: Failure | None = None) -> Dialogue | Failure:
    """Return the dialogue if it passes the gates, otherwise the reason why there is none.

    A dialogue that passed all of them when it was scored is not checked again, nor the one of ``refused``, which failed
    a gate before: it would take a tenth of a second.
    """
    written = result.answers.reconstructed if isinstance(result.answers, ReconstructionAnswers) else None
    if written is None:
        return Failure(id=result.case_id, termination=result.termination, error=result.error)
    dialogue = written.model_copy(update={"models": sorted({spec for used in result.models.values() for spec in used})})
    if refused and refused.termination == GATES and refused.dialogue == dialogue:
        return refused
    passed = written.models == dialogue.models and all(result.scores.get(gate, 0.0) != 0.0 for gate in ALL_GATES)
    problems = [] if passed else check_dialogue(dialogue)
    if not problems:
        return dialogue
    return Failure(
        id=result.case_id,
        termination=GATES,
        gates=list(dict.fromkeys(problem.gate for problem in problems)),
        problems=[str(problem) for problem in problems],
        dialogue=dialogue,
    )


class DialogueFiles:
    """The output files of one reconstruction.

    Raises:
        ConfigurationError: the output is a folder, or a file that was not made by a reconstruction.
    """

    def __init__(self, output: Path, left_out: Sequence[str] = ()) -> None:
        if output.is_dir() or not output.name:
            raise ConfigurationError(f"{output}: is a folder; name a file with -o, for example dialogs.jsonl")
        if is_device(output):
            raise ConfigurationError(f"{output}: is a device or a pipe; name a file with -o")
        self.output = output
        self.failed = output.with_name(f"{output.stem}.failed{output.suffix or '.jsonl'}")
        self.sheet = output.with_name(f"{output.name}.sheet.json")
        self.directory = RunDirectory(output.with_name(f"{output.name}.work"))
        if output.exists() and output.stat().st_size and not is_run(self.directory.path):
            raise ConfigurationError(
                f"{output}: exists, but was not written by this command; name another file with -o"
            )
        self._left_out = left_out
        self._rewritten = False

    def add(self, result: Result) -> Dialogue | Failure:
        """Append the outcome of a note; the first call writes all earlier outcomes too."""
        outcome = outcome_of(result)
        if self._rewritten:
            with writing(self.output):
                append_line(self.output if isinstance(outcome, Dialogue) else self.failed, outcome.model_dump_json())
        else:
            self.write(finished=False)
            self._rewritten = True
        return outcome

    def write(self, *, finished: bool = True) -> DataSheet:
        """Write all files from the results so far, by note, each whole or not at all; what models used at the end."""
        lines: dict[Path, list[str]] = {self.output: [], self.failed: []}
        reasons = []
        usage = []
        refused = self._refused()
        for result in self.directory.each_result(by_case=True):
            outcome = outcome_of(result, refused.get(result.case_id))
            usage.append((result.calls, result.tokens, result.cost))
            if isinstance(outcome, Failure):
                reasons.append(outcome.reason)
            lines[self.failed if isinstance(outcome, Failure) else self.output].append(outcome.model_dump_json() + "\n")
        calls, tokens, costs = zip(*usage, strict=True) if usage else ((), (), ())
        with writing(self.output):
            for file, written in lines.items():
                write_whole(file, "".join(written))
            fresh_sheet = data_sheet(
                map(Dialogue.model_validate_json, whole_lines(self.output)), reasons, self._left_out
            )
            used = {"calls": sum(calls), "tokens": sum(tokens), "cost": summed(costs)}
            by_model = self._used_by_model() if finished else {}
            sheet = fresh_sheet.model_copy(update={**used, "models": by_model})
            write_whole(self.sheet, sheet.model_dump_json(indent=2) + "\n")
        return sheet

    def _refused(self) -> dict[str, Failure]:
        """Return the failures on file by their note's id, if this program wrote them and nobody has damaged them."""
        with suppress(ValueError):
            if self.failed.is_file() and not other_program(recorded_manifest(self.directory.path) or {}):
                failures = map(Failure.model_validate_json, whole_lines(self.failed))
                return {failure.id: failure for failure in failures}
        return {}

    def _used_by_model(self) -> dict[str, ModelUse]:
        """Return what each model used for the notes that have a result, by their traces."""
        used: dict[str, ModelUse] = {}
        for result in self.directory.each_result():
            for call in read_trace(self.directory.trace_file(*result.key)).calls:
                if call.is_asked:
                    before = used.get(call.model, ModelUse(calls=0, input_tokens=0, output_tokens=0, cost=0))
                    used[call.model] = ModelUse(
                        calls=before.calls + 1,
                        input_tokens=before.input_tokens + call.input_tokens,
                        output_tokens=before.output_tokens + call.output_tokens,
                        cost=summed((before.cost, call.cost)),
                    )
        return dict(sorted(used.items()))
