"""Score a consultation: the report's diagnosis, the requested examinations, and the five parts of MVME."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from cases import Case
from cases.strict import Strict
from cases.text.named_tests import named_tests
from cases.text.prose import paragraph
from cases.vocabulary import EXAMINATION_ITEMS
from llm import ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.offline.record_answers import wants_examination
from nodes.state.chart import Turn, labelled_results
from nodes.state.collaboration import Collaboration
from scoring.metrics.diagnosis_grade import DiagnosisGrade, grade_offline
from scoring.metrics.set_overlap import canonical_items, intersection_over_union
from scoring.mvme.judges import MvmeGrades, ReportParts, grade


@dataclass(frozen=True)
class Exchange:
    """A doctor's turn with its reply."""

    number: int  # of the doctor's turn, from 1
    before: Sequence[Turn]  # the dialogue before it
    doctor: Turn  # the doctor's turn
    reply: Sequence[Turn]  # turns of patient and examiner until the doctor's next turn; empty where there are none

    @property
    def examined(self) -> bool:
        """Whether the patient went to the examiner; for a patient without one, whether results were requested."""
        addressees = {turn.addressee for turn in self.reply} - {None}
        return "examiner" in addressees or (not addressees and wants_examination(self.doctor.text))


def doctor_turns(dialogue: Sequence[Turn]) -> list[Exchange]:
    """Return each of the doctor's turns with its reply."""
    starts = [place for place, turn in enumerate(dialogue) if turn.speaker == "doctor"]
    return [
        Exchange(number, dialogue[:start], dialogue[start], dialogue[start + 1 : end])
        for number, (start, end) in enumerate(zip(starts, [*starts, len(dialogue)][1:], strict=True), start=1)
    ]


class ConsultationAnswers(Strict):
    """The results of a consultation, or of several with a discussion; what was not reached is empty."""

    report: FinalReport | None = None
    dialogue: list[Turn] = Field(
        default_factory=list, description="Dialogue of the doctor, or of the first of several doctors."
    )
    orders: list[str] = Field(default_factory=list, description="Closed items that the doctors asked for.")
    collaboration: Collaboration | None = Field(default=None, description="How several doctors came to one report.")
    disclosed: bool = Field(
        default=False, description="Whether the record was disclosed, so that nothing was found out by asking."
    )

    @property
    def diagnosis(self) -> list[str]:
        """The diagnoses of the report, the principal one first; empty without a report."""
        return self.report.diagnosis if self.report else []

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        """Extract the answers from a final (or interrupted) state of a consultation or collaboration."""
        consultations = state.get("consultations", [])
        dialogues = [consultation.dialogue for consultation in consultations] or [state.get("dialogue", [])]
        asked = {item for dialogue in dialogues for item in items_asked_for({**state, "dialogue": dialogue})}
        return cls(
            report=state.get("report"),
            dialogue=dialogues[0],
            orders=[item for item in EXAMINATION_ITEMS.names if item in asked],
            collaboration=state.get("collaboration"),
            disclosed=not any(dialogues) and "results" in state,
        )


class ConsultationScores(Strict):
    """One consultation against the answer key; None where the key has nothing to compare with."""

    diagnosis: DiagnosisGrade | None = Field(description="The five-level grade, by rules; 5 is best.")
    examinations: float | None = Field(
        description="Overlap (IoU) of the items asked for with those of the reference, 0 to 1."
    )
    asked_for: list[str] = Field(description="Closed items of the examinations that the doctor asked for.")
    parts: MvmeGrades = Field(description="The five parts of the report, A to D.")


class Orders(Strict):
    """The closed examination items of a case: requested and in the key, only requested, only in the key."""

    wanted: list[str]
    needless: list[str]
    missing: list[str]


def compare_orders(given: Collection[str], reference: Collection[str]) -> Orders:
    """Compare the requested examinations with the key, in the order of the vocabulary; unknown items come last."""
    asked, key = (canonical_items(items, EXAMINATION_ITEMS) for items in (given, reference))

    def listed(items: frozenset[str]) -> list[str]:
        known = [item for item in EXAMINATION_ITEMS.names if item in items]
        return [*known, *sorted(items - set(known))]

    return Orders(wanted=listed(asked & key), needless=listed(asked - key), missing=listed(key - asked))


def items_asked_for(state: Mapping[str, Any]) -> list[str]:
    """Return the closed items of the examinations that the doctor requested, in the order of the vocabulary."""
    named = {*state.get("physical_orders", []), *state.get("auxiliary_orders", [])}
    for turn in state.get("dialogue", []):
        if turn.speaker == "doctor" and wants_examination(turn.text):
            named |= {test.item for test in named_tests(turn.text)}
    return [item for item in EXAMINATION_ITEMS.names if item in named]


async def score_consultation(case: Case, state: Mapping[str, Any], settings: ModelSettings) -> ConsultationScores:
    """Compare the report of a finished consultation with the answer key.

    Raises:
        AskError: the director's model could not be asked or gave no valid answer; offline, the director is a rule.
    """
    items = items_asked_for(state)
    return ConsultationScores(
        diagnosis=grade_offline(state["report"].diagnosis, case.key.diagnosis),
        examinations=intersection_over_union(items, case.key.examination_items),
        asked_for=items,
        parts=await grade(report_parts(state["report"]), reference_parts(case), settings, case.language),
    )


def report_parts(report: FinalReport) -> ReportParts:
    """Return a doctor's report as the director reads it."""
    return ReportParts(
        symptoms=report.symptoms,
        examinations=report.examinations,
        diagnosis="\n".join(report.diagnosis),
        basis=report.basis,
        treatment=report.treatment,
    )


def reference_parts(case: Case) -> ReportParts:
    """Return the parts of a case's records and answer key as a reference report; a missing part is empty."""
    results = labelled_results(case.examinations.results, case.language)
    return ReportParts(
        symptoms=paragraph(case.patient.chief_complaint, case.patient.present_illness),
        examinations="\n".join(results),
        diagnosis="\n".join(case.key.diagnosis),
        basis=case.key.diagnosis_basis,
        treatment=case.key.treatment_course,
    )
