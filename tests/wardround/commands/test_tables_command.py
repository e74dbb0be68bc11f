"""``wardround tables``, and the tables at the end of a sweep."""

from pathlib import Path

import pytest

from tests.support.commands import wardround
from tests.support.recorded_runs import call, discussed, graded, write_run
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import read_sweep


@pytest.mark.slow
def test_without_a_name_all_tables_that_fit_are_printed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [], {("a", 0): [call()]}, graph="clinical_workflow")
    told = wardround("tables", run)
    assert told.exit_code == 0 and "Scores (medchain)" in told.stdout and "Roles" in told.stdout
    assert "Consensus" not in told.stdout and "ICD-10" not in told.stdout


@pytest.mark.parametrize(
    ("name", "reason"), [("score", "--table score: did you mean 'scores'?"), ("consensus", "no case had a discussion")]
)
def test_a_table_that_is_unknown_or_does_not_fit_ends_with_2(tmp_path: Path, name: str, reason: str) -> None:
    told = wardround("tables", write_run(tmp_path / "run", [graded("a")]), "--table", name)
    assert told.exit_code == 2 and reason in told.stderr


@pytest.mark.slow
def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [discussed("a", 1)], data={"limit": 3})
    assert "run is not finished: 1 of 3 cases so far." in wardround("tables", run, "--table", "scores").stdout


def test_no_table_of_a_damaged_run_is_left_out_in_silence(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [discussed("a", 1)])
    (run / "results.jsonl").write_text('{"case_id": "a"}\n', "utf-8")
    told = wardround("tables", run)
    assert told.exit_code == 2 and f"run `wardround doctor {run}` to repair it" in told.stderr


def test_a_file_that_names_an_unknown_table_is_refused_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('tables = ["scores", "nonsense"]\n', "utf-8")
    with pytest.raises(ConfigurationError, match="tables: unknown table nonsense; expected some of scores"):
        read_sweep(file, {})


@pytest.mark.slow
def test_a_sweep_ends_with_its_tables_the_first_run_as_the_baseline(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        'graph = "dispute_resolution"\ntables = ["scores", "consensus", "error_propagation"]\n'
        "[data]\nlimit = 1\n[workflow]\nretrieval = false\nmax_turns = 2\n"
        "[variants.two]\nworkflow.interns = 2\n[variants.alone]\nworkflow.interns = 1\n",
        "utf-8",
    )
    told = wardround("run", file, "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    assert "Scores (mvme)" in told.stdout and "Consensus by round" in told.stdout
    assert "Table error_propagation left out: no run was scored stage by stage" in told.stdout
    written = (tmp_path / "out" / "tables" / "scores.csv").read_text("utf-8").splitlines()
    named = [line.split(",")[0] for line in written]
    assert named[:3] == ["run", "two", "alone"] and all(name.startswith("[") for name in named[3:]), "then the floors"
    again = wardround("tables", tmp_path / "out", "--table", "scores", "-o", tmp_path / "again")
    assert again.exit_code == 0 and (tmp_path / "again" / "scores.csv").read_text("utf-8").splitlines() == written
