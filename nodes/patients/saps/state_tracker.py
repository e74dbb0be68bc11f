"""The state tracker of SAPS: decides in three steps which of the ten actions the doctor takes (AIE, section 4.2.2).

Each step is a closed choice: its answer type is an enumeration, which servers with constrained decoding enforce by the
call's JSON schema.
"""

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import ExaminationRecord, PatientRecord
from cases.strict import Strict
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.vocabulary import Language, patterns
from llm import Role
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.doctor_actions import Kind, is_vague, kind_of, names_nothing
from nodes.offline.hearing import heard_tests, is_by_hand
from nodes.offline.record_answers import asks_whether_done, wants_examination
from nodes.offline.relevance import released_for
from nodes.state.chart import Turn
from nodes.state.patient_side import HeardState, turn_number
from prompts import load_words

_PATTERNS = patterns("nodes.patients", "patterns")

Action = Literal[
    "Initialization",
    "Effective Inquiry",
    "Ineffective Inquiry",
    "Ambiguous Inquiry",
    "Effective Advice",
    "Ineffective Advice",
    "Ambiguous Advice",
    "Demand",
    "Other Topic",
    "Conclusion",
]

WHOLE_KINDS: dict[str, Action] = {"demand": "Demand", "other_topic": "Other Topic", "conclusion": "Conclusion"}
AMBIGUOUS: dict[str, Action] = {"inquiry": "Ambiguous Inquiry", "advice": "Ambiguous Advice"}
EFFECTIVE: dict[str, Action] = {"inquiry": "Effective Inquiry", "advice": "Effective Advice"}
INEFFECTIVE: dict[str, Action] = {"inquiry": "Ineffective Inquiry", "advice": "Ineffective Advice"}


class TrackerState(HeardState, total=False):
    """The tracker's state: the dialogue, the records, and the results of the steps."""

    patient_record: PatientRecord
    examination_record: ExaminationRecord
    kind: Kind
    action: Action


def facts_on_record(state: TrackerState) -> list[RecordSentence]:
    """Return the facts of the records that the state has; Med-PMC's patient has no examinations."""
    examinations = state.get("examination_record", ExaminationRecord())
    return record_sentences(state["patient_record"], examinations, state["presentation"].language)


class ActionKind(Strict):
    """Step 1: what kind of thing the doctor does."""

    kind: Kind


class KindInOneRoom(ActionKind):
    """Step 1: what kind of thing the doctor does."""

    kind: Literal["inquiry", "advice", "other_topic", "conclusion"]  # what is to be done on the spot is advice


class Specificity(Strict):
    """Step 2: whether a question or a piece of advice is about something in particular."""

    specificity: Literal["specific", "ambiguous"]


class Coverage(Strict):
    """Step 3: whether the record says anything about it."""

    coverage: Literal["on_record", "not_on_record"] = Field(description="A recorded denial is on record too.")


@dataclass(frozen=True)
class WordsView:
    """What step 1 sees: the doctor's words and the dialogue before them."""

    words: str
    dialogue: list[Turn]
    language: Language
    in_one_room: bool = False  # doctor and patient meet, so that examinations are done on the spot


@dataclass(frozen=True)
class KindView:
    """What step 2 sees."""

    words: str
    dialogue: list[Turn]
    kind: Kind
    language: Language


@dataclass(frozen=True)
class RecordView(KindView):
    """What step 3 sees: also the facts of the record."""

    facts: list[RecordSentence]


def kind_by_rule(view: WordsView) -> ActionKind:
    """Offline: classify the words; in one room, asking for a result is advice to have the examination.

    Otherwise a request to see something is a demand, unless the words order a test other than a physical examination.
    """
    kind = kind_of(view.words, view.language)
    if kind == "advice" and asks_whether_done(view.words):
        kind = "inquiry"
    if view.in_one_room:
        return ActionKind(kind="advice" if kind == "inquiry" and wants_examination(view.words) else kind)
    asks_to_see = kind in ("inquiry", "advice") and _PATTERNS["to_be_shown"].search(view.words) is not None
    if asks_to_see and all(is_by_hand(test) for *_, test in heard_tests(view.words)):
        kind = "demand"
    return ActionKind(kind=kind)


def specificity_by_rule(view: KindView) -> Specificity:
    """Offline: a question is ambiguous if it is open, and advice if it names no examination or treatment."""
    is_ambiguous = names_nothing if view.kind == "advice" else is_vague
    ambiguous = is_ambiguous(view.words, view.language)
    return Specificity(specificity="ambiguous" if ambiguous else "specific")


def coverage_by_rule(view: RecordView) -> Coverage:
    """Offline: on record is what the offline memory bank would release."""
    found = released_for(view.facts, view.words, view.kind, view.language)
    return Coverage(coverage="on_record" if found else "not_on_record")


kind_tracker = Role("state_tracker", "saps", "saps/tracker_kind", ActionKind, offline=kind_by_rule)
specificity_tracker = Role(
    "state_tracker", "saps", "saps/tracker_specificity", Specificity, offline=specificity_by_rule
)
coverage_tracker = Role("state_tracker", "saps", "saps/tracker_coverage", Coverage, offline=coverage_by_rule)


def _heard(state: TrackerState, context: Context) -> dict[str, Any]:
    """Return what every step sees: the doctor's words, the dialogue before them if it is shown, and the language."""
    *before, last = state["dialogue"]
    shown = before if context.tracker_context == "dialogue" else []
    return {"words": last.text, "dialogue": shown, "language": state["presentation"].language}


@node(asks=kind_tracker)
async def track_kind(state: TrackerState, runtime: Runtime[Context], demands: bool = True) -> dict[str, Any]:
    """Step 1: inquiry, advice, demand, other topic or conclusion. The doctor's first turn is the initialization.

    On an empty dialogue, add the doctor's greeting, as in the published dialogues. If doctor and patient are in one
    room (``demands`` off), what is to be done on the spot is advice, and so is a question for a result, which the
    patient does not know.
    """
    dialogue, language = state.get("dialogue", []), state["presentation"].language
    if not dialogue:
        words = load_words("saps/words", runtime.context.prompt_language(language))["greeting"]
        return {"dialogue": [Turn(speaker="doctor", text=words)], "action": "Initialization"}
    if turn_number(dialogue) == 1 and not state.get("opened"):
        return {"action": "Initialization"}
    role = kind_tracker if demands else kind_tracker.at(kind_tracker.stage, KindInOneRoom)
    view = WordsView(**_heard(state, runtime.context), in_one_room=not demands)
    answer = await ask_in_turn(role, view, state, runtime.context, "kind")
    kind: Kind = answer.kind if demands or answer.kind != "demand" else "advice"  # the rule may say demand
    whole = WHOLE_KINDS.get(kind)
    return {"kind": kind, "action": whole} if whole else {"kind": kind}


@node(asks=specificity_tracker)
async def track_specificity(state: TrackerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Step 2: specific or ambiguous."""
    kind = state["kind"]
    view = KindView(**_heard(state, runtime.context), kind=kind)
    answer = await ask_in_turn(specificity_tracker, view, state, runtime.context, "specificity")
    return {"action": AMBIGUOUS[kind]} if answer.specificity == "ambiguous" else {}


@node(asks=coverage_tracker)
async def track_coverage(state: TrackerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Step 3: effective if the record covers it, else ineffective.

    With ``extraction = "one_call"``, the memory bank decides by whether it chooses a sentence.
    """
    kind = state["kind"]
    if runtime.context.extraction == "one_call":
        return {"action": EFFECTIVE[kind]}
    view = RecordView(**_heard(state, runtime.context), kind=kind, facts=facts_on_record(state))
    answer = await ask_in_turn(coverage_tracker, view, state, runtime.context, "coverage")
    return {"action": (EFFECTIVE if answer.coverage == "on_record" else INEFFECTIVE)[kind]}
