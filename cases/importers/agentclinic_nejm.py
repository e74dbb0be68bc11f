"""The New England Journal flavour of AgentClinic: a picture's URL, a question, and marked answers.

The question tells everything at once: its first sentence is the chief complaint, what it says of findings is filed with
those that the record lists, and its end is asked, with the answers as options: the right one is the diagnosis, or the
treatment, where that is asked. What the writer of a field, a model, says of its text ("The provided text does not
include ...", "It only mentions that ...") is no finding, nor is a test that was done and whose result is not told. The
picture is not downloaded; its address stands in the case's provenance.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.importers.findings import Findings
from cases.importers.source import Record
from cases.importers.vignettes import read_vignette
from cases.text.demographics import demographics
from cases.text.lexicon import GENERAL, first_test_in, told_by
from cases.text.prose import paragraph, phrase
from cases.text.sentences import first_sentence, sentences
from cases.text.words import language_of
from cases.vocabulary import patterns

_PIECE = re.compile(r"(?<=[.!?])\s+(?:-\s+|\d+\.\s+)?|(?<=:)\s+-\s+|\s+-\s+(?=[A-Z])|\s+\d+\.\s+(?=[A-Z])")
_PATTERNS = patterns("cases", "vocabularies/patterns")


def nejm_data(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a case, from one question."""
    for name in ("question", "patient_info", "physical_exams", "image_url"):
        record.check_text(name, value.get(name))
    question, info = phrase(value.get("question")), _plain(value.get("patient_info"))
    complaint = _complaint(question) or first_sentence(info)
    if not complaint:
        record.expected("question", "the question's text", value.get("question"))
    findings = Findings()
    listed = _plain(value.get("physical_exams"))
    for heading, text in _results(listed):
        findings.add_text(heading, text)
    if value.get("physical_exams") and not findings.by_item:
        record.warn("physical_exams", "tells of no result; left out")
    told, asked = _parted(question)
    # The first sentence of a vignette is its complaint, which has been read here.
    for item, texts in read_vignette(f"The patient came. {told}", "en").findings.by_item.items():
        if new := [text for text in texts if text and not _untold(text)]:
            findings.by_item.setdefault(item, []).extend(new)
    illness, seen = _facts(info)
    if seen and not findings.by_item:
        findings.by_item[GENERAL] = seen
    for heading in findings.unknown:
        record.warn("physical_exams", f"no rule of the lexicon knows what {heading!r} shows; under General Examination")
    own = " ".join(part for part in _PIECE.split(info) if not _PATTERNS["kin_named"].search(part))
    stated, right = demographics(question, own), _correct(record, value.get("answers"))
    of_diagnosis = not asked or _PATTERNS["asks_diagnosis"].search(asked) is not None
    of_plan = not of_diagnosis and _PATTERNS["asks_plan"].search(asked) is not None
    image = phrase(value.get("image_url"))
    return {
        "language": language_of(question, info),
        "patient": {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "chief_complaint": complaint,
            "present_illness": illness,
        },
        "examinations": findings.record,
        "key": {
            "examination_items": findings.items,
            "diagnosis": right if of_diagnosis else [],
            "treatment_course": "; ".join(right) if of_plan else "",
            "question": asked,
            **_options(value.get("answers")),
            "inferred": ["examination_items"],
        },
        "provenance": {
            "source": f"AgentClinic, NEJM questions ({record.source.path.name})",
            "note": paragraph(f"Picture, not downloaded: {image} " if image else "", findings.note),
        },
    }


def _plain(value: object) -> str:
    """A field on one line, without marks of emphasis."""
    return re.sub(r"\*\*|__", "", phrase(value))


def _untold(text: str) -> bool:
    """Whether a text tells of its own writing, or of a test that was done, and nothing of the patient's findings."""
    done = _PATTERNS["done"].search(text) and not _PATTERNS["told_of"].search(text)
    return bool(done or _PATTERNS["of_its_text"].search(text))


def _parted(question: str) -> tuple[str, str]:
    """What a question tells after its first sentence, and what it asks at the end."""
    told = sentences(question)[1:]
    asked = told.pop() if told and told[-1].endswith("?") else ""
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


def _facts(info: str) -> tuple[str, list[str]]:
    """What the actor is told of the patient, without the stage directions; and what somebody found by examining."""
    told: list[str] = []
    seen: list[str] = []
    hidden = False
    for part in _PIECE.split(_PATTERNS["role"].sub("As ", _PATTERNS["opening"].sub("", info))):
        part = _PATTERNS["bidden"].sub("", re.sub(r"^(?:-|\d+\.)\s+", "", part))
        if part.endswith(":") and not re.match(r"you(?: are|.re| have|.ve| were| had)\b", part, re.I):
            hidden = _PATTERNS["hidden"].search(part) is not None
        elif not (hidden or _PATTERNS["direction"].search(part) or _PATTERNS["of_its_text"].search(part)):
            (seen if _PATTERNS["examined_upon"].search(part) else told).append(part[:1].upper() + part[1:].rstrip(":"))
    return paragraph(*told), seen


def _results(text: str) -> Iterator[tuple[str, str]]:
    """The results that a text lists, each with the heading above it ("Laboratory results: - ...")."""
    heading, result = "Findings", ""
    for part in (part.strip(" -;") for part in _PATTERNS["between_results"].split(text)):
        if _untold(part) and not part.endswith(":"):
            continue
        if part.endswith(":") and ":" not in part[:-1]:
            if result:
                yield heading, result
            heading, result = "Findings" if _untold(part) and first_test_in(part) is None else part[:-1], ""
        elif result and ":" not in part and told_by(part) is None:
            result = paragraph(result, part)  # it goes on about the same test
        elif part:
            if result:
                yield heading, result
            result = part
    if result:
        yield heading, result
