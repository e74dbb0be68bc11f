"""AIE's ready files over HTTP, on imported cases, and the figures that are made of their runs."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cases import save_cases
from cases.importers import import_cases
from tests.cases.test_importers_aie import EXAM, HOSPITAL
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.config.experiment_file import read_sweep
from wardround.library import find_file
from wardround.run.runner import run_experiment
from wardround.store.recorded_run import find_runs
from wardround.tables.making import make_tables
from wardround.tables.published import published

VERSIONS = {  # AIE, section 4.1
    "chatglm3": "chatglm3-6b",
    "internlm": "internlm2-chat-20b",
    "baichuan": "Baichuan-13B-Chat",
    "xinghuo": "generalv3",
    "qianwen": "qwen-max",
    "chatgpt": "gpt-3.5-turbo-1106",
    "gpt_4": "gpt-4-1106-preview",
}
SEVEN = tuple(VERSIONS)


def _answer(request: ChatRequest) -> dict[str, Any] | None:
    """A doctor who asks on and on, so that the rounds of the file decide; the others say anything that fits."""
    said = {"DoctorTurn": {"text": "Does it hurt?", "finished": False}, "ActionKind": {"kind": "other_topic"}}
    return said.get(request.name)


def test_the_seven_doctors_are_the_papers_versions() -> None:
    file = find_file(Path("aie_figure_4"))
    assert file
    models = tomllib.loads(file.read_text("utf-8"))["model"]
    assert {name: block["spec"].partition(":")[2].partition("@")[0] for name, block in models.items()} == VERSIONS


def test_dialogues_have_ten_rounds_on_hospital_cases_and_fifteen_on_medical_exam() -> None:
    ten, fifteen = ("aie_table_2", "aie_figure_3", "aie_figure_4", "aie_figure_5"), ("aie_table_3", "aie_figure_6")
    for name in (*ten, *fifteen):
        for experiment in read_sweep(find_file(Path(name)), {}).runs.values():
            assert experiment.context.max_turns == (10 if name in ten else 15), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "record", "turns", "runs", "tables"),
    [
        ("aie_table_2", HOSPITAL, 10, 1, ["aie", "scores", "ends"]),
        ("aie_table_3", EXAM, 15, 1, ["aie", "scores", "ends"]),
        ("aie_figure_3", HOSPITAL, 10, 2, ["simulators", "ends"]),
        ("aie_figure_6", EXAM, 3, 7, ["aie", "actions"]),
    ],
)
async def test_a_ready_file_runs_over_http_on_an_imported_case(
    name: str, record: dict[str, Any], turns: int, runs: int, tables: list[str], tmp_path: Path
) -> None:
    (tmp_path / "cases.json").write_text(json.dumps([record]), "utf-8")
    save_cases(import_cases("aie", tmp_path / "cases.json").cases, tmp_path / "cases.jsonl")
    with FakeServer(answer=_answer) as server:
        spec = f"openai:fake-model@{server.base_url}"
        roles = {"patient": spec}
        doctors: dict[str, Any] = {f"model.{each}.spec": spec for each in SEVEN if runs == len(SEVEN)}
        overrides = {**doctors, "data.cases": str(tmp_path / "cases.jsonl"), "judges.default": spec}
        overrides |= {"workflow.max_turns": turns} if turns < 10 else {}
        sweep = read_sweep(find_file(Path(name)), overrides, roles if doctors else {**roles, "default": spec})
        assert list(sweep.tables) == tables
        for run, experiment in sweep.runs.items():
            summary = await run_experiment(experiment, tmp_path / "out" / (run or "one"))
            assert summary["scored"] == 1, summary
    found = find_runs([tmp_path / "out" / (run or "one") for run in sweep.runs])
    made = make_tables(found, tables)
    assert [one.reason for one in made] == [""] * len(tables)
    table = made[0].tables[0]
    if name == "aie_figure_3":
        assert [*dict.fromkeys(row["simulator"] for row in table.rows)][:2] == ["with_states", "without_states"]
        return
    ours = list(SEVEN) if doctors else [found[0].name]
    assert [column.title for column in table.columns] == ["Metric", *ours, *published("aie")["doctors"]]
    assert table.name == ("aie-table-3" if record is EXAM else "aie-table-2")
    rows = {row["metric"]: row for row in table.rows}
    assert rows["AVG_TURN"][ours[0]] == f"{turns:.2f}" and rows["DIAGNOSIS"][ours[0]] is None
    assert rows["AVG_TURN"]["[GPT-4]"] == ("11.89 ± 0.19" if record is EXAM else "9.50 ± 0.13")
