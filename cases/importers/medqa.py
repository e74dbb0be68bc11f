"""MedQA-USMLE: questions that describe a patient, as JSON lines (CliniChat, section 3.1).

A case study question reads like a note: history, findings, and a closing question whose right answer is the diagnosis
or the next step. Questions without a patient are left out, and a warning counts them. The question, its options and the
right letter go to the answer key.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cases.case import Case
from cases.importers.choices import asked_for, cut_question, exam_key, letter, letter_of, lettered
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import read_vignette
from cases.notes import Note
from cases.text.demographics import demographics
from cases.text.note_sections import heading
from cases.text.prose import paragraph, phrase, texts
from cases.text.sentences import sentences
from cases.text.words import language_of
from cases.vocabulary import patterns

_HOLDING = "an object with question, answer and options"
_PATTERNS = patterns("cases", "vocabularies/patterns")
# Results stand on lines of their own, without a stop: "Hemoglobin 11.2 g/dL\nLeukocyte count 18,500/mm3".
_LINE_OF_RESULTS = re.compile(r"(?<=[\w%)+])[ \t]*\n\s*(?=[A-Z])")


@dataclass(frozen=True)
class CaseStudy:
    """A question that describes a patient: narrative, closing question, right answer, lettered options, its letter.

    ``unread``: it has options in an unknown form.
    """

    record: Record
    told: str
    asked: str
    answer: str
    options: dict[str, str]
    letter: str
    unread: bool

    @property
    def id(self) -> str:
        """The file's name and the record's key or number."""
        return f"{self.record.source.path.stem.replace('_', '-')}-{self.record.key or f'{self.record.number:05d}'}"

    @property
    def asks(self) -> str:
        """What the answer is, see `asked_for`."""
        return asked_for(self.asked)


@importer("medqa")
def import_medqa(source: Source) -> Iterator[Case]:
    """Read the case study questions as cases."""
    for study in case_studies(source):
        if study.unread:
            study.record.warn("options", "are not two to 26 choices with a letter or text each, and are left out")
        if case := study.record.case(study.id, _case_fields(study)):
            yield case


def medqa_notes(source: Source) -> Iterator[Note]:
    """Read the case study questions as notes: the narrative, with only the right answer, kept apart."""
    for study in case_studies(source):
        section = "assessment" if study.asks == "diagnosis" else study.asks
        yield Note(
            id=study.id,
            text=study.told,
            diseases=[study.answer] if study.asks == "diagnosis" else [],
            answer=f"{heading(section, 'en')}: {study.answer}." if section else "",
        )


def case_studies(source: Source) -> Iterator[CaseStudy]:
    """Yield the valid questions that describe a patient; a warning counts the others."""
    left_out = 0
    for record, value in source.objects(_HOLDING, lambda value: "question" in value):
        if (study := _study(record, value)) is None:
            continue
        opening = " ".join(sentences(study.told)[:2])
        if demographics(opening).age_years is not None or _PATTERNS["comes"].search(opening):
            yield study
        else:
            left_out += 1
    if left_out:
        source.warn(f"{left_out} question{'s' * (left_out > 1)} left out: no patient is described")


def _study(record: Record, value: Mapping[str, Any]) -> CaseStudy | None:
    for name in ("question", "answer"):
        if not isinstance(value.get(name), str) or not value[name].strip():
            record.expected(name, "text", value.get(name))
    choices = value.get("options", {})
    options = lettered(choices) or {}
    if not options and not isinstance(choices, Mapping | list):
        record.expected("options", "an object of lettered choices, or '(A) ... (B) ...'", choices)
    if record.sound and language_of(value["question"]) != "en":
        record.error("question", "is not English; expected a question of MedQA-USMLE")
    if not record.sound:
        return None
    told, asked = _told_and_asked(value)
    answer = phrase(value["answer"])
    stated = letter(value.get("answer_idx") or "")
    right = letter_of(answer, options, stated)
    if options and not right:
        record.warn("answer", f"{answer!r} is none of the options, which are left out")
    elif stated in options and stated != right:
        record.warn("answer_idx", f"is {stated}, but the answer {answer!r} is option {right}; the answer is used")
    kept, unread = options if right else {}, bool(choices and not options)
    return CaseStudy(record, told, asked, options.get(right, answer), kept, right, unread)


def _told_and_asked(value: Mapping[str, Any]) -> tuple[str, str]:
    """Return the narrative and the closing question of a record; MediQ keeps the narrative apart, as `context`."""
    text = f"{paragraph(*texts(value.get('context')))} {value['question']}".strip()
    narrative, asked = sentences(" ".join(_LINE_OF_RESULTS.sub(". ", text).split())), ""
    if narrative and _PATTERNS["closes_question"].search(narrative[-1]):
        rest, asked = cut_question(narrative.pop())
        narrative += [rest] if rest else []
    if not narrative:  # a question alone
        narrative, asked = [asked], ""
    if asked and "?" not in asked and len(narrative) > 1 and narrative[-1].endswith("?"):  # "What is it? Choose one."
        asked = f"{narrative.pop()} {asked}"
    return " ".join(narrative), asked


def _case_fields(study: CaseStudy) -> dict[str, Any]:
    vignette = read_vignette(study.told, "en")
    items = vignette.findings.items
    return {
        "patient": vignette.patient,
        "examinations": vignette.findings.record,
        "key": exam_key(items, study.asked, study.options, study.letter, [study.answer], study.asks),
        "provenance": {"source": f"MedQA-USMLE ({study.record.source.path.name})", "note": f"Answer: {study.answer}."},
    }
