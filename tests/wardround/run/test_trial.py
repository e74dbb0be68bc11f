"""What is not ours is tried out on a case by rule, so that a fault of it is told before a model is paid."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm.events import watching
from nodes.state.decisions import Diagnosis
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stages import STAGES, Stage
from prompts.folders import OURS
from scoring.suite import SUITES
from tests.support.fake_server import FakeServer
from tests.support.runs import run, short
from wardround import plugins
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.selection import select
from wardround.run import trial
from wardround.run.trial import _rehearsed

ALONE = """\
from langgraph.graph import START, StateGraph
from nodes.asking import ask_at_stage
from nodes.offline.votes import majority
import wardround as wr

def by_rule(view):
    return majority(view.evidence())

@wr.strategy("{name}")
def alone(stage):
    doctor = wr.Role("lone_doctor", stage.name, "medchain/general", stage.decision, by_rule)

    @wr.node
    async def decide(state: wr.StageState, runtime):
        {decide}

    return StateGraph(wr.StageState, context_schema=wr.Context).add_node(decide).add_edge(START, "decide")
"""
METRIC = """\
import wardround as wr

@wr.metric("hasty", suite="medchain")
def hasty(case, answers):
    return {gives}
"""


@pytest.fixture(autouse=True)
def _forget_what_is_registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(STRATEGIES, "_entries", dict(STRATEGIES))
    monkeypatch.setattr(SUITES["medchain"].metrics, "_entries", {})
    yield


def load(folder: Path, source: str) -> None:
    (file := folder / f"theirs_{folder.name}.py").write_text(source, "utf-8")
    plugins.load_plugin(file)


def refused(experiment: Experiment, server: FakeServer, out: Path) -> str:
    """What a run is refused with, when nobody has been asked and nothing written."""
    with pytest.raises(ConfigurationError) as told:
        run(experiment, out)
    assert server.requests == [] and not out.exists()
    return str(told.value)


@pytest.mark.parametrize(
    ("decide", "told"),
    [
        ("if stage.name == 'treatment': raise KeyError('plan')\n        return {'decision': by_rule(wr.case_view("
         "state, stage, runtime.context))}", r"KeyError: 'plan' (plug-in theirs_"),
        ("return {'decision': 'home'}", "decided referral.level1 with a str; expected stage.decision, which is Triage"),
        ("return {}", "ended without a decision on referral.level1"),
        ("return {'decision': by_rule(wr.case_view(state, stage, runtime.context)), 'rounds': 2}",
         "left an invalid record of referral.level1: rounds: Input should be a valid list"),
        ("return {'decision': by_rule(wr.case_view(state, stage, runtime.context)), 'ended': 'agred'}",
         "left an invalid record of referral.level1: ended: Input should be 'agreed'"),
        ("return {'decision': by_rule(wr.case_view(state, stage, runtime.context)), 'minutes': [{'decison': 3}]}",
         "left an invalid record of referral.level1: rounds.0.decision: Field required"),
        ("return {'decision': by_rule(wr.case_view(state, stage, runtime.context)), 'presentation': None}",
         "AttributeError: 'NoneType' object has no attribute"),
        ("by_rule(wr.case_view(state, stage, runtime.context))", "node 'decide' returned NoneType; expected a dict"),
    ],
)  # fmt: skip
def test_a_strategys_fault_is_told_before_a_model_is_asked_at_whichever_stage_it_lies(
    decide: str, told: str, tmp_path: Path
) -> None:
    name = f"alone_{zlib.crc32(decide.encode())}"  # a graph is built once for a name
    load(tmp_path, ALONE.format(decide=decide, name=name))
    with FakeServer() as server:
        said = refused(short(server, limit=1, strategy=name), server, tmp_path / "out")
    assert told in said and said.startswith("dentistry-05, rehearsed by rule before a model is asked: ")


def test_a_node_that_asks_what_it_does_not_declare_is_told_before_a_model_is_asked(tmp_path: Path) -> None:
    decide = "return {'decision': await ask_at_stage(doctor, wr.case_view(state, stage, runtime.context), state, "
    source = ALONE.format(name="undeclared", decide=f"{decide}runtime.context)}}")
    load(tmp_path, source.replace("@wr.node", "@wr.node(asks=[])"))
    with FakeServer() as server:
        said = refused(short(server, limit=1, strategy="undeclared"), server, tmp_path / "out")
    assert "node 'decide' asks the role 'lone_doctor', but does not declare it: @wr.node(asks=...) (plug-in" in said


def test_who_asks_in_a_thread_that_does_not_know_the_case_is_refused_as_its_calls_would_be_paid_at_once(
    tmp_path: Path,
) -> None:
    decide = "asking = ask_at_stage(doctor, wr.case_view(state, stage, runtime.context), state, runtime.context)"
    thread = "return {'decision': await asyncio.get_running_loop().run_in_executor(None, asyncio.run, asking)}"
    source = ALONE.format(name="threaded", decide=f"{decide}\n        {thread}")
    load(tmp_path, f"import asyncio\n{source}")
    with FakeServer() as server:
        said = refused(short(server, limit=1, strategy="threaded"), server, tmp_path / "out")
    assert "'lone_doctor' is asked in a thread of its own; await it, or start the thread with asyncio.to_thread" in said


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("plan: str", "role 'lone_doctor': its offline rule returned Triage; expected Mine: "),
        (
            "department: str\n    urgency: str | None = None",
            "decided referral.level1 with a Mine; expected stage.decision",
        ),
    ],
)
def test_a_role_whose_answer_is_not_what_its_rule_gives_is_told_before_a_model_is_asked(
    fields: str, told: str, tmp_path: Path
) -> None:
    """The rule's answer was right, so the rehearsal passed, and each case failed after its paid calls."""
    name = f"foreign_{len(fields)}"
    decide = "return {'decision': await ask_at_stage(doctor, wr.case_view(state, stage, runtime.context), state, "
    source = ALONE.format(name=name, decide=f"{decide}runtime.context)}}")
    source = source.replace('"medchain/general", stage.decision', '"strategies/solo", Mine')
    load(tmp_path, f"from pydantic import BaseModel\n\nclass Mine(BaseModel):\n    {fields}\n\n{source}")
    with FakeServer() as server:
        assert told in refused(short(server, limit=1, strategy=name), server, tmp_path / "out")


def test_a_strategy_that_always_recalls_finds_nothing_where_retrieval_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("nodes.workflow.case_retrieval.memory_of")  # nobody is to search
    decide = "return {'decision': by_rule(wr.case_view(state, stage, runtime.context))}"
    steps = "add_node(recall.at(stage=stage)).add_node(decide).add_edge(START, 'recall').add_edge('recall', 'decide')"
    source = ALONE.format(name="always", decide=decide).replace('add_node(decide).add_edge(START, "decide")', steps)
    load(tmp_path, f"from nodes.workflow.case_retrieval import recall\n{source}")
    assert run(short(limit=1, strategy="always", retrieval=False), tmp_path / "out")["scored"] == 1


def test_two_calls_of_one_name_whose_second_would_get_the_firsts_answer_are_told_before_a_model_is_asked(
    tmp_path: Path,
) -> None:
    ask = "await ask_at_stage(doctor, wr.case_view(state, stage, runtime.context), state, runtime.context, 'vote')"
    source = ALONE.format(name="echo", decide=f"{ask}\n        return {{'decision': {ask}}}")
    load(tmp_path, source.replace("medchain/general", "medchain/question"))
    with FakeServer() as server:
        said = refused(short(server, limit=1, strategy="echo"), server, tmp_path / "out")
    assert "call referral.level1/lone_doctor/vote is made 2 times, and one answer may stand for all" in said
    assert "distinguish them by their `place`, or runs of a graph by the `scope` of its context" in said


@pytest.mark.parametrize(
    ("graph", "settings"),
    [("clinical_workflow", {"max_backtracks": 2}), ("dispute_resolution", {"patient": "ai_hospital", "interns": 2})],
)
async def test_no_two_calls_of_ours_have_one_name(graph: str, settings: dict[str, Any]) -> None:
    experiment = Experiment.model_validate({"graph": graph, "workflow": settings, "data": {"limit": 1}})
    [item] = select(experiment.data).items
    result, asked, _ = await _rehearsed(experiment, experiment.context, item)
    assert result.error is None and {*asked.values()} == {1}


@pytest.mark.parametrize("gives", ["answers.refferal.urgency", "'high'", "float('nan')", "1e308"])
def test_a_metric_that_fails_on_the_first_case_is_told_before_a_model_is_asked(gives: str, tmp_path: Path) -> None:
    load(tmp_path, METRIC.format(gives=gives))
    with FakeServer() as server:
        assert "hasty: metric failed: " in refused(short(server, limit=1), server, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("hangs", ["__import__('time').sleep(2)", "await __import__('asyncio').sleep(10**6)"])
def test_a_strategy_that_does_not_return_is_told_and_its_blocking_line_shown(
    hangs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wardround.run.trial._LIMIT", 1.0)
    name = f"alone_{zlib.crc32(hangs.encode())}"
    load(tmp_path, ALONE.format(decide=hangs, name=name))
    with FakeServer() as server:
        said = refused(short(server, limit=1, strategy=name), server, tmp_path / "out")
    assert "rehearsed by rule before a model is asked: has not ended after 1 s" in said
    assert "await" in hangs or f'theirs_{tmp_path.name}.py", line' in capfd.readouterr().err


@pytest.mark.slow
def test_a_prompt_that_asks_a_value_for_what_it_has_not_is_told_by_its_name_before_a_model_is_asked(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "words"
    for language in ("en", "zh"):
        own = folder / language / "medchain" / "general.md"
        own.parent.mkdir(parents=True)
        ours = (OURS / language / "medchain" / "general.md").read_text("utf-8")
        own.write_text(f"{ours}{{{{ chart.pulse }}}}\n", "utf-8")
    with FakeServer() as server:
        experiment = short(server, limit=1).model_copy(update={"prompts": str(folder)})
        said = refused(experiment, server, tmp_path / "out")
    assert "PromptError: prompt medchain/general (zh) cannot be rendered: " in said and "pulse" in said


def test_a_prompt_that_cannot_be_rendered_is_told_even_if_the_plug_in_catches_the_error(tmp_path: Path) -> None:
    """Each of its cases went without that question: the rehearsal passed it, and no record told of it."""
    decide = """view = wr.case_view(state, stage, runtime.context)
        try:
            decision = await ask_at_stage(doctor, view, state, runtime.context, "1")
        except Exception:
            decision = by_rule(view)
        return {"decision": decision}"""
    load(tmp_path, ALONE.format(decide=decide, name="catching").replace("medchain/general", "medchain/lone"))
    for language in ("en", "zh"):
        (own := tmp_path / "words" / language / "medchain" / "lone.md").parent.mkdir(parents=True)
        own.write_text("---\nvariables: [chart]\n---\n# system\nDecide.\n# user\n{{ chart.pulse }}\n", "utf-8")
    with FakeServer() as server:
        experiment = short(server, limit=1, strategy="catching").model_copy(update={"prompts": str(tmp_path / "words")})
        said = refused(experiment, server, tmp_path / "out")
    assert "prompt_error: prompt medchain/lone (zh) cannot be rendered: " in said and "pulse" in said


@pytest.mark.slow
def test_what_is_sound_runs_and_of_the_rehearsal_nothing_is_told_or_kept(tmp_path: Path) -> None:
    load(tmp_path, METRIC.format(gives="0.5"))
    told: list[dict[str, Any]] = []
    with FakeServer() as server, watching(told.append):
        summary = run(short(server, limit=2), tmp_path / "out")
    assert (summary["scored"], summary["scores"]["hasty"]["mean"]) == (2, 0.5)
    assert sum(event["event"] == "case_started" for event in told) == 2
    assert summary["tokens"] > 0 and len(server.requests) == sum(event["event"] == "call_started" for event in told)


def test_a_stage_of_a_clone_is_rehearsed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(*_: Any) -> None:
        raise ConfigurationError("rehearsed")

    monkeypatch.setitem(STAGES, "severity", Stage("severity", Diagnosis, lambda chosen, chart, options: {}))
    monkeypatch.setattr(trial, "_rehearsed", tell)
    with FakeServer() as server:
        assert refused(short(server, limit=1), server, tmp_path / "out") == "rehearsed"


def test_a_run_that_is_gone_on_with_is_not_rehearsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, METRIC.format(gives="0.5"))
    with FakeServer() as server:
        run(short(server, limit=1), tmp_path / "out")
        monkeypatch.delattr("wardround.run.trial._rehearsed")
        assert run(short(server, limit=1), tmp_path / "out")["scored"] == 1


def test_where_all_is_by_rule_the_run_itself_is_the_rehearsal(tmp_path: Path) -> None:
    load(tmp_path, METRIC.format(gives="answers.refferal.urgency"))
    summary = run(short(limit=1), tmp_path / "out")
    assert summary["scored"] == 1 and summary["scores"]["hasty"]["n"] == 0
