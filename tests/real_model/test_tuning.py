"""The same weights in this process: on every seat as `hf:`, and as the base of an interviewer that is trained here."""

from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from cases.dialogues import Dialogue
from graphs import consultation, reconstruction
from tests.real_model.interviewer import SOURCE, TARGET, losses
from wardround.tuning.configuration import read_tuning
from wardround.tuning.train import train

pytestmark = pytest.mark.real_model

CASES = [case for case in load_cases() if case.language == "en" and case.split == "train"][:7]
CONSULTATION: Any = consultation
RECONSTRUCTION: Any = reconstruction


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    return [RECONSTRUCTION.invoke({"case": case})["dialogue"] for case in CASES]


@pytest.fixture(scope="module")
def tuned(folder: Path, dialogues: list[Dialogue], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("tuned")
    sizes = {"batch": 8, "source": SOURCE, "target": TARGET, "learning_rate": 1e-3, "precision": "bfloat16"}
    train(read_tuning({"base": str(folder), "method": "lora", **sizes}), dialogues[:5], out)
    return out


def test_tuning_lowers_the_loss_on_dialogues_of_notes_that_were_held_out(
    folder: Path, tuned: Path, dialogues: list[Dialogue]
) -> None:
    before, after = losses(folder, dialogues[5:]), losses(tuned, dialogues[5:])
    assert {case: after[case] < before[case] for case in before} == dict.fromkeys(before, True)


@pytest.mark.parametrize("weights", ["folder", "tuned"])
def test_base_and_interviewer_hold_a_consultation_in_plain_words(weights: str, request: pytest.FixtureRequest) -> None:
    spec = f"hf:{request.getfixturevalue(weights)}"
    models = {"default": "offline", "clinichat.doctor": spec}
    context = {"patient": "clinichat", "max_turns": 3, "max_tokens": TARGET, "retrieval": False, "models": models}
    result = CONSULTATION.invoke({"case": CASES[0]}, context=context)
    said = [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"]
    assert said and all(said) and result["dialogue_ended"] in ("turn_limit", "concluded", "patient_ended")
