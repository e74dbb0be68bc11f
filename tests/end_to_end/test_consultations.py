"""Whole consultations: every patient system under one doctor, offline, over a faulty server, and killed half-way."""

import itertools
import signal
import sqlite3
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from cases import Case, load_cases
from cases.importers import import_cases
from cases.text.named_tests import named_tests
from cases.text.sentences import sentences
from graphs import consultation
from graphs.consultation import builder
from graphs.interview import PATIENTS
from llm import AskError
from nodes.patients.filed_results import look_up
from tests.graphs.scripting import builtin, calls
from tests.support.fake_server import FakeServer, FaultPlan
from tests.support.processes import Forked
from wardround.run.checkpoints import serializer

pytestmark = pytest.mark.slow

GRAPH: Any = consultation
SYSTEMS = sorted(PATIENTS)
BUILT_IN = [case.id for case in load_cases() if case.split == "test"][:10]
AGENTCLINIC = Path(__file__).resolve().parents[3] / "shared" / "datasets" / "agentclinic" / "agentclinic_medqa.jsonl"
IMPORTED = range(10)
ENDS = {"concluded", "turn_limit", "patient_ended"}


@cache
def imported() -> list[Case]:
    return list(import_cases("agentclinic", AGENTCLINIC).cases)


def case_of(name: str | int) -> Case:
    if isinstance(name, str):
        return builtin(name)
    if not AGENTCLINIC.is_file():
        pytest.skip("AgentClinic's file is not at ../shared/datasets")
    return imported()[name]


EACH_SYSTEM = pytest.mark.parametrize("patient", SYSTEMS)


def run(case: Case, patient: str, **context: Any) -> dict[str, Any]:
    settings: Any = {"retrieval": False, "patient": patient, **context}
    result: dict[str, Any] = GRAPH.invoke({"case": case}, context=settings)
    return result


def unasked(case: Case, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Sentences of the examination record that came up after words of the doctor that name no such examination."""
    found: list[tuple[str, str]] = []
    words, allowed, said = "", set[str](), ""
    for turn in result["dialogue"]:
        if turn.speaker == "doctor":
            words = turn.text
            for test in named_tests(words):
                filed = look_up(case.examinations, test.spelling, case.folder, send_pictures=False)
                allowed |= {sentence for text in filed.texts for sentence in sentences(text)}
            if turn.action == "results" and not named_tests(words):  # CliniChat's patient, asked for all there is
                allowed |= {sentence for text in case.examinations.results.values() for sentence in sentences(text)}
            said += words
            continue
        recorded = (sentence for text in case.examinations.results.values() for sentence in sentences(text))
        told = [sentence for sentence in recorded if sentence in "\n".join([turn.text, *turn.facts])]
        known = case.patient.model_dump_json() + said
        found += [(words, sentence) for sentence in told if sentence not in allowed and sentence not in known]
    return found


@pytest.mark.parametrize(  # each system with a quarter of the cases, each case with a system or two
    ("patient", "name"),
    [
        (patient, name)
        for cases in (BUILT_IN, IMPORTED)
        for place, patient in enumerate(SYSTEMS)
        for name in cases[place % 4 :: 4]
    ],
)
def test_every_patient_is_consulted_offline_to_a_named_end_and_a_report(patient: str, name: str | int) -> None:
    case = case_of(name)
    result = run(case, patient)
    assert result["dialogue_ended"] in ENDS
    assert result["report"].diagnosis and result["report"].symptoms
    assert {call.model for call in calls(result)} == {"offline"}
    assert unasked(case, result) == []
    assert any(turn.speaker == "patient" for turn in result["dialogue"])


@EACH_SYSTEM
def test_the_results_that_the_offline_doctor_asks_for_are_told(patient: str) -> None:
    case = builtin("surgery-06")
    result = run(case, patient)
    heard = "\n".join(turn.text for turn in result["dialogue"]) + str(result.get("results", ""))
    assert case.examinations.results["Blood Test"] in heard


def test_that_search_finds_a_result_that_nobody_asked_for() -> None:
    case = builtin("surgery-01")
    result = run(case, "ai_hospital")
    last = result["dialogue"][2]
    told = last.model_copy(update={"text": last.text + case.examinations.results["Ultrasound"]})
    assert unasked(case, {"dialogue": [*result["dialogue"][:2], told]})


def test_the_same_consultation_is_the_same_every_time() -> None:
    case = builtin("surgery-01")
    for patient in SYSTEMS:
        one, other = run(case, patient), run(case, patient)
        assert one["dialogue"] == other["dialogue"] and one["report"] == other["report"]


@pytest.mark.parametrize(
    ("patient", "name"), list(zip(SYSTEMS, itertools.cycle(["surgery-01", "surgery-06"]), strict=False))
)
def test_over_a_faulty_server_a_consultation_ends_with_a_report_or_with_a_named_failure(
    patient: str, name: str
) -> None:
    case = builtin(name)
    shares: Any = {"429": 0.1, "500": 0.05, "cut_json": 0.05, "chatter": 0.1, "disconnect": 0.05, "null_content": 0.03}
    ended: list[str] = []
    for seed in range(3):
        with FakeServer(faults=FaultPlan(seed, shares), retry_after=0.01) as server:
            context: Any = {"models": {"default": f"openai:any@{server.base_url}"}, "max_turns": 4}
            try:
                result = run(case, patient, **context)
            except AskError as error:
                ended.append(error.reason)
                continue
        ended.append(result["dialogue_ended"])
        assert unasked(case, result) == []
        assert sum(turn.speaker == "doctor" for turn in result["dialogue"]) <= 4
    assert set(ended) <= ENDS | {"unparseable_answer", "model_error"}
    assert set(ended) & ENDS


@EACH_SYSTEM
def test_over_a_server_no_dialogue_goes_beyond_its_limit_of_turns(patient: str) -> None:
    def never_done(request: Any) -> dict[str, Any] | None:
        if request.name == "DoctorTurn":
            return {"text": "How is it now?", "finished": False}
        return {"addressee": "doctor", "text": "As before.", "finished": False} if "Words" in request.name else None

    with FakeServer(answer=never_done) as server:
        result = run(builtin("surgery-01"), patient, models={"default": f"openai:any@{server.base_url}"}, max_turns=3)
    assert result["dialogue_ended"] in ENDS
    assert sum(turn.speaker == "doctor" for turn in result["dialogue"]) <= 3


# Killed half-way.


def play() -> None:
    """A consultation with checkpoints in a file, begun or gone on with."""
    file, case_id, patient, url = sys.argv[1:]
    saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False), serde=serializer())
    graph: Any = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "1"}}
    context: Any = {"retrieval": False, "patient": patient, "max_turns": 5}
    context["models"] = {"default": f"openai:any@{url}"}
    entry = None if graph.get_state(config).next else {"case": builtin(case_id)}
    graph.invoke(entry, config, context=context, durability="sync")


def talk(request: Any) -> dict[str, Any] | None:
    """A doctor who never concludes and a patient who never leaves, so that there is a dialogue to be killed."""
    if request.name == "DoctorTurn":
        return {"text": f"Please have a blood test done ({request.digest[:4]}).", "finished": False}
    if request.name == "PatientWords":
        return {"text": f"A blood test ({request.digest[:4]}).", "addressee": "examiner", "finished": False}
    if request.name == "ClinichatReply":
        return {"text": f"I am not well ({request.digest[:4]}).", "occasion": "other"}
    return None


def process(file: Path, patient: str, server: FakeServer) -> Forked:
    return Forked([file, "surgery-01", patient, server.base_url], program=play)


def outcome(file: Path) -> dict[str, Any]:
    connection = sqlite3.connect(file, check_same_thread=False)
    graph = builder.compile(checkpointer=SqliteSaver(connection, serde=serializer()))
    state = graph.get_state({"configurable": {"thread_id": "1"}})
    connection.close()
    assert not state.next
    kept = ("dialogue", "dialogue_ended", "profile", "report")
    asked = {call.id: call.answer for call in state.values["trace"].calls}
    return {key: state.values.get(key) for key in kept} | {"asked": asked}


@pytest.mark.parametrize(("patient", "kill_at"), list(zip(SYSTEMS, itertools.cycle([3, 6]), strict=False)))
def test_a_consultation_killed_in_the_middle_goes_on_to_the_same_dialogue(
    patient: str, kill_at: int, tmp_path: Path
) -> None:
    with FakeServer(answer=talk) as server:
        with process(tmp_path / "whole.sqlite", patient, server) as whole:
            assert whole.ended().returncode == 0, whole.ended().stderr
        asked_whole = len(server.requests)
    with FakeServer(answer=talk) as server:
        server.hold_answers(kill_at - 1)
        with process(tmp_path / "killed.sqlite", patient, server) as killed:
            assert killed.stopped_when(server.is_holding, signal.SIGKILL).returncode == -signal.SIGKILL
        asked_before = len(server.requests)
        server.release()
        with process(tmp_path / "killed.sqlite", patient, server) as resumed:
            assert resumed.ended().returncode == 0, resumed.ended().stderr
        asked_after = len(server.requests) - asked_before
    found, expected = outcome(tmp_path / "killed.sqlite"), outcome(tmp_path / "whole.sqlite")
    assert found == expected
    assert asked_after < asked_whole, "what was answered before the kill is not asked again"
