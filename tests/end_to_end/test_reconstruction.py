"""Whole reconstructions in processes of their own: killed, faulty servers, and real notes."""

import json
import random
import re
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases, save_cases
from cases.dialogues import Dialogue
from cases.note_files import read_notes
from nodes.reconstruction.gates import check_dialogue
from tests.support.fake_server import ChatRequest, FakeServer, FaultPlan
from tests.support.processes import Forked, to_its_end
from tests.support.schema_sampler import sample
from wardround.store.durable_lines import whole_lines

pytestmark = pytest.mark.slow

DATASETS = Path(__file__).resolve().parents[3] / "shared" / "datasets"
DIGITS = str.maketrans("0123456789", "ghijklmnop")


def wordy(request: ChatRequest) -> Any:
    """A sample of the schema without digits, which no note would hold."""
    text = json.dumps(sample(request.schema or {}, random.Random(request.digest)))
    return json.loads(re.sub(r"(?<= )[0-9a-f]{4}\b", lambda found: found[0].translate(DIGITS), text))


def reconstruct(out: Path, *more: object, source: object = "builtin") -> list[object]:
    return ["reconstruct", source, "-o", out, *more]


@pytest.fixture
def chinese_notes(tmp_path: Path) -> Path:
    """The notes of four cases in Chinese: the network for English takes seconds to load, in each process."""
    file = tmp_path / "notes.jsonl"
    save_cases([case for case in load_cases() if case.language == "zh"][:4], file)
    return file


def killed_when(arguments: list[object], moment: Callable[[], bool]) -> None:
    with Forked(arguments) as process:
        process.stopped_when(moment, signal.SIGKILL)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in whole_lines(path)]


def outcomes(out: Path) -> list[str]:
    """Every dialogue and failure, in an order of their own."""
    failed = lines(out.with_name(f"{out.stem}.failed.jsonl"))
    return sorted(json.dumps(line, sort_keys=True) for line in [*lines(out), *failed])


def test_a_killed_reconstruction_goes_on_to_the_same_dialogues_and_asks_nothing_twice(
    tmp_path: Path, chinese_notes: Path
) -> None:
    with FakeServer(answer=wordy) as server:
        more = ("--limit", 2, "--concurrency", 2, "--models", f"openai:fake-model@{server.base_url}")
        command = partial(reconstruct, source=chinese_notes)
        assert to_its_end(command(tmp_path / "whole.jsonl", *more)).returncode in (0, 1)
        whole = Counter(request.digest for request in server.requests)
        server.requests = []
        killed = command(tmp_path / "killed.jsonl", *more)
        server.hold_answers(12)
        killed_when(killed, server.is_holding)
        unfinished = {request.digest for request in server.requests if request.time_out is None}
        server.release()
        with (tmp_path / "killed.jsonl").open("ab") as file:
            file.write('{"id": "热'.encode()[:-1])  # a line that was torn
        ended = to_its_end(killed)
        paid = Counter(request.digest for request in server.requests)
    assert "Traceback" not in ended.stderr, ended.stderr
    assert outcomes(tmp_path / "killed.jsonl") == outcomes(tmp_path / "whole.jsonl")
    assert paid.keys() == whole.keys()
    twice = {digest for digest in paid if paid[digest] > whole[digest]}
    assert len(twice - unfinished) <= 2, "of two notes under way, only what had just been answered is asked again"


def test_under_faults_every_note_ends_as_a_dialogue_that_passes_or_a_failure_with_its_reason(
    tmp_path: Path, chinese_notes: Path
) -> None:
    out = tmp_path / "d.jsonl"
    shares: Any = {"429": 0.08, "500": 0.05, "cut_json": 0.06, "schema_violation": 0.06}
    with FakeServer(faults=FaultPlan(3, shares), retry_after=0.02) as server:
        settings = ("--concurrency", 4, "--set", "workflow.whole_dialogue=true")
        command = reconstruct(out, *settings, "--models", f"openai:fake-model@{server.base_url}", source=chinese_notes)
        killed_when(command, lambda: len(lines(out)) + len(lines(tmp_path / "d.failed.jsonl")) >= 1)
        ended = to_its_end(command)
    kept, failed = lines(out), lines(tmp_path / "d.failed.jsonl")
    assert ended.returncode == (1 if failed else 0) and "Traceback" not in ended.stderr
    assert sorted(line["id"] for line in [*kept, *failed]) == sorted(note.id for note in read_notes(str(chinese_notes)))
    assert all(not check_dialogue(Dialogue.model_validate(line)) for line in kept)
    for line in failed:
        assert line["gates"] if line["termination"] == "gates" else line["error"]


@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
@pytest.mark.parametrize("name", ["agentclinic/agentclinic_medqa.jsonl", "mts_dialog/MTS-Dialog-TestSet-1.csv"])
def test_real_notes_become_dialogues_that_pass_the_gates_offline(tmp_path: Path, name: str) -> None:
    ended = to_its_end(reconstruct(tmp_path / "d.jsonl", "--limit", 8, source=DATASETS / name))
    assert len(lines(tmp_path / "d.jsonl")) >= 7 and "Traceback" not in ended.stderr
