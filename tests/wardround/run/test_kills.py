"""A case killed between any two writes goes on to the same end: what reaches the disk after that moment is dropped."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.support.fake_server import FakeServer
from tests.support.runs import IDS, SHORT, outcomes, run, spec
from wardround.config.experiment import Experiment
from wardround.run.runner import run_experiment

pytestmark = pytest.mark.slow


class Killed(BaseException):
    """The end of the process, as far as the disk is concerned."""


class Disk:
    """Counts the writes of checkpoints, and takes none after a moment."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.writes: list[tuple[str, str]] = []

    def write(self, kind: str, namespace: str) -> None:
        if self.last is not None and len(self.writes) > self.last:
            raise Killed
        self.writes.append((kind, namespace))

    def begin(self, last: int | None) -> None:
        self.last, self.writes = last, []


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    kept = Disk()
    for kind in ("aput", "aput_writes"):
        real = getattr(AsyncSqliteSaver, kind)

        async def write(
            self: AsyncSqliteSaver, config: Any, *arguments: Any, _real: Any = real, _kind: str = kind
        ) -> Any:
            kept.write(_kind, config["configurable"].get("checkpoint_ns", ""))
            return await _real(self, config, *arguments)

        monkeypatch.setattr(AsyncSqliteSaver, kind, write)
    yield kept


# Short ways through each graph, of the settings that it obeys.
SETTINGS: dict[str, dict[str, Any]] = {
    "clinical_workflow": {**SHORT, "max_turns": 1},
    "dispute_resolution": {"retrieval": False, "max_turns": 1, "interns": 2, "max_rounds": 1},
    "reconstruction": {"max_turns": 1},
}


def experiment(server: FakeServer, graph: str) -> Experiment:
    return Experiment.model_validate(
        {
            "graph": graph,
            "data": {"case_ids": IDS[:1]},
            "models": {"default": spec(server)},
            "workflow": SETTINGS[graph],
            "run": {"concurrency": 1},
        }
    )


@pytest.mark.parametrize("graph", SETTINGS)
def test_a_case_killed_between_two_writes_goes_on_to_the_same_end(tmp_path: Path, disk: Disk, graph: str) -> None:
    """After each write of a node of the outer graph, before the step's own checkpoint; and at other moments."""
    with FakeServer() as server:
        run(experiment(server, graph), tmp_path / "whole")
        asked = len(server.requests)
        writes = list(disk.writes)
        of_nodes = [place for place, (kind, namespace) in enumerate(writes) if kind == "aput_writes" and not namespace]
        moments = sorted({*of_nodes, *range(0, len(writes), max(1, len(writes) // 8))})
        for moment in moments:
            out = tmp_path / str(moment)
            disk.begin(moment)
            with pytest.raises(BaseException):  # noqa: B017 - the last writes end a run in several ways
                asyncio.run(run_experiment(experiment(server, graph), out))
                raise Killed
            disk.begin(None)
            before = len(server.requests)
            run(experiment(server, graph), out)
            assert outcomes(out) == outcomes(tmp_path / "whole"), f"killed after write {moment}: {writes[moment]}"
            assert len(server.requests) - before <= asked
