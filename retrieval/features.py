"""A remembered case: the twelve features of MedCase-RAG, and their text in a prompt."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from cases.case import Case, Name, Sex, Text, is_none
from cases.impersonal import impersonal_text
from cases.strict import Strict
from cases.text.symptoms import describe_symptoms
from cases.vocabulary import (
    DEPARTMENTS,
    EXAMINATION_ITEMS,
    SUB_DEPARTMENTS,
    TREATMENT_ITEMS,
    AuxiliaryItem,
    Department,
    Language,
    PhysicalItem,
    SubDepartment,
    TreatmentItem,
)
from prompts import age, listed, load_words, mark


class RememberedCase(Strict):
    """An earlier case in twelve features. An unverified one is a pseudo-case: a run's own answers, written back."""

    id: Name
    parent_id: Name | None = Field(
        default=None, exclude_if=is_none, description="For a variant: id of the case that it was made from."
    )
    language: Language = "en"
    verified: bool = Field(description="True if the features are from a reference record; false for a pseudo-case.")
    order: int | None = Field(default=None, ge=0, description="Position in the run that wrote it; null if verified.")

    age_years: float | None = Field(default=None, ge=0, le=130)
    sex: Sex | None = None
    chief_complaint: Text = ""
    symptoms: Text = Field(default="", description="Symptom description, by whose embedding the case is found.")
    told: Text = Field(
        default="",
        description="The symptoms by rule where `symptoms` are a model's; shown to nobody, to recognise the case by.",
    )
    history: Text = ""
    physical_examination: dict[PhysicalItem, str] = Field(default_factory=dict)
    auxiliary_examination: dict[AuxiliaryItem, str] = Field(default_factory=dict)
    imaging_report: dict[AuxiliaryItem, str] = Field(default_factory=dict)
    diagnosis: list[str] = Field(default_factory=list)
    treatment_items: list[TreatmentItem] = Field(default_factory=list)
    department: Department | None = Field(
        default=None,
        description="First-level department; without one, the case is found where a department has too few.",
    )
    sub_departments: list[SubDepartment] = Field(default_factory=list)

    @model_validator(mode="after")
    def _order_belongs_to_pseudo_cases(self) -> "RememberedCase":
        if self.verified and self.order is not None:
            raise ValueError("a verified case has no order; only pseudo-cases of a run have one")
        return self

    def impersonal(self) -> "RememberedCase":
        """Return the case without personal details (see ``cases.impersonal``)."""

        def masked(text: str) -> str:
            return impersonal_text(text, self.language, self.sex, self.age_years)

        texts = {name: masked(getattr(self, name)) for name in ("chief_complaint", "symptoms")}
        found = {
            name: {item: masked(text) for item, text in getattr(self, name).items()}
            for name in ("physical_examination", "auxiliary_examination", "imaging_report")
        }
        return self.model_copy(update={"age_years": None, "sex": None, "told": "", "history": "", **texts, **found})


def remember(case: Case, symptoms: str | None = None) -> RememberedCase:
    """Turn a case into a verified remembered case, from its record and its answer key.

    Without ``symptoms``, the symptom description is derived from the patient's words by rule.
    """
    patient, examinations, key = case.patient, case.examinations, case.key
    by_rule = describe_symptoms(patient.chief_complaint, patient.present_illness, language=case.language)
    history = (patient.past_history, patient.personal_history, patient.family_history)
    return RememberedCase(
        id=case.id,
        parent_id=case.parent_id,
        language=case.language,
        verified=True,
        order=None,
        age_years=patient.age_years,
        sex=patient.sex,
        chief_complaint=patient.chief_complaint,
        symptoms=symptoms or by_rule,
        told=by_rule if symptoms else "",
        history=mark("space", case.language).join(filter(None, history)),
        physical_examination=examinations.physical,
        auxiliary_examination=examinations.auxiliary,
        imaging_report=key.imaging_reports,
        diagnosis=key.diagnosis,
        treatment_items=key.treatment_items,
        department=key.department,
        sub_departments=key.sub_departments,
    )


def feature_text(case: RememberedCase) -> str:
    """Return a remembered case as labelled lines, one per feature that is present.

    The last line of a pseudo-case says that it is not verified.
    """
    texts = {name: value for name, value in _feature_texts(case, case.language).items() if name not in _ITEM_NAMES}
    return "\n".join([*_labelled(texts, case.language), *_warning(case, case.language)])


def feature_line(case: RememberedCase, language: Language, shown: Sequence[str], image_class: str | None = None) -> str:
    """Return a remembered case as one line of a prompt: age, sex and some features; empty if it has none of these.

    Args:
        case: the case.
        language: of the labels and vocabulary terms.
        shown: the features; ``physical_items`` and ``auxiliary_items`` are the names of the examinations done, without
            results.
        image_class: whose imaging report to show; all if None.
    """
    texts = _feature_texts(case, language, image_class)
    wanted = {name: texts[name] for name in shown if name in texts}
    if not wanted:
        return ""
    clause, colon, stop, space = (mark(kind, language) for kind in ("clause", "label", "stop", "space"))
    person = clause.join(texts[name] for name in ("age_years", "sex") if name in texts)
    words = [wanted.pop(name) for name in _WORDS if name in wanted]
    lines = [colon.join(filter(None, [person, *words])), *_labelled(wanted, language), *_warning(case, language)]
    return space.join(f"{line.rstrip(_STOPS)}{stop}" for line in lines if line)


_WORDS = ("chief_complaint", "symptoms")  # shown without a label
_STOPS = " .。"  # of either language
_ITEM_NAMES = {"physical_items": "physical_examination", "auxiliary_items": "auxiliary_examination"}
FEATURES = frozenset((*RememberedCase.model_fields, *_ITEM_NAMES)) - {"told"}  # that can be shown


def _feature_texts(case: RememberedCase, language: Language, image_class: str | None = None) -> dict[str, str]:
    """Return the text of each feature that is present."""
    words = load_words("medchain/remembered_case", language)
    colon, comma, semicolon = (mark(kind, language) for kind in ("label", "listed", "series"))

    def results(found: Mapping[str, str]) -> str:
        return semicolon.join(f"{EXAMINATION_ITEMS.label(item, language)}{colon}{said}" for item, said in found.items())

    reports = {item: text for item, text in case.imaging_report.items() if image_class in (None, item)}
    values: dict[str, Any] = {
        "age_years": _age(case.age_years, words),
        "sex": words[case.sex] if case.sex else "",
        "chief_complaint": case.chief_complaint,
        "symptoms": case.symptoms,
        "history": case.history,
        "physical_examination": results(case.physical_examination),
        "auxiliary_examination": results(case.auxiliary_examination),
        "imaging_report": results(reports),
        "diagnosis": semicolon.join(case.diagnosis),
        "treatment_items": comma.join(TREATMENT_ITEMS.label(item, language) for item in case.treatment_items),
        "department": DEPARTMENTS.label(case.department or "", language),
        "sub_departments": comma.join(SUB_DEPARTMENTS.label(name, language) for name in case.sub_departments),
    }
    for name, done in _ITEM_NAMES.items():
        values[name] = listed((EXAMINATION_ITEMS.label(item, language) for item in getattr(case, done)), language)
    return {name: value for name, value in values.items() if value}


def _labelled(texts: Mapping[str, str], language: Language) -> list[str]:
    words, colon = load_words("medchain/remembered_case", language), mark("label", language)
    return [f"{words[name]}{colon}{value}" for name, value in texts.items()]


def _warning(case: RememberedCase, language: Language) -> list[str]:
    return [] if case.verified else [load_words("medchain/remembered_case", language)["pseudo"]]


def _age(years: float | None, words: Mapping[str, Any]) -> str:
    return "" if years is None else age(years, words["years"], words["months"], words["days"])
