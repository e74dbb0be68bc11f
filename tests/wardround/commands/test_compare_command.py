"""``wardround compare``: files beside the printed tables, and what is refused."""

import csv
from pathlib import Path

import pytest

from tests.support.commands import wardround
from tests.support.recorded_runs import call, graded, write_run
from wardround.store.result import Result as CaseResult


def test_the_differences_are_also_written_as_csv_and_latex(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a", 1.0), graded("b", 2.0)])
    two = write_run(tmp_path / "two", [graded("a", 2.0), graded("b", 4.0)])
    told = wardround("compare", one, two, "--csv", tmp_path / "new/c.csv", "--latex", tmp_path / "c.tex")
    assert told.exit_code == 0 and "two - one" in told.stdout and "+1.5000" in told.stdout
    row = next(csv.DictReader((tmp_path / "new/c.csv").read_text("utf-8").splitlines()))
    assert (row["run"], row["difference_mean"], row["difference_n"], row["p"]) == ("two", "1.5", "2", "0.5")
    assert r"\toprule" in (tmp_path / "c.tex").read_text("utf-8")


def test_a_p_on_the_terminal_has_three_decimals_as_in_tables(tmp_path: Path) -> None:
    one, two = (
        write_run(tmp_path / name, [graded("a", first), graded("b", 5.0 - first)])
        for name, first in (("one", 2.0), ("two", 3.0))
    )
    row = next(line for line in wardround("compare", one, two).stdout.splitlines() if "0.0000" in line)
    assert row.count(" 1.000 ") == 4 and " 1 " not in row


def test_a_narrow_terminal_shows_the_corrected_p_beside_the_difference_and_its_percent_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    one, two = (write_run(tmp_path / name, [graded("a", grade)]) for name, grade in (("one", 1.0), ("two", 2.0)))
    told = wardround("compare", one, two).stdout
    first, further = told[told.index("two - one") :].split("(further columns)")
    assert "(Holm)" in first and "in %" not in first and "+100.0" in further
    assert "\nin %: the difference in percent of the first run's mean" in told


def test_no_p_is_written_as_zero(tmp_path: Path) -> None:
    one, two = (
        write_run(tmp_path / name, [graded(f"{n}", 1.0 + by) for n in range(13)])
        for name, by in (("one", 0), ("two", 2))
    )
    wardround("compare", one, two, "--latex", tmp_path / "c.tex")
    written = (tmp_path / "c.tex").read_text("utf-8")
    assert r"\textless{}0.001" in written and " 0.000 &" not in written


def test_the_note_names_the_intervals_that_the_differences_have(tmp_path: Path) -> None:
    one, two = (
        write_run(
            tmp_path / name,
            [graded(str(n), scores={"referral_level1": float(n < right), "treatment": n / right}) for n in range(6)],
            graph="clinical_workflow",
        )
        for name, right in (("one", 2), ("two", 5))
    )
    told = wardround("compare", one, two, "--csv", tmp_path / "c.csv").stdout
    rows = csv.DictReader((tmp_path / "c.csv").read_text("utf-8").splitlines())
    assert {row["interval"] for row in rows} == {"matched", "bca", ""}
    said = "Intervals: BCa bootstrap over cases; Agresti and Min (each case is right or wrong); none where all"
    assert said in " ".join(told.split())


def test_in_what_the_runs_were_set_otherwise_is_said(tmp_path: Path) -> None:
    one, two = (
        write_run(tmp_path / name, [graded("a")], models={"patient": patient}, graph="consultation", suite="mvme")
        for name, patient in (("one", "offline"), ("two", "openai:p@http://localhost:1/v1"))
    )
    told = " ".join(wardround("compare", one, two, one).stdout.split())
    assert "two differs from one in models.patient: offline to openai:p@http://localhost:1/v1." in told
    assert "one has the same settings as one." in told


def test_a_models_block_that_one_run_lacks_is_told_by_the_role_that_has_the_model(tmp_path: Path) -> None:
    block = {"spec": "openai:m@http://localhost:1/v1", "api_key_env": ""}
    runs = [
        write_run(
            tmp_path / name,
            [graded("a")],
            models=models,
            model=dict.fromkeys(models.values(), block),
            graph="consultation",
            suite="mvme",
        )
        for name, models in (("one", {"patient": "small"}), ("two", {"patient": "large", "doctor": "small"}))
    ]
    told = " ".join(wardround("compare", *runs).stdout.split())
    assert "two differs from one in models.doctor: (not set) to small; models.patient: small to large." in told


def test_limited_and_failed_cases_of_each_run_are_counted(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a"), graded("b", termination="case_tokens_limit")])
    two = write_run(tmp_path / "two", [graded("a"), CaseResult(case_id="b", epoch=0, termination="model_error")])
    told = wardround("compare", one, two)
    assert "one: 2 attempted, 2 scored (1 stopped at a limit), 0 failed" in told.stdout
    assert "two: 2 attempted, 1 scored (0 stopped at a limit), 1 failed" in told.stdout


def test_a_file_beside_runs_as_a_glob_gives_it_is_told_what_names_them_all(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a")])
    (tmp_path / "sweep.json").write_text("{}", "utf-8")
    told = wardround("compare", one, tmp_path / "sweep.json")
    assert told.exit_code == 2 and f"{tmp_path} stands for all runs in it" in told.stderr


def test_runs_of_different_suites_or_without_results_are_refused(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a")])
    two = write_run(tmp_path / "two", [graded("a")], graph="consultation", suite="medpmc")
    assert "only runs scored by the same suite" in wardround("compare", one, two).stderr
    empty = write_run(tmp_path / "empty", [])
    told = wardround("compare", one, empty)
    assert told.exit_code == 2 and "has no results yet" in told.stderr


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded("a")])
    (people := tmp_path / "people.csv").write_text("case,average\na,1\n", "utf-8")
    (dialogues := tmp_path / "dialogs.jsonl").write_text("", "utf-8")
    (link := tmp_path / "link.csv").symlink_to(people)
    for file, refused in (
        (people, wardround("judges", run, "--human", people, "--json", people)),
        (link, wardround("score", "medpmc", run, "--human", people, "--json", link)),
        (dialogues, wardround("export", "sft", dialogues, "-o", dialogues)),
        (dialogues, wardround("score", "clini-eval", dialogues, "--details", dialogues)),
    ):
        assert refused.exit_code == 2 and f"{file}: is an input file and would be overwritten" in refused.stderr
    assert people.read_text("utf-8") == "case,average\na,1\n"


def test_an_output_that_is_a_file_of_a_run_a_folder_or_another_output_is_refused(tmp_path: Path) -> None:
    one, two = (write_run(tmp_path / name, [graded("a")], {("a", 0): [call()]}) for name in ("one", "two"))
    kept = {file: file.read_bytes() for file in (*one.rglob("*"), *two.rglob("*")) if file.is_file()}
    for file in kept:
        for refused in (
            wardround("report", one, "-o", file),
            wardround("compare", one, two, "--latex", file),
            wardround("export", "preference", one, "-o", file),
            wardround("floors", one, "--json", file),
            wardround("score", "clini-eval", one, "--details", file),
            wardround("score", "replies", one, "--sheet", file),
            wardround("score", "simulator", one, "--replies", file),
        ):
            assert refused.exit_code == 2 and f"{file}: is a file of a run and would be overwritten" in refused.stderr
    assert {file: file.read_bytes() for file in kept} == kept
    assert wardround("report", one, "-o", one / "report.html").exit_code == 0
    told = wardround("compare", one, two, "--csv", tmp_path / "c", "--latex", tmp_path / "c")
    assert told.exit_code == 2 and "is the file of --csv, too" in told.stderr and not (tmp_path / "c").exists()
    told = wardround("compare", one, two, "--csv", tmp_path)
    assert told.exit_code == 2 and told.stderr == f"error: {tmp_path}: is a directory\n"
