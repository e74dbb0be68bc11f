"""The doctor in the dialogue: asks the patient turn by turn, and ends the dialogue.

The role is declared once per prompt: for the history-taking of the clinical workflow, where examinations are ordered
after the dialogue; for a consultation, where they are ordered and reported in it; and for CliniChat's interview.
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
from llm.conversation import in_turns
from nodes.consultation.doctors_chart import chart_of_doctor, stage_of_doctor
from nodes.consultation.example import NO_EXAMPLE, example_for
from nodes.consultation.final_report import DoctorState, ReportView, report_by_neighbours, told_already
from nodes.context import Context
from nodes.node import node
from nodes.offline.chart_signs import named_in_findings, shown_in_findings
from nodes.offline.clinichat_physician import interview_to_the_plan
from nodes.offline.doctor_actions import kind_of
from nodes.offline.group_words import is_undetermined
from nodes.offline.interview import next_question
from nodes.offline.places import order_of
from nodes.offline.site_weights import needed_by_site
from nodes.offline.votes import EYES, MAJORITY_SHARE, Evidence, orders, weights
from nodes.offline.whole_picture import with_results_told
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Chart, Turn, said_by
from nodes.state.patient_side import last_words, turn_number
from nodes.state.stage import Options, Recalled
from nodes.workflow.stages import AUXILIARY, PHYSICAL, Stage
from prompts import load_words, mark
from retrieval import Neighbour


class DoctorTurn(Strict):
    """What the doctor says next, and whether that ends the dialogue."""

    text: str = Field(min_length=1)
    finished: bool = Field(description="True if nothing more needs to be asked; the text is then the closing word.")


class ReasonedTurn(Strict):
    """What the doctor says next after thinking about it; the thoughts come first, heard only if they are spoken."""

    reasoning: str = Field(description="Step by step: what is known so far, what it may be, what would decide it.")
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
    tells: bool = False  # whether the doctor tells the patient diagnosis, reasons and plan
    seat: int = 0  # of an intern; offline rules differ by seat
    aloud: bool = False  # whether the reasoning is spoken too
    examined: bool = False  # whether the doctor is told that all examinations have been done
    unanswered: bool = False  # whether the turn is the last one, and nobody replies to it


def interview_in_order(view: InterviewView) -> DoctorTurn:
    """Offline: ask the questions of a clinical interview, one per turn, then suggest examinations."""
    words = load_words("medchain/words", view.chart.presentation.language)["doctor"]
    if view.questions_left > 1 and (asked := next_question(view.chart)):
        return DoctorTurn(text=asked, finished=False)
    text: str = words["farewell"]
    if view.suggest_examinations:
        physical = _suggested(view, PHYSICAL, view.physical_options.names or PHYSICAL_ITEMS.names)
        auxiliary = _suggested(view, AUXILIARY, view.auxiliary_options.names or AUXILIARY_ITEMS.names)
        text += words["suggestion"].format(order_of([*physical, *auxiliary], view.chart))
    return DoctorTurn(text=text, finished=True)


def _suggested(view: InterviewView, stage: Stage, options: Sequence[str]) -> list[str]:
    """Return what similar cases had, as the doctor of the seat weighs them, or its routine if there are none.

    What the place of the complaint needs as a rule is suggested more readily.
    """
    evidence = Evidence(stage, view.chart, view.neighbours, seat=view.seat)
    shares = weights(evidence) or dict.fromkeys(evidence.eye.routine or EYES[0].routine, 1.0)
    needed = needed_by_site(stage, view.chart)
    return [
        item
        for item, share in shares.items()
        if share >= (MAJORITY_SHARE if item in needed else 0.5) and item in options
    ]


def consult_in_order(view: InterviewView) -> DoctorTurn:
    """Offline: ask the questions, order the examinations of similar cases, tell the diagnosis if required, and end.

    Without similar cases, order routine examinations and those for the site of the complaint.
    """
    language = view.chart.presentation.language
    words, wording = (load_words(f"{name}/words", language)["doctor"] for name in ("medchain", "consultation"))
    reserved = 4 if view.tells else 3  # turns: two orders, the diagnosis if it is told, and the closing
    if view.questions_left > reserved and (asked := next_question(view.chart)):
        return DoctorTurn(text=asked, finished=False)
    spoken = said_by("doctor", view.chart.dialogue)
    for stage, vocabulary, order in (
        (PHYSICAL, PHYSICAL_ITEMS, wording["physical"]),
        (AUXILIARY, AUXILIARY_ITEMS, wording["auxiliary"]),
    ):
        is_ordered = any(text.startswith(order.partition("{")[0]) for text in spoken)
        if not is_ordered and view.questions_left > 1:
            items = orders(Evidence(stage, view.chart, view.neighbours, vocabulary.names, seat=view.seat))
            return DoctorTurn(text=order.format(order_of(items, view.chart)), finished=False)
    if not view.tells:
        return DoctorTurn(text=words["farewell"], finished=True)
    if told_already(view.chart):
        return DoctorTurn(text=wording["answer"], finished=view.questions_left == 1)
    found = report_by_neighbours(ReportView(view.chart, view.neighbours, seat=view.seat))
    names = mark("listed", language).join(found.diagnosis).rstrip(".。")
    results = with_results_told(view.chart)
    is_concluded = found.diagnosis[0] in [*named_in_findings(results), *shown_in_findings(results)]
    template = wording["open" if is_undetermined(names, language) else "concluded" if is_concluded else "told"]
    return DoctorTurn(text=template.format(diagnosis=names, treatment=found.treatment), finished=False)


def interview_as_clinichat(view: InterviewView) -> DoctorTurn:
    """Offline: interview the patient, then tell the diagnosis and the tests to confirm it (CliniChat)."""
    text, finished = interview_to_the_plan(view.chart, view.neighbours, view.questions_left)
    return DoctorTurn(text=text, finished=finished)


def conversation(view: InterviewView) -> list[Message]:
    """Return the messages for a model tuned on dialogues: the complaint and all turns with results, but no chart."""
    messages = [
        Message(role=PHYSICIAN if turn.speaker == "doctor" else PATIENT, content=turn.text)
        for turn in view.chart.dialogue
    ]
    opened = bool(messages) and messages[0].role == PATIENT
    greeting = load_words("clini_eval/words", view.chart.language)["greeting"]
    complaint = "" if _opens_with_complaint(view) else view.chart.presentation.chief_complaint
    return messages if opened else [Message(role=PATIENT, content=complaint or greeting), *messages]


def _opens_with_complaint(view: InterviewView) -> bool:
    """Whether the complaint is the patient's first turn, word for word."""
    return said_by("patient", view.chart.dialogue)[:1] == [view.chart.presentation.chief_complaint]


def in_plain_words(view: InterviewView, words: str) -> DoctorTurn:
    """Read plain words as the doctor's turn; a farewell ends the dialogue, unless it is the first turn."""
    begun = any(turn.speaker == "doctor" for turn in view.chart.dialogue)
    leave = begun and kind_of(words, view.chart.language) == "conclusion"
    return DoctorTurn(text=words.strip(), finished=leave)


def heard_last(view: InterviewView) -> str:
    """Return what was said last; before the first turn, the chief complaint."""
    return view.chart.dialogue[-1].text if view.chart.dialogue else view.chart.presentation.chief_complaint


def in_chat(view: InterviewView) -> tuple[list[Message], InterviewView]:
    """Return the dialogue up to the doctor's last words as turns of a chat, and the view with what was said since.

    What was said since stands in the request, as many servers want turns to alternate, and the patient's words would
    read on into our own.
    """
    dialogue = view.chart.dialogue
    end = max((place for place, turn in enumerate(dialogue, 1) if turn.speaker == "doctor"), default=0)
    if not end:
        return [], view
    known = view.chart.presentation
    known = known.model_copy(update={"chief_complaint": ""}) if _opens_with_complaint(view) else known
    turns = in_turns(conversation(replace(view, chart=replace(view.chart, dialogue=dialogue[:end]))))
    return turns, replace(view, chart=replace(view.chart, dialogue=dialogue[end:], presentation=known))


spoken = Speech(
    conversation, in_plain_words, heard_last, apart=in_chat, said=lambda view: last_words(view.chart.dialogue)
)
doctor = Role("doctor", "history_taking", "medchain/doctor", DoctorTurn, offline=interview_in_order, speech=spoken)
consulting_doctor = Role(
    "doctor", "consultation", "consultation/doctor", DoctorTurn, offline=consult_in_order, speech=spoken
)
clinichat_doctor = Role(
    "doctor", "clinichat", "clini_eval/doctor", DoctorTurn, offline=interview_as_clinichat, speech=spoken
)


DOCTORS = {role.stage: role for role in (doctor, consulting_doctor, clinichat_doctor)}


def thinking(role: Role[DoctorTurn]) -> Role[ReasonedTurn]:
    """Return the role of a doctor who reasons first: not in plain words, and offline with an empty reasoning."""

    def offline_rule(view: InterviewView) -> ReasonedTurn:
        return ReasonedTurn(reasoning="", **role.offline(view).model_dump())

    return role.at(role.stage, ReasonedTurn, offline=offline_rule, speech=None)


@node(asks=lambda context, consultation=False: DOCTORS[stage_of_doctor(context, consultation)])
async def question(state: DoctorState, runtime: Runtime[Context], consultation: bool = False) -> dict[str, Any]:
    """Ask the doctor for the next turn; in a consultation it may order examinations.

    If the patient system has no examiner, the examinations are done after the dialogue.
    """
    context = runtime.context
    chart = chart_of_doctor(state, PHYSICAL.name, context, consultation)
    dialogue = state.get("dialogue", [])
    if not dialogue and context.greeting == "fixed":
        opening = load_words("clini_eval/words", chart.language)["opening"]
        return {"dialogue": [Turn(speaker="doctor", text=opening)], "dialogue_ended": ""}
    asked = turn_number(dialogue)
    example = NO_EXAMPLE
    if context.doctor_mode == "one_shot_cot":
        example = await asyncio.to_thread(
            example_for, context.example, chart.language, context.send_pictures, context.already_examined
        )
    view = _interview_view(state, chart, context, consultation, example.text)
    role: Role[Any] = DOCTORS[stage_of_doctor(context, consultation)]
    if context.doctor_mode != "direct":
        role = thinking(role)
    pictures = [*example.pictures, *(picture.file for picture in chart.all_pictures)]
    turn = await ask(role, view, context, language=chart.language, place=f"turn{asked + 1}", pictures=pictures)
    thoughts = turn.reasoning.strip() if context.thoughts == "spoken" and isinstance(turn, ReasonedTurn) else ""
    said = mark("space", chart.language).join(filter(None, (thoughts, turn.text)))
    ended = "concluded" if turn.finished else "turn_limit" if asked + 1 >= context.max_turns else ""
    return {"dialogue": [*dialogue, Turn(speaker="doctor", text=said)], "dialogue_ended": ended}


def _interview_view(
    state: DoctorState, chart: Chart, context: Context, consultation: bool, example: str
) -> InterviewView:
    """Return what the doctor sees before the next turn; ``example`` is the text of another patient's consultation."""
    patient, left = PATIENTS[context.patient], context.max_turns - turn_number(state.get("dialogue", []))
    suggests = context.orders == "dialogue" or consultation
    listed = suggests and context.list_examinations
    recalls = ("symptoms", "diagnosis", *(("physical_items", "auxiliary_items") if suggests else ()))
    return InterviewView(
        chart=chart,
        questions_left=left,
        suggest_examinations=suggests,
        physical_options=Options(PHYSICAL_ITEMS.names if listed else (), chart.language),
        auxiliary_options=Options(AUXILIARY_ITEMS.names if listed else (), chart.language),
        neighbours=Recalled(state.get("recalled", []), recalls, chart.language),
        mode=context.doctor_mode,
        example=example,
        tells=consultation and patient.told,
        seat=state.get("seat", 0),
        aloud=context.thoughts == "spoken",
        examined=context.already_examined,
        unanswered=left <= 1 and not patient.tracks,
    )
