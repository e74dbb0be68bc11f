"""A stage put between examination and diagnosis: its own entry, its answer type, its prompts, and nothing else."""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal
from unittest.mock import Mock

import pytest
from pydantic import BaseModel, Field
from typer.testing import CliRunner

import prompts.folders
from cases.registry import GivenError, RegistryError
from graphs.clinical_workflow import build_clinical_workflow
from nodes.offline.votes import Evidence, decision_of
from nodes.state.chart import Chart
from nodes.state.decisions import Decision
from nodes.workflow.stage_control import conclude
from nodes.workflow.stages import STAGES, Stage, by_name, judges_after, read_chart
from prompts import PromptError, load_prompt
from scoring.medchain.suite import columns
from tests.graphs.scripting import builtin, calls, findings, words
from wardround.cli import app

CASE = builtin("surgery-01")
TITLE = {"en": "Severity of the illness", "zh": "病情严重程度"}


class Severity(Decision):
    """How ill the patient is."""

    grade: Literal["mild", "moderate", "severe"]
    signs: list[str] = Field(default_factory=list)


class Misspelt(Severity):
    """Whose decisions would all be alike."""

    compared = ("grades",)


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


@pytest.mark.slow
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


def test_its_decision_is_compared_by_all_that_it_says() -> None:
    assert Severity(grade="mild", signs=["fever", "rash"]).choices() == {"mild", "fever", "rash"}


def test_what_it_says_with_no_or_zero_stands_in_the_chart(severity: Path) -> None:
    with prompts.folders.laid_over(severity):
        seen = read_chart(findings(decided={"severity": {"ventilated": False, "score": 0}}), "diagnosis", "en")
        assert "Severity of the illness: ventilated: False; score: 0\n" in f"{seen}\n"


def test_it_is_drawn_by_its_name(severity: Path) -> None:
    with prompts.folders.laid_over(severity):
        drawn = CliRunner().invoke(app, ["graph", "severity"])
    assert (drawn.exit_code, drawn.stderr) == (0, "")
    assert "discuss --> close_round;" in drawn.stdout


def test_a_column_that_nothing_scores_is_refused_with_the_way_to_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    own = dataclasses.replace(SEVERITY, column=("severity", "Severity"))
    monkeypatch.setitem(STAGES, "severity", own)
    with pytest.raises(
        RegistryError, match=r"column 'severity' is not one of .*@wr.metric\('severity', suite='medchain'"
    ):
        columns()


@pytest.mark.slow
def test_words_that_it_lacks_are_one_line_of_the_command_line(tmp_path: Path) -> None:
    """What is imported first builds the graph: no traceback stands in front of the reason."""
    start = (
        "import nodes.workflow.stages as table\n"
        "table.STAGES['severity'] = table.Stage('severity', table.Diagnosis, lambda *seen: {})\n"
        "from wardround.cli import main\nmain()"
    )
    command = [sys.executable, "-c", start, "run", "--out", str(tmp_path / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    missing = "error: there is no file prompts/en/medchain/stages/severity.md\n"
    assert (ended.returncode, ended.stderr) == (2, missing)


def test_a_stage_without_an_offline_rule_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="without_model"):
        Stage(name="severity", decision=Severity)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"name": "How severe"}, "expected a name such as"),
        ({"decision": dict}, "expected a subclass of Decision"),
        ({"decision": BaseModel}, "expected a subclass of Decision"),
        ({"without_model": lambda chosen: {}}, r"without_model of stage 'severity': .*\(chosen, chart, options\)"),
        ({"options": lambda chart: ()}, r"options of stage 'severity': .*\(chart, context\)"),
        ({"recalls": ("complaint",)}, "recalls: unknown 'complaint': did you mean 'chief_complaint'"),
        ({"shows": ("severity",)}, "shows: unknown 'severity': expected one of diagnosis, "),
        ({"decision": Misspelt}, "stage 'severity': Misspelt.compared: unknown 'grades': did you mean 'grade'"),
    ],
)
def test_a_stage_that_could_not_be_decided_is_refused_when_it_is_declared(fault: dict[str, Any], told: str) -> None:
    with pytest.raises(RegistryError, match=told):
        dataclasses.replace(SEVERITY, **fault)


def test_what_a_stage_gives_without_a_model_and_is_no_decision_is_told_by_the_stages_name() -> None:
    odd = dataclasses.replace(SEVERITY, without_model=lambda chosen, chart, options: {"level": "odd"})
    with pytest.raises(GivenError, match="stage 'severity': without_model returned an invalid decision: "):
        decision_of(Evidence(odd, Mock(spec=Chart), []), [])


def test_two_stages_of_one_name_are_refused_as_one_would_be_left_out_in_silence() -> None:
    with pytest.raises(RegistryError, match="stage 'severity': another stage has this name"):
        by_name([SEVERITY, dataclasses.replace(SEVERITY, single=True)])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("follow_up", "another node of the workflow has this name"),
        ("aftercare.plan", "no graph asks for this decision; choose a name without a dot"),
        ("referral.severity", "no graph asks for this decision; choose a name without a dot"),
    ],
)
def test_a_stage_without_a_node_of_its_own_is_refused(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGES, name, dataclasses.replace(SEVERITY, name=name))
    with pytest.raises(RegistryError, match=f"stage '{name}': {told}"):
        build_clinical_workflow()


async def test_what_the_findings_would_drop_of_a_decision_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    own = dataclasses.replace(SEVERITY, outcome=lambda stage, decision, findings: {"severity": decision})
    monkeypatch.setitem(STAGES, "severity", own)
    with pytest.raises(GivenError, match="stage 'severity': outcome gives severity, which its output does not have"):
        await conclude.function({"decision": Severity(grade="mild")}, Mock(), stage=own, strategy="group")


def test_whoever_is_in_charge_of_it_is_called_by_its_title(severity: Path) -> None:
    values = {"chart": "", "image_class": None, "options": [], "file": [], "judge": "severity", "reply": ""}
    values |= {"decision": Severity(grade="mild"), "neighbours": "", "seat": 1}
    with prompts.folders.laid_over(severity):
        for language, title in TITLE.items():
            prompt = load_prompt("medchain/feedback", language, "diagnosis")
            assert title in prompt.render(values)[1].splitlines()[-1]
