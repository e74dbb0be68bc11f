"""What is no fault of a case file and yet seldom meant."""

from typing import Any

import pytest

from cases import AnswerKey, Case, PatientRecord, Provenance, load_cases
from cases.case import ExaminationRecord
from cases.doubts import doubts, told_diagnosis


def case(name: str = "a", complaint: str = "Burning pain when passing water.", **parts: Any) -> Case:
    return Case(
        id=name,
        language=parts.pop("language", "en"),
        patient=PatientRecord(chief_complaint=complaint, **parts),
        examinations=ExaminationRecord(auxiliary={"Urine Test": "Nitrite positive; called 020-555-0199."}),
        key=AnswerKey(diagnosis=["Cystitis", "Hypertension"]),
        provenance=Provenance(source="a test", note="written by jane@example.org"),
    )


def test_the_built_in_cases_raise_no_doubt() -> None:
    assert list(doubts(load_cases())) == []


@pytest.mark.parametrize(
    ("patient", "told"),
    [
        ({"present_illness": "Her doctor called it cystitis."}, ["present_illness"]),
        ({"past_history": "Hypertension for ten years."}, []),
        ({"past_history": "Pericystitis."}, []),
    ],
)
def test_the_principal_diagnosis_is_found_where_the_patient_could_tell_it(
    patient: dict[str, str], told: list[str]
) -> None:
    assert told_diagnosis(case(**patient)) == told


@pytest.mark.parametrize(("name", "told"), [("肺炎", ["chief_complaint"]), ("PE", []), ("支气管肺炎", [])])
def test_a_diagnosis_is_found_in_chinese_and_one_of_two_letters_is_not_looked_for(name: str, told: list[str]) -> None:
    known = case(complaint="外院诊断为肺炎。PE?")
    assert told_diagnosis(known.model_copy(update={"key": AnswerKey(diagnosis=[name])})) == told


def test_each_doubt_names_its_cases() -> None:
    cases = [
        case("twin-1", "A cough for three weeks, worse at night, with yellow phlegm."),
        case("twin-2", "A cough for three weeks, worse at night, with yellow phlegm!"),
        case("other", "尿频、尿痛三天。"),
        case("same", "尿频、尿痛三天，伴发热。", language="zh"),
        case("named", "Mrs Hill, MRN 1234567, born on 3 May 1969, has a sore throat and cannot swallow."),
        case("french", "Mal de gorge depuis hier.", language="fr"),
    ]
    found = {doubt.partition(" ")[2]: ids for doubt, ids in doubts(cases)}
    assert found == {
        "text is not in the stated `language`": ["other"],
        "history is much like another case's (`wardround cases split` keeps them together)": ["twin-1", "twin-2"],
        "telephone number may tell who the patient is": [each.id for each in cases],
        "number of a person may tell who the patient is": ["named"],
        "date of birth may tell who the patient is": ["named"],
        "name may tell who the patient is": ["named"],
    }, "and no address: the provenance is shown to nobody"
