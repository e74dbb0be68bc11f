"""The pages as a site: built strictly, nothing loaded from elsewhere; and the commands for each kind of reader run."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.processes import to_its_end
from tests.test_architecture import ROOT

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
READERS = sorted([DOCS / "index.md", *(DOCS / "readers").glob("*.md")])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a link, an anchor or a page of the navigation that leads nowhere breaks it."""
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_every_page_is_built_and_found_from_every_other(site: Path) -> None:
    pages = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert all((site / page).is_file() for page in pages)
    home = (site / "index.html").read_text("utf-8")
    assert all(f'href="{page.as_posix()}"' in home for page in pages - {Path("index.html")})
    assert not list(site.rglob("*.py"))


def test_the_site_loads_nothing_from_another_host_and_draws_every_graph(site: Path) -> None:
    for page in site.rglob("*.html"):
        html = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)", html)
        loaded += re.findall(
            r"<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|icon)[^>]*\bhref=[\"']?([^\"'\s>]+)", html
        )
        assert [name for name in loaded if re.match(r"(?:https?:)?//", name)] == [], page.name
        assert "language-mermaid" not in html, page.name
    workflow = (site / "workflow.html").read_text("utf-8")
    assert workflow.count('src="data:image/svg+xml;base64,') == 2 and "history_taking, examination" in workflow


@pytest.mark.parametrize("page", READERS, ids=lambda page: page.stem)
def test_the_commands_for_a_reader_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = [
        line
        for block in re.findall(r"```bash\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in block.splitlines()
    ]
    assert commands
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "wardround"
        answer = to_its_end(arguments, folder=tmp_path)  # a plug-in that it loads is of no other test
        assert answer.returncode == 0, f"{command}\n{answer.stdout[-2000:]}{answer.stderr[-2000:]}"
