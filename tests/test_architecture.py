"""The floors of the house hold: no import upward, no circle of files, nothing of ours imported by name."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# From the bottom; a floor imports only itself and floors below it. Rooms on one floor do not see each other.
FLOORS = (("cases", "prompts"), ("llm", "retrieval"), ("nodes",), ("scoring",), ("graphs",), ("wardround",))
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
BY_NAME = {"wardround/plugins.py"}  # the one place that imports by name: other people's code


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_of(path): path for room in FLOOR for path in sorted((ROOT / room).rglob("*.py"))}


def imports_of(path: Path) -> Iterator[str]:
    """Every module of ours that a file imports, whether at once or later."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in FILES else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@cache
def imports() -> dict[str, set[str]]:
    """Which files of ours each of them imports."""
    return {module: {name for name in imports_of(path) if name in FILES} for module, path in FILES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("room", FLOOR)
def test_a_floor_imports_only_itself_and_floors_below_it(room: str) -> None:
    upward = {
        (module, name)
        for module, names in imports().items()
        for name in names
        if module.split(".")[0] == room
        and (here := FLOOR[room]) is not None
        and (FLOOR[there := name.split(".")[0]] > here or (FLOOR[there] == here and there != room))
    }
    assert not upward


def test_a_graph_file_asks_nobody_writes_no_prompt_and_scores_nothing() -> None:
    talk = {"llm.ask", "llm.question", "llm.chat"}
    found = {
        (module, name)
        for module, names in imports().items()
        for name in names
        if module.startswith("graphs.") and (name in talk or name.startswith(("prompts", "scoring.metrics")))
    }
    assert not found


def test_no_files_import_each_other_in_a_circle() -> None:
    left = {module: set(names) - {module} for module, names in imports().items()}
    while free := {module for module, names in left.items() if not names & left.keys()}:
        left = {module: names for module, names in left.items() if module not in free}
    assert not left, "files in circles, or above one"


@pytest.mark.slow
def test_nothing_of_ours_is_imported_by_name() -> None:
    found = set()
    for path in FILES.values():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in {"import_module", "__import__"}:
                found.add(path.relative_to(ROOT).as_posix())
    assert found <= BY_NAME
