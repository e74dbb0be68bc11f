"""What the stages decide: one answer type per decision."""

import re
from collections.abc import Mapping, Set
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationInfo, model_validator

from cases.strict import NonEmpty, Strict, UniqueItems
from cases.vocabulary import (
    GivenAuxiliaryItem,
    GivenDepartment,
    GivenPhysicalItem,
    GivenSubDepartment,
    GivenTreatmentItem,
    GivenUrgency,
    Language,
    label,
    labels,
)
from prompts import in_series, listed, mark

# What weak models write instead of a reason.
_NO_REASON = re.compile(
    r"\W*+(?:true|false|yes|no|none|null|n/?a|(?:no )?reasons?|是|否|(?:无|没有)?(?:原因|理由)?)\W*", re.IGNORECASE
)

_EMPTY: tuple[object, ...] = ("", None, [], {})  # what says nothing; 0 and false say something


class Decision(Strict):
    """Base of everything that a stage can decide.

    Attributes:
        compared: the fields by which decisions of one kind are compared and voted on; all if none is named.
    """

    compared: ClassVar[tuple[str, ...]] = ()

    def choices(self) -> frozenset[str]:
        """Return what is compared, as a set."""
        dump = self.model_dump(mode="json", include=set(self.compared) or None)
        values = [value if isinstance(value, list) else [value] for value in dump.values()]
        return frozenset(str(item) for value in values for item in value if item not in _EMPTY)

    def listed(self) -> list[str]:
        """Return the choices in the decision's own order."""
        choices = self.choices()
        dump = self.model_dump(mode="json", exclude={name for name, value in self if isinstance(value, Set)})
        lists = ([*map(str, value)] for value in dump.values() if isinstance(value, list))
        return next((items for items in lists if frozenset(items) == choices), sorted(choices))

    def labelled(self, language: Language) -> list[str]:
        """Return the choices in alphabetical order, as they are called in a language."""
        return labels(sorted(self.choices()), language)

    def told(self, language: Language) -> str:
        """Return the decision as a prompt shows it."""
        return in_words(self.model_dump(mode="json"), language)


def in_words(decision: Mapping[str, Any], language: Language) -> str:
    """Return a decision as a prompt shows it: its values, with terms in the language; "none" if it is empty."""
    texts = (_in_words(name, value, language) for name, value in decision.items() if value not in _EMPTY)
    return in_series(texts, language) or mark("nothing", language)


def _in_words(name: str, value: Any, language: Language) -> str:
    """Return the value of a field, or of an entry of a list; a number, and true or false, after the field's name."""
    if isinstance(value, Mapping):
        return listed((_in_words(part, of, language) for part, of in value.items() if of not in _EMPTY), language)
    if isinstance(value, list):
        if all(isinstance(entry, str) for entry in value):
            return listed(labels(value, language), language)
        return in_series((_in_words("", entry, language) for entry in value), language)
    text = label(str(value), language)
    return f"{name}{mark('label', language)}{text}" if name and isinstance(value, int | float) else text


class Triage(Decision):
    """How urgent the case is, and the one department to refer it to."""

    urgency: GivenUrgency = Field(description="How soon the patient must be seen.")
    department: GivenDepartment = Field(description="The single first-level department.")
    compared = ("department",)  # urgency alone is no ground for an objection

    def labelled(self, language: Language) -> list[str]:
        """Return the department's name: `Surgery` is no operation here."""
        return [label(self.department, language)]


class SubDepartments(Decision):
    """The second-level departments, one or more, of the chosen department."""

    sub_departments: Annotated[list[GivenSubDepartment], UniqueItems] = Field(min_length=1)


class PhysicalOrders(Decision):
    """The physical examinations to do; the list may be empty."""

    items: Annotated[list[GivenPhysicalItem], UniqueItems]


class AuxiliaryOrders(Decision):
    """The auxiliary examinations to do; the list may be empty."""

    items: Annotated[list[GivenAuxiliaryItem], UniqueItems]


class Report(Decision):
    """The report on the pictures (or the described findings) of one image class."""

    findings: NonEmpty = Field(description="What is seen, in full sentences.")
    impression: str = Field(description="What the findings mean; empty if that cannot be said.")

    def choices(self) -> frozenset[str]:
        """Return both texts."""
        return frozenset({self.findings, self.impression})

    def listed(self) -> list[str]:
        """Return the findings, then the impression."""
        return [text for text in (self.findings, self.impression) if text]

    def __str__(self) -> str:
        """Return the report as one text."""
        return "\n".join(self.listed())


class Diagnosis(Decision):
    """The diagnoses, the principal one first, and what they rest on."""

    names: Annotated[list[NonEmpty], UniqueItems] = Field(
        min_length=1, description="Diagnoses, the principal one first."
    )
    basis: str = Field(description="The findings that the diagnoses rest on.")
    compared = ("names",)


class Treatment(Decision):
    """The kinds of treatment, from the closed list, and the plan in words."""

    items: Annotated[list[GivenTreatmentItem], UniqueItems] = Field(min_length=1)
    plan: str = Field(description="The plan in words: what is done.")
    compared = ("items",)


class Referral(Strict):
    """The outcome of the first stage: urgency and both department levels."""

    urgency: GivenUrgency
    department: GivenDepartment
    sub_departments: list[str]


class Verdict(Strict):
    """Whether the decision can be built on, and if not, why."""

    # The reason comes first: a small model that had to say `accepted` first refused 624 of 632 decisions.
    reason: str = Field(description="Required if not accepted: what is wrong, and what would correct it.")
    accepted: bool

    @model_validator(mode="wrap")
    @classmethod
    def _require_a_reason(cls, given: Any, read: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Reject an objection without a reason once; if the repaired answer has none either, leave the reason empty."""
        verdict = read(given)
        closed = (info.context or {}).get("closed")
        if closed is None or verdict.accepted or not _NO_REASON.fullmatch(verdict.reason):
            return verdict
        if closed:
            raise ValueError("a decision that is not accepted needs a reason: what is wrong, and what would correct it")
        return verdict.model_copy(update={"reason": ""})


class Judgement(Strict):
    """A verdict with who gave it."""

    judge: str
    verdict: Verdict


class Round(Strict):
    """One decision of a stage, the judgements on it, and the reply to the objections before it."""

    decision: dict[str, object]
    judgements: list[Judgement] = Field(default_factory=list)
    reply: str = Field(default="", description="Reply to the objections to the previous decision, if there was one.")

    def told(self, language: Language) -> str:
        """Return the decision as a prompt shows it."""
        return in_words(self.decision, language)


class StageRecord(Strict):
    """How a stage reached its decision."""

    stage: str = Field(description="Name of the stage, with a colon and the image class if it has one.")
    position: int = Field(default=0, description="Position of the stage in the course; the first is 0.")
    visit: int = Field(default=0, description="Number of times that the case had been sent back before.")
    strategy: str = Field(default="group", description="Strategy by which it was decided.")
    ended: Literal["agreed", "exhausted", "not_judged"] = Field(
        description="Why it ended: all who had to agree did, the rounds were used up, or nobody was asked to agree."
    )
    rounds: list[Round]
