"""MedQA-USMLE: questions that describe a patient, as JSON lines (CliniChat, section 3.1).

A case study question reads like a note: history, findings, and a closing question whose right answer is the diagnosis,
or else the next step. Questions that describe no patient are left out, and a warning counts them. What is asked and
what could be chosen stands in the provenance.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.case import Case
from cases.importers.findings import Findings
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.notes import Note
from cases.text.demographics import demographics
from cases.text.note_sections import heading, read_sections
from cases.text.prose import phrase
from cases.text.sentences import sentences

_HISTORIES = {
    "past_history": ("past_history", "medications", "allergies", "immunizations"),
    "personal_history": ("personal_history",),
    "family_history": ("family_history",),
    "present_illness": ("present_illness", "review_of_systems"),
}
_COMES = re.compile(
    r"\b(?:man|woman|boy|girl|infant|newborn|neonate|child|patient|male|female|teenager|primigravida|multigravida)\b"
    r".*\b(?:comes?|came|presents?|presented|presenting|is brought|was brought|brings|is evaluated|is admitted|"
    r"was admitted|complain\w*|reports?|has had|is found|undergoes|underwent|is seen|calls|visits)\b",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_DIAGNOSIS = re.compile(
    r"\bdiagnos[ei]s\b|most likely (?:has|suffering)|which (?:condition|disorder|disease)\b", re.I
)
_ASKS_PLAN = re.compile(r"\b(?:treatment|management|therapy|pharmacotherapy|next step|test|study|evaluation)\b", re.I)


@importer("medqa")
def import_medqa(source: Source) -> Iterator[Case]:
    """Read the case study questions as cases."""
    if source.departments:
        source.error("MedQA names no department; expected no departments file")
    for record in case_studies(source):
        if case := record.case(_id(record), _data(record)):
            yield case


def medqa_notes(source: Source) -> Iterator[Note]:
    """Read the case study questions as notes: the words of the question, with the right answer as what it tells."""
    for record in case_studies(source):
        told, asked = _stem(record)
        answer, others = _answer(record), _others(record)
        lines = [told]
        if _ASKS_DIAGNOSIS.search(asked):
            lines.append(f"{heading('assessment', 'en')}: {answer}.")
            if others:
                lines.append(f"{heading('differentials', 'en')}: {'; '.join(others)}.")
        elif _ASKS_PLAN.search(asked):
            lines.append(f"{heading('plan', 'en')}: {answer}.")
        diseases = [answer] if _ASKS_DIAGNOSIS.search(asked) else []
        yield Note(id=_id(record), text="\n".join(lines), diseases=diseases)


def case_studies(source: Source) -> Iterator[Record]:
    """The sound records that describe a patient; a warning counts the others."""
    left_out = 0
    for record in source.records():
        if not _is_sound(record):
            continue
        if _describes_a_patient(_stem(record)[0]):
            yield record
        else:
            left_out += 1
    if left_out:
        source.warn(f"{left_out} question{'s' * (left_out > 1)} left out: no patient is described")


def _is_sound(record: Record) -> bool:
    value = record.value
    if not isinstance(value, Mapping):
        record.expected("", "an object with question, answer and options", value)
        return False
    for name in ("question", "answer"):
        if not isinstance(value.get(name), str) or not value[name].strip():
            record.expected(name, "text", value.get(name))
    if not isinstance(value.get("options", {}), Mapping):
        record.expected("options", "an object of lettered choices", value["options"])
    return record.sound


def _describes_a_patient(stem: str) -> bool:
    opening = " ".join(sentences(stem)[:2])
    return demographics(opening).age_years is not None or bool(_COMES.search(opening))


def _stem(record: Record) -> tuple[str, str]:
    """The description, and the question that closes it."""
    value: Any = record.value
    told = sentences(" ".join(value["question"].split()))
    asked = (
        told.pop() if len(told) > 1 and (told[-1].endswith("?") or re.match(r"which|what|how", told[-1], re.I)) else ""
    )
    return " ".join(told), asked


def _data(record: Record) -> dict[str, Any]:
    told, asked = _stem(record)
    sections = read_sections(told, "en")
    stated = demographics(told)
    history = {name: " ".join(_under(sections, *parts)) for name, parts in _HISTORIES.items()}
    complaint = _under(sections, "chief_complaint") or sentences(told)[:1]
    findings = Findings()
    findings.add_physical({"General Examination": " ".join(_under(sections, "physical_examination"))})
    for line in _under(sections, "test_results"):
        findings.add_text("Laboratory", line)
    answer = _answer(record)
    key: dict[str, Any] = {"examination_items": findings.items}
    if _ASKS_DIAGNOSIS.search(asked):
        key["diagnosis"] = [answer]
    elif _ASKS_PLAN.search(asked):
        key["treatment_course"] = answer
    options = "; ".join(f"{letter}: {text}" for letter, text in _options(record).items())
    return {
        "patient": {"age_years": stated.age_years, "sex": stated.sex, "chief_complaint": complaint[0], **history},
        "examinations": findings.record,
        "key": key,
        "provenance": {
            "source": f"MedQA-USMLE ({record.source.path.name})",
            "note": " ".join(filter(None, (asked, options and f"Choices: {options}.", f"Answer: {answer}."))),
        },
    }


def _under(sections: Mapping[str, tuple[str, ...]], *names: str) -> list[str]:
    return [line for name in names for line in sections.get(name, ())]


def _id(record: Record) -> str:
    return f"{record.source.path.stem.replace('_', '-')}-{record.number:05d}"


def _answer(record: Record) -> str:
    value: Any = record.value
    return phrase(value["answer"])


def _options(record: Record) -> dict[str, str]:
    value: Any = record.value
    return {str(letter): phrase(text) for letter, text in value.get("options", {}).items()}


def _others(record: Record) -> list[str]:
    return [text for text in _options(record).values() if text and text != _answer(record)]
