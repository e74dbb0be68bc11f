"""The run directory: what is written, what survives a kill, and what is refused."""

import asyncio
import errno
import json
import os
import re
from pathlib import Path
from typing import IO, Any

import pytest
from pydantic import BaseModel

from cases import Case, PatientRecord, Provenance, load_cases
from cases.case import ExaminationRecord, Image
from cases.whole_files import replacing
from llm.trace import trace_lines
from tests.support.runs import outcomes, results, run, short
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import Sweep
from wardround.config.selection import StoredItem, select
from wardround.run.runner import _remembered
from wardround.run.sweep import default_directory
from wardround.store import manifest, run_directory
from wardround.store.durable_lines import RunStoppedError, append_line
from wardround.store.manifest import manifest_of, prompt_hashes
from wardround.store.provenance import git_state, write_whole
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory

CASES = load_cases()[:2]
ITEMS = list(map(StoredItem.of, CASES))


def open_once(path: Path, experiment: Experiment | None = None, items: list[StoredItem] = ITEMS) -> None:
    with RunDirectory(path).opened(experiment or Experiment(), items):
        pass


def result(case_id: str, **fields: Any) -> Result:
    return Result.model_validate({"case_id": case_id, "epoch": 0, "termination": "completed", **fields})


def one(experiment: Experiment) -> Sweep:
    return Sweep(experiment.name, {"": experiment})


class Note(BaseModel):
    text: str


def test_a_run_leaves_manifest_results_traces_checkpoints_and_summary(tmp_path: Path) -> None:
    summary = run(short(limit=2, epochs=2), tmp_path)
    kept = results(tmp_path)
    assert len(kept) == len({(one.case_id, one.epoch) for one in kept}) == 4
    traces = {file.name for file in (tmp_path / "traces").iterdir()}
    assert traces == {f"{one.case_id}-{one.epoch}.jsonl.gz" for one in kept}
    assert (tmp_path / "checkpoints.sqlite").is_file()
    assert json.loads((tmp_path / "summary.json").read_text("utf-8")) == summary
    assert summary["attempted"] == summary["scored"] + summary["failed"] == 4


def test_results_that_are_kept_share_what_is_equal_and_are_those_of_the_file(tmp_path: Path) -> None:
    course: dict[str, Any] = {
        "models": {"doctor": ["offline"]},
        "stages": {"diagnosis": "agreed"},
        "rounds": {"diagnosis": 1},
    }
    with RunDirectory(tmp_path).opened(Experiment(), ITEMS) as directory:
        for case in CASES:
            directory.add(result(case.id, scores={"diagnosis": 1.0}, **course))
    with RunDirectory(tmp_path).opened(Experiment(), ITEMS) as directory:
        first, second = directory.results()
        assert all(getattr(first, name) is getattr(second, name) for name in course)
        assert [first, second] == [one.without_answers() for one in RunDirectory(tmp_path).each_result()]


def test_ids_that_differ_by_letter_case_are_refused_only_where_their_traces_would_be_one_file(tmp_path: Path) -> None:
    items = [StoredItem.of(CASES[0].model_copy(update={"id": name})) for name in ("Ward-1", "ward-1")]
    open_once(tmp_path / "any", items=items)
    (tmp_path / "mac").mkdir()
    (tmp_path / "mac" / ".LOCK").touch()  # as `.lock` is found where letter case is ignored
    with pytest.raises(ConfigurationError, match="the cases 'Ward-1' and 'ward-1' would share a trace; rename one"):
        open_once(tmp_path / "mac", items=items)
    open_once(tmp_path / "mac", items=items[:1])


def test_an_id_that_is_spelt_as_the_name_of_another_trace_is_refused(tmp_path: Path) -> None:
    """The calls of both cases would lie in one file."""
    items = [StoredItem.of(CASES[0].model_copy(update={"id": name})) for name in ("a b", "a_b-c8687a08")]
    with pytest.raises(ConfigurationError, match="the cases 'a b' and 'a_b-c8687a08' would share a trace; rename one"):
        open_once(tmp_path, items=items)
    open_once(tmp_path, items=items[:1])


def test_the_manifest_says_what_the_results_rest_on(tmp_path: Path) -> None:
    experiment = Experiment(seed=5)
    open_once(tmp_path, experiment)
    manifest = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    assert manifest["configuration"] == experiment.identity and manifest["seed"] == 5
    assert manifest["data"]["cases"] == 2 and len(manifest["data"]["fingerprint"]) == 32
    assert {"en/judges/claims.md", "zh/judges/claims.md"} <= manifest["prompts"].keys()
    assert manifest["versions"]["langgraph"] and manifest["versions"]["wardround"]


def test_what_the_process_has_loaded_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = manifest_of(Experiment(), [])
    monkeypatch.setattr("wardround.store.provenance.subprocess", None)
    monkeypatch.setattr("wardround.store.provenance.version", None)
    assert manifest_of(Experiment(), []) == before


def test_a_result_line_has_the_stable_keys(tmp_path: Path) -> None:
    run(short(limit=1), tmp_path)
    line = json.loads((tmp_path / "results.jsonl").read_text("utf-8"))
    stable = {"case_id", "epoch", "termination", "scores", "tokens", "cost", "seconds", "error"}
    assert stable <= line.keys() and line["error"] is None
    assert set(line["scores"]) == {
        "referral_level1",
        "referral_level2",
        "history_taking",
        "examination",
        "diagnosis",
        "treatment",
    }


@pytest.mark.parametrize("keep", [1, 40, -2])
def test_a_cut_last_line_is_left_out_and_the_next_result_does_not_stick_to_it(tmp_path: Path, keep: int) -> None:
    directory = RunDirectory(tmp_path)
    items = [StoredItem.of(CASES[0].model_copy(update={"id": name})) for name in "abc"]
    open_once(tmp_path, items=items)
    directory.add(result("a"))
    line = result("b", error="发热").model_dump_json().encode()
    with (tmp_path / "results.jsonl").open("ab") as out:
        out.write(line[:keep])
    assert [one.case_id for one in directory.results()] == ["a"]
    with directory.opened(Experiment(), items):
        directory.add(result("c"))
        assert [one.case_id for one in directory.results()] == ["a", "c"]
    assert [one.case_id for one in directory.results()] == ["a", "c"]
    assert [one.case_id for one in results(tmp_path)] == ["a", "c"]


def test_a_run_that_is_resumed_reads_each_result_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It read them to find damage, then what was finished, then for the summary."""
    before = run(short(limit=2), tmp_path)
    read: list[str] = []
    reader = run_directory.read_result
    monkeypatch.setattr(run_directory, "read_result", lambda line: read.append(line) or reader(line))
    assert run(short(limit=2), tmp_path) == before
    assert sorted(read) == sorted((tmp_path / "results.jsonl").read_text("utf-8").splitlines())


def test_a_line_cut_inside_of_a_letter_is_left_out(tmp_path: Path) -> None:
    open_once(tmp_path)
    (tmp_path / "results.jsonl").write_bytes(result("a").model_dump_json().encode() + b'\n{"case_id":"\xe5\x8f')
    assert [one.case_id for one in RunDirectory(tmp_path).results()] == ["a"]


def test_a_file_that_is_one_cut_line_is_emptied(tmp_path: Path) -> None:
    open_once(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"case_id"', "utf-8")
    open_once(tmp_path)
    assert (tmp_path / "results.jsonl").read_bytes() == b"" and RunDirectory(tmp_path).results() == []


def test_separators_other_than_a_line_feed_do_not_end_a_result(tmp_path: Path) -> None:
    open_once(tmp_path)
    directory = RunDirectory(tmp_path)
    text = "a\u2028b\u0085c\x1cd\x0be"
    directory.add(result("a", error=text, answers={"diagnosis": [text]}))
    directory.remember(Note(text=text))
    assert [one.error for one in directory.results()] == [text]
    assert len(directory.remembered()) == 1


def test_a_cut_pseudo_case_is_left_out_and_the_next_does_not_stick_to_it(tmp_path: Path) -> None:
    open_once(tmp_path)
    directory = RunDirectory(tmp_path)
    directory.remember(Note(text="first"))
    with (tmp_path / "pseudo_cases.jsonl").open("a") as out:
        out.write('{"text": "cu')
    with directory.opened(Experiment(), ITEMS):
        directory.remember(Note(text="second"))
    assert [json.loads(line)["text"] for line in directory.remembered()] == ["first", "second"]


@pytest.mark.slow
def test_a_cut_line_of_a_trace_does_not_stop_the_case(tmp_path: Path) -> None:
    run(short(limit=1), tmp_path / "whole")
    case_id = results(tmp_path / "whole")[0].case_id
    experiment = short(limit=1)
    with RunDirectory(tmp_path / "cut").opened(experiment, select(experiment.data).items):
        cut = "".join(trace_lines(tmp_path / "whole" / "traces" / f"{case_id}-0.jsonl")).encode()[:300]
        (tmp_path / "cut" / "traces" / f"{case_id}-0.jsonl").write_bytes(cut + "热".encode()[:2])
    run(experiment, tmp_path / "cut")
    assert outcomes(tmp_path / "cut") == outcomes(tmp_path / "whole")


def test_a_line_that_is_no_result_is_named(tmp_path: Path) -> None:
    open_once(tmp_path)
    (tmp_path / "results.jsonl").write_text('{"case": 1}\n', "utf-8")
    with pytest.raises(ConfigurationError, match=r"line 1 is not a result.*`wardround doctor"):
        RunDirectory(tmp_path).results()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"workflow": {"feedback": "off"}}, "configuration.workflow.feedback: was None, is 'off'"),
        ({"models": {"default": "offline", "patient": "openai:a"}}, "configuration.models.patient: was None"),
        ({"seed": 3}, "configuration.seed: was 0, is 3"),
        ({"data": {"limit": 2}}, "configuration.data.limit: was None, is 2"),
        ({"epochs": 2}, "configuration.epochs: was 1, is 2"),
    ],
)
def test_a_changed_configuration_is_refused_with_the_difference(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    open_once(tmp_path)
    with pytest.raises(ConfigurationError, match="another configuration") as refused:
        open_once(tmp_path, Experiment.model_validate(change))
    assert named in str(refused.value)


@pytest.mark.parametrize(("module", "told"), [("__main__", True), ("our_ward", False)])
def test_that_what_a_script_fills_while_it_runs_counts_as_changed_is_told(
    module: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seen in ("[]", "['a']"):
        recorded = {module: {"sha256": seen, "version": None, "adds": ["metric urgency"]}}
        monkeypatch.setattr(manifest, "record_plugins", lambda used, recorded=recorded: recorded)
        if seen == "[]":
            open_once(tmp_path)
    with pytest.raises(ConfigurationError, match=rf"plugins\.{module}\.sha256: was") as refused:
        open_once(tmp_path)
    assert ("fills while it runs counts as changed" in str(refused.value)) is told


def test_changed_data_is_refused(tmp_path: Path) -> None:
    open_once(tmp_path)
    patient = CASES[0].patient.model_copy(update={"chief_complaint": "Another complaint"})
    with pytest.raises(ConfigurationError, match=r"data\.fingerprint"):
        open_once(tmp_path, items=[StoredItem.of(CASES[0].model_copy(update={"patient": patient})), ITEMS[1]])


def test_weights_that_were_trained_on_meanwhile_are_refused(tmp_path: Path) -> None:
    folder, out = tmp_path / "doctor", tmp_path / "out"
    folder.mkdir()
    (folder / "config.json").write_text("{}", "utf-8")
    (folder / "model.safetensors").write_bytes(b"one model")
    experiment = Experiment.model_validate({"models": {"default": "offline", "doctor": f"hf:{folder}"}})
    for _ in range(2):
        open_once(out, experiment)
    (folder / "model.safetensors").write_bytes(b"its next state")
    with pytest.raises(ConfigurationError, match=r"weights\..*doctor: was '\w{16}', is '\w{16}'"):
        open_once(out, experiment)


def test_a_changed_picture_is_refused_with_the_program_that_may_have_read_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(
        id="a",
        patient=PatientRecord(chief_complaint="Cough"),
        examinations=ExaminationRecord(images=[Image(item="CT", file="a.png")]),
        provenance=Provenance(source="a test"),
        folder=str(tmp_path),
    )
    (tmp_path / "a.png").write_bytes(b"one picture")
    open_once(tmp_path / "out", items=[StoredItem.of(case)])
    (tmp_path / "a.png").write_bytes(b"another one")
    with pytest.raises(ConfigurationError, match=r"data\.fingerprint.*\n.*use the previous configuration\.$"):
        open_once(tmp_path / "out", items=[StoredItem.of(case)])
    monkeypatch.setattr(manifest, "git_state", lambda: {"commit": "58a7e5a0", "changed": False})
    with pytest.raises(ConfigurationError, match=r"configuration and program, wardround .*\.$"):
        open_once(tmp_path / "out", items=[StoredItem.of(case)])


def test_a_changed_prompt_is_refused_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_once(tmp_path)
    hashes = prompt_hashes()
    monkeypatch.setattr(manifest, "prompt_hashes", lambda: {**hashes, "en/judges/claims.md": "0"})
    with pytest.raises(ConfigurationError, match=r"prompts\.en/judges/claims\.md: was .* is '0'\n.*configuration\.$"):
        open_once(tmp_path)
    monkeypatch.setattr(manifest, "git_state", lambda: {"commit": "58a7e5a0", "changed": False})
    monkeypatch.setattr(manifest, "prompt_hashes", lambda: dict.fromkeys(hashes, "0"))
    with pytest.raises(ConfigurationError, match=r"\n  and \d+ more\n.*previous configuration and program, wardround "):
        open_once(tmp_path)


def test_an_embedding_model_may_lie_elsewhere_but_not_be_trained_on(tmp_path: Path) -> None:
    def opened(folder: Path) -> None:
        experiment = Experiment.model_validate({"workflow": {"embedding": str(folder)}})
        beside = asyncio.run(_remembered(experiment.context, ITEMS, opened=False))
        with RunDirectory(tmp_path / "out").opened(experiment, ITEMS, beside):
            pass

    folder = tmp_path / "encoder"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    opened(folder)
    moved = folder.rename(tmp_path / "moved")
    opened(moved)
    (moved / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(ConfigurationError, match="embedding: was"):
        opened(moved)


def test_an_example_consultation_may_lie_elsewhere_but_not_say_something_else(tmp_path: Path) -> None:
    def opened(example: Path) -> None:
        workflow = {"doctor_mode": "one_shot_cot", "example": str(example)}
        open_once(tmp_path / "out", Experiment.model_validate({"workflow": workflow}))

    example = tmp_path / "example.txt"
    example.write_text("Doctor: since when?", "utf-8")
    opened(example)
    opened(example.rename(tmp_path / "moved.txt"))
    example.write_text("Doctor: where?", "utf-8")
    with pytest.raises(ConfigurationError, match=r"prompts\.workflow\.example: was"):
        opened(example)


def test_a_list_of_terms_may_lie_elsewhere_but_not_hold_others(tmp_path: Path) -> None:
    def opened(terms: Path) -> None:
        open_once(tmp_path / "out", Experiment.model_validate({"data": {"terms": str(terms)}}))

    terms = tmp_path / "terms.csv"
    terms.write_text("A00,Cholera", "utf-8")
    opened(terms)
    opened(terms.rename(tmp_path / "moved.csv"))
    terms.write_text("A01,Typhoid fever", "utf-8")
    with pytest.raises(ConfigurationError, match="  terms: was"):
        opened(terms)


def test_concurrency_may_change(tmp_path: Path) -> None:
    open_once(tmp_path, Experiment.model_validate({"run": {"concurrency": 1}}))
    open_once(tmp_path, Experiment.model_validate({"run": {"concurrency": 9}}))


@pytest.mark.parametrize("name", ["summary.json", "report.html", "options.jsonl", "checkpoints.sqlite"])
def test_what_somebody_else_keeps_in_a_folder_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("my thesis")
    with pytest.raises(ConfigurationError, match=f"has a {name} but no manifest.json, so no run wrote it; move it"):
        open_once(tmp_path)
    assert (tmp_path / name).read_text() == "my thesis" and [one.name for one in tmp_path.iterdir()] == [name]


def test_no_run_is_begun_among_the_traces_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results would be taken for a damaged trace, and moved aside."""
    open_once(tmp_path / "one")
    with pytest.raises(ConfigurationError, match="traces: holds the traces of another run; choose another --out"):
        open_once(tmp_path / "one" / "traces")
    open_once(tmp_path / "traces")
    monkeypatch.chdir(tmp_path / "one" / "traces")
    with pytest.raises(ConfigurationError, match=r"^\.: holds the traces of another run; choose another --out"):
        open_once(Path())


def test_a_run_that_lost_its_manifest_before_its_first_result_goes_on_by_the_copy(tmp_path: Path) -> None:
    open_once(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    (tmp_path / "checkpoints.sqlite").write_bytes(b"of the first cases")
    (tmp_path / "manifest.json").unlink()
    open_once(tmp_path)
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_a_refused_run_leaves_the_manifest_and_the_lock_as_they_were(tmp_path: Path) -> None:
    open_once(tmp_path)
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(ConfigurationError):
        open_once(tmp_path, Experiment(seed=3))
    assert (tmp_path / "manifest.json").read_bytes() == before
    open_once(tmp_path)


def test_two_runs_in_one_directory_at_once_are_refused(tmp_path: Path) -> None:
    with (
        RunDirectory(tmp_path).opened(Experiment(), ITEMS),
        pytest.raises(ConfigurationError, match="another process"),
    ):
        open_once(tmp_path)
    open_once(tmp_path)


@pytest.mark.parametrize(
    ("in_the_way", "why"), [("", "a part of this path is a file"), ("traces", "file exists where a folder is needed")]
)
def test_a_file_where_a_run_needs_a_folder_is_named_with_the_remedy(tmp_path: Path, in_the_way: str, why: str) -> None:
    out = tmp_path / "out"
    (out / in_the_way).parent.mkdir(exist_ok=True)
    (out / in_the_way).write_text("in the way", "utf-8")
    with pytest.raises(ConfigurationError, match=f"{out}/traces: cannot be written: {why}.*; name another"):
        open_once(out)


@pytest.mark.parametrize("in_the_way", ["", "traces", ".lock/x", "manifest.json/x", "results.jsonl/x"])
def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path, in_the_way: str) -> None:
    out = tmp_path / "out"
    (out / in_the_way).parent.mkdir(parents=True, exist_ok=True)
    (out / in_the_way).write_text("in the way", "utf-8")
    with pytest.raises(ConfigurationError, match=r"cannot be written|is not a manifest") as refused:
        open_once(out)
    assert str(out) in str(refused.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", "3"])
def test_a_file_that_is_no_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=r"manifest\.json: is not a manifest"):
        open_once(tmp_path)


@pytest.mark.slow
def test_a_full_disk_stops_the_run_with_what_to_do_and_what_was_finished_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(short(), tmp_path / "whole")
    real = run_directory.append_sealed
    written: list[Path] = []

    def append(path: Path, record: BaseModel) -> None:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        real(path, record)

    monkeypatch.setattr(run_directory, "append_sealed", append)
    with pytest.raises(RunStoppedError, match="No space left on device; fix this, then run the same command again"):
        run(short(concurrency=1), tmp_path / "full")
    assert len(results(tmp_path / "full")) == 1
    monkeypatch.undo()
    run(short(), tmp_path / "full")
    assert outcomes(tmp_path / "full") == outcomes(tmp_path / "whole")


def test_trace_files_of_ids_that_are_no_file_names_are_inside_and_apart(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    files = [directory.trace_file(case_id, 0) for case_id in ("a/b", "a_b", "a b", "../../a", "a")]
    files.append(directory.trace_file("a", 1))
    assert len(set(files)) == len(files) and {file.parent for file in files} == {tmp_path / "traces"}


def test_pseudo_cases_of_an_earlier_run_in_the_same_place_are_filed_apart(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        for _ in range(2):  # the second time, the run is taken up
            with RunDirectory(tmp_path).opened(Experiment(), ITEMS) as directory:
                names.append(directory.run)
        (tmp_path / "manifest.json").unlink()
    assert names[0] == names[1] != names[2] == names[3] and all(names)


def test_the_same_experiment_comes_back_to_the_same_place_and_another_does_not() -> None:
    place = default_directory(one(Experiment()))
    assert place == default_directory(one(Experiment.model_validate({"run": {"concurrency": 9}})))
    assert place.parent == Path("runs") and place != default_directory(one(Experiment(seed=1)))


def test_a_folder_that_moved_with_its_files_has_the_same_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(folder: Path, *names: str) -> Path:
        folder.mkdir()
        monkeypatch.chdir(folder)
        data = {"notes": [str(folder / name) for name in names], "terms": str(folder / "terms.csv")}
        return default_directory(one(Experiment.model_validate({"graph": "reconstruction", "data": data})))

    assert place(tmp_path / "here", "a.txt", "b.txt") == place(tmp_path / "there", "a.txt", "b.txt")
    assert place(tmp_path / "other", "a.txt", "c.txt") != place(tmp_path / "another", "a.txt", "b.txt")


def test_cases_on_another_drive_than_the_working_directory_have_a_place_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: str) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")  # as Windows says it

    monkeypatch.setattr("os.path.relpath", refused)
    assert default_directory(one(Experiment.model_validate({"data": {"cases": "/mine.jsonl"}}))).parent == Path("runs")


def test_a_result_ends_in_a_line_feed_alone_on_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_on_windows(self: Path, mode: str = "r", newline: str | None = None, **given: Any) -> IO[Any]:
        return open(self, mode, newline="\r\n" if newline is None and "b" not in mode else newline, **given)

    monkeypatch.setattr(Path, "open", as_on_windows)
    append_line(tmp_path / "results.jsonl", "{}")
    assert (tmp_path / "results.jsonl").read_bytes() == b"{}\n"


def test_a_manifest_does_not_depend_on_where_a_case_file_lies() -> None:
    moved = [StoredItem.of(case.model_copy(update={"folder": case.folder + "/."})) for case in CASES]
    assert manifest_of(Experiment(), moved)["data"] == manifest_of(Experiment(), ITEMS)["data"]


def test_a_file_that_a_full_disk_cuts_short_is_named_and_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "scores.json"
    write_whole(file, "before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=re.escape(f"No space left on device: '{file}'")):
        write_whole(file, "after")
    assert file.read_text("utf-8") == "before" and [*tmp_path.iterdir()] == [file]


def test_a_file_that_cannot_be_begun_is_named_and_not_its_draft(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "gone" / "report.html"):
        pass
    assert raised.value.filename == str(tmp_path / "gone" / "report.html")


def test_a_checkout_is_described_whatever_its_files_are_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git writes names in the bytes of the file system where core.quotepath is off."""
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\n[ $4 = rev-parse ] && echo 58a7e5a0 || printf '?? \\377.py\\n'\n", "utf-8")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert git_state.__wrapped__() == {"commit": "58a7e5a0", "changed": True}
