"""The plan of an interview: ten sections, every placeholder filled or its step left out, in both languages."""

import re
from typing import Any, get_args

import pytest

from cases.notes import Note
from cases.text.sentences import sentences
from cases.vocabulary import Language
from nodes.reconstruction.exchanges import SectionName
from nodes.reconstruction.knowledge import (
    ClinicalKnowledge,
    DiagnosticKnowledge,
    DiseaseKnowledge,
    KnowledgeView,
    RiskFactors,
    Sign,
    SystemCheck,
    knowledge_of_the_note,
)
from nodes.reconstruction.plan import fill_plan, opening_words, plan_sections
from nodes.reconstruction.role_setting import RoleSetting, roles_of

LANGUAGES: tuple[Language, ...] = ("en", "zh")
NOTE = Note(id="n", text="Chief complaint: Cough.\nPhysical examination: Crackles. Signs of pneumonia.\nLabs: WBC 12.")
LEFT_OVER = re.compile(r"[{}<>\[\]]")
NOTHING = knowledge_of_the_note(KnowledgeView(Note(id="n", text="Chief complaint: Cough.")))


def knowing(**diagnostic: Any) -> ClinicalKnowledge:
    return ClinicalKnowledge(
        diagnostic=DiagnosticKnowledge.model_validate(
            {
                "most_likely_disease": "Pneumonia",
                "diagnosis_basis": "Crackles.",
                "basic_information": "An infection of the lungs.",
                "differential_diagnosis": ["Bronchitis", "Asthma"],
                "department": None,
                "confirmation_tests": ["Chest X-ray"],
                **diagnostic,
            }
        ),
        disease=DiseaseKnowledge(
            signs_and_symptoms=[Sign(name="fever", description="high."), Sign(name="chills", description="")],
            associated_conditions=["Not specified"],
            risk_factors=RiskFactors(
                family_history=["cystic fibrosis"],
                lifestyle=["smoking", "None mentioned"],
                living_environment=[],
                exposure=["birds"],
                mental_health=["N/A"],
            ),
            customized_inquiry=["Do you manage at home?"],
            review_of_systems=[SystemCheck(system="the skin", symptoms=["rash"])],
        ),
    )


def steps(knowledge: ClinicalKnowledge, language: Language = "en", **roles: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for section in fill_plan(NOTE, RoleSetting(**roles), knowledge, language):
        for step in section.steps:
            found.setdefault(step.name, []).append(step.physician)
    return found


def test_the_plan_has_the_ten_sections_of_the_paper_in_their_order_and_techniques_of_every_kind() -> None:
    assert [section["name"] for section in plan_sections()] == list(get_args(SectionName))
    planned = [step for section in plan_sections() for step in section["step"]]
    assert {step["technique"] for step in planned} == {"open", "closed", "reassure", "inform"}
    assert len({step["name"] for step in planned}) == len(planned)


@pytest.mark.parametrize(("language", "result"), [("en", "result"), ("zh", "效果")])
def test_who_has_been_treated_is_asked_for_the_result_as_in_figure_4(language: Language, result: str) -> None:
    (asked,) = steps(knowing(), language)["treatment_so_far"]
    assert result in asked


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kin", ["self", "son", "daughter", "child", "relative"])
@pytest.mark.parametrize("knowledge", [knowing(), NOTHING], ids=["much", "nothing"])
def test_no_placeholder_is_left_over_whoever_speaks_and_whatever_is_known(
    language: Language, kin: Any, knowledge: ClinicalKnowledge
) -> None:
    for sex in ("female", "male", None):
        roles = RoleSetting(speaker=kin, sex=sex)
        for section in fill_plan(NOTE, roles, knowledge, language):
            for step in section.steps:
                assert not LEFT_OVER.search(step.physician + step.patient), step
        assert not LEFT_OVER.search(opening_words(roles, language))


def test_a_sign_is_asked_for_in_the_marks_of_the_language_and_as_one_sentence() -> None:
    signs = [Sign(name="咳嗽。", description="夜间重。")]
    known = knowing()
    known = known.model_copy(update={"disease": known.disease.model_copy(update={"signs_and_symptoms": signs})})
    assert "：咳嗽，夜间重？" in steps(known, "zh")["sign"][0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_steps_that_are_asked_entry_by_entry_say_no_sentence_twice(language: Language) -> None:
    known = knowing()
    twice = {"customized_inquiry": ["Do you manage at home?", "How is your memory?"]}
    known = known.model_copy(update={"disease": known.disease.model_copy(update=twice)})
    for asked in steps(known, language).values():
        said = [sentence for text in asked for sentence in sentences(text)]
        assert len(set(said)) == len(said)


def test_what_is_known_is_asked_entry_by_entry_and_what_says_nothing_is_not() -> None:
    found = steps(knowing())
    assert len(found["sign"]) == 2 and "fever, high?" in found["sign"][0]
    assert "associated_conditions" not in found
    assert [text for text in found["other_factor"] if "smoking" in text or "birds" in text] == found["other_factor"]
    assert "cystic fibrosis" in found["family_factor"][0]
    assert "the skin, rash: " in found["named_system"][0], "with the symptoms that the expert named"
    assert "Do you manage at home?" in found["customized"][0], "not with two marks at its end"
    assert "Bronchitis and Asthma" in found["differentials"][0] and "Chest X-ray" in found["tests"][0]


def test_without_knowledge_steps_are_skipped_and_an_open_answer_stands_for_them() -> None:
    found = steps(NOTHING)
    assert not {"sign", "customized", "family_factor", "other_factor", "named_system", "information"} & found.keys()
    assert {"no_disease_yet", "tests_open"} <= found.keys() and "suspected_disease" not in found


def test_the_papers_plan_asks_for_the_systems_and_habits_that_the_knowledge_names_and_for_no_others() -> None:
    def asked(ours: bool) -> dict[str, list[str]]:
        plan = fill_plan(NOTE, RoleSetting(speaker="self"), knowing(), "en", ours=ours)
        return {section.name: [step.name for step in section.steps] for section in plan}

    assert asked(ours=False)["review_of_systems"] == ["named_system"]
    assert len(asked(ours=True)["review_of_systems"]) == 11
    assert asked(ours=False)["risk_factors"] == ["family_factor", "other_factor", "other_factor"]
    assert asked(ours=False)["present_illness"] == asked(ours=True)["present_illness"][:-1], "without the open rest"
    assert "occupation" not in asked(ours=False)["general_condition"]
    assert asked(ours=False)["past_history"] == asked(ours=True)["past_history"]


def test_the_papers_plan_asks_openly_about_the_family_where_every_factor_names_the_disease() -> None:
    def asked(*factors: str) -> list[str]:
        knowledge = knowing()
        knowledge.disease.risk_factors.family_history[:] = factors
        planned = fill_plan(NOTE, RoleSetting(), knowledge, "en", ours=False)
        return [step.name for section in planned for step in section.steps if step.name.startswith("family")]

    assert asked("pneumonia in a parent") == ["family"]
    assert asked("pneumonia in a parent", "cystic fibrosis") == asked("cystic fibrosis") == ["family_factor"]
    assert asked() == asked("None mentioned") == []


def test_a_symptom_that_the_complaint_tells_of_is_no_example_of_others() -> None:
    note = Note(id="n", text="Chief complaint: Fever and cough.")
    plan = fill_plan(note, RoleSetting(speaker="self"), knowing(), "en")
    (listed,) = [step.physician for section in plan for step in section.steps if step.name == "listed_symptoms"]
    assert "chills" in listed and "fever" not in listed


def test_findings_that_name_the_disease_wait_for_the_diagnosis() -> None:
    found = steps(knowing())
    assert found["examination_findings"] == ["This is what the examination showed: Crackles."]
    assert "WBC 12" in found["test_findings"][0]


def test_nobody_is_asked_for_the_disease_before_the_diagnosis() -> None:
    """As SmolLM2 gave the disease itself as its sign, and nobody was to name it."""
    knowledge = knowing()
    knowledge.disease.signs_and_symptoms.insert(0, Sign(name="Pneumonia", description="an infection"))
    knowledge.disease.associated_conditions.append("Signs of pneumonia")
    knowledge.disease.risk_factors.family_history.append("pneumonia")
    asked = [
        step.physician
        for section in fill_plan(NOTE, RoleSetting(), knowledge, "en")
        if section.name not in ("initial_diagnosis", "confirmatory_tests")
        for step in section.steps
    ]
    assert any("cystic fibrosis" in words for words in asked) and not any("neumonia" in words for words in asked)


def test_a_child_is_spoken_of_and_a_grown_up_spoken_to() -> None:
    assert steps(knowing(), speaker="self")["allergies"] == ["Are you allergic to any medicine, food or anything else?"]
    asked = steps(knowing(), speaker="daughter", sex="female")
    assert asked["allergies"] == ["Is she allergic to any medicine, food or anything else?"]
    assert asked["reason"] == ["Hello, please have a seat. What brings your daughter here today?"]


@pytest.mark.parametrize(
    ("text", "speaker", "sex"),
    [
        ("A 45-year-old man has pain. He is well.", "self", "male"),
        ("Patient: 3-year-old female.\nChief complaint: Rash.", "daughter", "female"),
        ("Mother states that he has a fever. His nose runs.", "son", "male"),
        ("She came in obtunded and unable to give any history.", "relative", "female"),
        ("He was found unconscious.", "relative", "male"),
        ("He was found unconscious, and regained consciousness in a minute.", "self", "male"),
        ("He has a rash unresponsive to steroids.", "self", "male"),
        ("A 70-year-old woman with aphasia after a stroke has had a fever for 2 days.", "relative", "female"),
        ("He had aphasia for an hour yesterday. He is well.", "self", "male"),
        ("患者，男，70岁，脑梗死后失语，发热2天。", "relative", "male"),
        ("患者，男，70岁，发热2天，无失语。", "self", "male"),
        ("患者，男，60岁。昏迷1天。", "relative", "male"),
        ("患者，男，60岁。曾昏迷1分钟，现神志清楚。", "self", "male"),
        ("Patient: 81 years, female.\nChief complaint: My mother hardly leaves her bed.", "relative", "female"),
        ("Patient: 39 years, female.\nChief complaint: My daughter hears voices.", "daughter", "female"),
        ("主诉：月经量多2年。妇科检查：子宫如孕3月大，质硬。", "self", None),  # the age of no child
        ("Pain.", "self", None),
    ],
)
def test_who_speaks_follows_from_the_note(text: str, speaker: str, sex: str | None) -> None:
    roles = roles_of(Note(id="n", text=text))
    assert (roles.speaker, roles.sex) == (speaker, sex)


@pytest.mark.parametrize(
    "text",
    ["Family and social history: Father died of a stroke, age 71.", "Family history: Brother died as a newborn."],
)
def test_a_relatives_age_is_not_the_patients(text: str) -> None:
    roles = roles_of(Note(id="n", text=text))
    assert (roles.speaker, roles.age_years) == ("self", None)
