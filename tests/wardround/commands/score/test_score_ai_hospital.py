"""``wardround score mvme | icd10 | consensus``: exit codes, what is written, and what a reader sees."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scoring.metrics.statistics import estimate
from tests.scoring.ai_hospital_files import COLLABORATIONS, DIALOGUES, EVALUATIONS, TERMS, released
from wardround.commands.score import score_app
from wardround.commands.score.output import Scores, show


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def evaluation(number: int, diagnosis: str = "肺炎", choice: str | None = "B", **more: Any) -> dict[str, Any]:
    return {
        "doctor_name": "x",
        "patient_id": number,
        "reference_diagnosis": {"diagnosis": "1. 肺炎\n2. 高血压", "basis": "胸片", "treatment": "休息"},
        "doctor_diagnosis": {"patient_id": number, "diagnosis": f"#诊断结果#\n{diagnosis}\n#诊断依据#\n胸片"},
        "diagnosis_choice": choice,
        **more,
    }


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(*records: object, name: str = "records.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
        return path

    return write


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.csv"
    path.write_text("J18.9,肺炎\nI10,高血压\nK29.7,胃炎\n", "utf-8")
    return path


@pytest.mark.slow
def test_grades_are_scored_and_written_at_full_precision(write: Any, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "scores.json"
    file = write(evaluation(1), evaluation(2, choice="A"), evaluation(3, choice=None))
    assert run("mvme", file, "--json", out).exit_code == 0
    written = json.loads(out.read_text("utf-8"))
    assert written.keys() == {"suite", "mode", "n", "metrics"}
    assert (written["suite"], written["mode"], written["n"]) == ("mvme", "sound", 3)
    assert written["metrics"].keys() == {"diagnosis"}
    assert written["metrics"]["diagnosis"].keys() == {"mean", "se", "ci95", "n"}
    assert (written["metrics"]["diagnosis"]["mean"], written["metrics"]["diagnosis"]["n"]) == (3.5, 2)
    assert run("mvme", file, "--mode", "paper", "--json", out).exit_code == 0
    assert json.loads(out.read_text("utf-8"))["metrics"]["diagnosis"]["mean"] == pytest.approx(8 / 3)
    assert not list(out.parent.glob(".*"))


def test_several_doctors_are_not_pooled(write: Any) -> None:
    shown = run("mvme", write(evaluation(1), evaluation(1, doctor_name="y", choice="D"))).stdout
    assert "x: diagnosis" in shown and "y: diagnosis" in shown


def test_grades_that_cannot_be_read_are_counted_beside_the_scores(write: Any) -> None:
    file = write(evaluation(1), evaluation(2, choice=None), evaluation(3, choice="A or B"))
    assert "Left out, as the file gives no one option: diagnosis 2." in " ".join(run("mvme", file).stdout.split())
    paper = " ".join(run("mvme", file, "--mode", "paper").stdout.split())
    assert "Counted as 1, as the file gives no one option: diagnosis 1." in paper


def test_every_faulty_record_is_named_and_nothing_is_written(write: Any, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    file = write(evaluation(1), {"patient_id": 2}, evaluation(3, choice=4))
    for suite in ("mvme", "icd10"):
        result = run(suite, file, "--json", out)
        assert result.exit_code == 2 and result.stdout == "" and not out.exists()
        assert "line 2, reference_diagnosis" in result.stderr and "line 3: diagnosis_choice" in result.stderr


@pytest.mark.parametrize("suite", ["mvme", "icd10", "consensus"])
def test_a_file_that_is_absent_or_empty_or_no_json_is_bad_input(suite: str, tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty.jsonl", tmp_path / "binary.jsonl"
    empty.touch()
    binary.write_bytes(b"\xff\xfe\x00")
    for file in (tmp_path / "absent.jsonl", empty, binary):
        result = run(suite, file)
        assert result.exit_code == 2 and file.name in result.stderr and "Traceback" not in result.output


@pytest.mark.slow
def test_reports_without_grades_are_graded_only_when_asked(write: Any) -> None:
    plain = write({"patient_id": 1, "diagnosis": "#诊断结果#\n胃炎\n#诊断依据#\n无"}, name="onestep.jsonl")
    refused = run("mvme", plain)
    assert refused.exit_code == 2 and "--grade" in refused.stderr
    lacking = run("mvme", plain, "--grade")
    assert lacking.exit_code == 2 and "--reference" in lacking.stderr
    graded = run("mvme", plain, "--grade", "--reference", write(evaluation(1)), "--error-types")
    assert graded.exit_code == 0 and "diagnosis" in graded.stdout and "wrong_judgement" in graded.stdout
    unknown = run("mvme", plain, "--grade", "--reference", write(evaluation(2)))
    assert unknown.exit_code == 2 and "patient 1" in unknown.stderr


def test_doctors_of_another_system_are_not_taken_for_reports_to_be_graded(write: Any) -> None:
    told = run("mvme", write({"id": 1, "raw_data": {"question": "Cough"}, "history": [], "diagnosis": "A"}))
    assert told.exit_code == 2 and "patient_id, reference_diagnosis" in told.stderr and "--grade" not in told.stderr


def test_a_judge_that_is_no_model_is_bad_input(write: Any) -> None:
    result = run("mvme", write(evaluation(1)), "--grade", "--judge", "nobody:x")
    assert result.exit_code == 2 and "nobody" in result.stderr


def test_a_judge_that_cannot_be_reached_leaves_cases_out_and_says_so(write: Any, terms: Path, monkeypatch: Any) -> None:
    from llm.errors import ModelError

    async def fail(text: str, *_: object) -> list[str]:
        if text == "胃炎":
            raise ModelError("gone")
        return [text]

    monkeypatch.setattr("scoring.mvme.disease_entities.ask_for_diseases", fail)
    file = write(evaluation(1), evaluation(2, diagnosis="胃炎"))
    options = ("--terms", terms, "--splitter", "llm", "--judge", "openai:x")
    result = run("icd10", file, *options)
    assert result.exit_code == 1 and "Left out: 1 case" in result.stdout and "gone" in result.stdout
    nothing = evaluation(3) | {"doctor_diagnosis": {"patient_id": 3, "diagnosis": "ERROR."}}
    result = run("icd10", write(evaluation(2, diagnosis="胃炎"), nothing), *options)
    assert result.exit_code == 1 and "Left out: 1 case" in result.stdout, "nothing is predicted in what is left"


def test_diagnoses_are_scored_by_three_rules_in_percent(write: Any, terms: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    file = write(evaluation(1), evaluation(2, diagnosis="胃炎、高血压"))
    assert run("icd10", file, "--terms", terms, "--json", out).exit_code == 0
    metrics = {name: found["mean"] for name, found in json.loads(out.read_text("utf-8"))["metrics"].items()}
    assert metrics["#"] == 1.5 and metrics["R"] == metrics["R.code"] == 50
    assert metrics["P.category"] == pytest.approx(200 / 3) and metrics["F1.published"] == pytest.approx(600 / 7)


def test_a_report_without_a_diagnosis_misses_all_and_is_left_out_only_as_the_paper_does(
    write: Any, terms: Path, tmp_path: Path
) -> None:
    bare, out = evaluation(2, doctor_diagnosis={"patient_id": 2, "diagnosis": "未见异常"}), tmp_path / "s.json"
    result = run("icd10", write(evaluation(1), bare), "--terms", terms, "--json", out)
    assert result.exit_code == 0 and "1 of 2 reports have no diagnosis" in result.stdout
    written = json.loads(out.read_text("utf-8"))
    assert written["n"] == 2 and written["metrics"]["P"]["mean"] == written["answered"]["P"]["mean"] == 100
    assert (written["metrics"]["R"]["mean"], written["answered"]["R"]["mean"]) == (25, 50)
    assert written["answered"]["R"]["share"] == 0.5
    run("icd10", write(evaluation(1), bare), "--terms", terms, "--json", out, "--mode", "paper")
    paper = json.loads(out.read_text("utf-8"))
    assert paper["n"] == 1 and paper["metrics"]["R"]["mean"] == 50 and "answered" not in paper
    assert run("icd10", write(bare), "--terms", terms).exit_code == 2
    other = bare | {"patient_id": 1, "doctor_name": "another doctor"}  # of the patient whom the first diagnosed
    assert run("icd10", write(evaluation(1), other), "--terms", terms, "--json", out).exit_code == 0
    assert json.loads(out.read_text("utf-8"))["answered"]["R"]["share"] == 0.5


def test_paper_mode_says_which_spelling_of_the_headings_it_reads(write: Any, terms: Path) -> None:
    spaced = evaluation(1, doctor_diagnosis={"patient_id": 1, "diagnosis": "# 诊断结果\n胃炎\n# 诊断依据\n胃镜"})
    assert run("icd10", write(spaced), "--terms", terms).exit_code == 0
    refused = run("icd10", write(spaced), "--terms", terms, "--mode", "paper")
    assert refused.exit_code == 2 and "expected #诊断结果# and #诊断依据# in this spelling" in refused.stderr
    result = run("icd10", write(evaluation(2), spaced), "--terms", terms, "--mode", "paper")
    assert "1 of 2 reports have no diagnosis (in files: #诊断结果# and #诊断依据# in this" in " ".join(
        result.stdout.split()
    )


def test_chinese_reports_are_not_linked_to_english_terms(write: Any) -> None:
    result = run("icd10", write(evaluation(1)))
    assert result.exit_code == 2 and "--terms" in result.stderr


def test_a_splitter_that_asks_a_model_needs_one(write: Any, terms: Path) -> None:
    result = run("icd10", write(evaluation(1)), "--terms", terms, "--splitter", "llm")
    assert result.exit_code == 2 and "--judge" in result.stderr


def test_agreed_and_gave_up_are_told_apart_where_the_record_tells(write: Any, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    rows = [{"patient_id": place, "diagnosis": "", "final_turn": turn} for place, turn in enumerate((0, 1, 4, 4))]
    assert run("consensus", write(*rows), "--json", out).exit_code == 0
    assert json.loads(out.read_text("utf-8"))["metrics"]["gave_up"]["mean"] is None
    known = [row | {"agreed": place != 3} for place, row in enumerate(rows)]
    assert run("consensus", write(*known), "--json", out).exit_code == 0
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    assert metrics["gave_up"]["mean"] == 0.25 and metrics["consensus_after_4"]["mean"] == 0.75


def test_more_rounds_than_allowed_are_bad_input(write: Any) -> None:
    result = run("consensus", write({"patient_id": 1, "diagnosis": "", "final_turn": 4}), "--rounds", 3)
    assert result.exit_code == 2 and "final_turn" in result.stderr and "at most 3" in result.stderr


def test_a_place_that_cannot_be_written_is_bad_input(write: Any) -> None:
    file = write(evaluation(1))
    result = run("mvme", file, "--json", file / "scores.json")
    assert result.exit_code == 2 and "records.jsonl: file exists" in result.stderr and result.stdout == ""


def test_text_of_others_gives_the_terminal_no_orders(capsys: pytest.CaptureFixture[str]) -> None:
    show(Scores("mvme", "sound", 1, {"\x1b[31m[bold]x[/bold]": estimate([1.0])}, notes=["\x1b[2Jnote"]))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "[bold]x[/bold]" in shown and "note" in shown


def test_scores_that_cannot_be_written_are_printed_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    written: list[str] = []
    scores = Scores("mvme", "sound", 1, {"symptoms": estimate([1.0])}, write=lambda: written.append("tables"))
    with pytest.raises(OSError, match="file"):
        show(scores, tmp_path / "file" / "scores.json")
    assert "symptoms" in capsys.readouterr().out and written, "and the other files are written"


def test_scores_are_written_also_if_the_reader_of_the_output_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wardround.commands.score.output.print_rows", gone)
    with pytest.raises(BrokenPipeError):
        show(Scores("mvme", "sound", 1, {"symptoms": estimate([1.0])}), tmp_path / "scores.json")
    assert "symptoms" in (tmp_path / "scores.json").read_text("utf-8")


def gone(*_: object) -> None:
    raise BrokenPipeError


def test_help_answers_without_loading_what_is_heavy() -> None:
    program = (
        "import sys; from wardround.commands.score import score_app;"
        "print([name for name in ('numpy', 'pydantic', 'rapidfuzz', 'langchain_core') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.slow
@released
def test_the_released_files_give_the_published_numbers(tmp_path: Path) -> None:
    def metrics(*arguments: object) -> dict[str, dict[str, Any]]:
        out = tmp_path / "scores.json"
        result = run(*arguments, "--json", out)
        assert result.exit_code == 0, result.output
        found: dict[str, dict[str, Any]] = json.loads(out.read_text("utf-8"))["metrics"]
        return found

    parts = metrics("mvme", EVALUATIONS, "--mode", "paper")
    assert {name: round(one["mean"], 3) for name, one in parts.items()} == {
        "diagnosis": 2.767,
        "basis": 2.998,
        "treatment": 2.595,
    }
    rounds = metrics("consensus", COLLABORATIONS, "--mode", "paper")
    assert [round(one["mean"] * 506) for one in rounds.values()] == [124, 206, 101, 21, 54]
    linked = metrics("icd10", EVALUATIONS, "--terms", TERMS, "--mode", "paper")
    published = {"#": 2.30, "R": 38.90, "F1": 46.88}
    assert all(linked[name]["mean"] == pytest.approx(value, abs=2) for name, value in published.items())
    spoken = metrics("icd10", DIALOGUES, "--reference", EVALUATIONS, "--terms", TERMS, "--mode", "paper")
    published = {"#": 1.52, "R": 21.64, "F1": 30.26}  # precision: 56.68 by rule, 50.26 by the authors' model
    assert all(spoken[name]["mean"] == pytest.approx(value, abs=2) for name, value in published.items())
