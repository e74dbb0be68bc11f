"""The runner: the same results in any order, at any concurrency and after any interruption; no case is lost."""

import asyncio
import errno
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel

import prompts
from cases import Case, ExaminationRecord, load_cases, save_cases
from cases.injections import injected
from llm import ModelSpecError
from llm.checksums import sealed
from llm.errors import CacheError
from llm.trace import Call
from retrieval import CaseMemoryError, Memory, Neighbour, build_memory, open_memory
from retrieval.chroma_collections import ALL_DEPARTMENTS
from scoring.case_scores import CaseScores
from scoring.medchain.answers import score_clinical_workflow
from tests.support.fake_server import ChatRequest, FakeServer, Fault
from tests.support.runs import CASES, IDS, calls, outcomes, results, run, short, spec
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import select
from wardround.report.pages import report_page
from wardround.run.engines import local
from wardround.run.one_case import Outcome
from wardround.run.runner import check_resumable, run_experiment
from wardround.store.durable_lines import RunStoppedError
from wardround.store.manifest import read_manifest, this_program, write_manifest
from wardround.store.recorded_run import find_run
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def small_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A memory of one verified case, so that pseudo-cases are recalled; vectors by hash, as no model is the point."""

    def embed(texts: Sequence[str], model: str = "") -> NDArray[np.float32]:
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        rows = np.array([np.random.default_rng(seed).normal(size=8) for seed in seeds], np.float32)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    monkeypatch.setattr("retrieval.memory.embed", embed)
    verified = next(case for case in load_cases() if case.split == "train")
    build_memory([verified], tmp_path / "memory")
    return str(tmp_path / "memory")


@pytest.fixture
def recalled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None, list[Neighbour]]]:
    """What each recall asked for and found: the case that asked, the bound on orders, the neighbours."""
    seen: list[tuple[str, int | None, list[Neighbour]]] = []
    real = Memory.recall

    def recall(self: Memory, symptoms: str, department: str | None, **options: Any) -> list[Neighbour]:
        found = real(self, symptoms, department, **options)
        seen.append((options["exclude"][0], options["before"], found))
        return found

    monkeypatch.setattr(Memory, "recall", recall)
    return seen


def complaint_faults(case: Case, fault: Fault) -> Callable[[ChatRequest], Fault | None]:
    """The fault for every request that shows one case's complaint."""
    return lambda request: fault if case.patient.chief_complaint in request.text else None


@pytest.mark.slow
@pytest.mark.parametrize("retrieval", [False, True])
def test_concurrency_changes_nothing_offline(tmp_path: Path, retrieval: bool) -> None:
    for concurrency in (1, 16):
        run(short(limit=4, concurrency=concurrency, retrieval=retrieval), tmp_path / str(concurrency))
    assert outcomes(tmp_path / "1") == outcomes(tmp_path / "16")


@pytest.mark.slow
def test_concurrency_changes_nothing_with_a_model_and_the_group_discussing(tmp_path: Path) -> None:
    with FakeServer() as server:
        for concurrency in (1, 16):
            experiment = short(server, concurrency=concurrency, general_agents=3, feedback="downstream")
            run(experiment, tmp_path / str(concurrency))
    assert outcomes(tmp_path / "1") == outcomes(tmp_path / "16")
    assert all(result.tokens > 0 for result in results(tmp_path / "1"))


@pytest.mark.slow
def test_no_more_cases_are_under_way_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, most = 0, 0
    real = local.run_case

    async def counting(*arguments: Any) -> Outcome:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        result = await real(*arguments)
        under_way -= 1
        return result

    monkeypatch.setattr(local, "run_case", counting)
    run(short(limit=5, concurrency=2), tmp_path)
    assert most == 2


@pytest.mark.slow
def test_the_order_of_the_cases_changes_nothing(tmp_path: Path) -> None:
    for name, ids in (("forward", IDS[:3]), ("backward", IDS[2::-1])):
        run(short(case_ids=ids, concurrency=1), tmp_path / name)
    assert outcomes(tmp_path / "forward") == outcomes(tmp_path / "backward")
    summaries = [json.loads((tmp_path / name / "summary.json").read_text()) for name in ("forward", "backward")]
    assert summaries[0]["scores"] == summaries[1]["scores"]


@pytest.mark.slow
def test_every_case_is_run_in_every_epoch_and_offline_epochs_agree(tmp_path: Path) -> None:
    run(short(limit=2, epochs=3), tmp_path)
    kept = outcomes(tmp_path)
    assert [(one["case_id"], one["epoch"]) for one in kept] == [(case, epoch) for case in IDS[:2] for epoch in range(3)]
    assert kept[0] == {**kept[1], "epoch": 0} == {**kept[2], "epoch": 0}


def test_each_result_is_told_with_the_number_done_and_of_all(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def tell(result: Result, done: int, total: int) -> None:
        told.append((result.case_id, done, total))

    asyncio.run(run_experiment(short(), tmp_path, tell))
    assert sorted(case_id for case_id, _, _ in told) == IDS[:3]
    assert [(done, total) for _, done, total in told] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
def test_a_finished_run_is_not_run_again_and_its_summary_stays(tmp_path: Path) -> None:
    with FakeServer() as server:
        first = run(short(server), tmp_path)
        paid = len(server.requests)
        assert run(short(server), tmp_path) == first
        assert len(server.requests) == paid


@pytest.mark.slow
def test_whether_a_run_can_be_resumed_is_known_before_it_is(tmp_path: Path, small_memory: str) -> None:
    prompt = Path("medchain/general.md")
    own = tmp_path / "prompts" / "en" / prompt
    own.parent.mkdir(parents=True)
    own.write_text((Path(prompts.__file__).parent / "en" / prompt).read_text("utf-8") + "\nBe brief.\n", "utf-8")
    experiment = short(limit=1, retrieval=True, memory=small_memory).model_copy(
        update={"prompts": str(tmp_path / "prompts")}
    )
    selection = select(experiment.data)
    asyncio.run(check_resumable(experiment, tmp_path / "out", selection))  # nothing has begun
    run(experiment, tmp_path / "out")
    asyncio.run(check_resumable(experiment, tmp_path / "out", selection))
    build_memory([case for case in load_cases() if case.split == "train"][:2], small_memory)
    with pytest.raises(ConfigurationError, match=r"another configuration:\n.*memory"):
        asyncio.run(check_resumable(experiment, tmp_path / "out", selection))


def test_growing_in_order_is_the_same_at_any_concurrency(tmp_path: Path, small_memory: str) -> None:
    for concurrency in (1, 16):
        experiment = short(concurrency=concurrency, retrieval=True, memory=small_memory, grow="in_order")
        run(experiment, tmp_path / str(concurrency))
    assert outcomes(tmp_path / "1") == outcomes(tmp_path / "16")


@pytest.mark.slow
@pytest.mark.parametrize("epochs", [1, 2])
def test_growing_in_order_a_case_sees_earlier_cases_of_its_run_and_never_itself(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]], epochs: int
) -> None:
    run(short(retrieval=True, memory=small_memory, grow="in_order", epochs=epochs, concurrency=16), tmp_path / "out")
    pseudo = [
        (asking, before, neighbour.case)
        for asking, before, found in recalled
        for neighbour in found
        if not neighbour.case.verified
    ]
    assert pseudo, "no pseudo-case was ever recalled: the test shows nothing"
    for asking, before, case in pseudo:
        assert case.id != asking and case.order is not None and before is not None and case.order < before
    if epochs == 1:
        assert all(IDS.index(case.id) < IDS.index(asking) for asking, _, case in pseudo)


@pytest.mark.slow
def test_a_variant_of_a_remembered_case_is_not_answered_from_it(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]]
) -> None:
    verified = next(case for case in load_cases() if case.split == "train")
    plain = verified.model_copy(update={"examinations": verified.examinations.model_copy(update={"images": []})})
    renamed = plain.model_copy(update={"id": "new"})
    save_cases([injected(plain)[0], renamed, *CASES[:1]], tmp_path / "cases.jsonl")
    settings = short(retrieval=True, memory=small_memory).model_dump(exclude={"data"})
    run(Experiment.model_validate({**settings, "data": {"cases": str(tmp_path / "cases.jsonl")}}), tmp_path / "out")
    found = {asking: [one.case.id for one in neighbours] for asking, _, neighbours in recalled if neighbours}
    assert len({asking for asking, *_ in recalled}) == 3 and set(found) <= {CASES[0].id}


@pytest.mark.slow
def test_a_memory_that_does_not_grow_gives_verified_cases_only(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]]
) -> None:
    run(short(retrieval=True, memory=small_memory, grow="in_order"), tmp_path / "grown")
    recalled.clear()
    run(short(retrieval=True, memory=small_memory), tmp_path / "out")
    assert recalled and all(neighbour.case.verified for _, _, found in recalled for neighbour in found)


@pytest.mark.slow
def test_a_run_never_recalls_what_another_run_in_the_same_place_has_learnt(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]]
) -> None:
    out = tmp_path / "out"
    grown = short(case_ids=IDS[:2], retrieval=True, memory=small_memory, grow="as_finished", concurrency=1)
    run(grown, out)
    out.rename(tmp_path / "put away")
    assert any(not neighbour.case.verified for _, _, found in recalled for neighbour in found)
    recalled.clear()
    run(short(case_ids=IDS[2:4], retrieval=True, memory=small_memory, grow="as_finished", concurrency=1), out)
    ids = {neighbour.case.id for _, _, found in recalled for neighbour in found if not neighbour.case.verified}
    assert ids == {IDS[2]}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["after the graph", "before the result is kept", "after a result"])
def test_a_growing_memory_survives_a_kill(
    tmp_path: Path,
    small_memory: str,
    recalled: list[tuple[str, int | None, list[Neighbour]]],
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    def last_case_recalled() -> list[list[str]]:
        found = [[neighbour.case.id for neighbour in found] for asking, _, found in recalled if asking == IDS[2]]
        recalled.clear()
        return found

    experiment = short(retrieval=True, memory=small_memory, grow="in_order")
    run(experiment, tmp_path / "whole")
    whole = last_case_recalled()
    assert set(IDS[:2]) <= {case_id for found in whole for case_id in found}
    out = tmp_path / "killed"

    with monkeypatch.context() as patched:
        _kill_second(patched, moment)
        with pytest.raises(BaseExceptionGroup):
            run(experiment, out)
    _forget_pseudo_cases(small_memory, out)
    run(experiment, out)
    assert last_case_recalled() == whole
    assert outcomes(out) == outcomes(tmp_path / "whole")


@pytest.mark.slow
def test_a_run_that_goes_on_recalls_no_case_that_its_record_lacks(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]]
) -> None:
    """A directory of a memory keeps what was learnt; a copied or emptied record met its own later cases there."""
    experiment = short(retrieval=True, memory=small_memory, grow="as_finished", concurrency=1)
    run(experiment, tmp_path)
    whole = [(asking, [one.case.id for one in found]) for asking, _, found in recalled]
    recalled.clear()
    (tmp_path / "results.jsonl").unlink()
    run(experiment, tmp_path)
    assert [(asking, [one.case.id for one in found]) for asking, _, found in recalled] == whole


@pytest.mark.slow
def test_a_case_that_is_run_again_between_finished_ones_recalls_what_it_did(
    tmp_path: Path, small_memory: str, recalled: list[tuple[str, int | None, list[Neighbour]]]
) -> None:
    """The next epoch of each other case had taken the place of the one that it recalls."""

    def first_recalled() -> list[tuple[int | None, list[tuple[str, int | None]]]]:
        found = [
            (before, [(one.case.id, one.case.order) for one in found])
            for asking, before, found in recalled
            if asking == IDS[0]
        ]
        recalled.clear()
        return found

    experiment = short(limit=2, retrieval=True, memory=small_memory, grow="in_order", epochs=2)
    run(experiment, tmp_path)
    whole, ends = first_recalled(), outcomes(tmp_path)
    assert any((IDS[1], 1) in found for _, found in whole)
    courses = tmp_path / "pseudo_cases.jsonl"
    courses.write_bytes(courses.read_bytes().partition(b"\n")[2])  # lost, so that the case is run again
    run(experiment, tmp_path)
    assert (first_recalled(), outcomes(tmp_path)) == (whole, ends)


def _kill_second(patched: pytest.MonkeyPatch, moment: str) -> None:
    """Let the run end at a moment of its second case."""
    if moment == "after the graph":

        async def score(case: Case, *arguments: Any) -> CaseScores:
            if case.id == IDS[1]:
                raise Killed
            return await score_clinical_workflow(case, *arguments)

        patched.setattr("scoring.medchain.suite.score_clinical_workflow", score)
        return
    real_add = RunDirectory.add

    def add(self: RunDirectory, result: Result) -> None:
        if moment == "after a result":
            real_add(self, result)
        if result.case_id == IDS[1]:
            raise Killed
        if moment != "after a result":
            real_add(self, result)

    patched.setattr(RunDirectory, "add", add)


def _forget_pseudo_cases(memory: str, out: Path) -> None:
    """What the end of a process does to the built-in memory."""
    name = json.loads((out / "manifest.json").read_text("utf-8"))["run"]
    opened = open_memory(memory).for_run(name)
    assert any(count.pseudo for count in opened.stats().values())
    shelves = opened._shelves
    for department in ALL_DEPARTMENTS:
        if shelf := shelves._find(department, name):
            shelves._client.delete_collection(shelf.name)
            shelves._known.pop((department, name))
            shelves._rows.pop((department, name), None)
    assert not any(count.pseudo for count in opened.stats().values())


@pytest.mark.slow
def test_a_case_killed_while_it_was_being_scored_asks_its_doctors_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeServer() as server:
        experiment = short(server, concurrency=1)
        run(experiment, tmp_path / "whole")
        whole = len(server.requests)
        with monkeypatch.context() as patched:
            _kill_second(patched, "after the graph")
            with pytest.raises(BaseExceptionGroup):
                run(experiment, tmp_path / "killed")
        run(experiment, tmp_path / "killed")
        assert len(server.requests) == 2 * whole
    assert "unregistered" not in caplog.text, "the serializer was not told of a type of the state"
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")


@pytest.mark.slow
def test_an_unparseable_answer_is_final(tmp_path: Path) -> None:
    with FakeServer(faults=complaint_faults(CASES[1], "schema_violation")) as server:
        summary = run(short(server), tmp_path)
        assert (summary["scored"], summary["failed"]) == (2, 1)
        failed = results(tmp_path)[1]
        assert failed.termination == "unparseable_answer" and failed.scores == {} and failed.answers is None
        assert failed.error is not None and "even after 3 repairs" in failed.error and "fake-model" in failed.error
        paid, server.faults = len(server.requests), ()
        assert run(short(server), tmp_path) == summary and len(server.requests) == paid


@pytest.mark.slow
def test_an_unreachable_model_is_tried_again_and_what_was_paid_is_not_paid_again(tmp_path: Path) -> None:
    with FakeServer() as server:
        experiment = short(server, max_attempts=1)
        run(experiment, tmp_path / "whole")
        whole = len(server.requests)
        server.faults = lambda request: "500" if request.name == "Proposal_Treatment" else None
        summary = run(experiment, tmp_path / "out")
        assert summary["terminations"] == {"model_error": 3} and summary["attempted"] == summary["failed"] == 3
        assert all(result.error and "no answer after 1 request" in result.error for result in results(tmp_path / "out"))
        refused, server.faults = sum(request.status == 500 for request in server.requests), ()
        assert run(experiment, tmp_path / "out")["scored"] == 3
        assert len(server.requests) - whole == whole + refused
    assert outcomes(tmp_path / "out") == outcomes(tmp_path / "whole")


def test_a_server_that_is_gone_fails_each_case_with_a_reason(tmp_path: Path) -> None:
    with FakeServer() as server:
        pass
    summary = run(short(server, max_attempts=1), tmp_path)
    assert summary["terminations"] == {"model_error": 3}
    assert "unscored" in summary and summary["scores"]["average"]["mean"] is None
    assert all("Connection error. (All connection attempts failed)" in (one.error or "") for one in results(tmp_path))


@pytest.mark.slow
def test_a_judge_that_fails_leaves_a_missing_score_with_its_reason_until_it_answers(tmp_path: Path) -> None:
    with FakeServer(faults=lambda request: "500") as server:
        experiment = short(models={"default": "offline", "diagnosis_judge": spec(server)}, max_attempts=1)
        summary = run(experiment, tmp_path)
        assert summary["scored"] == 3 and summary["unscored"]["diagnosis"] == {"judge failed: model_error": 3}
        for result in results(tmp_path):
            assert result.scores["diagnosis"] is None and result.scores["treatment"] is not None
            assert result.unscored["diagnosis"].startswith("judge failed: model_error: fake-model: no answer after 1")
        server.faults = ()
        server.answer = lambda request: "no grade"  # of which asking again mends nothing, unless that is wanted
        assert run(experiment, tmp_path)["unscored"]["diagnosis"] == {"judge failed: unparseable_answer": 3}
        server.answer, before = None, len(server.requests)
        run(experiment, tmp_path)
        assert len(server.requests) == before
        again = experiment.model_copy(update={"run": experiment.run.model_copy(update={"retry_failed": True})})
        assert "diagnosis" not in run(again, tmp_path)["unscored"]
        assert len(server.requests) == before + 3


@pytest.mark.slow
def test_a_case_with_an_internal_error_is_recorded_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(short(), tmp_path / "whole")

    async def score(case: Case, *arguments: Any) -> CaseScores:
        if case.id == IDS[1]:
            raise ZeroDivisionError("a bug")
        return await score_clinical_workflow(case, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr("scoring.medchain.suite.score_clinical_workflow", score)
        summary = run(short(concurrency=1), tmp_path / "out")
    assert (summary["scored"], summary["failed"]) == (2, 1)
    failed = results(tmp_path / "out")[1]
    assert failed.termination == "internal_error" and failed.scores == {}
    assert failed.error is not None and failed.error.startswith("ZeroDivisionError: a bug (test_runner.py, line ")
    paid = len(calls(tmp_path / "out", IDS[1]))
    assert run(short(), tmp_path / "out")["scored"] == 3
    assert outcomes(tmp_path / "out") == outcomes(tmp_path / "whole")
    judged = [call for call in calls(tmp_path / "out", IDS[1])[paid:] if call["stage"] != "evaluation"]
    assert judged == []


def test_the_trace_of_a_case_holds_each_call_once_and_the_result_counts_it(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(short(server, limit=1), tmp_path)
    (result,) = results(tmp_path)
    recorded = calls(tmp_path, result.case_id)
    assert len({call["id"] for call in recorded}) == len(recorded) == result.calls
    assert sum(call["input_tokens"] + call["output_tokens"] for call in recorded) == result.tokens
    assert all(call["messages"] and call["answer"] for call in recorded)
    assert result.cost is None  # the price of the model is not known


def test_known_prices_make_a_cost(tmp_path: Path) -> None:
    with FakeServer() as server:
        summary = run(short(server, limit=1, prices={spec(server): [1.0, 2.0]}), tmp_path)
    assert summary["cost"] == pytest.approx(results(tmp_path)[0].cost) and summary["cost"] > 0


def test_no_checkpoint_of_a_finished_case_stays(tmp_path: Path) -> None:
    run(short(), tmp_path)
    with sqlite3.connect(tmp_path / "checkpoints.sqlite") as database:
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM writes").fetchone() == (0,)


def test_switched_off_retrieval_opens_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wardround.run.runner.open_memory", lambda *_: pytest.fail("the memory was opened"))
    assert run(short(limit=1), tmp_path)["scored"] == 1


def test_a_finished_run_opens_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(short(limit=1, retrieval=True), tmp_path)
    monkeypatch.setattr("wardround.run.runner.open_memory", lambda *_: pytest.fail("the memory was opened"))
    assert run(short(limit=1, retrieval=True), tmp_path)["scores"] == first["scores"]


def test_a_memory_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(CaseMemoryError, match="does not exist"):
        run(short(retrieval=True, memory=str(tmp_path / "absent")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_model_is_refused_before_the_first_question_and_the_server_names_its_own(tmp_path: Path) -> None:
    with FakeServer(models=["one", "two"]) as server:
        with pytest.raises(ModelSpecError, match=r"models\.patient: .* serves no model 'three'; it serves one, two"):
            run(short(models={"default": spec(server, "one"), "patient": spec(server, "three")}), tmp_path / "out")
        assert server.requests == [] and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        (["qwen3:latest"], "qwen3"),  # Ollama
        (["models/gemini-3-flash"], "gemini-3-flash"),
        (["deepseek/deepseek-r1"], "deepseek/deepseek-r1:nitro"),  # OpenRouter's variants, Hugging Face's providers
        (["openai/*", "claude"], "openai/gpt-5"),  # LiteLLM
    ],
)
def test_a_models_name_need_not_stand_in_its_servers_list_letter_by_letter(
    tmp_path: Path, listed: list[str], name: str
) -> None:
    with FakeServer(models=listed) as server:
        assert run(short(models={"default": spec(server, name)}, limit=1), tmp_path)["scored"] == 1


def test_a_model_that_a_gateway_serves_by_a_pattern_which_it_lists_only_if_asked_is_served(tmp_path: Path) -> None:
    with FakeServer(models=["lab/gpt-4o"], patterns=["lab/*"]) as server:
        assert run(short(models={"default": spec(server, "lab/qwen")}, limit=1), tmp_path / "out")["scored"] == 1
        with pytest.raises(ModelSpecError, match=r"serves no model 'lob/qwen'; it serves lab/gpt-4o$"):
            run(short(models={"default": spec(server, "lob/qwen")}), tmp_path / "other")


def test_of_hundreds_of_models_the_error_names_the_nearest(tmp_path: Path) -> None:
    said = r"serves no model 'gema-3'.* and 291 more$"
    names = [f"maker/model-{number}" for number in range(300)]
    with FakeServer(models=[*names, "maker/gemma-3"]) as server, pytest.raises(ModelSpecError, match=said) as raised:
        run(short(models={"default": spec(server, "gema-3")}), tmp_path / "out")
    assert "maker/gemma-3" in str(raised.value) and len(str(raised.value)) < 400


def test_a_server_without_a_list_of_models_is_taken_at_its_word(tmp_path: Path) -> None:
    with FakeServer(models=None) as server:
        assert run(short(server, limit=1), tmp_path)["scored"] == 1


def test_a_case_id_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nobody"):
        run(short(case_ids=["nobody"]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_may_start_inside_of_a_running_event_loop_and_beside_another(tmp_path: Path) -> None:
    async def both() -> None:
        experiments: list[tuple[Experiment, Path]] = [(short(limit=2), tmp_path / name) for name in ("a", "b")]
        await asyncio.gather(*(run_experiment(experiment, out) for experiment, out in experiments))

    asyncio.run(both())
    assert outcomes(tmp_path / "a") == outcomes(tmp_path / "b")


def test_a_case_that_cannot_be_of_the_wanted_sex_is_a_named_failure_and_final(tmp_path: Path) -> None:
    experiment = short(case_ids=["surgery-05", "surgery-06"], patient_sex="female")
    summary = run(experiment, tmp_path)
    played, refused = results(tmp_path)
    assert (played.termination, refused.termination) == ("completed", "sex_bound")
    assert "cannot be played as female" in (refused.error or "") and refused.final
    assert (summary["attempted"], summary["scored"], summary["failed"]) == (2, 1, 1)


def test_a_memory_that_holds_the_cases_that_are_tested_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    tested = next(case for case in load_cases() if case.split == "test")
    build_memory([tested], tmp_path / "memory")
    experiment = Experiment.model_validate(
        {"data": {"case_ids": [tested.id]}, "workflow": {"memory": str(tmp_path / "memory"), "general_agents": 1}}
    )
    with pytest.raises(ConfigurationError, match=rf"contains 1 of the cases of this run \({tested.id}"):
        asyncio.run(run_experiment(experiment, tmp_path / "run"))
    assert not (tmp_path / "run" / "results.jsonl").exists()


def test_a_run_goes_on_with_the_memory_that_it_began_with_wherever_that_lies(tmp_path: Path, small_memory: str) -> None:
    """With other cases in the same number, a resumed run mixed what doctors of two memories decided."""
    out, moved = tmp_path / "out", tmp_path / "moved"
    run(short(limit=1, retrieval=True, memory=small_memory), out)
    shutil.copytree(small_memory, moved)
    assert run(short(limit=1, retrieval=True, memory=str(moved)), out)["attempted"] == 1
    verified = next(open_memory(small_memory).verified())
    open_memory(small_memory).add([verified.model_copy(update={"diagnosis": ["Another disease"]})])
    with pytest.raises(ConfigurationError, match="memory_content: was"):
        run(short(limit=1, retrieval=True, memory=small_memory), out)


def test_a_run_is_refused_once_other_cases_of_its_file_name_other_second_level_departments(tmp_path: Path) -> None:
    file, (first, second) = tmp_path / "cases.jsonl", load_cases()[:2]
    settings = short(limit=1).model_dump(exclude={"data"}) | {"data": {"cases": str(file), "limit": 1}}
    experiment = Experiment.model_validate(settings)
    for names in (second.key.sub_departments, ["Tropical Dentistry"]):
        other = second.model_copy(update={"key": second.key.model_copy(update={"sub_departments": names})})
        save_cases([case.model_copy(update={"examinations": ExaminationRecord()}) for case in (first, other)], file)
        if names == second.key.sub_departments:
            run(experiment, tmp_path / "out")
    with pytest.raises(ConfigurationError, match="sub_departments: was None"):
        run(experiment, tmp_path / "out")


def test_a_run_that_goes_on_with_another_program_says_so_unless_it_was_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = "wardround 0.0.9 of commit 58a7e5a0 began this run"
    run(short(limit=1), tmp_path)
    before = {"versions": {"wardround": "0.0.9"}, "git": {"commit": "58a7e5a0"}}
    write_manifest(tmp_path, {**read_manifest(tmp_path / "manifest.json"), **before})
    run(short(limit=1), tmp_path)
    assert told not in caplog.text
    (tmp_path / "results.jsonl").unlink()
    assert run(short(limit=1), tmp_path)["scored"] == 1
    assert told in caplog.text


def test_what_another_program_ran_is_told_by_whoever_reads_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(short(limit=1), tmp_path)
    assert not find_run(tmp_path).other_programs
    before = {"versions": {"wardround": "0.0.9"}, "git": None}
    write_manifest(tmp_path, {**read_manifest(tmp_path / "manifest.json"), **before})
    (tmp_path / "results.jsonl").unlink()
    run(short(limit=1), tmp_path)
    assert find_run(tmp_path).other_programs == {this_program(): 1}
    assert f"{this_program()} ran 1 of 1 cases of this run, which wardround 0.0.9 began" in caplog.text
    assert f"{this_program()}: 1 of 1 cases" in report_page(find_run(tmp_path))


def test_a_memory_without_a_case_is_refused_unless_it_grows(tmp_path: Path) -> None:
    """Chroma makes a database anew where its file is empty, and opens that of another program."""
    build_memory([], tmp_path / "memory")
    for grow in ("off", "in_order"):
        experiment = short(limit=1, retrieval=True, memory=str(tmp_path / "memory"), grow=grow)
        if grow == "off":
            with pytest.raises(ConfigurationError, match="contains no remembered cases"):
                run(experiment, tmp_path / grow)
        else:
            assert run(experiment, tmp_path / grow)["scored"] == 1


def test_what_rules_answered_is_no_call(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(short(server, limit=1, models={"default": spec(server), "diagnosis_judge": "offline"}), tmp_path)
    (result,) = results(tmp_path)
    recorded = calls(tmp_path, result.case_id)
    assert 0 < result.calls < len(recorded)
    assert result.calls == sum(call["model"] != "offline" for call in recorded)


def test_a_trace_that_cannot_be_written_stops_the_run_and_only_what_was_under_way_is_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []

    def on_a_full_disk(entry: BaseModel) -> str:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(entry)
        return sealed(entry)

    with FakeServer() as server:
        experiment = short(server, limit=1)
        monkeypatch.setattr("llm.trace.sealed", on_a_full_disk)
        with pytest.raises(RunStoppedError, match=r"traces/.*jsonl: cannot be written: No space left on device; fix"):
            run(experiment, tmp_path)
        assert not (tmp_path / "results.jsonl").exists()
        lost = len(server.requests) - sum(isinstance(entry, Call) for entry in written)
        monkeypatch.undo()
        run(experiment, tmp_path)
        assert {result.termination for result in results(tmp_path)} == {"completed"}
        assert lost <= 3 and len(server.requests) == sum(result.calls for result in results(tmp_path)) + lost


def test_a_cache_that_takes_no_more_stops_the_run_and_its_answer_is_not_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(*_: object) -> None:
        raise CacheError("the response cache cannot be used (database or disk is full)")

    with FakeServer() as server:
        run_settings = {"run": {"cache": str(tmp_path / "cache.sqlite")}}
        experiment = Experiment.model_validate(
            {**short(server, limit=1).model_dump(exclude_unset=True), **run_settings}
        )
        monkeypatch.setattr("llm.cache.ResponseCache.keep", on_a_full_disk)
        with pytest.raises(RunStoppedError, match=r"database or disk is full.*; fix this, then run the same command"):
            run(experiment, tmp_path / "run")
        assert not (tmp_path / "run" / "results.jsonl").exists()
        monkeypatch.undo()
        run(experiment, tmp_path / "run")
        assert len(server.requests) == sum(result.calls for result in results(tmp_path / "run"))
