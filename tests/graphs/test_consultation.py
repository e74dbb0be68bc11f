import json
import re
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from cases import Case
from cases.case import Opening
from cases.vocabulary import EXAMINATION_ITEMS, labels
from graphs import consultation, dispute_resolution, one_step
from graphs.consultation import builder
from graphs.interview import PATIENTS
from nodes.consultation.doctor import DoctorTurn
from nodes.context import Context
from nodes.node import Node
from prompts import load_words, on_one_line
from tests.graphs.scripting import builtin, calls, pictures_in, script, words
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.run.checkpoints import serializer

CASE = builtin("surgery-01")  # its ultrasound is a picture
GRAPH: Any = consultation
ONE_STEP: Any = one_step
PARTS = ["symptoms", "examinations", "diagnosis", "basis", "treatment"]


def run(case: Case = CASE, **context: Any) -> dict[str, Any]:
    settings: Any = {"retrieval": False, "patient": "ai_hospital", "max_turns": 12, **context}
    result: dict[str, Any] = GRAPH.invoke({"case": case}, context=settings)
    return result


def saying(patch: pytest.MonkeyPatch, *lines: str) -> None:
    """A doctor who says these lines, one a turn, and concludes with the last."""

    def rule(view: Any) -> DoctorTurn:
        asked = sum(turn.speaker == "doctor" for turn in view.chart.dialogue)
        return DoctorTurn(text=lines[min(asked, len(lines) - 1)], finished=asked + 1 >= len(lines))

    script(patch, "doctor", rule)


def doctors_turns(result: dict[str, Any]) -> list[str]:
    return [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"]


@pytest.mark.parametrize("case_id", ["surgery-01", "surgery-06"])
def test_the_offline_doctor_takes_the_history_in_order_orders_examinations_and_reports_in_five_parts(
    case_id: str,
) -> None:
    result = run(builtin(case_id))
    asked = doctors_turns(result)
    language = builtin(case_id).language
    assert asked[:6] == list(load_words("medchain/words", language)["doctor"]["questions"])
    assert ("General Examination" if language == "en" else "一般检查") in asked[6]
    assert ("Blood Test" if language == "en" else "血液学检查") in asked[7]
    told, answered = asked[8:]
    assert result["report"].treatment in told
    said = [turn for turn in result["dialogue"] if turn.speaker == "patient"]
    assert said[-2].text.strip("。.")[:-1] and ("?" in said[-2].text or "？" in said[-2].text) and answered != told
    assert result["dialogue_ended"] == "patient_ended" and said[-2].text not in result["report"].symptoms
    assert [name for name, value in result["report"] if value] == PARTS
    assert builtin(case_id).examinations.results["Blood Test"] in result["report"].examinations


def test_with_a_memory_the_doctor_orders_what_similar_cases_had_and_reports_what_they_were() -> None:
    with_memory, without = (run(builtin("general-medicine-03"), retrieval=retrieval) for retrieval in (True, False))
    assert doctors_turns(with_memory)[6:8] != doctors_turns(without)[6:8]
    assert without["report"].diagnosis[0].startswith("Undetermined")
    assert not with_memory["report"].diagnosis[0].startswith("Undetermined")
    assert "earlier cases, other patients" in words(calls(with_memory, "doctor", "report")[0])


def test_the_patient_of_ai_hospital_opens_with_the_statement_of_a_profile_that_is_made_once_and_kept() -> None:
    result = run()
    assert len(calls(result, "patient_profile")) == 1
    opening = result["dialogue"][0]
    assert (opening.speaker, opening.addressee, opening.text) == ("patient", "doctor", result["profile"].statement)
    assert all(result["profile"].personality in words(call) for call in calls(result, "patient"))


@pytest.mark.parametrize("case_id", ["surgery-01", "surgery-06"])
def test_offline_a_doctor_who_remembers_no_case_does_not_tell_the_complaint_as_the_diagnosis(case_id: str) -> None:
    case = builtin(case_id)
    result = GRAPH.invoke({"case": case}, context={"patient": "ai_hospital", "retrieval": False})
    told = load_words("consultation/words", case.language)["doctor"]["open"]
    assert told.format(treatment=result["report"].treatment) in doctors_turns(result)
    assert result["report"].diagnosis[0].startswith(("Undetermined (the complaint: “", "诊断待定（主诉：“"))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("patient", "tells"), [("ai_hospital", True), ("saps", False)])
def test_the_doctor_is_asked_to_tell_the_diagnosis_to_a_patient_who_is_told_and_to_no_other(
    patient: str, tells: bool, language: str
) -> None:
    spoken = [
        words(call) for call in calls(run(patient=patient, language=language, max_turns=2), "doctor", "consultation")
    ]
    wanted = "take worries seriously" if language == "en" else "认真对待患者的担心"
    assert spoken and all((wanted in text) == tells for text in spoken)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("listed", [True, False])
def test_without_a_list_no_examination_is_named_to_the_doctor_before_it_was_spoken_of(
    listed: bool, language: str
) -> None:
    result = run(list_examinations=listed, language=language, max_turns=2)
    named = {item for item in labels(EXAMINATION_ITEMS.names, language) if item in words(calls(result, "doctor")[0])}
    assert bool(named) == listed


def test_with_medchains_patient_examinations_are_done_after_the_dialogue_as_they_were_named_in_it() -> None:
    result = run(patient="medchain", send_pictures=False)
    assert calls(result, "extraction") and not calls(result, "examiner")
    assert result["results"] and set(result["results"]) <= {*result["physical_orders"], *result["auxiliary_orders"]}
    assert all(text in result["report"].examinations for text in result["results"].values())


def test_the_doctor_hears_what_is_said_to_the_doctor_and_nothing_that_passes_at_the_desk() -> None:
    result = run()
    private = [turn.text for turn in result["dialogue"] if turn.addressee in ("patient", "examiner")]
    relayed = [turn.text for turn in result["dialogue"] if turn.addressee == "doctor"]
    assert private and relayed
    last = words(calls(result, "doctor", "report")[0])
    assert all(on_one_line(text) in last for text in relayed)
    assert not any("this is what the doctor said" in words(call) for call in calls(result, "doctor"))


def test_a_picture_that_is_handed_over_reaches_the_doctor_as_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    saying(monkeypatch, "Please have an ultrasound done.", "Thank you.")
    report = {"symptoms": "", "examinations": "", "diagnosis": ["Gallstones"], "basis": "", "treatment": ""}
    with FakeServer(answer=lambda request: report) as server:
        result = run(models={"report.doctor": f"openai:any@{server.base_url}"})
        [request] = server.requests
    assert result["report"].diagnosis == ["Gallstones"]
    assert len(pictures_in(request)) == 1
    assert CASE.examinations.results["Ultrasound"] not in request.text


@pytest.mark.parametrize("patient", sorted(PATIENTS))
@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_doctor_who_never_concludes_is_stopped_by_the_turn_limit(
    patient: str, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(monkeypatch, *["Go on, where is the pain?"] * 99)
    result = run(patient=patient, max_turns=turns)
    assert result["dialogue_ended"] == "turn_limit"
    assert len(doctors_turns(result)) == turns
    assert result["report"].diagnosis


def test_a_patient_who_says_goodbye_ends_the_dialogue_and_the_doctor_still_reports() -> None:
    goodbye = {"addressee": "doctor", "text": "I have to leave.", "finished": True}
    with FakeServer(answer=lambda request: goodbye) as server:
        result = run(models={"ai_hospital.patient": f"openai:any@{server.base_url}"})
    assert result["dialogue_ended"] == "patient_ended"
    assert len(doctors_turns(result)) == 1 and result["report"].diagnosis


def test_no_switch_of_the_workflow_lays_the_record_or_the_reference_open_in_a_consultation() -> None:
    whole = Context(retrieval=False, patient="ai_hospital", sequential=False, interactive=False)
    result = GRAPH.invoke({"case": CASE}, context=whole)
    assert "reference" not in result
    assert result["presentation"].past_history == ""
    assert not any(name in words(call) for name in CASE.key.diagnosis for call in calls(result, "doctor"))


def test_no_doctors_node_receives_a_record_or_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    received: dict[str, set[str]] = {}
    original = Node._run

    async def spy(self: Node, view: Any) -> dict[str, Any]:
        received.setdefault(str(self.name), set()).update(view)
        return await original(self, view)

    monkeypatch.setattr(Node, "_run", spy)
    run()
    secret = {"case", "patient_record", "examination_record"}
    assert {name: keys & secret for name, keys in received.items() if keys & secret} == {
        "admit": {"case"},
        "introduce": {"patient_record"},
        "reply": {"patient_record"},
        "relay": {"patient_record"},
        "report_outcomes": {"examination_record"},
    }


def test_one_step_diagnosis_reads_the_whole_record_at_once_and_nobody_is_asked() -> None:
    result: dict[str, Any] = ONE_STEP.invoke({"case": CASE}, context={"retrieval": False, "send_pictures": False})
    [call] = calls(result)
    assert (call.role, call.stage) == ("doctor", "report")
    record = [*CASE.examinations.results.values(), CASE.patient.present_illness, CASE.patient.past_history]
    assert all(text in words(call) for text in record)
    assert not any(text in words(call) for text in (*CASE.key.diagnosis, CASE.key.treatment_course))
    assert [name for name, value in result["report"] if value] == PARTS


@pytest.mark.parametrize("patient", sorted(PATIENTS))
def test_the_clinical_workflow_holds_its_dialogue_with_any_patient(patient: str) -> None:
    from graphs import clinical_workflow

    context: Any = {"retrieval": False, "general_agents": 1, "feedback": "off", "patient": patient}
    result: Any = clinical_workflow.invoke({"case": CASE}, context=context)
    assert result["treatment"].items
    assert {turn.speaker for turn in result["dialogue"]} >= {"doctor", "patient"}
    stages = {call.stage.split(".")[0] for call in calls(result)} & {*PATIENTS}
    assert patient in stages or (patient == "medchain" and not stages)


@pytest.mark.parametrize("patient", [*PATIENTS])
def test_a_consultation_is_held_with_a_model_that_speaks_and_heeds_no_form(patient: str) -> None:
    """Who has to decide or to sort is still asked for a form; here it is given to them."""

    def answer(request: ChatRequest) -> str | None:
        return "Thank you. It hurts here." if "text" in (request.schema or {}).get("properties", {}) else None

    with FakeServer(answer=answer) as server:
        result = run(patient=patient, max_turns=2, models={"default": f"openai:any@{server.base_url}"})
    said = {turn.speaker: turn.text for turn in result["dialogue"]}
    assert said["doctor"] == "Thank you. It hurts here." and result["report"].diagnosis
    assert patient == "medpmc" or said["patient"] == "Thank you. It hurts here."


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_person_may_be_doctor_or_patient_and_is_asked_for_the_seats_own_turns_alone(how: str) -> None:
    for seat, stages in (("doctor", {"consultation", "report"}), ("patient", {"ai_hospital"})):
        graph: Any = builder.compile(checkpointer=InMemorySaver(serde=serializer()))
        options: Any = {
            "config": {"configurable": {"thread_id": "1"}},
            "context": {"retrieval": False, "patient": "ai_hospital", "max_turns": 4, "models": {seat: "human"}},
        }

        async def go(given: Any, graph: Any = graph, options: Any = options) -> Any:
            return graph.invoke(given, **options) if how == "invoke" else await graph.ainvoke(given, **options)

        result = await go({"case": CASE})
        asked = []
        while "__interrupt__" in result:
            [question] = result["__interrupt__"]
            assert question.value["role"] == seat
            asked.append(question.value["stage"])
            answer: Any = {"text": f"Words {len(asked)}."}
            if seat == "doctor":
                answer["finished"] = len(asked) == 3
            else:
                answer |= {"addressee": "doctor", "finished": False}
            if question.value["stage"] == "report":
                answer = json.dumps({**dict.fromkeys(PARTS, "as seen"), "diagnosis": ["Gallstones"]})
            result = await go(Command(resume=answer))
        assert set(asked) == stages
        said = [turn.text for turn in result["dialogue"][1:] if turn.speaker == seat]
        assert [text for text in said if text.startswith("Words")] == said and len(said) >= 3
        assert result["report"].diagnosis == ["Gallstones"] if seat == "doctor" else result["report"].diagnosis


@pytest.mark.parametrize("already", [False, True])
@pytest.mark.parametrize(("language", "words"), [("en", "has already had every examination"), ("zh", "都已经做过")])
def test_a_doctor_is_told_that_all_examinations_are_done_only_where_it_is_set(
    language: str, words: str, already: bool
) -> None:
    with FakeServer() as server:
        models = {"doctor": f"openai:any@{server.base_url}"}
        run(patient="medpmc", max_turns=2, language=language, already_examined=already, models=models)
    said = [request.text for request in server.requests if request.name == "DoctorTurn"]
    assert said and all((words in text) is already for text in said)
    last = {"en": "for the result of the examination that you need", "zh": "或者问一项检查的结果"}[language]
    assert all((last in text) is already for text in said), "the prompt ends as it says above"


@pytest.mark.parametrize("patient", ["ai_hospital", "clinichat"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_thinks_aloud_is_not_told_that_the_patient_hears_nothing_of_it(patient: str, language: str) -> None:
    silent = {"en": "hears your sentence alone", "zh": "只听到你说的那句话"}[language]
    for thoughts in ("silent", "spoken"):
        result = run(patient=patient, max_turns=2, language=language, doctor_mode="zero_shot_cot", thoughts=thoughts)
        told = [words(call) for call in calls(result, "doctor", place="turn1")]
        assert told and all((silent in text) == (thoughts == "silent") for text in told)


OPENED = CASE.model_copy(update={"opening": Opening(doctor="Good morning, sit down.", patient="My side hurts.")})


def test_an_opening_that_the_source_fills_in_is_the_first_exchange_and_the_doctor_goes_on_from_there() -> None:
    result = run(OPENED, patient="saps", max_turns=6)
    greeting, reply, first = result["dialogue"][:3]
    assert (greeting.text, greeting.action, reply.text) == (
        "Good morning, sit down.",
        "Initialization",
        "My side hurts.",
    )
    assert reply.facts == [CASE.patient.chief_complaint]
    assert first.text == load_words("medchain/words", "en")["doctor"]["questions"][0]
    assert len(doctors_turns(result)) == 6, "it is one of the six turns"


def test_of_several_interns_each_goes_on_from_the_opening_of_the_source() -> None:
    graph: Any = dispute_resolution
    result = graph.invoke(
        {"case": OPENED}, context={"retrieval": False, "patient": "saps", "max_turns": 3, "interns": 2}
    )
    for one in result["consultations"]:
        assert [turn.text for turn in one.dialogue[:2]] == ["Good morning, sit down.", "My side hurts."]
        assert one.dialogue[2].speaker == "doctor"


@pytest.mark.parametrize(
    "settings",
    [
        {"patient": "ai_hospital"},
        {"patient": "medpmc"},
        {"patient": "saps", "language": "zh"},
        {"patient": "saps", "personalized": False},
        {"patient": "saps", "max_turns": 1},
    ],
)
def test_an_opening_is_left_out_where_somebody_else_would_have_to_say_it(settings: dict[str, Any]) -> None:
    said = [turn.text for turn in run(OPENED, **{"max_turns": 4, **settings})["dialogue"]]
    assert "Good morning, sit down." not in said and "My side hurts." not in said


@pytest.mark.parametrize("patient", ["saps", "medpmc"])
def test_of_four_turns_one_is_the_greeting_and_three_are_the_doctors_each_answered(
    patient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []

    def rule(view: Any) -> DoctorTurn:
        left.append(view.questions_left)
        return DoctorTurn(text="Do you smoke?", finished=False)

    script(monkeypatch, "doctor", rule)
    result = run(patient=patient, max_turns=4)
    doctors = [turn for turn in result["dialogue"] if turn.speaker == "doctor"]
    assert [turn.action for turn in doctors] == ["Initialization", *["Effective Inquiry"] * 3]
    assert (left, result["dialogue_ended"], result["dialogue"][-1].speaker) == ([3, 2, 1], "turn_limit", "patient")


@pytest.mark.parametrize("patient", list(PATIENTS))
def test_a_doctor_knows_which_turn_nobody_replies_to(patient: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unanswered: list[bool] = []

    def rule(view: Any) -> DoctorTurn:
        unanswered.append(view.unanswered)
        return DoctorTurn(text=f"Does it hurt in place {len(unanswered)}?", finished=False)

    script(monkeypatch, "doctor", rule)
    dialogue = run(patient=patient, max_turns=3)["dialogue"]
    assert unanswered[-1] == (dialogue[-1].speaker == "doctor") and not any(unanswered[:-1])


@pytest.mark.parametrize("patient", PATIENTS)
def test_what_is_said_and_reported_in_chinese_has_chinese_marks(patient: str) -> None:
    result = run(builtin("pediatrics-05"), patient=patient, absent_examinations="normal", max_turns=20)
    texts = [*(turn.text for turn in result["dialogue"]), *map(str, result["report"].model_dump().values())]
    assert "血液学检查" in "".join(texts)
    for text in texts:
        assert not re.search(r"[\u4e00-\u9fff][:;,]|[。；，：] ", text), text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_dialogue_can_stand_before_the_doctors_model_as_turns_of_a_chat(language: str) -> None:
    case = builtin({"en": "surgery-01", "zh": "surgery-06"}[language])
    habits = iter(("smoke", "drink", "travel", "sleep well", "eat well", "work"))
    with FakeServer(answer=lambda request: {"text": f"Do you {next(habits)}?", "finished": False}) as server:
        models = {"default": "offline", "consultation.doctor": f"openai:any@{server.base_url}"}
        settings: Any = {
            "patient": "saps",
            "retrieval": False,
            "max_turns": 4,
            "models": models,
            "doctor_knows": "nothing",
        }
        result: Any = consultation.invoke({"case": case}, context={**settings, "dialogue_in_roles": True})
        last = server.requests[-1].messages
    roles = ["system", "user", *["assistant", "user"] * 3]
    assert [message["role"] for message in last] == roles, "many servers want turns to alternate"
    *said, reply = [turn.text for turn in result["dialogue"]][: len(roles) - 2]
    assert [message["content"] for message in last[2:-1]] == said, "each turn once, as it was said"
    label = {"en": "- Patient: ", "zh": "- 患者："}[language]
    assert f"{label}{reply}" in last[-1]["content"].partition("</data>")[0], "who speaks is said where our words follow"
    assert not any(text in last[-1]["content"] for text in said)


@pytest.mark.parametrize("known", [True, False])
def test_a_server_without_chat_roles_reads_who_said_what_of_the_dialogue(known: bool) -> None:
    """Whether a model's block says that it has none, or the server itself."""

    def refused(request: ChatRequest) -> tuple[int, str] | None:
        return (400, "System role not supported") if len(request.messages) > 1 else None

    habits = iter(("smoke", "drink", "travel", "sleep well", "eat well", "work"))
    with FakeServer(
        answer=lambda request: {"text": f"Do you {next(habits)}?", "finished": False}, refusal=refused
    ) as server:
        block = {"spec": f"openai:any@{server.base_url}", "chat_roles": not known}
        models = {"default": "offline", "consultation.doctor": "plain"}
        settings: Any = {"patient": "saps", "retrieval": False, "max_turns": 3, "dialogue_in_roles": True}
        run(builtin("surgery-01"), models=models, model={"plain": block}, **settings)
    assert "- Doctor: Do you smoke?\n- Patient: " in server.requests[-1].text
    assert len(server.requests[-1].messages) == 1


@pytest.mark.parametrize(("patient", "asked"), [("medchain", {"extraction", "refiner"}), ("ai_hospital", {"refiner"})])
def test_orders_are_extracted_and_the_history_described_side_by_side_and_cases_are_recalled_once_by_both(
    patient: str, asked: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saying(monkeypatch, "Where does it hurt?", "I should like a blood test. Goodbye.")
    with FakeServer(latency=0.2) as server:
        models = {role: f"openai:{role}@{server.base_url}" for role in ("extraction", "refiner")}
        result = run(retrieval=True, patient=patient, models=models)
    complaint, *after = server.requests
    assert complaint.model == "refiner" and {request.model for request in after} == asked
    assert server.max_in_flight == len(asked)
    [recalled] = [event for event in result["trace"].events if event.stage == "diagnosis"]
    assert recalled.content["cases"] and result["report"].diagnosis
