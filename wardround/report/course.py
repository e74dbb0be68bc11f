"""The course of a case as people read it: what was said, and what each part decided, round by round."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN
from llm.trace import Call, Event, Trace
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result, RunAnswers

_TURN = re.compile(r"/turn(\d+)(?:/|$)")
_ROUND = re.compile(r"(visit|round|discussion)(\d+)")
_SEAT = re.compile(r"seat(\d+)")
_DIALOGUES = ("history_taking", "consultation")


@dataclass(frozen=True)
class Said:
    """One utterance."""

    speaker: str  # who
    text: str  # what was heard
    action: str = ""  # the doctor's action that the patient's side answers, if it is tracked
    facts: Sequence[str] = ()  # what of the records was released for these words
    plain: str = ""  # the words before a persona put them in its own
    pictures: Sequence[str] = ()  # the examinations whose pictures were handed over
    files: Sequence[str] = ()  # those pictures


@dataclass(frozen=True)
class Step:
    """What one role gave in a decision."""

    call: str  # its id
    who: str  # the role, and the seat of several
    accepted: bool | None  # the verdict of who judges; None of who decides
    told: Sequence[tuple[str, str]]  # what was said, by its name
    error: str  # why there is no answer


@dataclass
class Passage:
    """One part of the course, with the calls made in it."""

    stage: str  # its name
    ended: str = ""  # how it ended, if it is a decision
    rounds: int | None = None  # how many there were
    rounds_told: list[tuple[str, list[Step]]] = field(default_factory=list)  # what was said in each
    calls: list[Call] = field(default_factory=list)  # its calls

    @property
    def title(self) -> str:
        """The name for people."""
        return title_of(self.stage)

    @property
    def seconds(self) -> float:
        """Waited for answers, summed over calls."""
        return sum(call.seconds for call in self.calls)

    @property
    def objections(self) -> int:
        """How many verdicts were against a decision."""
        return sum(step.accepted is False for _, steps in self.rounds_told for step in steps)


def title_of(stage: str) -> str:
    """The name of a part of the course for people."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", re.sub(r"[._]", " ", stage))


def passages_of(result: Result, calls: Sequence[Call]) -> list[Passage]:
    """The parts of the course in the order in which they began."""
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
    """The dialogue as the graph kept it; where it kept none, what was said in history-taking."""
    if isinstance(answers, ConsultationAnswers) and answers.dialogue:
        return [
            Said(
                turn.speaker,
                turn.text,
                turn.action or "",
                turn.facts,
                turn.plain,
                [picture.item for picture in turn.pictures],
                [picture.file for picture in turn.pictures],
            )
            for turn in answers.dialogue
        ]
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        names = {PHYSICIAN: "physician", PATIENT: "patient"}
        return [Said(names.get(said.role, said.role), said.content) for said in answers.reconstructed.spoken]
    return list(_said_in_calls(trace()))


def dialogue_of(run: RecordedRun, result: Result) -> list[Said]:
    """The dialogue of a result; of several doctors' dialogues, the first one's."""
    return said_in(result.answers, lambda: run.trace(result))


def in_words(answer: Any) -> list[tuple[str, str]]:
    """An answer as names and texts; what is empty is left out."""
    return [(name.replace("_", " "), text) for name, text in _told("", answer) if text]


def _told(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _told(inner, one)
    elif isinstance(value, list):
        if any(isinstance(one, dict) for one in value):
            for number, one in enumerate(value, start=1):
                yield f"{name} {number}".strip(), "; ".join(text for _, text in in_words(one))
        else:
            yield name, "; ".join(map(str, value))
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif value is not None:
        yield name, str(value)


def _rounds(calls: Sequence[Call]) -> Iterator[tuple[str, list[Step]]]:
    title, steps = "", list[Step]()
    for call in calls:
        counted = [f"{name} {int(number) + 1}" for name, number in _ROUND.findall(call.id)]
        now = ", ".join(counted).capitalize() or title
        if now != title and steps:
            yield title, steps
            steps = []
        title = now
        steps.append(_step(call))
    if steps:
        yield title, steps


def _step(call: Call) -> Step:
    seat = _SEAT.search(call.id)
    answer = call.answer if isinstance(call.answer, dict) else {"": call.answer}
    accepted = answer.get("accepted")
    told = in_words({name: value for name, value in answer.items() if name != "accepted"})
    last = call.id.rsplit("/", 1)[-1]
    who = call.role if not seat else f"{call.role} {seat[1]}"
    if isinstance(accepted, bool) and not _ROUND.fullmatch(last) and not seat:
        who = f"{call.role}, {last.replace('_', ' ')}"
    return Step(call.id, who, accepted if isinstance(accepted, bool) else None, told, call.error or "")


def _said_in_calls(trace: Trace) -> Iterator[Said]:
    """The doctor's words of history-taking, each with what the patient's side answered in the same turn."""
    filed = {found[1]: event for event in trace.events if (found := _TURN.search(event.id))}
    texts = [call for call in trace.calls if isinstance(call.answer, dict) and isinstance(call.answer.get("text"), str)]
    spoken = [(found[1], call) for call in texts if (found := _TURN.search(call.id))]
    for place, (turn, call) in enumerate(spoken):
        if call.stage in _DIALOGUES:
            action = _filed(filed.get(turn), "action") if call.role == "doctor" else None
            yield Said(call.role, call.answer["text"], str(action or ""))
        elif place + 1 == len(spoken) or spoken[place + 1][0] != turn:  # a persona's words stand for the plain ones
            released = _filed(filed.get(turn), "released") or []
            yield Said("patient", call.answer["text"], facts=list(map(str, released)))


def _filed(event: Event | None, name: str) -> Any:
    return event.content.get(name) if event and isinstance(event.content, dict) else None
