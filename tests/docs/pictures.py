"""The pictures of the docs: `python -m tests.docs.pictures` takes them anew from two runs of the built-in cases."""

import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from cases import load_cases
from tests.support.browser import PHONE_IN_THE_DARK, WIDE, browser_of_this_machine, page_in
from tests.support.processes import Forked
from tests.support.serving import serving
from tests.test_architecture import ROOT
from wardround.commands.consult import _context
from wardround.interactive.browser_seat import BrowserSeat
from wardround.interactive.consultation_session import open_session
from wardround.rating.items import items_of
from wardround.rating.marks import Marks
from wardround.rating.server import Rating
from wardround.store.recorded_run import find_runs
from wardround.view.pages import Viewer
from wardround.view.run_library import Shelf

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = ROOT / "docs" / "pictures"
CASE = "emergency-medicine-02"
OTHERS = ("emergency-medicine-01", "general-medicine-03", "internal-medicine-01", "laboratory-medicine-02")
_COLOURS = 64
_PATIENCE = 900  # seconds for a run, on a machine that does much else


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        name: of its file.
        page: the server whose page is shown.
        query: the page.
        look: the window.
        at: the part of the page at the top, if not its beginning.
    """

    name: str
    page: str
    query: str = ""
    look: Any = None
    at: str = ""


PICTURES = [
    Picture("viewer-run", "viewer", "?run=group", {**WIDE, "viewport": {"width": 1280, "height": 1500}}),
    Picture("viewer-case", "viewer", f"?run=group&case={CASE}"),
    Picture("viewer-dialogue", "viewer", f"?run=saps&case={CASE}", {**WIDE, "color_scheme": "dark"}, "#dialogue"),
    Picture("viewer-recalled", "viewer", f"?run=group&case={CASE}", None, "#recalled"),
    Picture("viewer-side-by-side", "viewer", f"?run=group&with=no-memory&case={CASE}", None, "h2:has(+ .sides mark)"),
    Picture("viewer-phone", "viewer", f"?run=group&case={CASE}", PHONE_IN_THE_DARK),
    Picture("consult", "consult"),
    Picture("rate", "rate", "?rater=A.+B."),
]


def runs_in(folder: Path) -> Path:
    """Runs to look at: a group, one without a memory, and a consultation in which the patient's side is tracked."""
    ways = {
        "group": [word for other in OTHERS for word in ("--case-id", other)],
        "no-memory": ["--set", "retrieval=false"],
        "saps": ["--set", "graph=consultation", "--set", "patient=saps"],
    }
    for name, settings in ways.items():
        arguments = ["run", "--case-id", CASE, *settings, "--out", folder / name]
        with Forked(arguments) as process:
            done = process.ended(_PATIENCE)
        assert done.returncode == 0, done.stderr[-2000:]
    return folder


@contextmanager
def served(runs: Path, work: Path) -> Iterator[dict[str, str]]:
    """The addresses of our three servers over these runs."""
    case = next(case for case in load_cases("builtin") if case.id == CASE)
    with ExitStack() as stack:
        session = stack.enter_context(
            open_session(case, "doctor", _context([], ["retrieval=false"], "doctor"), work / "consult")
        )
        servers = {
            "viewer": Viewer(Shelf([runs])),
            "rate": Rating(items_of(find_runs([runs / "saps"]), "mvme"), "mvme", Marks(work / "marks.jsonl")),
            "consult": BrowserSeat(session),
        }
        yield {name: stack.enter_context(serving(server)).address for name, server in servers.items()}


def take(browser: "Browser", pages: dict[str, str], folder: Path) -> None:
    """Write every picture, in few colours, into a folder."""
    folder.mkdir(exist_ok=True)
    for picture in PICTURES:
        with page_in(browser, picture.look or WIDE) as page:
            page.goto(pages[picture.page] + picture.query)
            if picture.at:
                page.evaluate("at => document.querySelector(at).scrollIntoView({behavior: 'instant'})", picture.at)
            shot = Image.open(io.BytesIO(page.screenshot()))
        shot.convert("RGB").quantize(_COLOURS).save(folder / f"{picture.name}.png", optimize=True)


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory() as made,
        browser_of_this_machine() as chosen,
        served(runs_in(Path(made) / "runs"), Path(made)) as addresses,
    ):
        take(chosen, addresses, FOLDER)
