"""One case to its end: limits stop it, and what it had is scored; what was paid is not paid again."""

import json
import re
import sqlite3
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from rich.console import Console
from typing_extensions import TypedDict

from cases import AnswerKey, load_cases
from cases.files import save_cases
from graphs import one_step
from llm import ModelError
from nodes.patients.systems import PATIENTS
from nodes.strategies.registry import STRATEGIES
from retrieval import EmbeddingModelError, Memory
from scoring.case_scores import NO_KEY
from scoring.medchain.answers import INFERRED
from scoring.suite import SUITES
from tests.llm.test_model_objects import Exiting
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.runs import IDS, SHORT, calls, outcomes, results, run, short, spec
from wardround import plugins
from wardround.commands.summary_table import summary_table
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.run.faults import contain_tasks, describe_fault, termination_of
from wardround.run.own_loop import in_own_loop
from wardround.store.durable_lines import RunStoppedError
from wardround.store.recorded_run import find_runs
from wardround.tables import scores

JUDGES = {"claim_extractor", "claim_judge", "diagnosis_judge"}


def limited(server: FakeServer, limits: dict[str, Any], **fields: Any) -> Experiment:
    return Experiment.model_validate(
        {
            "data": {"case_ids": IDS[:3]},
            "models": {"default": spec(server)},
            "workflow": SHORT,
            "limits": limits,
            "run": {"concurrency": 2},
        }
        | fields
    )


def asked(out: Path, case_id: str) -> list[str]:
    """The roles of a case that were asked, without its judges."""
    return [call["role"] for call in calls(out, case_id) if call["role"] not in JUDGES and call["attempts"]]


@pytest.mark.parametrize("most", [0, 5])
def test_a_case_at_its_limit_is_scored_with_what_it_has_and_marked(tmp_path: Path, most: int) -> None:
    with FakeServer() as server:
        summary = run(limited(server, {"case": {"calls": most}}), tmp_path)
    assert (summary["attempted"], summary["scored"], summary["failed"], summary["limited"]) == (3, 3, 0, 3)
    for result in results(tmp_path):
        assert result.termination == "case_calls_limit" and result.error is not None
        assert set(result.scores) and len(asked(tmp_path, result.case_id)) == most
        assert result.calls == sum(call["attempts"] > 0 for call in calls(tmp_path, result.case_id))
    assert summary["scores"]["treatment"]["mean"] == 0.0


def test_a_case_that_fails_is_recorded_with_the_scores_that_its_key_has_nothing_for(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if case.id == IDS[0])
    key = AnswerKey(diagnosis=["Gout"], examination_items=["CT"], inferred=["examination_items"])
    bare = case.model_copy(update={"key": key})
    save_cases([bare], tmp_path / "bare.jsonl")
    with FakeServer(faults=lambda request: "schema_violation") as server:
        experiment = Experiment.model_validate(
            {
                "data": {"cases": str(tmp_path / "bare.jsonl")},
                "models": {"default": spec(server)},
                "workflow": {**SHORT, "repairs": 0},
            }
        )
        summary = run(experiment, tmp_path / "out")
    (failed,) = results(tmp_path / "out")
    assert (failed.termination, failed.scores) == ("unparseable_answer", {}) and "diagnosis" not in failed.unscored
    assert failed.unscored["treatment"] == NO_KEY and failed.unscored["history_taking"] == INFERRED
    assert summary["failed_as_wrong"]["average"]["mean"] == summary["failed_as_wrong"]["diagnosis"]["mean"] == 0.0
    assert summary["failed_as_wrong"]["treatment"]["n"] == 0


def test_a_doctor_who_repeats_one_turn_to_the_end_is_told_with_the_scores(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> dict[str, Any] | None:
        return {"text": "Since when has it been so?", "finished": False} if request.name == "DoctorTurn" else None

    with FakeServer(answer=answer) as server:
        experiment = Experiment.model_validate(
            {
                "graph": "consultation",
                "data": {"case_ids": IDS[:2]},
                "models": {"doctor": spec(server)},
                "workflow": {"retrieval": False, "max_turns": 6, "patient": "saps"},
            }
        )
        summary = run(experiment, tmp_path / "out")
    said = "In 2 of 2 dialogues, the doctor repeated one turn to the end."
    assert [result.repeating for result in results(tmp_path / "out")] == [["doctor"], ["doctor"]]
    assert summary["repeating"] == {"dialogues": 2, "doctor": 2}
    [table] = scores.build(find_runs([tmp_path / "out"]))
    assert said in table.notes
    console = Console(width=200)
    with console.capture() as printed:
        console.print(summary_table(summary, SUITES[experiment.scored_by]))
    assert said in printed.get()


def test_a_limited_case_is_final_and_asks_nothing_again(tmp_path: Path) -> None:
    with FakeServer() as server:
        first = run(limited(server, {"case": {"calls": 5}}), tmp_path)
        sent = len(server.requests)
        assert run(limited(server, {"case": {"calls": 5}}), tmp_path) == first and len(server.requests) == sent


def test_a_role_has_a_limit_of_its_own(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(limited(server, {"roles": {"general": {"calls": 2}}}), tmp_path)
    for result in results(tmp_path):
        assert result.termination == "role_calls_limit" and asked(tmp_path, result.case_id).count("general") == 2


def test_tokens_are_limited_to_within_one_call(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(limited(server, {"case": {"tokens": 1}}), tmp_path)
    assert {result.termination for result in results(tmp_path)} == {"case_tokens_limit"}


@pytest.mark.slow
def test_a_run_at_its_limit_stops_and_goes_on_to_the_same_end_when_the_limit_is_raised(tmp_path: Path) -> None:
    with FakeServer() as server:
        run(limited(server, {}), tmp_path / "free")
        free = len(server.requests)
        stopped = run(limited(server, {"run": {"calls": 25}}), tmp_path / "limited")
        assert stopped["attempted"] < 3 or stopped["limited"] > 0
        assert stopped["attempted"] + stopped["not_attempted"] == 3
        raised = run(limited(server, {}), tmp_path / "limited")
        assert raised["not_attempted"] == 0 and raised["limited"] == 0
    # Judges of a case that was stopped in its course were asked about another state of it, and that was paid.
    paid = {"calls", "tokens", "cost", "seconds", "run"}
    ends = [[one.model_dump(exclude=paid) for one in results(tmp_path / name)] for name in ("limited", "free")]
    assert ends[0] == ends[1]
    courses = [len(asked(tmp_path / "limited", case_id)) for case_id in IDS[:3]]
    assert courses == [len(asked(tmp_path / "free", case_id)) for case_id in IDS[:3]]
    assert free > 0


def test_a_case_that_a_limit_stopped_goes_on_after_its_file_and_pictures_have_moved(tmp_path: Path) -> None:
    """Its checkpoint has the pictures' paths, under which none was found any more."""
    one = next(case for case in load_cases() if case.split == "test" and case.examinations.images)
    save_cases([one], tmp_path / "here" / "cases.jsonl")

    def experiment(folder: str, limits: dict[str, Any]) -> Experiment:
        workflow = {**SHORT, "all_pictures": True}
        return limited(server, limits, data={"cases": str(tmp_path / folder / "cases.jsonl")}, workflow=workflow)

    with FakeServer() as server:
        run(experiment("here", {}), tmp_path / "whole")
        stopped = run(experiment("here", {"run": {"calls": 5}}), tmp_path / "out")
        assert stopped["terminations"] == {"run_calls_limit": 1}
        (tmp_path / "here").rename(tmp_path / "there")
        assert run(experiment("there", {}), tmp_path / "out")["terminations"] == {"completed": 1}
    assert len(asked(tmp_path / "out", one.id)) == len(asked(tmp_path / "whole", one.id))
    assert results(tmp_path / "out")[0].scores == results(tmp_path / "whole")[0].scores


def test_a_limit_of_cost_without_a_price_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with (
        FakeServer() as server,
        pytest.raises(ConfigurationError, match=r"no price is known for openai:fake-model@.*prices"),
    ):
        run(limited(server, {"run": {"cost": 1.0}}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_cost_of_a_case_is_limited_by_the_prices_that_are_given(tmp_path: Path) -> None:
    with FakeServer() as server:
        workflow = {**SHORT, "prices": {spec(server): [1_000_000.0, 1_000_000.0]}}
        summary = run(limited(server, {"case": {"cost": 0.5}}, workflow=workflow), tmp_path)
    assert summary["terminations"] == {"case_cost_limit": 3} and summary["cost"] > 0.5


@pytest.mark.slow
def test_answers_of_an_earlier_run_are_taken_from_the_cache(tmp_path: Path) -> None:
    with FakeServer() as server:
        kept = {"run": {"concurrency": 2, "cache": str(tmp_path / "cache.sqlite")}}
        run(limited(server, {}, **kept), tmp_path / "first")
        sent = len(server.requests)
        run(limited(server, {}, **kept), tmp_path / "second")
        assert len(server.requests) == sent
        # Another epoch is another sample.
        run(limited(server, {}, epochs=2, **kept), tmp_path / "epochs")
        assert len(server.requests) == 2 * sent

    def scores(out: Path) -> list[Any]:
        return [(result.case_id, result.scores, result.answers) for result in results(out)]

    assert scores(tmp_path / "first") == scores(tmp_path / "second")
    assert not any(json.loads(line)["cost"] for line in (tmp_path / "second" / "results.jsonl").open())


@pytest.mark.slow
def test_a_database_that_fails_is_told_as_such_and_the_case_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: Any, **__: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with FakeServer() as server:
        run(limited(server, {}), tmp_path / "whole")
        with monkeypatch.context() as patched:
            patched.setattr(AsyncSqliteSaver, "aput", lost)
            assert run(limited(server, {}), tmp_path / "lost")["terminations"] == {"checkpoint_error": 3}
        run(limited(server, {}), tmp_path / "lost")
    assert outcomes(tmp_path / "lost") == outcomes(tmp_path / "whole")


def test_an_embedding_model_that_cannot_be_loaded_ends_the_run_before_every_case_has_paid_to_find_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unable(*_: Any, **__: Any) -> None:
        raise EmbeddingModelError("embedding model 'x' cannot be imported; run `pip install x`")

    with FakeServer() as server:
        run(limited(server, {}, workflow={**SHORT, "retrieval": True}), tmp_path / "whole")
        with monkeypatch.context() as patched:
            patched.setattr(Memory, "recall", unable)
            with pytest.raises(RunStoppedError, match="pip install x`; fix this, then run the same command again"):
                run(limited(server, {}, workflow={**SHORT, "retrieval": True}), tmp_path / "unable")
        run(limited(server, {}, workflow={**SHORT, "retrieval": True}), tmp_path / "unable")
    assert outcomes(tmp_path / "unable") == outcomes(tmp_path / "whole")


OWN = """
from langgraph.graph import START, StateGraph
import wardround as wr

async def say(state: wr.PatientSideState):
    dialogue = state["dialogue"]
    {said}
    return {{"dialogue": [*dialogue, wr.Turn(speaker="patient", text="Hm.")]}}

@wr.patient("stranger", examines=False)
def stranger():
    return StateGraph(wr.PatientSideState).add_node("say", say).add_edge(START, "say")
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("1 / 0", r"ZeroDivisionError: division by zero \(plug-in {module}, line 7\)"),
        ("wr.Turn(speaker='nobody', text='Hm.')", r"ValidationError: speaker: .*\(plug-in {module}, line 7\)"),
        ("import sys; sys.exit(3)", r"SystemExit: 3 \(plug-in {module}, line 7\)"),
        (
            "import asyncio; raise asyncio.CancelledError",
            r"CancelledError: raised by the code itself; nothing cancelled the case \(plug-in {module}, line 7\)",
        ),
        ("import sqlite3; sqlite3.connect('/nowhere/x')", r"OperationalError: .*\(plug-in {module}, line 7\)"),
        (
            "return {{'dialogue': state['dialogue'], 'dialogue_ended': 'bored'}}",
            r"NoReplyError: patient 'stranger' returned dialogue_ended = 'bored'; expected one of '', 'concluded', ",
        ),
        ("return {{}}", r"NoReplyError: patient 'stranger' returned no reply; expected [^(]*\(\.\.\.\)\]\}}$"),
        ("dialogue = []", "NoReplyError: patient 'stranger' returned a dialogue without the earlier turns; expected"),
        (
            "return {{'dialogue': dialogue[-1]}}",
            "NoReplyError: patient 'stranger' returned Turn as its dialogue; expected ",
        ),
        (
            "dialogue = [*dialogue, {{'speaker': 'patient', 'text': 'Hm.'}}]",
            "NoReplyError: patient 'stranger' returned a dialogue of dict; expected wr.Turn$",
        ),
        (
            "return {{'dialogue': [*dialogue, wr.Turn(speaker='patient', text=' ...')]}}",
            r"NoReplyError: patient 'stranger' returned a reply without words \(' \.\.\.'\) and without a picture$",
        ),
        (
            "return {{'dialogue': [*dialogue, wr.Turn(speaker='patient', text='', pictures=[{{'item': 'CT', 'file': "
            "'a.png'}}])]}}",
            "NoReplyError: patient 'stranger' handed over 'a.png'; expected the absolute path of a picture$",
        ),
        (
            "dialogue = [*dialogue, wr.Turn.model_construct(speaker='nurse', text='Hm.')]",
            "NoReplyError: patient 'stranger' returned an invalid wr.Turn: speaker: Input should be 'doctor', ",
        ),
        (
            "dialogue = [*dialogue, dialogue[-1].model_copy(update={{'speaker': 'patient', 'pictures': [{{'item': "
            "'CT', 'file': '/a.png'}}]}})]",
            r"NoReplyError: patient 'stranger' put pictures into a copied wr.Turn; expected wr.Turn\(",
        ),
        (
            "dialogue = [*dialogue, dialogue[-1].model_copy(update={{'text': 'No fever?'}})]",
            r"NoReplyError: patient 'stranger' spoke for the doctor \('No fever\?'\); expected a turn of its own side$",
        ),
    ],
)
def test_a_fault_in_a_plug_ins_code_ends_a_case_by_a_reason_of_its_own(
    said: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(PATIENTS, "_entries", dict(PATIENTS))
    module = f"stranger_{zlib.crc32(said.encode())}"
    (tmp_path / f"{module}.py").write_text(OWN.format(said=said.format()), "utf-8")
    plugins.load_plugin(tmp_path / f"{module}.py")
    summary = run(short(limit=1, patient="stranger"), tmp_path / "out")
    (result,) = results(tmp_path / "out")
    assert summary["terminations"] == {"plugin_error": 1} and summary["failed"] == 1
    assert result.error is not None and re.match(told.format(module=module), result.error), result.error


@pytest.mark.slow
def test_an_endless_graph_of_a_plug_in_ends_before_it_has_cost_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(STRATEGIES, "_entries", dict(STRATEGIES))
    (tmp_path / "round_and_round.py").write_text(
        "from langgraph.graph import START, StateGraph\nimport wardround as wr\nasked = []\n"
        "async def ask(state: wr.StageState):\n    asked.append(1)\n    return {}\n"
        "@wr.strategy('endless')\ndef endless(stage):\n    builder = StateGraph(wr.StageState).add_node('ask', ask)\n"
        "    return builder.add_edge(START, 'ask').add_edge('ask', 'ask')\n",
        "utf-8",
    )
    plugins.load_plugin(tmp_path / "round_and_round.py")
    summary = run(short(limit=1, strategy="endless"), tmp_path / "out")
    assert summary["terminations"] == {"plugin_error": 1}
    assert len(sys.modules["round_and_round"].asked) <= 2_000


def test_a_plug_in_that_waits_for_a_person_fails_its_case_and_is_refused_before_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case, interrupted in its first stage, counted as completed, and each of its scores was 0."""
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(STRATEGIES, "_entries", dict(STRATEGIES))
    (tmp_path / "waits_for_a_board.py").write_text(
        "from langgraph.graph import START, StateGraph\nfrom langgraph.types import interrupt\nimport wardround as wr\n"
        "def sign(state: wr.StageState):\n    return {'decision': interrupt('Do you agree?')}\n"
        "@wr.strategy('signed')\ndef signed(stage):\n"
        "    return StateGraph(wr.StageState).add_node(sign).add_edge(START, 'sign')\n",
        "utf-8",
    )
    plugins.load_plugin(tmp_path / "waits_for_a_board.py")
    told = r"waits for a person's answer, whom a run cannot ask \('Do you agree\?'\); call the graph from Python"
    assert run(short(limit=1, strategy="signed"), tmp_path / "out")["terminations"] == {"plugin_error": 1}
    (result,) = results(tmp_path / "out")
    assert re.search(told, result.error or "") and result.scores == {}
    with FakeServer() as server:
        with pytest.raises(ConfigurationError, match=told):
            run(short(server, limit=1, strategy="signed"), tmp_path / "paid")
        assert server.requests == []


SWALLOWING = """\
from langgraph.graph import START, StateGraph
from nodes.asking import ask_at_stage
from nodes.offline.votes import majority
import wardround as wr

def by_rule(view):
    return majority(view.evidence())

@wr.strategy("swallowing")
def swallowing(stage):
    doctor = wr.Role("lone_doctor", stage.name, "strategies/solo", stage.decision, by_rule)

    @wr.node
    async def decide(state: wr.StageState, runtime):
        view = wr.case_view(state, stage, runtime.context)
        try:
            return {"decision": await ask_at_stage(doctor, view, state, runtime.context)}
        except Exception:
            return {"decision": by_rule(view)}

    return StateGraph(wr.StageState, context_schema=wr.Context).add_node(decide).add_edge(START, "decide")
"""


def test_the_questions_that_a_plug_in_goes_on_without_an_answer_to_are_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(STRATEGIES, "_entries", dict(STRATEGIES))
    (tmp_path / "swallowing_failures.py").write_text(SWALLOWING, "utf-8")
    plugins.load_plugin(tmp_path / "swallowing_failures.py")
    with FakeServer(faults=lambda request: "refusal") as server:
        models = {"default": "offline", "lone_doctor": spec(server)}
        summary = run(short(server, limit=2, models=models, strategy="swallowing", feedback="off"), tmp_path / "out")
    failed = sum(bool(call["error"]) for one in IDS[:2] for call in calls(tmp_path / "out", one))
    assert failed and (summary["scored"], summary["unanswered"]) == (2, {"lone_doctor": failed})
    (console := Console(width=200, record=True)).print(summary_table(summary, SUITES["medchain"]))
    assert f"got no answer in completed cases, which went on without: lone_doctor {failed}." in console.export_text()


def test_a_graph_without_an_end_is_somebody_elses_as_ours_count_their_rounds() -> None:
    assert termination_of(GraphRecursionError("Recursion limit of 10007 reached")) == "plugin_error"
    assert describe_fault(GraphRecursionError("Recursion limit")).endswith(
        "count its rounds under a key that its state declares (a node's update of any other is dropped), and stop"
    )


def test_branches_whose_answers_no_node_joins_are_somebody_elses_as_ours_are_joined() -> None:
    class Decided(TypedDict):
        decision: str

    builder = StateGraph(Decided).add_node("first", lambda _: {"decision": "a"}).add_edge(START, "first")
    graph = builder.add_node("second", lambda _: {"decision": "b"}).add_edge(START, "second").compile()
    with pytest.raises(InvalidUpdateError) as raised:
        graph.invoke({"decision": ""})
    assert termination_of(raised.value) == "plugin_error" and "At key 'decision'" in describe_fault(raised.value)


def test_a_fault_without_a_line_of_a_plug_in_is_told_with_the_node_where_it_happened() -> None:
    class Count(TypedDict):
        rounds: int

    builder = StateGraph(Count).add_node("speak", lambda state: {"rounds": 1}).add_edge(START, "speak")
    graph = builder.add_conditional_edges("speak", lambda state: "again", {"done": END}).compile()
    with pytest.raises(KeyError) as raised:
        graph.invoke({"rounds": 0})
    assert re.fullmatch(r"KeyError: 'again' \(node 'speak', _branch.py, line \d+\)", describe_fault(raised.value))


def test_a_model_object_that_exits_in_a_graph_after_a_run_is_told_as_before_it() -> None:
    """Runs and graphs called without `await` share a loop, and a run lets no task end it."""

    async def run() -> None:
        contain_tasks()

    in_own_loop(run())
    context = {"retrieval": False, "max_attempts": 1, "models": {"doctor": Exiting(answer={})}}
    with pytest.raises(ModelError, match="SystemExit"):
        one_step.invoke({"case": load_cases()[0]}, context=context)
