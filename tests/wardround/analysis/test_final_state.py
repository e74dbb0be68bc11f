"""Scoring what a graph returned: the same scores as in a run, and one sentence for what cannot be scored."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import GraphOutput, Interrupt

import wardround as wr
from llm.specs import HUMAN
from nodes.context import Context
from tests.support.fake_server import FakeServer

SHORT = {"retrieval": False, "general_agents": 1, "discussion_rounds": 1, "feedback": "off", "max_turns": 2}
CASE = next(case for case in wr.load_cases("builtin") if case.id == "surgery-01")


def run_of(graph: Any, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    state: dict[str, Any] = graph.invoke({"case": CASE}, context=settings)
    return state


@pytest.fixture(scope="module")
def finished() -> dict[str, Any]:
    return run_of(wr.clinical_workflow, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "suite", "settings"),
    [
        ("clinical_workflow", None, SHORT),
        ("consultation", None, {"max_turns": 3}),
        ("consultation", "aie", {"max_turns": 3, "patient": "saps"}),
        ("one_step", None, {}),
        ("dispute_resolution", None, {"max_turns": 2}),
        ("reconstruction", None, {}),
    ],
)
def test_the_scores_are_those_of_a_run(graph: str, suite: str | None, settings: dict[str, Any], tmp_path: Path) -> None:
    sections = {"graph": graph, "workflow": settings, "data": {"case_ids": [CASE.id]}}
    wr.run_experiment(sections | ({"suite": suite} if suite else {}), tmp_path / "run")
    recorded = json.loads((tmp_path / "run" / "results.jsonl").read_text("utf-8"))
    scores = wr.score(CASE, run_of(getattr(wr, graph), settings), context=settings, suite=suite)
    assert dict(scores.values) == recorded["scores"]
    assert dict(scores.unscored) == recorded["unscored"]


def test_it_scores_inside_a_running_loop_and_as_a_coroutine(finished: dict[str, Any]) -> None:
    async def both() -> tuple[wr.CaseScores, wr.CaseScores]:
        return wr.score(CASE, finished), await wr.ascore(CASE, finished, context=Context())

    one, other = asyncio.run(both())
    assert one == other == wr.score(CASE, finished) and one.values["referral_level1"] is not None


def test_it_scores_what_a_graph_returns_in_langgraphs_second_version(finished: dict[str, Any]) -> None:
    output = wr.clinical_workflow.invoke({"case": CASE}, context=SHORT, version="v2")
    assert wr.score(CASE, output) == wr.score(CASE, finished)
    with pytest.raises(wr.ConfigurationError, match="waits for a person's answer"):
        wr.score(CASE, GraphOutput(finished, interrupts=(Interrupt("Where?"),)))


def test_the_models_of_the_context_judge(finished: dict[str, Any]) -> None:
    with FakeServer() as server:
        judge = {"models": {"diagnosis_judge": f"openai:fake-model@{server.base_url}"}}
        wr.score(CASE, finished, context=judge)
        assert len(server.requests) == 1


def test_what_an_importer_inferred_is_scored_only_if_asked_for(finished: dict[str, Any]) -> None:
    inferred = CASE.model_copy(update={"key": CASE.key.model_copy(update={"inferred": ["department"]})})
    left_out = wr.score(inferred, finished)
    assert left_out.values["referral_level1"] is None and "inferred" in left_out.unscored["referral_level1"]
    assert wr.score(inferred, finished, inferred_keys=True).values["referral_level1"] is not None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"case_id": "surgery-02"}, r"is of case 'surgery-02', not 'surgery-01'"),
        ({"__interrupt__": ()}, "waits for a person's answer"),
    ],
)
def test_a_state_of_another_case_or_one_that_waits_is_refused(
    finished: dict[str, Any], changed: dict[str, Any], named: str
) -> None:
    with pytest.raises(wr.ConfigurationError, match=named):
        wr.score(CASE, finished | changed)


def test_a_state_that_no_last_node_has_written_is_refused(finished: dict[str, Any]) -> None:
    without_end = {key: value for key, value in finished.items() if key != "follow_up"}
    with pytest.raises(wr.ConfigurationError, match="is not the final state of a graph; expected that of clinical_w"):
        wr.score(CASE, without_end)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"suite": "aie"}, "suite 'aie' cannot score graph 'clinical_workflow'"),
        ({"suite": "medchane"}, "medchain"),
        ({"context": {"feedbak": "off"}}, "'feedbak' is not a setting of the graph 'clinical_workflow'"),
        ({"context": {"models": {"default": HUMAN}}}, "a person cannot judge here"),
        ({"context": {"models": {"evaluation.diagnosis_judge": HUMAN}}}, "a person cannot judge here"),
    ],
)
def test_a_suite_or_setting_that_does_not_fit_is_named(
    finished: dict[str, Any], options: dict[str, Any], named: str
) -> None:
    with pytest.raises(wr.ConfigurationError, match=named):
        wr.score(CASE, finished, **options)


def test_what_is_no_case_and_no_state_is_named() -> None:
    with pytest.raises(wr.ConfigurationError, match="case: expected a Case"):
        wr.score("surgery-01", {})  # type: ignore[arg-type]
    with pytest.raises(wr.ConfigurationError, match="result: expected what a graph returned"):
        wr.score(CASE, [])  # type: ignore[arg-type]
