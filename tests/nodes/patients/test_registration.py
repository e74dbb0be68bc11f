from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from cases.registry import RegistryError
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideOutput, PatientSideState


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ({"examines": "no"}, "examines = 'no'; expected True or False"),
        ({"tracks": 1}, "tracks = 1; expected True or False"),
        ({"greets": True}, "greets = True needs opens = True"),
        ({"doctor": "clinichatt"}, "unknown doctor 'clinichatt': did you mean 'clinichat'?"),
        ({"settings": ("doctor_knowz",)}, "unknown setting 'doctor_knowz': did you mean 'doctor_knows'?"),
        ({"settings": "tracker"}, "settings = 'tracker'; expected a tuple of names, ('tracker',)"),
    ],
    ids=str,
)
def test_a_capability_that_is_none_is_refused_where_it_is_declared(declared: dict[str, Any], reason: str) -> None:
    with pytest.raises(RegistryError) as refused:
        patient("slip", **{"examines": False, **declared})
    assert str(refused.value).startswith("patient 'slip': ") and reason in str(refused.value)


class Mood(PatientSideState, total=False):
    """What a patient might want to keep."""

    patience: int


def say(state: Mood) -> dict[str, Any]:
    return {"patience": state.get("patience", 3) - 1}


def test_what_a_patient_would_lose_from_one_reply_to_the_next_is_refused_with_what_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PATIENTS, "_entries", dict(PATIENTS))
    with pytest.raises(RegistryError, match="returns patience, but only the dialogue is kept after a reply"):
        patient("grumpy", examines=False)(lambda: StateGraph(Mood).add_node(say).add_edge(START, "say"))
    patient("grumpy", examines=False)(
        lambda: StateGraph(Mood, output_schema=PatientSideOutput).add_node(say).add_edge(START, "say")
    )
    assert "grumpy" in PATIENTS


def test_what_a_patient_declares_is_what_is_known_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PATIENTS, "_entries", dict(PATIENTS))
    capabilities = dict.fromkeys(("examines", "opens", "greets", "tracks", "told"), True)
    declared: dict[str, Any] = {**capabilities, "doctor": "clinichat", "speaker": "examiner", "shows": False}
    declared["settings"] = ("tracker",)
    patient("declared", **declared)(
        lambda: StateGraph(PatientSideState).add_node("answer", lambda state: {}).add_edge(START, "answer")
    )
    assert {name: getattr(PATIENTS["declared"], name) for name in declared} == declared
