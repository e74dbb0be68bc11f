import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.text.record_sentences import record_sentences
from graphs.patients import saps
from nodes.offline.own_words import in_own_words, voice_of
from nodes.patients.saps.memory_bank import open_to
from nodes.state.chart import Presentation, Turn
from prompts import load_words
from scoring.aie.simulator_set import read_items, shipped_files
from tests.graphs.scripting import builtin, calls, words
from tests.support.fake_server import ChatRequest, FakeServer

GRAPH: Any = saps.graph
CASES = {"en": builtin("surgery-01"), "zh": builtin("surgery-06")}
ATTACKS = tomllib.loads((Path(__file__).parent / "attacks.toml").read_text("utf-8"))
ITEMS = [item for file in shipped_files() for item in read_items(file).records if item.part == "development"]
BEFORE = [Turn(speaker="doctor", text="Hello."), Turn(speaker="patient", text="I am ill.")]


def asked(question: str, case: Case, before: list[Turn] = BEFORE) -> dict[str, Any]:
    return {
        "presentation": Presentation(language=case.language, chief_complaint=case.patient.chief_complaint),
        "patient_record": case.patient,
        "examination_record": case.examinations,
        "picture_folder": case.folder,
        "dialogue": [*before, Turn(speaker="doctor", text=question)],
    }


def answer_to(question: str, case: Case, before: list[Turn] = BEFORE, **context: Any) -> dict[str, Any]:
    settings = {"retrieval": False, "patient": "saps", **context}
    result: dict[str, Any] = GRAPH.invoke(asked(question, case, before), context=settings)
    return result


def served(server: FakeServer) -> dict[str, str]:
    return {"default": f"openai:any@{server.base_url}"}


def filed(result: dict[str, Any]) -> dict[str, Any]:
    """What the trace says of the turn: the tracked action, and what was released."""
    [event] = result["trace"].events
    entry: dict[str, Any] = event.content
    return entry


def silent(case: Case, result: dict[str, Any]) -> bool:
    """Whether nothing of the record is in the reply."""
    said = "\n".join(turn.text for turn in result["dialogue"][len(BEFORE) + 1 :])
    return not any(fact.text in said for fact in record_sentences(case.patient, case.examinations, case.language))


@pytest.mark.parametrize(
    ("language", "question", "action", "asked"),
    [
        ("en", "Do you smoke?", "Effective Inquiry", 5),
        ("en", "Do you have a rash?", "Ineffective Inquiry", 4),
        ("en", "How do you feel?", "Ambiguous Inquiry", 3),
        ("en", "I suggest an ultrasound of your belly.", "Effective Advice", 5),
        ("en", "I suggest an MRI of your belly.", "Ineffective Advice", 4),
        ("en", "I suggest some tests.", "Ambiguous Advice", 3),
        ("en", "Please lie down.", "Demand", 2),
        ("en", "Which film did you like best?", "Other Topic", 2),
        ("zh", "平时喝酒吗？", "Effective Inquiry", 5),
        ("zh", "身上长疹子吗？", "Ineffective Inquiry", 4),
        ("zh", "感觉怎么样？", "Ambiguous Inquiry", 3),
        ("zh", "建议做个腹部超声。", "Effective Advice", 5),
        ("zh", "建议做个腹部磁共振。", "Ineffective Advice", 4),
        ("zh", "建议您做检查。", "Ambiguous Advice", 3),
        ("zh", "请躺下来。", "Demand", 2),
        ("zh", "您喜欢什么电影？", "Other Topic", 2),
    ],
)
def test_each_step_is_asked_only_as_long_as_the_action_is_open(
    language: str, question: str, action: str, asked: int
) -> None:
    case = CASES[language]
    result = answer_to(question, case)
    doctor, patient = result["dialogue"][-2:]
    assert (doctor.action, patient.speaker) == (action, "patient")
    assert len(calls(result)) == asked, "what was released is filed, and no call"
    assert filed(result)["action"] == action
    assert filed(result)["released"] == patient.facts
    if action.startswith("Effective"):
        facts = record_sentences(case.patient, case.examinations, case.language)
        words = dict(zip(facts, in_own_words(facts, voice_of(case.patient, case.language)), strict=True))
        assert patient.facts and all(words[fact] in patient.text for fact in facts if fact.text in patient.facts)
    else:
        assert patient.facts == [] and silent(case, result)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_turn_is_an_initialization_whatever_it_says(language: str) -> None:
    case = CASES[language]
    result = answer_to("Goodbye. 再见。", case, before=[])
    assert result["dialogue"][0].action == "Initialization"
    assert result["dialogue"][1].text == case.patient.chief_complaint
    assert calls(result, "state_tracker") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_the_tracker_the_same_generator_alone_is_asked_and_holds_the_whole_record(language: str) -> None:
    case = CASES[language]
    with FakeServer(answer=lambda request: {"text": "I am ill."}) as server:
        result = answer_to("Goodbye. 再见。", case, models=served(server), tracker=False)
        asked = list(server.requests)
    assert [request.name for request in asked] == ["SimulatedReply"]
    facts = record_sentences(case.patient, case.examinations, case.language)
    assert facts and all(fact.text in asked[0].text for fact in facts)
    assert "what you remember" in asked[0].text or "你记得" in asked[0].text
    assert result["dialogue"][-2].action is None and not result.get("dialogue_ended")


def test_offline_a_patient_without_states_tells_what_shares_the_words_and_the_greeting_is_answered_as_before() -> None:
    case = CASES["en"]
    told = answer_to("I feel like some tests. Do you smoke?", case, tracker=False)["dialogue"][-1].text
    assert "smoke" in told
    first = answer_to("Hello.", case, before=[], tracker=False)["dialogue"]
    assert first[0].action == "Initialization" and first[1].text == case.patient.chief_complaint


@pytest.mark.parametrize(
    ("language", "words_of_farewell"), [("en", "That is all, goodbye."), ("zh", "就到这里，再见。")]
)
def test_to_the_conclusion_there_is_no_reply_and_the_dialogue_ends(language: str, words_of_farewell: str) -> None:
    result = answer_to(words_of_farewell, CASES[language])
    assert result["dialogue_ended"] == "concluded"
    assert [turn.speaker for turn in result["dialogue"]] == ["doctor", "patient", "doctor"]
    assert result["dialogue"][-1].action == filed(result)["action"] == "Conclusion"


@pytest.mark.parametrize("item", ITEMS[::9], ids=lambda item: item.id)
def test_of_an_item_only_what_its_tracked_action_opens_is_told(item: Any) -> None:
    case = builtin(item.case_id)
    result = answer_to(item.doctor, case, item.dialogue)
    entry = filed(result)
    facts = record_sentences(case.patient, case.examinations, case.language)
    assert set(entry["released"]) <= {fact.text for fact in open_to(entry["action"], facts)}


@pytest.mark.parametrize(
    ("language", "attack"), [(language, attack) for language in ("en", "zh") for attack in ATTACKS[language]]
)
def test_an_attack_obtains_nothing_by_rule(language: str, attack: str) -> None:
    result = answer_to(attack, CASES[language])
    assert filed(result)["released"] == [] and silent(CASES[language], result)


def worst(request: ChatRequest) -> dict[str, Any] | None:
    answers: dict[str, dict[str, Any]] = {
        "ActionKind": {"kind": "inquiry"},
        "Specificity": {"specificity": "specific"},
        "Coverage": {"coverage": "on_record"},
        "Release": {"numbers": [*range(-5, 200)]},
    }
    return answers.get(request.name)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_attack_obtains_no_result_of_a_model_that_opens_all_it_can_behind_a_strict_gate(language: str) -> None:
    case = CASES[language]
    results = set(case.examinations.results.values())
    with FakeServer(answer=worst) as server:
        for attack in ATTACKS[language][::10]:
            result = answer_to(attack, case, models=served(server), result_gate="strict")
            released = filed(result)["released"]
            assert len(released) <= 8
            assert not any(text in whole for text in released for whole in results)
        seen = [request.text for request in server.requests if request.name == "SimulatedReply"]
    assert seen and not any(text in prompt for prompt in seen for text in results)


def test_what_a_model_opens_of_the_results_beyond_their_names_is_told_and_filed_by_default() -> None:
    case = CASES["en"]
    results = {fact.text for fact in record_sentences(case.patient, case.examinations, "en") if fact.is_result}
    with FakeServer(answer=worst) as server:
        entry = filed(answer_to("What did the ultrasound show?", case, models=served(server)))
    named = {fact.text for fact in record_sentences(case.patient, case.examinations, "en") if "Ultra" in fact.section}
    assert set(entry["unnamed"]) == results - named and results <= set(entry["released"])


def test_before_the_doctors_first_words_the_patient_is_greeted_and_complains() -> None:
    for language, case in CASES.items():
        presentation = Presentation(language=case.language, chief_complaint=case.patient.chief_complaint)
        state = {"presentation": presentation, "patient_record": case.patient, "examination_record": case.examinations}
        greeting, reply = GRAPH.invoke(state, context={"retrieval": False})["dialogue"]
        assert (greeting.speaker, greeting.action) == ("doctor", "Initialization"), language
        assert reply.text == case.patient.chief_complaint


def test_over_a_server_the_steps_are_forced_to_their_choices_and_the_generator_sees_the_released_alone() -> None:
    def answers(request: ChatRequest) -> dict[str, Any] | None:
        given: dict[str, dict[str, Any]] = {
            "ActionKind": {"kind": "advice"},
            "Specificity": {"specificity": "specific"},
            "Coverage": {"coverage": "on_record"},
        }
        if request.name == "Release":
            numbered = {line.split(".")[0] for line in request.text.splitlines() if 'data name="Ultrasound"' in line}
            return {"numbers": sorted(map(int, numbered))}
        return given.get(request.name)

    case = CASES["en"]
    with FakeServer(answer=answers) as server:
        result = answer_to("Please have an ultrasound.", case, models=served(server))
        requests = {request.name: request for request in server.requests}
    for name, field in (("ActionKind", "kind"), ("Specificity", "specificity"), ("Coverage", "coverage")):
        schema = requests[name].schema
        assert schema is not None and len(schema["properties"][field]["enum"]) >= 2
    assert result["dialogue"][-1].facts == [
        fact.text for fact in record_sentences(case.patient, case.examinations, "en") if fact.section == "Ultrasound"
    ]
    seen = requests["SimulatedReply"].text
    hidden = [
        fact.text
        for fact in record_sentences(case.patient, case.examinations, "en")
        if fact.section not in ("Ultrasound",)
    ]
    assert not any(text in seen for text in hidden)


KNOWN = {
    "ActionKind": {"kind": "inquiry"},
    "Specificity": {"specificity": "specific"},
    "Coverage": {"coverage": "on_record"},
    "Release": {"numbers": [1, 2, 3]},
}


@pytest.mark.parametrize("context", ["dialogue", "words"])
def test_the_tracker_sees_what_was_said_before_or_as_published_the_doctors_words_alone(context: str) -> None:
    before = [Turn(speaker="doctor", text="Hello."), Turn(speaker="patient", text="My left knee hurts.")]
    with FakeServer(answer=lambda request: KNOWN.get(request.name)) as server:
        answer_to("And the other one?", CASES["en"], before=before, models=served(server), tracker_context=context)
        steps = [request.text for request in server.requests if request.name in KNOWN][:3]
    assert all("And the other one?" in text for text in steps)
    assert all(("My left knee hurts." in text) == (context == "dialogue") for text in steps)


@pytest.mark.parametrize(
    ("extraction", "numbers", "action"),
    [
        ("two_calls", [1], "Effective Inquiry"),
        ("one_call", [1], "Effective Inquiry"),
        ("one_call", [], "Ineffective Inquiry"),
    ],
)
def test_in_one_call_what_is_picked_says_whether_the_record_has_it(
    extraction: str, numbers: list[int], action: str
) -> None:
    known = {**KNOWN, "Release": {"numbers": numbers}}
    with FakeServer(answer=lambda request: known.get(request.name)) as server:
        result = answer_to("When did it begin?", CASES["en"], models=served(server), extraction=extraction)
        asked = [request.name for request in server.requests]
    assert asked.count("Coverage") == (extraction == "two_calls") and asked.count("Release") == 1
    assert filed(result)["action"] == action and len(filed(result)["released"]) == len(numbers)


@pytest.mark.parametrize(("most", "told"), [(2, 2), (0, 3)])
def test_one_question_opens_so_many_sentences_of_the_histories(most: int, told: int) -> None:
    with FakeServer(answer=lambda request: KNOWN.get(request.name)) as server:
        result = answer_to("When did it begin?", CASES["en"], models=served(server), history_sentences=most)
    assert len(result["dialogue"][-1].facts) == told


def test_an_action_for_which_nothing_is_found_was_not_effective() -> None:
    def answers(request: ChatRequest) -> dict[str, Any] | None:
        given: dict[str, dict[str, Any]] = {
            "ActionKind": {"kind": "advice"},
            "Specificity": {"specificity": "specific"},
            "Coverage": {"coverage": "on_record"},
            "Release": {"numbers": [0, 999]},
        }
        return given.get(request.name)

    with FakeServer(answer=answers) as server:
        result = answer_to("Please have a CT.", CASES["en"], models=served(server))
    assert filed(result)["action"] == result["dialogue"][-2].action == "Ineffective Advice"


def test_the_requirement_of_the_action_is_before_the_generator() -> None:
    result = answer_to("Please lie down.", CASES["en"])
    [call] = calls(result, "response_generator")
    assert filed(result)["requirement"] in words(call)


@pytest.mark.parametrize(("language", "question"), [("en", "Have you vomited?"), ("zh", "吐过吗？")])
def test_where_a_model_takes_what_is_recorded_for_unrecorded_the_generator_by_rule_does_not_deny_it(
    language: str, question: str
) -> None:
    steps = {
        "ActionKind": {"kind": "inquiry"},
        "Specificity": {"specificity": "specific"},
        "Coverage": {"coverage": "not_on_record"},
    }
    with FakeServer(answer=lambda request: steps[request.name]) as server:
        models = {"state_tracker": f"openai:any@{server.base_url}"}
        result = answer_to(question, CASES[language], models=models)
    assert result["dialogue"][-2].action == "Ineffective Inquiry"
    assert result["dialogue"][-1].text == load_words("consultation/words", language)["patient"]["untold"]


@pytest.mark.parametrize("tracker", [True, False])
async def test_whether_no_may_be_said_is_looked_up_beside_the_loop_and_for_a_generator_by_rule_alone(
    tracker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[threading.Thread] = []

    def denial(*_: Any) -> str:
        looked.append(threading.current_thread())
        return "nothing"

    monkeypatch.setattr("nodes.patients.saps.memory_bank.denial", denial)
    context = {"retrieval": False, "patient": "saps", "tracker": tracker}
    result = await GRAPH.ainvoke(asked("Do you have a rash?", CASES["en"]), context=context)
    assert result["dialogue"][-1].text == load_words("saps/words", "en")["ineffective_inquiry"]
    assert len(looked) == 1 and looked[0] is not threading.current_thread()
    with FakeServer() as server:
        models = {"response_generator": f"openai:any@{server.base_url}"}
        await GRAPH.ainvoke(asked("Do you have a rash?", CASES["en"]), context={**context, "models": models})
    assert len(looked) == 1
