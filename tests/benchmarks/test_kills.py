"""What the benchmark of kills notices."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import kills
from cases import load_cases
from tests.support.recorded_runs import graded, write_run

CASES = [case.id for case in load_cases()][:2]


@pytest.mark.parametrize(("attempted", "noticed"), [(CASES, 0), (CASES[:1], 2)])
def test_a_case_that_the_uninterrupted_run_loses_as_well_as_the_killed_ones_is_a_difference(
    attempted: list[str], noticed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finished(_command: list[str], out: Path, _moment: object) -> bool:
        write_run(out, [graded(case) for case in attempted], data={"case_ids": CASES})
        (out / "summary.json").write_text('{"scores": {}}', "utf-8")
        return False

    monkeypatch.setattr(kills, "killed", finished)
    monkeypatch.setattr(kills, "find_damaged_runs", lambda _: [])  # these have no traces
    server: Any = SimpleNamespace(base_url="http://127.0.0.1:9/v1", requests=[])
    found = kills.kill_runs(server, tmp_path, kills=0, cases=2, concurrency=1, seed=1)
    assert len(found["differences"]) == noticed, found["differences"]
    assert all("attempted: was" in difference for difference in found["differences"])
