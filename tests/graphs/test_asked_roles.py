"""A node says which roles it asks: these have models, and no other is asked."""

import asyncio
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from cases.registry import GivenError, RegistryError
from graphs.asked_roles import keys_asked
from graphs.contexts import CONTEXTS, patient_context, stage_context
from graphs.one_stage import stage_by_itself
from graphs.patient_turn import patient_turn_of
from llm import Role, ask, role
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Turn
from nodes.state.patient_side import PatientSideState
from prompts import folders

ASKED = tomllib.loads(Path(__file__).with_name("asked_roles.toml").read_text("utf-8"))
FILES = {
    "__init__.py": "",
    "roles.py": (
        "import wardround as wr\n\n"
        "def turn(view): return wr.Turn(speaker='patient', text='Hm.')\n\n"
        "shy, bold = [wr.Role(name, 'ward', 'mine/shy', wr.Turn, offline=turn) for name in ('shy', 'bold')]\n"
    ),
    "nodes.py": (
        "import wardround as wr\nfrom nodes.patients.saps.memory_bank import memory_bank\nfrom . import roles\n\n"
        "async def plain(state: wr.PatientSideState, runtime): return await wr.ask(roles.shy, None, runtime.context, "
        "language='en')\n\n"
        "silent, declared = wr.node(plain), wr.node(plain, asks=roles.shy)\n"
    ),
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    for name, text in FILES.items():
        (tmp_path / "their_ward" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "their_ward" / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import their_ward.nodes  # type: ignore[import-not-found]

    yield their_ward.nodes
    for name in [name for name in sys.modules if name.startswith("their_ward")]:
        del sys.modules[name]


@dataclass(frozen=True)
class View:
    """A view without fields."""


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    monkeypatch.setattr(folders, "_added", [tmp_path])
    (tmp_path / "en/mine").mkdir(parents=True)
    (tmp_path / "en/mine/shy.md").write_text("---\nvariables: []\n---\n# system\n# user\nSpeak.\n", "utf-8")


def _graph(asking: Any) -> Any:
    return StateGraph(PatientSideState, context_schema=Context).add_node("one", asking).add_edge(START, "one").compile()


def _keys(asking: Any) -> set[str]:
    return keys_asked(_graph(asking), Context())


def test_a_node_of_ones_own_that_declares_nothing_may_ask_any_role_of_its_package_or_module(package: Any) -> None:
    assert _keys(package.declared) == {"shy", "ward.shy"}
    near = {"shy", "ward.shy", "bold", "ward.bold", "memory_bank", "saps.memory_bank"}
    assert _keys(package.silent) == _keys(package.plain) == near


def _say(view: Any) -> Turn:
    return Turn(speaker="patient", text="Hm.")


def _role(name: str) -> Role[Turn]:
    return Role(name, "ward", "mine/shy", Turn, offline=_say)


async def speak(state: PatientSideState, runtime: Runtime[Context], whom: str = "shy") -> Any:
    turn = await ask(_role(whom), View(), runtime.context, language="en")
    return {"dialogue": [turn]}


def test_a_role_that_the_node_has_not_declared_is_not_asked(prompt: None) -> None:
    for asks in (_role("shy"), [_role("bold"), _role("shy")], lambda context, whom: [_role(whom)]):
        assert _graph(node(speak, asks=asks).at(whom="shy")).invoke({"dialogue": []})["dialogue"]
    for asks in (_role("bold"), []):
        with pytest.raises(GivenError, match=r"node 'speak' asks the role 'shy', but does not declare it: @wr.node"):
            _graph(node(speak, asks=asks)).invoke({"dialogue": []})


async def in_a_task(state: PatientSideState, runtime: Runtime[Context]) -> Any:
    turn, _ = await asyncio.gather(ask(_role("shy"), View(), runtime.context, language="en"), asyncio.sleep(0))
    return {"dialogue": [turn]}


async def in_a_thread(state: PatientSideState, runtime: Runtime[Context]) -> Any:
    asking = ask(_role("shy"), View(), runtime.context, language="en")
    return {"dialogue": [await asyncio.to_thread(asyncio.run, asking)]}


@pytest.mark.parametrize("asking", [in_a_task, in_a_thread])
def test_what_is_declared_also_holds_in_the_tasks_and_threads_of_a_node(asking: Any, prompt: None) -> None:
    inner = _graph(node(speak, asks=_role("shy")))
    assert len(_graph(node(asking, asks=[_role("shy"), inner])).invoke({"dialogue": []})["trace"].calls) == 1
    for asks in (_role("bold"), inner):  # what a graph asks is asked by the graph
        with pytest.raises(GivenError, match="asks the role 'shy', but does not declare it"):
            _graph(node(asking, asks=asks)).invoke({"dialogue": []})


@pytest.mark.parametrize("way", [lambda: speak, lambda: node(speak, asks=_role("shy")), lambda: node(speak)])
def test_a_node_that_runs_a_graph_declares_it_for_all_that_it_asks(way: Any, prompt: None) -> None:
    inner = _graph(way())

    async def call(state: PatientSideState, runtime: Runtime[Context]) -> Any:
        return {"dialogue": (await inner.ainvoke(state, context=runtime.context))["dialogue"]}

    for asks in (inner, [_role("bold"), inner], _role("shy"), None):
        assert _graph(node(call, asks=asks)).invoke({"dialogue": []})["dialogue"]
    with pytest.raises(GivenError, match=r"'call' runs a graph that asks the role 'shy', but does not declare the gra"):
        _graph(node(call, asks=_role("bold"))).invoke({"dialogue": []})


def test_the_roles_of_a_declared_graph_are_keys_of_the_model_map() -> None:
    inner = _graph(node(speak, asks=_role("shy")))
    assert _keys(node(speak, asks=inner)) == {"shy", "ward.shy"}
    assert _keys(node(speak, asks=[_role("bold"), inner])) == {"shy", "ward.shy", "bold", "ward.bold"}


@pytest.mark.parametrize("asks", ["shy", {"shy"}, {"shy": 1}.values(), speak, node(speak), Role, Turn, ["shy"]])
def test_what_is_no_role_cannot_be_declared(asks: Any) -> None:
    with pytest.raises(
        RegistryError, match=r"node 'speak': asks = .*; expected a wr\.Role, a compiled graph, or a list"
    ):
        node(speak, asks=asks)


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        (lambda context, whom: "shy", "asks = 'shy'; expected a wr.Role"),
        (lambda context: [], "asks, as a function of the settings: TypeError: "),
        (lambda context, whom: context.mood, "asks, as a function of the settings: AttributeError: "),
    ],
)
def test_what_a_function_declares_is_checked_too(asks: Any, told: str) -> None:
    with pytest.raises(RegistryError) as error:
        _keys(node(speak, asks=asks).at(whom="shy"))
    assert told in str(error.value) and str(error.value).startswith("node 'speak': ")


def test_what_is_no_function_is_no_node(prompt: None) -> None:
    given: Any
    for given in (_role("shy"), [_role("shy")], partial(speak, whom="shy")):
        with pytest.raises(RegistryError, match=r"node: expected a coroutine function, or asks=\[ROLE\]; found \w+"):
            node(given)


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        (lambda context, whom: whom, "asks = 'shy'; expected a wr.Role, a compiled graph, or a list of these"),
        (lambda context: [], "asks, as a function of the settings: .*unexpected keyword argument 'whom'"),
    ],
)
def test_a_function_that_gives_no_roles_to_ask_is_refused(asks: Any, told: str) -> None:
    with pytest.raises(RegistryError, match=f"node 'speak': {told}"):
        _keys(node(speak, asks=asks).at(whom="shy"))


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
