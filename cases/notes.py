"""Clinical notes, from which dialogues are reconstructed (CliniChat, section 3.1)."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field

from cases.case import AS_USUALLY_TYPED, Case, PatientRecord
from cases.strict import Strict
from cases.text.note_sections import heading, note_sections, read_sections
from cases.text.record_sentences import HISTORIES
from cases.vocabulary import Language, label

_UNITS = ((1 / 12, "month", "个月"), (7 / 365.25, "week", "周"), (1 / 365.25, "day", "天"))  # each in years


class Note(Strict):
    """One patient's note as running text, with what is known of it besides the text."""

    model_config = ConfigDict(str_strip_whitespace=True)

    id: str = Field(min_length=1)
    text: Annotated[str, AS_USUALLY_TYPED] = Field(min_length=1)
    language: Language = "en"
    department: str | None = None
    diseases: list[str] = Field(default_factory=list, description="Diagnosed diseases, the principal one first.")
    answer: str = Field(default="", description="What the answer key adds to the text, under its heading.")

    source: str = Field(default="", description="File that the note was read from; keeps test notes out of training.")

    @property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """The sentences of the text by section."""
        return read_sections(self.text, self.language)

    def shown(self, with_answer: bool) -> "Note":
        """Return the note as it is shown: without the answer key, or with all of it in the text."""
        if not with_answer:
            return self.model_copy(update={"answer": "", "diseases": []})
        unsaid = [disease for disease in self.diseases if disease.casefold() not in self.text.casefold()]
        answer = self.answer or diagnosis_line(unsaid, self.language)
        return self.model_copy(update={"text": "\n".join(filter(None, (self.text, answer))), "answer": ""})


def lacking(note: Note) -> list[str]:
    """Return which of complaint, history and results are missing from a note."""
    present = {note_sections()[name].part for name in note.sections}
    return [part for part in ("complaint", "history", "results") if part not in present]


def note_of(case: Case) -> Note:
    """Write a case as a note with headings: history and findings; the diagnosis is kept apart as ``answer``."""
    patient, key, language = case.patient, case.key, case.language
    stop, space = ("。", "") if language == "zh" else (".", " ")
    results = {"physical_examination": case.examinations.physical, "test_results": case.examinations.auxiliary}
    findings = {
        section: space.join(_headed(label(item, language), text, language) for item, text in found.items())
        for section, found in results.items()
    }
    sections = {
        "person": who_is(patient, language),
        **{name: getattr(patient, name) for name in HISTORIES},
        **findings,
    }
    lines = [_headed(heading(name, language), text, language) for name, text in sections.items() if text]
    return Note(
        id=case.id,
        text="\n".join(line if line.endswith((".", "。", "!", "?")) else line + stop for line in lines),
        language=language,
        department=key.department,
        diseases=key.diagnosis,
        answer=diagnosis_line(key.diagnosis, language),
    )


def diagnosis_line(diseases: Sequence[str], language: Language) -> str:
    """Return what an answer key adds to a note: its diseases under their heading; empty if there are none."""
    listed, stop = ("；", "。") if language == "zh" else ("; ", ".")
    return f"{_headed(heading('assessment', language), listed.join(diseases), language)}{stop}" if diseases else ""


def who_is(patient: PatientRecord, language: Language) -> str:
    """Return age, sex and occupation in a few words; empty if none is recorded."""
    age, sex, work = _age(patient.age_years, language), patient.sex, patient.occupation
    if language == "zh":
        return "，".join(filter(None, (age, {"female": "女", "male": "男", None: ""}[sex], work)))
    return ", ".join(filter(None, (" ".join(filter(None, (age, sex or ""))), work)))


def _age(years: float | None, language: Language) -> str:
    """Return an age in completed years; under three in months, weeks or days, unless it is one year or two exactly."""
    if years is None:
        return ""
    if years >= 3 or years in (1, 2):
        return f"{int(years)}岁" if language == "zh" else f"{int(years)}-year-old"
    length, english, chinese = next((unit for unit in _UNITS if years >= 2 * unit[0]), _UNITS[-1])
    count = round(years / length)
    return f"{count}{chinese}" if language == "zh" else f"{count}-{english}-old"


def _headed(name: str, text: str, language: Language) -> str:
    return f"{name}：{text}" if language == "zh" else f"{name}: {text}"
