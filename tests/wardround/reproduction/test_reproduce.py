"""The published tables again: which file is whose, and why a cell is another."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scoring.aie.metrics import score_aie
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import Sample
from tests.scoring.ai_hospital_files import FOLDER, released
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, medpmc_data, turn
from wardround.cli import app
from wardround.config.experiment import ConfigurationError
from wardround.reproduction.cells import Found, Printing, cells_of
from wardround.reproduction.release import Release
from wardround.reproduction.reproduce import reproduce, reproduction_table


def written(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return file


@pytest.mark.slow
def test_files_of_aie_are_told_by_form_doctors_by_path_and_tables_by_their_cases(tmp_path: Path) -> None:
    written(tmp_path / "out" / "hospital" / "gpt4.json", CHINESE)
    written(tmp_path / "out" / "exam" / "qianwen_medqa.json", ENGLISH)
    written(tmp_path / "out" / "copy" / "gpt-4-again.json", CHINESE)
    written(tmp_path / "out" / "nobody.json", CHINESE)
    written(tmp_path / "other.json", {"a": 1})
    (tmp_path / "broken_gpt4.json").write_text("{", "utf-8")
    found = reproduce("aie", tmp_path)
    assert found.files == {"GPT-4": ["out/copy/gpt-4-again.json"], "QianWen": ["out/exam/qianwen_medqa.json"]}
    assert any("hospital/gpt4.json is left out" in note for note in reproduction_table("aie", found).notes)
    run = {(cell.table[:7], cell.row, cell.column): cell for cell in found.cells if cell.ours is not None}
    assert len(found.cells) == 140 + 74 and len(run) == 20
    values = score_aie([AieTranscript.model_validate(one) for one in CHINESE], "paper")["COVERAGE"]
    assert run["Table 2", "GPT-4", "COVERAGE"].ours == pytest.approx(sum(one.value for one in values) / 2)
    assert run["Table 2", "GPT-4", "COVERAGE"].paper == 38.69 and run["Table 3", "QianWen", "AVG_TURN"].ours == 4.5


def test_the_simulators_of_aie_are_compared_by_round_or_over_the_rounds_and_cases_can_be_left_out(
    tmp_path: Path,
) -> None:
    asked = {"human_state": "C", "human_answer": "线上", "prediction": "线 上", "state_prediction": "D"}
    record = {
        "raw_data": {"question": "咳嗽。"},
        "patient_test": {"0": {"C": asked}, "1": {"C": {**asked, "prediction": "走"}}},
    }
    written(tmp_path / "human.json", [{"id": 1, **record}, {"id": 2, **record}])
    cells = {(one.row, one.column): one for one in reproduce("aie", tmp_path).cells if one.table == "Figure 3a"}
    focus, length = cells["Human", "FOCUS"], cells["Human", "AVG_LEN"]
    assert len(cells) == 74 and (focus.paper, focus.ours, focus.n) == (100, 50, 4)
    assert length.paper == pytest.approx(36.417) and length.ours == 1.5 and cells["GPT-4", "FOCUS"].ours is None
    found = reproduce("aie", tmp_path, by_turn=True, leave_out=["2"])
    rounds = {(one.row, one.column): one for one in found.cells if one.table == "Figure 3a"}
    assert len(rounds) == 740 and rounds["Human", "FOCUS, round 0"].same and rounds["Human", "FOCUS, round 0"].n == 1
    assert rounds["Human", "FOCUS, round 1"].ours == 0 and rounds["Human", "FOCUS, round 2"].ours is None
    with pytest.raises(ConfigurationError, match="--leave-out 3"):
        reproduce("aie", tmp_path, leave_out=["3"])
    with pytest.raises(ConfigurationError, match="--by turn applies only to aie"):
        reproduce("medpmc", tmp_path, by_turn=True)


def test_files_of_med_pmc_are_the_standard_patients(tmp_path: Path) -> None:
    played = [medpmc_data(turn("B-A", "Any pain?", "Yes, pain."), turn("D", "Goodbye."), id=case) for case in (1, 2)]
    written(tmp_path / "standard" / "gpt4o_mini.json", played)
    written(tmp_path / "actor" / "gpt4o_mini.json", played)
    found = reproduce("medpmc", tmp_path)
    assert found.files == {"GPT-4o-mini": ["standard/gpt4o_mini.json"]}
    run = [cell for cell in found.cells if cell.ours is not None]
    assert len(found.cells) == 120 and {cell.row for cell in run} == {"GPT-4o-mini"} and len(run) == 10
    halves = {cell.column: cell for cell in run if "8" in cell.table}
    mean = ((halves["Diagnosis"].ours or 0) + (halves["Treatment"].ours or 0)) / 2
    assert halves["Avg. (decision)"].ours == pytest.approx(mean)


# How the authors lay their runs out: a folder for each setting, in it DOCTOR_PATIENT.json.
RELEASED = {
    "InternVL-1.5": "InternVL-1.5",
    "Mini-InternVL-1.5": "Mini-InternVL-1.5",
    "gemini-flash": "Gemini1.5-Flash",
    "gemini-pro": "Gemini1.5-Pro",
    "glm4v": "GLM-4V",
    "gpt4o": "GPT-4o",
    "gpt4v": "GPT-4V",
    "huatuo-vision-34b": "HuatuoGPT-Vision-34B",
    "huatuo-vision-7b": "HuatuoGPT-Vision-7B",
    "mini-gpt4o": "GPT-4o-mini",
    "qianwen-vision-chat": "Qwen-VL-Chat",
    "qianwen-vl-max": "Qwen-VL-Max",
}


def test_each_doctor_of_med_pmcs_release_is_known_by_its_file_whoever_plays_the_patient(tmp_path: Path) -> None:
    """The patient's model stands in every file's name, and every doctor was taken for it."""
    runs = tmp_path / "data" / "result" / "raw_result"
    played = [medpmc_data(turn("B-A", "Any pain?", "Yes, pain."), turn("D", "Goodbye."), id=1)]
    for folder in ("standard", "actor", "female", "male", "standand_cot", "standand_zerocot"):
        for doctor in RELEASED:
            written(runs / f"M3_30_Result_{folder}" / f"{doctor}_qwen-max.json", played)
    written(tmp_path / "data" / "dataset" / "case.json", [{"id": 1, "Text": {}, "Image": {}}])
    written(tmp_path / "data" / "result" / "scores" / "gpt" / "result" / "M3" / "json" / "gpt4o.json", [{"1": 4.5}])
    found = reproduce("medpmc", tmp_path)
    expected = {
        row: [f"data/result/raw_result/M3_30_Result_standard/{doctor}_qwen-max.json"]
        for doctor, row in RELEASED.items()
    }
    assert found.files == expected
    assert all(cell.ours is not None for cell in found.cells) and len(found.cells) == 120


def test_the_numbers_themselves_tell_why_a_cell_is_another() -> None:
    samples = [Sample(str(case), value) for case, value in enumerate([10.0, 20.0, 30.0, 60.0])]
    computed = {
        "x": {"a": Found(21.75, None, 1), "b": Found(1.0, None, 1), "c": Found(30.0, None, 4, samples)},
        "y": {"a": Found(5.0, None, 1), "b": Found(2.0, None, 1), "c": Found(7.0, None, 1)},
    }
    printed = {
        ("x", "a"): 21.57, ("x", "b"): 2.0, ("x", "c"): 20.0,
        ("y", "a"): 5.0, ("y", "b"): 1.0, ("y", "c"): 9.0, ("z", "a"): 4.0,
    }  # fmt: skip
    reasons = {(cell.row, cell.column): cell.reason for cell in cells_of("T", printed, computed)}
    assert reasons["x", "a"] == "two digits are swapped in print"
    assert reasons["x", "b"] == "swapped in print with y" and reasons["y", "b"] == "swapped in print with x"
    assert reasons["x", "c"] == "as printed without case 3"
    assert (reasons["y", "a"], reasons["y", "c"], reasons["z", "a"]) == ("", "not known", "")


def test_cases_that_a_file_lacks_are_named_with_what_they_would_have_to_be(tmp_path: Path) -> None:
    lost = [{**CHINESE[0], "id": "7", "diagnosis": None}]
    written(tmp_path / "gpt4.json", [*CHINESE, *lost])
    written(tmp_path / "qianwen.json", [*CHINESE, {**CHINESE[0], "id": "8"}])
    found = reproduce("aie", tmp_path)
    assert "GPT-4: left out of all columns, for lack of a letter or a dialogue: case 7." in found.notes
    cells = {cell.row: cell for cell in found.cells if cell.column == "AVG_TURN" and cell.ours is not None}
    one = cells["GPT-4"]
    wanted = (one.paper * 4 - (one.ours or 0) * 2) / 2
    assert one.reason == f"over 2, without cases 7, 8; as printed if the mean of the missing cases is {wanted:.2f}"
    assert "over 3, without case 7;" in cells["QianWen"].reason
    assert {cell.reason for cell in reproduce("aie", tmp_path, leave_out=["8"]).cells if cell.ours} <= {"not known", ""}


def test_a_file_whose_transcripts_all_lack_what_is_counted_is_named_with_what_they_lack(tmp_path: Path) -> None:
    written(tmp_path / "gpt4.json", [{**one, "diagnosis": None} for one in CHINESE])
    written(tmp_path / "glm.json", [{**one, "history": one["history"][:1]} for one in CHINESE])
    halves = [{**CHINESE[0], "diagnosis": None}, {**CHINESE[1], "history": CHINESE[1]["history"][:1]}]
    written(tmp_path / "internlm.json", halves)
    written(tmp_path / "qianwen.json", CHINESE)
    assert reproduce("aie", tmp_path).left_out == [
        "glm.json is left out: none of its transcripts has a dialogue of two turns or more.",
        "gpt4.json is left out: none of its transcripts has a diagnosis.",
        "internlm.json is left out: none of its transcripts has both a diagnosis and a dialogue of two turns or more.",
    ]
    (tmp_path / "qianwen.json").unlink()
    with pytest.raises(ConfigurationError, match=f"{tmp_path.name}: glm.json is left out: .* a diagnosis"):
        reproduce("aie", tmp_path)


def test_a_printed_average_that_is_none_is_named_and_further_digits_are_cut_off() -> None:
    computed = {"x": {"d": Found(28.619, None, 1), "t": Found(27.08, None, 1), "avg": Found(27.8495, None, 1)}}
    printed = {("x", "d"): 28.61, ("x", "t"): 27.08, ("x", "avg"): 27.08}
    cells = {
        cell.column: cell for cell in cells_of("T", printed, computed, Printing(cut=True, halves=("avg", "d", "t")))
    }
    assert cells["d"].same and cells["t"].same and cells["avg"].shown == 27.84
    assert cells["avg"].reason == "not the mean of its own printed columns"


def test_a_table_of_three_decimals_shows_differences_of_a_thousandth(tmp_path: Path) -> None:
    computed = {"x": {"a": Found(2.7654, 2.7709, 9), "b": Found(2.5, None, 9)}}
    cells = cells_of("T", {("x", "a"): 2.767, ("x", "b"): 2.5}, computed, Printing(digits=3))
    first, second = reproduction_table("ai_hospital", Release(tmp_path, cells=cells)).rows
    assert (first["shown"], first["difference"], first["sound"]) == ("2.765", "-0.002", "2.771")
    assert (second["difference"], second["sound"]) == ("+0.000", None)


@pytest.mark.slow
@released
def test_the_page_is_what_the_command_prints_of_the_released_files(tmp_path: Path) -> None:
    out = tmp_path / "table.md"
    done = CliRunner().invoke(app, ["reproduce", "ai_hospital", str(FOLDER), "--markdown", str(out)])
    assert done.exit_code == 0 and "3 of 15 cells equal the printed ones" in done.stdout
    page = (Path(__file__).parents[3] / "docs" / "reproduction.md").read_text("utf-8")
    assert out.read_text("utf-8") in page


def test_the_command_writes_json_html_and_markdown_and_refuses_what_is_no_release(tmp_path: Path) -> None:
    written(tmp_path / "clone" / "<b>gpt4.json", CHINESE)
    files = {form: tmp_path / f"r.{form}" for form in ("json", "html", "markdown")}
    options = [part for form, file in files.items() for part in (f"--{form}", str(file))]
    done = CliRunner().invoke(app, ["reproduce", "aie", str(tmp_path / "clone"), *options])
    assert done.exit_code == 0 and "204 more have no file" in done.stdout, done.output
    content = json.loads(files["json"].read_text("utf-8"))
    assert content["paper"] == "aie" and len(content["cells"]) == 214
    assert content["cells"][0].keys() >= {"table", "row", "column", "paper", "ours", "sound", "same", "n", "reason"}
    assert ">COVERAGE</td>" in files["html"].read_text("utf-8") and "| COVERAGE |" in files["markdown"].read_text()
    for source, reason in (
        (tmp_path / "nowhere", "directory not found"),
        (files["json"], "is no directory"),
        (written(tmp_path / "empty" / "x.json", [1]).parent, "no file"),
    ):
        refused = CliRunner().invoke(app, ["reproduce", "aie", str(source)])
        assert refused.exit_code == 2 and source.name in refused.stderr and refused.stdout == ""
        assert reason in " ".join(refused.stderr.split())
    with pytest.raises(ConfigurationError, match="no file has the form"):
        reproduce("medpmc", tmp_path / "clone")


def test_no_file_that_is_read_is_written_over(tmp_path: Path) -> None:
    file = written(tmp_path / "gpt4.json", CHINESE)
    before = file.read_bytes()
    done = CliRunner().invoke(app, ["reproduce", "aie", str(tmp_path), "--json", str(file)])
    assert done.exit_code == 2 and "is an input file and would be overwritten" in done.stderr, done.output
    assert file.read_bytes() == before
