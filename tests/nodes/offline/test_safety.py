"""What no offline doctor does to any patient of the built-in cases, whoever of a group decides."""

import re
from dataclasses import replace
from functools import cache

import pytest

from cases import Case, load_cases
from cases.sexes import bound_to_sex
from cases.vocabulary import AUXILIARY_ITEMS, DEPARTMENTS, PHYSICAL_ITEMS, SECOND_LEVEL, TREATMENT_ITEMS
from nodes.offline.diagnoses import is_founded
from nodes.offline.group_words import is_undetermined
from nodes.offline.places import is_called_for
from nodes.offline.votes import EYES, Evidence, majority
from nodes.state.chart import Chart, Presentation
from nodes.state.decisions import Diagnosis, Referral
from nodes.workflow.stages import STAGES
from retrieval import Neighbour, RememberedCase

CASES = load_cases()
BY_RADIATION = {"X-ray", "CT", "Nuclear Medicine Imaging", "Radiation Therapy", "Chemotherapy"}
DANGEROUS = {"Surgery", "Interventional Therapy", "Radiation Therapy", "Chemotherapy", "Immunotherapy"}
PREGNANT = re.compile(r"weeks pregnant|baby is due|expecting my|孕\d+周|停经\d")


@cache
def remembered() -> list[Neighbour]:
    """Every case, as if it were near to any patient: the worst that a memory can offer."""
    return [
        Neighbour(
            RememberedCase(
                id=case.id,
                verified=True,
                language=case.language,
                sex=case.patient.sex,
                age_years=case.patient.age_years,
                department=case.key.department,
                sub_departments=case.key.sub_departments,
                physical_examination=dict.fromkeys(case.examinations.physical, "-"),
                auxiliary_examination=dict.fromkeys(case.examinations.auxiliary, "-"),
                diagnosis=case.key.diagnosis,
                treatment_items=case.key.treatment_items,
            ),
            0.9,
        )
        for case in CASES
    ]


def chart_of(case: Case) -> Chart:
    patient = case.patient
    return Chart(
        language=case.language,
        presentation=Presentation(
            language=case.language,
            age_years=patient.age_years,
            sex=patient.sex,
            chief_complaint=patient.chief_complaint,
            present_illness=patient.present_illness,
        ),
        referral=Referral(urgency="routine", department=case.key.department or "", sub_departments=[]),
        triage=None,
        dialogue=[],
        results=case.examinations.results,
        pictures=[],
        reports={},
        diagnosis=None,
        decided={},
    )


def near(case: Case) -> list[list[Neighbour]]:
    """Return the other cases by sixes: whichever are the nearest."""
    others = [each for each in remembered() if each.case.id != case.id]
    return [others[place : place + 6] for place in range(0, len(others), 6)]


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.id)
def test_whatever_cases_are_near_orders_have_a_reason_and_harm_no_unborn_child(case: Case) -> None:
    chart = chart_of(case)
    pregnant = case.patient.sex == "female" and PREGNANT.search(chart.patients_words)
    for similar in near(case):
        for stage, options in (("physical", PHYSICAL_ITEMS), ("auxiliary", AUXILIARY_ITEMS)):
            for seat in range(1, len(EYES) + 1):
                decided = majority(
                    Evidence(STAGES[f"history_taking.{stage}"], chart, similar, options.names, seat=seat)
                )
                assert all(is_called_for(item, chart) for item in decided.choices())
                assert not (pregnant and decided.choices() & BY_RADIATION)
        treated = majority(Evidence(STAGES["treatment"], chart, similar, TREATMENT_ITEMS.names))
        assert not (pregnant and treated.choices() & BY_RADIATION)


@pytest.mark.parametrize("case", CASES[1::3], ids=lambda case: case.id)
def test_whatever_cases_are_near_a_diagnosis_and_a_clinic_fit_sex_age_and_what_was_told(case: Case) -> None:
    chart, patient = chart_of(case), case.patient
    for similar in near(case):
        decided = majority(Evidence(STAGES["diagnosis"], chart, similar))
        assert isinstance(decided, Diagnosis)
        taken = {name for each in similar for name in each.case.diagnosis[:1]} & set(decided.names[:1])
        for name in taken:
            assert patient.sex is None or not bound_to_sex(name, patient.sex, case.language)
            assert is_founded(name, chart) or is_undetermined(name, case.language)
        department = next(
            iter(majority(Evidence(STAGES["referral.level1"], chart, similar, DEPARTMENTS.names)).choices())
        )
        clinics = SECOND_LEVEL[case.key.department].names if case.key.department else ()
        chosen = majority(Evidence(STAGES["referral.level2"], chart, similar, clinics)).choices()
        if patient.age_years is not None and patient.age_years >= 18:
            assert department != "Pediatrics" and not any(name.startswith("Pediatric") for name in chosen)
        if patient.sex == "male":
            assert department != "Obstetrics and Gynecology"


@pytest.mark.parametrize("case", CASES[2::3], ids=lambda case: case.id)
def test_whatever_cases_are_near_nothing_dangerous_is_done_before_a_finding_calls_for_it(case: Case) -> None:
    blind = replace(chart_of(case), results={"General Examination": "Temperature 36.6 °C, body mass index 24."})
    for similar in near(case):
        for names in (["Appendicitis"], similar[0].case.diagnosis):
            told = replace(blind, diagnosis=Diagnosis(names=names, basis="what the patient told"))
            for seat in range(1, len(EYES) + 1):
                treated = majority(Evidence(STAGES["treatment"], told, similar, TREATMENT_ITEMS.names, seat=seat))
                assert not treated.choices() & DANGEROUS


@pytest.mark.parametrize(
    ("treatment", "found", "is_given"),
    [
        ("Surgery", "Displaced fracture of the left radius.", True),
        ("Surgery", "No fracture, no dislocation.", False),
        ("Surgery", "子宫大小正常，盆腔无积液。", False),
        ("Interventional Therapy", "右冠状动脉闭塞。", True),
        ("Chemotherapy", "Biopsy: adenocarcinoma.", True),
        ("Chemotherapy", "Normal bone marrow.", False),
        ("Radiation Therapy", "甲状腺摄取增高。", True),
        ("Immunotherapy", "直接抗人球蛋白试验阳性。", True),
        ("Immunotherapy", "Haemoglobin 74 g/L.", False),
    ],
)
def test_what_a_case_of_the_same_disease_had_is_done_if_a_finding_of_this_patient_calls_for_it(
    treatment: str, found: str, is_given: bool
) -> None:
    chart = replace(
        chart_of(CASES[0]),
        results={"Pathological Examination": found},
        diagnosis=Diagnosis(names=["the disease"], basis=found),
    )
    similar = [
        Neighbour(RememberedCase(id="1", verified=True, diagnosis=["the disease"], treatment_items=[treatment]), 0.9)
    ]
    given = majority(Evidence(STAGES["treatment"], chart, similar, TREATMENT_ITEMS.names)).choices()
    assert (treatment in given) == is_given


@pytest.mark.parametrize(
    ("found", "is_called_for"),
    [
        ("The left wrist has a dinner-fork deformity.", True),
        ("Rebound tenderness in the lower right.", True),
        ("The right retina is lifted from 4 to 8 o'clock.", True),
        ("左下腹压痛，伴反跳痛。", True),
        ("腹软，无压痛、反跳痛。", False),
        ("Soft, no rebound tenderness. Ocular torsion on turning the head.", False),
        ("", False),
    ],
)
def test_what_only_an_operation_mends_is_operated_on_before_the_illness_has_a_name(
    found: str, is_called_for: bool
) -> None:
    chart = replace(
        chart_of(CASES[0]),
        results={"Abdominal Examination": found},
        diagnosis=Diagnosis(names=["Undetermined (the complaint)"], basis=found),
    )
    similar = [Neighbour(RememberedCase(id="1", verified=True, diagnosis=["x"], treatment_items=["Medication"]), 0.9)]
    given = majority(Evidence(STAGES["treatment"], chart, similar, TREATMENT_ITEMS.names)).choices()
    assert ("Surgery" in given) == is_called_for
    assert "Medication" in given


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_offline_doctor_prescribes_a_drug_so_that_no_allergy_is_overlooked(language: str) -> None:
    """Treatments are kinds from a closed list, with no plan in words."""
    for case in (case for case in CASES if case.language == language):
        treated = majority(Evidence(STAGES["treatment"], chart_of(case), remembered()[:5], TREATMENT_ITEMS.names))
        assert set(treated.choices()) <= set(TREATMENT_ITEMS.names) and not getattr(treated, "plan", "")
