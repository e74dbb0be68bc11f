"""Checkpoints: a killed case goes on where it was, in SQLite or in a Postgres database that runs share."""

import asyncio
import logging
import resource
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from typer.testing import CliRunner

from cases import Case
from scoring.case_scores import CaseScores
from scoring.medchain.answers import score_clinical_workflow
from tests.support import servers
from tests.support.fake_server import FakeServer
from tests.support.runs import IDS, calls, outcomes, run, short
from wardround.cli import app
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run.checkpoints import open_sqlite, serializer
from wardround.run.postgres import check_postgres, open_postgres
from wardround.run.runner import run_experiment
from wardround.store.durable_lines import RunStoppedError


def test_the_error_of_a_node_is_kept_without_the_key_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_TOKEN", "canary-77aa01")
    saver = serializer()
    kept = saver.loads_typed(saver.dumps_typed(RuntimeError("no access with canary-77aa01")))
    assert kept == "RuntimeError('no access with <WARD_TOKEN>')"


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a Postgres server."""
    with servers.postgres() as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    """The address of an empty database of its own."""
    return servers.new_database(server)


def kept_in(database: str, experiment: Experiment) -> Experiment:
    return experiment.model_copy(update={"run": experiment.run.model_copy(update={"checkpoints": database})})


def kill_while_scoring(patched: pytest.MonkeyPatch, case_id: str) -> None:
    """Let the run end when the doctors of a case are done."""

    async def score(case: Case, *arguments: Any) -> CaseScores:
        if case.id == case_id:
            raise Killed
        return await score_clinical_workflow(case, *arguments)

    patched.setattr("scoring.medchain.suite.score_clinical_workflow", score)


async def test_what_a_stopped_case_has_half_written_does_not_lock_the_file_for_the_next_run(tmp_path: Path) -> None:
    held = []  # as the error that stopped a run holds the cursors of what it broke off
    with pytest.raises(Killed):
        async with open_sqlite(tmp_path / "checkpoints.sqlite") as kept:
            assert isinstance(kept, AsyncSqliteSaver)
            await kept.setup()
            held.append(await kept.conn.execute("SELECT name FROM sqlite_master"))
            held.append(await kept.conn.execute("INSERT INTO checkpoints (thread_id, checkpoint_id) VALUES ('a', 'b')"))
            raise Killed
    with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite", timeout=0)) as database:
        assert database.execute("DELETE FROM checkpoints").rowcount == 0


async def test_a_step_begun_while_a_stopped_run_closes_does_not_lock_the_file_either(tmp_path: Path) -> None:
    held = []

    async def go_on_writing(saver: AsyncSqliteSaver) -> None:
        for step in range(1000):
            async with saver.lock:
                held.append(await saver.conn.execute("CREATE TABLE IF NOT EXISTS t (x)"))
                held.append(await saver.conn.execute("INSERT INTO t VALUES (?)", (step,)))
                held.append(await saver.conn.execute("SELECT x FROM t"))
                await saver.conn.commit()

    with pytest.raises(Killed):
        async with open_sqlite(tmp_path / "checkpoints.sqlite") as kept:
            assert isinstance(kept, AsyncSqliteSaver)
            writer = asyncio.create_task(go_on_writing(kept))
            await asyncio.sleep(0.05)
            raise Killed
    with pytest.raises(ValueError, match="no active connection"):
        await writer
    with closing(sqlite3.connect(tmp_path / "checkpoints.sqlite", timeout=0)) as database:
        database.execute("INSERT INTO t VALUES (-1)")


async def test_a_thread_that_has_nothing_is_looked_up_once_and_again_once_something_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    look = AsyncSqliteSaver.aget_tuple

    async def counted(self: AsyncSqliteSaver, config: Any) -> Any:
        looked.append(config["configurable"]["checkpoint_ns"])
        return await look(self, config)

    monkeypatch.setattr(AsyncSqliteSaver, "aget_tuple", counted)
    root, stage = ({"configurable": {"thread_id": "case", "checkpoint_ns": name}} for name in ("", "stage"))
    async with open_sqlite(tmp_path / "checkpoints.sqlite") as kept:
        assert await kept.aget_tuple(stage) is None
        assert [await kept.aget_tuple(each) for each in (root, stage, root)] == [None] * 3
        assert looked == ["stage", ""]
        await kept.aput(stage, empty_checkpoint(), {}, {})
        found = await kept.aget_tuple(stage)
        assert found is not None and await kept.aget_tuple(root) is None
    assert looked == ["stage", "", "stage", ""]


@pytest.mark.slow
def test_a_run_with_postgres_gives_what_one_with_sqlite_gives_and_leaves_nothing_there(
    tmp_path: Path, database: str
) -> None:
    with FakeServer() as models:
        run(short(models), tmp_path / "sqlite")
        run(kept_in(database, short(models)), tmp_path / "postgres")
    assert outcomes(tmp_path / "postgres") == outcomes(tmp_path / "sqlite")
    assert set(servers.rows(database).values()) == {0}
    assert not (tmp_path / "postgres" / "checkpoints.sqlite").exists()


@pytest.mark.slow
def test_an_interrupted_run_goes_on_at_its_checkpoint_in_postgres(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeServer() as models:
        experiment = kept_in(database, short(models, concurrency=1, models=None))
        run(experiment, tmp_path / "whole")
        whole = len(models.requests)
        with monkeypatch.context() as patched:
            kill_while_scoring(patched, IDS[1])
            with pytest.raises(BaseExceptionGroup):
                run(experiment, tmp_path / "killed")
        assert servers.rows(database)["checkpoints"] > 0
        # Without what the trace holds, only the checkpoint keeps the doctors from being asked again.
        next((tmp_path / "killed" / "traces").glob(f"{IDS[1]}-*")).unlink()
        run(experiment, tmp_path / "killed")
        assert len(models.requests) == 2 * whole
    judged = {call["stage"] for call in calls(tmp_path / "killed", IDS[1])}
    assert judged == {"evaluation"}
    assert set(servers.rows(database).values()) == {0}
    assert "unregistered" not in caplog.text, "the serializer was not told of a type of the state"


@pytest.mark.slow
def test_two_runs_in_one_database_at_once_do_not_mix_and_both_make_its_tables(tmp_path: Path, database: str) -> None:
    experiments = {"one": short(limit=2), "other": short(limit=2, max_turns=1)}

    async def both() -> None:
        runs = (run_experiment(kept_in(database, each), tmp_path / name) for name, each in experiments.items())
        await asyncio.gather(*runs)

    asyncio.run(both())
    for name, experiment in experiments.items():
        run(experiment, tmp_path / f"{name} alone")
        assert outcomes(tmp_path / name) == outcomes(tmp_path / f"{name} alone")
    assert outcomes(tmp_path / "one") != outcomes(tmp_path / "other")


@pytest.mark.slow
def test_many_at_once_make_the_tables_of_a_new_database(database: str) -> None:
    async def many() -> None:
        await asyncio.gather(*(check_postgres(database) for _ in range(6)))

    asyncio.run(asyncio.wait_for(many(), 60))
    assert servers.rows(database) == {"checkpoints": 0, "checkpoint_blobs": 0, "checkpoint_writes": 0}


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://u:pepper-4711@localhost/db", "expected postgresql://HOST:PORT/DATABASE"),
        ("u:pepper-4711@localhost/db", "expected postgresql://HOST:PORT/DATABASE"),
        ("postgresql://u:pepper-4711@127.0.0.1:1/db", "start the server, or correct the address"),
        ("postgresql://u:pepper-4711@127.0.0.1:none/db", "correct the address"),
        ("postgresql://u:pep@per-4711@127.0.0.1:1/db", "correct the address"),
        ("postgresql://u:pepper/4711@127.0.0.1:1/db", "correct the address"),
        ("postgresql://127.0.0.1:1/db?user=u&password=pepper-4711", "start the server"),
    ],
)
def test_a_database_that_cannot_be_reached_is_refused_before_anything_is_written_and_no_password_is_told(
    tmp_path: Path, url: str, told: str
) -> None:
    said = CliRunner().invoke(app, ["run", "--limit=1", f"--set=run.checkpoints={url}", f"--out={tmp_path / 'out'}"])
    assert said.exit_code == 2 and "run.checkpoints" in said.stderr and told in said.stderr
    assert "pep" not in said.output and "4711" not in said.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_wrong_password_is_refused_and_not_told(tmp_path: Path, server: str) -> None:
    url = servers.new_database(server, guarded=True).replace(servers.PASSWORD, "salt-4712")
    with pytest.raises(ConfigurationError, match=r"run\.checkpoints: .*password authentication failed") as refused:
        run(kept_in(url, short()), tmp_path / "out")
    assert "salt" not in str(refused.value) and "4712" not in str(refused.value)
    assert refused.value.__cause__ is None and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_database_where_no_tables_may_be_made_is_refused_with_what_its_user_needs(server: str) -> None:
    url = servers.new_database(server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
    for refused in (url.replace("postgres:@", "guest@"), f"{url}&options=-c%20default_transaction_read_only%3Don"):
        with pytest.raises(ConfigurationError, match=r"; let its user create and write tables there \("):
            asyncio.run(check_postgres(refused))


async def test_a_database_that_is_away_is_told_of_once_and_not_with_each_lost_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_postgres("postgresql://127.0.0.1:1/db") as saver:
        pool = cast(Any, saver).conn
        while not pool.get_stats().get("connections_errors"):  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(0.01)
    assert not caplog.records


@pytest.mark.slow
def test_the_password_is_written_nowhere(
    tmp_path: Path, server: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    url = servers.new_database(server, guarded=True)
    arguments = ["run", "--limit=1", "--set=retrieval=false", f"--set=run.checkpoints={url}", f"--out={tmp_path}"]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(written) >= 4
    for file in written:
        assert servers.PASSWORD.encode() not in file.read_bytes(), file
    assert servers.PASSWORD not in said.output + caplog.text + "".join(capsys.readouterr())


@pytest.mark.slow
def test_a_database_that_goes_away_fails_each_case_with_its_reason_and_the_run_goes_on_later(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from psycopg import OperationalError

    async def gone(*_: Any) -> None:
        raise OperationalError("the connection is lost")

    experiment = kept_in(database, short(max_outage=0))  # nobody waits for it
    with monkeypatch.context() as patched:
        patched.setattr(AsyncPostgresSaver, "aput", gone)
        summary = run(experiment, tmp_path)
    assert summary["failed"] == summary["attempted"] == 3
    assert run(experiment, tmp_path)["scored"] == 3


def test_postgres_without_its_packages_is_refused_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.postgres.aio", None)
    with pytest.raises(ConfigurationError, match=r"run\.checkpoints: .*pip install 'wardround\[postgres\]'"):
        run(kept_in("postgresql://localhost/db", short()), tmp_path / "out")
    assert not (tmp_path / "out").exists()


async def test_a_disk_without_room_for_checkpoints_stops_the_run_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: AsyncSqliteSaver) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(AsyncSqliteSaver, "setup", fails)
    with pytest.raises(RunStoppedError, match=r"checkpoints.sqlite: cannot be written \(disk I/O error\); fix this"):
        async with open_sqlite(tmp_path / "checkpoints.sqlite"):
            pass


async def test_checkpoints_that_a_full_disk_keeps_from_being_opened_are_not_taken_for_damaged(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE t (x)")
    kept, (soft, hard) = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(RunStoppedError, match="cannot be written: disk I/O error; the disk may be full; fix this"):
            async with open_sqlite(file):
                pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == kept and not (tmp_path / "damaged").exists()


async def test_checkpoints_that_may_not_be_opened_stop_the_run_and_are_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_: Path) -> sqlite3.Connection:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    file = tmp_path / "checkpoints.sqlite"
    file.touch()
    monkeypatch.setattr("wardround.run.checkpoints._open", refuses)
    with pytest.raises(RunStoppedError, match=r"unable to open database file; is it yours to read and write\?; fix"):
        async with open_sqlite(file):
            pass
    assert file.exists() and not (tmp_path / "damaged").exists()


async def test_checkpoints_in_a_folder_that_became_read_only_stop_the_run_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_: Any) -> None:
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("aiosqlite.Connection.execute", refuses)
    with pytest.raises(RunStoppedError, match=r"checkpoints.sqlite: cannot be written \(attempt to write a readonly"):
        async with open_sqlite(tmp_path / "checkpoints.sqlite"):
            pass
