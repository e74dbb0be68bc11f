import pytest

from cases import load_cases
from scoring.aie.simulator_set import Played, read_items, shipped_files
from scoring.medpmc.judges import PatientScores, PersonaScores, view
from scoring.medpmc.patient_judgements import actor_judgement, as_consultations, patient_judgement, standard

CASES = {case.id: case for case in load_cases()}
ITEMS = [item for file in shipped_files() for item in read_items(file).records]


@pytest.mark.parametrize("case_id", ["dentistry-01", "dentistry-06"])
def test_the_replies_on_a_case_are_one_consultation_of_med_pmc(case_id: str) -> None:
    played = [Played(item, "", f"said {item.action}", f"meant {item.action}") for item in ITEMS]
    found = as_consultations(played, CASES)
    assert len(found) == 62
    transcript = found[case_id]
    codes = {"0", "A-A-A", "A-A-B", "A-B", "B-A-A", "B-A-B", "B-B", "C"}  # no demand, and not the end
    assert {turn.state for turn in transcript.turns_before_end} == codes
    assert len(transcript.history) == 8
    assert all(turn.told.startswith("meant") for turn in transcript.history)
    case = CASES[case_id]
    assert transcript.present_illness == case.patient.present_illness
    assert all(text in transcript.examinations for text in case.examinations.results.values())
    assert not transcript.diagnosis and not transcript.report  # nothing of the key


def test_without_the_actor_what_was_meant_is_said_and_what_no_actor_touched_stays() -> None:
    first, second = (item for item in ITEMS if item.case_id == "dentistry-01" and item.action.startswith("Effective"))
    played = [Played(first, "", "Look, doc. Yes.", "Yes."), Played(second, "", "ct: normal")]
    assert [(one.reply, one.plain) for one in standard(played)] == [("Yes.", "Yes."), ("ct: normal", "")]
    [transcript] = as_consultations(standard(played), CASES).values()
    assert view(transcript, "en").replies == [("Yes.", "Yes.")]  # a technician's results have no character


def test_the_patients_aspects_stand_beside_their_sum() -> None:
    given = PatientScores(description=2, completeness=1.5, cooperation=1, understanding=0.5, communication=0)
    samples = patient_judgement({"a": given, "b": given}, "w S-T")
    assert {name: [sample.value for sample in found] for name, found in samples.items()} == {
        "D w S-T": [2, 2],
        "I w S-T": [1.5, 1.5],
        "C w S-T": [1, 1],
        "U w S-T": [0.5, 0.5],
        "CM w S-T": [0, 0],
        "Total w S-T": [5, 5],
    }


def test_consistency_without_the_actor_is_left_out() -> None:
    scores = {"a": PersonaScores(semantic_consistency=5, character_features=1)}
    assert list(actor_judgement(scores, "w Actor", acted=True)) == [
        "Semantic Consistency w Actor",
        "Character Feature w Actor",
    ]
    assert actor_judgement(scores, "w/o Actor", acted=False) == {"Character Feature w/o Actor": [("a", 1)]}
