"""Simulators on AIE's test form, question by question, and on the dialogues of runs."""

import csv
import errno
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import wardround as wr
from cases import load_cases, save_cases
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.recorded_runs import graded, write_run
from wardround.commands.score import score_app
from wardround.store.recorded_run import find_runs
from wardround.tables.aie_simulators import build_simulators

RECORD = "男，52岁，反复咳嗽3天。3天前受凉后出现咳嗽，体温最高38.9℃。胸部CT：右下肺斑片影。"
SAID = [{"doctor": "您好，请问您哪里不舒服？", "patient": "我咳嗽。"}, {"doctor": "咳嗽多久了？", "patient": "3天。"}]
ASKED = {
    "A-A-A": {"human_state": "A-A-A", "human_answer": "体温最高38.9℃。", "question": "您发烧最高多少度？"},
    "A-B": {
        "human_state": "A-B",
        "human_answer": "您能具体点吗？",
        "question": "您还有什么其他情况吗？",
        "prediction": "旧",
    },
    "C": {"human_state": "C", "human_answer": "这是网络问诊。"},  # nobody wrote a question
}


SURGERY = "cases/builtin/surgery.jsonl"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, ["simulator", *map(str, arguments)], env={"COLUMNS": "300"})


@pytest.fixture
def form(tmp_path: Path) -> Path:
    tests = [{"id": 7, "raw_data": {"question": RECORD}, "history": SAID, "patient_test": dict.fromkeys("013", ASKED)}]
    file = tmp_path / "Patient_Simulator_Test.json"
    file.write_text(json.dumps(tests, ensure_ascii=False), "utf-8")
    return file


def test_a_folder_that_cannot_be_made_is_refused_by_its_option_before_anyone_is_asked(
    form: Path, tmp_path: Path
) -> None:
    with FakeServer() as server:
        for option, given in (("--out", form / "figure"), ("-o", form / "x.json")):
            told = run(form, "--models", f"openai:any@{server.base_url}", option, given)
            folder = given if option == "--out" else form
            assert (told.exit_code, told.stderr.startswith(f"error: {option} {folder}: cannot be created")) == (2, True)
        assert server.requests == []


def test_the_patient_does_not_know_the_question_that_closes_its_record(form: Path) -> None:
    form.write_text(form.read_text("utf-8").replace(RECORD, f"{RECORD}最可能的诊断是什么？"), "utf-8")
    with FakeServer(answer=lambda request: {"text": "是的。"}) as server:
        told = run(form, "--no-tracker", "--models", f"openai:any@{server.base_url}")
        asked = [request.text for request in server.requests]
    assert told.exit_code == 0, told.output
    assert all("右下肺斑片影" in text and "最可能的诊断" not in text for text in asked)
    assert asked


@pytest.mark.slow
def test_each_question_is_put_after_the_exchanges_of_its_round_and_the_replies_are_filed(
    form: Path, tmp_path: Path
) -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        known = {"ActionKind": {"kind": "inquiry"}, "Specificity": {"specificity": "ambiguous"}}
        return known.get(request.name, {"text": "您能问得更具体吗？"})

    with FakeServer(answer=answer) as server:
        filed, out = tmp_path / "out.json", tmp_path / "figure"
        told = run(form, "--models", f"openai:any@{server.base_url}", "-o", filed, "--out", out, "--by", "turn")
        asked = [request.text for request in server.requests if request.name == "SimulatedReply"]
    assert told.exit_code == 0, told.output
    assert [sum("咳嗽多久了" in text for text in asked), len(asked)] == [
        2,
        6,
    ]
    (test,) = json.loads(filed.read_text("utf-8"))
    for turn in "013":
        assert test["patient_test"][turn]["A-B"]["prediction"] == "您能问得更具体吗？"
        assert test["patient_test"][turn]["A-B"]["state_prediction"] == "A-B"
        assert "prediction" not in test["patient_test"][turn]["C"]
    assert "2 questions are asked after a shorter dialogue" in told.stdout and "patient 7 in round 3" in told.stdout
    rows = list(csv.DictReader((out / "aie-figure-3a.csv").read_text("utf-8").splitlines()))
    ours = {row["round"]: row for row in rows if row["simulator"] == "saps"}
    assert list(ours) == ["all", "0", "1", "3", "a round"] and ours["0"]["GUIDANCE_mean"] == "100.0"
    assert ours["all"]["TRACKING_mean"] == "50.0" and ours["a round"]["TRACKING_mean"] == "0.0"
    theirs = next(row for row in rows if row["simulator"] == "[GPT-4, states]" and row["round"] == "4")
    assert theirs["TRACKING_mean"] == "93.75" and theirs["AVG_LEN_mean"] == "66.48"
    assert (out / "aie-figure-3a.svg").stat().st_size > 1000


def test_any_patient_plays_the_form_and_one_that_tracks_nothing_has_no_tracking(form: Path, tmp_path: Path) -> None:
    told = run(form, "--patient", "medchain", "--json", tmp_path / "s.json")
    assert told.exit_code == 0, told.output
    found = json.loads((tmp_path / "s.json").read_text("utf-8"))["metrics"]
    assert found["TRACKING"]["n"] == 0 and found["ACCURACY"]["n"] == 3 and found["AVG_LEN"]["n"] == 6
    assert "medchain" in told.stdout and "[Human]" in told.stdout
    assert "saps without tracker" in run(form, "--no-tracker").stdout


def test_scores_are_printed_also_if_the_replies_find_no_room(
    form: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(file: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr("wardround.commands.score.simulator_tests.write_tests", on_a_full_disk)
    told = run(form, "--patient", "medchain", "-o", tmp_path / "out.json")
    assert told.exit_code == 2 and told.stderr == f"error: {tmp_path}/out.json: no space left on device\n"
    assert "simulator, sound mode, 1 case" in told.stdout


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ([{"id": 1, "raw_data": {"question": "x"}, "patient_test": {"0": {"C": {}}}}], [], "no test has a question"),
        (None, ["--no-tracker", "--patient", "medchain"], "--no-tracker needs a patient with a tracker"),
        (None, ["--judged", "medpmc"], "--judged needs files of items"),
        (None, ["--leave-out", "8"], "--leave-out 8: no such case"),
        (None, ["--leave-out", "7"], "no case remains to be scored"),
        (None, ["FORM"], "patient 7 occurs twice"),
        (None, ["FORM", "-o", "x.json"], "-o: needs exactly one of AIE's test files"),
        (None, ["-o", "FORM"], "is an input file and would be overwritten"),
        (None, ["--cases", SURGERY], f"--cases {SURGERY}: has no case of "),
        *(
            (
                [{"id": 1, "raw_data": {"question": "x"}, "patient_test": {turn: {}}}],
                [],
                f"patient_test.{turn}: is not a round number",
            )
            for turn in ("x", "-1", "01", "²")
        ),
        ([{"id": 1}], ["-o", "x.json"], "Patient_Simulator_Test.json has no patient_test"),
        ([], ["-o", "x.json"], "Patient_Simulator_Test.json has no patient_test"),
    ],
)
def test_bad_input_is_one_clear_sentence(form: Path, content: Any, options: list[str], message: str) -> None:
    if content is not None:
        form.write_text(json.dumps(content), "utf-8")
    told = run(form, *(form if option == "FORM" else option for option in options))
    assert told.exit_code == 2 and message in told.stderr, told.output


def test_options_of_test_files_are_refused_for_our_own_items() -> None:
    told = run("--by", "turn")
    assert told.exit_code == 2 and "need AIE's test files or runs" in told.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["surgery-01", "ward/epoch3"])  # the latter looks like the name of a later epoch
def test_the_replies_of_a_run_are_scored_as_they_were_given_or_as_another_patient_gives_them(
    name: str, tmp_path: Path
) -> None:
    case = next(case for case in load_cases() if case.id == "surgery-01").model_copy(update={"id": name})
    save_cases([case], tmp_path / "cases.jsonl")
    fever = "Have you had any fever?"
    said = [
        Turn(speaker="doctor", text="Hello.", action="Initialization"),
        Turn(speaker="patient", text=case.patient.chief_complaint),
        Turn(speaker="doctor", text=fever, action="Demand"),
        Turn(speaker="patient", text="Sorry, we are online."),
        Turn(speaker="doctor", text="Is there anything else?", action="Ambiguous Inquiry"),
        Turn(speaker="patient", text="Could you be more specific?"),
        Turn(speaker="doctor", text="Goodbye.", action="Conclusion"),
    ]
    report = FinalReport(symptoms="a", examinations="b", diagnosis=["c"], basis="d", treatment="e")
    answers = ConsultationAnswers(dialogue=said, report=report)
    result = graded(case.id, scores={}).model_copy(update={"answers": answers})
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    place = write_run(tmp_path / "run", [result], data={"cases": str(tmp_path / "cases.jsonl")}, **how)
    told = run(place, "--by", "turn", "--json", tmp_path / "s.json", "--out", tmp_path / "drawn")
    assert told.exit_code == 0, told.output
    found = json.loads((tmp_path / "s.json").read_text("utf-8"))["metrics"]
    assert found["TRACKING"]["mean"] == 50.0
    assert found["GUIDANCE"]["mean"] == 100.0 and found["AVG_LEN"]["n"] == 2
    assert told.stdout.count("not labelled by people") == 1 and "[Human]" not in told.stdout
    assert "not labelled by people" in (tmp_path / "drawn" / "aie-figure-3a.csv").read_text("utf-8")
    assert any("not labelled by people" in note for note in wr.score_transcripts("simulator", place)["notes"])
    assert "labels by rules" in told.stdout and "labels by people" not in told.stdout, "also in what is printed"
    (table,) = build_simulators(find_runs([place]))
    assert any("not labelled by people" in note for note in table.notes)
    assert found["FOCUS_PRECISION"] == found["FOCUS"] and found["FOCUS"]["n"] == 0, "no reply was to recall anything"
    assert "FOCUS_PRECISION: unscored, because no such question was asked" in " ".join(told.stdout.split())
    assert "--leave-out: no case remains to be scored" in run(place, "--leave-out", case.id).stderr, "by its own name"
    again = run(place, "--patient", "saps", "--json", tmp_path / "s.json")
    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["metrics"]["TRACKING"]["mean"] == 100.0
