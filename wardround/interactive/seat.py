"""What a person in a role is shown and submits, at a terminal or in a browser, in the case's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from cases import Case
from cases.case import ExaminationRecord, PatientRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language, label
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Turn, labelled_results
from prompts import load_words, mark
from scoring.consultation import reference_parts
from scoring.mvme.transcripts import PARTS
from wardround.interactive.consultation_session import Session
from wardround.interactive.feedback import Feedback

_SECTIONS = ("chief_complaint", "present_illness", "past_history", "personal_history", "family_history")


def words_of(session: Session) -> Mapping[str, Any]:
    """Return the interface texts, in the language of the consultation."""
    return load_words("consultation/seat", session.language)


def opening(session: Session) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what the person knows at the start, by heading: the presentation, or the patient's record and manner."""
    words, state = words_of(session), session.state
    if session.seat == "doctor":
        presentation: Presentation = state["presentation"]
        record = PatientRecord.model_validate(
            presentation.model_dump(include={*PatientRecord.model_fields} - {*_SECTIONS[1:]})
        )
        return [(words["page"]["door"], _lines(record, session))]
    known = [(words["page"]["record"], _lines(state["patient_record"], session))]
    if profile := state.get("profile"):
        known.append((words["page"]["manner"], [("", profile.personality)]))
    return known


def help_for(session: Session) -> str:
    """Return the instructions for the person."""
    page, context = words_of(session)["page"], session.context
    if session.seat == "patient":
        return str(page["patient_help"])
    help_text = page["doctor_help" if PATIENTS[context.patient].examines else "doctor_help_after"]
    turns_taken = sum(turn.speaker == "doctor" for turn in session.heard())
    return mark("space", session.language).join(
        [help_text, page["turns"].format(left=max(0, context.max_turns - turns_taken), all=context.max_turns)]
    )


def speaker_of(turn: Turn, session: Session) -> str:
    """Return who spoke a turn, as the person sees it."""
    page = words_of(session)["page"]
    if turn.speaker != session.seat:
        return str(load_words("judges/words", session.language)[turn.speaker])
    return str(page["to_examiner" if turn.addressee == "examiner" else "you"])


def asks_to_speak(question: Mapping[str, Any]) -> bool:
    """Whether the person is asked to speak, rather than to fill in a form."""
    return "text" in question["schema"]["properties"]


def allows(question: Mapping[str, Any], what: str) -> bool:
    """Whether the answer may also end the conversation (``finished``), or have an ``addressee``."""
    return what in question["schema"]["properties"]


def typed_answer(text: str, question: Mapping[str, Any], session: Session, **more: Any) -> dict[str, Any]:
    """Return words as a typed answer: to the doctor, with default values for the other fields unless given in ``more``.

    An answer that ends the conversation without words becomes a farewell.
    """
    empty = {"boolean": False, "string": "", "array": []}
    fields = question["schema"]["properties"]
    answer = {name: field.get("default", empty.get(field.get("type", "string"))) for name, field in fields.items()}
    farewell = load_words("consultation/words", session.language)["doctor"]["farewell"] if more.get("finished") else ""
    addressee = {"addressee": "doctor"} if allows(question, "addressee") else {}
    return {**answer, **addressee, **more, "text": text or farewell}


def reference_of(case: Case, language: Language) -> dict[str, str]:
    """Return what the records and the answer key have for each part of a report, punctuated in the language."""
    results = "\n".join(labelled_results(case.examinations.results, language))
    reference = reference_parts(case)
    return {**{part: reference[part] for part in PARTS}, "examinations": results}


def names_ordered(items: Sequence[str], feedback: Feedback, language: Language) -> str:
    """Return items with the names by which they were asked for: an electrocardiogram is recorded under the chest."""
    words = load_words("consultation/seat", language)["trainer"]
    listed = mark("listed", language)
    names_shown = [
        words["asked_as"].format(item=label(item, language), names=listed.join(feedback.asked_as[item]))
        if item in feedback.asked_as
        else label(item, language)
        for item in items
    ]
    return listed.join(names_shown) or str(words["none"])


def entries(typed: str) -> list[str]:
    """Split a list as typed by a person, at line breaks or semicolons."""
    return [
        entry.strip() for line in typed.splitlines() for entry in line.replace("；", ";").split(";") if entry.strip()
    ]


def _lines(record: PatientRecord, session: Session) -> list[tuple[str, str]]:
    headings = words_of(session)["record"]
    person_facts = [
        fact.text
        for fact in record_sentences(record, ExaminationRecord(), session.language)
        if fact.section == "person"
    ]
    facts = [(headings[section], getattr(record, section)) for section in _SECTIONS]
    person = mark("space", session.language).join(person_facts)
    return [(heading, text) for heading, text in [(headings["person"], person), *facts] if text]
