"""``wardround run``: exit codes, what is printed where, and what a second run of the same command does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from scoring.suite import SUITES
from tests.support.fake_server import FakeServer
from tests.support.runs import CASES, IDS, SHORT, results, spec
from wardround.cli import app
from wardround.store import run_directory

TITLES = SUITES["medchain"].titles
HEAVY = ("chromadb", "langchain_core", "langgraph", "numpy", "openai", "sentence_transformers", "torch")


def wardround(*arguments: object, ids: list[str] | None = None) -> Result:
    """`wardround run` with the settings of a short run."""
    settings = [f"--set={key}={str(value).lower()}" for key, value in SHORT.items()]
    wanted = [f"--case-id={case_id}" for case_id in ids or []]
    return CliRunner().invoke(app, ["run", *settings, *wanted, *map(str, arguments)])


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["", "run", "memory", "memory query", "cases import"])
def test_help_imports_nothing_heavy(command: str) -> None:
    arguments = [*command.split(), "--help"]
    program = (
        "import sys; from wardround.cli import main\n"
        f"sys.argv = ['wardround', *{arguments!r}]\n"
        "try: main()\n"
        f"except SystemExit as end: print('loaded', end.code, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.endswith("loaded 0 []\n") and "Usage:" in told


def test_the_help_says_that_it_is_research_software_and_names_the_commands() -> None:
    told = CliRunner().invoke(app, ["--help"]).stdout
    assert "not for care" in told.replace("\n  ", " ")
    assert all(f"  {command} " in told for command in ("run", "cases", "memory", "graph", "dev"))


@pytest.mark.parametrize(
    "option",
    [
        "--set=memory=~no-such-user/x",
        "--set=embedding=~no-such-user/x",
        "--plugin=~no-such-user/x.py",
        "--prompts=~no-such-user/x",
    ],
)
def test_the_home_of_somebody_who_is_not_here_is_a_folder_that_is_not_there(option: str) -> None:
    told = CliRunner().invoke(app, ["run", "--dry-run", "--limit=1", option])
    assert told.exit_code == 2 and "~no-such-user/x" in told.stderr, told.output


@pytest.mark.slow
def test_a_run_prints_the_stage_scores_and_the_run_directory_and_ends_with_0(tmp_path: Path) -> None:
    told = wardround("--limit", 3, "-o", tmp_path / "out")
    assert told.exit_code == 0
    rows = [line.split("│")[1].strip() for line in told.stdout.splitlines() if line.startswith("│")]
    assert rows == list(TITLES.values())
    assert "3 cases attempted: 3 scored, 0 failed." in told.stdout
    assert lines(told.stdout)[-1] == f"Run directory: {tmp_path / 'out'}"
    assert len(results(tmp_path / "out")) == 3


@pytest.mark.slow
def test_without_a_place_a_run_goes_to_one_named_after_the_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = wardround(ids=IDS[:1])
    (place,) = (tmp_path / "runs").iterdir()
    assert place.name.startswith("clinical-workflow-") and f"Run directory: runs/{place.name}" in told.stdout
    assert wardround(ids=IDS[:1]).exit_code == 0 and list((tmp_path / "runs").iterdir()) == [place]


@pytest.mark.slow
def test_running_again_goes_on_and_runs_nothing_again(tmp_path: Path) -> None:
    first = wardround("--out", tmp_path, ids=IDS[:2])
    before = (tmp_path / "results.jsonl").read_bytes()
    again = wardround("--out", tmp_path, "--concurrency", 1, ids=IDS[:2])
    assert again.exit_code == 0 and again.stdout == first.stdout and again.stderr == ""
    assert (tmp_path / "results.jsonl").read_bytes() == before


@pytest.mark.slow
def test_away_from_a_terminal_there_is_a_plain_line_a_case_on_the_error_stream(tmp_path: Path) -> None:
    told = wardround("--out", tmp_path, "--concurrency", 1, ids=IDS[:2])
    assert lines(told.stderr) == [f"{n}/2 {case_id} epoch 0: completed" for n, case_id in enumerate(IDS[:2], start=1)]
    assert "\x1b" not in told.stdout + told.stderr


def test_roles_that_ran_offline_are_named_and_one_with_a_model_is_not(tmp_path: Path) -> None:
    with FakeServer() as server:
        told = wardround("--models", f"diagnosis_judge={spec(server)}", "--out", tmp_path, ids=IDS[:1])
    assert told.exit_code == 0
    named = told.stdout.split("Answered by offline rules, not by a model:")[1].split(".")[0]
    roles = {role.strip() for role in named.replace("\n", " ").split(",")}
    assert roles >= {"doctor", "general", "feedback", "patient"} and "diagnosis_judge" not in roles


@pytest.mark.slow
def test_a_run_with_failed_cases_ends_with_1_and_says_why(tmp_path: Path) -> None:
    complaint = CASES[0].patient.chief_complaint
    with FakeServer(faults=lambda request: "schema_violation" if complaint in request.text else None) as server:
        command = ["--models", f"default={spec(server)}", "--out", str(tmp_path)]
        for _ in range(2):  # the second time, nothing is left to run, and the run still has a failed case
            told = wardround(*command, ids=IDS[:2])
            assert told.exit_code == 1
            assert "2 cases attempted: 1 scored, 1 failed." in told.stdout
            assert "1 failed: unparseable_answer" in told.stdout and "Run directory: " in told.stdout


def test_a_run_whose_judge_fails_ends_with_1_as_scoring_it_does_and_says_so(tmp_path: Path) -> None:
    with FakeServer(faults=lambda request: "schema_violation") as server:
        told = wardround("--models", f"diagnosis_judge={spec(server)}", "--out", tmp_path, ids=IDS[:1])
    assert told.exit_code == 1 and "1 case attempted: 1 scored, 0 failed." in told.stdout
    assert lines(told.stdout)[-1] == "1 score missing because a judge failed; --retry-failed asks it again"
    assert wardround("--out", tmp_path / "without", ids=IDS[:1]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--models", "opnai:gpt"], "unknown provider 'opnai'; did you mean 'openai'?"),
        (["--models", "patiant=offline"], "unknown role 'patiant'; did you mean 'patient'"),
        (["--models", "patient=gpt-4"], "'gpt-4' is not a model"),
        (["--models", "patient="], "expected ROLE=SPEC"),
        (["--models", "patient=openai:a@localhost:1/v1"], "must start with http:// or https://"),
        (["--models", "patient=human"], "cannot wait for a person"),
        (["--set", "feedback"], "expected KEY=VALUE"),
        (["--set", "feedback=upstream"], "command line: workflow.feedback: Input should be"),
        (["--set", "feed_back=off"], "workflow.feed_back: not a setting of the graph"),
        (["--set", "run.concurrency=0"], "run.concurrency: Input should be greater"),
        (["--case-id", "nobody"], "data.case_ids: no case nobody in builtin"),
        (["--cases", "absent.jsonl"], "absent.jsonl"),
        (["--set", "data.split=dev"], "data.split"),
        (["--set", "retrieval=true", "--set", "memory=absent"], "does not exist; build it first"),
        (["--epochs", "0"], "--epochs"),
        (["absent.toml"], "absent.toml: file not found"),
    ],
)
def test_bad_input_ends_with_2_says_what_is_wrong_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = wardround(*arguments, "--out", "out")
    assert told.exit_code == 2 and said in told.stderr and told.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_run_whose_last_case_its_limit_stopped_is_not_done(tmp_path: Path) -> None:
    with FakeServer() as server:
        asked = ["--models", f"default={spec(server)}", "--out", tmp_path, "--set=limits.run.calls=2"]
        told = wardround(*asked, ids=IDS[:1])
    assert told.exit_code == 1, told.output
    assert "0 cases not attempted, 1 stopped: the run reached its limits; raise them" in told.stdout


def test_a_model_that_the_server_does_not_have_ends_with_2_before_the_first_question(tmp_path: Path) -> None:
    with FakeServer(models=["llama"]) as server:
        told = wardround("--models", f"default={spec(server, 'lama')}", "--out", tmp_path / "out")
    assert told.exit_code == 2 and "serves no model 'lama'; it serves llama" in told.stderr
    assert server.requests == [] and not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_ends_with_2_and_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file", "utf-8")
    told = wardround("--out", tmp_path / "out", ids=IDS[:1])
    assert told.exit_code == 2 and len(lines(told.stderr)) == 1
    assert told.stderr.startswith(f"error: {tmp_path / 'out'}/traces: cannot be written: a part of this path is a file")


def test_a_changed_setting_in_the_same_place_ends_with_2_and_names_it(tmp_path: Path) -> None:
    assert wardround("--out", tmp_path, ids=IDS[:1]).exit_code == 0
    told = wardround("--out", tmp_path, "--set", "max_turns=3", ids=IDS[:1])
    assert told.exit_code == 2 and "configuration.workflow.max_turns: was 2, is 3" in told.stderr


def test_a_full_disk_ends_with_1_and_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_directory, "append_sealed", full)
    told = wardround("--out", tmp_path, ids=IDS[:1])
    assert told.exit_code == 1 and told.stdout == "" and "Traceback" not in told.stderr
    assert "No space left on device; fix this, then run the same command again" in told.stderr


@pytest.mark.slow
def test_a_file_is_run_and_options_that_are_not_given_leave_it_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(f'epochs = 2\n[data]\ncase_ids = ["{IDS[1]}"]\n[run]\nconcurrency = 1\n', "utf-8")
    assert wardround(file, "--out", tmp_path / "out").exit_code == 0
    assert [(result.case_id, result.epoch) for result in results(tmp_path / "out")] == [(IDS[1], 0), (IDS[1], 1)]
    assert wardround(file, "--out", tmp_path / "other", "--epochs", 1, "--case-id", IDS[0]).exit_code == 0
    assert [(result.case_id, result.epoch) for result in results(tmp_path / "other")] == [(IDS[0], 0)]


@pytest.mark.slow
def test_a_key_in_the_environment_is_in_no_file_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", "secret-of-this-test")
    with FakeServer(faults=["500"]) as server:
        told = wardround("--models", spec(server), "--out", tmp_path, ids=IDS[:1])
    assert told.exit_code == 0 and "secret-of-this-test" not in told.stdout + told.stderr
    assert all(b"secret-of-this-test" not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_the_summary_on_disk_is_what_was_printed(tmp_path: Path) -> None:
    told = wardround("--out", tmp_path, ids=IDS[:2])
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    for name, title in TITLES.items():
        (row,) = [line for line in told.stdout.splitlines() if line.startswith(f"│ {title} ")]
        assert f"{summary['scores'][name]['mean']:.4f}" in row
