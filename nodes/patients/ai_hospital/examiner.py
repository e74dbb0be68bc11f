"""AI Hospital's examiner, in two steps (AI Hospital, section 2.3).

The first step parses the request into the examinations that it names; a request that names none is dismissed. The
second step puts their results into words. It is given only these texts, so that it cannot release others.
"""

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import ExaminationRecord
from cases.strict import NonEmpty, Strict
from cases.vocabulary import EXAMINATION_ITEMS, Language, label
from llm import Role
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.hearing import heard_tests
from nodes.patients.filed_results import as_spoken, look_up, ordered_as, part_of, told_once
from nodes.state.chart import Turn, each_file_once
from nodes.state.patient_side import HeardState, last_words
from prompts import load_words, mark


class DeskState(HeardState, total=False):
    """What the second step sees of the state: the record, and the examinations that the first step found."""

    examination_record: ExaminationRecord
    picture_folder: str
    requested_items: list[str]


class ParsedRequest(Strict):
    """The examinations that a request names."""

    items: list[NonEmpty] = Field(description="The examinations that are named, one per entry; empty if none is.")


@dataclass(frozen=True)
class RequestView:
    """What the first step sees: the request."""

    request: str
    language: Language


class Outcomes(Strict):
    """The results in words."""

    text: str = Field(min_length=1, description="Each examination with its result.")


@dataclass(frozen=True)
class OutcomesView:
    """What the second step sees: the text of the result of each requested examination."""

    findings: dict[str, str]
    language: Language


def items_by_name(view: RequestView) -> ParsedRequest:
    """Offline: the examinations that the request orders, by name, description or meaning."""
    named = (test.spelling for *_, test in heard_tests(view.request))
    items = [label(EXAMINATION_ITEMS.canonical(name) or name, view.language) for name in named]
    return ParsedRequest(items=list(dict.fromkeys(items)))


def read_out(view: OutcomesView) -> Outcomes:
    """Offline: list each examination with its text, word for word."""
    colon = mark("label", view.language)
    return Outcomes(text="\n".join(f"{item}{colon}{text}" for item, text in view.findings.items()))


reception = Role("examiner", "ai_hospital.request", "ai_hospital/request", ParsedRequest, offline=items_by_name)
examiner = Role("examiner", "ai_hospital.outcomes", "ai_hospital/outcomes", Outcomes, offline=read_out)


@node(asks=reception)
async def parse_request(state: HeardState, runtime: Runtime[Context]) -> dict[str, Any]:
    """First step: find the examinations that the patient's request names, if the doctor named them too."""
    language = state["presentation"].language
    dialogue = state["dialogue"]
    view = RequestView(request=dialogue[-1].text, language=runtime.context.prompt_language(language))
    parsed = await ask_in_turn(reception, view, state, runtime.context)
    words = last_words(dialogue)
    items = [item for parsed_item in parsed.items for item in ordered_as(parsed_item, words)]
    return {"requested_items": list(dict.fromkeys(items))}


@node(asks=examiner)
async def report_outcomes(state: DeskState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Second step: report the results of the named examinations; without any, dismiss the request without a call.

    The examiner speaks to the patient, who tells the doctor, or to both (``results_told_by``).
    """
    context, dialogue = runtime.context, state["dialogue"]
    language = state["presentation"].language
    shown = context.prompt_language(language)
    wordings = load_words("ai_hospital/words", shown)["examiner"]
    addressee: Literal["patient"] | None = "patient" if context.results_told_by == "patient" else None
    if not state["requested_items"]:
        turn = Turn(speaker="examiner", addressee=addressee, text=wordings["dismissed"])
        return {"dialogue": [*dialogue, turn]}
    ordered, folder = last_words(dialogue), state.get("picture_folder", "")
    found = {
        item: look_up(state["examination_record"], item, folder, context.send_pictures, part_of(item, ordered))
        for item in state["requested_items"]
    }
    told = {item: found[item] for item in told_once(found)}
    findings: dict[str, str] = {}
    for item, filed in told.items():
        words = [*filed.texts, *([wordings["picture"]] if filed.pictures else [])]
        text = mark("space", shown).join(words) or wordings[context.absent_examinations]
        findings[as_spoken(item, ordered, shown)] = text
    outcomes = await ask_in_turn(examiner, OutcomesView(findings=findings, language=shown), state, context)
    turn = Turn(
        speaker="examiner",
        addressee=addressee,
        text=outcomes.text,
        pictures=each_file_once(picture for filed in told.values() for picture in filed.pictures),
        facts=list(dict.fromkeys(text for filed in told.values() for text in filed.texts)),
    )
    return {"dialogue": [*dialogue, turn]}
