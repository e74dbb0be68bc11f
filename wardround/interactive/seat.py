"""What a person in a seat is shown and gives, whether at a terminal or in a browser; all in the case's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from cases import Case
from cases.case import ExaminationRecord, PatientRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language, label
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Turn
from prompts import load_words, mark
from scoring.consultation import reference_parts
from scoring.mvme.transcripts import PARTS
from wardround.interactive.consultation_session import Session
from wardround.interactive.feedback import Feedback

_SECTIONS = ("chief_complaint", "present_illness", "past_history", "personal_history", "family_history")


def words_of(session: Session) -> Mapping[str, Any]:
    """The words of the seats, in the language of the consultation."""
    return load_words("consultation/seat", session.language)


def opening(session: Session) -> list[tuple[str, list[tuple[str, str]]]]:
    """What the person knows from the start, under headings: the patient at the door, or the record and the manner."""
    words, state = words_of(session), session.state
    if session.seat == "doctor":
        door: Presentation = state["presentation"]
        record = PatientRecord.model_validate(door.model_dump(include={*PatientRecord.model_fields} - {*_SECTIONS[1:]}))
        return [(words["page"]["door"], _lines(record, session))]
    known = [(words["page"]["record"], _lines(state["patient_record"], session))]
    if profile := state.get("profile"):
        known.append((words["page"]["manner"], [("", profile.personality)]))
    return known


def help_for(session: Session) -> str:
    """What the person is to do."""
    page, context = words_of(session)["page"], session.context
    if session.seat == "patient":
        return str(page["patient_help"])
    told = page["doctor_help" if PATIENTS[context.patient].examines else "doctor_help_after"]
    spoken = sum(turn.speaker == "doctor" for turn in session.heard())
    return mark("space", session.language).join(
        [told, page["turns"].format(left=max(0, context.max_turns - spoken), all=context.max_turns)]
    )


def speaker_of(turn: Turn, session: Session) -> str:
    """Who said something, as the person sees it."""
    page = words_of(session)["page"]
    if turn.speaker != session.seat:
        return str(load_words("judges/words", session.language)[turn.speaker])
    return str(page["to_examiner" if turn.addressee == "examiner" else "you"])


def talks(question: Mapping[str, Any]) -> bool:
    """Whether the person is asked to say something, and not to fill in a form."""
    return "text" in question["schema"]["properties"]


def may(question: Mapping[str, Any], what: str) -> bool:
    """Whether what is said can do this besides: end the conversation (``finished``), or go to an ``addressee``."""
    return what in question["schema"]["properties"]


def said(text: str, question: Mapping[str, Any], session: Session, **more: Any) -> dict[str, Any]:
    """Words as the typed answer: they are for the doctor, end nothing and explain nothing, unless told otherwise.

    Who ends without a word takes leave.
    """
    empty = {"boolean": False, "string": "", "array": []}
    fields = question["schema"]["properties"]
    answer = {name: field.get("default", empty.get(field.get("type", "string"))) for name, field in fields.items()}
    farewell = load_words("consultation/words", session.language)["doctor"]["farewell"] if more.get("finished") else ""
    addressee = {"addressee": "doctor"} if may(question, "addressee") else {}
    return {**answer, **addressee, **more, "text": text or farewell}


def reference_of(case: Case, language: Language) -> dict[str, str]:
    """What the records and the answer key say to each part of a report, in the marks of the language."""
    results = case.examinations.results.items()
    told = "\n".join(f"{label(item, language)}{mark('label', language)}{text}" for item, text in results)
    reference = reference_parts(case)
    return {**{part: reference[part] for part in PARTS}, "examinations": told}


def ordered(items: Sequence[str], feedback: Feedback, language: Language) -> str:
    """Closed items with the names under which they were asked for: an electrocardiogram is filed under the chest."""
    words = load_words("consultation/seat", language)["trainer"]
    listed = mark("listed", language)
    shown = [
        words["asked_as"].format(item=label(item, language), names=listed.join(feedback.asked_as[item]))
        if item in feedback.asked_as
        else label(item, language)
        for item in items
    ]
    return listed.join(shown) or str(words["none"])


def entries(typed: str) -> list[str]:
    """The entries of a list as somebody wrote it: by lines or semicolons."""
    return [
        entry.strip() for line in typed.splitlines() for entry in line.replace("；", ";").split(";") if entry.strip()
    ]


def _lines(record: PatientRecord, session: Session) -> list[tuple[str, str]]:
    headings = words_of(session)["record"]
    about = [
        fact.text
        for fact in record_sentences(record, ExaminationRecord(), session.language)
        if fact.section == "person"
    ]
    told = [(headings[section], getattr(record, section)) for section in _SECTIONS]
    person = mark("space", session.language).join(about)
    return [(heading, text) for heading, text in [(headings["person"], person), *told] if text]
