"""The record of a case as single sentences: the facts that a patient may be asked for."""

import re
from dataclasses import dataclass

from cases.case import Case, ExaminationRecord, PatientRecord
from cases.text.note_sections import heading
from cases.text.sentences import sentences
from cases.text.words import rules_of
from cases.vocabulary import EXAMINATION_ITEMS, Language, label

HISTORIES = ("chief_complaint", "present_illness", "past_history", "personal_history", "family_history")
_PERSON = {"en": ("Age: {}.", "Sex: {}.", "Occupation: {}."), "zh": ("年龄：{}。", "性别：{}。", "职业：{}。")}
_SEX_ZH = {"male": "男", "female": "女"}
# What stands for the occupation of a small child: an age, which says nothing of work or school.
_NO_OCCUPATION = re.compile(
    "(?:(?:healthy|small|young|pre-?school) )?(?:infant|newborn|neonate|baby|toddler|child)(?: at home)?"
    "|新生儿|婴儿|幼儿|婴幼儿|(?:散居|学龄前)?儿童",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RecordSentence:
    """One sentence of the record."""

    section: str  # a field of the patient record, ``person`` (age, sex, occupation), or an examination item
    text: str  # as written

    @property
    def is_result(self) -> bool:
        """Whether it is an examination result."""
        return self.section in EXAMINATION_ITEMS.names

    def heading(self, language: Language) -> str:
        """Return the name of its section in a language."""
        return label(self.section, language) if self.is_result else heading(self.section, language)


def facts_of(case: Case) -> list[RecordSentence]:
    """Return all facts of a case in its own language."""
    return record_sentences(case.patient, case.examinations, case.language)


def record_sentences(
    patient: PatientRecord, examinations: ExaminationRecord, language: Language
) -> list[RecordSentence]:
    """Return all facts of the records in their order: person, histories, results."""
    person = [RecordSentence("person", line) for line in _person(patient, language)]
    history = [RecordSentence(section, line) for section in HISTORIES for line in sentences(getattr(patient, section))]
    results = [RecordSentence(item, line) for item, text in examinations.results.items() for line in sentences(text)]
    return [*person, *history, *results]


def _person(patient: PatientRecord, language: Language) -> list[str]:
    language, years = rules_of(language), patient.age_years
    age = "" if years is None else age_in_words(years, language)
    sex = _SEX_ZH.get(patient.sex or "", "") if language == "zh" else patient.sex
    lines = zip(_PERSON[language], (age, sex, occupation_of(patient)), strict=True)
    return [line.format(value) for line, value in lines if value]


def occupation_of(patient: PatientRecord) -> str:
    """Return the occupation; empty if the record only says that the patient is a small child."""
    return "" if _NO_OCCUPATION.fullmatch(patient.occupation) else patient.occupation


def age_in_words(years: float, language: Language) -> str:
    """Return an age in completed years; under three in months, under two months in days."""
    in_years, in_months, in_days = {"en": (" years", " months", " days"), "zh": ("岁", "个月", "天")}[language]
    if years >= 3:
        return f"{int(years)}{in_years}"
    return f"{round(years * 12)}{in_months}" if years * 12 >= 2 else f"{round(years * 365)}{in_days}"
