"""Med-PMC's technician: does the examinations that the doctor orders, in three steps (Med-PMC, section 3.2.2).

The first step finds which examinations are ordered, if any. The second looks them up on record, without a model. The
third tells the doctor their results, and no others, with the pictures.
"""

from typing import Any

from langgraph.runtime import Runtime

from cases.case import ExaminationRecord
from cases.vocabulary import Language
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import file_found, node
from nodes.patients.ai_hospital.examiner import (
    Outcomes,
    OutcomesView,
    ParsedRequest,
    RequestView,
    items_by_name,
    read_out,
)
from nodes.patients.filed_results import Filed, as_spoken, is_asked_for, look_up, ordered_as, part_of, told_once
from nodes.patients.saps.state_tracker import AMBIGUOUS, EFFECTIVE, INEFFECTIVE
from nodes.state.chart import Picture, Turn, each_file_once
from nodes.state.patient_side import HeardState, last_words, turn_number
from prompts import load_words, mark


class FilesState(HeardState, total=False):
    """What the second step sees: the files and the order; reference reports only if they replace pictures."""

    examination_record: ExaminationRecord
    picture_folder: str
    reference_reports: dict[str, str]
    ordered: list[str]
    unnamed: list[str]


class ResultsState(HeardState, total=False):
    """What the third step sees: what was found for the order, and no other files."""

    findings: dict[str, str]
    found_pictures: list[Picture]
    released: list[str]


order_desk = Role("technician", "medpmc.order", "medpmc/order", ParsedRequest, offline=items_by_name)
technician = Role(
    "technician", "medpmc.results", "medpmc/results", Outcomes, offline=read_out, speech=Speech.of_text(Outcomes)
)


@node
async def ask_back(state: HeardState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask which examination is meant if the doctor's advice is vague, in fixed words."""
    dialogue, language = state["dialogue"], state["presentation"].language
    words = load_words("medpmc/words", runtime.context.prompt_language(language))["technician"]["vague"]
    advised = dialogue[-1].model_copy(update={"action": AMBIGUOUS["advice"]})
    return {"dialogue": [*dialogue[:-1], advised, Turn(speaker="examiner", addressee="doctor", text=words)]}


@node(asks=order_desk)
async def take_order(state: HeardState, runtime: Runtime[Context]) -> dict[str, Any]:
    """First step: find the examinations that the doctor's words name, if any.

    An examination that the model reads in the words and no rule finds named there is done and recorded as such; with
    ``result_gate = "strict"`` it is not done.
    """
    dialogue, language = state["dialogue"], state["presentation"].language
    words = dialogue[-1].text
    view = RequestView(request=words, language=runtime.context.prompt_language(language))
    parsed = await ask_in_turn(order_desk, view, state, runtime.context)
    unnamed = [item for item in parsed.items if not is_asked_for(item, words)]
    audited = unnamed if runtime.context.result_gate == "audit" else []
    ordered = [name for item in parsed.items for name in ([item] if item in audited else ordered_as(item, words))]
    return {"ordered": list(dict.fromkeys(ordered)), "unnamed": [item for item in audited if item in ordered]}


@node
async def search_files(state: FilesState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Second step: look up the ordered examinations; the trace records what was found, and the doctor's action."""
    context, dialogue = runtime.context, state["dialogue"]
    shown = context.prompt_language(state["presentation"].language)
    found = {item: _findings_of(item, state, context, shown) for item in state["ordered"]}
    filed = {item: entry for item, (_, entry) in found.items()}
    pictures = each_file_once(picture for entry in filed.values() for picture in entry.pictures)
    released = list(dict.fromkeys(text for entry in filed.values() for text in entry.texts))
    on_record = bool(released or pictures)
    action = (EFFECTIVE if on_record else INEFFECTIVE)["advice"]
    findings = {as_spoken(item, dialogue[-1].text, shown): found[item][0] for item in told_once(filed)}
    content = {
        "action": action,
        "released": released,
        "unnamed": state["unnamed"],
        "pictures": [picture.item for picture in pictures],
    }
    place = ("released_results", f"turn{turn_number(dialogue)}")
    return {
        "dialogue": [*dialogue[:-1], dialogue[-1].model_copy(update={"action": action})],
        "findings": findings,
        "found_pictures": pictures,
        "released": released,
        "trace": file_found(context, "released_results", "medpmc", place, content),
    }


@node(asks=technician)
async def report_results(state: ResultsState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Third step: tell the doctor the results in words, without a persona's manner."""
    dialogue, language = state["dialogue"], state["presentation"].language
    view = OutcomesView(findings=state["findings"], language=runtime.context.prompt_language(language))
    outcomes = await ask_in_turn(technician, view, state, runtime.context)
    turn = Turn(
        speaker="examiner",
        addressee="doctor",
        text=outcomes.text,
        pictures=state["found_pictures"],
        facts=state["released"],
    )
    return {"dialogue": [*dialogue, turn]}


def _findings_of(item: str, state: FilesState, context: Context, language: Language) -> tuple[str, Filed]:
    """Return the text to tell for one examination, and what is on file, with pictures as `pictures_in_dialogue` says.

    Findings of a picture that is withheld are called unavailable, never normal or unknown.
    """
    mode = context.pictures_in_dialogue
    send = context.send_pictures or mode != "consultation"
    record, folder = state["examination_record"], state.get("picture_folder", "")
    filed = look_up(record, item, folder, send, part_of(item, last_words(state["dialogue"])))
    texts, words, pictures = filed.texts, [*filed.texts], filed.pictures
    wordings = load_words("medpmc/words", language)["technician"]
    if pictures and mode == "consultation":
        words.append(wordings["picture"])
    elif pictures:
        known = {**record.results, **state.get("reference_reports", {})} if mode == "report" else {}
        reports = tuple(dict.fromkeys(known[picture.item] for picture in pictures if picture.item in known))
        texts, pictures = (*texts, *reports), ()
        words += reports or (wordings["withheld"],)
    return mark("space", language).join(words) or wordings[context.absent_examinations], Filed(tuple(texts), pictures)
