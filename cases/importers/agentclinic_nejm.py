"""AgentClinic's New England Journal questions: a picture's URL, a question, and marked answers.

The question mostly tells the whole case. Its first sentence is the chief complaint (that of the patient's information
if it only asks), its findings are added to the listed ones, and its last sentence is the question of the key, with the
answers as options: the right one is the diagnosis or, if that is asked, the treatment. The fields were written by a
model; what it says about its text ("The provided text does not include ...", "It only mentions that ...") is not a
finding, nor is a test without a result. The picture is not downloaded; its address is in the case's provenance.
"""

import re
from collections.abc import Mapping
from typing import Any

from cases.importers.choices import asked_for, exam_key
from cases.importers.findings import Findings
from cases.importers.source import Record
from cases.importers.vignettes import read_vignette
from cases.text.demographics import demographics
from cases.text.lexicon import GENERAL, first_test_in, told_by
from cases.text.prose import paragraph, phrase
from cases.text.sentences import first_sentence, sentences
from cases.text.words import language_of
from cases.vocabulary import patterns

_PIECE = re.compile(r"(?<=[.!?])\s+(?:-\s+|\d+\.\s+)?|(?<=:)\s+-\s+|(?<!\s)\s+(?:-|\d+\.)\s+(?=[A-Z])")
_ASKS = re.compile(r"(?:what|which|who|where|when|why|how)\b.*[?？]\s*$", re.IGNORECASE)
_PATTERNS = patterns("cases", "vocabularies/patterns")


def nejm_fields(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a case made from one question."""
    for name in ("question", "patient_info", "physical_exams", "image_url"):
        record.check_text(name, value.get(name))
    question, info = phrase(value.get("question")), _plain(value.get("patient_info"))
    illness, seen = _facts(info)
    complaint = _complaint(question) or first_sentence(illness) or first_sentence(info)
    if not complaint:
        record.expected("question", "the question's text", value.get("question"))
    findings = Findings()
    listed = _plain(value.get("physical_exams"))
    for heading, text in _results(listed):
        findings.add_text(heading, text)
    if value.get("physical_exams") and not findings.by_item:
        record.warn("physical_exams", "contains no result; left out")
    narrative, asked = _split_question(question)
    # read_vignette takes the first sentence as the complaint, which is already known.
    for item, texts in read_vignette(f"The patient came. {narrative}", "en").findings.by_item.items():
        if new := [text for text in texts if text and not _is_no_finding(text)]:
            findings.by_item.setdefault(item, []).extend(new)
    if seen and not findings.by_item:
        findings.by_item[GENERAL] = seen
    for heading in findings.unknown:
        record.warn("physical_exams", f"{heading!r} is not in the lexicon; filed under General Examination")
    own = " ".join(part for part in _PIECE.split(info) if not _PATTERNS["kin_named"].search(part))
    stated, (right, options, option) = demographics(question, own), _answers(record, value.get("answers"))
    what = asked_for(asked) if asked else "diagnosis"
    image = phrase(value.get("image_url"))
    return {
        "language": language_of(question, info),
        "patient": {**vars(stated), "chief_complaint": complaint, "present_illness": illness},
        "examinations": findings.record,
        "key": exam_key(findings.items, asked, options, option, right, what),
        "provenance": {
            "source": f"AgentClinic, NEJM questions ({record.source.path.name})",
            "note": paragraph(f"Picture, not downloaded: {image} " if image else "", findings.note),
        },
    }


def _plain(value: object) -> str:
    """Return a field as one line without Markdown emphasis."""
    return re.sub(r"\*\*|__", "", phrase(value))


def _is_no_finding(text: str) -> bool:
    """Whether a text is about its own writing, or names a test without its result."""
    done = _PATTERNS["done"].search(text) and not _PATTERNS["told_of"].search(text)
    return bool(done or _PATTERNS["of_its_text"].search(text))


def _split_question(question: str) -> tuple[str, str]:
    """Split a question into the sentences after the first, and the closing question, which may stand alone."""
    first, *rest = sentences(question) or [""]
    if not rest and _ASKS.match(first):
        return "", first
    asked = rest.pop() if rest and rest[-1].endswith("?") else ""
    return " ".join(rest), asked


def _answers(record: Record, answers: object) -> tuple[list[str], dict[str, str], str]:
    """Return the right answers, and all by letter with the letter of the right one, if exactly one is right."""
    if not isinstance(answers, list) or not all(isinstance(answer, Mapping) for answer in answers):
        record.expected("answers", "a list of {text, correct}", answers)
        return [], {}, ""
    lettered = {chr(ord("A") + place): phrase(answer.get("text")) for place, answer in enumerate(answers)}
    marks = (str(answer.get("correct")).strip().lower() for answer in answers)  # a boolean, or its word
    right = [letter for letter, mark in zip(lettered, marks, strict=True) if mark == "true"]
    if not any(lettered[letter] for letter in right):
        record.error("answers", "no answer is marked as correct; expected one with correct: true")
    options, option = (lettered, right[0]) if len(right) == 1 and all(lettered.values()) else ({}, "")
    return [lettered[letter] for letter in right], options, option


def _complaint(question: str) -> str:
    """Return the complaint: the end of "A 55-year-old woman presented to the clinic with ..."; "" if it only asks."""
    opening = first_sentence(question)
    if _ASKS.match(opening):
        return ""
    presented = _PATTERNS["presented"].search(opening)
    match = _PATTERNS["complaint"].search(opening, presented.end()) if presented else None
    complaint = match["complaint"] if match else opening
    return complaint[:1].upper() + complaint[1:]


def _facts(info: str) -> tuple[str, list[str]]:
    """Return what the patient actor is told, without stage directions, and what was found by examination."""
    history: list[str] = []
    examined: list[str] = []
    hidden = False
    for part in _PIECE.split(_PATTERNS["role"].sub("As ", _PATTERNS["opening"].sub("", info))):
        part = _PATTERNS["bidden"].sub("", re.sub(r"^(?:-|\d+\.)\s+", "", part))
        if part.endswith(":") and not re.match(r"you(?: are|.re| have|.ve| were| had)\b", part, re.I):
            hidden = _PATTERNS["hidden"].search(part) is not None
        elif not (hidden or _PATTERNS["direction"].search(part) or _PATTERNS["of_its_text"].search(part)):
            (examined if _PATTERNS["examined_upon"].search(part) else history).append(
                part[:1].upper() + part[1:].rstrip(":")
            )
    return paragraph(*history), examined


def _results(text: str) -> list[tuple[str, str]]:
    """Return the listed results, each with its heading ("Laboratory results: - ...")."""
    found: list[tuple[str, str]] = []
    heading, goes_on = "Findings", False
    for part in (part.strip(" -;") for part in _PATTERNS["between_results"].split(text)):
        if _is_no_finding(part) and not part.endswith(":"):
            continue
        if part.endswith(":") and ":" not in part[:-1]:
            heading = "Findings" if _is_no_finding(part) and first_test_in(part) is None else part[:-1]
            goes_on = False
        elif goes_on and ":" not in part and told_by(part) is None:
            found[-1] = heading, paragraph(found[-1][1], part)  # a continuation of the same test
        elif part:
            found.append((heading, part))
            goes_on = True
    return found
