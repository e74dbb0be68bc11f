"""The case: what the patient knows, what examinations show, and the answer key."""

import re
import unicodedata
from collections.abc import Iterable
from operator import not_
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from cases.strict import Strict, UniqueItems
from cases.vocabulary import (
    IMAGE_CLASSES,
    USUAL_SIGNS,
    AuxiliaryItem,
    Department,
    ExaminationItem,
    Language,
    PhysicalItem,
    SubDepartment,
    TreatmentItem,
)

LONGEST = 200_000  # characters of a text; a long record has some thousands, and rules take time to read it
_JOINERS = {0x200C, 0x200D}  # without them, words in Persian and some emoji are others
_USUAL = {sign: usual for sign, usual in USUAL_SIGNS.items() if sign not in _JOINERS}
_UNUSUAL = re.compile(f"[{''.join(map(chr, _USUAL))}]")
# The wide point of a number (３８．５), and not that of the mark of an entry (１．２型糖尿病, 2．24小时尿蛋白).
_WIDE_POINT = re.compile(r"(?<=\d)(?<!^\d)(?<![\s。；;]\d)．(?=\d{1,2}(?![\d.．/型级期度次个年月日周天岁]))")


def as_usually_typed(text: Any) -> Any:
    """Return a text in the usual signs, so that rules and models read the same words the same.

    Accents are one character with their letter (NFC), lines end in a line feed, wide letters and numbers, and spaces
    that do not break, are usual ones, and soft hyphens and zero-width characters are gone. What is no text stays as
    it is.
    """
    if not isinstance(text, str) or (text.isascii() and "\r" not in text):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Few texts have such signs, and to translate one takes 15 times as long as to search it.
    text = text.translate(_USUAL) if _UNUSUAL.search(text) else text
    text = _WIDE_POINT.sub(".", text)
    # An accent may follow an invisible character: joined last, it is with its letter at the first reading.
    return unicodedata.normalize("NFC", text)


def has_unusual_signs(text: str) -> bool:
    """Whether a text has wide letters or numbers, spaces that do not break, or invisible characters."""
    return _UNUSUAL.search(text) is not None or _WIDE_POINT.search(text) is not None


AS_USUALLY_TYPED = BeforeValidator(as_usually_typed)
Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST), AS_USUALLY_TYPED]
# A name or letter that is compared with others keeps the signs in which they are written.
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]
RequiredText = Annotated[Name, AS_USUALLY_TYPED]
Split = Literal["train", "validation", "test"]
Sex = Literal["female", "male"]


def is_none(value: object) -> bool:
    """Whether a new field is unset, so that older files are written back unchanged (``exclude_if``)."""
    return value is None


def _newer(of: type[str] | type[list[Any]] | type[dict[Any, Any]], description: str) -> Any:
    """Make a field that older files lack: empty, it is not written, so that they are written back unchanged."""
    absent: dict[str, Any] = {"default": ""} if of is str else {"default_factory": of}
    return Field(**absent, exclude_if=not_, description=description)


def _check_length(texts: Iterable[str]) -> None:
    """Refuse texts that are too long together: a chart joins them to one.

    Raises:
        ValueError: they are.
    """
    if (length := sum(len(text) + 1 for text in texts)) > LONGEST:
        raise ValueError(f"its texts have {length:,} characters together; at most {LONGEST:,} are allowed")


class PatientRecord(Strict):
    """What the patient knows and can tell. An absent section is empty text: it was not recorded."""

    age_years: float | None = Field(default=None, ge=0, le=130, description="Age in years; 0.5 is six months.")
    sex: Sex | None = Field(default=None, description="Recorded sex; null if not recorded.")
    occupation: Text = ""
    chief_complaint: RequiredText = Field(description="The complaint that the patient comes with, and since when.")
    present_illness: Text = Field(default="", description="Course of the present illness, as the patient knows it.")
    past_history: Text = Field(default="", description="Earlier diseases, operations, medication and allergies.")
    personal_history: Text = Field(
        default="", description="Habits, living conditions, travel, menstruation and births."
    )
    family_history: Text = ""

    @model_validator(mode="after")
    def _is_read_at_once(self) -> "PatientRecord":
        _check_length(text for text in vars(self).values() if isinstance(text, str))
        return self


class Image(Strict):
    """A picture that an examination yields."""

    file: Name = Field(description="Path of the picture, relative to the folder of the case file.")
    item: AuxiliaryItem = Field(description="Image class: the examination that yields the picture.")
    name: Text = _newer(str, "Name by which it is ordered within its class, such as angiography.")

    @model_validator(mode="after")
    def _is_imaging(self) -> "Image":
        if self.item not in IMAGE_CLASSES:
            raise ValueError(f"{self.item!r} is not an image class; expected one of {', '.join(IMAGE_CLASSES)}")
        return self


class ExaminationRecord(Strict):
    """Results of examinations, by item of the closed vocabulary."""

    physical: dict[PhysicalItem, RequiredText] = Field(default_factory=dict)
    auxiliary: dict[AuxiliaryItem, RequiredText] = Field(default_factory=dict)
    images: list[Image] = Field(default_factory=list)
    unpictured: dict[AuxiliaryItem, RequiredText] = _newer(
        dict,
        "Findings of an image class that none of its pictures shows, such as a chest CT in words beside "
        "pictures of the abdomen. They are reported with the pictures, and are part of the class's results too.",
    )

    @model_validator(mode="after")
    def _is_read_at_once(self) -> "ExaminationRecord":
        _check_length(self.results.values())
        return self

    @property
    def results(self) -> dict[str, str]:
        """All recorded results by item, physical items first."""
        return {**self.physical, **self.auxiliary}


class Plan(Strict):
    """Another sound treatment of the same patient."""

    treatment_course: Text = ""
    treatment_items: Annotated[list[TreatmentItem], UniqueItems] = Field(default_factory=list)


class AnswerKey(Strict):
    """The reference answers. An absent answer leaves its stage unscored; it is never shown to a doctor."""

    urgency: Literal["routine", "urgent", "emergency"] | None = None
    department: Department | None = Field(default=None, description="First-level department, one of 19.")
    sub_departments: Annotated[list[SubDepartment], UniqueItems] = Field(default_factory=list)
    examination_items: Annotated[list[ExaminationItem], UniqueItems] = Field(
        default_factory=list, description="Physical and auxiliary items that should be ordered."
    )
    imaging_reports: dict[AuxiliaryItem, RequiredText] = Field(
        default_factory=dict, description="Reference report by image class."
    )
    picture_reports: dict[str, RequiredText] = _newer(dict, "Reference report by file, for pictures with their own.")
    diagnosis: list[RequiredText] = Field(default_factory=list, description="Diagnoses, the principal one first.")
    diagnosis_basis: Text = ""
    treatment_course: Text = ""
    treatment_items: Annotated[list[TreatmentItem], UniqueItems] = Field(default_factory=list)
    alternative_plans: list[Plan] = _newer(
        list, "Other sound treatments; they count if an experiment sets `alternative_plans`."
    )
    question: Text = _newer(str, "Question that an exam asks at the end of the record.")
    options: dict[str, RequiredText] = _newer(dict, "Options of the question, by letter.")
    option: Annotated[str, StringConstraints(strip_whitespace=True)] = _newer(str, "Letter of the correct option.")
    entities: list[RequiredText] = _newer(list, "Names that the source has marked in the record.")
    inferred: Annotated[list[str], UniqueItems] = _newer(
        list, "Parts of this key that the source does not state, inferred by an importer."
    )

    @model_validator(mode="after")
    def _fits_itself(self) -> "AnswerKey":
        if self.option and self.option not in self.options:
            raise ValueError(f"option {self.option!r} is not one of the options {', '.join(self.options) or '(none)'}")
        if unknown := set(self.inferred) - set(type(self).model_fields) | {"inferred"} & set(self.inferred):
            raise ValueError(f"inferred: not part of an answer key: {', '.join(sorted(unknown))}")
        return self

    def with_renamed(self, pictures: Iterable[tuple[str, str]]) -> "AnswerKey":
        """Return the key with the reports of pictures that lie elsewhere now, given each one's old and new path."""
        by_path = dict(pictures)
        places = {Path(old).name: new for old, new in by_path.items() if old != new} | by_path
        reports = {
            places.get(file) or places.get(Path(file).name, file): report
            for file, report in self.picture_reports.items()
        }
        return self.model_copy(update={"picture_reports": reports}) if reports != self.picture_reports else self

    @property
    def stated(self) -> "AnswerKey":
        """The key without the parts that an importer inferred."""
        names = self.model_fields_set - {*self.inferred, "inferred"}
        return AnswerKey.model_validate({name: getattr(self, name) for name in names})


class Opening(Strict):
    """The first exchange of a dialogue, if the source provides it (AIE)."""

    doctor: RequiredText
    patient: RequiredText


class Provenance(Strict):
    """Where a case comes from and on what terms it may be used."""

    source: RequiredText
    licence: Text = ""
    note: Text = ""
    dataset: Text = _newer(str, "Name of the dataset within the source, if it has several.")
    record: str = _newer(str, "The record in the source's own words, with the question at its end.")
    sections: dict[str, str] = _newer(
        dict, "Sections of the record in the source's own words, by the source's names of them."
    )

    def of_changed_record(self) -> Self:
        """Return it without the source's own words, which a changed record no longer matches."""
        return self.model_copy(update={"record": "", "sections": {}})


class Case(Strict):
    """One patient's course: record, examinations and answer key, in one language."""

    id: Name
    parent_id: Name | None = Field(
        default=None, exclude_if=is_none, description="For a variant: id of the case that it was made from."
    )
    language: Language = "en"
    split: Split | None = None
    patient: PatientRecord
    examinations: ExaminationRecord = Field(default_factory=ExaminationRecord)
    key: AnswerKey = Field(default_factory=AnswerKey)
    opening: Opening | None = Field(
        default=None,
        exclude_if=is_none,
        description="Opening of the dialogue in the source: a greeting and the reply to it.",
    )
    provenance: Provenance
    folder: str = Field(
        default="", exclude=True, description="Folder that image paths are relative to; set on loading."
    )

    def report_of(self, item: str, file: str) -> str:
        """Return a picture's report, else its class's report, else the class's result; empty if there is none."""
        reports = self.key.picture_reports
        own = {Path(name).name: report for name, report in reports.items()} | reports
        of_class = {**self.examinations.results, **self.key.imaging_reports}
        return own.get(file) or own.get(Path(file).name) or of_class.get(item, "")
