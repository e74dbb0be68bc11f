from typing import Any

import pytest
from pydantic import ValidationError

from cases.vocabulary import EXAMINATION_ITEMS, label
from llm import ModelSettings, ask
from llm.role import variables
from prompts import load_prompt
from scoring.medpmc.judges import (
    ConsultationScores,
    PatientScores,
    PersonaScores,
    consultation_judge,
    judge_consultation_offline,
    judge_patient_offline,
    judge_persona_offline,
    patient_judge,
    persona_judge,
    view,
)
from tests.scoring.transcripts_of_ours import IMAGES, MEDPMC_HISTORY, TEXT, medpmc, turn


def test_a_judge_reads_the_dialogue_in_the_words_of_its_language() -> None:
    case = medpmc(turn("0", "Hi", "Pain"), turn("D", "Bye"))
    assert view(case, "en").dialogue == "Doctor: Hi\nPatient: Pain\nDoctor: Bye"
    assert view(case, "zh").dialogue == "医生：Hi\n患者：Pain\n医生：Bye"


def test_no_empty_reply_to_a_conclusion_reads_as_a_silent_patient() -> None:
    assert view(medpmc(turn("0", "Hi", "Pain"), turn("D", "Bye", "")), "en").dialogue.endswith("\nDoctor: Bye")


def test_a_judge_reads_which_image_a_report_is_of() -> None:
    seen = view(medpmc(turn("B-A-A", "CT?", "<\\image00001.jpg>")), "en")
    text = load_prompt(consultation_judge.prompt, "en").render(variables(seen))[1]
    for name, report in IMAGES.items():
        assert f"{name}\n{report}\n</data>" in text


def test_a_judge_reads_who_replied_and_a_technicians_words_are_not_the_patients() -> None:
    told, shown = (
        turn("A-B", "Hi", "Pain") | {"memory": "Pain."},
        turn("A-A-A", "A CT.", "CT: fluid") | {"exam_memory": ""},
    )
    assert view(medpmc(told, shown), "en").dialogue == "Doctor: Hi\nPatient: Pain\nDoctor: A CT.\nExaminer: CT: fluid"


def test_the_offline_consultation_judge_spans_its_scale() -> None:
    shown = turn("B-A-A", "CT?", "<\\image00001.jpg>")
    full = " ".join([*TEXT.values(), *IMAGES.values()])
    best = judge_consultation_offline(view(medpmc(shown, diagnosis_self=full), "en"))
    assert set(best.model_dump().values()) == {5.0}
    worst = judge_consultation_offline(view(medpmc(diagnosis_self=""), "en"))
    assert set(worst.model_dump().values()) == {1.0}
    assert judge_consultation_offline(view(medpmc(Image={}), "en")).multimodal_analysis is None


def test_who_orders_everything_is_lowered_by_the_offline_judge_and_who_orders_what_is_on_record_is_not() -> None:
    full = " ".join([*TEXT.values(), *IMAGES.values()])
    everything = ", ".join(label(item, "en") for item in EXAMINATION_ITEMS.names)

    def judged(order: str) -> float:
        asked = turn("B-A-A", f"Please have these: {order}.", "<\\image00001.jpg>")
        return judge_consultation_offline(view(medpmc(asked, diagnosis_self=full), "en")).examination

    assert (judged("a CT"), judged(everything) <= 3) == (5.0, True)


def test_the_offline_patient_judge_spans_its_scale() -> None:
    record = " ".join(TEXT[part] for part in TEXT if part not in ("Physical Condition", "Diagnosis", "Treatment"))
    told = medpmc(
        turn("A-A-A", "?", "Pain for one day."), turn("A-A-A", "?", record), turn("A-A-B", "?", "I don't know.")
    )
    best = judge_patient_offline(view(told, "en"))
    assert best == PatientScores(description=2, completeness=2, cooperation=2, understanding=2, communication=2)
    worst = judge_patient_offline(view(medpmc(turn("A-A-A", "?")), "en"))
    assert set(worst.model_dump().values()) == {0.0}
    repeated = judge_patient_offline(view(medpmc(turn("A-B", "?", "Pain"), turn("A-B", "?", "Pain")), "en"))
    assert repeated.communication == 1 and repeated.understanding == 0


def test_unchanged_words_keep_the_meaning_and_show_no_character() -> None:
    same = medpmc({**turn("0", "?", "I have pain."), "standard_patient": "I have pain."})
    assert judge_persona_offline(view(same, "en")) == PersonaScores(semantic_consistency=5, character_features=0)
    other = medpmc({**turn("0", "?", "Doc, oh!"), "standard_patient": "I have pain."})
    assert judge_persona_offline(view(other, "en")) == PersonaScores(semantic_consistency=0, character_features=5)


@pytest.mark.parametrize(("answer", "over"), [(ConsultationScores, 5.1), (PatientScores, 2.1), (PersonaScores, 5.1)])
def test_a_score_over_the_scale_or_a_truth_value_is_refused(answer: Any, over: float) -> None:
    for score in (over, True):
        with pytest.raises(ValidationError):
            answer(**dict.fromkeys(answer.model_fields, score))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("role", [consultation_judge, patient_judge, persona_judge])
async def test_each_judge_can_be_asked_in_both_languages(role: Any, language: Any) -> None:
    seen = view(medpmc(*MEDPMC_HISTORY), language)
    assert await ask(role, seen, ModelSettings(), language=language) == role.offline(seen)
