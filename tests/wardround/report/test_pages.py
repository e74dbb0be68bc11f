"""The report: what it says, and that whatever it is given stays text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cases import load_cases
from llm import Event
from llm.trace import file_event
from prompts.templates import fence
from scoring.medchain.answers import Answers
from tests.support.commands import wardround
from tests.support.hostile import HTML
from tests.support.recorded_runs import PARTS, call, discussed, graded, write_run
from wardround.report import pages
from wardround.store.recorded_run import find_runs
from wardround.store.result import Result as CaseResult

EVIL = HTML


def page_of(path: Path, shown: int = 20) -> str:
    (run,) = find_runs([path])
    return pages.report_page(run, shown)


@pytest.mark.slow
def test_what_a_graph_filed_is_shown_apart_from_the_calls_and_stays_text(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded("a")], {("a", 0): [call()]})
    file_event(
        Event(id="saps/turn1", event="released_memory", stage="saps", content=EVIL), str(path / "traces" / "a-0.jsonl")
    )
    page = page_of(path)
    assert "All calls (1)" in page and "released memory" in page and "&lt;script&gt;" in page and EVIL not in page


def test_the_regions_of_a_page_have_names_of_their_own_by_case_and_epoch(tmp_path: Path) -> None:
    results = [graded(case, epoch=epoch) for case in "ab" for epoch in (0, 1)]
    path = write_run(tmp_path / "run", results, {one.key: [call()] for one in results}, epochs=2)
    labels = re.findall('role="region" aria-label="([^"]*)"', page_of(path))
    assert len(labels) == len(set(labels)) and {"All calls of a", "All calls of b, epoch 1"} <= {*labels}


def test_each_claim_of_a_report_on_pictures_is_shown_with_its_verdict_and_the_reason(tmp_path: Path) -> None:
    case = load_cases("builtin")[0]
    verdicts = [{"claim": "No effusion.", "reason": "It names <b>fluid</b>.", "supported": False}]
    judged = call("CT", "claim_judge", stage="evaluation", answer={"verdicts": verdicts})
    result = CaseResult(case_id=case.id, epoch=0, termination="completed", answers=Answers())
    data = {"case_ids": [case.id], "split": case.split}
    path = write_run(tmp_path / "run", [result], {(case.id, 0): [judged]}, graph="clinical_workflow", data=data)
    assert "- No effusion. (It names &lt;b&gt;fluid&lt;/b&gt;.)" in page_of(path)


class Tags(HTMLParser):
    """The tags of a page with their attributes, checked to be closed in order."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_picture_is_shown_small_at_the_turn_that_handed_it_over_and_no_file_that_is_none_of_the_case(
    tmp_path: Path,
) -> None:
    from PIL import Image as Raster

    case = next(case for case in load_cases("builtin") if case.split == "test" and case.examinations.images)
    image = case.examinations.images[0].model_copy(update={"file": "seen.png"})
    examinations = case.examinations.model_copy(update={"images": [image]})
    (tmp_path / "cases.jsonl").write_text(
        case.model_copy(update={"examinations": examinations}).model_dump_json() + "\n"
    )
    for name in ("seen.png", "other.png"):
        Raster.new("L", (2000, 1000)).save(tmp_path / name)
    said = [
        {"speaker": "examiner", "text": "Here.", "pictures": [{"item": "CT", "file": f"/gone/{name}"}]}
        for name in ("other.png", "seen.png")
    ]
    result = graded(case.id, answers={"dialogue": said})
    data = {"cases": str(tmp_path / "cases.jsonl"), "split": "test"}
    page = page_of(write_run(tmp_path / "run", [result], graph="consultation", data=data))
    before, shown, after = page.partition('<img alt="CT" src="data:image/jpeg;base64,')
    assert shown and "<img" not in after and before.count("picture: CT") == 2
    assert len(base64.b64decode(after.partition('"')[0])) < 10_000


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run in which the case file, the ids, the patient, the models and the errors are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    case = load_cases("builtin")[0]
    patient = case.patient.model_copy(update={"chief_complaint": EVIL, "present_illness": EVIL})
    shown = case.examinations.model_copy(update={"images": []})
    cases = [
        case.model_copy(update={"id": f"{EVIL}{number}", "patient": patient, "split": None, "examinations": shown})
        for number in range(2)
    ]
    file = folder / "cases.jsonl"
    file.write_text("".join(one.model_dump_json() + "\n" for one in cases), "utf-8")
    report = {"symptoms": EVIL, "examinations": EVIL, "diagnosis": [EVIL], "basis": EVIL, "treatment": EVIL}
    statement = {"round": 0, "seat": 1, "report": {"diagnosis": [EVIL]}, "reasoning": EVIL}
    dispute = {"part": "diagnosis", "point": EVIL}
    answers = {
        "report": report,
        "dialogue": [{"speaker": "doctor", "text": EVIL}, {"speaker": "patient", "text": EVIL}],
        "collaboration": {
            "interns": 2, "ended": "agreed", "rounds": 1,
            "discussion": [{"number": 0, "statements": [statement], "disputes": [dispute], "agreed": False}],
        },
    }  # fmt: skip
    results = [
        discussed(cases[0].id, 1, answers=answers, unscored={"diagnosis": EVIL}, models={EVIL: [EVIL]}),
        CaseResult(case_id=cases[1].id, epoch=0, termination="model_error", error=EVIL),
    ]
    calls = [
        call(model=EVIL, answer={"text": EVIL}, messages=[{"role": "user", "content": fence(EVIL, "the case")}]),
        call("evaluation/d", role="mvme_director", stage="evaluation", answer={"analysis": EVIL}),
        call(f"{EVIL}/2", error=EVIL, answer=None, messages=[{"role": "user", "content": fence(EVIL, "the case")}]),
    ]
    path = write_run(folder / "run", results, {(cases[0].id, 0): calls}, data={"cases": str(file)})
    return page_of(path)


def test_whatever_a_case_a_patient_or_a_model_said_is_text_on_the_page(hostile: str) -> None:
    tags = Tags(hostile).tags
    assert not {"img", "iframe", "object", "link"} & {tag for tag, _ in tags}
    assert [tag for tag, _ in tags].count("script") == 1 and hostile.count(pages.environment().globals["js"]) == 1
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)
    assert hostile.count("&lt;script&gt;") > 15


def test_a_page_needs_nothing_from_elsewhere_and_runs_no_script_but_its_own(hostile: str) -> None:
    tags = Tags(hostile)
    links = [value or "" for _, attributes in tags.tags for name, value in attributes.items() if name == "href"]
    assert links and all(link.startswith("#") for link in links)
    assert not any("src" in attributes for _, attributes in tags.tags)
    (policy,) = (value["content"] or "" for tag, value in tags.tags if value.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", hostile, re.DOTALL)
        assert content and base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode() in policy
    assert "@import" not in hostile and not re.search(r"url\((?!#)", hostile) and tags.open == []


def test_every_call_that_was_given_an_instruction_in_data_is_listed_with_its_answers_validity(hostile: str) -> None:
    section = hostile[hostile.index('id="instructions"') : hostile.index('id="cases"')]
    assert "calls in 1 cases" in section and "found in the data of 2 calls" in section
    assert "1 gave a valid answer and 1 did not" in section
    assert "doctor/turn1" in section and "the case" in section and "Ignore all previous instructions" in section


def test_links_lead_to_the_sections_of_the_cases(hostile: str) -> None:
    anchors = set(re.findall(r'<section class="case" id="([^"]+)"', hostile))
    assert len(anchors) == 2 and {f"#{anchor}" for anchor in anchors} <= set(re.findall(r'href="([^"]+)"', hostile))


def test_a_page_says_what_was_run_and_which_roles_were_rules(tmp_path: Path) -> None:
    models = {"doctor": ["offline"], "patient": ["openai:m"]}
    recorded = [graded("dentistry-05", models=models)]
    page = page_of(write_run(tmp_path / "run", recorded, name="my-run", data={"case_ids": ["dentistry-05"]}))
    assert "not for care" in page and "<b>doctor</b>" in page and "openai:m" in page
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert "my-run" in page and manifest["data"]["fingerprint"] in page and manifest["git"]["commit"] in page
    assert all(version in page for version in manifest["versions"].values() if version)
    assert manifest["prompts"]["en/judges/mvme.md"] in page


def test_a_run_of_notes_names_the_notes_and_not_the_built_in_cases(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("A man of 40 has had a cough for three days.", "utf-8")
    notes = [str(tmp_path / name) for name in ("one.txt", "two.txt")]
    page = page_of(write_run(tmp_path / "run", [], graph="reconstruction", suite="gates", data={"notes": notes}))
    assert f"<dt>Data</dt><dd>{', '.join(notes)}, fingerprint" in page


@pytest.mark.slow
def test_an_unfinished_run_says_so_and_one_without_results_has_a_page_too(tmp_path: Path) -> None:
    some = write_run(tmp_path / "some", [graded("dentistry-05")], {("dentistry-05", 0): []}, data={"limit": 3})
    assert "This run is not finished." in page_of(some) and "1 of 3 cases have ended" in page_of(some)
    none = write_run(tmp_path / "none", [], data={"limit": 3})
    assert "0 of 3 cases have ended" in page_of(none)
    done = write_run(tmp_path / "done", [graded("dentistry-05")], data={"limit": 1})
    assert "not finished" not in page_of(done)


def test_a_large_run_is_cut_to_failed_and_first_cases_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LISTED_CASES", 10)
    scored = [graded(f"c{number:03}") for number in range(100)]
    failed = [CaseResult(case_id=f"z{number}", epoch=0, termination="model_error", error="gone") for number in range(5)]
    page = page_of(write_run(tmp_path / "run", [*scored, *failed], data={"limit": 1}), shown=3)
    assert page.count('<section class="case"') == 6 and "95 more cases are not listed here" in page
    assert "6 of 105 cases are shown in full" in page
    assert all(f"z{number}" in page for number in range(5))  # what failed is always listed


@pytest.mark.slow
def test_a_failed_case_shows_its_error_and_a_case_its_answer_beside_the_reference(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    report = {"symptoms": "", "examinations": "", "diagnosis": ["Odd disease"], "basis": "", "treatment": ""}
    results = [
        graded(case.id, answers={"report": report}),
        CaseResult(case_id="other", epoch=0, termination="unparseable_answer", error="no JSON found"),
    ]
    page = page_of(write_run(tmp_path / "run", results, data={"case_ids": [case.id]}))
    assert "no JSON found" in page and "Odd disease" in page and case.key.diagnosis[0] in page


@pytest.mark.slow
def test_a_run_in_which_cases_failed_shows_the_mean_that_counts_them_as_wrong_beside_the_scores(tmp_path: Path) -> None:
    lost = CaseResult(case_id="b", epoch=0, termination="unparseable_answer", error="no JSON found")
    page = page_of(write_run(tmp_path / "run", [graded("a", 4.0), lost], suite="mvme"))
    assert "Failed as wrong</th>" in page and "<td>2.500</td>" in page  # 4 and the lowest grade, 1
    assert "Failed as wrong" not in page_of(write_run(tmp_path / "all", [graded("a", 4.0)], suite="mvme"))


@pytest.mark.parametrize("uncounted", [0, 2])
def test_a_cost_that_lacks_calls_whose_tokens_no_server_reported_is_called_too_low(
    uncounted: int, tmp_path: Path
) -> None:
    page = page_of(write_run(tmp_path / "run", [graded("a", calls=3, uncounted=uncounted, cost=0.0)]))
    said = "0.0000 US dollars. No token usage was reported for 2 calls: tokens and cost are too low."
    assert (said in page) is bool(uncounted)


def test_the_directors_analysis_stands_beside_the_grade_of_each_part(tmp_path: Path) -> None:
    part = {"analysis": "The <b>name</b> is another.", "option": "D"}
    grades = {"symptoms": None, "examinations": None, "diagnosis": part, "basis": None, "treatment": None}
    why = {"reason": "No scan was done.", "type": "omitted_examination"}
    calls = [
        call("evaluation/mvme_director", "mvme_director", stage="evaluation", answer=grades),
        call("evaluation/misdiagnosis_judge", "misdiagnosis_judge", stage="evaluation", answer=why),
    ]
    case = load_cases("builtin")[0].id
    found = graded(case, 1.0, answers={"report": {**dict.fromkeys(PARTS, "x"), "diagnosis": ["Gout"]}})
    page = page_of(write_run(tmp_path / "run", [found], {(case, 0): calls}, suite="mvme", data={"case_ids": [case]}))
    row = next(line for line in page.split("<tr>") if ">Gout<" in line)
    assert "The &lt;b&gt;name&lt;/b&gt; is another." in row and "omitted_examination: No scan was done." in row


def test_of_a_part_that_the_report_leaves_empty_the_page_says_so_and_not_what_the_director_saw_in_it(
    tmp_path: Path,
) -> None:
    grades = {part: {"analysis": f"All is there: {part}.", "option": "A"} for part in PARTS}
    calls = [call("evaluation/mvme_director", "mvme_director", stage="evaluation", answer=grades)]
    case = load_cases("builtin")[0].id
    found = graded(case, answers={"report": {**dict.fromkeys(PARTS, "x"), "diagnosis": ["Gout"], "basis": " "}})
    page = page_of(write_run(tmp_path / "run", [found], {(case, 0): calls}, suite="mvme", data={"case_ids": [case]}))
    [table] = re.findall('aria-label="Judged answers.*?</table>', page, re.DOTALL)
    assert table.count("The report leaves this part empty.") == 1
    assert re.findall(r"All is there: (\w+)", table) == [part for part in PARTS if part != "basis"]


@pytest.mark.slow
def test_the_command_writes_a_page_into_each_run_and_one_over_a_sweep(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(tmp_path / name, [discussed("a", 1)], {("a", 0): [call()]}, data={"limit": 1})
    told = wardround("report", tmp_path)
    assert told.exit_code == 0, told.output
    assert all((tmp_path / place / "report.html").is_file() for place in ("", "one", "two"))
    overview = (tmp_path / "report.html").read_text("utf-8")
    assert 'href="one/report.html"' in overview and "Consensus by round" in overview
    drawn = [attributes["src"] or "" for tag, attributes in Tags(overview).tags if tag == "img"]
    assert drawn and all(source.startswith("data:image/svg+xml;base64,") for source in drawn)
    assert wardround("report", tmp_path / "nowhere").exit_code == 2


def test_a_page_links_a_report_on_another_drive_by_its_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pages._link(Path("/runs/a b/report.html"), Path("/runs")) == "a%20b/report.html"

    def refused(*_: Path) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")  # as Windows says it

    monkeypatch.setattr("os.path.relpath", refused)
    assert pages._link(Path("/runs/a b/report.html"), Path("/runs")) == "file:///runs/a%20b/report.html"


def test_the_page_of_one_run_can_also_be_written_elsewhere(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded("a")], {("a", 0): [call()]}, data={"limit": 1})
    assert wardround("report", run, "-o", tmp_path / "out" / "page.html").exit_code == 0
    page = (tmp_path / "out" / "page.html").read_text("utf-8")
    assert page == (run / "report.html").read_text("utf-8") and 'id="case-list"' in page


def test_a_run_directory_that_cannot_be_written_does_not_prevent_a_page_elsewhere(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [graded("a")], {("a", 0): [call()]}, data={"limit": 1}) for name in ("r", "s")]
    (runs[0] / "report.html").mkdir()  # as in a read-only folder, also for a user who may write everywhere
    refused = wardround("report", runs[0])
    assert refused.exit_code == 2 and "report.html" in refused.output
    alone = wardround("report", runs[0], "-o", tmp_path / "page.html")
    assert alone.exit_code == 0 and "not written" in alone.output
    assert 'id="case-list"' in (tmp_path / "page.html").read_text("utf-8")
    assert wardround("report", *runs, "-o", tmp_path / "both.html").exit_code == 0
    both = (tmp_path / "both.html").read_text("utf-8")
    assert 'href="s/report.html"' in both and 'href="r/report.html"' not in both and '"key">r</td>' in both


def test_orders_are_not_called_needless_where_the_key_names_no_examination(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if not case.examinations.images)
    silent = case.model_copy(update={"key": case.key.model_copy(update={"examination_items": []})})
    for number, (one, needless) in enumerate([(case, True), (silent, False)]):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(one.model_dump_json(exclude={"folder"}) + "\n", "utf-8")
        answers = Answers(orders=["Urine Test"])
        page = page_of(
            write_run(tmp_path / f"run{number}", [graded(case.id, answers=answers)], data={"cases": str(file)})
        )
        assert "Urine Test" in page and ("not in the key" in page) is needless


def test_templates_are_compiled_once_and_not_for_each_page() -> None:
    first, second = (pages.environment().get_template("run.html.jinja") for _ in range(2))
    assert first is second
