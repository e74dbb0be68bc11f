"""The examples, run as their first lines say, in a folder of somebody else's."""

import json
import re
import runpy
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llm.trace import trace_lines
from tests.support.processes import Forked
from wardround.cli import main
from wardround.store.traces import traces_in

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SHORT = "--set retrieval=false --set general_agents=1 --set discussion_rounds=1 --set feedback=off --set max_turns=3"


def run(line: str, folder: Path, expected: int = 0) -> "subprocess.CompletedProcess[str]":
    """A command line of an example's docstring, or one like it, in a folder where `examples` lies."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    name, *arguments = shlex.split(line)
    program = main if name == "wardround" else partial(runpy.run_path, arguments.pop(0), run_name="__main__")
    with Forked(arguments, folder=folder, program=program) as process:
        ended = process.ended()
    assert ended.returncode == expected, ended.stderr
    return ended


def read(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))


def calls(run: Path) -> list[dict[str, Any]]:
    lines = [line for file in traces_in(run / "traces") for line in trace_lines(file)]
    return [entry for entry in map(json.loads, lines) if "event" not in entry]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_short_and_says_how_it_is_run(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert len(lines) < 60
    assert re.match(r"    (wardround|python) .*examples/own_\w+", lines[2])


def test_an_own_metric_is_a_column_and_the_published_average_does_not_move(tmp_path: Path) -> None:
    run(f"wardround run --limit 2 {SHORT} --out ours", tmp_path)
    told = run(f"wardround run --plugin examples/own_metric.py --limit 2 {SHORT} --out own", tmp_path).stdout
    ours, own = (read(tmp_path / name / "summary.json")["scores"] for name in ("ours", "own"))
    assert own.pop("urgency")["n"] == 2 and own == ours
    assert "Urgency" in told
    assert read(tmp_path / "own/manifest.json")["plugins"]["own_metric"]["adds"] == ["metric urgency"]


def test_an_own_judge_is_asked_and_recorded_with_the_others(tmp_path: Path) -> None:
    line = f"wardround run --plugin examples/own_judge.py --limit 2 {SHORT} --out own"
    assert "Reasoned" in run(f"{line} --models treatment_judge=offline", tmp_path).stdout
    asked = [call for call in calls(tmp_path / "own") if call["role"] == "treatment_judge"]
    assert len(asked) == 2 and {call["prompt"].partition("/")[2] for call in asked} == {"examples/treatment"}


def test_an_own_patient_answers_in_its_own_words_and_may_have_a_model_of_its_own(tmp_path: Path) -> None:
    line = f"wardround run --plugin examples/own_patient.py --set patient=terse --limit 2 {SHORT} --out own"
    run(f"{line} --models terse_patient=offline", tmp_path)
    said = [call for call in calls(tmp_path / "own") if call["role"] == "terse_patient"]
    assert said and {call["prompt"].partition("/")[2] for call in said} == {"examples/terse"}
    refused = run(line.replace("patient=terse", "patient=tersely"), tmp_path, expected=2).stderr
    assert "workflow.patient: unknown patient 'tersely': did you mean 'terse'?" in refused


def test_an_own_strategy_decides_every_stage_with_two_seats(tmp_path: Path) -> None:
    line = "wardround run --plugin examples/own_strategy.py --set strategy=second_opinion --limit 2"
    run(f"{line} {SHORT} --models colleague2=offline --out own", tmp_path)
    asked = {(call["stage"], call["id"][-1]) for call in calls(tmp_path / "own") if call["role"] == "colleague"}
    assert asked >= {(stage, seat) for stage in ("referral.level1", "diagnosis", "treatment") for seat in "12"}
    scores = read(tmp_path / "own/summary.json")["scores"]
    assert scores["diagnosis"]["n"] == scores["treatment"]["n"] == 2


def test_an_own_importer_writes_cases_that_run(tmp_path: Path) -> None:
    line = "wardround cases import ward_notes examples/ward_notes.tsv -o cases.jsonl --plugin examples/own_importer.py"
    assert "3 cases written" in run(line, tmp_path).stdout
    run(f"wardround run --cases cases.jsonl {SHORT} --out own", tmp_path)
    assert read(tmp_path / "own/summary.json")["scored"] == 3


def test_a_faulty_record_is_told_by_its_place_and_field_and_nothing_is_written(tmp_path: Path) -> None:
    table = (ROOT / "examples/ward_notes.tsv").read_text("utf-8")
    (tmp_path / "odd.tsv").write_text(table.replace("Surgery", "Chest Pain Unit"), "utf-8")
    line = "wardround cases import ward_notes odd.tsv -o cases.jsonl --plugin examples/own_importer.py"
    told = run(line, tmp_path, expected=2).stderr
    assert "odd.tsv, case 2, key.department: " in told and "'Chest Pain Unit'" in told
    assert not (tmp_path / "cases.jsonl").exists()


def test_an_own_model_object_answers_and_is_named_in_the_record(tmp_path: Path) -> None:
    told = run("python examples/own_model.py", tmp_path).stdout
    assert "doctor: Since when?" in told and "answered by object:QuestionList(" in told


def test_own_prompts_lie_over_ours_and_the_manifest_says_which(tmp_path: Path) -> None:
    told = run("python examples/own_prompts.py", tmp_path).stdout
    changed = [f"changed: {language}/medchain/stages/diagnosis.md" for language in ("en", "zh")]
    assert told.splitlines()[:2] == changed and len(re.findall("changed", told)) == 2
    run(f"wardround run --prompts examples/own_prompts --limit 1 {SHORT} --out own", tmp_path)
    prompts = [message["content"] for call in calls(tmp_path / "own") for message in call["messages"]]
    assert any("最危险" in prompt or "most dangerous disease" in prompt for prompt in prompts)


def test_prompts_under_a_name_that_nobody_reads_are_refused_with_the_nearest_right_one(tmp_path: Path) -> None:
    (tmp_path / "mine/en/medchain").mkdir(parents=True)
    (tmp_path / "mine/en/medchain/genral.md").write_text("# system\n# user\n", "utf-8")
    told = run("wardround run --prompts mine --out own", tmp_path, expected=2).stderr
    assert "mine: en/medchain/genral.md matches no prompt: did you mean 'medchain/general.md'?" in told
    assert told.count("\n") == 1 and not (tmp_path / "own").exists()


def test_each_link_of_the_clinichat_chain_is_a_command_with_the_options_that_it_has(tmp_path: Path) -> None:
    from typer.main import get_command

    from wardround.cli import app
    from wardround.config.experiment_file import read_sweep

    text = (ROOT / "examples" / "clinichat_chain.sh").read_text("utf-8")
    named = {"notes": "builtin", "base": str(tmp_path), "cases": "builtin", "out": str(tmp_path), "spec": "offline"}
    text = re.sub(r"\$\(realpath [^)]*\)", str(tmp_path), re.sub(r"\$\{\w+:-\}", "", text))
    text = re.sub(r"\$(\w+)", lambda found: named[found[1]], re.sub(r" \|\| .*", "", text.partition("mkdir")[2]))
    links = [shlex.split(line) for line in text.splitlines() if line.startswith("wardround ")]
    assert [words[1] for words in links] == ["reconstruct", "tune", "run", "compare"]
    commands: Any = get_command(app)
    for _, name, *arguments in links:
        command = commands.get_command(None, name)
        assert command.make_context(name, arguments).params
    (tmp_path / "tuned").mkdir()
    table = tmp_path / "interviews.toml"
    table.write_text(re.search(r"<<END\n(.*?)^END$", text, re.S | re.M)[1], "utf-8")  # type: ignore[index]
    assert set(read_sweep(table, {}, {}).runs) == {"base", "tuned"}
