"""The viewer: what its pages show of any run, that words of models stay text, and that strangers get nothing."""

import http.client
import json
import os
import re
import socket
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from typer.testing import CliRunner

from tests.support.hostile import HTML, TERMINAL, obeyed
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from tests.support.serving import serving
from tests.wardround.report.test_pages import Tags
from tests.wardround.view.conftest import report
from wardround.cli import app
from wardround.report.pages import environment
from wardround.serving import loopback
from wardround.store.run_directory import RunDirectory
from wardround.view.pages import Viewer, differing
from wardround.view.run_library import Shelf

CASE, OTHER = ENGLISH


def ask(viewer: Viewer, query: str = "", **headers: str) -> tuple[int, str]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(viewer.address + query, headers=sent), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def shown(viewer: Viewer, query: str = "") -> str:
    """The content of a page, without its head."""
    status, page = ask(viewer, query)
    assert status == 200, page[-600:]
    return page[page.index("<main") : page.index("</main>")]


def test_every_run_in_a_folder_is_listed_and_what_is_none_is_named_in_one_sentence(viewer: Viewer) -> None:
    page = shown(viewer)
    for name in ("sweep/one", "sweep/two", "clinical", "hostile", "damaged"):
        assert f'href="?run={quote(name, safe="")}"' in page
    assert "1 of 3" in page and "damaged line" in page
    assert "notes: is not a run directory: it has no manifest.json" in page
    assert re.search("broken: manifest.json cannot be read .*wardround doctor", page)


@pytest.mark.slow
def test_the_page_of_a_run_has_scores_failures_and_cases_and_says_what_is_damaged(viewer: Viewer) -> None:
    page = shown(viewer, "?run=sweep/one")
    assert "2 attempted: 1 scored" in page and "the server has gone" in page and CASE in page
    assert "This run is not finished" in shown(viewer, "?run=clinical")
    page = shown(viewer, "?run=damaged")
    assert "line 1 has changed since it was written" in page and OTHER in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=monday", [CASE]),
        ("q=monday+gout", [CASE]),
        ("q=pericardium", []),
        ("q=pericardium&calls=1", [CASE]),
        ("q=has+gone", [OTHER]),
        ("end=model_error", [OTHER]),
        ("score=diagnosis&most=2", [CASE]),
        ("score=diagnosis&most=1", []),
        ("sort=-case", [OTHER, CASE]),
        ("sort=diagnosis", [CASE, OTHER]),  # what has no score comes last
        ("sort=-diagnosis", [CASE, OTHER]),
        ("page=9&most=x", [CASE, OTHER]),
    ],
)
def test_cases_are_searched_filtered_and_sorted(viewer: Viewer, query: str, found: list[str]) -> None:
    page = shown(viewer, f"?run=sweep/one&{query}")
    listed = re.findall(
        r'<td class="key"><a href="\?run=sweep%2Fone&amp;case=([\w-]+)', page[page.index('id="cases"') :]
    )
    assert listed == found


def test_a_case_shows_its_way_dialogue_decisions_and_every_prompt(viewer: Viewer) -> None:
    page = shown(viewer, f"?run=sweep/one&case={CASE}")
    assert "Effective Inquiry" in page and "Pain since Monday." in page and "The pericardium." in page
    assert "picture foot.png" in page
    page = shown(viewer, f"?run=clinical&case={CASE}")
    assert page.index("Tophi.") < page.index("Too vague.") < page.index("Named now.")
    assert 'class="step no"' in page and "1 objection" in page and 'class="exhausted"' in page
    assert page.index("Ambiguous Inquiry") < page.index("And at night?") < page.index("At night too.")
    assert page.index("At night too.") < page.index("Woken by pain.")
    recalled = page[page.index('id="recalled"') : page.index('id="decisions"')]
    assert all(words in recalled for words in ("earlier-07", "0.813", "Old gout"))


def test_the_rounds_of_a_dialogue_are_numbered_at_the_doctors_turns(tmp_path: Path) -> None:
    said = [{"speaker": speaker, "text": "So."} for speaker in ("patient", "doctor", "patient", "doctor", "patient")]
    results = [graded(CASE, answers={"report": report("Gout"), "dialogue": said})]
    write_run(tmp_path / "one", results, data={"case_ids": [CASE]})
    with serving(Viewer(Shelf([tmp_path]))) as server:
        page = ask(server, f"?run=one&case={CASE}")[1]
    assert re.findall(r"<b>((?:doctor|patient)[^<]*)</b>", page) == [
        "patient",
        "doctor 1",
        "patient",
        "doctor 2",
        "patient",
    ]


def test_what_was_said_and_decided_is_marked_with_its_language_for_those_who_hear_the_page(tmp_path: Path) -> None:
    """Only the dialogue was; the page itself is English."""
    answers = {"report": report("痛风"), "dialogue": [{"speaker": "doctor", "text": "哪里疼？"}]}
    for name in ("one", "two"):
        result = graded(CASE, answers=answers, language="zh")  # an English case, played in Chinese
        write_run(tmp_path / name, [result], data={"case_ids": [CASE]})
    with serving(Viewer(Shelf([tmp_path]))) as server:
        page, pair = (ask(server, f"?run=one&case={CASE}{other}")[1] for other in ("", "&with=two"))
    assert 'lang="zh">痛风</td><td class="wrap data" lang="en">' in page
    assert re.search(r'class="talk" lang="zh">\s*<div class="said', page) and pair.count('lang="zh">痛风') == 2


def test_a_call_on_a_cases_page_is_what_a_model_was_asked_as_in_the_line_of_its_run(tmp_path: Path) -> None:
    asked = [call(f"doctor/turn{turn}", model=model) for turn, model in enumerate(("offline", "offline", "openai:m"))]
    path = write_run(tmp_path / "one", [graded(CASE, calls=1)], {(CASE, 0): asked}, data={"limit": 1})
    with serving(Viewer(Shelf([path]))) as server:
        assert "· 1 call of models ·" in shown(server, f"?run=one&case={CASE}")


def test_a_stage_that_no_case_has_a_score_of_is_drawn_as_not_scored_and_not_as_never_right(viewer: Viewer) -> None:
    page = shown(viewer, "?run=clinical")
    drawn = page[page.index("<svg") : page.index("</svg>")]
    labels = re.findall(r'<text class="soft"[^>]*>([^<]*)</text>', drawn)
    assert labels[:2] == ["1 right", "1 right"] and "1 not scored" in labels


def test_which_run_is_subtracted_from_which_is_said_above_the_differences(viewer: Viewer) -> None:
    page = shown(viewer, "?run=sweep/one&with=sweep/two")
    assert page.index("Each score: sweep/two minus sweep/one.") < page.index("First ended")


def test_scores_of_two_suites_are_not_subtracted_though_they_have_one_name(viewer: Viewer) -> None:
    """A diagnosis of 0.0 (of 1) in one suite and of 2.0 (1 to 4) in the other was 2.0 better, in green."""
    for query in ("?run=clinical&with=sweep/one", f"?run=clinical&with=sweep/one&case={CASE}"):
        page = shown(viewer, query)
        assert "scored by medchain and mvme, each on its own scale: no score is subtracted" in page
        assert not re.search(r"[+-]\d\.\d", page.partition('<h2 id="cases">')[2] or page), query


def test_a_difference_is_called_good_or_bad_only_where_higher_is_better(tmp_path: Path) -> None:
    for name, value in (("one", 3.0), ("two", 4.0)):
        scores = {"Avg. Turns": value, "Medical Exam": value}
        result = graded(CASE).model_copy(update={"scores": scores})
        write_run(tmp_path / name, [result], graph="consultation", suite="clini_eval", data={"case_ids": [CASE]})
    with serving(Viewer(Shelf([tmp_path]))) as server:
        page = ask(server, "?run=one&with=two")[1]
    assert re.findall(r'<td class="(\w*)">\+1.00', page) == ["", "good"]


def test_a_case_that_is_not_ended_shows_what_is_on_record(viewer: Viewer, folder: Path) -> None:
    file = RunDirectory(folder / "clinical").trace_file(OTHER, 0)
    file.write_text(call("history_taking/doctor/turn1", answer={"text": "Go on."}).model_dump_json() + "\n", "utf-8")
    page = shown(viewer, f"?run=clinical&case={OTHER}")
    assert "not ended" in page and "Go on." in page


def test_differing_words_of_two_runs_are_marked(viewer: Viewer) -> None:
    page = shown(viewer, f"?run=sweep/one&with=sweep/two&case={CASE}")
    assert "<mark>Acute" in page and page.count("<mark>") == 2
    assert f"case={CASE}" in shown(viewer, "?run=sweep/one&with=sweep/two")
    assert differing("a b c", "a x c") == (
        [("a ", False), ("b", True), (" c", False)], [("a ", False), ("x", True), (" c", False)],
    )  # fmt: skip
    assert differing("左膝疼痛", "右膝疼痛")[0] == [("左", True), ("膝疼痛", False)]


@pytest.mark.parametrize("query", ["", "?run=hostile", "?run=hostile&part=calls", f"?run=hostile&case={quote(HTML)}",
                                   f"?run=hostile&with=sweep/one&case={CASE}", f"?run={quote(HTML)}",
                                   f"?run=hostile&q={quote(HTML)}&sort={quote(HTML)}"])  # fmt: skip
def test_words_of_models_cases_and_addresses_stay_text(viewer: Viewer, query: str) -> None:
    _, page = ask(viewer, query)
    tags = Tags(page).tags
    assert not {"img", "iframe", "object", "link"} & {tag for tag, _ in tags}
    assert [tag for tag, _ in tags].count("script") == 1 and page.count(environment().globals["js"]) == 1
    assert not any(name.startswith("on") or name == "style" for _, attributes in tags for name in attributes)


@pytest.mark.slow
def test_every_link_of_every_page_leads_to_a_page(viewer: Viewer) -> None:
    seen, left = set[str](), {""}
    while left:
        page = Tags(ask(viewer, address)[1]) if (address := left.pop()) is not None else None
        assert page is not None and page.open == []
        seen.add(address)
        links = {attributes["href"] or "" for tag, attributes in page.tags if tag == "a"}
        assert all(link.startswith(("?", "#")) for link in links)
        here = {link.split("#")[0] for link in links if link.startswith("?") and "sort=" not in link} - {"?"}
        left |= here - seen
    assert len(seen) > 12
    assert {address for address in seen if ask(viewer, address)[0] != 200} == set()


def test_strangers_get_nothing_and_pages_run_only_what_is_theirs(viewer: Viewer) -> None:
    url = urlsplit(viewer.address)
    for headers in ({"Host": f"evil.example:{url.port}"}, {"Origin": "https://evil.example"}):
        assert ask(viewer, **headers) == (403, ask(viewer, **headers)[1]) and "refused" in ask(viewer, **headers)[1]
    request = urllib.request.Request(f"http://{url.netloc}/wrong-token/?run=clinical")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=30)
    with urllib.request.urlopen(viewer.address, timeout=30) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    for outside in ("?run=..", "?run=/etc", "?run=clinical&case=..%2F..%2Fmanifest", "etc/passwd", "?run=sweep"):
        assert ask(viewer, outside)[0] == 404


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells whose a connection is")
@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_another_user_of_the_machine_is_refused_even_with_the_token(
    viewer: Viewer, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token stands in the command line of the browser that was opened, which every user can read."""
    with socket.create_connection((host, viewer.server_port)) as caller:
        assert loopback.callers(caller.getsockname()[1], viewer.server_port) == {os.getuid()}
    monkeypatch.setattr(loopback, "callers", lambda *_: {os.getuid(), 0})
    assert not loopback.asked_by_another(1, 2)
    monkeypatch.setattr(loopback, "callers", lambda *_: {os.getuid() + 1})
    assert ask(viewer) == (403, "refused: this server answers only to the user who started it")


def test_what_a_run_writes_while_it_is_viewed_is_shown_and_nothing_new_is_not_sent(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded(CASE)], data={"case_ids": [CASE, OTHER]})
    with serving(Viewer(Shelf([tmp_path]), follow=True)) as server:
        first = ask(server, "?run=run")[1]
        assert "1 of 2 cases have ended" in first and "data-again" in first
        stamp = re.findall('data-stamp="([^"]+)"', first)[0]
        assert ask(server, "?run=run", If_None_Match=stamp) == (204, "")
        RunDirectory(path).add(graded(OTHER))
        status, page = ask(server, "?run=run", If_None_Match=stamp)
        assert status == 200 and OTHER in page and "have ended" not in page
        kept = (path / "results.jsonl").read_text("utf-8").splitlines(keepends=True)[1:]
        (path / "draft").write_text("".join(kept), "utf-8")
        (path / "draft").replace(path / "results.jsonl")  # as a resumed run takes out what it tries again
        assert f"case={CASE}" not in ask(server, "?run=run")[1] and f"case={OTHER}" in ask(server, "?run=run")[1]
        write_run(tmp_path / "later", [graded(CASE)], data={"case_ids": [CASE]})
        assert "later" in ask(server)[1]


def test_a_run_that_has_just_begun_is_searched_as_any_other(tmp_path: Path) -> None:
    """It has no file of results yet, and the page of a search was an error."""
    write_run(tmp_path / "run", [], data={"case_ids": [CASE]})
    with serving(Viewer(Shelf([tmp_path]))) as server:
        status, page = ask(server, "?run=run&q=pain&calls=on")
    assert status == 200 and "0 of 0 cases" in page and "none asked yet" in page


def test_a_fault_of_ours_is_a_page_that_says_so(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(query: object) -> str:
        raise RuntimeError(" ".join(TERMINAL))

    monkeypatch.setattr(viewer, "page", broken)
    status, page = ask(viewer, "?run=clinical")
    assert status == 500 and "this page cannot be rendered (RuntimeError" in page
    told = capsys.readouterr().err
    assert "RuntimeError" in told and not obeyed(told)


def test_runs_of_several_folders_are_named_below_the_folder_that_holds_them_all(folder: Path) -> None:
    shelf = Shelf([folder / "sweep", folder / "clinical"])
    shelf.look()
    assert set(shelf.runs) == {"sweep/one", "sweep/two", "clinical"}
    alone = Shelf([folder / "clinical"])
    alone.look()
    assert set(alone.runs) == {"clinical"}


def test_what_cannot_be_viewed_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign" / "notes").mkdir(parents=True)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "manifest.json").write_text(json.dumps({"x": 1}), "utf-8")
    for name, reason in (
        ("nowhere", "folder not found"),
        ("empty", "contains no run"),
        ("foreign", "is not a run directory: it has no manifest.json"),
        ("bad", "manifest.json cannot be read"),
    ):
        told = CliRunner().invoke(app, ["view", str(tmp_path / name), "--no-browser"])
        assert told.exit_code == 2 and reason in told.output and told.output.count("error:") == 1


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "NOSUCH"])
def test_a_method_without_a_page_is_refused_as_text(viewer: Viewer, method: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=30)
    connection.request(method, urlsplit(viewer.address).path)
    answer = connection.getresponse()
    assert answer.status == 501 and answer.headers["Content-Type"].startswith("text/plain")
    assert method == "HEAD" or answer.read().decode() == f"Unsupported method ('{method}')\n"


def test_texts_with_too_many_equal_words_are_compared_by_lines_or_as_a_whole() -> None:
    one, other = "一" * 6_000, "一" * 5_999 + "二"
    assert differing(one, other) == ([(one, True)], [(other, True)])
    assert differing(f"{one}\na b\n", f"{one}\na c\n")[0] == [(f"{one}\n", False), ("a b\n", True)]


def test_a_cost_that_lacks_calls_whose_tokens_no_server_reported_is_called_too_low(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [graded(CASE, calls=3, uncounted=2, cost=0.0)])
    with serving(Viewer(Shelf([tmp_path]))) as server:
        assert "0.0000 US dollars. No token usage was reported for 2 calls" in shown(server, "?run=run")
