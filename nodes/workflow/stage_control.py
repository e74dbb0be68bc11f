"""Stage control: keeps the counters of a stage and records its rounds. Makes no model call."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import ValidationError

from cases.registry import GivenError
from cases.validation import in_a_line
from nodes.context import Context
from nodes.node import at_least_one, node
from nodes.state.decisions import Decision, Round, StageRecord
from nodes.state.stage import StageState, judgements_of, opinions_of
from nodes.strategies.registry import check_built_for
from nodes.workflow.stages import Stage, position_of


class UndecidedError(GivenError):
    """A strategy's graph ended without a decision, with an invalid one, or with an invalid record."""


@node
async def close_round(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Close one round of the discussion."""
    round_ = state.get("discussion_round", 0)
    at_least_one(opinions_of(state, round_), state)
    return {"discussion_round": round_ + 1}


def checked_decision(strategy: str, stage: Stage, state: StageState) -> Decision:
    """Return a strategy's decision, read again: `model_copy` and `model_construct` check nothing.

    Raises:
        UndecidedError: there is none, or none of the stage's type, or a field of it is invalid.
    """
    expected = stage.decision.__name__
    if (decision := state.get("decision")) is None:
        raise UndecidedError(f"strategy {strategy!r} ended without a decision on {stage.name}")
    if not isinstance(decision, stage.decision):
        given = type(decision).__name__
        raise UndecidedError(
            f"strategy {strategy!r} decided {stage.name} with a {given}; expected stage.decision, which is {expected}"
        )
    try:
        return type(decision).model_validate(dict(decision), by_name=True)  # a field may have an alias
    except ValidationError as error:
        raise UndecidedError(
            f"strategy {strategy!r} decided {stage.name} with an invalid {expected}: {in_a_line(error)}"
        ) from error


def can_be_judged(stage: Stage, state: StageState) -> bool:
    """Whether the state has a valid decision of the stage's type and a valid record; a plug-in may have left others."""
    rounds = state.get("rounds", [])
    if not (isinstance(rounds, list) and all(isinstance(item, Round) for item in rounds)):
        return False
    try:  # the judges' verdicts take the place of what the strategy says of itself, which must be valid all the same
        checked_decision("", stage, state)
        ended, minutes = state.get("ended") or "not_judged", state.get("minutes") or []
        StageRecord.model_validate({"stage": stage.name, "ended": ended, "rounds": rounds or minutes})
    except (UndecidedError, ValidationError):
        return False
    return True


@node
async def record_round(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Record a decision with its verdicts, and whether the stage ends."""
    round_ = state.get("round", 0)
    judgements = judgements_of(state, round_)
    if runtime.context.feedback != "off":
        at_least_one(judgements, state)
    rounds = [
        *state.get("rounds", []),
        Round(decision=state["decision"].model_dump(mode="json"), judgements=judgements, reply=state.get("reply", "")),
    ]
    if all(item.verdict.accepted for item in judgements):
        ended = "agreed" if judgements else "not_judged"
    else:
        ended = "exhausted" if round_ >= runtime.context.max_feedback_rounds else ""
    return {"rounds": rounds, "round": round_ + 1, "ended": ended}


@node
async def reopen(state: StageState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Return the decision to the strategy, for a revision in view of the objections."""
    return {"revision": state["round"]}


@node
async def conclude(
    state: StageState, runtime: Runtime[Context], stage: Stage, strategy: str = "group"
) -> dict[str, Any]:
    """Write the decision to the findings, and record how it was reached.

    Raises:
        ValueError: the thread was begun in a graph built for another strategy.
        UndecidedError: there is no valid decision of the stage's type, or its record is invalid.
        GivenError: what the decision adds to the findings is not in the stage's output.
    """
    if strategy != "group":  # a plug-in may build on the stages of the group
        check_built_for(strategy, state.get("built_for", strategy))
    image_class = state.get("image_class")
    decision = checked_decision(strategy, stage, state)
    only_round = Round(decision=decision.model_dump(mode="json"))
    entry = {
        "stage": f"{stage.name}:{image_class}" if image_class else stage.name,
        "position": position_of(stage),
        "visit": state.get("backtracks", 0),
        "strategy": state.get("strategy", strategy),
        "ended": state.get("ended") or "not_judged",
        "rounds": state.get("rounds") or state.get("minutes") or [only_round],
    }
    try:
        record = StageRecord.model_validate(entry)
    except ValidationError as error:
        raise UndecidedError(
            f"strategy {strategy!r} left an invalid record of {stage.name}: {in_a_line(error)}"
        ) from error
    outcome = stage.outcome(stage, decision, state)
    if lost := outcome.keys() - stage.output.__annotations__.keys():  # LangGraph would drop it without a word
        raise GivenError(
            f"stage {stage.name!r}: outcome gives {', '.join(sorted(lost))}, which its output does not have"
        )
    return {**outcome, "decisions": [record]}
