"""Reports that recall everything by saying everything."""

import pytest

from scoring.medpmc.metrics import score_medpmc, support
from scoring.metrics.samples import Definition
from tests.scoring.transcripts_of_ours import MEDPMC_HISTORY, REPORT, TEXT, medpmc

RECALLS = ("Inquiry", "Diagnosis", "Treatment")
OTHERS = (
    "liver kidney brain spine thyroid ovary retina tibia femur asthma gout sepsis stroke anaemia migraine eczema "
    "insulin heparin dialysis biopsy chemotherapy vaccine splint suture drain catheter dressing plaster laser "
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
)


def reported(text: str) -> dict[str, float]:
    case = medpmc(*MEDPMC_HISTORY, diagnosis_self=text)
    found = {name: each[0].value for name, each in score_medpmc([case]).items() if each}
    return {**found, "support": 100 * (support(case) or 0.0)}


VOCABULARY = " ".join([*TEXT.values(), OTHERS * 3])


@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_the_vocabulary_as_the_report_has_full_recall_in_both_modes(definition: Definition) -> None:
    case = medpmc(*MEDPMC_HISTORY, diagnosis_self=VOCABULARY)
    found = score_medpmc([case], "rouge1", definition)
    assert all(found[name][0].value > 90 for name in RECALLS)


def test_its_support_is_far_below_that_of_an_honest_report() -> None:
    attack, honest = reported(VOCABULARY), reported(REPORT)
    assert all(attack[name] >= honest[name] for name in RECALLS)
    assert attack["support"] < 50 < honest["support"]


def test_saying_a_word_again_is_not_supported_again() -> None:
    assert reported("perforation " * 100)["support"] < 5


def test_nothing_said_is_supported_by_nothing() -> None:
    assert support(medpmc(*MEDPMC_HISTORY, diagnosis_self="")) is None
