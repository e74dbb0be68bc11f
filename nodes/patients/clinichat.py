"""CliniChat's patient: knows the clinical note, answers what is asked, and reacts to each step of the diagnosis (F).

General rules: only what the note says, only what is asked, in everyday words, without diagnosing. Specific rules:
results are told when asked for. A suspected disease, its explanation, the differentials and the confirmatory tests each
prompt the patient's next question, and the dialogue ends once these tests are named (appendix F, figure 13).
"""

from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from cases.case import ExaminationRecord, PatientRecord
from cases.strict import Strict
from cases.text.named_tests import named_tests
from cases.text.record_sentences import record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, label, patterns
from llm import Role, Speech
from nodes.asking import ask_in_turn
from nodes.context import Context
from nodes.node import node
from nodes.offline.own_words import said_of
from nodes.offline.places import called_by_doctors
from nodes.offline.record_answers import answer_from_record, wants_examination
from nodes.patients.filed_results import look_up
from nodes.state.chart import EarlierTurns, Turn
from nodes.state.patient_side import HeardState
from nodes.workflow.examiner import release
from prompts import load_words, mark

Occasion = Literal[
    "opening", "results", "suspected_disease", "disease_explained", "differential", "confirmatory_tests", "other"
]
DIAGNOSING: tuple[Occasion, ...] = ("suspected_disease", "disease_explained", "differential", "confirmatory_tests")


class ClinichatPatientState(HeardState, total=False):
    """The patient's view of the state: the whole clinical note, both records, and what has been said."""

    patient_record: PatientRecord
    examination_record: ExaminationRecord
    picture_folder: str


class ClinichatReply(Strict):
    """What the patient says, and to what."""

    occasion: Occasion = Field(
        default="other", description="The rule for specific occasions that applies; the closest one."
    )
    suspected_disease: str = Field(
        default="", description="The disease that the physician has named as suspected so far; empty if none yet."
    )
    text: str = Field(min_length=1)


@dataclass(frozen=True)
class ClinichatPatientView:
    """What the patient knows when spoken to: the whole note, results included."""

    record: PatientRecord
    results: dict[str, str]
    filed: list[str]  # the results that the physician's words name
    dialogue: list[Turn]
    question: str
    language: Language
    words_alone: bool = False  # whether a model sees the doctor's last words alone


_PATTERNS = patterns("nodes.patients", "patterns")


def suspicion_in(words: str) -> str:
    """Return the sentence in which a physician names a suspected disease; empty if none does, or something is asked."""
    is_question = "?" in words or "？" in words
    return "" if is_question else next(filter(_PATTERNS["suspects"].search, sentences(words)), "")


def reply_by_rule(view: ClinichatPatientView) -> ClinichatReply:
    """Offline: give results if asked for them, ask the next question on the diagnosis, else quote the record."""
    words = load_words("clini_eval/words", view.language)["patient"]
    occasions = [turn.action for turn in view.dialogue if turn.action]
    asks = "?" in view.question or "？" in view.question
    if not view.dialogue and not wants_examination(view.question):
        told = said_of(record_sentences(view.record, ExaminationRecord(), view.language), view.record, view.language)
        complaint = [words for section, words in told if section == "chief_complaint"]
        return ClinichatReply(occasion="opening", text=mark("space", view.language).join(complaint))
    last = next((occasion for occasion in reversed(occasions) if occasion in DIAGNOSING), None)
    if last in DIAGNOSING and not asks:
        occasion = DIAGNOSING[min(DIAGNOSING.index(last) + 1, len(DIAGNOSING) - 1)]
        return ClinichatReply(occasion=occasion, suspected_disease="named before", text=words[occasion])
    if suspicion := suspicion_in(view.question):
        return ClinichatReply(
            occasion="suspected_disease", suspected_disease=suspicion, text=words["suspected_disease"]
        )
    named = named_tests(view.question)
    asks_for_all = asks and not named and _PATTERNS["asks_for_results"].search(view.question)
    if asks_for_all or wants_examination(view.question):
        colon = mark("label", view.language)
        lines = (
            view.filed
            if named
            else [f"{called_by_doctors(item, view.language)}{colon}{text}" for item, text in view.results.items()]
        )
        if lines or not asks:
            unknown = load_words("consultation/words", view.language)["patient"]["untold"]
            return ClinichatReply(occasion="results", text="\n".join([*lines, words["results"]]) if lines else unknown)
    return ClinichatReply(
        occasion="other", text=answer_from_record(view.question, view.record, view.dialogue, view.language)
    )


def in_plain_words(view: ClinichatPatientView, words: str) -> ClinichatReply:
    """Read plain words as the patient's reply; the offline rule decides which occasion they react to."""
    return reply_by_rule(view).model_copy(update={"text": words})


spoken = Speech(None, in_plain_words, lambda view: view.question)
patient = Role("patient", "clinichat", "clini_eval/patient", ClinichatReply, offline=reply_by_rule, speech=spoken)


@node(asks=patient)
async def converse(state: ClinichatPatientState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Ask for the patient's reply; it is the last once the tests to confirm a suspected disease are named.

    If the reply tells results, pictures on file are handed over: those of the examinations that the physician named, or
    else those of which the reply tells, or all if the physician asked for results without naming any.
    """
    dialogue, context = state["dialogue"], runtime.context
    question, shown = dialogue[-1].text, context.prompt_language(state["presentation"].language)
    examinations, folder = state["examination_record"], state.get("picture_folder", "")
    tests = named_tests(question)
    filed = [text for test in tests for text in look_up(examinations, test.spelling, folder, False, question).texts]
    view = ClinichatPatientView(
        record=state["patient_record"],
        results={label(item, shown): text for item, text in examinations.results.items()},
        filed=list(dict.fromkeys(filed)),
        dialogue=EarlierTurns(dialogue[:-1]),
        question=question,
        language=shown,
        words_alone=context.patient_context == "words",
    )
    reply = await ask_in_turn(patient, view, state, context)
    items = [test.item for test in tests] or _told_of(reply.text, examinations)
    if not items and (_PATTERNS["asks_for_results"].search(question) or wants_examination(question)):
        items = [image.item for image in examinations.images]
    _, pictures = release(examinations, items, folder, context.send_pictures)
    said = Turn(speaker="patient", text=reply.text, pictures=pictures if reply.occasion == "results" else [])
    # Who hears the last words alone cannot know what was named before.
    told = view.words_alone and any(turn.action == "suspected_disease" for turn in dialogue)
    named = told or reply.suspected_disease.strip()
    ended = "patient_ended" if reply.occasion == "confirmatory_tests" and named else ""
    answered = dialogue[-1].model_copy(update={"action": reply.occasion})
    return {"dialogue": [*dialogue[:-1], answered, said], "dialogue_ended": ended}


def _told_of(words: str, examinations: ExaminationRecord) -> list[str]:
    """Return the examinations that the words name, or of whose results they quote a sentence."""
    quoted = [item for item, text in examinations.results.items() if any(line in words for line in sentences(text))]
    return [*(test.item for test in named_tests(words)), *quoted]
