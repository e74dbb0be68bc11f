"""What a report takes from the traces, in one passage through all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm.trace import Call
from scoring.injections import FoundInstruction, instructions_in
from wardround.store.recorded_run import RecordedRun
from wardround.tables.roles import Tallies, tally

_LISTED = 200


@dataclass(frozen=True)
class FlaggedCall:
    """A call that was given text that reads like an instruction."""

    trace: str
    call: str
    role: str
    model: str
    valid: bool
    found: FoundInstruction


@dataclass
class TraceFindings:
    """What the traces of a run amount to."""

    begun: int = 0  # cases with a trace
    tallies: Tallies = field(default_factory=dict)  # what each role took
    flagged: list[FlaggedCall] = field(default_factory=list)  # the first calls with instructions in their data
    flagged_calls: dict[str, int] = field(default_factory=dict)  # how many there are in all, by trace

    @property
    def not_listed(self) -> int:
        """Flagged calls that are only counted."""
        return sum(self.flagged_calls.values()) - len({(one.trace, one.call) for one in self.flagged})

    @property
    def flagged_validity(self) -> Mapping[str, int]:
        """Of the listed calls, how many gave a valid answer, and how many none."""
        valid = {(one.trace, one.call): one.valid for one in self.flagged}
        return {"valid": sum(valid.values()), "invalid": len(valid) - sum(valid.values())}

    def add(self, trace: str, calls: Sequence[Call]) -> None:
        """Take in the calls of one case; nothing stays but sums and what is listed."""
        self.begun += 1
        tally(calls, self.tallies)
        for call in calls:
            found = instructions_in(call)
            if not found:
                continue
            self.flagged_calls[trace] = self.flagged_calls.get(trace, 0) + 1
            if len(self.flagged) < _LISTED:
                valid = call.error is None and call.answer is not None
                self.flagged += [FlaggedCall(trace, call.id, call.role, call.model, valid, one) for one in found]


def go_through(run: RecordedRun) -> TraceFindings:
    """Read every trace once."""
    findings = TraceFindings()
    for file, calls in run.each_trace():
        findings.add(file.stem, calls)
    return findings
