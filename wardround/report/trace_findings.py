"""What the report and the viewer read from the traces, in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from llm.trace import Call
from scoring.injections import FoundInstruction, instructions_in
from wardround.tables.models import Tallies, tally

_LISTED = 200


@dataclass(frozen=True)
class FlaggedCall:
    """A call whose data contained text that reads like an instruction."""

    trace: str
    call: str
    role: str
    model: str
    valid: bool
    found: FoundInstruction


@dataclass
class TraceFindings:
    """What was found in the traces of a run."""

    begun: int = 0  # cases with a trace
    tallies: Tallies = field(default_factory=dict)  # what each role used
    flagged: list[FlaggedCall] = field(default_factory=list)  # the first calls with instructions in their data
    flagged_calls: dict[str, int] = field(default_factory=dict)  # the number of all such calls, by trace

    @property
    def not_listed(self) -> int:
        """Number of flagged calls that are not listed."""
        return sum(self.flagged_calls.values()) - len({(one.trace, one.call) for one in self.flagged})

    @property
    def flagged_validity(self) -> Mapping[str, int]:
        """How many of the listed calls gave a valid answer, and how many did not."""
        valid = {(one.trace, one.call): one.valid for one in self.flagged}
        return {"valid": sum(valid.values()), "invalid": len(valid) - sum(valid.values())}

    def add(self, trace: str, calls: Sequence[Call]) -> None:
        """Add the calls of one case; only sums and the listed calls are stored."""
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
