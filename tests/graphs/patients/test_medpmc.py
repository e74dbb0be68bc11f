import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Raster
from pydantic import ValidationError

from cases import Case
from cases.case import ExaminationRecord, Image
from cases.text.sentences import sentences
from graphs import consultation
from graphs.patients import medpmc
from nodes.context import Context
from nodes.state.chart import Presentation, Turn
from tests.graphs.patients.test_ai_hospital import ATTACKS
from tests.graphs.scripting import builtin, calls, pictures_in
from tests.support.fake_server import ChatRequest, FakeServer

GRAPH: Any = medpmc.graph
CONSULTATION: Any = consultation
EN, ZH = builtin("dentistry-01"), builtin("surgery-06")  # the English one has a picture
CASES = {"en": EN, "zh": ZH}
FIRST = [Turn(speaker="doctor", text="Hello."), Turn(speaker="patient", text="Hello.")]


def answer_to(question: str, case: Case = EN, first: bool = False, **context: Any) -> dict[str, Any]:
    asked = Turn(speaker="doctor", text=question)
    patient = case.patient
    door = Presentation(language=case.language, sex=patient.sex, chief_complaint=patient.chief_complaint)
    given = {
        "presentation": door,
        "patient_record": patient,
        "examination_record": case.examinations,
        "picture_folder": case.folder,
        "reference_reports": dict(case.key.imaging_reports),
        "dialogue": [asked] if first else [*FIRST, asked],
    }
    settings: Any = {"retrieval": False, "patient": "medpmc", **context}
    result: dict[str, Any] = GRAPH.invoke(given, context=settings)
    return result


def tracked(result: dict[str, Any]) -> str | None:
    action: str | None = next(turn for turn in reversed(result["dialogue"]) if turn.speaker == "doctor").action
    return action


def found(record: ExaminationRecord, said: str) -> list[str]:
    return [sentence for text in record.results.values() for sentence in sentences(text) if sentence in said]


@pytest.mark.parametrize(
    ("question", "action", "told"),
    [
        ("Do you smoke?", "Effective Inquiry", "five cigarettes a day"),
        ("Have you coughed up blood?", "Ineffective Inquiry", "I do not know"),
        ("How do you feel?", "Ambiguous Inquiry", "more specific"),
        ("Please have a neck examination.", "Effective Advice", "lymph node of 8 mm"),
        ("Please have an endoscopy.", "Ineffective Advice", "Everything is normal."),
        ("Please have some tests done.", "Ambiguous Advice", "Which examination"),
        ("Have you had an abdominal X-ray or CT scan?", "Ineffective Inquiry", "could not tell"),
        ("Have you had a CT of the chest, and what did it show?", "Ineffective Advice", "Everything is normal."),
        ("What did the neck examination show?", "Effective Advice", "lymph node of 8 mm"),
        ("What is your blood pressure?", "Effective Advice", "124/78"),
        ("Do you have any illnesses?", "Effective Inquiry", "no chronic disease"),
        ("May I know your age and gender?", "Effective Inquiry", "I am male."),
        ("What is your favourite film?", "Other Topic", "my illness"),
    ],
)
def test_the_states_have_their_replies(question: str, action: str, told: str) -> None:
    result = answer_to(question)
    assert (tracked(result), told in result["dialogue"][-1].text) == (action, True), result["dialogue"][-1].text


def test_without_the_tracker_the_same_patient_speaks_and_acts_with_the_whole_record_before_it() -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        return {"text": "I smoke."} if request.name == "SimulatedReply" else None

    with FakeServer(answer=answer) as server:
        models = {"default": "offline", "response_generator": f"openai:any@{server.base_url}"}
        result = answer_to("Please have a neck examination.", models=models, tracker=False)
        [asked] = server.requests
    assert "lymph node of 8 mm" in asked.text
    assert [call.role for call in calls(result)] == ["response_generator", "actor"]
    with pytest.raises(ValidationError, match="tracker is not a setting of patient 'medchain'"):
        Context(patient="medchain", tracker=False)


@pytest.mark.parametrize(
    ("question", "action", "told"),
    [
        ("您抽烟吗？", "Effective Inquiry", "烟"),
        ("请做一下胃镜。", "Ineffective Advice", "一切正常。"),
        ("B超显示什么？", "Effective Advice", "盲管状结构"),
        ("以前身体怎么样？", "Effective Inquiry", "身体一直不错"),
        ("您是男是女？", "Effective Inquiry", "男"),
        ("请做腹部检查。", "Effective Advice", ZH.examinations.physical["Abdominal Examination"][:12]),
        ("您哪里不舒服？", "Ambiguous Inquiry", "具体"),
        ("您咳过血吗？", "Ineffective Inquiry", "说不上来"),
        ("请做些检查。", "Ambiguous Advice", "哪一项检查"),
        ("您喜欢看什么电影？", "Other Topic", "病"),
    ],
)
def test_the_states_have_their_replies_in_chinese(question: str, action: str, told: str) -> None:
    result = answer_to(question, ZH)
    assert (tracked(result), told in result["dialogue"][-1].text) == (action, True), result["dialogue"][-1].text


def test_the_first_turn_is_answered_with_the_complaint_and_the_conclusion_with_nothing() -> None:
    result = answer_to("Good morning.", first=True)
    assert tracked(result) == "Initialization"
    assert EN.patient.chief_complaint in result["dialogue"][-1].text
    result = answer_to("Thank you, that is all; get well soon. Goodbye.")
    assert (tracked(result), result["dialogue_ended"]) == ("Conclusion", "concluded")
    assert result["dialogue"][-1].speaker == "doctor" and calls(result, "actor") == []


def test_what_is_to_be_done_on_the_spot_is_advice_since_there_is_no_demand() -> None:
    assert tracked(answer_to("Open your mouth wide.")) == "Ambiguous Advice"
    assert tracked(answer_to("Lie down so that I can do an abdominal examination.")) != "Demand"
    with FakeServer(answer=lambda request: _willing(request)) as server:
        answer_to("Open your mouth wide.", models={"default": f"openai:a@{server.base_url}"})
    [first] = [request for request in server.requests if request.name == "KindInOneRoom"]
    assert "demand" not in json.dumps(first.schema), "its prompt does not speak of demands either"


def test_the_patient_speaks_in_the_personas_manner_and_the_technician_does_not() -> None:
    told = answer_to("Do you smoke?")["dialogue"][-1]
    assert told.speaker == "patient" and told.plain in told.text
    assert (told.facts, told.plain) == (["He smokes five cigarettes a day."], "I smoke five cigarettes a day.")
    shown = answer_to("Please have a neck examination.")
    assert calls(shown, "actor") == []
    told = shown["dialogue"][-1]
    assert (told.speaker, told.addressee, told.plain) == ("examiner", "doctor", "")
    assert told.facts == [EN.examinations.physical["Neck Examination"]]


def test_with_the_actor_off_the_plain_words_are_said_and_nobody_rewrites_them() -> None:
    result = answer_to("Do you smoke?", actor=False)
    assert result["dialogue"][-1].plain == "" and calls(result, "actor") == []


def test_the_patient_knows_nothing_of_the_examinations() -> None:
    with FakeServer(answer=lambda request: _willing(request)) as server:
        result = answer_to("What did the X-ray of the tooth show?", models={"default": f"openai:a@{server.base_url}"})
    of_the_patient = [r for r in server.requests if r.name in ("Coverage", "Release", "SimulatedReply")]
    assert of_the_patient and not any(found(EN.examinations, request.text) for request in server.requests)
    assert result["dialogue"][-1].speaker == "patient"


def _willing(request: ChatRequest) -> dict[str, Any] | None:
    """Everything is an effective inquiry, and every fact an answer."""
    return {
        "KindInOneRoom": {"kind": "inquiry"},
        "Specificity": {"specificity": "specific"},
        "Coverage": {"coverage": "on_record"},
        "Release": {"numbers": list(range(1, 9))},
    }.get(request.name)


# The technician.


@pytest.mark.parametrize(
    ("setting", "words"),
    [("normal", "Everything is normal."), ("unknown", "no result on record"), ("unavailable", "cannot be done here")],
)
def test_an_absent_examination_is_answered_as_the_setting_says(setting: str, words: str) -> None:
    result = answer_to("Please have an endoscopy.", absent_examinations=setting)
    assert words in result["dialogue"][-1].text and result["dialogue"][-1].facts == []


@pytest.mark.parametrize(("setting", "words"), [("normal", "一切正常"), ("unknown", "没有"), ("unavailable", "无法")])
def test_an_absent_examination_is_answered_as_the_setting_says_in_chinese(setting: str, words: str) -> None:
    assert words in answer_to("请做一下胃镜。", ZH, absent_examinations=setting)["dialogue"][-1].text


def test_a_treatment_is_no_examination_and_the_patient_answers() -> None:
    result = answer_to("Please take ibuprofen 400 mg.")
    assert (result["dialogue"][-1].speaker, len(calls(result, "technician"))) == ("patient", 1)


def test_what_an_order_opened_of_the_files_is_in_the_trace() -> None:
    [event] = answer_to("Please have an X-ray of the tooth and a neck examination.")["trace"].events
    assert event.event == "released_results" and event.content["pictures"] == ["X-ray"]
    assert event.content["action"] == "Effective Advice"
    assert event.content["released"] == [EN.examinations.physical["Neck Examination"]]


def _worst(case: Case) -> Any:
    """Models that let everything pass."""
    items = list(case.examinations.results)
    texts = [sentence for text in case.examinations.results.values() for sentence in sentences(text)]

    def answer(request: ChatRequest) -> dict[str, Any] | None:
        return {
            "KindInOneRoom": {"kind": "advice"},
            "Specificity": {"specificity": "specific"},
            "Coverage": {"coverage": "on_record"},
            "Release": {"numbers": list(range(100))},
            "ParsedRequest": {"items": [*items, *texts, "all results", "everything", "正常", "检查"]},
            "Outcomes": {"text": request.text},
            "SimulatedReply": {"text": request.text},
            "Rewriting": {"text": request.text},
        }.get(request.name)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_behind_a_strict_gate_a_request_for_everything_obtains_no_result_from_models_that_do_their_worst(
    language: str,
) -> None:
    case = CASES[language]
    with FakeServer(answer=_worst(case)) as server:
        for attack in ATTACKS[language][::12]:  # those models let any pass
            models = {"default": f"openai:a@{server.base_url}"}
            result = answer_to(attack, case, models=models, result_gate="strict")
            said = "\n".join(turn.text for turn in result["dialogue"])
            assert found(case.examinations, said) == [], attack
            assert not any(turn.pictures for turn in result["dialogue"])


# Pictures.


def test_a_picture_is_handed_over_and_its_finding_is_not_told() -> None:
    told = answer_to("Please have an X-ray of the tooth.")["dialogue"][-1]
    assert [picture.item for picture in told.pictures] == ["X-ray"]
    assert "enclosed" in told.text and not found(EN.examinations, told.text)


def test_without_multi_modal_information_nothing_of_a_picture_is_told() -> None:
    result = answer_to("Please have an X-ray of the tooth.", pictures_in_dialogue="none")
    told = result["dialogue"][-1]
    assert (told.pictures, told.facts) == ([], [])
    assert "not available" in told.text and "normal" not in told.text
    assert EN.examinations.physical["Neck Examination"] in (
        answer_to("Please have a neck examination.", pictures_in_dialogue="none")["dialogue"][-1].text
    )


def test_in_place_of_a_picture_the_reference_report_is_told_where_the_run_says_so() -> None:
    told = answer_to("Please have an X-ray of the tooth.", pictures_in_dialogue="report")["dialogue"][-1]
    assert told.pictures == [] and told.facts == [EN.key.imaging_reports["X-ray"]]
    assert EN.key.imaging_reports["X-ray"] in told.text


def a_doctor(request: ChatRequest) -> dict[str, Any] | None:
    """A doctor who orders the picture at once."""
    turns = {1: "Please have an X-ray of the tooth."}  # after the greeting
    asked = request.text.count("- Doctor:")
    if request.name not in ("DoctorTurn", "ReasonedTurn"):
        return None
    thoughts = {"reasoning": "Thoughts of mine."} if request.name == "ReasonedTurn" else {}
    return {**thoughts, "text": turns.get(asked, "Goodbye."), "finished": asked > 1}


def consult(**context: Any) -> tuple[dict[str, Any], list[ChatRequest]]:
    """A consultation under that doctor, everybody else by rule; and what the doctor was asked."""
    with FakeServer(answer=a_doctor) as server:
        settings = {"retrieval": False, "patient": "medpmc", "max_turns": 4, **context}
        models = {"doctor": f"openai:any@{server.base_url}"}
        result = CONSULTATION.invoke({"case": EN}, context={"models": models, **settings})
    return result, [request for request in server.requests if request.name in ("DoctorTurn", "ReasonedTurn")]


def test_the_doctor_gets_the_picture_with_the_next_call_and_not_before() -> None:
    result, requests = consult()
    assert [len(pictures_in(request)) for request in requests] == [0, 1]
    assert pictures_in(requests[1])[0].startswith("data:image/png;base64,")
    assert result["dialogue_ended"] == "concluded" and result["report"].diagnosis


@pytest.mark.parametrize(("way", "told"), [("none", False), ("report", True)])
def test_the_ablations_send_no_picture_and_only_one_tells_the_report(way: str, told: bool) -> None:
    result, requests = consult(pictures_in_dialogue=way)
    assert [len(pictures_in(request)) for request in requests] == [0, 0]
    report = EN.key.imaging_reports["X-ray"]
    assert (report in requests[1].text) == told
    assert ("reference_reports" in result) == told


# Doctor modes.


def test_the_doctor_modes_change_the_prompt_and_the_thoughts_are_not_heard() -> None:
    shown = {}
    for mode in ("direct", "zero_shot_cot", "one_shot_cot"):
        result, requests = consult(doctor_mode=mode)
        shown[mode] = requests[0].text
        assert {request.name for request in requests} == {"DoctorTurn" if mode == "direct" else "ReasonedTurn"}
        assert not any("Thoughts of mine" in turn.text for turn in result["dialogue"])
        assert not any("Thoughts of mine" in request.text for request in requests)
    assert "step by step" not in shown["direct"] and "toe" not in shown["direct"]
    assert "step by step" in shown["zero_shot_cot"] and "toe" not in shown["zero_shot_cot"]
    assert "step by step" in shown["one_shot_cot"] and "right big toe" in shown["one_shot_cot"]


@pytest.mark.parametrize("mode", ["zero_shot_cot", "one_shot_cot"])
def test_the_modes_leave_the_rule_as_it_is(mode: str) -> None:
    direct, thinking = (
        CONSULTATION.invoke({"case": ZH}, context={"retrieval": False, "doctor_mode": each, "max_turns": 5})
        for each in ("direct", mode)
    )
    assert direct["dialogue"] == thinking["dialogue"]


def test_spoken_thoughts_are_heard_and_remembered_as_in_the_paper() -> None:
    result, requests = consult(doctor_mode="zero_shot_cot", thoughts="spoken")
    own = [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"][1:]  # after the greeting
    assert own[0] == "Thoughts of mine. Please have an X-ray of the tooth."
    assert "Thoughts of mine." in requests[1].text and len(pictures_in(requests[1])) == 1


def test_the_example_has_a_picture_turn_and_its_picture_comes_first() -> None:
    _, requests = consult(doctor_mode="one_shot_cot")
    assert [len(pictures_in(request)) for request in requests] == [1, 2]
    assert "Picture 1 of those enclosed, which is of this other patient" in requests[0].text
    assert pictures_in(requests[0])[0] == pictures_in(requests[1])[0]
    _, blind = consult(doctor_mode="one_shot_cot", send_pictures=False)
    assert pictures_in(blind[0]) == [] and "no fracture, joint space kept" in blind[0].text


@pytest.mark.parametrize(
    ("language", "orders", "asks"),
    [
        ("en", "Please have a blood test done", "What did the blood test give"),
        ("zh", "请做血液检查", "血液检查结果怎么样"),
    ],
)
def test_the_example_orders_nothing_where_the_doctor_is_told_to_order_nothing(
    language: str, orders: str, asks: str
) -> None:
    for examined in (False, True):
        _, requests = consult(doctor_mode="one_shot_cot", language=language, already_examined=examined)
        assert ((orders in requests[0].text), (asks in requests[0].text)) == (not examined, examined)


def test_an_example_of_ones_own_takes_the_place_of_ours(tmp_path: Path) -> None:
    Raster.new("L", (4, 4)).save(tmp_path / "spine.png")
    own = tmp_path / "example.md"
    own.write_text("Thought: the cord.\nDoctor: A spinal MRI.\nExaminer: ![A schwannoma.](spine.png)", "utf-8")
    _, requests = consult(doctor_mode="one_shot_cot", example=str(own))
    assert "the cord" in requests[0].text and "toe" not in requests[0].text and len(pictures_in(requests[0])) == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "file not found"),
        ("", "has 0 characters"),
        ("![x](../a.png)", "is outside"),
        ("![x](a.png)", "picture 'a.png' not found"),
    ],
)
def test_an_example_that_cannot_be_shown_is_refused_before_the_first_call(
    tmp_path: Path, text: str | None, fault: str
) -> None:
    own = tmp_path / "example.md"
    if text is not None:
        own.write_text(text, "utf-8")
    with pytest.raises(ValidationError, match=f"example .*example.md.*{fault}"):
        Context.model_validate({"example": str(own)})


@pytest.mark.parametrize(
    "case", [EN, builtin("emergency-medicine-02"), builtin("surgery-01")], ids=lambda case: case.id
)
def test_offline_a_doctor_without_memory_orders_the_usual_pictures(case: Case) -> None:
    """As the ready files run: 48 orders had shown no picture."""
    settings: Any = {"retrieval": False, "patient": "medpmc", "actor": False}
    result = CONSULTATION.invoke({"case": case}, context=settings)
    assert any(turn.pictures for turn in result["dialogue"])


# Personas and the sex that is played.


def test_drawn_personas_play_all_ten_with_ten_seeds_and_a_case_that_turns_on_a_sex_keeps_it() -> None:
    played = []
    for seed in range(7, 17):
        settings: Any = {"retrieval": False, "patient": "medpmc", "max_turns": 2, "seed": seed}
        result = CONSULTATION.invoke(
            {"case": EN}, context={**settings, "patient_sex": "drawn", "patient_profession": "drawn"}
        )
        played.append((result["presentation"].sex, result["profession"]))
        assert result["patient_record"].sex == result["presentation"].sex
    assert len(set(played)) == 10
    bound = builtin("obstetrics-and-gynecology-01")
    for seed in range(2):
        kept = CONSULTATION.invoke({"case": bound}, context={**settings, "seed": seed, "patient_sex": "drawn"})
        assert kept["presentation"].sex == "female"


@pytest.mark.slow
@pytest.mark.parametrize("profession", ["farmer", "student", "worker", "office_worker", "doctor"])
@pytest.mark.parametrize("case", [EN, builtin("surgery-05")], ids=["man", "other"])
def test_a_consultation_runs_with_every_persona(profession: str, case: Case) -> None:
    settings: Any = {"retrieval": False, "patient": "medpmc", "patient_profession": profession}
    result = CONSULTATION.invoke({"case": case}, context=settings)
    told = [turn for turn in result["dialogue"] if turn.speaker == "patient"]
    assert told and all(turn.plain and turn.plain in turn.text for turn in told)
    assert all(call.error is None for call in calls(result))


def test_a_forced_sex_is_heard_and_seen_by_everybody() -> None:
    with FakeServer(answer=a_doctor) as server:
        models = {"doctor": f"openai:any@{server.base_url}", "actor": f"openai:any@{server.base_url}"}
        settings: Any = {"retrieval": False, "patient": "medpmc", "patient_sex": "female", "max_turns": 3}
        result = CONSULTATION.invoke({"case": EN}, context={"models": models, **settings})
    assert result["presentation"].sex == result["patient_record"].sex == "female"
    assert any("years, female, delivery van driver" in request.text for request in server.requests)
    assert " he " not in result["patient_record"].present_illness
    assert any("You are a woman." in request.text for request in server.requests)


def test_med_pmcs_settings_with_another_patient_are_refused_and_not_ignored() -> None:
    for setting in ({"patient_profession": "farmer"}, {"actor": False}, {"pictures_in_dialogue": "none"}):
        with pytest.raises(
            ValidationError,
            match=f"{next(iter(setting))} is not a setting of patient 'saps'; it needs patient = 'medpmc'",
        ):
            Context.model_validate({"patient": "saps", **setting})


def test_several_pictures_of_one_order_are_all_handed_over() -> None:
    twice = EN.examinations.model_copy(
        update={"images": [Image(file="a.png", item="X-ray"), Image(file="b.png", item="X-ray")]}
    )
    told = answer_to("Please have an X-ray.", EN.model_copy(update={"examinations": twice}))["dialogue"][-1]
    assert [picture.file.rsplit("/", 1)[-1] for picture in told.pictures] == ["a.png", "b.png"]


@pytest.mark.parametrize(
    ("case", "question", "told"),
    [(EN, "What did the X-ray show?", "wants the result of"), (ZH, "超声结果怎么样？", "想知道结果的")],
)
def test_the_technician_is_told_that_who_asks_for_a_result_wants_it_named(case: Case, question: str, told: str) -> None:
    with FakeServer(answer=lambda request: {"items": ["X-ray"]} if request.name == "ParsedRequest" else None) as server:
        models = {"default": "offline", "medpmc.order.technician": f"openai:any@{server.base_url}"}
        answer_to(question, case=case, models=models)
        [asked] = server.requests
    assert told in asked.text


@pytest.mark.parametrize(("case", "asked"), [(EN, "Which examination"), (ZH, "哪项检查")])
def test_who_asks_back_where_an_order_is_vague_is_set(case: Case, asked: str) -> None:
    vague = "Please have some tests done." if case is EN else "建议您去做些检查。"
    for setting, speaker in (("patient", "patient"), ("technician", "examiner")):
        last = (result := answer_to(vague, case=case, asks_back=setting))["dialogue"][-1]
        assert (last.speaker, tracked(result)) == (speaker, "Ambiguous Advice")
    assert asked in last.text and not last.facts and not last.plain


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_case_report_is_asked_for_in_six_parts_and_filed_in_five(language: str) -> None:
    six = ("person", "present_illness", "past_history", "examinations", "diagnosis", "treatment")

    def answer(request: ChatRequest) -> dict[str, Any] | None:
        return (
            {**{part: f"{part} told" for part in six}, "diagnosis": ["Gout"]} if request.name == "CaseReport" else None
        )

    given = {"case": CASES[language]}
    context: Any = {"patient": "medpmc", "retrieval": False, "max_turns": 2, "report_form": "case_report"}
    by_rule = CONSULTATION.invoke(given, context=context)["report"]
    assert (by_rule.basis, bool(by_rule.symptoms), bool(by_rule.diagnosis)) == ("", True, True)
    with FakeServer(answer=answer) as server:
        models = {"default": "offline", "report.doctor": f"openai:any@{server.base_url}"}
        written = CONSULTATION.invoke(given, context={**context, "models": models})["report"]
        [asked] = server.requests
    assert written.symptoms == "person told\npresent_illness told\npast_history told"
    assert (written.basis, written.diagnosis, written.treatment) == ("", ["Gout"], "treatment told")
    assert {"en": "six parts", "zh": "六部分"}[language] in asked.text
