"""Kills, outages and damage in turn, drawn by seeds: the run comes to the same end. ``benchmarks/kills.py`` goes on."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm import trace
from tests.support.damages import DAMAGES, damage
from tests.support.fake_server import FakeServer
from tests.support.runs import outcomes, run, short
from wardround.run.doctor import examine
from wardround.store.run_directory import RunDirectory

pytestmark = pytest.mark.slow

EVENTS = ("kill", "outage", "damage")


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer() as one:
        yield one


@pytest.fixture(scope="module")
def whole(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The outcomes of the run that nothing befell."""
    out = tmp_path_factory.mktemp("whole")
    run(short(server, limit=2, max_attempts=1), out)
    return results_of(out)


def results_of(out: Path) -> list[dict[str, Any]]:
    """The outcomes without what a call cost that was asked again."""
    return [{**one, "tokens": 0, "calls": 0} for one in outcomes(out)]


def killing(draw: random.Random) -> Any:
    """Writes records until a moment comes, before or after one of them."""
    real, left, after = trace._append, [draw.randrange(40)], draw.random() < 0.5

    def append(*arguments: Any) -> None:
        left[0] -= 1
        if left[0] < 0 and not after:
            raise Killed
        real(*arguments)
        if left[0] < 0:
            raise Killed

    return append


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_killed_cut_off_and_damaged_comes_to_the_same_end(
    tmp_path: Path, server: FakeServer, whole: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw, experiment = random.Random(seed), short(server, limit=2, max_attempts=1)
    told = []
    for event in draw.sample(EVENTS * 2, 4):
        told.append(event)
        if event == "damage":
            if (tmp_path / "manifest.json").exists():
                damage(tmp_path, draw.choice(DAMAGES), draw)
                findings = examine(RunDirectory(tmp_path), mend=True)
                assert not findings.left, f"{told}: {findings.left}"
            continue
        with monkeypatch.context() as patched:
            if event == "kill":
                patched.setattr(trace, "_append", killing(draw))
            server.faults = (lambda request: "503") if event == "outage" else ()
            try:
                run(experiment, tmp_path)
            except BaseExceptionGroup as error:
                assert error.subgroup(Killed), f"{told}: {error}"
            except Killed:
                pass
    server.faults = ()
    summary = run(experiment, tmp_path)
    assert (summary["scored"], summary["not_attempted"]) == (2, 0), told
    found = results_of(tmp_path)
    pairs = [(one, other, key) for one, other in zip(found, whole, strict=True) for key in one]
    differing = [(key, one[key], other[key]) for one, other, key in pairs if one[key] != other[key]]
    assert not differing, f"{told}: {differing}"
