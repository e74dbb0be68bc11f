"""A stage put between examination and diagnosis: its own entry, its answer type, its prompts, and nothing else."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

import prompts.folders
from graphs.clinical_workflow import build_clinical_workflow
from nodes.state.chart import Chart
from nodes.state.decisions import Decision
from nodes.workflow.stages import STAGES, Stage, judges_after
from prompts import PromptError
from tests.graphs.scripting import builtin, calls, words

CASE = builtin("surgery-01")
TITLE = {"en": "Severity of the illness", "zh": "病情严重程度"}


class Severity(Decision):
    """How ill the patient is."""

    grade: Literal["mild", "moderate", "severe"]
    signs: list[str] = Field(default_factory=list)

    def choices(self) -> frozenset[str]:
        """The grade."""
        return frozenset({self.grade})


def as_ill_as_the_complaint_is_long(chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> dict[str, Any]:
    """Offline."""
    return {"grade": "severe", "signs": ["a sign of its own"]}


SEVERITY = Stage(name="severity", decision=Severity, without_model=as_ill_as_the_complaint_is_long)


@pytest.fixture
def severity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The workflow with the stage, and its prompts in a folder laid over ours."""
    for language, title in TITLE.items():
        folder = tmp_path / language / "medchain" / "stages"
        folder.mkdir(parents=True)
        (folder / "severity.md").write_text(f"# title\n{title}\n# task\nGrade it.\n# check\nIs it so?\n", "utf-8")
    before = list(STAGES.items())
    here = list(STAGES).index("diagnosis")
    STAGES.clear()
    STAGES.update([*before[:here], ("severity", SEVERITY), *before[here:]])
    yield tmp_path
    STAGES.clear()
    STAGES.update(before)


def test_its_decision_is_judged_by_later_physicians_and_stands_in_the_prompts_of_the_diagnosis(severity: Path) -> None:
    with prompts.folders.laid_over(severity):
        result = build_clinical_workflow().compile().invoke({"case": CASE}, context={"retrieval": False})
    assert judges_after(SEVERITY) == ("diagnosis", "treatment")
    assert result["decided"] == {"severity": {"grade": "severe", "signs": ["a sign of its own"]}}
    order = [record.stage.partition(":")[0] for record in result["decisions"]]
    assert order.index("history_taking.auxiliary") < order.index("severity") < order.index("diagnosis")
    shown = "Severity of the illness: severe; a sign of its own"
    for stage, seen in (
        ("history_taking.auxiliary", False),
        ("severity", False),
        ("diagnosis", True),
        ("treatment", True),
    ):
        asked = [call for call in result["trace"].calls if call.stage == stage and call.role in ("general", "feedback")]
        assert asked and all((shown in words(call)) == seen for call in asked), stage
    assert {
        call.id.split("/")[-1] for call in calls(result, "feedback") if call.stage == "history_taking.physical"
    } >= {"severity"}


def test_words_that_it_lacks_are_named_before_anything_is_run(severity: Path) -> None:
    english, chinese = (severity / language / "medchain" / "stages" / "severity.md" for language in ("en", "zh"))
    words = english.read_text("utf-8")
    english.write_text("# task\nGrade it.\n# check\nIs it so?\n", "utf-8")
    with prompts.folders.laid_over(severity), pytest.raises(PromptError, match=r"severity \(en\) lacks .* title"):
        build_clinical_workflow()
    english.write_text(words, "utf-8")
    chinese.unlink()
    with prompts.folders.laid_over(severity), pytest.raises(PromptError, match="zh/medchain/stages/severity"):
        build_clinical_workflow()


def test_a_stage_without_an_offline_rule_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="without_model"):
        Stage(name="severity", decision=Severity)  # type: ignore[call-arg]
