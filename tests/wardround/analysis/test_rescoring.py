"""Scoring a finished run again, and comparing runs."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from cases import load_cases
from cases.case import Sex
from cases.sexes import with_sex
from graphs import consultation
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from scoring.suite import SUITES
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.recorded_runs import write_run
from wardround.analysis.final_state import ascore
from wardround.analysis.rescoring import rescore
from wardround.analysis.transcripts import transcripts_of
from wardround.cli import app
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.rating.items import items_of
from wardround.report.case_sections import case_section
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_run
from wardround.store.result import Result

runner = CliRunner()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two finished offline runs of the same three cases."""
    folder = tmp_path_factory.mktemp("runs")
    for name, settings in (("full", []), ("alone", ["--set", "general_agents=1", "--set", "feedback=off"])):
        arguments = ["run", "--limit", "3", "--set", "retrieval=false", *settings, "--out", str(folder / name)]
        assert runner.invoke(app, arguments).exit_code == 0
    return folder / "full", folder / "alone"


@pytest.mark.slow
def test_rescoring_with_the_same_judges_gives_the_same_scores(runs: tuple[Path, Path], tmp_path: Path) -> None:
    written = tmp_path / "scores.json"
    done = runner.invoke(app, ["score", "medchain", str(runs[0]), "--json", str(written)])
    assert done.exit_code == 0, done.output
    scores = json.loads(written.read_text("utf-8"))
    summary = json.loads((runs[0] / "summary.json").read_text("utf-8"))
    assert scores["metrics"] == summary["scores"]
    assert (scores["suite"], scores["mode"], scores["n"]) == ("medchain", "sound", 3)


@pytest.mark.slow
def test_rescoring_asks_the_named_judge_and_nobody_else(runs: tuple[Path, Path]) -> None:
    with FakeServer() as server:
        done = runner.invoke(
            app, ["score", "medchain", str(runs[0]), "--models", f"diagnosis_judge=openai:fake-model@{server.base_url}"]
        )
        asked = len(server.requests)
    assert done.exit_code == 0, done.output
    assert asked == 3  # one grade a case; no doctor, no patient


@pytest.mark.slow
def test_rescoring_asks_with_the_seed_of_each_epoch_and_names_the_judges_that_are_rules(tmp_path: Path) -> None:
    settings = ["--set", "retrieval=false", "--set", "feedback=off", "--set", "general_agents=1", "--set", "seed=5"]
    arguments = ["run", "--case-id", "surgery-01", "--epochs", "2", *settings, "--out", str(tmp_path / "run")]
    assert runner.invoke(app, arguments).exit_code == 0
    with FakeServer() as server:
        judge = f"diagnosis_judge=openai:fake-model@{server.base_url}"
        done = runner.invoke(app, ["score", "medchain", str(tmp_path / "run"), "--models", judge])
        seeds = sorted(request.body["seed"] for request in server.requests)
    assert done.exit_code == 0 and seeds == [5, 6]
    (note,) = [line for line in done.output.splitlines() if line.startswith("Judged by offline rules")]
    assert "claim_extractor" in note and "diagnosis_judge" not in note


@pytest.mark.slow
def test_rescoring_counts_the_cases_that_failed(tmp_path: Path) -> None:
    results = [
        Result(case_id="surgery-01", epoch=0, termination="completed", scores={"diagnosis": 1.0}, answers=Answers()),
        Result(case_id="surgery-02", epoch=0, termination="model_error", unscored={"examination": "no reference"}),
    ]
    data = {"case_ids": [result.case_id for result in results]}
    run = write_run(tmp_path / "run", results, graph="clinical_workflow", data=data)
    done = runner.invoke(app, ["score", "medchain", str(run)])
    assert done.exit_code == 0, done.output
    assert "1 of 2 results have no scores: their cases failed." in done.output
    assert "Failed as wrong (a lower bound)" in done.output


@pytest.mark.slow
def test_error_propagation_shows_the_cases_that_a_stage_has_no_score_for(tmp_path: Path) -> None:
    """They go on: 0 right of 1 at one stage and 1 at the next cannot be read otherwise."""
    case = next(case for case in load_cases(split="test") if not case.key.imaging_reports and case.key.department)
    key = case.key
    referral = {"urgency": "routine", "department": key.department, "sub_departments": key.sub_departments}
    answers = Answers.model_validate({"referral": referral, "orders": key.examination_items})
    found = Result(case_id=case.id, epoch=0, termination="completed", answers=answers)
    run = write_run(tmp_path / "run", [found], graph="clinical_workflow", data={"case_ids": [case.id]})
    shown = runner.invoke(app, ["score", "medchain", str(run)]).output
    assert "average: without the columns that have no scored case" in shown.lower().replace("\n", " ")
    table = shown.partition("Error propagation")[2]
    assert re.search(r"┃ entered ┃ still right ┃ unscored ┃", table)
    assert re.search(r"│ examination +│ +1 │ +0 │ +1 │", table) and re.search(r"│ diagnosis +│ +1 │", table)


def test_rescoring_changes_nothing_in_the_run(runs: tuple[Path, Path]) -> None:
    before = {path: path.read_bytes() for path in runs[0].glob("*.json*")}
    assert runner.invoke(app, ["score", "medchain", str(runs[0])]).exit_code == 0
    assert {path: path.read_bytes() for path in runs[0].glob("*.json*")} == before


async def test_a_model_for_a_role_that_judges_nothing_and_a_person_are_refused(runs: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigurationError, match=r"^models\.general: only judges are asked again: .*diagnosis_judge"):
        await rescore(runs[0], {"diagnosis_judge": "offline", "general": "offline"})
    with pytest.raises(ConfigurationError, match="a person cannot judge a finished run"):
        await rescore(runs[0], {"diagnosis_judge": "human"})


def test_a_directory_without_a_run_is_refused_by_name(tmp_path: Path) -> None:
    for arguments in (["score", "medchain", str(tmp_path)], ["compare", str(tmp_path), str(tmp_path)]):
        done = runner.invoke(app, arguments)
        assert done.exit_code == 2
        assert "is not a run directory" in done.output


def test_a_folder_with_one_run_stands_for_it_and_of_several_one_is_to_be_named(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(runs[0], tmp_path / "one")
    alone = runner.invoke(app, ["score", "medchain", str(tmp_path)])
    assert alone.exit_code == 0 and alone.stdout == runner.invoke(app, ["score", "medchain", str(runs[0])]).stdout
    shutil.copytree(runs[1], tmp_path / "other")
    assert "contains 2 runs; name one of them (" in runner.invoke(app, ["score", "medchain", str(tmp_path)]).stderr


def test_comparing_a_run_with_itself_finds_no_difference(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", str(runs[0]), str(runs[0])])
    assert done.exit_code == 0
    assert "+0.0000" in done.output
    assert "-0." not in done.output.split("full - full")[1]


def test_comparing_two_runs_shows_both_and_their_paired_difference(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", *map(str, runs)])
    assert done.exit_code == 0
    assert "alone - full" in done.output


def test_one_run_alone_cannot_be_compared(runs: tuple[Path, Path]) -> None:
    done = runner.invoke(app, ["compare", str(runs[0])])
    assert done.exit_code == 2
    assert "two run directories" in done.output


@pytest.mark.slow
async def test_a_patient_of_another_sex_is_scored_by_the_record_as_it_was_played(tmp_path: Path) -> None:
    """Med-PMC's Figure 5 compares the sexes: a record of the other sex would cost every doctor of one of them."""
    case = next(case for case in load_cases() if case.id == "surgery-09")
    report = {"symptoms": "Male.", "examinations": "", "diagnosis": ["Gout"], "basis": "", "treatment": ""}

    def answer(request: ChatRequest) -> dict[str, Any] | None:
        return {"FinalReport": report, "DoctorTurn": {"text": "Goodbye.", "finished": True}}.get(request.name)

    with FakeServer(answer=answer) as server:
        models = {"default": f"openai:fake-model@{server.base_url}"}
        played = {"patient": "medpmc", "retrieval": False, "patient_sex": "male"}
        experiment = Experiment.model_validate(
            {
                "graph": "consultation",
                "suite": "medpmc",
                "data": {"case_ids": [case.id]},
                "workflow": played,
                "models": models,
            }
        )
        await run_experiment(experiment, tmp_path / "run")
        final = await consultation.ainvoke({"case": case}, context={**played, "models": models})
    run = find_run(tmp_path / "run")
    (result,) = run.each_answered()
    assert isinstance(result.answers, ConsultationAnswers)
    by_record = {
        sex: (await SUITES["medpmc"].score(with_sex(case, sex), result.answers, experiment.context)).values
        for sex in get_args(Sex)
    }
    assert case.patient.sex == "female" and by_record["female"]["Inquiry"] < by_record["male"]["Inquiry"]
    (again,), _ = await rescore(tmp_path / "run")
    of_state = await ascore(case, final, context=played, suite="medpmc")
    assert result.scores == again.scores == of_state.values == by_record["male"]
    (transcript,) = transcripts_of(tmp_path / "run", "medpmc")
    assert "Sex: male." in transcript["Text"]["Patient Information"]
    section = case_section(run, result, case, "case")
    [item] = items_of([run], "medpmc")
    assert section.case == item.case == with_sex(case, "male"), "what people read"
