"""Med-PMC's ready files over HTTP, on an imported case with a picture."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import save_cases
from cases.importers import import_cases
from tests.cases.test_importers_medpmc import CASE
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.config.experiment_file import read_sweep
from wardround.library import find_file
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_runs
from wardround.tables.making import make_tables


def _answer(request: ChatRequest) -> dict[str, Any] | None:
    """A doctor who orders a CT, thinks aloud if asked to, and takes leave; others say anything that fits."""
    if request.name == "KindInOneRoom":
        return {"kind": "advice"}
    if request.name not in ("DoctorTurn", "ReasonedTurn"):
        return None
    ended = "Please have a CT." in request.text
    thoughts = {"reasoning": "Thoughts of mine."} if request.name == "ReasonedTurn" else {}
    return {**thoughts, "text": "Goodbye." if ended else "Please have a CT.", "finished": ended}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows", "tables"),
    [
        ("medpmc_table_2", 3, ["medpmc", "scores"]),
        ("medpmc_table_3", 3, ["medpmc", "scores"]),
        ("medpmc_table_4", 2, ["scores", "contrasts"]),
        ("medpmc_table_5", 2, ["scores", "contrasts", "personas"]),
        ("medpmc_figure_2", 6, ["scores", "contrasts"]),
        ("medpmc_figure_3", 3, ["scores", "contrasts"]),
        ("medpmc_figure_4", 1, ["scores", "information"]),
        ("medpmc_figure_5", 2, ["scores", "contrasts"]),
    ],
)
async def test_a_ready_file_runs_over_http_on_an_imported_case(
    name: str, rows: int, tables: list[str], tmp_path: Path
) -> None:
    from PIL import Image as Raster

    (tmp_path / "cases.json").write_text(json.dumps([CASE]), "utf-8")
    for number in (1, 2, 3):
        Raster.new("L", (4, 4)).save(tmp_path / f"0000{number}.jpg")
    save_cases(import_cases("medpmc", tmp_path / "cases.json").cases, tmp_path / "cases.jsonl")
    with FakeServer(answer=_answer) as server:
        spec = f"openai:fake-model@{server.base_url}"
        roles = ("default", "technician", "state_tracker", "memory_bank", "response_generator", "actor")
        overrides: dict[str, Any] = {"data.cases": str(tmp_path / "cases.jsonl"), "workflow.max_turns": 3, "epochs": 1}
        sweep = read_sweep(
            find_file(Path(name)), {**overrides, "judges.default": spec, "mixed": True}, dict.fromkeys(roles, spec)
        )
        for run, experiment in sweep.runs.items():
            summary = await run_experiment(experiment, tmp_path / "out" / (run or "one"))
            assert summary["scored"] == 1, summary
    found = find_runs([tmp_path / "out"])
    assert len(found) == rows
    made = make_tables(found, tables)
    assert [one.reason for one in made] == [""] * len(tables) and all(one.tables for one in made)
    asked = [request for request in server.requests if request.name in ("DoctorTurn", "ReasonedTurn")]
    tracked = [request for request in server.requests if request.name in ("KindInOneRoom", "Specificity")]
    assert all(request.text.count("<data name=") == 1 for request in tracked), "the doctor's words alone (Table 15)"
    assert not any(request.name == "Coverage" for request in server.requests), "one call in stage III (Table 17)"
    if name in ("medpmc_table_2", "medpmc_table_3"):
        [paper] = made[0].tables
        modes, printed = list(dict.fromkeys(paper.frame["mode"])), {2: 12 + 20, 3: 12}[int(name[-1])]
        assert modes == ["direct prompt", "zero-shot CoT", "one-shot CoT"] and paper.name.endswith(name[-1])
        assert [column.title for column in paper.columns[3:]] == [
            *("Inquiry", "Exam.", "MMA", "Avg.", "Diagn.", "Treat.", "Avg.", "Lens", "Turns")
        ]
        assert (len(paper.rows), len(paper.beside)) == (rows + printed, printed)
        assert any("by the sound definitions; to compute them as Table 8" in note for note in paper.notes)
        doctors = paper.frame.set_index(["mode", "by", "doctor"])["Inquiry_mean"]
        cell = {
            2: ("direct prompt", "Table 8, ROUGE-1", "[GPT-4o]"),
            3: ("one-shot CoT", "Table 3, RaTEScore", "[GPT-4o]"),
        }
        assert doctors[cell[int(name[-1])]] == {2: 68.75, 3: 42.05}[int(name[-1])]
    if name == "medpmc_table_2":
        assert any("Thoughts of mine. Please have a CT." in request.text for request in asked)
