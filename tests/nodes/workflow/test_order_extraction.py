import pytest

from cases.vocabulary import AUXILIARY_ITEMS, PHYSICAL_ITEMS, Language
from nodes.state.chart import Turn
from nodes.state.stage import Options
from nodes.workflow.order_extraction import DialogueView, items_by_name


@pytest.mark.parametrize("results_told", [False, True])
@pytest.mark.parametrize(
    ("language", "ordered", "wished"),
    [
        ("en", "Please have a blood test.", "Please, may I have a CT scan?"),
        ("zh", "请做血常规检查。", "请给我做CT检查。"),
    ],
)
def test_offline_what_the_patient_wishes_is_no_order_unless_the_doctor_gives_it(
    language: Language, ordered: str, wished: str, results_told: bool
) -> None:
    def orders(*turns: Turn) -> list[str]:
        options = Options(PHYSICAL_ITEMS.names, language), Options(AUXILIARY_ITEMS.names, language)
        found = items_by_name(DialogueView([*turns], *options, results_told))
        return [*found.physical, *found.auxiliary]

    doctor = Turn(speaker="doctor", text=ordered)
    assert orders(doctor, Turn(speaker="patient", text=wished)) == ["Blood Test"]
    assert orders(doctor, Turn(speaker="doctor", text=wished)) == ["CT", "Blood Test"]
