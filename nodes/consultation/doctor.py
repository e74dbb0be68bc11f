"""The doctor in the dialogue: asks the patient one turn at a time, and ends the dialogue.

Declared once per prompt: for the history-taking of the clinical workflow, where examinations are ordered afterwards,
for a consultation, where the doctor asks for them in the dialogue and hears the results there, and for CliniChat's.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.dialogues import PATIENT, PHYSICIAN, Message
from cases.strict import Strict
from cases.vocabulary import AUXILIARY_ITEMS, PHYSICAL_ITEMS
from llm import Role, Speech, ask
from nodes.consultation.example import NO_EXAMPLE, example_for
from nodes.consultation.final_report import (
    ReportView,
    is_undetermined,
    knows_nothing,
    report_by_neighbours,
    stage_of_doctor,
    told_already,
)
from nodes.context import Context
from nodes.node import node
from nodes.offline.clinichat_physician import interview_to_the_plan
from nodes.offline.doctor_actions import kind_of
from nodes.offline.votes import orders, weights
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Chart, Findings, Turn, of_the_dialogue
from nodes.state.stage import Options, Recalled
from nodes.workflow.stages import AUXILIARY, PHYSICAL, read_chart
from prompts import load_words, mark
from retrieval import Neighbour


class DoctorState(Findings, total=False):
    """The interviewing doctor's view of the state."""

    recalled: list[Neighbour]
    seat: int


class DoctorTurn(Strict):
    """What the doctor says next, and whether that ends the dialogue."""

    text: str = Field(min_length=1)
    finished: bool = Field(description="True if nothing more needs to be asked; the text is then the closing word.")


class ReasonedTurn(Strict):
    """What the doctor says next after thinking about it; the thoughts come first, heard only if they are spoken."""

    reasoning: str = Field(description="Step by step: what is known by now, what it may be, what would tell.")
    text: str = Field(min_length=1)
    finished: bool = Field(description="True if nothing more needs to be asked; the text is then the closing word.")


@dataclass(frozen=True)
class InterviewView:
    """What the doctor in the dialogue sees."""

    chart: Chart
    questions_left: int
    suggest_examinations: bool
    physical_options: Options
    auxiliary_options: Options
    neighbours: Sequence[Neighbour]
    mode: Literal["direct", "zero_shot_cot", "one_shot_cot"]
    example: str
    tells: bool = False  # whether the patient is told diagnosis, reasons and plan in the dialogue
    seat: int = 0  # of an intern, whose offline rule differs from the others'
    aloud: bool = False  # whether thoughts are part of what is said
    examined: bool = False  # whether all examinations are said to be done already


_ROUTINE = ("General Examination", "Blood Test")  # what a doctor suggests who remembers no similar case


def interview_in_order(view: InterviewView) -> DoctorTurn:
    """Offline: the questions of a clinical interview, one a turn; then the examinations that similar cases had."""
    language = view.chart.presentation.language
    words = load_words("medchain/words", language)["doctor"]
    asked = _asked(view, words["questions"])
    if asked < len(words["questions"]) and view.questions_left > 1:
        return DoctorTurn(text=words["questions"][asked], finished=False)
    text: str = words["farewell"]
    if view.suggest_examinations:
        items = [
            item
            for stage, options in ((PHYSICAL, view.physical_options), (AUXILIARY, view.auxiliary_options))
            for item, share in (weights(stage, view.chart, view.neighbours) or dict.fromkeys(_ROUTINE, 1.0)).items()
            if share >= 0.5 and (not options or item in options.names)
        ]
        text += words["suggestion"].format(Options(items, language))
    return DoctorTurn(text=text, finished=True)


def consult_in_order(view: InterviewView) -> DoctorTurn:
    """Offline: the questions of an interview, the examinations that similar cases had, what was found, the end.

    Who remembers no similar case orders what is routine and what the place of the complaint asks for.
    """
    language = view.chart.presentation.language
    words, wording = (
        load_words("medchain/words", language)["doctor"],
        load_words("consultation/words", language)["doctor"],
    )
    asked = _asked(view, words["questions"])
    kept = 4 if view.tells else 3  # two orders, what is told, and the last word
    history = min(len(words["questions"]), asked + view.questions_left - kept)
    if asked < history:
        return DoctorTurn(text=words["questions"][asked], finished=False)
    spoken = "\n".join(turn.text for turn in view.chart.dialogue if turn.speaker == "doctor")
    for stage, vocabulary, order in (
        (PHYSICAL, PHYSICAL_ITEMS, wording["physical"]),
        (AUXILIARY, AUXILIARY_ITEMS, wording["auxiliary"]),
    ):
        items = orders(stage, view.chart, view.neighbours, vocabulary.names, view.seat)
        text = order.format(Options(items, language))
        if text not in spoken and items and view.questions_left > 1:
            return DoctorTurn(text=text, finished=False)
    if not view.tells:
        return DoctorTurn(text=words["farewell"], finished=True)
    if told_already(view.chart):
        return DoctorTurn(text=wording["answer"], finished=view.questions_left == 1)
    found = report_by_neighbours(ReportView(view.chart, view.neighbours, seat=view.seat))
    names = mark("listed", language).join(found.diagnosis).rstrip(".。")
    told = wording["open" if is_undetermined(names, language) else "told"]
    return DoctorTurn(text=told.format(diagnosis=names, treatment=found.treatment), finished=False)


def _asked(view: InterviewView, questions: Sequence[str]) -> int:
    """How many turns the doctor has had, without a greeting in its name."""
    said = [turn.text for turn in view.chart.dialogue if turn.speaker == "doctor"]
    return len(said) - bool(said and said[0] not in questions)


def interview_as_clinichat(view: InterviewView) -> DoctorTurn:
    """Offline: an interview that tells the patient the diagnosis and the tests to confirm it (CliniChat)."""
    text, finished = interview_to_the_plan(view.chart, view.neighbours, view.questions_left)
    return DoctorTurn(text=text, finished=finished)


def conversation(view: InterviewView) -> list[Message]:
    """What a model hears that was tuned on dialogues: the complaint and what was said, results included; no chart."""
    said = [
        Message(role=PHYSICIAN if turn.speaker == "doctor" else PATIENT, content=turn.text)
        for turn in view.chart.dialogue
    ]
    opened = bool(said) and said[0].role == PATIENT
    greeting = load_words("clini_eval/words", view.chart.language)["greeting"]
    complaint = "" if _is_told(view) else view.chart.presentation.chief_complaint
    return said if opened else [Message(role=PATIENT, content=complaint or greeting), *said]


def _is_told(view: InterviewView) -> bool:
    """Whether the complaint is what the patient says in the dialogue, and stands there."""
    told = (turn.text for turn in view.chart.dialogue if turn.speaker == "patient")
    return next(told, None) == view.chart.presentation.chief_complaint


def in_plain_words(view: InterviewView, words: str) -> DoctorTurn:
    """Plain words as the doctor's turn; they end a dialogue that has begun if they take leave."""
    begun = any(turn.speaker == "doctor" for turn in view.chart.dialogue)
    leave = begun and kind_of(words, view.chart.language) == "conclusion"
    return DoctorTurn(text=words.strip(), finished=leave)


def last_words(view: InterviewView) -> str:
    """What was said to the doctor last; before the first word what the patient comes with."""
    return view.chart.dialogue[-1].text if view.chart.dialogue else view.chart.presentation.chief_complaint


def without_dialogue(view: InterviewView) -> InterviewView:
    """What the prompt tells beside the turns of a chat."""
    door = view.chart.presentation
    door = door.model_copy(update={"chief_complaint": ""}) if _is_told(view) else door
    return replace(view, chart=replace(view.chart, dialogue=[], presentation=door))


def own_words(view: InterviewView) -> str:
    """What the doctor said last; nothing before the first word."""
    return next((turn.text for turn in reversed(view.chart.dialogue) if turn.speaker == "doctor"), "")


spoken = Speech(conversation, in_plain_words, last_words, apart=without_dialogue, said=own_words)
doctor = Role("doctor", "history_taking", "medchain/doctor", DoctorTurn, offline=interview_in_order, speech=spoken)
consulting_doctor = Role(
    "doctor", "consultation", "consultation/doctor", DoctorTurn, offline=consult_in_order, speech=spoken
)
clinichat_doctor = Role(
    "doctor", "clinichat", "clini_eval/doctor", DoctorTurn, offline=interview_as_clinichat, speech=spoken
)


DOCTORS = {role.stage: role for role in (doctor, consulting_doctor, clinichat_doctor)}


def thinking(role: Role[DoctorTurn]) -> Role[ReasonedTurn]:
    """The doctor who thinks first, which plain words have no room for; a rule has no thoughts to show."""

    def aside(view: InterviewView) -> ReasonedTurn:
        return ReasonedTurn(reasoning="", **role.offline(view).model_dump())

    return role.at(role.stage, ReasonedTurn, offline=aside, speech=None)


@node
async def question(state: DoctorState, runtime: Runtime[Context], consultation: bool = False) -> dict[str, Any]:
    """The doctor's next turn; in a consultation examinations may be asked for.

    With a patient who has no examiner at hand, what the doctor suggests is done after the dialogue.
    """
    context = runtime.context
    chart = read_chart(state, PHYSICAL.name, context.language)
    dialogue = state.get("dialogue", [])
    asked = sum(turn.speaker == "doctor" for turn in dialogue)
    suggests = context.orders == "dialogue" or consultation
    listed = suggests and context.list_examinations
    stage = stage_of_doctor(context, consultation)
    example = NO_EXAMPLE
    if context.doctor_mode == "one_shot_cot":
        example = await asyncio.to_thread(example_for, context.example, chart.language, context.send_pictures)
    if knows_nothing(context, stage):
        chart = of_the_dialogue(chart)
    view = InterviewView(
        chart=chart,
        questions_left=context.max_turns - asked,
        suggest_examinations=suggests,
        physical_options=Options(PHYSICAL_ITEMS.names if listed else (), chart.language),
        auxiliary_options=Options(AUXILIARY_ITEMS.names if listed else (), chart.language),
        neighbours=Recalled(
            state.get("recalled", []),
            ("symptoms", "diagnosis", *(("physical_items", "auxiliary_items") if suggests else ())),
            chart.language,
        ),
        mode=context.doctor_mode,
        example=example.text,
        tells=consultation and PATIENTS[context.patient].told,
        seat=state.get("seat", 0),
        aloud=context.thoughts == "spoken",
        examined=context.already_examined,
    )
    role: Role[Any] = DOCTORS[stage]
    if context.doctor_mode != "direct":
        role = thinking(role)
    turn = await ask(
        role,
        view,
        context,
        language=chart.language,
        place=f"turn{asked + 1}",
        pictures=[*example.pictures, *(picture.file for picture in chart.all_pictures)],
    )
    thoughts = turn.reasoning.strip() if context.thoughts == "spoken" and isinstance(turn, ReasonedTurn) else ""
    said = mark("space", chart.language).join(filter(None, (thoughts, turn.text)))
    ended = "concluded" if turn.finished else "turn_limit" if asked + 1 >= context.max_turns else ""
    return {"dialogue": [*dialogue, Turn(speaker="doctor", text=said)], "dialogue_ended": ended}
