"""``wardround score medchain RUN``: the precision of what reports claim stands below the scores, in sound mode."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cases import load_cases
from scoring.medchain.answers import Answers
from tests.support.recorded_runs import write_run
from wardround.cli import app
from wardround.store.result import Result


@pytest.mark.slow
def test_a_report_that_adds_what_the_reference_lacks_loses_precision_and_no_recall(tmp_path: Path) -> None:
    case = next(case for case in load_cases(split="test") if case.key.imaging_reports and case.language == "en")
    padded = {item: f"{text} A fractured violin." for item, text in case.key.imaging_reports.items()}
    shown = []
    for name, reports in (("own", case.key.imaging_reports), ("padded", padded)):
        answers = Answers.model_validate({"reports": reports})
        found = Result(case_id=case.id, epoch=0, termination="completed", answers=answers)
        run = write_run(tmp_path / name, [found], graph="clinical_workflow", data={"case_ids": [case.id]})
        table = CliRunner().invoke(app, ["score", "medchain", str(run)]).output.partition("Claims of reports")[2]
        row = next(line for line in table.splitlines() if line.startswith("│"))
        shown.append([cell.strip() for cell in row.strip("│").split("│")])
    assert [float(cell) for cell in shown[0]] == [1.0, 1.0, 1]
    assert float(shown[1][0]) == 1.0 and float(shown[1][1]) < 1.0
    assert "Claims" not in CliRunner().invoke(app, ["score", "medchain", str(run), "--mode", "paper"]).output
