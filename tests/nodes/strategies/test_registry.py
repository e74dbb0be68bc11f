import operator
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Required

import pytest
from langgraph.graph import END, START, StateGraph
from pydantic import Field
from typing_extensions import TypedDict

from cases.registry import RegistryError
from graphs.clinical_workflow import build_clinical_workflow, clinical_workflow_by
from graphs.decision import decision_by
from graphs.patient_turn import patient_turn_of
from llm import Role, role
from llm.specs import check_models
from llm.trace import Trace, merge_traces
from nodes.asking import case_view
from nodes.context import Context
from nodes.offline.votes import decision_of
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Turn
from nodes.state.decisions import Decision, Diagnosis, Treatment, Triage
from nodes.state.patient_side import PatientSideState
from nodes.state.stage import StageState
from nodes.strategies.registry import STRATEGIES, strategy
from nodes.workflow.stage_control import checked_decision
from nodes.workflow.stages import STAGES, Stage
from tests.graphs.scripting import builtin, findings

CASE = builtin("surgery-01")


@pytest.fixture
def own() -> Iterator[None]:
    """What a test registers is gone after it."""
    before = dict(STRATEGIES), dict(PATIENTS)
    yield
    for registry, entries in zip((STRATEGIES, PATIENTS), before, strict=True):
        registry._entries.clear()  # type: ignore[attr-defined]
        registry._entries.update(entries)  # type: ignore[attr-defined]


def always_a_cold(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
    """Decides without asking anybody, and files nothing itself."""

    def decide(state: StageState) -> dict[str, Any]:
        if stage.decision is Diagnosis:
            return {"decision": Diagnosis(names=["Common cold"], basis=state["presentation"].chief_complaint)}
        if stage.decision is Treatment:
            return {"decision": Treatment(items=["Medication"], plan="Rest.")}
        view = case_view(state, stage, Context())
        return {"decision": decision_of(view.evidence(), view.options.names[:1])}

    builder = StateGraph(StageState)
    builder.add_node("decide", decide)
    builder.add_edge(START, "decide")
    builder.add_edge("decide", END)
    return builder


def run(**context: Any) -> dict[str, Any]:
    result: dict[str, Any] = clinical_workflow_by(context.get("strategy", "group")).invoke(
        {"case": CASE}, context={"retrieval": False, **context}
    )
    return result


def alone(state: Any) -> Any:
    """Return a function that builds a graph with this state."""

    def build(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        return StateGraph(state).add_node("decide", lambda state: {}).add_edge(START, "decide")

    return build


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    "kind",
    [
        list[str],
        Annotated[list[str], operator.add],
        Annotated[list[str], lambda left, right: left + right],
        Annotated[list[str], partial(operator.add)],
    ],
)
def test_a_strategy_whose_state_has_a_key_of_ours_for_something_else_is_refused_by_the_key(kind: Any) -> None:
    told = "strategy 'shares': its state declares 'opinions' otherwise than wr.StageState; rename it, or inherit it"
    for total in (True, False):
        with pytest.raises(RegistryError, match=told):
            strategy("shares")(alone(TypedDict("OwnState", {"opinions": kind, "laps": int}, total=total)))  # type: ignore[operator]


@pytest.mark.usefixtures("own")
def test_a_state_may_repeat_our_reducers_and_read_our_keys() -> None:
    class OwnState(TypedDict, total=False):
        trace: Required[Annotated[Trace, merge_traces]]
        dialogue: Sequence[Turn]
        laps: int

    class Inherited(StageState, total=False):
        opinions_of_mine: Annotated[list[str], operator.add]

    strategy("repeats")(alone(OwnState))
    strategy("inherits")(alone(Inherited))


@pytest.mark.usefixtures("own")
def test_a_role_that_a_strategy_declares_at_one_stage_is_known_before_its_graph_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    built: list[str] = []

    def with_a_pharmacist(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        built.append(stage.name)
        if stage.name == "examination":
            raise ValueError("nobody reads pictures here")
        if stage.name == "treatment":
            Role("pharmacist", stage.name, "medchain/general", stage.decision, lambda view: view)
        return StateGraph(StageState).add_node("decide", lambda state: {}).add_edge(START, "decide")

    strategy("with_a_pharmacist")(with_a_pharmacist)
    assert sorted(built) == sorted(STAGES), "once for each"
    check_models({"pharmacist": "offline", "treatment.pharmacist": "offline"})
    with pytest.raises(RegistryError, match="'with_a_pharmacist', stage examination: ValueError: nobody reads"):
        build_clinical_workflow("with_a_pharmacist")


@pytest.mark.usefixtures("own")
def test_a_strategy_that_only_leaves_its_decision_decides_and_is_on_record() -> None:
    strategy("a_cold")(always_a_cold)
    result = run(strategy="a_cold", feedback="off")
    assert result["diagnosis"].names == ["Common cold"] and result["treatment"].plan == "Rest."
    records = {record.stage: record for record in result["decisions"]}
    assert records["diagnosis"].strategy == records["treatment"].strategy == "a_cold"
    assert records["diagnosis"].ended == "not_judged" and len(records["diagnosis"].rounds) == 1


def of_a_cell(function: Any) -> Any:
    """The function as a notebook's cell would define it under the name `build`."""
    function.__code__ = function.__code__.replace(co_filename="/tmp/ipykernel_1/1.py")
    function.__module__, function.__qualname__ = "__main__", "build"
    return function


@pytest.mark.usefixtures("own")
def test_a_strategy_and_a_patient_of_a_notebooks_cell_that_is_run_again_replace_themselves() -> None:
    def run_cell(words: str) -> None:
        def decides(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
            def decide(state: StageState) -> dict[str, Any]:
                return {"decision": Diagnosis(names=[words], basis="")}

            return StateGraph(StageState).add_node(decide).add_edge(START, "decide").add_edge("decide", END)

        def replies() -> StateGraph[Any, Any, Any, Any]:
            def reply(state: PatientSideState) -> dict[str, Any]:
                return {"dialogue": [*state["dialogue"], Turn(speaker="patient", text=words)]}

            return StateGraph(PatientSideState).add_node(reply).add_edge(START, "reply").add_edge("reply", END)

        strategy("mine")(of_a_cell(decides))
        patient("mine", examines=False)(of_a_cell(replies))

    def told_and_named() -> tuple[str, list[str]]:
        turn: Any = patient_turn_of("mine").invoke({"case": CASE, "words": "What brings you here?"})
        return turn["dialogue"][-1].text, decision_by("mine", STAGES["diagnosis"]).invoke(
            findings(), context={"retrieval": False, "feedback": "off"}
        )["diagnosis"].names

    run_cell("A cold.")
    assert told_and_named() == ("A cold.", ["A cold."])
    run_cell("A flu.")
    assert told_and_named() == ("A flu.", ["A flu."])


@pytest.mark.usefixtures("own")
def test_a_graph_built_for_a_strategy_shows_its_nodes() -> None:
    strategy("a_cold")(always_a_cold)
    drawn = build_clinical_workflow("a_cold").compile().get_graph(xray=3).draw_mermaid()
    assert "decide" in drawn and "a_cold" in drawn


@pytest.mark.usefixtures("own")
def test_a_strategy_without_a_decision_is_named() -> None:
    def empty(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        builder = StateGraph(StageState)
        builder.add_node("nothing", lambda state: {})
        builder.add_edge(START, "nothing")
        return builder

    strategy("empty")(empty)
    with pytest.raises(ValueError, match=r"strategy 'empty' ended without a decision on referral\.level1"):
        run(strategy="empty")


@pytest.mark.usefixtures("own")
def test_a_decision_of_another_type_is_refused_before_anybody_judges_it() -> None:
    def loose(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        given = {"decision": {"urgency": "urgent", "department": "General Surgery"}}
        return StateGraph(StageState).add_node("say", lambda state: given).add_edge(START, "say").add_edge("say", END)

    strategy("loose")(loose)
    with pytest.raises(ValueError, match=r"strategy 'loose' decided referral\.level1 with a dict; expected .*Triage"):
        run(strategy="loose")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("feedback", ["downstream", "off"])
def test_a_decision_whose_fields_were_not_checked_is_refused_before_anybody_judges_it(feedback: str) -> None:
    def unchecked(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        given = {"decision": stage.decision.model_construct(urgency=3)}
        return StateGraph(StageState).add_node("say", lambda state: given).add_edge(START, "say").add_edge("say", END)

    strategy("unchecked")(unchecked)
    reason = (
        r"strategy 'unchecked' decided referral\.level1 with an invalid Triage: urgency: .*; department: Field required"
    )
    with pytest.raises(ValueError, match=reason):
        run(strategy="unchecked", feedback=feedback)


def test_a_decision_that_was_copied_is_filed_under_canonical_names() -> None:
    urgent = Triage(urgency="urgent", department="Surgery")
    copied: Any = {"decision": urgent.model_copy(update={"urgency": "紧急"})}
    assert checked_decision("mine", STAGES["referral.level1"], copied) == urgent


class Stay(Decision):
    """A decision whose form has another name for its field."""

    days: int = Field(alias="length of stay")


def test_a_decision_with_an_alias_is_read_again_by_the_names_of_its_fields() -> None:
    stay = Stay.model_validate({"length of stay": 3})
    stage = Stage(name="stay", decision=Stay, without_model=lambda chosen, chart, options: {"length of stay": 3})
    given: Any = {"decision": stay}
    assert checked_decision("mine", stage, given) == stay


@pytest.mark.usefixtures("own")
def test_a_strategy_that_cannot_be_built_for_a_stage_is_refused_by_name_and_stage() -> None:
    def of_one_stage(stage: Stage) -> StateGraph[Any, Any, Any, Any]:
        return {"diagnosis": always_a_cold(stage)}[stage.name]

    strategy("of_one_stage")(of_one_stage)
    with pytest.raises(RegistryError, match=r"strategy 'of_one_stage', stage referral\.level1: KeyError"):
        build_clinical_workflow("of_one_stage")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("given", "opens", "reason"),
    [
        ({}, False, "patient 'odd' returned no reply"),
        ({}, True, "patient 'odd' returned no reply"),
        ({"dialogue": ["Hello."]}, False, "patient 'odd' returned a dialogue of str; expected wr.Turn"),
    ],
)
def test_a_patient_that_gives_no_reply_is_named(given: dict[str, Any], opens: bool, reason: str) -> None:
    def odd() -> StateGraph[Any, Any, Any, Any]:
        builder = StateGraph(PatientSideState).add_node("say", lambda state: given or {"told_results": {}})
        return builder.add_edge(START, "say").add_edge("say", END)

    patient("odd", examines=False, opens=opens)(odd)
    with pytest.raises(ValueError, match=reason):
        run(patient="odd")


def test_what_builds_no_graph_is_refused_at_once() -> None:
    with pytest.raises(RegistryError, match="strategy 'x': its function returns NoneType; expected a StateGraph"):
        strategy("x")(lambda stage: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(RegistryError, match="patient 'x': its function returns NoneType; expected a StateGraph"):
        patient("x", examines=False)(lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(RegistryError, match="strategy 'x': Graph must have an entrypoint"):
        strategy("x")(lambda stage: StateGraph(StageState).add_node("say", lambda state: {}))
    with pytest.raises(ValueError, match=r"unknown strategy 'medagent': did you mean 'medagents'\?"):
        run(strategy="medagent")


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("opens", [True, False])
def test_a_patient_of_ones_own_speaks_when_it_is_its_turn(opens: bool) -> None:
    def curt() -> StateGraph[Any, Any, Any, Any]:
        def say(state: PatientSideState) -> dict[str, Any]:
            said = state.get("dialogue", [])
            return {"dialogue": [*said, Turn(speaker="patient", text="Hm." if said else "Hello.")]}

        builder = StateGraph(PatientSideState)
        builder.add_node("say", say)
        builder.add_edge(START, "say")
        builder.add_edge("say", END)
        return builder

    patient("curt", examines=False, opens=opens)(curt)
    dialogue = run(patient="curt", max_turns=3)["dialogue"]
    said = [turn.text for turn in dialogue if turn.speaker == "patient"]
    assert said == (["Hello.", "Hm.", "Hm."] if opens else ["Hm.", "Hm."])
    assert dialogue[0].speaker == ("patient" if opens else "doctor")
