"""Runs read from the disk."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from cases import CaseFileError, load_cases, save_cases
from nodes.patients.systems import PATIENTS
from scoring.clini_eval.points import LEAVES
from tests.support.metrics import suites_given_back
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from wardround import plugins
from wardround.config.experiment import ConfigurationError
from wardround.plugins import load_plugin
from wardround.run.doctor import examine
from wardround.store.manifest import FORMAT, read_manifest, write_manifest
from wardround.store.recorded_run import find_runs
from wardround.store.run_directory import RunDirectory


def test_a_sweep_is_read_in_the_order_of_its_file_and_what_came_later_after_it(tmp_path: Path) -> None:
    for name in ("apart", "one", "two"):
        write_run(tmp_path / name, [graded("a")])
    (tmp_path / "sweep.json").write_text(json.dumps({"runs": ["two", "gone", "one"]}), "utf-8")
    assert [run.name for run in find_runs([tmp_path])] == ["two", "one", "apart"]
    (tmp_path / "sweep.json").write_text("[" * 100_000, "utf-8")  # as if there were none
    assert [run.name for run in find_runs([tmp_path])] == ["apart", "one", "two"]


def test_runs_of_one_name_in_two_places_are_told_apart_by_the_folders_in_which_they_differ(tmp_path: Path) -> None:
    """Not by their whole paths, which are as wide as a page, and nobody's business in a printed table."""
    places = [write_run(tmp_path / place / "run", [graded("a")]) for place in ("x", "y")]
    assert [run.name for run in find_runs(places)] == ["x/run", "y/run"]
    above = write_run(tmp_path / "run", [graded("a")])
    assert [run.name for run in find_runs([above, *places])] == ["run", "x/run", "y/run"]
    assert [run.name for run in find_runs([places[0], places[0]])] == ["run", "run"]


def test_a_directory_without_a_run_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a run directory"):
        find_runs([tmp_path])


def test_a_manifest_whose_configuration_is_unknown_is_refused_in_one_line(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", [graded("a")]) / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["configuration"]["graph"] = "another"
    manifest.pop("checksum", None)
    file.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"cannot use manifest\.json \(graph: [^\n]*\)$"):
        find_runs([tmp_path])
    manifest["versions"]["wardround"] = "9.0.0"
    file.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"\(graph: [^\n]*\); use the program of the run, wardround 9\.0\.0"):
        find_runs([tmp_path])


def test_a_result_that_a_kill_has_cut_off_is_left_out(tmp_path: Path) -> None:
    (run,) = find_runs([write_run(tmp_path / "run", [graded("a")])])
    with (run.path / "results.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"case_id": "b", ')
    assert [result.case_id for result in run.each_answered()] == ["a"]


def test_results_come_by_case_and_epoch_in_whichever_order_the_cases_ended(tmp_path: Path) -> None:
    names = ["b", "a", '"c\\', "发热"]
    ended = [graded(name, epoch=epoch) for name in names for epoch in (1, 0)]
    (run,) = find_runs([write_run(tmp_path / "run", ended)])
    assert [result.key for result in run.each_answered()] == sorted(result.key for result in ended)
    with (run.path / "results.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"case_id": 1}\n')
    with pytest.raises(ConfigurationError, match=rf"results\.jsonl: line {len(ended) + 1} "):
        list(run.each_answered())


def test_a_line_of_results_in_another_encoding_is_told_in_words(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded("a")])
    with (path / "results.jsonl").open("ab") as out:
        out.write(b"\xff\xff\n")
    (run,) = find_runs([path])
    with pytest.raises(ConfigurationError, match=r"results\.jsonl: line 2 is not UTF-8: "):
        list(run.each_answered())


def test_of_a_call_that_was_asked_again_the_last_record_counts(tmp_path: Path) -> None:
    calls = [call(error="model_error: no"), call(started=1.0, answer={"text": "yes"})]
    (run,) = find_runs([write_run(tmp_path / "run", [], {("a", 0): calls})])
    ((_, found),) = run.each_trace()
    assert [one.error for one in found] == [None]


@pytest.mark.parametrize("block", [{}, {"model": {"mine": {"spec": "hf:gone/model", "together": 4}}}])
def test_a_run_of_a_model_whose_folder_is_elsewhere_is_read(tmp_path: Path, block: dict[str, Any]) -> None:
    name = next(iter(block.get("model", {})), "hf:gone/model")
    write_run(tmp_path / "run", [graded("a")], models={"doctor": name}, **block)
    (run,) = find_runs([tmp_path / "run"])
    assert run.experiment.context.block(name).parsed.name == "gone/model"


def test_files_that_a_run_named_from_its_own_folder_are_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, notes = tmp_path / "study", '{"id": "a", "note": "Chief complaint: Cough."}\n'
    study.mkdir()
    monkeypatch.chdir(study)
    save_cases(load_cases()[:2], "cases.jsonl")
    Path("notes.jsonl").write_text(notes, "utf-8")
    write_run(Path("runs/cases"), [graded("dentistry-01")], data={"cases": "cases.jsonl"})
    write_run(Path("runs/notes"), [], graph="reconstruction", data={"notes": ["notes.jsonl"]})
    monkeypatch.chdir(tmp_path)
    of_cases, of_notes = find_runs([study / "runs"])
    assert list(of_cases.cases) == [case.id for case in load_cases()[:2]] and list(of_notes.items) == ["a"]
    Path("cases.jsonl").write_text("other cases that lie here\n", "utf-8")
    with pytest.raises(CaseFileError, match=r"cases\.jsonl"):
        _ = find_runs([study / "runs" / "cases"])[0].cases


def test_cases_that_have_changed_since_are_refused(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded(ENGLISH[0])], data={"limit": 1})
    manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    manifest["data"]["fingerprint"] = "other"
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"have changed since the run \(builtin\); restore them$"):
        _ = find_runs([path])[0].cases
    manifest["git"] = {"commit": "58a7e5a0e5dc0", "changed": False}
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"\); use the program of the run, wardround \S+ of commit 58a7e"):
        _ = find_runs([path])[0].cases
    file = tmp_path / "mine.jsonl"
    save_cases(load_cases()[:1], file)
    manifest["configuration"]["data"]["cases"] = str(file)
    (path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ConfigurationError, match=r"; restore them, or use the program of the run, wardround \S+ of "):
        _ = find_runs([path])[0].cases


def test_a_run_of_a_relative_case_file_says_in_another_folder_what_it_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said "mine.jsonl: file not found" of a file that nobody had named."""
    study = tmp_path / "study"
    save_cases(load_cases()[:1], study / "mine.jsonl")
    monkeypatch.chdir(study)
    path = write_run(tmp_path / "run", [graded("a")], data={"cases": "mine.jsonl"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaseFileError, match=r"run: the run's cases: mine\.jsonl: file not found; .* run this in the "):
        _ = find_runs([path])[0].cases


METRIC = "import wardround as wr\n\n@wr.metric('brief', suite='mvme')\ndef brief(case, answers):\n    return 1.0\n"
PATIENT = (
    "from langgraph.graph import START, StateGraph\nimport wardround as wr\n\n@wr.patient('brief', examines=False)\n"
    "def brief():\n    return StateGraph(wr.PatientSideState).add_node('a', lambda state: {}).add_edge(START, 'a')\n"
)


@pytest.mark.parametrize(("module", "added"), [("ward_gone_m", METRIC), ("ward_gone_p", PATIENT)])
def test_a_run_is_read_without_a_plug_in_that_has_gone_unless_a_setting_needs_it(
    module: str, added: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forget() -> None:
        monkeypatch.setattr(plugins, "_loaded", {})
        monkeypatch.setattr(PATIENTS, "_entries", dict(known))
        monkeypatch.delitem(sys.modules, module, raising=False)

    known = dict(PATIENTS)
    file, moved = tmp_path / f"{module}.py", tmp_path / f"moved/{module}.py"
    moved.parent.mkdir()
    file.write_text(added, "utf-8")
    with suites_given_back():
        forget()
        asked = {"patient": "brief"} if added is PATIENT else {}
        run = write_run(tmp_path / "run", [graded("a")], plugins=[str(file)], workflow=asked)
    file.rename(moved)
    with suites_given_back():
        forget()
        if asked:
            with pytest.raises(ConfigurationError, match=r"gone_p\.py: file not found\); .* name it with --plugin$"):
                find_runs([run])
        else:
            assert "brief" not in find_runs([run])[0].suite.columns
            assert "run: read without what plug-in ward_gone_m added, metric brief (plugins: plug-in " in caplog.text
    with suites_given_back():
        forget()
        caplog.clear()
        load_plugin(moved)
        (found,) = find_runs([run])
        assert ("brief" in found.suite.columns) == (added is METRIC) and not caplog.text


def test_an_uninstalled_package_is_named_that_added_what_a_run_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = dict(PATIENTS)
    file = tmp_path / "ward_package.py"
    file.write_text(PATIENT, "utf-8")
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(PATIENTS, "_entries", dict(known))
    load_plugin(file)  # as by an entry point: no setting of the run names it
    run = write_run(tmp_path / "run", [graded("a")], workflow={"patient": "brief"})
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(PATIENTS, "_entries", dict(known))
    with pytest.raises(ConfigurationError, match=r"run: \w+ brief of ward_package is not loaded: install it again"):
        find_runs([run])


def test_a_plug_in_that_was_renamed_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "ward_old_name.py"
    file.write_text(METRIC, "utf-8")
    monkeypatch.setattr(plugins, "_loaded", {})
    with suites_given_back():
        run = write_run(tmp_path / "run", [graded("a")], plugins=[str(file)])
    file = file.rename(tmp_path / "ward_new_name.py")
    monkeypatch.setattr(plugins, "_loaded", {})
    with suites_given_back():
        load_plugin(file)
        (found,) = find_runs([run])
        assert "brief" in found.suite.columns and not caplog.text


def test_a_plug_in_that_has_changed_since_the_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "ward_changed.py"
    for text in (METRIC, METRIC.replace("1.0", "2.0")):
        file.write_text(text, "utf-8")
        monkeypatch.setattr(plugins, "_loaded", {})
        monkeypatch.delitem(sys.modules, "ward_changed", raising=False)
        with suites_given_back():
            if text == METRIC:
                write_run(tmp_path / "run", [graded("a")], plugins=[str(file)])
            find_runs([tmp_path / "run"])
        told = re.search("run: plug-in ward_changed has changed since the run", caplog.text)
        assert (told is None) == (text == METRIC)


def test_reading_a_received_run_runs_no_code_that_its_sender_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file, ran = tmp_path / "run/ward_sent.py", tmp_path / "ran"
    file.parent.mkdir()
    file.write_text(f"open({str(ran)!r}, 'w').close()\n{METRIC}", "utf-8")
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "sender"))
    with suites_given_back():
        run = write_run(file.parent, [graded("a")], plugins=[str(file)])
    ran.unlink()
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.delitem(sys.modules, "ward_sent")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "receiver"))
    with suites_given_back():
        assert "brief" not in find_runs([run])[0].suite.columns
        examine(RunDirectory(run), mend=True)
        assert not ran.exists() and "ward_sent.py has not been used here before; --plugin runs its code" in caplog.text
        load_plugin(file)
        assert "brief" in find_runs([run])[0].suite.columns
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.delitem(sys.modules, "ward_sent")
    with suites_given_back():
        assert "brief" in find_runs([run])[0].suite.columns


@pytest.mark.parametrize("suite", ["clini_eval", "clini_eval_paper"])
def test_the_points_of_clini_evals_items_are_known_though_they_are_no_columns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, suite: str
) -> None:
    scored = graded("a")
    scored.scores = {leaf.column: 1.0 for leaf in LEAVES.values()}
    (run,) = find_runs([write_run(tmp_path / "run", [scored], graph="consultation", suite=suite)])
    assert run.results and not caplog.records


def test_scores_of_a_metric_that_a_script_had_registered_are_missed_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scored = graded("a")
    scored.scores["brief"] = 1.0
    (run,) = find_runs([write_run(tmp_path / "run", [scored, graded("b")])])
    assert len(run.results) == 2 and run.results
    assert [record.message for record in caplog.records] == [
        f"{tmp_path / 'run'}: read without brief, which a script had registered; load it with --plugin"
    ]


def test_a_run_in_a_later_format_is_refused_by_every_reader_and_left_as_it_is(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [graded("1", 0.5)])
    manifest = read_manifest(tmp_path / "run/manifest.json")
    later = {**manifest, "format": FORMAT + 1, "versions": {"wardround": "9.0"}, "git": None}
    write_manifest(tmp_path / "run", later)
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()}
    told = f"has format {FORMAT + 1}, and this version reads up to {FORMAT}; use the program of the run, wardround 9.0"
    with pytest.raises(ConfigurationError, match=told):
        find_runs([tmp_path / "run"])
    assert told in examine(RunDirectory(tmp_path / "run"), mend=True).left[0]
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.name in before} == before
