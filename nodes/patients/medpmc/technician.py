"""Med-PMC's technician: examines what the doctor orders, in three steps (Med-PMC, section 3.2.2).

First, which examinations are asked for, if any; then, which of them are on record, which no model decides; then the
results of these, and of nothing else, are told to the doctor, with the pictures themselves.
"""

from typing import Any

from langgraph.runtime import Runtime

from cases.case import ExaminationRecord
from cases.vocabulary import Language
from llm import Event, Role, Speech
from llm.trace import entry_id, file_event
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.patients.ai_hospital.examiner import (
    Outcomes,
    OutcomesView,
    ParsedRequest,
    RequestView,
    items_by_name,
    read_out,
)
from nodes.patients.filed_results import Filed, as_spoken, asked_for, is_asked_for, look_up, told_once
from nodes.patients.saps.state_tracker import AMBIGUOUS, EFFECTIVE, INEFFECTIVE
from nodes.state.chart import Picture, Turn
from nodes.state.patient_side import HeardState, last_words, turn_number
from prompts import load_words


class FilesState(HeardState, total=False):
    """What the second step sees: the files, and what was ordered; reports only where the run hands them over."""

    examination_record: ExaminationRecord
    picture_folder: str
    reference_reports: dict[str, str]
    ordered: list[str]
    unnamed: list[str]


class ResultsState(HeardState, total=False):
    """What the third step sees: what was found of the order, and no more of the files."""

    findings: dict[str, str]
    found_pictures: list[Picture]
    released: list[str]


order_desk = Role("technician", "medpmc.order", "medpmc/order", ParsedRequest, offline=items_by_name)
technician = Role(
    "technician", "medpmc.results", "medpmc/results", Outcomes, offline=read_out, speech=Speech.of_text(Outcomes)
)


@node
async def ask_back(state: HeardState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Where the doctor advises some examination or other: which one, in the technician's fixed words."""
    dialogue, language = state["dialogue"], state["presentation"].language
    words = load_words("medpmc/words", runtime.context.language or language)["technician"]["vague"]
    advised = dialogue[-1].model_copy(update={"action": AMBIGUOUS["advice"]})
    return {"dialogue": [*dialogue[:-1], advised, Turn(speaker="examiner", addressee="doctor", text=words)]}


@node
async def take_order(state: HeardState, runtime: Runtime[Context]) -> dict[str, Any]:
    """First step: the examinations that the doctor's words name; none if they ask for none.

    What no rule finds named is examined if the model read it there, and filed as such; with ``result_gate = "strict"``
    it is not.
    """
    dialogue, language = state["dialogue"], state["presentation"].language
    words = dialogue[-1].text
    view = RequestView(request=words, language=runtime.context.language or language)
    parsed = await ask_in_turn(order_desk, view, state, runtime.context)
    unnamed = [item for item in parsed.items if not is_asked_for(item, words)]
    told = unnamed if runtime.context.result_gate == "audit" else []
    ordered = [name for item in parsed.items for name in ([item] if item in told else asked_for(item, words))]
    return {"ordered": list(dict.fromkeys(ordered)), "unnamed": [item for item in told if item in ordered]}


@node
async def search_files(state: FilesState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Second step: what is on record of the ordered examinations, filed with the doctor's action in the trace."""
    context, dialogue = runtime.context, state["dialogue"]
    shown = context.language or state["presentation"].language
    found = {item: _search(item, state, context, shown) for item in state["ordered"]}
    filed = {item: each for item, (_, each) in found.items()}
    pictures = list({picture.file: picture for each in filed.values() for picture in each.pictures}.values())
    released = list(dict.fromkeys(text for each in filed.values() for text in each.texts))
    on_record = bool(released or pictures)
    action = (EFFECTIVE if on_record else INEFFECTIVE)["advice"]
    findings = {as_spoken(item, dialogue[-1].text): found[item][0] for item in told_once(filed)}
    event = Event(
        id=entry_id(context.scope, "medpmc", "released_results", f"turn{turn_number(dialogue)}"),
        event="released_results",
        stage="medpmc",
        content={
            "action": action,
            "released": released,
            "unnamed": state["unnamed"],
            "pictures": [picture.item for picture in pictures],
        },
    )
    return {
        "dialogue": [*dialogue[:-1], dialogue[-1].model_copy(update={"action": action})],
        "findings": findings,
        "found_pictures": pictures,
        "released": released,
        "trace": file_event(event, context.trace_file),
    }


@node
async def report_results(state: ResultsState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Third step: the results in words, to the doctor; no persona colours them."""
    dialogue, language = state["dialogue"], state["presentation"].language
    view = OutcomesView(findings=state["findings"], language=runtime.context.language or language)
    outcomes = await ask_in_turn(technician, view, state, runtime.context)
    said = Turn(
        speaker="examiner",
        addressee="doctor",
        text=outcomes.text,
        pictures=state["found_pictures"],
        facts=state["released"],
    )
    return {"dialogue": [*dialogue, said]}


def _search(item: str, state: FilesState, context: Context, language: Language) -> tuple[str, Filed]:
    """What is told of one examination, and what is on file: pictures as the run wants them (`pictures_in_dialogue`).

    What a picture would show is never called normal or unknown: without pictures, it is said not to be available.
    """
    way = context.pictures_in_dialogue
    send = context.send_pictures or way != "consultation"
    record, folder = state["examination_record"], state.get("picture_folder", "")
    filed = look_up(record, item, folder, send, last_words(state["dialogue"], "doctor"))
    texts, words, pictures = filed.texts, [*filed.texts], filed.pictures
    says = load_words("medpmc/words", language)["technician"]
    if pictures and way == "consultation":
        words.append(says["picture"])
    elif pictures:
        known = {**record.results, **state.get("reference_reports", {})} if way == "report" else {}
        reports = tuple(dict.fromkeys(known[picture.item] for picture in pictures if picture.item in known))
        texts, pictures = (*texts, *reports), ()
        words += reports or (says["withheld"],)
    return " ".join(words) or says[context.absent_examinations], Filed(tuple(texts), pictures)
