"""``wardround cases draft-tests``, ``confirm`` and ``score simulator``: a test set drafted, corrected and played."""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cases import Case, save_cases
from cases.text.record_sentences import record_sentences
from scoring.aie.drafting import DraftedRound
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.cli import app

CASE = Case.model_validate(
    {
        "id": "stone",
        "patient": {"chief_complaint": "Flank pain for a day.", "present_illness": "It comes in waves. No fever."},
        "examinations": {"auxiliary": {"CT": "A stone of 5 mm in the left ureter."}},
        "provenance": {"source": "a test"},
    }
)
FACTS = [fact.text for fact in record_sentences(CASE.patient, CASE.examinations, "en")]
RESULT = FACTS.index("A stone of 5 mm in the left ureter.") + 1


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    save_cases([CASE], tmp_path / "cases.jsonl")
    return tmp_path / "cases.jsonl"


def drafted(request: ChatRequest) -> Mapping[str, Any] | None:
    """A round of tests; the first answer orders a result that is none, and is sent back."""
    if request.name != "DraftedRound":
        return None
    number = max(map(int, re.findall(r"Tell me of (\d+)", request.text)), default=-1) + 1
    tests = {
        kind: {"doctor": f"Tell me of {number}, {kind}.", "patient": f"Answer {number}, {kind}.", "facts": []}
        for kind in DraftedRound.model_fields
    }
    tests["effective_inquiry"]["facts"] = [1]
    tests["effective_advice"]["facts"] = [RESULT] if "must be results" in request.text else [1]
    return tests


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:  # with the mark that Excel needs
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_set_is_drafted_by_a_model_corrected_by_a_person_and_played(cases: Path, tmp_path: Path) -> None:
    out, checklist, checked = (tmp_path / name for name in ("tests.json", "tests.json.checklist.csv", "checked.json"))
    with FakeServer(answer=drafted) as server:
        spec = f"openai:fake-model@{server.base_url}"
        done = run("cases", "draft-tests", cases, "-o", out, "--writer", spec, "--rounds", 3)
        assert done.exit_code == 0, done.output
        asked = server.requests
    assert "24 tests of 1 case drafted" in done.stdout
    assert len(asked) == 6  # an order whose facts are no result is sent back, in each round
    (record,) = json.loads(out.read_text("utf-8"))
    assert [len(record["patient_test"][turn]) for turn in "012"] == [8, 8, 8]
    assert record["patient_test"]["1"]["B-A-A"].keys() == {"question", "answer"}  # nobody has said anything of it
    assert [one["doctor"].split(", ")[1] for one in record["history"]] == ["effective_inquiry.", "effective_inquiry."]
    assert record["history"][0]["patient"] in asked[2].text

    lines = rows(checklist)
    assert len(lines) == 24
    assert {line["facts"] for line in lines if line["action"] == "Effective Advice"} == {FACTS[RESULT - 1]}
    keep = ["no" if line["action"] == "Demand" else "" if line["round"] == "2" else "yes" for line in lines]
    mended = [{**line, "keep": decision} for line, decision in zip(lines, keep, strict=True)]
    mended[0]["doctor"] = "Where does it hurt?"
    with checklist.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(mended)
    done = run("cases", "confirm", out, checklist, "-o", checked)
    assert done.exit_code == 0 and "14 kept, 1 of them edited or added; 3 removed, 7 open" in done.stdout
    (record,) = json.loads(checked.read_text("utf-8"))
    first = record["patient_test"]["0"]["A-A-A"]
    assert first["question"] == "Where does it hurt?" and first["human_state"] == "A-A-A" and "answer" not in first
    assert "C" not in record["patient_test"]["0"]

    played = run("score", "simulator", checked, "--cases", cases)
    assert played.exit_code == 0, played.output
    assert "7 questions are a model's drafts that no person has checked" in played.stdout
    assert "TRACKING" in played.stdout


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("nobody,0,Demand,Lie down.,Sorry.,yes", "has no case 'nobody'"),
        ("stone,0,Jest,Lie down.,Sorry.,yes", "line 2, action"),
        ("stone,first,Demand,Lie down.,Sorry.,yes", "line 2, round"),
        ("stone,0,Demand,,Sorry.,yes", "line 2, doctor"),
        ("stone,0,Demand,Lie down.,Sorry.,yes\nstone,0,Demand,Sit.,Sorry.,", "line 3, action"),
    ],
)
def test_a_line_that_fits_nothing_is_named_and_nothing_is_written(line: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "tests.json").write_text(json.dumps([{"id": "stone", "patient_test": {}}]), "utf-8")
    (tmp_path / "list.csv").write_text(f"case,round,action,doctor,answer,keep\n{line}\n", "utf-8")
    done = run("cases", "confirm", tmp_path / "tests.json", tmp_path / "list.csv", "-o", tmp_path / "checked.json")
    assert done.exit_code == 2 and named in done.output, done.output
    assert not (tmp_path / "checked.json").exists()


def test_bad_options_are_refused_and_an_unfinished_case_is_named(cases: Path, tmp_path: Path) -> None:
    out = tmp_path / "tests.json"
    for arguments, reason in (
        (("--writer", "offline"), "expected a model"),
        (("--writer", "openay:x"), "openay"),
        (("--writer", "openai:x", "-o", cases / "tests.json"), "file exists where a folder is needed"),
        (("--writer", "openai:x", "--case-id", "stone", "--case-id", "nobody"), "no case nobody"),
    ):
        refused = run("cases", "draft-tests", cases, "-o", out, *arguments)
        assert refused.exit_code == 2 and reason in refused.output and not out.exists()
    with FakeServer(answer=lambda request: {"nonsense": 1}) as server:
        spec = f"openai:fake-model@{server.base_url}"
        done = run("cases", "draft-tests", cases, "-o", out, "--writer", spec, "--set", "repairs=0")
        assert len(server.requests) == 1  # as --set says
    assert done.exit_code == 1 and "stone: not drafted (unparseable_answer" in done.output and not out.exists()
