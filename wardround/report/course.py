"""The course of a case for readers: what was said, and what each part decided, round by round."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN
from llm.trace import Call, Event, Trace
from nodes.state.chart import Picture
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result, RunAnswers
from wardround.tables.ends import title_of

_TURN = re.compile(r"/turn(\d+)(?:/|$)")
_ROUND = re.compile(r"(visit|round|discussion)(\d+)")
_SEAT = re.compile(r"seat(\d+)")
_DIALOGUES = ("history_taking", "consultation")


@dataclass(frozen=True)
class Said:
    """One utterance."""

    speaker: str  # who spoke
    text: str  # what was heard
    action: str = ""  # the tracked action of the doctor's turn, if any
    facts: Sequence[str] = ()  # the record facts released for these words
    plain: str = ""  # the words before the persona rephrased them
    pictures: Sequence[Picture] = ()  # those that were handed over


@dataclass(frozen=True)
class Step:
    """What one role contributed to a decision."""

    call: str  # its id
    who: str  # the role, with the seat if there are several
    accepted: bool | None  # a judge's verdict; None for other roles
    told: Sequence[tuple[str, str]]  # the fields of the answer as text, by name
    error: str  # why there is no answer


@dataclass
class Passage:
    """One part of the workflow, with its calls."""

    stage: str  # its name
    ended: str = ""  # how it ended, if it is a decision
    rounds: int | None = None  # the number of rounds
    rounds_told: list[tuple[str, list[Step]]] = field(default_factory=list)  # the steps of each round
    calls: list[Call] = field(default_factory=list)  # its calls

    @property
    def title(self) -> str:
        """The name for readers."""
        return title_of(self.stage)

    @property
    def seconds(self) -> float:
        """Seconds waited for answers, summed over calls."""
        return sum(call.seconds for call in self.calls)

    @property
    def objections(self) -> int:
        """Number of verdicts against a decision."""
        return sum(step.accepted is False for _, steps in self.rounds_told for step in steps)


def passages_of(result: Result, calls: Sequence[Call]) -> list[Passage]:
    """Return the parts of the workflow in the order in which they began."""
    found: dict[str, Passage] = {}
    for call in calls:
        passage = found.setdefault(call.stage, Passage(call.stage, result.stages.get(call.stage, "")))
        passage.rounds = result.rounds.get(call.stage)
        passage.calls.append(call)
    for passage in found.values():
        if passage.ended or any(_ROUND.search(call.id) for call in passage.calls):
            passage.rounds_told = list(_rounds(passage.calls))
    return list(found.values())


def said_in(answers: RunAnswers | None, trace: Callable[[], Trace]) -> list[Said]:
    """Return the dialogue that the graph recorded, or else what was said in history-taking."""
    if isinstance(answers, ConsultationAnswers) and answers.dialogue:
        return [
            Said(turn.speaker, turn.text, turn.action or "", turn.facts, turn.plain, turn.pictures)
            for turn in answers.dialogue
        ]
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        names = {PHYSICIAN: "physician", PATIENT: "patient"}
        return [Said(names[turn.role], turn.content) for turn in answers.reconstructed.spoken]
    return list(_said_in_calls(trace()))


def dialogue_of(run: RecordedRun, result: Result) -> list[Said]:
    """Return the dialogue of a result; with several doctors, the first one's."""
    return said_in(result.answers, lambda: run.trace(result))


def in_words(answer: Any) -> list[tuple[str, str]]:
    """Return an answer as names and texts, without empty fields."""
    return [(name.replace("_", " "), text) for name, text in _flatten("", answer) if text]


def _flatten(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from _flatten(inner, item)
    elif isinstance(value, list):
        if any(isinstance(item, dict) for item in value):
            for number, item in enumerate(value, start=1):
                yield f"{name} {number}".strip(), "; ".join(text for _, text in in_words(item))
        else:
            yield name, "; ".join(map(str, value))
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif value is not None:
        yield name, str(value)


def _rounds(calls: Sequence[Call]) -> Iterator[tuple[str, list[Step]]]:
    """Yield the steps of each round under its title; a call that names no round is of the one before."""
    rounds = ([f"{name} {int(number) + 1}" for name, number in _ROUND.findall(call.id)] for call in calls)
    named = (", ".join(labels).capitalize() for labels in rounds)
    titles: Iterator[str] = accumulate(named, lambda last, title: title or last)
    for title, same in groupby(zip(titles, calls, strict=True), key=itemgetter(0)):
        yield title, [_step(call) for _, call in same]


def _step(call: Call) -> Step:
    seat = _SEAT.search(call.id)
    answer = call.answer if isinstance(call.answer, dict) else {"": call.answer}
    accepted = answer.get("accepted")
    named_texts = in_words({name: value for name, value in answer.items() if name != "accepted"})
    last = call.id.rsplit("/", 1)[-1]
    who = call.role if not seat else f"{call.role} {seat[1]}"
    if isinstance(accepted, bool) and not _ROUND.fullmatch(last) and not seat:
        who = f"{call.role}, {last.replace('_', ' ')}"
    return Step(call.id, who, accepted if isinstance(accepted, bool) else None, named_texts, call.error or "")


def _said_in_calls(trace: Trace) -> Iterator[Said]:
    """Yield the doctor's turns in history-taking, each with the answer of the patient's side."""
    event_of_turn = {found[1]: event for event in trace.events if (found := _TURN.search(event.id))}
    texts = [call for call in trace.calls if isinstance(call.answer, dict) and isinstance(call.answer.get("text"), str)]
    calls_by_turn = [(found[1], call) for call in texts if (found := _TURN.search(call.id))]
    for index, (turn, call) in enumerate(calls_by_turn):
        if call.stage in _DIALOGUES:
            action = _event_value(event_of_turn.get(turn), "action") if call.role == "doctor" else None
            yield Said(call.role, call.answer["text"], str(action or ""))
        elif index + 1 == len(calls_by_turn) or calls_by_turn[index + 1][0] != turn:  # a persona's words come last
            released = _event_value(event_of_turn.get(turn), "released") or []
            yield Said("patient", call.answer["text"], facts=list(map(str, released)))


def _event_value(event: Event | None, name: str) -> Any:
    return event.content.get(name) if event and isinstance(event.content, dict) else None
