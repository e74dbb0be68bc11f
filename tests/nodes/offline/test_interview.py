from dataclasses import replace
from typing import Any

import pytest

from cases.text.named_tests import named_tests
from cases.vocabulary import AUXILIARY_ITEMS
from nodes.offline.clinichat_physician import interview_to_the_plan
from nodes.offline.interview import next_in_order, next_question
from nodes.offline.places import usual_pictures
from nodes.offline.votes import Evidence, orders
from nodes.state.chart import Chart, Turn
from nodes.workflow.stages import STAGES, read_chart
from prompts import load_words
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings

OPEN: Chart = read_chart(findings(), "diagnosis", None)  # type: ignore[arg-type]
RESULTS = "X-ray: A line of pleura on the left.\nBlood Test: Haemoglobin 151 g/L."


def asked(language: Any, *exchanges: tuple[str, str]) -> Chart:
    turns = [
        Turn(speaker=speaker, text=text)
        for exchange in exchanges
        for speaker, text in zip(("doctor", "patient"), exchange, strict=True)
    ]
    door = OPEN.presentation.model_copy(update={"language": language, "chief_complaint": "A pain in the chest."})
    return replace(OPEN, presentation=door, dialogue=turns)


def lung(number: int, **more: Any) -> Neighbour:
    done = dict.fromkeys(("X-ray", "CT", "Blood Test"), "Air on the left.")
    fields: dict[str, Any] = {"id": str(number), "verified": True, "auxiliary_examination": done, **more}
    return Neighbour(RememberedCase.model_validate(fields), 0.9, 0.9)


@pytest.mark.parametrize("reply", ["all_said", "untold"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_knows_no_more_of_the_complaint_is_asked_of_other_things(language: Any, reply: str) -> None:
    """Three questions in a row were answered by "I have told you all that I know of it"."""
    silent = load_words("consultation/words", language)["patient"][reply]
    of_the_ward = load_words("medchain/words", language)["doctor"]["questions"]
    assert next_in_order(asked(language, (of_the_ward[0], silent)), of_the_ward) == 2
    assert next_in_order(asked(language, (of_the_ward[0], "Since noon.")), of_the_ward) == 1
    questions = load_words("clini_eval/words", language)["physician"]["questions"]
    chart = asked(language, (questions[0], "A pain."), (questions[1], silent))
    assert next_in_order(chart, questions) == questions.index(questions[5])
    assert interview_to_the_plan(chart, [], 9) == (questions[5], False)
    assert interview_to_the_plan(chart, [], 70) == (questions[2], False), "with turns enough for all"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_only_the_patients_own_last_words_say_that_nothing_more_is_known(language: Any) -> None:
    silent = load_words("consultation/words", language)["patient"]["all_said"]
    questions = load_words("medchain/words", language)["doctor"]["questions"]
    chart = asked(language, (questions[0], "Since noon."))
    doctors = Turn(speaker="doctor", text=silent)
    assert next_in_order(replace(chart, dialogue=[*chart.dialogue, doctors]), questions) == 1
    assert next_in_order(replace(chart, dialogue=[]), questions) == 0


@pytest.mark.parametrize("age_years", [5, 50])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_asks_what_exactly_is_meant_is_asked_of_one_symptom_after_the_other_once(
    language: Any, age_years: float
) -> None:
    """The doctor went on to past illnesses: fever, appetite and weight never came up before a patient of SAPS."""
    words = load_words("medchain/words", language)["doctor"]
    words = words["of_a_child"] if age_years < 14 else words
    asks_back = load_words("saps/words", language)["ambiguous_inquiry"]
    exchanges = [(question, "Yes.") for question in words["questions"][:2]]
    for reply, next_one in (("Yes.", words["questions"][3]), (f"Well, doctor. {asks_back}", words["in_particular"])):
        chart = asked(language, *exchanges, (words["questions"][2], reply))
        assert next_question(of_age(chart, age_years)) == next_one
    chart = asked(language, *exchanges, (words["questions"][2], asks_back), (words["in_particular"], asks_back))
    assert next_question(of_age(chart, age_years)) == words["questions"][3]


@pytest.mark.parametrize(
    ("age_years", "complaint", "of_a_child"),
    [(5, "Fever.", True), (5, "My son limps.", True), (12, "I have a rash.", False), (70, "My mother fell.", False)],
)
def test_a_parent_is_asked_of_the_child_and_of_school_and_a_patient_of_itself_and_of_work(
    age_years: float, complaint: str, of_a_child: bool
) -> None:
    words = load_words("medchain/words", "en")["doctor"]
    words = words["of_a_child"] if of_a_child else words
    chart = of_age(asked("en", *((each, "Yes.") for each in words["questions"][:4])), age_years)
    chart = replace(chart, presentation=chart.presentation.model_copy(update={"chief_complaint": complaint}))
    assert next_question(chart) == words["questions"][4]
    assert ("your work" in next_question(chart)) != of_a_child


def of_age(chart: Chart, age_years: float) -> Chart:
    return replace(chart, presentation=chart.presentation.model_copy(update={"age_years": age_years}))


def test_tests_whose_results_were_just_told_are_not_asked_for() -> None:
    words = load_words("clini_eval/words", "en")["physician"]
    chart = asked("en", *((each, "Yes.") for each in words["questions"]), (words["results"], RESULTS))
    turn, _ = interview_to_the_plan(chart, [lung(1), lung(2)], 5)
    assert turn == words["unnamed"].format(tests="CT")
    all_told = asked("en", *((each, "Yes.") for each in words["questions"]), (words["results"], f"{RESULTS}\nCT: Air."))
    turn, _ = interview_to_the_plan(all_told, [lung(1), lung(2)], 5)
    assert turn == words["unnamed"].format(tests=words["again"].format("Blood Test"))


def test_no_x_ray_is_asked_for_after_a_ct_and_no_picture_where_eyes_suffice() -> None:
    results = load_words("clini_eval/words", "en")["physician"]["results"]
    chart = asked("en", ("How long?", "A day."), (results, "CT: Air on the left.\nBlood Test: Normal."))
    done, _ = interview_to_the_plan(chart, [lung(number) for number in range(5)], 2)
    assert "X-ray" not in done
    chart = asked("en", ("How long?", "A day."), (results, "MRI: Air on the left.\nBlood Test: Normal."))
    done, _ = interview_to_the_plan(chart, [lung(number) for number in range(5)], 2)
    assert "X-ray" not in done and "CT" not in done
    of_the_mind = chart.presentation.model_copy(update={"chief_complaint": "I have hardly slept and hear voices."})
    untold = replace(asked("en", ("How long?", "A day."), (results, "Not yet.")), presentation=of_the_mind)
    assert "X-ray" not in interview_to_the_plan(untold, [], 2)[0]


def test_what_also_comes_into_question_is_of_other_cases_and_not_what_the_same_patient_had_besides() -> None:
    words = load_words("clini_eval/words", "en")["physician"]
    steps = [(words["results"], RESULTS), (words["steps"][0].format(disease="Pneumothorax"), "Is it serious?")]
    chart = asked("en", *((each, "Yes.") for each in words["questions"]), *steps, (words["steps"][1], "Is it sure?"))
    seen = {
        "auxiliary_examination": {"X-ray": "A line of pleura on the left."},
        "chief_complaint": "Pain in the chest.",
    }
    cases = [
        lung(1, diagnosis=["Pneumothorax", "Tattoo"], **seen),
        lung(2, diagnosis=["Pleurisy", "Gout"], **seen),
    ]
    turn, _ = interview_to_the_plan(chart, cases, 5)
    assert turn == words["steps"][2].format(others="Pleurisy")
    assert interview_to_the_plan(chart, cases, 1)[0].startswith(words["steps"][3][:20]), "the last turn names the tests"


@pytest.mark.parametrize(
    ("language", "complaint"),
    [("en", "I have had a headache and my hands tremble."), ("zh", "我一讲话就发抖、心慌。")],
)
def test_of_x_ray_ct_and_mri_one_is_asked_for_at_a_time(language: Any, complaint: str) -> None:
    """Anaemia and social anxiety got all three at once."""
    chart = asked(language, ("?", "?"))
    chart = replace(chart, presentation=chart.presentation.model_copy(update={"chief_complaint": complaint}))
    shown = dict.fromkeys(("X-ray", "CT", "MRI", "Blood Test"), "Air on the left.")
    for similar in ([], [lung(number, auxiliary_examination=shown) for number in range(5)]):
        told = replace(chart, dialogue=asked(language, ("?", "?"), (_results(language), "?")).dialogue)
        tests = {test.item for test in named_tests(interview_to_the_plan(told, similar, 1)[0])}
        assert len(tests & {"X-ray", "CT", "MRI"}) == 1


def _results(language: Any) -> str:
    return str(load_words("clini_eval/words", language)["physician"]["results"])


@pytest.mark.parametrize(
    ("language", "complaint"),
    [("en", "I have had a headache and my hands tremble."), ("zh", "我一讲话就发抖、心慌。")],
)
def test_a_doctor_without_similar_cases_orders_a_ct_or_an_mri(language: Any, complaint: str) -> None:
    door = OPEN.presentation.model_copy(update={"language": language, "chief_complaint": complaint})
    chart = replace(OPEN, presentation=door)
    assert {"CT", "MRI"} < set(usual_pictures(chart))
    ordered = orders(Evidence(STAGES["history_taking.auxiliary"], chart, [], AUXILIARY_ITEMS.names, seat=1))
    assert len({"CT", "MRI"} & set(ordered)) == 1


@pytest.mark.parametrize(
    ("language", "complaint", "picture"),
    [
        ("en", "My back has hurt for months, and now I have numb and weak legs.", "MRI"),
        ("en", "I have had a terrible headache since this morning.", "CT"),
        ("zh", "胸背部疼痛半年，双下肢麻木无力1周。", "MRI"),
        ("zh", "左侧肢体无力1天。", "CT"),
    ],
)
def test_without_similar_cases_the_spinal_cord_gets_an_mri_and_a_sudden_illness_of_the_brain_a_ct(
    language: Any, complaint: str, picture: str
) -> None:
    door = OPEN.presentation.model_copy(update={"language": language, "chief_complaint": complaint})
    chart = replace(OPEN, presentation=door)
    ordered = orders(Evidence(STAGES["history_taking.auxiliary"], chart, [], AUXILIARY_ITEMS.names, seat=1))
    assert {"CT", "MRI"} & set(ordered) == {picture}
