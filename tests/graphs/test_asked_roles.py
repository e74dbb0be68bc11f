"""What a graph asks is found wherever somebody else's package asks it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from graphs.asked_roles import keys_asked
from nodes.context import Context
from nodes.state.patient_side import PatientSideState

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
