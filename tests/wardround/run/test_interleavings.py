"""Whichever request is answered first, the results are those of one case after the other."""

import random
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.runs import IDS, outcomes, run, spec
from wardround.config.experiment import Experiment

pytestmark = pytest.mark.slow

GRAPHS: dict[str, dict[str, Any]] = {
    "clinical_workflow": {"general_agents": 2, "discussion_rounds": 2, "max_feedback_rounds": 1, "max_backtracks": 1},
    "dispute_resolution": {"interns": 3, "max_rounds": 1, "patient": "saps"},
}
SLOWEST = 0.02


def divided(request: ChatRequest) -> dict[str, Any] | None:
    """Judges who are of different minds, by what they are shown."""
    if request.name == "Verdict":
        return {"accepted": int(request.digest[0], 16) % 2 == 0, "reason": f"As {request.digest[:6]} shows."}
    return None


def experiment(server: FakeServer, graph: str, concurrency: int) -> Experiment:
    return Experiment.model_validate(
        {
            "graph": graph,
            "data": {"case_ids": IDS[:2]},
            "models": {"default": spec(server)},
            "workflow": {"retrieval": False, "max_turns": 2, **GRAPHS[graph]},
            "run": {"concurrency": concurrency},
        }
    )


def outcome(graph: str, concurrency: int, latency: Callable[[ChatRequest], float]) -> list[dict[str, Any]]:
    """The results of a run without their times."""
    with tempfile.TemporaryDirectory() as folder, FakeServer(answer=divided, latency=latency) as server:
        run(experiment(server, graph, concurrency), Path(folder))
        found = outcomes(Path(folder))
    # The port of the server is a part of the model's name.
    return [{**each, "models": sorted(each["models"])} for each in found]


@cache
def in_order(graph: str) -> list[dict[str, Any]]:
    """The outcome of one case after the other, each request answered at once."""
    return outcome(graph, 1, lambda request: 0.0)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32), concurrency=st.integers(1, 8))
@pytest.mark.parametrize("graph", GRAPHS)
def test_no_order_of_answers_and_no_concurrency_changes_a_result(graph: str, seed: int, concurrency: int) -> None:
    draw = random.Random(seed)
    assert outcome(graph, concurrency, lambda request: draw.uniform(0.0, SLOWEST)) == in_order(graph)


@pytest.mark.parametrize("graph", GRAPHS)
def test_even_one_case_has_answers_to_be_interleaved(graph: str, tmp_path: Path) -> None:
    with FakeServer(answer=divided, latency=0.02) as server:  # what is asked side by side meets there
        run(experiment(server, graph, 1), tmp_path)
    assert server.max_in_flight > 1


def test_the_judges_of_that_server_are_divided() -> None:
    stages = [end for result in in_order("clinical_workflow") for end in result["stages"].values()]
    assert len(set(stages)) > 1
