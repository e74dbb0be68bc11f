"""The New England Journal flavour of AgentClinic: a picture's URL, a question, and marked answers.

The question tells everything at once: its first sentence is the chief complaint, what it says of findings is filed with
those that the record lists, and its end is asked, with the answers as options. Where the writer of a field declined to
write it ("The provided text does not include ..."), the field says nothing. The picture is not downloaded; its address
stands in the case's provenance.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.importers.findings import Findings
from cases.importers.source import Record
from cases.importers.vignettes import read_vignette
from cases.text.demographics import demographics
from cases.text.lexicon import first_test_in
from cases.text.prose import paragraph, phrase
from cases.text.sentences import first_sentence, sentences
from cases.text.words import language_of
from cases.vocabulary import patterns

_DECLINED = re.compile(
    r"\b(?:text|information|case|passage|question|input|prompt|vignette)\b[^.]{0,40}\b(?:does|do|did) ?n[o']t "
    r"(?:include|contain|provide|mention|specify|describe)"
    r"|\bI (?:cannot|can ?not|can't|am unable to|am not able to)\b|\bas an AI\b"
    r"|\b(?:not|no)\b[^.]{0,50}\b(?:provided|included|specified|mentioned|given) (?:in|by) the\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\b(?:please (?:provide|share)|if you (?:have|can|could|provide)|therefore, (?:I|it)\b)", re.I)
_PATTERNS = patterns("cases", "vocabularies/patterns")


def nejm_data(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a case, from one question."""
    question, info = phrase(value.get("question")), _written(record, value, "patient_info")
    complaint = _complaint(question) or first_sentence(info)
    if not complaint:
        record.expected("question", "the question's text", value.get("question"))
    findings = Findings()
    for heading, text in _results(_written(record, value, "physical_exams")):
        findings.add_text(heading, text)
    told, asked = _parted(question)
    for item, texts in read_vignette(told, "en").findings.by_item.items():
        findings.by_item.setdefault(item, []).extend(text for text in texts if text)
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
        "key": {
            "examination_items": findings.items,
            "diagnosis": _correct(record, value.get("answers")),
            "question": asked,
            **_options(value.get("answers")),
            "inferred": ["examination_items"],
        },
        "provenance": {
            "source": f"AgentClinic, NEJM questions ({record.source.path.name})",
            "note": paragraph(f"Picture, not downloaded: {image} " if image else "", findings.note),
        },
    }


def _written(record: Record, value: Mapping[str, Any], field: str) -> str:
    """A field without what its writer, a model, said of itself and of what it was not given."""
    text = phrase(value.get(field))
    if not _DECLINED.search(text):
        return text
    record.warn(field, "was declined by its writer, and holds no finding; left out")
    return " ".join(line for line in sentences(text) if not (_DECLINED.search(line) or _ASIDE.search(line)))


def _parted(question: str) -> tuple[str, str]:
    """What a question tells after its first sentence, and what it asks at the end."""
    told = sentences(question)
    asked = told.pop() if len(told) > 1 and told[-1].endswith("?") else ""
    return " ".join(told), asked


def _options(answers: object) -> dict[str, Any]:
    """The answers by letter, and the letter of the right one; nothing where not exactly one is right."""
    listed = [answer for answer in answers if isinstance(answer, Mapping)] if isinstance(answers, list) else []
    lettered = {chr(ord("A") + place): phrase(answer.get("text")) for place, answer in enumerate(listed)}
    right = [letter for letter, answer in zip(lettered, listed, strict=True) if answer.get("correct") is True]
    if len(right) != 1 or not all(lettered.values()):
        return {}
    return {"options": lettered, "option": right[0]}


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
