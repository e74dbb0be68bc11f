"""Cases that the tests remember."""

from typing import Any

from cases import AnswerKey, Case, ExaminationRecord, PatientRecord, Provenance
from retrieval import RememberedCase


def verified(case_id: str, department: str | None = "Surgery", symptoms: str = "", **features: Any) -> RememberedCase:
    return RememberedCase(
        id=case_id, verified=True, department=department, symptoms=symptoms or f"symptoms of {case_id}", **features
    )


def pseudo(case_id: str, order: int, department: str | None = "Surgery", symptoms: str = "") -> RememberedCase:
    return RememberedCase(
        id=case_id,
        verified=False,
        order=order,
        department=department,
        symptoms=symptoms or f"symptoms of {case_id}",
    )


def appendicitis(case_id: str = "a1", split: Any = "train") -> Case:
    return Case(
        id=case_id,
        split=split,
        patient=PatientRecord(
            age_years=24,
            sex="female",
            chief_complaint="Pain in the right lower abdomen for one day",
            present_illness="The pain began around the navel. She has vomited twice. No diarrhoea.",
            past_history="Tonsillectomy at six.",
        ),
        examinations=ExaminationRecord(
            physical={"Abdominal Examination": "Rebound tenderness at McBurney's point"},
            auxiliary={"Blood Test": "Leukocytes 15.2 x 10^9/L"},
        ),
        key=AnswerKey(
            department="Surgery",
            sub_departments=["General Surgery"],
            imaging_reports={"Ultrasound": "Swollen appendix of 11 mm"},
            diagnosis=["Acute appendicitis"],
            treatment_items=["Surgery", "Antibiotic Therapy"],
        ),
        provenance=Provenance(source="written for this test"),
    )
