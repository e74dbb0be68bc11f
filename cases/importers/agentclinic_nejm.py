"""The New England Journal flavour of AgentClinic: a picture's URL, a question, and marked answers.

The question tells everything at once, findings included, so that only its first sentence is imported, as the chief
complaint. The picture is not downloaded; its address stands in the case's provenance.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.importers.findings import Findings
from cases.importers.source import Record
from cases.text.demographics import demographics
from cases.text.lexicon import first_test_in
from cases.text.prose import paragraph, phrase
from cases.text.sentences import first_sentence
from cases.text.words import language_of
from cases.vocabulary import patterns

_PATTERNS = patterns("cases", "vocabularies/patterns")


def nejm_data(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a case, from one question."""
    question, info = phrase(value.get("question")), phrase(value.get("patient_info"))
    complaint = _complaint(question) or first_sentence(info)
    if not complaint:
        record.expected("question", "the question's text", value.get("question"))
    findings = Findings()
    for heading, text in _results(phrase(value.get("physical_exams"))):
        findings.add_text(heading, text)
    for heading in findings.unknown:
        record.warn("physical_exams", f"no rule of the lexicon knows what {heading!r} shows; under General Examination")
    stated = demographics(question, info)
    image = phrase(value.get("image_url"))
    return {
        "language": language_of(question, info),
        "patient": {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "chief_complaint": complaint,
            "present_illness": _facts(info),
        },
        "examinations": findings.record,
        "key": {"examination_items": findings.items, "diagnosis": _correct(record, value.get("answers"))},
        "provenance": {
            "source": f"AgentClinic, NEJM questions ({record.source.path.name})",
            "note": paragraph(f"Picture, not downloaded: {image} " if image else "", findings.note),
        },
    }


def _correct(record: Record, answers: object) -> list[str]:
    if not isinstance(answers, list) or not all(isinstance(answer, Mapping) for answer in answers):
        record.expected("answers", "a list of {text, correct}", answers)
        return []
    correct = [phrase(answer.get("text")) for answer in answers if answer.get("correct") is True]
    if not any(correct):
        record.error("answers", "marks no answer as correct; expected one with correct: true")
    return correct


def _complaint(question: str) -> str:
    """What the patient came with: the end of "A 55-year-old woman presented to the clinic with ..."."""
    opening = first_sentence(question)
    presented = _PATTERNS["presented"].search(opening)
    match = _PATTERNS["complaint"].search(opening, presented.end()) if presented else None
    complaint = match["complaint"] if match else opening
    return complaint[:1].upper() + complaint[1:]


def _facts(info: str) -> str:
    """What the actor is told of the patient, without the stage directions."""
    plain = re.sub(r"\*\*|__", "", _PATTERNS["opening"].sub("", info))
    parts = re.split(r"(?<=[.!?])\s+(?:-\s+|\d+\.\s+)?|:\s+-\s+|\s+-\s+(?=[A-Z])|\s+\d+\.\s+(?=[A-Z])", plain)
    kept = paragraph(*(part for part in parts if not _PATTERNS["direction"].search(part)))
    return kept[:1].upper() + kept[1:]


def _results(text: str) -> Iterator[tuple[str, str]]:
    """The results that a text lists, each with the heading above it ("Laboratory results: - ...")."""
    heading, result = "Findings", ""
    for part in (part.strip(" -;") for part in _PATTERNS["between_results"].split(text)):
        if part.endswith(":") and ":" not in part[:-1]:
            if result:
                yield heading, result
            heading, result = part[:-1], ""
        elif result and ":" not in part and first_test_in(part) is None:
            result = paragraph(result, part)  # it goes on about the same test
        elif part:
            if result:
                yield heading, result
            result = part
    if result:
        yield heading, result
