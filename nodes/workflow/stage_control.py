"""Stage control: keeps a stage's counters and records its rounds; decides nothing and asks nobody."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import ValidationError

from cases.registry import GivenError
from cases.validation import in_a_line
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.state.decisions import Judgement, Round, StageRecord
from nodes.state.stage import StageState, opinions_of
from nodes.strategies.registry import check_built_for
from nodes.workflow.stages import Stage, position_of


class UndecidedError(GivenError):
    """A strategy's graph has ended and left no decision, or one of another type than its stage's, or no such file."""


@node
async def close_round(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Close one round of the discussion."""
    spoken = state.get("discussion_round", 0)
    at_least_one(opinions_of(state, spoken), state)
    return {"discussion_round": spoken + 1}


def can_be_judged(stage: Stage, state: StageState) -> bool:
    """Whether there is a decision of the stage's type, and rounds that are rounds; a plug-in may leave others."""
    rounds = state.get("rounds", [])
    known = isinstance(rounds, list) and all(isinstance(one, Round) for one in rounds)
    return known and isinstance(state.get("decision"), stage.decision)


@node
async def record_round(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Note a decision with its verdicts, and whether the stage is at its end."""
    round_ = state.get("round", 0)
    verdicts = [item for item in state.get("judgements", []) if item.round == round_]
    if runtime.context.feedback != "off":
        at_least_one(verdicts, state)
    rounds = [
        *state.get("rounds", []),
        Round(
            decision=state["decision"].model_dump(mode="json"),
            judgements=[Judgement(judge=item.judge, verdict=item.verdict) for item in verdicts],
            reply=state.get("reply", ""),
        ),
    ]
    if all(item.verdict.accepted for item in verdicts):
        ended = "agreed" if verdicts else "not_judged"
    else:
        ended = "exhausted" if round_ >= runtime.context.max_feedback_rounds else ""
    return {"rounds": rounds, "round": round_ + 1, "ended": ended}


@node
async def reopen(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Hand the decision back with the objections to it, to those who made it."""
    return {"revision": state["round"]}


@node
async def conclude(
    state: StageState, runtime: Runtime[Context], stage: Stage, strategy: str = "group"
) -> dict[str, Any]:
    """Hand the decision on, and file how it came about.

    Raises:
        ValueError: the course began in a graph of another strategy, and its thread was taken to this one.
    """
    if strategy != "group":  # whose stages a plug-in may use as its own
        check_built_for(strategy, state.get("built_for", strategy))
    image_class = state.get("image_class")
    if (decision := state.get("decision")) is None:
        raise UndecidedError(f"strategy {strategy!r} ended without a decision on {stage.name}")
    if not isinstance(decision, stage.decision):
        given, expected = type(decision).__name__, stage.decision.__name__
        raise UndecidedError(
            f"strategy {strategy!r} decided {stage.name} by a {given}; expected stage.decision, {expected}"
        )
    alone = Round(decision=decision.model_dump(mode="json"))
    filed = {
        "stage": f"{stage.name}:{image_class}" if image_class else stage.name,
        "position": position_of(stage),
        "visit": state.get("backtracks", 0),
        "strategy": state.get("strategy", strategy),
        "ended": state.get("ended") or "not_judged",
        "rounds": state.get("rounds") or state.get("minutes") or [alone],
    }
    try:
        record = StageRecord.model_validate(filed)
    except ValidationError as error:
        raise UndecidedError(f"strategy {strategy!r} left at {stage.name} {in_a_line(error)}") from error
    return {**stage.outcome(stage, decision, state), "decisions": [record]}
