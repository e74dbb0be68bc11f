"""Pytest settings: Hypothesis without deadlines, which would measure the machine's load, and slow files first."""

import gc
import os
import signal
import tempfile
from functools import cache
from typing import Any

import pytest
from hypothesis import settings
from typer import testing
from xdist.scheduler import LoadFileScheduling

_STATE = tempfile.TemporaryDirectory()  # tests write nothing into the real home, nor do the commands that they start
os.environ["XDG_STATE_HOME"] = _STATE.name
gc.disable()  # until collection ends: looking for garbage took a tenth of its time
os.environ.setdefault("OMP_NUM_THREADS", "1")  # several processes share the cores; waiting threads would block them
for size in ("COLUMNS", "LINES"):  # set by pytest-xdist workers to a fake terminal's size
    os.environ.pop(size, None)
testing._get_command = cache(testing._get_command)  # build the commands once instead of for each test
# Tests stop programs with Ctrl-C, which a shell's background processes and their children ignore.
signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("local", settings.get_profile("default"), deadline=None)
# Hypothesis' own profile: the same examples every time, and none saved between runs.
settings.register_profile("ci", settings.get_profile("ci"), deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local"))


@pytest.fixture(autouse=True)
def _nothing_known_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take over nothing from another test, whose server may have had the same port."""
    from llm import forms, throttle

    monkeypatch.setattr(forms, "_known", {})
    monkeypatch.setattr(throttle, "_throttles", {})


# Files that share a process to pay once for importing PyTorch (8 s), or the program into the process from which
# commands are forked (`tests/support/processes.py`, 6 s).
_GROUPS = {
    "forked": (
        "tests/docs/test_commands.py",
        "tests/docs/test_site.py",
        "tests/end_to_end/test_consultations.py",
        "tests/end_to_end/test_keys.py",
        "tests/end_to_end/test_reconstruction.py",
        "tests/end_to_end/test_runs.py",
        "tests/examples/test_examples.py",
        "tests/llm/test_cache.py",
        "tests/llm/test_egress.py",
        "tests/wardround/commands/test_exit_codes.py",
        "tests/wardround/run/test_ray_engine.py",
        "tests/wardround/test_plugins.py",
        "tests/wardround/training/test_embeddings.py",
    ),
    "PyTorch": (
        "tests/docs/test_worked_example.py",
        "tests/graphs/test_reconstruction.py",
        "tests/llm/test_local_weights.py",
        "tests/nodes/reconstruction/",
        "tests/retrieval/test_embedding.py",
        "tests/retrieval/test_exactness.py",
        "tests/retrieval/test_token_vectors.py",
        "tests/scoring/metrics/test_recall.py",
        "tests/scoring/test_suite.py",
        "tests/wardround/commands/test_reconstruct_command.py",
        "tests/wardround/commands/test_tune_command.py",
        "tests/wardround/training/test_alignment.py",
        "tests/wardround/training/test_gates.py",
        "tests/wardround/tuning/",
    ),
}


def _group(nodeid: str) -> str | None:
    return next((group for group, files in _GROUPS.items() if nodeid.startswith(files)), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run groups of files first, then files with slow tests, so that no long one starts last."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (_group(item.nodeid) is None, item.path not in slow))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three processes for two cores, since many tests wait; two for those that only compute.

    Each takes 25 seconds of a processor by itself, for imports and for what is read once.
    """
    return 2 if config.getoption("markexpr") == "not slow" else 3


class _FilesByProcess(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid) or super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Assign each file, and all files of a group, to one process."""
    return _FilesByProcess(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Freeze imported and collected objects, since searching them for garbage took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Freeze what is left: pytest looks five times for garbage when it ends, two seconds and more in each process."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what `tests/real_model` recorded in any process; nothing if it did not run."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    if rows := [value for report in reports for name, value in report.user_properties if name == "seen"]:
        from tests.real_model.seen import table

        terminalreporter.section("a real model")
        terminalreporter.write_line(table(rows))
