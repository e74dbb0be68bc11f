"""What a graph asks is found wherever somebody else's package asks it."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from graphs.asked_roles import keys_asked
from graphs.contexts import CONTEXTS, patient_context, stage_context
from graphs.one_stage import stage_by_itself
from graphs.patient_turn import patient_turn_of
from llm import Role
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Turn
from nodes.state.patient_side import PatientSideState

ASKED = tomllib.loads(Path(__file__).with_name("asked_roles.toml").read_text("utf-8"))
FILES = {
    "__init__.py": "",
    "roles.py": "import wardround as wr\nshy = wr.Role('shy', 'ward', 'mine/shy', wr.Turn, offline=print)\n",
    "asking.py": "from . import roles\n\nasync def asked(context): return await roles.shy(context)\n",
    "nodes.py": (
        "import wardround as wr\nfrom . import asking\n\n"
        "@wr.node\nasync def reply(state: wr.PatientSideState, runtime): return await asking.asked(runtime)\n"
    ),
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name, text in FILES.items():
        (tmp_path / "their_ward" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "their_ward" / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import their_ward.nodes  # type: ignore[import-not-found]

    yield their_ward.nodes
    for name in [name for name in sys.modules if name.startswith("their_ward")]:
        del sys.modules[name]


def test_a_role_in_another_module_of_the_same_package_is_a_key_of_the_model_map(package: Any) -> None:
    builder = StateGraph(PatientSideState, context_schema=Context).add_node(package.reply).add_edge(START, "reply")
    assert keys_asked(builder.compile(), Context()) == {"shy", "ward.shy"}


def _graph(asking: Any) -> Any:
    return StateGraph(PatientSideState, context_schema=Context).add_node("one", asking).add_edge(START, "one").compile()


def _roles(*names: str) -> list[Role[Any]]:
    return [Role(name, "ward", "mine/shy", Turn, offline=print) for name in names]


def test_roles_of_a_list_are_keys_of_the_model_map() -> None:
    debaters = _roles("proponent", "opponent")

    @node
    async def speak(state: PatientSideState, runtime: Runtime[Context]) -> Any:
        return debaters[0]

    assert keys_asked(_graph(speak), Context()) == {"proponent", "ward.proponent", "opponent", "ward.opponent"}


def test_roles_of_a_graph_that_a_node_calls_are_keys_of_the_model_map() -> None:
    (arbiter,) = _roles("arbiter")

    @node
    async def decide(state: PatientSideState, runtime: Runtime[Context]) -> Any:
        return arbiter, outer  # which calls this graph in turn

    inner = _graph(decide)

    @node
    async def call(state: PatientSideState, runtime: Runtime[Context]) -> Any:
        return await inner.ainvoke(state, context=runtime.context)

    outer = _graph(call)
    assert keys_asked(outer, Context()) == {"arbiter", "ward.arbiter"}


def test_a_role_of_a_node_without_our_decorator_is_a_key_of_the_model_map() -> None:
    (shy,) = _roles("shy")

    async def question(state: PatientSideState, runtime: Runtime[Context]) -> Any:  # named as a node of ours is
        return shy

    assert keys_asked(_graph(question), Context()) == {"shy", "ward.shy"}


def _context(graph: str) -> Any:
    kind, _, part = graph.partition("_")
    if kind == "stage":
        return stage_by_itself(part) and stage_context(part)
    return patient_turn_of(part) and patient_context(part) if kind == "patient" else CONTEXTS[graph]


@pytest.mark.parametrize("row", ASKED)
def test_each_graph_asks_its_roles_at_their_stages(row: str) -> None:
    graph, _, setting = row.partition(" ")
    context = _context(graph)
    given = {"case_source": "builtin"} if "case_source" in context.model_fields else {}
    keys = context.asks(context.model_validate(given | dict([setting.split("=")] if setting else [])).whole)
    assert sorted(key for key in keys if "." in key and not key[-1].isdigit()) == ASKED[row].split()
