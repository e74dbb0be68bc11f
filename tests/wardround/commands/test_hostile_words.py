"""Words of others, in cases, results and models' errors, are text wherever a command shows them."""

import io
import logging
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cases import load_cases
from scoring.suite import SUITES
from tests.support.hostile import EVERYTHING, HTML, TERMINAL, obeyed
from tests.support.recorded_runs import graded, write_run
from tests.support.runs import ended
from wardround.cli import app
from wardround.commands.summary_table import summary_table
from wardround.printing import Plain
from wardround.run.live_view import live_view

ROOT = Path(__file__).parents[3]
STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")  # what Rich itself draws a live line with


def shown(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    return done.output + done.stderr


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case whose every free text tries everything, and a faulty one."""
    case = load_cases()[0]
    patient = case.patient.model_copy(
        update=dict.fromkeys(("chief_complaint", "present_illness", "occupation"), EVERYTHING)
    )
    hostile = case.model_copy(
        update={
            "id": EVERYTHING[-300:],
            "patient": patient,
            "split": None,
            "provenance": case.provenance.model_copy(update={"source": EVERYTHING}),
            "examinations": case.examinations.model_copy(update={"images": []}),
        }
    )
    file = tmp_path_factory.mktemp("hostile") / "cases.jsonl"
    file.write_text(hostile.model_dump_json() + "\n", "utf-8")
    (file.parent / "faulty.jsonl").write_text('{"\\u001b[2J": "\\u001b]0;x\\u0007"}\n', "utf-8")
    return file


def test_a_case_that_is_shown_or_checked_is_text(file: Path) -> None:
    case_id = EVERYTHING[-300:]
    said = shown("cases", "show", case_id, "--cases", file, "--with-key")
    assert "cleared" in said and "[bold red]markup[/]" in said and obeyed(said) == []
    assert obeyed(shown("cases", "check", file)) == []
    assert obeyed(shown("cases", "check", file.parent / "faulty.jsonl")) == []
    assert obeyed(shown("cases", "show", "\x1b[2J", "--cases", file)) == []


@pytest.mark.slow
def test_a_run_and_what_is_made_of_it_is_text(file: Path, tmp_path: Path) -> None:
    said = shown("run", "--cases", file, "--out", tmp_path / "run", "--set", "retrieval=false")
    assert "completed" in said and obeyed(said) == []
    for more in (["tables", tmp_path / "run"], ["report", tmp_path / "run"], ["compare", tmp_path / "run"]):
        assert obeyed(shown(*more)) == []


@pytest.mark.parametrize("words", [*TERMINAL, HTML])
@pytest.mark.parametrize("terminal", [False, True])
def test_the_live_view_obeys_no_case_and_no_error(words: str, terminal: bool) -> None:
    out = io.StringIO()
    with live_view(Console(file=out, width=300, force_terminal=terminal), words):
        ended(words, 1, 1, termination="model_error", error=words, scored=False, scores_so_far={words: 1.0})
    drawn = STYLE.sub("", out.getvalue()).replace("\r", "")
    assert obeyed(drawn) == []
    assert "\x1b[2J" not in out.getvalue() and "\x1b]" not in out.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_an_id_that_holds_lines_prints_no_line_of_its_own(terminal: bool) -> None:
    out = io.StringIO()
    with live_view(Console(file=out, width=80, force_terminal=terminal)):
        ended(
            "x\n9 cases attempted: 9 scored, 0 failed.\r\ny",
            1,
            1,
            termination="model_error",
            error="a\nb",
            scored=False,
        )
        ended("a" * 200_000, 1, 1, termination="model_error", error="b", scored=False)  # which Rich looks through
    lines = STYLE.sub("", out.getvalue()).replace("\r", "").splitlines()
    assert [line for line in lines if "9 cases" in line and "x 9 cases attempted: 9 scored, 0 failed. y" in line]
    assert not [line for line in lines if line.startswith(("9 cases", "y"))]


@pytest.mark.slow
def test_what_could_not_be_scored_is_told_as_text(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded("a", unscored={"diagnosis": EVERYTHING})])
    assert obeyed(shown("tables", path)) == []
    out = io.StringIO()
    score = {"mean": None, "ci95": None, "n": 0}
    suite = SUITES["medchain"]
    summary = {
        "scores": dict.fromkeys(suite.titles, score), "attempted": 1, "scored": 0, "failed": 1, "limited": 0,
        "unscored": {"diagnosis": {EVERYTHING: 1}}, "terminations": {EVERYTHING: 1},
        "models": {EVERYTHING: ["offline"]}, "cost": None, "calls": 0, "tokens": 0,
    }  # fmt: skip
    Console(file=out, width=200).print(summary_table(summary, suite))
    assert "cleared" in out.getvalue() and obeyed(out.getvalue()) == []


def test_what_is_logged_is_text() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "%s begins anew", ("\x1b[2J",), None)
    assert Plain().format(record) == "[2J begins anew"


def test_commands_print_through_the_one_function_that_makes_text_of_it() -> None:
    """Else each new line would have to be thought of."""
    sources = {path: path.read_text("utf-8") for path in (ROOT / "wardround").rglob("*.py")}
    assert [path.name for path, source in sources.items() if re.search(r"\b(typer|click)\.(echo|secho)", source)] == [
        "printing.py"
    ]
