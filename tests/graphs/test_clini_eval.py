"""Clini-Eval as a graph: the same scores as by the function, from JSON too, and over a faulty server."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from graphs.clini_eval import graph
from llm import AskError, ModelSettings
from scoring.clini_eval.demonstration import NothingToScoreError
from scoring.clini_eval.instructor import score_clini_eval
from scoring.clini_eval.points import LEAVES
from tests.graphs.scripting import calls
from tests.scoring.clini_eval_dialogues import interview
from tests.support.fake_server import FakeServer, FaultPlan
from wardround.run.checkpoints import serializer

GRAPH: Any = graph
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_graph_gives_the_scores_of_the_function_in_four_calls(language: str) -> None:
    dialogue = interview(language, good=True)
    result = GRAPH.invoke({"dialogue": dialogue})
    assert result["scores"] == asyncio.run(score_clini_eval(dialogue, ModelSettings()))
    assert [call.role for call in calls(result)] == ["senior_physician", *["clinical_instructor"] * 3]


def test_the_rules_sum_up_in_the_language_of_the_dialogue() -> None:
    scores = GRAPH.invoke({"dialogue": interview("zh", good=True)})["scores"]
    assert scores.unscored and scores.leaves.keys() | scores.unscored.keys() == LEAVES.keys(), "each has a reason"
    for text in (scores.comparison.assessment, scores.summary):
        assert "点" in text or "分" in text
        assert not re.search("[a-z]", text)


def test_the_page_shows_the_picture_as_it_is_and_files_that_are_there() -> None:
    page = (ROOT / "docs" / "scores-clini-eval.md").read_text("utf-8")
    assert re.findall(r"```mermaid\n(.*?)\n```", page, re.DOTALL) == [graph.get_graph().draw_mermaid().strip()]
    for name in re.findall(r"`((?:scoring|graphs|nodes)/[\w/.]+)`", page):
        assert (ROOT / name).exists(), name


async def test_a_dialogue_may_be_given_as_json_as_studio_does() -> None:
    dialogue = interview("en", good=True)
    given = await GRAPH.ainvoke({"dialogue": dialogue.model_dump(mode="json")})
    assert given["scores"] == (await GRAPH.ainvoke({"dialogue": dialogue}))["scores"]


def test_without_a_note_there_is_nothing_to_score() -> None:
    with pytest.raises(NothingToScoreError, match="no clinical note"):
        GRAPH.invoke({"dialogue": interview("en", good=True, note="")})


def test_an_input_without_a_dialogue_says_what_it_lacks() -> None:
    with pytest.raises(NothingToScoreError, match="the input needs `dialogue`"):
        GRAPH.invoke({})


def test_the_state_comes_back_from_a_checkpoint_as_it_was() -> None:
    result = GRAPH.invoke({"dialogue": interview("en", good=True)})
    for key in ("dialogue", "demonstration", "comparison", "scores"):
        assert serializer().loads_typed(serializer().dumps_typed(result[key])) == result[key]


def test_over_a_faulty_server_there_are_all_numbers_or_a_named_failure() -> None:
    shares: Any = {"429": 0.1, "cut_json": 0.1, "schema_violation": 0.1, "disconnect": 0.05}
    ended = []
    for seed in range(6):
        with FakeServer(faults=FaultPlan(seed, shares), retry_after=0.01) as server:
            context = {"models": {"default": f"openai:any@{server.base_url}"}}
            try:
                scores = GRAPH.invoke({"dialogue": interview("en", good=True)}, context=context)["scores"]
            except AskError as error:
                ended.append(error.reason)
                continue
        ended.append("scored")
        assert scores.total == pytest.approx(sum(scores.leaves.values())) and len(scores.leaves) == 34
    assert "scored" in ended and set(ended) <= {"scored", "unparseable_answer", "model_error"}
