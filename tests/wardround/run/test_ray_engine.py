"""The Ray engine: what one process gives, several give too, also when some of them are killed on the way."""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from cases import Case, load_cases
from cases.registry import registering
from llm.limits import Limits
from retrieval import build_memory, open_memory
from scoring.suite import metric
from tests.support import servers
from tests.support.fake_server import FakeServer
from tests.support.processes import Forked, to_its_end
from tests.support.runs import IDS, again, answered, asked, calls, outcomes, results, run, short, spec
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run.engines import ray as engine
from wardround.store.durable_lines import RunStoppedError

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="the ray extra is not installed")]

EXAMPLES = Path(__file__).parents[3] / "examples"
SECONDS = 120.0  # longer than anything here takes


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster on this machine, which the runs of this process use, one after the other.

    Its workers are as urgent as the tests beside them, which would leave them too little of a busy machine.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        with engine.connected(None) as ray:
            yield ray.get_runtime_context().gcs_address


@pytest.fixture
def database() -> Iterator[str]:
    """The address of a Postgres database."""
    with servers.postgres() as url:
        yield url


@pytest.fixture
def memory_server(tmp_path: Path) -> Iterator[str]:
    """The address of a Chroma server with the cases of the built-in memory."""
    with servers.chroma(tmp_path / "chroma") as url:
        build_memory([case for case in load_cases() if case.split != "test"], url)
        yield url


def on_ray(experiment: Experiment, checkpoints: str | None = None, **more: Any) -> Experiment:
    """On a cluster; with a concurrency of one by one worker, which imports for longer than it plays."""
    settings = {"engine": "ray", "checkpoints": checkpoints, **more}
    return experiment.model_copy(update={"run": experiment.run.model_copy(update=settings)})


def workers_of_this_process() -> list[int]:
    """The process ids of the workers that are under our own cluster."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.joinpath("cmdline").read_bytes().startswith(b"ray::Worker"):
                found += [int(process.name)] if _parent(_parent(int(process.name))) == os.getpid() else []
        except OSError:  # it has just ended
            continue
    return found


def recorded_by_workers(server: FakeServer) -> int:
    """The number of the server's answers that workers have recorded for themselves, in folders of their own."""
    lines: list[str] = []
    for file in Path(tempfile.gettempdir()).glob("wardround-*/*.jsonl"):
        with suppress(FileNotFoundError):  # of another session
            lines += (line for line in file.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n"))
    return sum(f'"model":"{spec(server)}"' in line for line in lines)


def leave_a_core() -> list[int]:
    """End idle workers, each of which holds a core: all but one of two cores and more. The processes that are left.

    A worker imports for longer than it plays, so that one is kept for the next run of this process.
    """
    import ray

    kept, idle = min(1, (os.cpu_count() or 1) - 1), engine._idle or []
    while len(idle) > kept:
        ray.kill(idle.pop())
    wait_for(lambda: len(workers_of_this_process()) <= kept)
    return workers_of_this_process()


def _parent(process: int) -> int:
    return int(_facts(process)[1])


def _facts(process: int) -> list[str]:
    """What the system knows of a process: its state, its parent and more."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def killing_a_worker(server: FakeServer, after: int, out: Path) -> Future[None]:
    """A thread that kills one worker of a run when a number of questions have been answered and the next one waits.

    The traces as they are then are kept beside the run, and the server forgets what it was asked before: also what the
    worker sent last, which is why it is stopped, and heard out, before it is killed.
    """

    def kill() -> None:
        try:
            wait_for(server.is_holding)
            worker = workers_of_this_process()[0]
            os.kill(worker, signal.SIGSTOP)
            wait_for(lambda: _facts(worker)[0] == "T")
            server.read_all()
            wait_for(lambda: all_are_packed(out))
            shutil.copytree(out / "traces", out.with_name("then") / "traces")
            server.requests = []
            os.kill(worker, signal.SIGKILL)
        finally:
            server.release()  # also where the moment never came: the run would wait for ever

    server.hold_answers(after)
    return ThreadPoolExecutor(1).submit(kill)


def all_are_packed(out: Path) -> bool:
    """Whether the trace of each ended case is packed, so that none is about to be."""
    results = out / "results.jsonl"
    ended = [json.loads(line) for line in results.read_text("utf-8").splitlines()] if results.is_file() else []
    traces = {file.name for file in (out / "traces").iterdir()}
    names = [f"{result['case_id']}-{result['epoch']}.jsonl" for result in ended]
    return all(f"{name}.gz" in traces and name not in traces for name in names)


def wait_for(moment: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not moment():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def command(server: FakeServer, out: Path, *more: object) -> list[str]:
    experiment = short(server)
    settings = [f"--set={key}={str(value).lower()}" for key, value in experiment.workflow.items()]
    wanted = [f"--case-id={case_id}" for case_id in experiment.data.case_ids]
    models = f"--models=default={spec(server)}"
    return ["run", "--engine=ray", *settings, *wanted, models, f"--out={out}", *map(str, more)]


def test_two_workers_give_what_one_process_gives(tmp_path: Path, cluster: str) -> None:
    with FakeServer() as server:
        experiment = short(server, limit=5, epochs=2)
        run(experiment, tmp_path / "here")
        asked, server.requests = Counter(request.digest for request in server.requests), []
        run(on_ray(experiment), tmp_path / "there")
        assert Counter(request.digest for request in server.requests) == asked
    assert outcomes(tmp_path / "there") == outcomes(tmp_path / "here")
    for case_id in IDS[:5]:
        told = [
            {call["id"]: call["messages"] for call in calls(tmp_path / name, case_id)} for name in ("here", "there")
        ]
        assert told[0] == told[1]


def test_the_cases_of_a_killed_worker_are_run_by_another_and_none_is_lost_or_doubled(
    tmp_path: Path, cluster: str
) -> None:
    with FakeServer() as server:
        experiment = short(server, limit=6)
        run(experiment, tmp_path / "whole")
        whole, server.requests = asked(server), []
        killer = killing_a_worker(server, whole.total() // 3, tmp_path / "killed")
        summary = run(on_ray(experiment), tmp_path / "killed")
        killer.result()
        after = asked(server)
    assert summary["attempted"] == summary["scored"] == 6
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")
    assert not again(whole, answered(tmp_path / "then"), after)


def test_a_server_that_takes_no_question_stops_the_run_with_the_same_words_as_in_one_process(
    tmp_path: Path, cluster: str
) -> None:
    said = []
    with FakeServer(faults=lambda _: "401") as server:
        for experiment in (short(server), on_ray(short(server))):
            with pytest.raises(RunStoppedError) as stopped:
                run(experiment, tmp_path / experiment.run.engine)
            said.append(str(stopped.value))
    assert said[0] == said[1] and said[1].count("run the same command again") == 1


def test_what_a_judge_answered_just_before_its_server_took_no_question_is_not_asked_again(
    tmp_path: Path, cluster: str
) -> None:
    with FakeServer() as server:
        run(short(server, limit=1), tmp_path / "whole")
        whole = len(server.requests)
        refused = 2 * whole - 1
        server.faults = lambda request: "401" if request.index >= refused else None
        experiment = on_ray(short(server, limit=1))
        with pytest.raises(RunStoppedError):
            run(experiment, tmp_path / "stopped")
        paid, server.faults = len(server.requests), ()
        run(experiment, tmp_path / "stopped")
        assert len(server.requests) - paid == 1


def test_with_postgres_the_finished_nodes_of_a_killed_worker_are_not_run_again(
    tmp_path: Path, cluster: str, database: str
) -> None:
    with FakeServer() as server:
        models = {"default": spec(server), "patient": "offline", "general": "offline", "summarizing": "offline"}
        experiment = short(models=models, limit=4)
        run(experiment, tmp_path / "whole")
        whole, server.requests = asked(server), []
        killer = killing_a_worker(server, whole.total() // 2, tmp_path / "killed")
        run(on_ray(experiment, database), tmp_path / "killed")
        killer.result()
        after = asked(server)
    assert outcomes(tmp_path / "killed") == outcomes(tmp_path / "whole")
    assert not again(whole, answered(tmp_path / "then"), after)
    # Rules are computed again, and recorded again, wherever a node is run again.
    ids = Counter((case_id, call["id"]) for case_id in IDS[:4] for call in calls(tmp_path / "killed", case_id))
    assert sum(ids.values()) - len(ids) <= 4
    assert set(servers.rows(database).values()) == {0}


def test_a_limit_of_the_run_holds_over_all_workers_and_a_raised_one_goes_on(tmp_path: Path, cluster: str) -> None:
    with FakeServer(latency=0.01) as server:
        experiment = short(server, limit=5).model_copy(update={"judges": {"default": "offline"}})
        run(experiment, tmp_path / "whole")
        server.requests = []
        limits = experiment.limits.model_copy(update={"run": Limits(calls=40)})
        summary = run(on_ray(experiment.model_copy(update={"limits": limits})), tmp_path / "limited")
        workers = min(4, os.cpu_count() or 1)
        assert 40 <= len(server.requests) < 40 + workers
        assert summary["terminations"]["run_calls_limit"] >= 1
        run(experiment, tmp_path / "limited")
    assert outcomes(tmp_path / "limited") == outcomes(tmp_path / "whole")


def test_a_memory_on_a_server_gives_what_the_built_in_one_gives(
    tmp_path: Path, cluster: str, memory_server: str
) -> None:
    run(short(retrieval=True), tmp_path / "built in")  # without a model, too, a worker gives what one process gives
    run(on_ray(short(retrieval=True, memory=memory_server), concurrency=1), tmp_path / "served")
    assert outcomes(tmp_path / "served") == outcomes(tmp_path / "built in")
    grown = on_ray(short(retrieval=True, memory=memory_server, grow="as_finished"))
    run(grown, tmp_path / "grown")
    name = re.search(r'"run": "(\w+)"', (tmp_path / "grown" / "manifest.json").read_text())
    assert name is not None
    counts = open_memory(memory_server).for_run(name[1]).stats().values()
    assert sum((count.pseudo for count in counts), start=0) == 3, "each worker remembers in the one memory"


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_run_whose_driver_was_stopped_goes_on_with_what_it_had(
    tmp_path: Path, cluster: str, sign: signal.Signals, code: int
) -> None:
    out = tmp_path / "stopped"
    with FakeServer() as server:
        run(short(server), tmp_path / "whole")
        whole, server.requests = asked(server), []
        arguments = command(server, out, f"--address={cluster}")
        ours = leave_a_core()
        left_behind = recorded_by_workers(server)  # by workers of the whole run that were too slow to end
        server.hold_answers(whole.total() // 2)
        with Forked(arguments) as driver:
            wait_for(server.is_holding)
            recorded = recorded_by_workers(server) - left_behind
            driver.told_when(server.is_holding, sign)
            # A killed driver's workers ask on until the cluster has noticed: none is answered before they are gone.
            wait_for(lambda: workers_of_this_process() == ours)
            server.release()
            ended = driver.ended()
        assert ended.returncode == code
        if sign == signal.SIGINT:
            assert ended.stderr.strip().splitlines()[-1] == "interrupted; run the same command again to resume"
            assert "Traceback" not in ended.stderr and "ray" not in ended.stderr.lower()
        before, server.requests = answered(out), []
        if sign == signal.SIGINT:
            assert before.total() >= recorded > 0
        # One goes on without Ray, for which nothing is imported.
        run(on_ray(short(server), concurrency=1) if sign == signal.SIGKILL else short(server), out)
        assert not again(whole, before, asked(server))
    assert outcomes(out) == outcomes(tmp_path / "whole")


def test_a_run_that_finds_no_core_free_does_not_wait_for_another_to_end(
    tmp_path: Path, cluster: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two commands that started together each held a core and waited for that of the other, for ever."""
    import ray

    monkeypatch.setattr(engine, "_PATIENCE", 0.5)
    while engine._idle:
        ray.kill(engine._idle.pop())
    others = ray.remote(num_cpus=ray.cluster_resources()["CPU"])(Counter).remote()
    ray.get(others.__ray_ready__.remote())
    try:
        assert run(on_ray(short(), concurrency=1), tmp_path)["scored"] == 3
    finally:
        ray.kill(others)
    assert "a worker starts beside other work" in caplog.text


def test_workers_load_the_plug_ins_of_the_run(tmp_path: Path, cluster: str) -> None:
    metric = EXAMPLES / "own_metric.py"
    leave_a_core()
    with FakeServer() as server:
        more = [f"--address={cluster}", f"--plugin={metric}", "--concurrency=1"]
        ended = to_its_end(command(server, tmp_path / "out", *more))
    assert ended.returncode == 0, ended.stderr
    assert all(0 <= result.scores["urgency"] <= 1 for result in results(tmp_path / "out"))


def test_workers_import_from_no_folder_from_which_this_process_does_not(tmp_path: Path) -> None:
    """Workers ran a file `pydantic.py` of the folder in which a run was started."""
    found = engine._Importable()
    found.extend([str(tmp_path), os.path.abspath(sys.path[-1])])
    assert found == [os.path.abspath(sys.path[-1])]


def test_what_a_script_alone_has_registered_is_refused_and_not_left_out(tmp_path: Path, cluster: str) -> None:
    def mine(case: Case, answers: object) -> float:
        return 1.0

    with pytest.raises(ConfigurationError, match="workers do not know metric mine"), registering("a script"):
        metric("mine", suite="medchain")(mine)
        run(on_ray(short(), concurrency=1), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert short().known_names == {"patient medchain", "strategy group", "suite medchain"}


def test_the_next_run_has_the_workers_of_the_last_unless_it_brings_something_else(tmp_path: Path, cluster: str) -> None:
    run(on_ray(short(), concurrency=1), tmp_path / "first")
    workers = workers_of_this_process()
    run(on_ray(short(), concurrency=1), tmp_path / "second")
    assert workers_of_this_process() == workers != []
    assert outcomes(tmp_path / "second") == outcomes(tmp_path / "first")
    other = short().model_copy(update={"plugins": [str(EXAMPLES / "own_metric.py")]})
    with pytest.raises(ConfigurationError):  # this process has not loaded it
        run(on_ray(other, concurrency=1), tmp_path / "third")
    assert not {*workers_of_this_process()} & {*workers}


def test_a_worker_that_cannot_import_what_it_needs_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    broken = tmp_path / "path"
    broken.mkdir()
    (broken / "jinja2.py").write_text(
        "import sys\n"
        "if 'default_worker.py' in ' '.join(sys.orig_argv):\n"
        "    raise ImportError('no jinja2 on this machine')\n"
        "sys.path.remove(__file__.rpartition('/')[0])\n"
        "del sys.modules['jinja2']\n"
        "import jinja2\n"
    )
    with FakeServer() as server:
        alone = command(server, tmp_path / "out", "--concurrency=1")
        ended = to_its_end(alone, {**os.environ, "PYTHONPATH": str(broken)})
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    said = ended.stderr.strip().splitlines()[-1]
    assert "error: --engine ray: a worker cannot run the cases" in said and "no jinja2 on this machine" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("workflow", "told"),
    [
        ({"retrieval": True, "memory": "/somewhere"}, "several processes cannot share a directory; serve it"),
        ({"grow": "in_order"}, "cases one after the other"),
        ({"grow": "as_finished"}, "would not see what others add to memory"),
    ],
)
def test_what_workers_cannot_share_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workflow: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr("wardround.run.runner._remembered", AsyncMock(return_value=None))
    with pytest.raises(ConfigurationError, match=told):
        run(on_ray(short(**workflow)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "127.0.0.1:1"])
def test_a_cluster_that_cannot_be_used_is_refused(tmp_path: Path, address: str) -> None:
    ended = to_its_end(["run", f"--address={address}", "--limit=1", f"--out={tmp_path / 'out'}"])
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: run.address") and address in ended.stderr
    assert not (tmp_path / "out").exists()


def test_without_ray_its_engine_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match=r"--engine ray: .*pip install 'wardround\[ray\]'"):
        run(on_ray(short()), tmp_path / "out")
    assert not (tmp_path / "out").exists()
