"""What `wardround tune` trained, in the doctor's seat: of a consultation, and of a server that was told so."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cases.dialogues import PHYSICIAN
from graphs import consultation
from llm.errors import AnswerError
from nodes.consultation.doctor import consulting_doctor, in_plain_words
from tests.graphs.scripting import builtin, calls
from tests.support.fake_server import FakeServer
from wardround.store.traces import read_trace
from wardround.tuning.smoke import make_base, smoke_dialogues, smoke_tuning

pytestmark = pytest.mark.slow

CASE = builtin("surgery-01")
GRAPH: Any = consultation


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> str:
    from wardround.tuning.train import train  # seconds of imports, not for every process that collects

    folder = tmp_path_factory.mktemp("tuned")
    make_base(folder / "base")
    tuning = smoke_tuning(folder / "base", "prefix").model_copy(update={"epochs": 2})
    train(tuning, smoke_dialogues(), folder / "model")
    return f"hf:{folder / 'model'}"


def consult(doctor: str, patient: str = "medchain", **context: Any) -> dict[str, Any]:
    seat = "history_taking.doctor" if patient == "medchain" else "consultation.doctor"
    models = {"default": "offline", seat: doctor}
    settings = {"retrieval": False, "patient": patient, "max_turns": 3, "models": models, **context}
    result: dict[str, Any] = GRAPH.invoke({"case": CASE}, context=settings)
    return result


@pytest.mark.parametrize("patient", ["medchain", "ai_hospital"])
def test_a_tuned_model_holds_a_consultation_to_its_end(tuned: str, patient: str) -> None:
    result = consult(tuned, patient)
    assert result["dialogue_ended"] in ("turn_limit", "concluded") and result["report"].diagnosis
    asked = [call for call in calls(result, "doctor") if call.model == tuned]
    said = [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"]
    assert [call.answer["text"] for call in asked] == said and all(said)
    for call in asked:
        assert call.messages and call.messages[0]["role"] == "user" and call.messages[-1]["role"] != PHYSICIAN
        assert call.output_tokens <= 40  # the length that it was trained for
    if patient == "medchain":
        assert asked[0].messages == [{"role": "user", "content": CASE.patient.chief_complaint}]


def test_the_same_seed_gives_the_same_consultation(tuned: str) -> None:
    first, again = (consult(tuned, temperature=1.0, seed=3)["dialogue"] for _ in range(2))
    assert first == again


@pytest.mark.parametrize(
    ("words", "finished"), [("Since when?", False), ("Thank you for coming. Goodbye.", True), ("谢谢，再见。", True)]
)
def test_plain_words_end_a_dialogue_that_has_begun_if_they_take_leave(words: str, finished: bool) -> None:
    from nodes.state.chart import Chart, Presentation, Turn

    class View:
        chart = Chart(
            language="zh" if "谢" in words else "en",
            presentation=Presentation(language="en", chief_complaint="Pain"),
            referral=None, triage=None, dialogue=[], results={}, pictures=[], reports={}, diagnosis=None, decided={},
        )  # fmt: skip

    view: Any = View()
    assert not in_plain_words(view, words).finished  # a greeting may sound like a farewell
    asked = Turn(speaker="doctor", text="What brings you here?")
    view.chart = replace(view.chart, dialogue=[asked])
    assert in_plain_words(view, f" {words}\n").model_dump() == {"text": words, "finished": finished}
    with pytest.raises(ValueError, match="text"):
        in_plain_words(view, "  \n")


def test_a_chat_model_in_this_process_gets_prompts_where_plain_words_are_switched_off(tmp_path: Path) -> None:
    make_base(tmp_path)
    for name, length in (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length")):
        file = tmp_path / name
        file.write_text(json.dumps(json.loads(file.read_text()) | {length: 4096}))
    trace = tmp_path / "trace.jsonl"
    with pytest.raises(AnswerError, match="not a valid DoctorTurn"):  # random weights fill in no form
        consult(f"hf:{tmp_path}", plain_words=False, repairs=0, max_tokens=8, trace_file=str(trace))
    (asked,) = (call for call in read_trace(trace).calls if call.model != "offline")
    assert asked.prompt == "en/medchain/doctor" and asked.messages
    assert [each["role"] for each in asked.messages] == ["system", "user"]


def test_a_served_model_is_spoken_with_where_plain_words_are_switched_on() -> None:
    with FakeServer(answer=lambda request: "Since when?", supports=("json_schema", "tools", "text")) as server:
        result = consult(f"openai:clinichat@{server.base_url}", plain_words=True)
    assert result["dialogue_ended"] == "turn_limit"
    assert [turn.text for turn in result["dialogue"] if turn.speaker == "doctor"] == ["Since when?"] * 3
    assert consulting_doctor.speech is not None
    for request in server.requests:
        assert request.mode == "text" and request.messages[0]["role"] == "user"
        assert "JSON" not in str(request.messages)
