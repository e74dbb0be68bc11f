"""How soon doctors agree in a discussion (AI Hospital, section 6.2 and figure 4)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scoring.metrics.statistics import Estimate, estimate
from scoring.mvme.transcripts import Collaboration

End = Literal["agreed", "gave_up", "unknown"]
ENDS: tuple[End, ...] = ("agreed", "gave_up", "unknown")
ROUNDS = 4  # the authors' limit
_AGREED = "#结束#"  # the director's word for having nothing left to discuss


@dataclass(frozen=True)
class Discussion:
    """The round after which a discussion ended (0 if none was needed), and how.

    ``case`` is given if some cases have several discussions (epochs), which then count as one for intervals.
    """

    rounds: int
    end: End
    case: str | None = None


def discussion(record: Collaboration, limit: int = ROUNDS) -> Discussion:
    """Return how a collaboration ended.

    Before the last allowed round, only agreement ends a discussion. At the limit, the record's ``agreed`` or the
    director's last word distinguishes agreement from giving up; the released runs have neither, so that their end at
    the limit is unknown.

    Raises:
        ValueError: there are more rounds than the limit.
    """
    if record.final_turn > limit:
        raise ValueError(f"ended after round {record.final_turn}; expected at most {limit}")
    critiques = sorted(record.diagnosis_in_discussion, key=lambda critique: critique.turn)
    agreed = record.agreed
    if agreed is None and critiques and critiques[-1].host_critique is not None:
        agreed = critiques[-1].host_critique.strip() == _AGREED
    if agreed is None and record.final_turn < limit:
        agreed = True
    ends: dict[bool | None, End] = {True: "agreed", False: "gave_up", None: "unknown"}
    return Discussion(record.final_turn, ends[agreed])


def ended_at(discussions: Iterable[Discussion], limit: int = ROUNDS) -> dict[int, int]:
    """Count the discussions that ended after each round, however they ended, as in the paper's figure 4."""
    counts = Counter(each.rounds for each in discussions)
    return {number: counts[number] for number in range(limit + 1)}


def share_ended_at(discussions: Sequence[Discussion], number: int) -> Estimate:
    """Return the share of cases whose discussion ended after that round, agreed or not, in [0, 1].

    No direction. This is the published count, which treats discussions that ended at the limit as agreed.
    """
    return _share(discussions, [one.rounds == number for one in discussions])


def share_in_consensus(discussions: Sequence[Discussion], number: int) -> Estimate:
    """Return the share of all cases that had agreed by the end of that round, in [0, 1]; higher is better.

    None (unscored) at the limit if a record does not say how it ended there: the share is then between that of the
    round before and the same with the unknown ones added.
    """
    if any(one.end == "unknown" and one.rounds <= number for one in discussions):
        return estimate([])
    return _share(discussions, [one.end == "agreed" and one.rounds <= number for one in discussions])


def share_of_end(discussions: Sequence[Discussion], end: End) -> Estimate:
    """Return the share of cases that agreed, gave up, or ended at the limit in an unrecorded way.

    None (unscored) for agreed and gave up if any end is unknown.
    """
    if end != "unknown" and any(one.end == "unknown" for one in discussions):
        return estimate([])
    return _share(discussions, [one.end == end for one in discussions])


def _share(discussions: Sequence[Discussion], flags: Sequence[bool]) -> Estimate:
    cases = [place if one.case is None else one.case for place, one in enumerate(discussions)]
    return estimate(map(float, flags), cases, ends=(0.0, 1.0))
