"""Plug-ins of strangers: found, loaded once, hashed; refused by name and reason before anything is run."""

import hashlib
import json
import linecache
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wardround as wr
from cases.importers import IMPORTERS
from prompts.folders import OURS
from scoring.suite import SUITES, Suite
from tests.support.metrics import suites_given_back
from tests.support.processes import to_its_end
from wardround import noted_plugins, plugins
from wardround.cli import app
from wardround.commands import dev
from wardround.plugins import PluginError, load_plugin, load_plugins, record_plugins
from wardround.run.checkpoints import serializer

IMPORTER = "from cases.importers import importer\n\n@importer('{name}')\ndef read(source):\n    return []\n"


@pytest.fixture(autouse=True)
def _forget_what_is_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(IMPORTERS, "_entries", dict(IMPORTERS))
    yield
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def command(*arguments: object, **more: str) -> "subprocess.CompletedProcess[str]":
    return to_its_end(arguments, {**os.environ, **more})


def test_what_a_plug_in_prints_when_it_is_loaded_is_not_in_what_a_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load_plugin(write(tmp_path / "chatty.py", f"print('hello')\n{IMPORTER.format(name='chatty')}"))
    assert capsys.readouterr() == ("", "hello\n")


def test_a_module_beside_a_plug_in_is_not_found_and_the_remedy_is_named(tmp_path: Path) -> None:
    write(tmp_path / "our_models.py", "SIZE = 1")
    file = write(tmp_path / "our_ward.py", f"import our_models\n{IMPORTER.format(name='ward')}")
    remedy = f"folder with an __init__.py, which imports it as .our_models, or set PYTHONPATH={tmp_path}"
    with pytest.raises(PluginError, match=f"No module named 'our_models' .*; it lies beside .*{re.escape(remedy)}"):
        load_plugin(file)


def test_a_file_is_loaded_by_its_path_or_by_its_name_and_only_once(tmp_path: Path) -> None:
    file = write(tmp_path / "our_ward.py", IMPORTER.format(name="ward"))
    found = load_plugin("our_ward")
    assert load_plugin(file) is load_plugin("./our_ward.py") is load_plugin("our_ward", tmp_path) is found
    assert found.adds == ("format ward",) and "ward" in IMPORTERS
    assert found.sha256 == hashlib.sha256(file.read_bytes()).hexdigest() and found.version is None


def test_a_folder_is_loaded_with_its_own_modules_and_hashed_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path / "our_clinic/__init__.py", "from our_clinic import inner\n")
    inner = write(tmp_path / "our_clinic/inner.py", IMPORTER.format(name="clinic"))
    first = load_plugin(tmp_path / "our_clinic").sha256
    write(inner, inner.read_text("utf-8") + "# more\n")
    assert plugins._sha256(sorted((tmp_path / "our_clinic").glob("*.py"))) != first


def test_what_a_plug_in_keeps_in_a_state_comes_back_from_a_checkpoint_as_what_it_was(tmp_path: Path) -> None:
    text = IMPORTER.format(name="kept") + "\n\nclass Urgency(__import__('pydantic').BaseModel):\n    level: int\n"
    plugin = load_plugin(write(tmp_path / "our_urgency.py", text))
    urgency = sys.modules[plugin.name].Urgency(level=3)
    assert serializer().loads_typed(serializer().dumps_typed({"urgency": urgency})) == {"urgency": urgency}


@pytest.mark.slow
def test_an_installed_module_is_loaded_by_its_name_and_the_manifest_tells_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write(site / "ward_package.py", IMPORTER.format(name="package"))
    write(site / "ward_package-2.5.dist-info/METADATA", "Metadata-Version: 2.1\nName: ward-package\nVersion: 2.5\n")
    write(site / "ward_package-2.5.dist-info/RECORD", "ward_package.py,,\n")
    monkeypatch.syspath_prepend(site)
    load_plugin("ward_package")
    assert record_plugins() == {
        "ward_package": {
            "sha256": hashlib.sha256((site / "ward_package.py").read_bytes()).hexdigest(),
            "version": "2.5",
            "adds": ["format package"],
        }
    }


@pytest.mark.slow
def test_what_an_installation_brings_along_is_loaded_without_being_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    write(site / "ward_brought.py", IMPORTER.format(name="brought"))
    information = "Metadata-Version: 2.1\nName: ward-brought\nVersion: 1.0\n"
    write(site / "ward_brought-1.0.dist-info/METADATA", information)
    entry = write(site / "ward_brought-1.0.dist-info/entry_points.txt", "[wardround.plugins]\nward = ward_brought\n")
    monkeypatch.syspath_prepend(site)
    told = CliRunner().invoke(app, ["cases", "import", "--help"])
    assert re.search(r"Formats: .*, brought", " ".join(told.stdout.split()))
    load_plugins([])
    assert "brought" in IMPORTERS
    write(entry, "[wardround.plugins]\nward = ward_lost\n")
    plugins._installed.cache_clear()
    with pytest.raises(PluginError, match=r"ward_lost: .* no such module is installed \(installed by ward-brought"):
        load_plugins([])
    write(entry, "[wardround.plugins]\nward = ward_brought:register\n")
    plugins._installed.cache_clear()
    with pytest.raises(PluginError, match=r"'ward_brought:register'; expected a module, 'ward_brought', .*\(installed"):
        load_plugins([])


def test_a_fault_inside_a_package_is_told_with_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "ward_parts/__init__.py", "from ward_parts import inner\n")
    write(tmp_path / "ward_parts/inner.py", "\nratio = 1 / 0\n")
    with pytest.raises(PluginError, match=r"division by zero \(inner.py, line 2\)"):
        load_plugin(tmp_path / "ward_parts")
    write(tmp_path / "site/ward_site/__init__.py", "from ward_site import inner\n")
    write(tmp_path / "site/ward_site/inner.py", "\n\nratio = 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(PluginError, match=r"division by zero \(inner.py, line 3\)"):
        load_plugin("ward_site")


FAULTS = {
    "syntax": ("def read(:\n", r"syntax error: invalid syntax \(stranger.py, line 1\)"),
    "import": ("import no_such_package\n", r"No module named 'no_such_package' \(stranger.py, line 1\)"),
    "error": ("\nratio = 1 / 0\n", r"ZeroDivisionError: division by zero \(stranger.py, line 2\)"),
    "exit": ("raise SystemExit\n", r"SystemExit: no reason given \(stranger.py, line 1\)"),
    "nothing": ("ward = 1\n", "it registers nothing; docs/extending.md describes"),
    "taken": (IMPORTER.format(name="medqa"), r"format 'medqa' is already registered.*\(stranger.py, line 3\)"),
    "name": (IMPORTER.format(name="My Ward"), "format 'My Ward': a name has only lower-case letters"),
    "argument": (
        "import wardround as wr\nwr.patient('x', exmines=True)\n",
        r"argument 'exmines'(: d|\. D)id you mean 'examines'\? \(stranger.py, line 2\)",  # ours, or Python 3.13's own
    ),
    "stage": (
        f"{IMPORTER.format(name='ward')}\nimport wardround as wr\nfrom pydantic import BaseModel\n"
        "role = wr.Role('expert', 'diagnosys', 'strategies/opinion', BaseModel, lambda view: BaseModel())\n",
        "role 'expert': unknown stage 'diagnosys': did you mean 'diagnosis'",
    ),
    "signature": (IMPORTER.format(name="ward").replace("(source)", "()"), r"expected a function, def ward"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_plug_in_that_cannot_be_used_is_refused_in_one_sentence_and_can_be_mended(fault: str, tmp_path: Path) -> None:
    text, reason = FAULTS[fault]
    known = list(IMPORTERS)
    file = write(tmp_path / "stranger.py", IMPORTER.format(name="before") + text if fault == "error" else text)
    with pytest.raises(PluginError, match=reason if fault != "error" else "ZeroDivisionError") as refusal:
        load_plugin("stranger.py")
    assert str(refusal.value).startswith("plug-in stranger.py: ") and "\n" not in str(refusal.value)
    assert list(IMPORTERS) == known, "what it had registered by then is taken back"
    write(file, IMPORTER.format(name="mended"))
    assert load_plugin("stranger.py").adds == ("format mended",)


@pytest.mark.parametrize("name", ["absent.py", "absent", "./absent", "json.py"])
def test_a_name_that_finds_nothing_or_that_another_module_bears_is_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path / "json.py", IMPORTER.format(name="ward"))
    with pytest.raises(
        PluginError, match=f"plug-in {name}: (no such file|.*file not found|another module is already named 'json')"
    ):
        load_plugin(name)


def test_a_file_that_changed_after_it_was_loaded_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "our_ward.py", IMPORTER.format(name="ward"))
    load_plugin(file)
    write(file, IMPORTER.format(name="other"))
    with pytest.raises(PluginError, match="its files have changed since it was loaded"):
        load_plugin(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("cases", "import", "medqa", "absent.json", "-o", "x.jsonl"),
        ("score", "medchain", "absent"),
        ("memory", "stats"),
        ("consult", "1", "--as", "patient"),
        ("graph",),
        ("dev",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_command_refuses_a_faulty_plug_in_before_it_does_anything(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path / "stranger.py", "ratio = 1 / 0\n")
    ended = command(*arguments, "--plugin", "stranger.py")
    reason = "import failed: ZeroDivisionError: division by zero (stranger.py, line 1)"
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"error: plug-in stranger.py: {reason}\n"


@pytest.mark.parametrize(
    "line", ["from graphs.strategies.recall import recall_first", "from nodes.offline.votes import no_such_rule"]
)
def test_a_plug_in_of_an_earlier_version_is_told_where_moved_names_stand(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    write(tmp_path / "ward_of_old.py", f"{line}\n")
    with pytest.raises(PluginError, match=r'see "Renamed or removed" in CHANGELOG\.md .*ward_of_old\.py, line 1'):
        load_plugin(tmp_path / "ward_of_old.py")


@pytest.mark.slow
def test_the_help_of_a_command_tells_the_names_that_a_plug_in_adds(tmp_path: Path) -> None:
    write(tmp_path / "our_ward.py", IMPORTER.format(name="ward"))
    told = command("cases", "import", "--plugin", "our_ward", "--help").stdout
    assert "Formats: agentclinic, medchain, ai_hospital, aie, medpmc, medqa, ward" in " ".join(told.split())
    example = Path(__file__).parents[2] / "examples/own_patient.py"
    told = " ".join(command("run", "--plugin", example, "--help").stdout.split())
    assert "clinichat, terse. strategy: group, " in told
    assert "patients.saps" in command("graph", "--help").stdout


HELPED = [("--help",), ("run", "--help"), ("score", "--help"), ("score", "medchain", "--help"), ("cases", "--help")]


@pytest.mark.slow
@pytest.mark.parametrize("asked", HELPED, ids=" ".join)
def test_help_that_is_asked_for_before_a_plug_in_is_named_tells_what_it_adds(
    asked: tuple[str, ...], tmp_path: Path
) -> None:
    write(tmp_path / "our_ward.py", IMPORTER.format(name="ward"))
    told = command(*asked, "--plugin", "our_ward")
    assert told.returncode == 0 and "Plug-in our_ward adds: format ward" in " ".join(told.stdout.split()), told


@pytest.mark.slow
def test_a_plug_in_before_the_name_of_a_command_is_that_commands_and_a_faulty_one_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "our_ward.py", IMPORTER.format(name="ward"))
    ended = command("--plugin", "our_ward", "run", "--limit", "1", "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    kept = json.loads((tmp_path / "run/manifest.json").read_text("utf-8"))["configuration"]["plugins"]
    assert kept == [str(tmp_path / "our_ward.py")]
    for faulty in (
        ("--plugin", "none.py", "--help"),
        ("--help", "--plugin", "none.py"),
        ("run", "--help", "--plugin", "none.py"),
    ):
        ended = command(*faulty)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr == f"error: plug-in none.py: {tmp_path / 'none.py'}: file not found\n"


@pytest.mark.slow
def test_an_experiment_file_names_plug_ins_and_prompts_that_lie_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "study/our_ward.py", IMPORTER.format(name="ward"))
    write(tmp_path / "study/words/en/judges/claims.md", "---\nvariables: []\n---\n# system\n# user\n")
    file = write(tmp_path / "study/ours.toml", 'plugins = ["our_ward"]\nprompts = "words"\ndata.limit = 1\n')
    ended = command("run", file, "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    manifest: dict[str, Any] = json.loads((tmp_path / "run/manifest.json").read_text("utf-8"))
    assert manifest["configuration"]["plugins"] == [str(tmp_path / "study/our_ward.py")]
    assert manifest["plugins"]["our_ward"]["adds"] == ["format ward"]

    moved = (tmp_path / "study").rename(tmp_path / "elsewhere")
    ended = command("run", moved / "ours.toml", "--out", tmp_path / "run")
    assert ended.returncode == 0, ended.stderr
    moved.rename(tmp_path / "study")

    write(tmp_path / "study/our_ward.py", IMPORTER.format(name="ward") + "# changed\n")
    write(tmp_path / "study/words/en/judges/claims.md", "---\nvariables: []\n---\n# system\nNew.\n# user\n")
    ended = command("run", file, "--out", tmp_path / "run")
    assert ended.returncode == 2 and "contains a run with another configuration" in ended.stderr
    assert "plugins.our_ward.sha256: was" in ended.stderr and "prompts.en/judges/claims.md: was" in ended.stderr

    write(file, 'plugins = ["our_wards"]\n')
    refused = command("run", file, "--out", tmp_path / "other")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "ours.toml: plugins: plug-in our_wards: no such file in this folder" in refused.stderr
    write(tmp_path / "study/our_failing_ward.py", "1 / 0\n")
    names_of_it = 'plugins = ["our_failing_ward"]\nsuite = "of_it"\nworkflow.patient = "of_it"\n'
    refused = CliRunner().invoke(app, ["run", str(write(tmp_path / "study/failing.toml", names_of_it))])
    assert refused.stderr.count("\n") == 1 and "our_failing_ward.py: import failed: ZeroDivisionError" in refused.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_the_process_of_the_server_loads_what_dev_was_given(tmp_path: Path) -> None:
    text = (
        "from langgraph.graph import START, StateGraph\nimport wardround as wr\n\n"
        "@wr.patient('mute', examines=False)\ndef mute():\n"
        "    builder = StateGraph(wr.PatientSideState)\n"
        "    return builder.add_node('say', lambda state: {}).add_edge(START, 'say')\n"
    )
    file = write(tmp_path / "group: a" / "our_ward.py", text)
    words = write(tmp_path / "words/en/judges/claims.md", "---\nvariables: []\n---\n# system\nMine.\n# user\n").parents[
        2
    ]
    told = (
        "import json; from prompts import load_prompt; from wardround.served import GRAPHS; "
        "print(json.dumps([GRAPHS['consultation'].context_schema.model_json_schema()['properties']['patient']['enum'], "
        "load_prompt('judges/claims', 'en').system]))"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        **dev._variables_of([str(file)], str(words)),
    }
    ended = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, env=environment, timeout=300)
    patients, system = json.loads(ended.stdout or "[[], ended.stderr]")
    assert patients[-1] == "mute" and system == "Mine.", ended.stderr


def test_plug_ins_and_prompts_of_an_experiment_file_reach_the_server_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server named the graphs of the file's plug-ins, did not load them, and ended."""
    started: list[tuple[str, str]] = []
    variables = (plugins.VARIABLE, "WARDROUND_PROMPTS")
    monkeypatch.setattr("os.execv", lambda *_: started.append((os.environ[variables[0]], os.environ[variables[1]])))
    monkeypatch.setattr("os.environ", {**os.environ, "WARDROUND_CACHE": str(tmp_path / "cache")})
    file = write(tmp_path / "ward_of_dev.py", IMPORTER.format(name="of_dev"))
    words = write(tmp_path / "words/en/judges/claims.md", (OURS / "en/judges/claims.md").read_text("utf-8")).parents[2]
    write(tmp_path / "study.toml", 'plugins = ["ward_of_dev.py"]\nprompts = "words"\n')
    done = CliRunner().invoke(app, ["dev", "--port", "0", "--experiment", "study.toml"])
    assert done.exit_code == 0, done.output
    assert started == [(str(file), str(words))]


def test_plug_ins_that_were_used_stay_noted_when_their_file_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path / "cache"))
    sources = [str(tmp_path / f"away_{number}.py") for number in range(4)]
    for source in (*sources, *sources):
        noted_plugins.note(source)
    assert (tmp_path / "state/wardround/plugins.txt").read_text("utf-8").splitlines() == sources
    assert not (tmp_path / "cache").exists()


def test_where_no_plug_in_can_be_noted_its_runs_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert noted_plugins.why_foreign("x.py") == "plug-in x.py has not been used here before; --plugin runs its code"
    monkeypatch.setattr(os, "access", lambda place, how: how != os.W_OK)
    unnoted = f"(or it was not noted: {tmp_path / 'state/wardround/plugins.txt'} cannot be written)"
    assert unnoted in noted_plugins.why_foreign("x.py")


@pytest.mark.parametrize("name", ["~nouser/x.py", "x" * 5000, "a/" + "x" * 5000, "no_such_module"])
def test_a_name_that_loads_nothing_is_not_called_foreign(name: str) -> None:
    assert plugins.is_own(name)
    with pytest.raises(PluginError):
        load_plugin(name)


def in_a_cell(text: str, file: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the function `brief` that a notebook's cell defines."""
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(keepends=True), file))
    defined: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, file, "exec"), defined)
    return defined["brief"]


def test_a_suite_of_a_notebook_is_recorded_and_a_cell_that_is_run_again_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SUITES, "_entries", dict(SUITES))

    def run_cell(value: float) -> Any:
        text = f"async def brief(case, answers, settings):\n    return {value}\n"
        brief = in_a_cell(text, str(tmp_path / "ipykernel_1" / f"{value}.py"), monkeypatch)
        SUITES.add("brevity", Suite("brevity", {"brief": "Brief"}, brief, needs=frozenset({"decisions"})))
        return (record_plugins(wr.Experiment(suite="brevity").known_names) or {})["__main__"]

    first = run_cell(1.0)
    assert first["adds"] == ["suite brevity"] and run_cell(1.0) == first != run_cell(2.0)


@pytest.mark.slow
def test_a_metric_of_a_notebook_that_was_changed_is_refused_in_the_run_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_cell(value: float) -> None:
        text = f"def brief(case, answers):\n    return {value}\n"
        brief = in_a_cell(text, str(tmp_path / "ipykernel_1" / f"{value}.py"), monkeypatch)
        wr.metric("brief", suite="medchain")(brief)

    settings = {"data": {"limit": 1}, "workflow": {"max_turns": 2, "feedback": "off"}}
    with suites_given_back():
        run_cell(1.0)
        wr.run_experiment(settings, "run")
        assert json.loads(Path("run/manifest.json").read_text("utf-8"))["plugins"]["__main__"]["adds"] == [
            "metric brief"
        ]
        run_cell(1.0)
        assert wr.run_experiment(settings, "run")["scores"]["brief"]["mean"] == 1, "a cell that is run again"
        run_cell(2.0)
        with pytest.raises(wr.ConfigurationError, match=r"plugins\.__main__\.sha256"):
            wr.run_experiment(settings, "run")
        assert wr.run_experiment(settings, "other")["scores"]["brief"]["mean"] == 2
