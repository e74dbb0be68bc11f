"""Every command on every page is one that the command line understands, and is run unless a reason says why not."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cases import load_cases, save_cases
from tests.support.processes import to_its_end
from tests.support.recorded_runs import ENGLISH, graded, write_run
from tests.test_architecture import ROOT
from wardround.cli import app
from wardround.config.command_line import parse_models, parse_settings
from wardround.config.experiment_file import read_sweep
from wardround.library import find_file

DOCS = ROOT / "docs"
OTHER_PLACES = {DOCS / "index.md", *(DOCS / "readers").glob("*.md")}  # run one after the other: test_site.py

# Why a command is not run here, by what stands in it; the first that fits.
NOT_RUN = {
    r"examples/own_\S+ .*--limit 2$": "run as the example itself says: tests/examples",
    r"openai:|SPEC|hf:": "asks a model, with a key or a server, or weights",
    r"https?://|postgresql:|192\.0\.2\.|--engine ray": "needs a server or further machines",
    r"^(rate|view|cases rate|consult .*--web)\b": "waits for a person in a browser: tests of these pages",
    r"\b(RUN|SRC)\b": "a name to be replaced",
    r"--marks|confirm": "reads back what people have filled in",
    r"cases import (medchain|agentclinic|ai_hospital|aie|medpmc)\b": "reads files that others hand out: tests/cases",
    r"^score (aie|aie-simulator|aie-pairwise|medpmc|mvme|icd10)\b": "reads files of others: tests of the scores",
    r"^score simulator\b": "as long as all others together: test_score_simulator_judged.py",
    r"^export preference": "reads two strategies on the same notes: test_training_sets.py",
    r"--strategy (direct|interactive)|--role": "as the command before it, by other roles: test_reconstruct_command.py",
    r"^tune\b": "trains: tests/wardround/tuning",
    r"language=de": "needs prompts in that language",
}
CHEAPER = ["--limit", "1", "--set", "retrieval=false"]  # added to each run: one case, without a memory


def commands_of(page: Path) -> Iterator[str]:
    """The commands of ours in a page's blocks, without their comments."""
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        if kind in ("", "bash", "sh", "console"):
            lines = block.replace("\\\n", " ").splitlines()
            yield from (
                " ".join(words[1:]) for line in lines if (words := line.split("#")[0].split())[:1] == ["wardround"]
            )


def commands_in_tables(page: Path) -> Iterator[str]:
    """The commands of ours in the rows of a page's tables; options alone are those of a run."""
    rows = re.findall(r"^\|.*\|$", page.read_text("utf-8"), re.MULTILINE)
    for quoted in re.findall(r"`([^`]+)`", "\n".join(rows)):
        if quoted.startswith(("wardround ", "--models ", "--set ", "--dry-run")):
            yield re.sub(r"^(wardround |(?=--))", lambda found: "" if found[1] else "run ", quoted)


PAGES = {page: list(commands_of(page)) for page in sorted([ROOT / "README.md", *DOCS.rglob("*.md")])}
BY_TASK = {page: list(commands_in_tables(page)) for page in (ROOT / "README.md", DOCS / "commands.md")}
EACH_PAGE = pytest.mark.parametrize("page", [page for page in PAGES if PAGES[page]], ids=lambda page: page.stem)


def reason_for(command: str) -> str | None:
    """Why a command is not run here."""
    return next((why for sign, why in NOT_RUN.items() if re.search(sign, command)), None)


@pytest.mark.slow
@EACH_PAGE
def test_every_command_of_a_page_names_commands_options_and_settings_that_there_are(page: Path) -> None:
    for told in PAGES[page]:
        parsed(told)


def parsed(told: str) -> Any:
    """The context of the last command in what is told, with its options; an unknown one is an error."""
    words = shlex.split(re.sub(r"\d?>.*|--(?:plugin|prompts) \S+|--no-egress", "", told))  # these act at once
    command: Any = get_command(app)
    context: Any = command.make_context("wardround", words)
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    assert parse_settings(context.params.get("set_") or []) is not None, told
    return context


@pytest.mark.slow
@pytest.mark.parametrize("page", BY_TASK, ids=lambda page: page.stem)
def test_every_command_in_a_table_by_task_can_be_given_with_its_options_settings_and_models(page: Path) -> None:
    for told in BY_TASK[page]:
        context = parsed(told)
        experiment = context.params.get("experiment")
        if context.info_name == "run" and experiment != Path("study.toml"):
            settings, models = (context.params[name] or [] for name in ("set_", "models"))
            assert read_sweep(find_file(experiment), parse_settings(settings), parse_models(models), []).runs, told


def test_every_command_that_there_is_stands_in_the_tables_by_task() -> None:
    told = {command.split()[0] for command in BY_TASK[DOCS / "commands.md"]}
    assert told == set(get_command(app).commands)  # type: ignore[attr-defined]


def test_every_reason_for_not_running_a_command_is_still_one() -> None:
    told = [command for commands in PAGES.values() for command in commands]
    assert {reason_for(command) for command in told} - {None} == set(NOT_RUN.values())


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A folder with what the pages suppose to be there."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "examples" / "own_prompts", tmp_path / "my_prompts")
    shutil.copy(ROOT / "examples" / "own_metric.py", tmp_path / "my_ward.py")
    few = [case.model_copy(update={"split": None}) for case in load_cases("builtin") if case.language == "en"][:10]
    for name in ("mine.jsonl", "my_cases.jsonl"):
        save_cases(few, tmp_path / name)
    note = "Complaint: cough for two days. History of present illness: dry cough, no fever. Assessment: bronchitis."
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text(note, "utf-8")
    (tmp_path / "notes.jsonl").write_text('{"id": "one", "text": "' + note + '"}\n', "utf-8")
    traces: dict[tuple[str, int], list[Any]] = {(one, 0): [] for one in ENGLISH}
    write_run(tmp_path / "runs" / "my-run", [graded(one) for one in ENGLISH], traces, data={"case_ids": [*ENGLISH]})
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in OTHER_PLACES and any(reason_for(told) is None for told in PAGES[page])],
    ids=lambda page: page.stem,
)
def test_the_commands_of_a_page_run_one_after_the_other(page: Path, ward: Path) -> None:
    for told in filter(lambda told: reason_for(told) is None, PAGES[page]):
        words = shlex.split(re.sub(r"\d?>.*", "", told))
        done = to_its_end([*words, *(CHEAPER if words[0] == "run" else ())], folder=ward)
        assert done.returncode == 0, f"{told}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
