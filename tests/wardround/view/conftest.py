"""Runs to look at, and the viewer over them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from llm import Event
from llm.trace import file_event
from prompts.templates import fence
from tests.support.hostile import HTML
from tests.support.recorded_runs import ENGLISH, call, discussed, graded, write_run
from tests.support.serving import serving
from wardround.store.result import Result
from wardround.store.run_directory import RunDirectory
from wardround.view.pages import Viewer
from wardround.view.run_library import Shelf

CASE, OTHER = ENGLISH


def report(diagnosis: str) -> dict[str, object]:
    return {"symptoms": "Pain.", "examinations": "", "diagnosis": [diagnosis], "basis": "", "treatment": ""}


def staged(case_id: str, diagnosis: float, **fields: object) -> Result:
    """A case of the clinical workflow."""
    scores = {"referral_level1": 1.0, "history_taking": 0.5, "diagnosis": diagnosis}
    return Result.model_validate(
        {"case_id": case_id, "epoch": 0, "termination": "completed", "scores": scores, **fields}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two suites, one hostile, one damaged, one not finished; and a folder that is none."""
    root = tmp_path_factory.mktemp("runs")
    said = [
        {"speaker": "doctor", "text": "Does it hurt?", "action": "Effective Inquiry"},
        {"speaker": "patient", "text": "Since Monday.", "facts": ["Pain since Monday."]},
    ]
    data = {"case_ids": [CASE, OTHER]}
    for name, words in (("one", "Gout"), ("two", "Acute gout")):
        results = [
            graded(CASE, 2.0, answers={"report": report(words), "dialogue": said}),
            Result(case_id=OTHER, epoch=0, termination="model_error", error="the server has gone"),
        ]
        prompt = [{"role": "user", "content": "The pericardium."}, {"role": "user", "image": "foot.png"}]
        write_run(root / "sweep" / name, results, {(CASE, 0): [call(messages=prompt)]}, data=data)
    steps = [
        call("diagnosis/general/discussion0/seat1", "general", stage="diagnosis", answer={"reasoning": "Tophi."}),
        call("diagnosis/summarizing/round0", "summarizing", stage="diagnosis", answer={"names": ["Gout"]}),
        call(
            "diagnosis/feedback/round0/treatment", "feedback", stage="diagnosis",
            answer={"accepted": False, "reason": "Too vague."},
        ),
        call("diagnosis/summarizing/round1", "summarizing", stage="diagnosis", answer={"reply": "Named now."}),
        call("history_taking/doctor/turn2", answer={"text": "And at night?"}),
        call("saps/response_generator/turn2", "response_generator", stage="saps", answer={"text": "At night too."}),
    ]  # fmt: skip
    steps = [one.model_copy(update={"started": float(second)}) for second, one in enumerate(steps)]
    course = {"stages": {"diagnosis": "exhausted"}, "rounds": {"diagnosis": 2}, "answers": {"diagnosis": ["Gout"]}}
    path = write_run(
        root / "clinical", [staged(CASE, 0.0, **course)], {(CASE, 0): steps}, graph="clinical_workflow",
        data={"limit": 3},
    )  # fmt: skip
    content = {"action": "Ambiguous Inquiry", "released": ["Woken by pain."]}
    event = Event(id="saps/released_memory/turn2", event="released_memory", stage="saps", content=content)
    file_event(event, str(RunDirectory(path).trace_file(CASE, 0)))
    content = {"cases": [{"case": "earlier-07", "similarity": 0.8126, "verified": True, "diagnosis": ["Old gout"]}]}
    event = Event(id="diagnosis/visit0/recalled4", event="recalled", stage="diagnosis", content=content)
    file_event(event, str(RunDirectory(path).trace_file(CASE, 0)))
    answers = {"report": report(HTML), "dialogue": [{"speaker": "doctor", "text": HTML, "action": HTML}]}
    messages = [{"role": "user", "content": fence(HTML, "the case")}]
    hostile = [call(f"{HTML}/1", model=HTML, messages=messages, answer={HTML: HTML}, error=HTML, stage=HTML)]
    results = [discussed(HTML, 1, answers=answers, models={HTML: [HTML]}, unscored={"diagnosis": HTML})]
    write_run(root / "hostile", results, {(HTML, 0): hostile}, data=data)
    damaged = write_run(root / "damaged", [graded(CASE), graded(OTHER)], data=data)
    lines = (damaged / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    (damaged / "results.jsonl").write_text(lines[0].replace("2.0", "4.0", 1) + lines[1] + lines[1][:30], "utf-8")
    (root / "broken").mkdir()
    (root / "broken" / "manifest.json").write_text("{", "utf-8")
    (root / "notes").mkdir()
    return root


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    with serving(Viewer(Shelf([folder]), follow=True)) as server:
        yield server
