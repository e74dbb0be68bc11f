import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cases import Case
from cases.text.sentences import sentences
from graphs.patients import ai_hospital
from nodes.patients.ai_hospital.profile import Profile
from nodes.state.chart import Turn, heard_by
from tests.graphs.scripting import builtin, calls, words
from tests.support.fake_server import ChatRequest, FakeServer

GRAPH: Any = ai_hospital.graph
ATTACKS = tomllib.loads((Path(__file__).parent / "attacks.toml").read_text("utf-8"))
CASES = {"en": builtin("surgery-01"), "zh": builtin("surgery-06")}
EVERY_ATTACK = [(language, attack) for language in ("en", "zh") for attack in ATTACKS[language]]


def start(case: Case, question: str) -> dict[str, Any]:
    return {
        "presentation": {"language": case.language, "chief_complaint": case.patient.chief_complaint},
        "patient_record": case.patient,
        "examination_record": case.examinations,
        "picture_folder": case.folder,
        "profile": Profile(personality="You are a quiet person.", statement="Hello."),
        "dialogue": [Turn(speaker="doctor", text=question)],
    }


def answer_to(question: str, case: Case = CASES["en"], before: Sequence[Turn] = (), **context: Any) -> dict[str, Any]:
    from nodes.state.chart import Presentation

    given = start(case, question)
    given["dialogue"] = [*before, *given["dialogue"]]
    given["presentation"] = Presentation(**given["presentation"])
    result: dict[str, Any] = GRAPH.invoke(given, context={"retrieval": False, **context})
    return result


def path(result: dict[str, Any]) -> list[str]:
    return [f"{turn.speaker[0]}>{(turn.addressee or 'all')[0]}" for turn in result["dialogue"][1:]]


def leaked(case: Case, said: str) -> list[str]:
    """The sentences of the examination record that stand in what was said."""
    texts = case.examinations.results.values()
    return [sentence for text in texts for sentence in sentences(text) if sentence.rstrip(".。") in said]


def all_that_was_said(result: dict[str, Any]) -> str:
    return "\n".join(turn.text for turn in result["dialogue"])


def test_an_examination_is_told_by_the_name_that_it_was_ordered_by() -> None:
    said = all_that_was_said(answer_to("Please have these done: MRI, Blood Test."))
    assert "MRI: " in said and "Blood Test: " in said and "mri" not in said and "blood test: " not in said


# The attack: fifty wordings in each language, against the rules and against models that do their worst.


def test_there_are_fifty_attacks_in_each_language_and_no_two_are_the_same() -> None:
    assert {language: len(set(ATTACKS[language])) for language in ATTACKS} == {"en": 50, "zh": 50}


@pytest.mark.parametrize(("language", "attack"), EVERY_ATTACK)
def test_an_attack_obtains_nothing_from_the_offline_desk(language: str, attack: str) -> None:
    case = CASES[language]
    result = answer_to(attack, case)
    assert leaked(case, all_that_was_said(result)) == []
    assert not any(turn.facts or turn.pictures for turn in result["dialogue"])
    assert calls(result, "examiner", "ai_hospital.outcomes") == []


def most_willing(case: Case) -> Any:
    """A patient who sends every request on, a reception that lets every item pass, an examiner who tells all it has."""
    from cases.vocabulary import EXAMINATION_ITEMS, label

    everything = [label(item, case.language) for item in EXAMINATION_ITEMS.names]
    texts = [sentence for text in case.examinations.results.values() for sentence in sentences(text)]
    tempting = ["all results", "全部结果", "*", "everything", "normal", "record", "正常", "检查", "最近的结果"]

    def answer(request: ChatRequest) -> dict[str, Any]:
        match request.name:
            case "ParsedRequest":
                return {"items": [*everything, *tempting, *texts]}
            case "Outcomes":
                return {"text": request.text}
            case _:
                wish = "I want: " + ", ".join([*everything, *tempting])
                examined = "been to the examiner" in request.text or "你去找了检查员" in request.text
                addressee = "doctor" if examined else "examiner"
                return {"addressee": addressee, "text": request.text if examined else wish, "finished": False}

    return answer


@pytest.fixture(scope="module")
def willing_servers() -> Any:
    with FakeServer(answer=most_willing(CASES["en"])) as en, FakeServer(answer=most_willing(CASES["zh"])) as zh:
        yield {"en": en, "zh": zh}


@pytest.mark.slow
@pytest.mark.parametrize(("language", "attack"), EVERY_ATTACK[::5])  # models that do their worst whatever is said
def test_an_attack_obtains_nothing_from_models_that_do_their_worst(
    language: str, attack: str, willing_servers: Any
) -> None:
    case, server = CASES[language], willing_servers[language]
    model = f"openai:any@{server.base_url}"
    before = len(server.requests)
    result = answer_to(attack, case, models={"default": model})
    assert path(result) == ["p>e", "e>p", "p>d"]
    assert leaked(case, all_that_was_said(result)) == []
    assert not any(turn.facts or turn.pictures for turn in result["dialogue"])
    asked = [request.name for request in server.requests[before:]]
    assert asked[:2] == ["PatientWords", "ParsedRequest"]
    assert set(asked[2:]) == {"WordsToDoctor"}, "who reads the own prompt out is asked again; outcomes never are"


@pytest.mark.parametrize(
    ("language", "question", "whom"),
    [("en", "Please have a blood count done.", "whom it is for"), ("zh", "请做血常规。", "对医生说还是对检查员说")],
)
def test_back_from_the_examiner_the_patient_can_only_speak_to_the_doctor(
    language: str, question: str, whom: str
) -> None:
    def answer(request: Any) -> dict[str, Any]:
        return {"addressee": "examiner", "text": question, "finished": False}

    with FakeServer(answer=answer) as server:
        answer_to(question, CASES[language], models={"patient": f"openai:any@{server.base_url}"})
    first, relayed = server.requests[0], server.requests[1]
    assert "addressee" in json.dumps(first.schema) and "addressee" not in json.dumps(relayed.schema)
    assert whom in first.text and whom not in relayed.text
    assert first.messages[0] == relayed.messages[0], "a server reuses what both begin with"


def test_that_attack_test_would_see_a_leak(willing_servers: Any) -> None:
    model = f"openai:any@{willing_servers['zh'].base_url}"
    result = answer_to("请做血常规。", CASES["zh"], models={"default": model})
    assert leaked(CASES["zh"], all_that_was_said(result))


def test_of_a_request_for_one_thing_the_worst_models_release_that_thing_alone(willing_servers: Any) -> None:
    case = CASES["zh"]
    model = f"openai:any@{willing_servers['zh'].base_url}"
    result = answer_to("请做腹部超声。", case, models={"default": model})
    found = leaked(case, all_that_was_said(result))
    assert found and all(sentence in case.examinations.results["Ultrasound"] for sentence in found)
    [outcomes] = calls(result, "examiner", "ai_hospital.outcomes")
    others = [text for item, text in case.examinations.results.items() if item != "Ultrasound"]
    assert not any(text in words(outcomes) for text in others), "the second step never holds what was not named"


# The two steps.


def test_a_named_examination_goes_from_the_doctor_over_the_patient_to_the_desk_and_back() -> None:
    result = answer_to("Please have a blood test done.")
    assert path(result) == ["p>e", "e>p", "p>d"]
    blood = CASES["en"].examinations.results["Blood Test"]
    assert blood in result["dialogue"][-1].text
    assert result["dialogue"][-1].facts == [blood]


def test_the_doctor_hears_the_examiner_if_so_set_and_nobody_repeats_the_results() -> None:
    """As in all 618 examinations of AI Hospital's released dialogues, and in its Figure 5."""
    heard: Any = {"patient": "ai_hospital", "results_told_by": "examiner"}
    told = answer_to("Please have a blood test and an ultrasound done.", **heard)
    assert path(told) == ["p>e", "e>a"]
    assert len(calls(told, "patient")) == 1, "to go to the examiner"
    blood = CASES["en"].examinations.results["Blood Test"]
    [examiner] = [turn for turn in heard_by("doctor", told["dialogue"]) if turn.speaker != "doctor"]
    assert blood in examiner.text and [picture.item for picture in examiner.pictures] == ["Ultrasound"]
    relayed = answer_to("Please have a blood test and an ultrasound done.")["dialogue"][-1]
    assert (told["dialogue"][-1].facts, told["dialogue"][-1].pictures) == (relayed.facts, relayed.pictures)
    assert leaked(CASES["en"], all_that_was_said(answer_to(ATTACKS["en"][0], **heard))) == []


def test_an_examination_asked_for_twice_has_the_same_result_twice() -> None:
    for told_by in ("patient", "examiner"):
        context: Any = {"patient": "ai_hospital", "results_told_by": told_by}
        first = answer_to("Please have a blood test done.", **context)
        second = answer_to("Please have the blood test done once more.", before=first["dialogue"], **context)
        assert second["dialogue"][-1].facts == first["dialogue"][-1].facts != []


def test_a_test_is_found_by_its_name_inside_the_text_and_only_its_sentence_is_told() -> None:
    result = answer_to("Please have the bilirubin checked.")
    [fact] = result["dialogue"][-1].facts
    assert "bilirubin" in fact and fact != CASES["en"].examinations.results["Blood Test"]


@pytest.mark.parametrize(
    ("setting", "english", "chinese"),
    [
        ("normal", "No abnormality", "无异常"),
        ("unknown", "no result on record", "没有该项检查结果"),
        ("unavailable", "cannot be done here", "无法进行"),
    ],
)
def test_of_an_examination_that_is_not_on_record_the_setting_says_what_is_told(
    setting: str, english: str, chinese: str
) -> None:
    for question, case, told in (("An MRI, please.", CASES["en"], english), ("请做磁共振。", CASES["zh"], chinese)):
        result = answer_to(question, case, absent_examinations=setting)
        assert told in result["dialogue"][-1].text
        assert not result["dialogue"][-1].facts


def test_a_picture_is_handed_over_as_a_picture_and_as_text_only_where_no_pictures_are_sent() -> None:
    finding = CASES["en"].examinations.results["Ultrasound"]
    shown = answer_to("Please have an ultrasound of the abdomen done.")["dialogue"][-1]
    assert [picture.item for picture in shown.pictures] == ["Ultrasound"] and finding not in shown.text
    told = answer_to("Please have an ultrasound of the abdomen done.", send_pictures=False)["dialogue"][-1]
    assert told.pictures == [] and finding in told.text


def test_a_question_about_the_illness_is_answered_without_the_desk() -> None:
    result = answer_to("Do you have any allergies?")
    assert path(result) == ["p>d"]
    assert result["dialogue"][-1].text == "I have no known drug allergy."
    assert calls(result, "examiner") == []


def test_the_patient_never_sees_a_result_before_the_desk_has_told_it() -> None:
    result = answer_to("Please have a blood test done.")
    first, relayed = calls(result, "patient")
    assert leaked(CASES["en"], words(first)) == [] and leaked(CASES["en"], words(relayed))
    assert words(relayed).count("Please have a blood test done.") == 2, "once as said, and once in the own request"
    [parsed] = calls(result, "examiner", "ai_hospital.request")
    assert leaked(CASES["en"], words(parsed)) == []


def test_a_patient_who_has_heard_the_diagnosis_may_end_the_dialogue() -> None:
    goodbye = {"addressee": "doctor", "text": "Thank you, goodbye.", "finished": True}
    with FakeServer(answer=lambda request: goodbye) as server:
        result = answer_to("It is your gallbladder.", models={"patient": f"openai:any@{server.base_url}"})
    assert result["dialogue_ended"] == "patient_ended"
