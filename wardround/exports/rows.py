"""The rows that runs export, in five levels: runs, cases, turns of dialogues, calls, and verdicts."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypedDict, cast

from cases import Case
from scoring.clini_eval.dialogue import ReconstructionAnswers
from wardround.analysis.summary import summed
from wardround.report.course import dialogue_of
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result

Level = Literal["runs", "cases", "turns", "calls", "verdicts"]
Row = Mapping[str, Any]
_FACTS = {"termination", "tokens", "cost", "seconds", "calls", "error"}  # columns of a case, as in its result
_ROUND = re.compile(r"/round(\d+)(?:/|$)")


class Place(TypedDict):
    """The run, case and epoch of a row."""

    run: str
    case_id: str
    epoch: int


class TurnRow(Place):
    """One utterance, with what the patient's side recorded for it; facts and pictures are one per line."""

    number: int
    speaker: str
    text: str
    action: str | None
    plain: str | None
    facts: str | None
    pictures: str | None


class CallRow(Place):
    """One call of a role; the answer is JSON."""

    call: str
    role: str
    stage: str
    model: str
    prompt: str
    prompt_hash: str
    started: float
    seconds: float
    attempts: int
    form: str
    repaired: bool
    shortened: bool
    cached: bool
    input_tokens: int
    output_tokens: int
    cost: float | None
    answer: str | None
    error: str | None


class VerdictRow(Place):
    """One judgement: a physician's on a decision (`feedback`), or a judge's on the answers of a case (`score`)."""

    call: str
    kind: str
    stage: str
    round: int | None
    judge: str
    model: str
    accepted: bool | None
    reason: str | None
    answer: str


def runs_of(run: RecordedRun) -> Iterator[Row]:
    """Yield the run's row: what was run, how many cases, and each mean with standard error, interval and number."""
    results = run.results
    means = {
        column: value
        for name, found in run.estimates.items()
        for column, value in (
            (name, found.mean),
            (f"{name}.se", found.se),
            (f"{name}.low", found.ci95[0] if found.ci95 else None),
            (f"{name}.high", found.ci95[1] if found.ci95 else None),
            (f"{name}.n", found.n),
        )
    }
    yield {
        "run": run.name,
        "graph": run.experiment.graph,
        "suite": run.suite.name,
        "seed": run.experiment.seed,
        "planned": run.planned,
        "attempted": len(results),
        "scored": len(run.scored),
        "failed": len(results) - len(run.scored),
        "tokens": sum(result.tokens for result in results),
        "cost": summed(result.cost for result in results),
        "seconds": sum(result.seconds for result in results),
        "calls": sum(result.calls for result in results),
        "models": _json(run.models),
        **means,
    }


def cases_of(run: RecordedRun) -> Iterator[Row]:
    """Yield one row per case and epoch, in order."""
    known, _ = run.known_cases()
    for result in _answered(run):
        yield {
            **_place(run, result),
            **result.model_dump(include=_FACTS),
            **result.scores,
            "answers.diagnosis": "\n".join(result.answers.diagnosis) if result.answers else None,
            **{f"rounds.{part}": rounds for part, rounds in result.rounds.items()},
            **{f"stages.{part}": end for part, end in result.stages.items()},
            **{f"unscored.{name}": reason for name, reason in result.unscored.items()},
            "case.department": _department(result, known.get(result.case_id)),
        }


def turns_of(run: RecordedRun) -> Iterator[TurnRow]:
    """Yield every utterance of every dialogue; with several doctors, of the first one's."""
    for result in _answered(run):
        for number, turn in enumerate(dialogue_of(run, result), start=1):
            yield {
                **_place(run, result),
                "number": number,
                "speaker": turn.speaker,
                "text": turn.text,
                "action": turn.action or None,
                "plain": turn.plain or None,
                "facts": "\n".join(turn.facts) or None,
                "pictures": "\n".join(turn.pictures) or None,
            }


def calls_of(run: RecordedRun) -> Iterator[CallRow]:
    """Yield every call of every case that has ended, without the messages, which are the bulk of it."""
    for result in run.results:
        for call in run.trace(result).calls:
            fields = call.model_dump(include=CallRow.__annotations__.keys() - {"answer"})
            answer = None if call.answer is None else _json(call.answer)
            yield cast(CallRow, {**_place(run, result), "call": call.id, **fields, "answer": answer})


def verdicts_of(run: RecordedRun) -> Iterator[VerdictRow]:
    """Yield every judgement that was given."""
    for result in run.results:
        for call in run.trace(result).calls:
            answer = call.answer
            if not isinstance(answer, dict) or not (call.stage == "evaluation" or "accepted" in answer):
                continue
            found = _ROUND.search(call.id)
            last = call.id.rpartition("/")[2]
            reason = answer.get("reason")
            yield {
                **_place(run, result),
                "call": call.id,
                "kind": "score" if call.stage == "evaluation" else "feedback",
                "stage": call.stage,
                "round": int(found[1]) if found else None,
                "judge": call.role if call.stage == "evaluation" or last.startswith("round") else last,
                "model": call.model,
                "accepted": answer.get("accepted"),
                "reason": reason if isinstance(reason, str) else None,
                "answer": _json(answer),
            }


LEVELS: Mapping[Level, Callable[[RecordedRun], Iterator[Any]]] = {
    "runs": runs_of,
    "cases": cases_of,
    "turns": turns_of,
    "calls": calls_of,
    "verdicts": verdicts_of,
}
# The columns, with types, of the levels whose columns are the same in every run.
COLUMNS: Mapping[Level, Mapping[str, Any]] = {
    "turns": TurnRow.__annotations__,
    "calls": CallRow.__annotations__,
    "verdicts": VerdictRow.__annotations__,
}


def _answered(run: RecordedRun) -> list[Result]:
    return sorted(run.each_answered(), key=lambda result: result.key)


def _place(run: RecordedRun, result: Result) -> Place:
    return {"run": run.name, "case_id": result.case_id, "epoch": result.epoch}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _department(result: Result, case: Case | None) -> str | None:
    answers = result.answers
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        return answers.reconstructed.department
    return case.key.department if case else None
