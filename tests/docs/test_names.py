"""What the pages name is there: paths, modules, code and commands."""

import ast
import importlib
import importlib.util
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.test_architecture import FLOOR, ROOT
from wardround.cli import app

DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for room in (".", "readers", "doors") for page in (DOCS / room).glob("*.md"))],
    key=lambda page: page.as_posix(),
)
BEFORE = ("models", "evaluation", "experiments")  # what rooms were called
FOLDERS = (*FLOOR, *BEFORE, "benchmarks", "docs", "examples", "notebooks", "tests")
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    """The page as of now: names of the past may stand in earlier releases, and in commands that ask the history."""
    text = page.read_text("utf-8")
    return text.split("\n## 0.1.0")[0] if page.name == "CHANGELOG.md" else re.sub(r"`git [^`]*`", "", text)


def quoted(text: str) -> list[str]:
    """What stands between backticks in running text."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def code(text: str, language: str) -> list[str]:
    return [textwrap.dedent(block) for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def is_there(path: str) -> bool:
    """Whether a file or folder is there; capitals stand for any name."""
    return any(ROOT.glob(re.sub(r"\b[A-Z]{2,}\b", "*", path.rstrip("/"))))


@EACH_PAGE
def test_every_path_named_is_there(page: Path) -> None:
    named = [name for name in quoted(text_of(page)) if re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w/.*-]*", name)]
    bare = [name for name in quoted(text_of(page)) if re.fullmatch(r"\w+\.py", name) and not name.startswith("my_")]
    assert [name for name in named if not is_there(name)] == []
    assert [name for name in bare if not any(next((ROOT / room).rglob(name), None) for room in FOLDERS)] == []


@EACH_PAGE
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]+`", "", text_of(page), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@EACH_PAGE
def test_every_module_and_function_named_can_be_imported(page: Path) -> None:
    commands = re.findall(r"python -m ((?:[a-z_]+\.)*[a-z_]+)", text_of(page))
    named = [name for name in quoted(text_of(page)) if re.fullmatch(rf"({'|'.join(FLOOR)})(\.\w+)+(\(.*\))?", name)]
    ours = [name for name in [*commands, *named] if name.split(".")[0] in FOLDERS]
    assert [name for name in ours if not resolves(name.partition("(")[0])] == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, rest = name.rpartition(".")
    if (ROOT / name.replace(".", "/")).with_suffix(".py").is_file() or (ROOT / name.replace(".", "/")).is_dir():
        return True
    return bool(module) and resolves(module) and hasattr(found(module), rest)


def found(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, rest = name.rpartition(".")
        return getattr(importlib.import_module(module), rest)


# What the pages of doors show is cut out of examples/, and held against it there.
@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "doors"], ids=lambda page: page.name)
def test_what_the_examples_import_is_there(page: Path) -> None:
    for example in code(text_of(page), "python"):
        for node in ast.walk(ast.parse(re.sub(r":\s*$", ": ...", example))):  # a signature may stand alone
            modules = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            modules += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert [name for name in modules if not is_installed(name)] == []
            if isinstance(node, ast.ImportFrom) and modules[0].split(".")[0] in FLOOR:
                module = importlib.import_module(modules[0])
                assert [name.name for name in node.names if not hasattr(module, name.name)] == [], modules[0]


def is_installed(name: str) -> bool:
    """Whether a package can be imported; a folder without modules is none."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None


@EACH_PAGE
def test_every_command_named_is_one_of_ours(page: Path) -> None:
    text = text_of(page)
    lines = [line for block in code(text, r"(?:bash|sh)?") for line in block.splitlines()]
    for said in [*quoted(text), *lines]:
        for words in re.findall(r"(?:^|&& |`)wardround ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(?=[\s`]|$)", said):
            assert is_command(words.split(" ")), f"wardround {words}"


@cache
def whole() -> Any:
    return typer.main.get_command(app)


def is_command(words: list[str], of: Any = None) -> bool:
    """Whether the words begin with a command; what follows a command that has no others is its own."""
    command = of if of is not None else whole()
    inner = getattr(command, "commands", None)
    if not inner or not words:
        return True
    return words[0] in inner and is_command(words[1:], inner[words[0]])
