import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scoring.aie.metrics import METRICS, score_aie
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import PERCENT, estimates
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, aie_data, turn, write
from wardround.commands.score import score_app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})


def scores(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content


@pytest.mark.parametrize("mode", ["sound", "paper"])
def test_the_json_has_the_estimates_at_full_precision(tmp_path: Path, mode: Any) -> None:
    out = tmp_path / "out.json"
    result = run("aie", write(tmp_path / "t.json", CHINESE), "--mode", mode, "--json", out)
    assert result.exit_code == 0, result.output
    written = scores(out)
    assert {key: written[key] for key in ("suite", "mode", "n")} == {"suite": "aie", "mode": mode, "n": 2}
    assert tuple(written["metrics"]) == METRICS
    samples = score_aie((AieTranscript.model_validate(entry) for entry in CHINESE), mode)
    expected = estimates(samples, clustered=mode == "sound", ends=PERCENT, neither=("AVG_TURN", "AVG_LEN"))
    assert written["metrics"] == {name: found.model_dump(mode="json") for name, found in expected.items()}


def test_tables_of_actions_lengths_and_languages_are_printed(tmp_path: Path) -> None:
    result = run("aie", write(tmp_path / "t.json", ENGLISH))
    for title in ("Share of actions by turn", "By length of the dialogue", "Utterances by language"):
        assert title in result.stdout
    assert "choose no option" not in result.stdout and "what was answered" not in result.stdout
    out = tmp_path / "out.json"
    told = run("aie", write(tmp_path / "z.json", CHINESE), "--json", out)
    assert "1 diagnoses choose no option" in told.stdout and "Over what was answered alone" in told.stdout
    assert scores(out)["answered"]["DIAGNOSIS"]["share"] == 0.5 and scores(out)["metrics"]["DIAGNOSIS"]["n"] == 2


def test_each_files_language_is_its_own_in_paper_mode(tmp_path: Path) -> None:
    files = [write(tmp_path / "en.json", ENGLISH), write(tmp_path / "zh.json", CHINESE)]
    out = tmp_path / "out.json"
    result = run("aie", *files, "--mode", "paper", "--json", out)
    assert result.exit_code == 0 and "Means of each file" in result.stdout and scores(out)["n"] == 4
    single = [
        score_aie((AieTranscript.model_validate(entry) for entry in data), "paper") for data in (ENGLISH, CHINESE)
    ]
    both = [sample.value for part in single for sample in part["COVERAGE"]]
    assert scores(out)["metrics"]["COVERAGE"]["mean"] == pytest.approx(sum(both) / 4)


def test_a_faulty_record_ends_with_code_2_and_nothing_written(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    file = write(tmp_path / "t.json", [*ENGLISH, {"id": 3, "raw_data": {"question": "x", "answer_idx": "A"}}])
    result = run("aie", file, "--json", out)
    assert result.exit_code == 2 and not out.exists() and result.stdout == ""
    assert "entry 3, history: Field required" in result.stderr and "nothing scored: 1 problem" in result.stderr


def test_odd_actions_are_warnings(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", [aie_data("Cough.", *[turn("?", "Hi")] * 25)])
    result = run("aie", file)
    assert result.exit_code == 0 and result.stderr.count("warning:") == 20 and "5 warnings more" in result.stderr


def test_another_run_is_compared_and_people_correlated(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", ENGLISH)
    people = tmp_path / "people.csv"
    people.write_text("case,total\nMedQA/1,3\nMedQA/2,4\n", "utf-8")
    result = run("aie", file, "--against", file, "--human", people)
    assert result.exit_code == 0, result.output
    assert "Minus the other transcripts, paired by case" in result.stdout and "people: total" in result.stdout
    people.write_text("case,total\nMedQA/1,good\n", "utf-8")
    assert run("aie", file, "--human", people).exit_code == 2


def simulator(tmp_path: Path, name: str, reply: str) -> Path:
    replies = {
        "0": {
            "A-A-A": {
                "human_state": "A-A-A",
                "human_answer": "咳嗽三天",
                "prediction": reply,
                "state_prediction": "A-B",
            }
        },
        "1": {"C": {"human_state": "C", "human_answer": "线上", "prediction": reply}},
    }
    return write(tmp_path / name, [{"id": 1, "raw_data": {"question": "咳嗽三天，发热。"}, "patient_test": replies}])


def test_simulator_tests_are_scored(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    file = simulator(tmp_path, "s.json", "线上咳嗽三天")
    result = run("aie-simulator", file, "--json", out, "--people", simulator(tmp_path, "p.json", "不"))
    assert result.exit_code == 0, result.output
    assert "Tracked actions" in result.stdout and "Correlation" in result.stdout
    metrics = scores(out)["metrics"]
    assert metrics["ACCURACY"]["mean"] == metrics["FOCUS"]["mean"] == 100 and metrics["TRACKING"]["mean"] == 0
    assert metrics["HONEST"] == {"mean": None, "se": None, "ci95": None, "n": 0}


def test_each_file_of_replies_has_its_rows_by_round_beside_the_papers_and_cases_can_be_left_out(tmp_path: Path) -> None:
    files = [simulator(tmp_path, "a.json", "线上"), simulator(tmp_path, "b.json", "咳嗽")]
    told = run("aie-simulator", *files, "--by", "turn", "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    csv = (tmp_path / "out" / "aie-figure-3a.csv").read_text("utf-8").splitlines()
    assert [line.split(",")[:2] for line in csv[1:7]] == [[name, turn] for name in "ab" for turn in ("all", "0", "1")]
    assert "[GPT-4, states]" in told.stdout and "Round" in told.stdout
    assert "Round" not in run("aie-simulator", *files).stdout
    assert "no such case" in run("aie-simulator", *files, "--leave-out", "2").stderr


def test_cases_are_left_out_of_the_doctors_metrics(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.json", ENGLISH), tmp_path / "out.json"
    told = run("aie", file, "--leave-out", "MedQA/1", "--json", out)
    assert told.exit_code == 0 and scores(out)["n"] == 1
    assert run("aie", file, "--leave-out", "MedQA/1,MedQA/9").exit_code == 2


@pytest.mark.parametrize("view", ["doctor", "patient"])
def test_two_doctors_are_compared_in_both_orders(tmp_path: Path, view: str) -> None:
    good = [
        aie_data("A man coughs.", turn("B-A-A", "I am sorry. A cough? Have an X-ray.", "A man coughs."), diagnosis="A")
    ]
    poor = [aie_data("A man coughs.", turn("O", "Speak at once of all that you have got, and be quick"), diagnosis="B")]
    files = [write(tmp_path / "good.json", good), write(tmp_path / "poor.json", poor)]
    out = tmp_path / "out.json"
    result = run("aie-pairwise", *files, "--view", view, "--json", out)
    assert result.exit_code == 0, result.output
    assert scores(out)["suite"] == "aie-pairwise" and scores(out)["metrics"]["total"]["mean"] == 100
    same = run("aie-pairwise", files[0], files[0], "--json", out)
    assert same.exit_code == 0 and scores(out)["metrics"]["total"] == {"mean": None, "se": None, "ci95": None, "n": 0}
    assert run("aie-pairwise", *files, "--judge", "gpt").exit_code == 2
    write(files[1], [aie_data("x", id=9)])
    assert "no case in common" in run("aie-pairwise", *files).stderr
