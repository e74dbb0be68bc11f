"""Runs of every graph that starts from a case: scored by their suites, resumable, and the same at any concurrency."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from cases import load_cases
from graphs.contexts import CONTEXTS
from llm import Meter
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from scoring.suite import SUITES, CaseScores
from tests.support.fake_server import FakeServer
from tests.support.runs import IDS, outcomes, results, run, spec
from wardround.analysis.rescoring import rescore
from wardround.config.experiment import GRAPHS, ConfigurationError, Experiment, GraphName, suites_of
from wardround.config.selection import StoredItem
from wardround.run.checkpoints import serializer
from wardround.run.one_case import Attempt, run_case, thread_of
from wardround.run.tasks import TASKS

CONSULTATIONS = [graph for graph in GRAPHS if "mvme" in suites_of(graph)]


def of_graph(
    graph: str, *, model: str = "offline", concurrency: int = 4, suite: str | None = None, **workflow: Any
) -> Experiment:
    settings = {"retrieval": False, "max_turns": 4, "patient": "saps", "interns": 2, **workflow}
    return Experiment.model_validate(
        {
            "graph": graph,
            "suite": suite,
            "data": {"case_ids": IDS[:3]},
            "models": {"default": model},
            "workflow": {name: value for name, value in settings.items() if name in CONTEXTS[graph].model_fields},
            "run": {"concurrency": concurrency},
        }
    )


def test_every_graph_has_a_task_and_every_suite_a_graph() -> None:
    assert tuple(TASKS) == GRAPHS
    assert {name for graph in GRAPHS for name in suites_of(graph)} == set(SUITES)


@pytest.mark.slow
@pytest.mark.parametrize("graph", CONSULTATIONS)
def test_a_graph_gives_the_same_at_any_concurrency_and_can_be_scored_again_to_the_same(
    tmp_path: Path, graph: str
) -> None:
    for concurrency in (1, 3):
        run(of_graph(graph, concurrency=concurrency), tmp_path / str(concurrency))
    assert outcomes(tmp_path / "1") == outcomes(tmp_path / "3")
    for result in results(tmp_path / "1"):
        assert result.termination == "completed" and set(result.scores) == set(SUITES["mvme"].columns)
        assert isinstance(result.answers, ConsultationAnswers) and result.answers.diagnosis
    again, _ = asyncio.run(rescore(str(tmp_path / "1")))
    assert [one.scores for one in again] == [one.scores for one in results(tmp_path / "1")]


@pytest.mark.slow
@pytest.mark.parametrize("suite", suites_of("consultation"))
def test_a_consultation_is_scored_by_each_suite_that_fits(tmp_path: Path, suite: str) -> None:
    summary = run(of_graph("consultation", suite=suite), tmp_path)
    assert summary["suite"] == suite and summary["scored"] == 3
    assert list(summary["scores"]) == list(SUITES[suite].titles)
    assert any(score["mean"] is not None for score in summary["scores"].values())


def test_a_run_cannot_be_scored_by_a_suite_of_another_graph(tmp_path: Path) -> None:
    run(of_graph("one_step"), tmp_path)
    with pytest.raises(ConfigurationError, match="'one_step' can be scored by mvme, not by aie"):
        asyncio.run(rescore(tmp_path, {}, "aie"))


@pytest.mark.slow
def test_a_collaboration_keeps_its_rounds_and_how_it_ended(tmp_path: Path) -> None:
    run(of_graph("dispute_resolution", interns=3), tmp_path)
    for result in results(tmp_path):
        assert isinstance(result.answers, ConsultationAnswers)
        kept = result.answers.collaboration
        assert kept is not None and kept.interns == 3 and kept.discussion
        assert result.stages["discussion"] == kept.ended and result.rounds["discussion"] == kept.rounds
        of_interns = {name: end for name, end in result.stages.items() if name != "discussion"}
        assert of_interns == {f"dialogue:intern{seat}": "concluded" for seat in (1, 2, 3)}
        assert all(1 < result.rounds[name] <= 4 for name in of_interns)


@pytest.mark.slow
def test_a_collaboration_killed_while_it_was_being_scored_asks_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Killed(BaseException):
        """The end of the process, as far as the run is concerned."""

    async def killed(*_: Any, **__: Any) -> CaseScores:
        raise Killed

    with FakeServer() as server:
        experiment = of_graph("dispute_resolution", model=spec(server), concurrency=1, max_turns=1, max_rounds=1)
        run(experiment, tmp_path / "whole")
        whole = len(server.requests)
        with monkeypatch.context() as patched:
            patched.setattr("scoring.mvme.suite.grade", killed)
            with pytest.raises(BaseExceptionGroup):
                run(experiment, tmp_path / "killed")
        run(experiment, tmp_path / "killed")
        assert len(server.requests) == 2 * whole
    assert "unregistered" not in caplog.text, "the serializer was not told of a type of the state"
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")


def test_without_a_report_every_part_that_has_a_reference_is_graded_lowest(tmp_path: Path) -> None:
    from nodes.context import Context

    scores = asyncio.run(SUITES["mvme"].score(load_cases()[0], ConsultationAnswers(), Context()))
    assert {value for part, value in scores.values.items() if part not in scores.unscored} == {1.0}


@pytest.mark.slow
def test_a_reconstruction_is_scored_by_clini_eval_and_keeps_its_dialogue(tmp_path: Path) -> None:
    summary = run(of_graph("reconstruction"), tmp_path)
    assert summary["suite"] == "clini_eval" and summary["scored"] == 3
    for result in results(tmp_path):
        assert isinstance(result.answers, ReconstructionAnswers) and result.answers.reconstructed is not None
        assert result.rounds["dialogue"] > 5 and result.scores["Assessed Points"]


@pytest.mark.slow
@pytest.mark.parametrize("saved", [1, 2, 3])
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_case_killed_at_one_of_its_first_checkpoints_ends_like_any_other(
    tmp_path: Path, graph: GraphName, saved: int
) -> None:
    case = load_cases()[0]
    assert case.examinations.images, "its pictures' folder is in no checkpoint"

    async def begin_and_run() -> dict[str, Any]:
        experiment, attempt = of_graph(graph), Attempt(0, StoredItem.of(case), 0)
        context = experiment.context
        graph_of_task = TASKS[graph].compiled(InMemorySaver(serde=serializer()), context)
        config: Any = {"configurable": {"thread_id": thread_of(attempt, context.run)}}
        course = graph_of_task.astream(
            {"case": case}, config, context=context, stream_mode="checkpoints", durability="sync"
        )
        for _ in range(saved):
            await anext(course)
        await course.aclose()
        outcome = await run_case(experiment, graph_of_task, attempt, context, tmp_path / "t.jsonl", Meter("run"))
        return outcome.result.model_dump()

    result = asyncio.run(begin_and_run())
    assert result["termination"] == "completed", result["error"]
