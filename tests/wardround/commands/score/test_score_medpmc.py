import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scoring.medpmc.metrics import METRICS
from scoring.metrics import recall
from scoring.metrics.samples import MissingBackendError
from tests.scoring.transcripts_of_ours import MEDPMC_HISTORY, medpmc_data, write
from tests.support.fake_server import FakeServer
from wardround.commands.score import score_app
from wardround.commands.score.medpmc import _cut


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "t.json", [medpmc_data(*MEDPMC_HISTORY, id=1), medpmc_data(id=2, diagnosis_self="")])


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, ["medpmc", *map(str, arguments)], env={"COLUMNS": "300"})


@pytest.mark.parametrize("mode", ["sound", "paper"])
@pytest.mark.parametrize("recall_name", ["rouge1", "rougeL"])
def test_the_columns_are_written_with_their_estimates(file: Path, tmp_path: Path, mode: str, recall_name: str) -> None:
    out = tmp_path / "out.json"
    result = run(file, "--recall", recall_name, "--mode", mode, "--json", out)
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text("utf-8"))
    assert (written["suite"], written["mode"], written["n"]) == ("medpmc", mode, 2)
    averages = {"MMA": ["Avg. (gathering)"], "Treatment": ["Avg. (decision)"]}
    columns = [each for name in METRICS for each in (name, *averages.get(name, []))]
    assert [*written["metrics"]] == [*columns, *(["support"] if mode == "sound" else [])]
    means = {name: found["mean"] for name, found in written["metrics"].items()}
    assert means["Avg. (gathering)"] == pytest.approx(fmean(means[name] for name in METRICS[:3]))
    assert means["Avg. (decision)"] == pytest.approx((means["Diagnosis"] + means["Treatment"]) / 2)
    assert written["metrics"]["Turns"]["mean"] == 2.5 and written["metrics"]["Lens"]["n"] == 1
    assert "Information gathered by round" in result.stdout
    assert ("truncated to two decimals" in result.stdout) == (mode == "paper")


@pytest.mark.parametrize(
    ("value", "cut"), [(12.999, "12.99"), (0.29, "0.29"), (1.005, "1.00"), (100.0, "100.00"), (None, "-")]
)
def test_published_numbers_are_cut(value: float | None, cut: str) -> None:
    assert _cut(value) == cut


def test_judges_are_asked_and_their_agreement_reported(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = run(file, "--judge", "offline", "--judge", "offline", "--json", out)
    assert result.exit_code == 0, result.output
    assert "Krippendorff's alpha" in result.stdout and "offline #2" in result.stdout
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    assert 1 <= metrics["Judge: inquiry"]["mean"] <= 5 and metrics["Judge: treatment"]["n"] == 2
    persona = run(file, "--judge", "offline", "--judged", "persona", "--json", out)
    assert persona.exit_code == 0
    assert json.loads(out.read_text("utf-8"))["metrics"]["Judge: character_features"]["n"] == 1
    same = write(tmp_path / "same.json", [medpmc_data(*MEDPMC_HISTORY, id=number) for number in (1, 2)])
    for judged, most in (("consultation", 5), ("patient", 2), ("persona", 5)):
        assert run(same, "--judge", "offline", "--judged", judged, "--json", out).exit_code == 0
        found = json.loads(out.read_text("utf-8"))["metrics"]
        intervals = [one["ci95"] for name, one in found.items() if name.startswith("Judge: ")]
        assert all(0 <= low < high <= most for low, high in intervals), "equal scores, too, may differ in other cases"
    misspelt = run(file, "--judge", "gpt")
    assert misspelt.exit_code == 2 and "not a model" in misspelt.stderr


def test_a_judge_cannot_score_the_reading_of_images_that_a_case_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    aspects = ("inquiry", "examination", "multimodal_analysis", "diagnosis", "treatment")
    file = write(tmp_path / "t.json", [medpmc_data(*MEDPMC_HISTORY, id=1), medpmc_data(id=2, Image={})])
    with FakeServer(answer=lambda request: dict.fromkeys(aspects, 3)) as server:
        judge = f"openai:fake-model@{server.base_url}"
        assert run(file, "--judge", judge, "--json", tmp_path / "out.json").exit_code == 0
    metrics = json.loads((tmp_path / "out.json").read_text("utf-8"))["metrics"]
    assert (metrics["Judge: inquiry"]["n"], metrics["Judge: multimodal_analysis"]["n"]) == (2, 1)


def test_what_has_no_value_says_why_and_each_file_has_its_own_rounds(tmp_path: Path) -> None:
    plain = [{name: told for name, told in each.items() if name != "standard_patient"} for each in MEDPMC_HISTORY]
    shown = write(tmp_path / "shown.json", [medpmc_data(*plain)])
    other = [medpmc_data(*plain, withheld=True), medpmc_data(*plain, id=2, Image={}, diagnosis_self="")]
    told = run(shown, write(tmp_path / "hidden.json", other), "--judge", "offline", "--judged", "persona").stdout
    told = " ".join(told.split())
    assert "3 of 3 not judged: no reply was spoken by a persona" in told
    assert "unscored for 1 without a picture and 1 whose pictures are withheld, of 3" in told
    rounds = told.partition("by round (ROUGE-1), shown.json")[2].partition("by round (ROUGE-1), hidden.json")
    assert "0.500 │" in rounds[0] and "- │" in rounds[2] and "alpha" not in told
    assert run(tmp_path / "hidden.json", "--json", tmp_path / "out.json").exit_code == 0
    hidden = json.loads((tmp_path / "out.json").read_text("utf-8"))["metrics"]
    assert hidden["MMA"]["n"] == hidden["Avg. (gathering)"]["n"] == 0 and hidden["Avg. (decision)"]["mean"] is not None
    empty = run(write(tmp_path / "empty.json", [medpmc_data()])).stdout
    assert "Info, Lens: unscored, because a text is missing on one side, or there is no consultation" in " ".join(
        empty.split()
    )


def test_what_recalled_stands_over_the_columns_and_in_the_json(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    told = run(file, "--recall", "rougeL", "--mma", "next", "--json", out).stdout
    assert "medpmc, sound mode, recall rougeL, entities rules, mma next, 2 cases" in " ".join(told.split())
    written = json.loads(out.read_text("utf-8"))
    assert (written["recall"], written["entities"], written["mma"]) == ("rougeL", "rules", "next")


def test_a_missing_backend_is_one_error_with_its_remedy(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise MissingBackendError("run this")

    monkeypatch.setattr(recall, "_rate_scorer", missing)
    result = run(file, "--recall", "ratescore")
    assert result.exit_code == 2 and result.stderr.endswith("error: run this\n") and result.stdout == ""


def test_another_run_is_compared(file: Path) -> None:
    result = run(file, "--against", file)
    assert result.exit_code == 0 and "Difference to the other transcripts" in result.stdout
    assert "dialogues are identical in --against" in result.stdout


def test_a_faulty_record_ends_with_code_2(tmp_path: Path) -> None:
    text = {name: told for name, told in medpmc_data()["Text"].items() if name != "Diagnosis"}
    result = run(write(tmp_path / "t.json", [medpmc_data(id=1) | {"Text": text}, {"id": 2, "Text": {}}]))
    assert result.exit_code == 2 and "entry 1, Text.Diagnosis: Field required" in result.stderr
    assert result.stderr.count("entry 2") == 1, "all that it lacks, in one line"
    assert "Text.Diagnosis, Text.Treatment: Fields required" in result.stderr


def test_a_file_of_cases_that_nobody_played_is_refused_by_its_name(file: Path, tmp_path: Path) -> None:
    unplayed = [
        {name: value for name, value in record.items() if name not in ("history", "diagnosis_self")}
        for record in json.loads(file.read_text("utf-8"))
    ]
    result = run(write(tmp_path / "case.json", unplayed))
    assert result.exit_code == 2 and result.stdout == ""
    assert "case.json: no dialogue to score" in result.stderr


def test_the_window_of_a_reading_is_no_option_of_paper_mode(file: Path, tmp_path: Path) -> None:
    told = run(file, "--mma", "next", "--mode", "paper")
    assert told.exit_code == 2 and "--mma: paper mode" in told.stderr
    found = []
    for window in ("all", "next"):
        assert run(file, "--mma", window, "--json", tmp_path / "out.json").exit_code == 0
        found.append(json.loads((tmp_path / "out.json").read_text("utf-8"))["metrics"]["MMA"]["mean"])
    assert found[1] < found[0], "the report is not read"


def test_of_several_files_each_ones_averages_and_errors_stand_in_a_row(file: Path, tmp_path: Path) -> None:
    result = run(file, write(tmp_path / "u.json", [medpmc_data(*MEDPMC_HISTORY, id=3)]))
    lines = result.stdout[result.stdout.index("Means of each file") :].splitlines()
    head, first = ([part.strip() for part in re.split("[┃│]", line)[1:-1]] for line in (lines[2], lines[4]))
    assert head[:8] == [
        *("file", "Inquiry", "Examination", "MMA", "Avg. (gathering)", "Diagnosis", "Treatment", "Avg. (decision)")
    ]
    assert re.fullmatch(r"\d+\.\d{3} ± \d+\.\d{3}", dict(zip(head, first, strict=True))["Avg. (decision)"]), first


def test_each_of_several_files_has_its_own_columns_in_the_json(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    other = write(tmp_path / "other.json", [medpmc_data(*MEDPMC_HISTORY, id=3)])
    assert run(file, other, "--json", out).exit_code == 0
    of_both = json.loads(out.read_text("utf-8"))["files"]
    assert [*of_both] == ["t", "other"]
    for each, name in ((file, "t"), (other, "other")):
        assert run(each, "--json", out).exit_code == 0
        alone = json.loads(out.read_text("utf-8"))
        assert "files" not in alone
        assert of_both[name] == alone["metrics"]
