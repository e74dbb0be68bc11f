"""Our pages in Chromium: readable to everybody, by keyboard, on a phone, in the dark; and the pictures of the docs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from llm import Event
from llm.trace import file_event
from tests.docs.pictures import FOLDER, PICTURES, served, take
from tests.support.browser import PHONE_IN_THE_DARK, WIDE, browser_of_this_machine, page_in
from tests.support.hostile import HTML
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from tests.support.serving import serving
from tests.test_architecture import ROOT
from tests.wardround.view.conftest import report, staged
from wardround.rating.items import items_of
from wardround.rating.marks import Marks
from wardround.rating.scales import Name
from wardround.rating.server import Rating
from wardround.report.pages import report_page
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.run_directory import RunDirectory
from wardround.view.pages import Viewer
from wardround.view.run_library import Shelf

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

CASE = ENGLISH[0]
PAGES = (
    "?run=clinical", f"?run=clinical&case={CASE}", "?run=clinical&part=calls",
    "?run=sweep/one&with=sweep/two", f"?run=sweep/one&with=sweep/two&case={CASE}", f"?run=hostile&case={quote(HTML)}",
)  # fmt: skip
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
LOOKS = [(WIDE, WCAG), (PHONE_IN_THE_DARK, ["color-contrast", "scrollable-region-focusable"])]  # what the look changes


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with browser_of_this_machine() as browser:
        yield browser


def recorded(root: Path) -> Path:
    """What stands for the runs of the docs' pictures."""
    case = "emergency-medicine-02"
    more = {"data": {"case_ids": [case]}}
    for name, diagnosis in (("group", "Concussion"), ("no-memory", "Poisoning")):
        result = staged(case, 0.0, answers={"diagnosis": [diagnosis]})
        path = write_run(root / name, [result], {(case, 0): [call()]}, graph="clinical_workflow", **more)
        content = {"cases": [{"case": "earlier", "similarity": 0.5, "diagnosis": []}]}
        event = Event(id="diagnosis/recalled", event="recalled", stage="diagnosis", content=content)
        file_event(event, str(RunDirectory(path).trace_file(case, 0)))
    answers = {"report": report("Concussion"), "dialogue": [{"speaker": "doctor", "text": "When?"}]}
    write_run(root / "saps", [graded(case, answers=answers)], {(case, 0): [call()]}, **more)
    return root


def violations(page: "Page", rules: list[str] = WCAG) -> list[tuple[str, str]]:
    """What axe-core objects to, with the first place of each; everything folded is opened before."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = Axe().run(page, options={"runOnly": rules}).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def written(run: RecordedRun) -> str:
    """The address of a run's report."""
    (run.path / "report.html").write_text(report_page(run), "utf-8")
    return (run.path / "report.html").as_uri()


def tab_to(page: "Page", reached: str) -> None:
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate(reached):
            return
    pytest.fail(f"the tabulator does not reach {reached}")


@pytest.mark.parametrize(("look", "rules"), LOOKS, ids=["wide", "phone in the dark"])
def test_no_page_violates_axe_overflows_runs_what_models_said_or_asks_elsewhere(
    look: Any, rules: list[str], browser: "Browser", viewer: Viewer, folder: Path
) -> None:
    reports = [written(run) for run in find_runs([folder / name for name in ("clinical", "hostile")])]
    with page_in(browser, look, bypass_csp=True) as page:  # axe-core is a script that our pages do not know
        asked: list[str] = []
        obeyed: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (obeyed.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: obeyed.append(str(error)))
        for address in (*(viewer.address + query for query in PAGES), *reports):
            page.goto(address)
            assert violations(page, rules) == [], address
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, address
        assert obeyed == []
        assert {url for url in asked if not url.startswith((viewer.address, "data:", *reports))} == set()


def test_a_run_is_searched_and_its_cases_are_gone_through_by_keyboard_alone(browser: "Browser", viewer: Viewer) -> None:
    with page_in(browser, WIDE) as page:
        page.goto(viewer.address)
        tab_to(page, "document.activeElement.textContent === 'sweep/one'")
        page.keyboard.press("Enter")
        page.wait_for_url("**run=sweep%2Fone")
        page.keyboard.press("/")
        page.keyboard.type("monday gout")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=monday*")
        assert page.get_by_role("status").inner_text() == "1 of 2 cases"
        tab_to(page, f"(document.activeElement.href || '').endsWith('case={CASE}&epoch=0')")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**case={CASE}*")
        page.keyboard.press("o")
        assert page.locator("main details:not([open])").count() == 0
        page.keyboard.press("u")
        page.wait_for_url("**run=sweep%2Fone#cases")


def test_an_address_opens_the_call_that_it_names_and_a_report_is_filtered_and_sorted_on_the_page(
    browser: "Browser", viewer: Viewer, folder: Path
) -> None:
    with page_in(browser, WIDE) as page:
        page.goto(f"{viewer.address}?run=clinical&case={CASE}#call-3")
        page.wait_for_selector("#call-3[open]")
        assert page.locator("details[id^=call-][open]").count() == 1
        (run,) = find_runs([folder / "sweep" / "one"])
        page.goto(written(run))
        shown = page.locator("#case-list tbody tr:visible")
        assert shown.count() == 2
        search = page.get_by_role("searchbox")
        type_gone = "box => { box.value = 'gone'; box.dispatchEvent(new Event('input', {bubbles: true}));"
        hidden = "return document.querySelectorAll('#case-list tr[hidden]').length; }"
        assert search.evaluate(f"{type_gone} {hidden}") == 0, "a large page is laid out after the last key alone"
        search.fill("has gone")
        page.get_by_text("1 of 2 cases").wait_for()
        assert shown.count() == 1 and ENGLISH[1] in shown.inner_text()
        search.fill("")
        shown.nth(1).wait_for()
        button = page.locator("#case-list").get_by_role("button", name="Case")
        button.press("Enter")
        assert shown.first.inner_text().startswith(min(ENGLISH))
        button.press("Enter")
        assert shown.first.inner_text().startswith(max(ENGLISH))


def test_runs_are_sorted_by_their_tokens_whatever_parts_the_thousands(browser: "Browser", tmp_path: Path) -> None:
    for name, tokens in (("few", 999), ("most", 1_234_567), ("many", 12_345)):
        write_run(tmp_path / name, [graded(CASE, tokens=tokens)])
    with serving(Viewer(Shelf([tmp_path]))) as viewer, page_in(browser, WIDE) as page:
        page.goto(viewer.address)
        page.get_by_role("button", name="Tokens").press("Enter")
        assert page.locator("tbody tr td:first-child").all_inner_texts() == ["few", "many", "most"]


def test_the_keys_go_from_case_to_case_of_a_report_as_fast_as_they_are_pressed(
    browser: "Browser", folder: Path
) -> None:
    (run,) = find_runs([folder / "sweep" / "one"])
    with page_in(browser, WIDE) as page:
        page.goto(written(run))
        focused = []
        for key in "jjk":
            page.keyboard.press(key)
            focused.append(page.evaluate("document.activeElement.id"))
    assert focused == ["case-1", "case-2", "case-1"]


@pytest.mark.parametrize("name", ["clinical", "hostile"])
def test_on_paper_no_column_of_a_table_is_cut_off_and_what_one_types_into_is_left_out(
    name: str, browser: "Browser", folder: Path
) -> None:
    (run,) = find_runs([folder / name])
    with page_in(browser, {"viewport": {"width": 718, "height": 1047}}) as page:  # A4 with margins of 1 cm
        page.goto(written(run))
        page.emulate_media(media="print")
        wide = "[...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth)"
        assert page.evaluate(f"{wide}.map(one => one.getAttribute('aria-label'))") == []
        assert page.locator("form:visible").count() == 0


def test_the_pictures_of_the_docs_are_those_that_one_command_takes_small_and_shown_on_a_page() -> None:
    taken = {f"{picture.name}.png" for picture in PICTURES}
    assert {file.name for file in FOLDER.iterdir()} == taken
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < 600_000
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    assert set(re.findall(r"!\[[^\]]+\]\((?:docs/)?pictures/([\w.-]+)\)", "".join(map(Path.read_text, pages)))) == taken


def test_every_picture_is_taken_of_a_page_that_violates_nothing(browser: "Browser", tmp_path: Path) -> None:
    with served(recorded(tmp_path / "runs"), tmp_path) as pages:
        take(browser, pages, tmp_path / "pictures")
        with page_in(browser, WIDE, bypass_csp=True) as page:
            for name, query in (("rate", "?rater=A.+B."), ("rate", ""), ("consult", "")):
                page.goto(pages[name] + query)
                assert violations(page) == [], name
                page.set_viewport_size({"width": 320, "height": 640})  # a window of 1280 pixels at 400 %
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
                page.set_viewport_size(WIDE["viewport"])
            described = "document.activeElement.getAttribute('aria-describedby').split(' ')"
            told = page.evaluate(f"{described}.map(id => document.getElementById(id).innerText).join()")
            assert page.locator(".said").last.inner_text() in told, "a screen reader at the line reads what was said"
        with page_in(browser, PHONE_IN_THE_DARK) as phone:  # its questions stand below what is read first
            phone.set_viewport_size({"width": 390, "height": 300})
            phone.goto(pages["rate"] + "?rater=A.+B.")
            drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            phone.evaluate(drawn)  # focus scrolls with the next picture of the page
            assert phone.evaluate("[document.activeElement.type, scrollY]") == ["radio", 0]
    assert {file.stem for file in (tmp_path / "pictures").iterdir()} == {picture.name for picture in PICTURES}


@pytest.mark.parametrize("scale", ["clini_eval", "pairwise", "misdiagnosis"])
def test_every_choice_of_a_scale_is_read_in_full_and_numbered_as_its_key(
    scale: Name, browser: "Browser", tmp_path: Path
) -> None:
    """Causes of a wrong diagnosis were cut off; "2 1" stood beside one point of Clini-Eval, which the digit 1 gives."""
    answers = {"report": report("Gout"), "dialogue": [{"speaker": "doctor", "text": "When?"}]}
    runs = find_runs(
        write_run(tmp_path / name, [graded(CASE, 1.0, answers=answers)], data={"case_ids": [CASE]})
        for name in ("one", "two")
    )
    rating = Rating(items_of(runs if scale == "pairwise" else runs[:1], scale), scale, Marks(tmp_path / "marks.jsonl"))
    with serving(rating) as server, page_in(browser, WIDE, bypass_csp=True) as page:
        page.goto(f"{server.address}?rater=Ann")
        assert violations(page) == []
        of_a_set = "document.querySelector('fieldset:has(label + label)').querySelectorAll('label')"
        shown = page.evaluate(f"[...{of_a_set}].map(one => one.innerText.trim())")
        numbers = range(len(shown)) if scale == "clini_eval" else range(1, len(shown) + 1)
        assert [text.split()[0] for text in shown] == [str(number) for number in numbers]
        assert (scale == "clini_eval") == all(text.isdecimal() for text in shown)
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 640})
            end, set_end = (f"{one}.getBoundingClientRect().right" for one in ("one", "one.closest('fieldset')"))
            cut = f"{end} > Math.min(innerWidth, {set_end})"
            labels = "[...document.querySelectorAll('fieldset label')]"
            assert page.evaluate(f"{labels}.filter(one => {cut}).map(one => one.innerText)") == [], width
