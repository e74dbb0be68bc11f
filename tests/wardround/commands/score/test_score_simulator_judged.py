import json
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from scoring.medpmc.patient_judgements import ASPECTS
from tests.docs.simulator_tables import PAGE, on_page
from tests.support.fake_server import ChatRequest, FakeServer
from tests.wardround.commands.score.test_score_simulator import run, two_cases
from wardround.commands.score.output import show
from wardround.commands.score.simulator import Judged, simulator

pytestmark = pytest.mark.slow

Scored = Callable[[Judged | None], tuple[dict[str, Any], str, str]]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """Our set without a model, and as others judge it: JSON, what is printed, and the page; one process hears it."""

    @cache
    def score(judged: Judged | None) -> tuple[dict[str, Any], str, str]:
        out, printed = tmp_path_factory.mktemp("scores") / "out.json", StringIO()
        found = simulator(judged=judged)
        with redirect_stdout(printed):
            show(found, out)
        content = json.loads(out.read_text("utf-8"))
        return content, printed.getvalue(), on_page(judged, found, PAGE.read_text("utf-8"))

    return score


@pytest.mark.parametrize("judged", [None, "medpmc", "ai_hospital"])
def test_the_page_shows_what_the_command_computes(scored: Scored, judged: Judged | None) -> None:
    assert scored(judged)[2] == PAGE.read_text("utf-8")


def test_the_offline_simulator_reaches_what_a_baseline_should(scored: Scored) -> None:
    metrics = {name: found["mean"] for name, found in scored(None)[0]["metrics"].items()}
    assert metrics["TRACKING"] >= 80
    assert metrics["TRACKING check"] >= 80
    assert metrics["TRACKING after the first turn"] >= 80
    assert metrics["HONEST"] >= 95
    assert metrics["FOCUS"] >= 95


def test_the_json_is_that_of_every_suite(scored: Scored) -> None:
    content = scored(None)[0]
    assert (content["suite"], content["mode"], content["n"]) == ("simulator", "sound", 62)
    assert content["metrics"]["TRACKING"]["n"] == 620
    assert set(content["metrics"]["HONEST"]) == {"mean", "se", "ci95", "n"}


def test_the_confusion_matrix_and_the_missed_items_are_printed(scored: Scored) -> None:
    assert "Tracked actions (columns) against labelled actions (rows)" in scored(None)[1]
    assert "Tracked as another action" in scored(None)[1]


def test_the_tracker_and_the_actor_each_make_the_difference_they_are_there_for(scored: Scored) -> None:
    content, printed, _ = scored("medpmc")
    metrics = content["metrics"]
    columns = [f"{column} {way} S-T" for way in ("w", "w/o") for column in (*ASPECTS, "Total")]
    actor = ["Semantic Consistency w Actor", "Character Feature w Actor", "Character Feature w/o Actor"]
    assert list(metrics) == [*columns, *actor]
    assert all(found["n"] == 62 for found in metrics.values())
    most = {name: 10 if name.startswith("Total") else 5 if name in actor else 2 for name in metrics}
    assert all(0 <= found["ci95"][0] < found["ci95"][1] <= most[name] for name, found in metrics.items())
    assert metrics["U w S-T"]["ci95"][0] > metrics["U w/o S-T"]["ci95"][1]
    assert metrics["Total w S-T"]["ci95"][0] > metrics["Total w/o S-T"]["ci95"][1]
    assert metrics["Semantic Consistency w Actor"]["mean"] >= 4.5
    assert metrics["Character Feature w Actor"]["mean"] > metrics["Character Feature w/o Actor"]["mean"] == 0
    assert "Patient (0 to 2 each) and actor (0 to 5 each)" in printed
    assert "patient_judge, persona_judge" in printed


def test_relevance_consistency_and_accuracy_are_percentages_over_the_pairs_and_the_orders(scored: Scored) -> None:
    metrics = scored("ai_hospital")[0]["metrics"]
    assert {name: found["n"] for name, found in metrics.items()} == {"Rel": 434, "Con": 434, "Acc": 126}
    # A vague question has the story told where the judge expects asking back: docs/simulators.md.
    assert metrics["Rel"]["mean"] >= 55 and metrics["Con"]["mean"] >= 95 and metrics["Acc"]["mean"] >= 70


@pytest.fixture
def items(tmp_path: Path) -> Path:
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(two_cases()), "utf-8")
    return file


@pytest.mark.parametrize("patient", ["saps", "ai_hospital", "medpmc", "medchain"])
def test_any_patient_can_be_tried_and_one_that_tracks_nothing_has_no_matrix(items: Path, patient: str) -> None:
    out = items.with_name("out.json")
    result = run(items, "--patient", patient, "--json", out)
    assert result.exit_code == 0, result.output
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    tracks = patient in ("saps", "medpmc")
    assert metrics["TRACKING"]["n"] == (20 if tracks else 0)
    assert ("Tracked actions" in result.stdout) == tracks
    assert metrics["ACCURACY"]["n"] == 4


def test_a_models_verdicts_count_and_a_failed_one_is_told_and_left_out(items: Path) -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | str | None:
        if request.name == "Relevance":
            return "no JSON at all" if "football" in request.text else {"relevant": "ct" not in request.text.split()}
        return {"consistent": False} if request.name == "Consistency" else {"accurate": True}

    out = items.with_name("out.json")
    with FakeServer(answer=answer) as server:
        judges = ("relevance_judge", "consistency_judge", "examination_judge")
        specs = [part for judge in judges for part in ("--models", f"{judge}=openai:any@{server.base_url}")]
        result = run(items, "--judged", "ai_hospital", "--patient", "saps", *specs, "--json", out)
    assert result.exit_code == 1, result.output
    assert "dentistry-01/D, relevance_judge: no answer: unparseable_answer" in result.stdout
    assert "By rules" not in result.stdout
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    assert (metrics["Rel"]["n"], metrics["Con"]["n"], metrics["Con"]["mean"], metrics["Acc"]["mean"]) == (
        13,
        14,
        0,
        100,
    )


def test_a_model_may_judge_patient_and_actor(items: Path) -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | str | None:
        if request.name == "PatientScores":
            return dict.fromkeys(ASPECTS.values(), 1.5)
        return "no JSON at all"

    out = items.with_name("out.json")
    with FakeServer(answer=answer) as server:
        spec = f"openai:any@{server.base_url}"
        models = ("--models", f"patient_judge={spec}", "--models", f"persona_judge={spec}")
        result = run(items, "--judged", "medpmc", *models, "--json", out)
    assert result.exit_code == 1, result.output
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    assert metrics["Total w S-T"]["mean"] == metrics["Total w/o S-T"]["mean"] == 7.5
    assert metrics["Character Feature w Actor"]["n"] == 0
    assert "dentistry-01, persona_judge w Actor: no answer: unparseable_answer" in result.stdout
