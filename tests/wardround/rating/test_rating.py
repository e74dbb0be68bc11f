"""People's judgement of runs: a page that is blinded, kept at once, closed to strangers; and how far people agree."""

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import load_cases
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Turn
from prompts import load_words
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from scoring.metrics.statistics import estimate
from tests.support.recorded_runs import ENGLISH, call, graded, write_run
from tests.support.serving import serving
from wardround.cli import app
from wardround.config.experiment import ConfigurationError
from wardround.rating.agreement import left_out, tables_of, votes_of
from wardround.rating.items import Item, items_of, order_for
from wardround.rating.marks import FILE, Mark, Marks, read_marks
from wardround.rating.scales import Name, scale_of
from wardround.rating.server import Rating
from wardround.report.case_sections import pairs_of
from wardround.store.manifest import MANIFEST
from wardround.store.provenance import write_json
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.tables.table import Column, Table
from wardround.tables.terminal import print_and_write

SCALES: list[Name] = ["mvme", "aie", "medpmc", "clini_eval", "pairwise", "misdiagnosis"]
HANDED_IN = ("rater", "scale", "question", "value", "run", "case_id", "epoch")  # what docs/rating.md makes of a sheet
HOSTILE = "<script>alert('one')</script>"


def consulted(path: Path, words: str = "How long has it hurt?", grade: float = 2.0) -> RecordedRun:
    """A run of two consultations in which the doctor says these words."""
    dialogue = [Turn(speaker="doctor", text=words), Turn(speaker="patient", text="Since Monday.")]
    report = FinalReport(
        symptoms="Pain.", examinations="X-ray.", diagnosis=["Caries"], basis="Seen.", treatment="Rest."
    )
    answers = ConsultationAnswers(report=report, dialogue=dialogue)
    results = [graded(case_id, grade, answers=answers) for case_id in ENGLISH]
    (run,) = find_runs([write_run(path, results, data={"case_ids": [*ENGLISH]})])
    return run


@contextmanager
def served(runs: list[RecordedRun], scale: Name, file: Path) -> Iterator[Rating]:
    with serving(Rating(items_of(runs, scale), scale, Marks(file))) as server:
        yield server


def ask(url: str, body: Any = None, **headers: str) -> tuple[int, str]:
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, sent), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def mark(rater: str, question: str, value: int, case_id: str, scale: Name = "mvme", **more: Any) -> Mark:
    return Mark(rater=rater, scale=scale, question=question, value=value, run="one", case_id=case_id, epoch=0, **more)


@pytest.mark.parametrize("name", SCALES)
def test_both_languages_ask_the_same_and_take_the_same_answers(name: Name) -> None:
    english, chinese = scale_of(name, "en"), scale_of(name, "zh")
    asked = [(question.key, [choice.value for choice in question.choices]) for question in english.questions]
    assert asked == [(question.key, [choice.value for choice in question.choices]) for question in chinese.questions]
    assert len({question.key for question in english.questions}) == len(english.questions)
    assert len(english.questions) >= (1 if name == "misdiagnosis" else 5)
    assert all(choice.text for question in chinese.questions for choice in question.choices)


def test_the_points_of_clini_eval_are_a_hundred() -> None:
    assert sum(question.choices[-1].value for question in scale_of("clini_eval", "en").questions) == 100


def test_a_chinese_page_asks_for_clini_evals_points_in_chinese_alone() -> None:
    assert not re.search(r"[A-Za-z]", "".join(question.text for question in scale_of("clini_eval", "zh").questions))
    assert scale_of("clini_eval", "en").questions[-1].text.startswith("Confirmatory Tests Consistency: ")


@pytest.mark.slow
def test_the_page_shows_dialogue_report_and_case_and_tells_nothing_of_the_run(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / "gpt-secret"), consulted(tmp_path / "qwen-secret", "Where does it hurt?")]
    for scale, wanted in (("mvme", 4), ("pairwise", 3)):
        with served(runs, scale, tmp_path / f"{scale}.jsonl") as server:  # type: ignore[arg-type]
            pages = [ask(f"{server.address}?rater=Ann&item={place}")[1] for place in range(len(server.items))]
            assert [ask(f"{server.address}?rater=Ann&item={far}")[0] for far in (99, "9" * 5000)] == [404, 404]
        assert not any("secret" in page for page in pages)
        # Arabic begins at the right; a browser that reloads the page shows what was saved, not what was last chosen.
        assert all(
            "unicode-bidi: plaintext" in page and '<form class="marks" autocomplete="off">' in page for page in pages
        )
        assert all("Since Monday." in page and re.search("Answer key|参考答案", page) for page in pages)
        assert all(page.count('name="diagnosis"') == wanted for page in pages)
        if scale == "pairwise":
            assert all("Where does it hurt?" in page and "How long has it hurt?" in page for page in pages)


def test_the_treatment_of_a_chinese_case_is_an_operation_and_no_department() -> None:
    chinese = next(case for case in load_cases() if case.language == "zh")
    key = chinese.key.model_copy(update={"treatment_items": ["Surgery", "Medication"], "treatment_course": ""})
    item = Item(("one", "", "a", 0), chinese.model_copy(update={"key": key}), ())
    assert item.key_parts["treatment"] == "手术\n药物治疗"


def test_the_pictures_of_a_chinese_case_have_chinese_titles() -> None:
    image = next(found for case in load_cases() for found in case.examinations.images)
    image = image.model_copy(update={"item": "Ultrasound", "file": "a.png"})
    chinese = next(case for case in load_cases() if case.language == "zh").model_copy(update={"folder": "/ward"})
    examinations = chinese.examinations.model_copy(update={"images": [image]})
    item = Item(("one", "", "a", 0), chinese.model_copy(update={"examinations": examinations}), ())
    assert [(name, str(file)) for name, file in item.pictures] == [("超声", "/ward/a.png")]


def test_the_first_page_speaks_every_language_of_the_cases(tmp_path: Path) -> None:
    both = [next(case for case in load_cases() if case.language == language) for language in ("zh", "en")]
    server = Rating([Item(("one", "", case.id, 0), case, ()) for case in both], "mvme", Marks(tmp_path / FILE))
    try:
        page = server.page("", "", 0) or ""
    finally:
        server.server_close()
    assert "仅供研究，不用于诊疗。" in page and "not for care" in page
    assert "<title>盲法评分 · Blinded rating</title>" in page and "您的姓名或代号 · Your name or initials" in page


def test_words_of_a_model_are_text_on_the_page_and_scripts_need_its_nonce(tmp_path: Path) -> None:
    with served([consulted(tmp_path / "one", HOSTILE)], "aie", tmp_path / FILE) as server:
        request = urllib.request.urlopen(f"{server.address}?rater=%3Cb%3E%22%27", timeout=20)
        page, policy = request.read().decode(), request.headers["content-security-policy"]
    assert HOSTILE not in page and "&lt;script&gt;alert" in page and '<b>"' not in page
    (nonce,) = re.findall(r'<script nonce="([\w-]+)">', page)
    assert f"'nonce-{nonce}'" in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


def test_a_page_without_scripts_says_that_it_saves_nothing(tmp_path: Path) -> None:
    with served([consulted(tmp_path / "one")], "mvme", tmp_path / FILE) as server:
        page = ask(f"{server.address}?rater=Ann")[1]
    assert "仅供研究，不用于诊疗" in page
    assert re.search("<noscript>.*JavaScript.*</noscript>", page)


@pytest.mark.slow
def test_every_choice_is_on_the_disk_when_the_page_is_told_so_and_a_later_one_takes_its_place(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / "one")]
    with served(runs, "mvme", tmp_path / FILE) as server:
        for value in (2, 4):
            given = {"rater": "Ann", "place": 0, "question": "diagnosis", "value": value}
            assert ask(f"{server.address}judge", given) == (204, "")
            assert [kept.value for kept in read_marks(tmp_path / FILE)] == [value]
        assert "4&#39;" not in ask(f"{server.address}?rater=Bob")[1]
        mine = ask(f"{server.address}?rater=Ann&item=0")[1]
    assert re.findall(r'name="diagnosis" value="(\d)" checked', mine) == ["4"]
    (kept,) = read_marks(tmp_path / FILE)
    assert kept.case_id == order_for("Ann", items_of(runs, "mvme"))[0].case.id
    with served(runs, "mvme", tmp_path / FILE) as again:  # goes on another day
        assert 'value="4" checked' in ask(f"{again.address}?rater=Ann&item=0")[1]


def test_in_a_file_put_together_from_several_the_latest_answer_counts_wherever_it_stands(tmp_path: Path) -> None:
    late, early = (
        mark("Ann", "diagnosis", value, "c", at=f"2026-01-0{day}T00:00:00Z") for value, day in ((4, 2), (1, 1))
    )
    for lines in (late, early), (late.model_copy(update={"at": late.at.replace(tzinfo=None)}), early):
        (tmp_path / FILE).write_text("".join(f"{one.model_dump_json()}\n" for one in lines), "utf-8")
        assert [kept.value for kept in read_marks(tmp_path / FILE)] == [4]


def test_a_corrected_answer_stays_the_latest_if_the_clock_is_put_back(tmp_path: Path) -> None:
    for value, day in ((4, 3), (2, 2), (3, 1)):
        marks = Marks(tmp_path / FILE)  # on another day, or by another server
        marks.add(mark("Ann", "diagnosis", value, "c", at=f"2026-01-0{day}T00:00:00Z"))
        assert [kept.value for kept in read_marks(tmp_path / FILE)] == [value]


@pytest.mark.slow
def test_a_file_holds_the_answers_to_several_scales_apart(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / "one")]
    for scale, value in (("mvme", 1), ("medpmc", 5), ("aie", 2)):
        with served(runs, scale, tmp_path / FILE) as server:  # type: ignore[arg-type]
            assert " checked" not in ask(f"{server.address}?rater=Ann&item=0")[1]
            question = "Diagnosis" if scale == "medpmc" else "diagnosis"
            given = {"rater": "Ann", "place": 0, "question": question, "value": value}
            assert ask(f"{server.address}judge", given)[0] == 204
    assert [(kept.scale, kept.value) for kept in read_marks(tmp_path / FILE)] == [
        ("mvme", 1),
        ("medpmc", 5),
        ("aie", 2),
    ]


def test_a_page_without_an_item_leads_to_the_address_of_the_first_open_one_so_that_back_returns_to_it(
    tmp_path: Path,
) -> None:
    """Back showed the next item again, as the first one had been rated by then."""
    with served([consulted(tmp_path / "one", grade=1.0)], "misdiagnosis", tmp_path / FILE) as server:

        def place() -> str:
            with urllib.request.urlopen(f"{server.address}?rater=Ann+B.", timeout=20) as page:
                return str(page.url).removeprefix(server.address)

        places = [place()]
        for item in (0, 1):
            given = {"rater": "Ann B.", "place": item, "question": "type", "value": 1}
            assert ask(f"{server.address}judge", given)[0] == 204
            places.append(place())
    assert places == [f"?rater=Ann%20B.&item={item}" for item in (0, 1, 2)]


def test_several_people_judge_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with served([consulted(tmp_path / "one")], "mvme", tmp_path / FILE) as server:

        def judge(rater: str) -> None:
            for place in range(2):
                for question in ("symptoms", "basis"):
                    given = {"rater": rater, "place": place, "question": question, "value": 3}
                    assert ask(f"{server.address}judge", given)[0] == 204

        people = [threading.Thread(target=judge, args=(rater,)) for rater in ("Ann", "Bob", "Cem")]
        for person in people:
            person.start()
        for person in people:
            person.join()
    assert len(read_marks(tmp_path / FILE)) == 3 * 2 * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"value": 5},
        {"value": 0},
        {"question": "wit"},
        {"place": 2},
        {"place": -1},
        {"rater": ""},
        {"rater": "x" * 81},
        {"rater": "Ann\nBob"},
        {"rater": "Ann\u2028Bob"},
        {"rater": " Ann"},
        {"more": 1},
    ],
)
def test_what_is_no_answer_of_the_scale_is_refused_and_not_kept(tmp_path: Path, given: dict[str, Any]) -> None:
    sound = {"rater": "Ann", "place": 0, "question": "diagnosis", "value": 4}
    with served([consulted(tmp_path / "one")], "mvme", tmp_path / FILE) as server:
        assert ask(f"{server.address}judge", {**sound, **given})[0] == 400
        assert ask(f"{server.address}judge", [sound])[0] == 400
        for torn in (b"{", b"\xff"):
            request = urllib.request.Request(f"{server.address}judge", torn, {"Content-Type": "application/json"})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=20)
            assert refused.value.code == 400 and refused.value.read().startswith(b"the judgement: Invalid JSON")
    assert read_marks(tmp_path / FILE) == []


def test_strangers_are_refused(tmp_path: Path) -> None:
    sound = {"rater": "Ann", "place": 0, "question": "diagnosis", "value": 4}
    with served([consulted(tmp_path / "one")], "mvme", tmp_path / FILE) as server:
        told = [
            ask(server.address, Host="evil.example"),
            ask(f"{server.address}judge", sound, Origin="https://evil.example"),
            ask(f"{server.address}judge", sound, Origin="null"),
            ask(f"http://127.0.0.1:{server.server_port}/", sound),
            ask(f"http://127.0.0.1:{server.server_port}/{'x' * 22}/judge", sound),
        ]
        plain = ask(f"{server.address}judge", sound, Content_Type="text/plain")
        large = ask(f"{server.address}judge", {**sound, "rater": "x" * 20_000})
    assert [status for status, _ in told] == [403] * 5 and all(text.startswith("refused") for _, text in told)
    assert (plain[0], large[0]) == (400, 413)
    assert read_marks(tmp_path / FILE) == []


@pytest.mark.slow
def test_a_pair_is_judged_by_its_runs_wherever_they_stood(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / "one", "Mine?"), consulted(tmp_path / "other", "Theirs?")]
    firsts = set()
    with served(runs, "pairwise", tmp_path / FILE) as server:
        for rater in ("Ann", "Bob", "Cem", "Dan"):
            page = ask(f"{server.address}?rater={rater}&item=0")[1]
            better = "Mine?"
            value = -1 if page.index("Mine?") < page.index("Theirs?") else 1
            firsts.add(value)
            given = {"rater": rater, "place": 0, "question": "inquiry", "value": value}
            assert ask(f"{server.address}judge", given)[0] == 204, better
    marks = read_marks(tmp_path / FILE)
    assert firsts == {-1, 1}, "each stands first for some"
    assert {found.value for found in marks} == {-1} and {found.shown_first for found in marks} == {"one", "other"}


def test_headings_skip_no_level(tmp_path: Path) -> None:
    with served([consulted(tmp_path / "one")], "mvme", tmp_path / FILE) as server:
        levels = [int(level) for level in re.findall(r"<h([1-6])", ask(f"{server.address}?rater=Ann&item=0")[1])]
    assert levels[0] == 1 and all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.slow
def test_judgements_find_their_run_under_another_name_or_path_and_none_of_another_run(tmp_path: Path) -> None:
    """Runs are renamed, copied, and stand in folders of the same name; people's work must not be lost with a name."""
    marks, given = tmp_path / FILE, {"rater": "Ann", "place": 0, "question": "diagnosis", "value": 4}

    def run_of(folder: str, identity: str) -> RecordedRun:
        path = consulted(tmp_path / folder / "full").path
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        write_json(path / MANIFEST, {**manifest, "run": identity})
        return find_runs([path])[0]

    one = run_of("gpt", "1")
    with served([one], "mvme", marks) as server:
        assert ask(f"{server.address}judge", given)[0] == 204
    run_of("claude", "2")
    both = find_runs([tmp_path / "claude" / "full", tmp_path / "gpt" / "full"])
    (rated,) = votes_of(both, "mvme", read_marks(marks))["diagnosis"]
    assert rated[0] == "gpt/full"
    one.path.rename(tmp_path / "renamed")
    found = find_runs([tmp_path / "renamed"])
    (rated,) = votes_of(found, "mvme", read_marks(marks))["diagnosis"]
    assert rated[0] == "renamed" and Marks(marks, found).of("Ann", "mvme", rated) == {"diagnosis": 4}
    told = CliRunner().invoke(app, ["rate", str(tmp_path / "claude"), "--summary", "--marks", str(marks)])
    assert "no judgements on scale mvme yet" in told.output
    assert "1 judgement is of other runs or cases and left out (full)" in told.output


def test_a_pair_is_one_pair_whichever_run_is_named_first(tmp_path: Path) -> None:
    one, other = consulted(tmp_path / "one", "Mine?"), consulted(tmp_path / "other", "Theirs?")
    given = mark("Ann", "inquiry", -1, ENGLISH[0], "pairwise", against="other", shown_first="one")
    votes = votes_of([other, one], "pairwise", [given])
    assert votes == {"inquiry": {("other", "one", ENGLISH[0], 0): {"Ann": 1}}}
    assert votes_of([one, other], "pairwise", [given])["inquiry"][given.item] == {"Ann": -1}


def test_a_pair_that_many_judged_counts_once_in_the_shares_as_in_the_mean(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / "one", "Mine?"), consulted(tmp_path / "other", "Theirs?")]
    judged = [*((rater, -1, ENGLISH[0]) for rater in ("Ann", "Ben", "Cem")), ("Ann", 1, ENGLISH[1])]
    marks = [mark(rater, "logic", value, case, "pairwise", against="other") for rater, value, case in judged]
    (row,) = tables_of(runs, "pairwise", marks)[0].rows
    assert [row[name] for name in ("first", "tie", "second", "mark_mean")] == [0.5, 0.0, 0.5, 0.0]
    assert (row["items"], row["marks"]) == (2, 4)


def test_the_latest_answer_about_a_pair_counts_whichever_side_it_named_first(tmp_path: Path) -> None:
    one, other = consulted(tmp_path / "one", "Mine?"), consulted(tmp_path / "other", "Theirs?")
    marks = [
        mark("Ann", "inquiry", -1, ENGLISH[0], "pairwise", against="other", at=datetime(2024, 6, 2, tzinfo=UTC)),
        mark("Ann", "inquiry", -1, ENGLISH[0], "pairwise", against="other", at=datetime(2024, 6, 1, tzinfo=UTC)),
    ]
    marks[1] = marks[1].model_copy(update={"run": "other", "against": "one"})  # the earlier: the other run was better
    for order in (marks, marks[::-1]):
        assert votes_of([one, other], "pairwise", order)["inquiry"][marks[0].item] == {"Ann": -1}


@pytest.mark.slow
def test_people_have_orders_of_their_own(tmp_path: Path) -> None:
    items = items_of([consulted(tmp_path / name) for name in ("a", "b", "c")], "mvme")
    orders = {rater: tuple(item.key for item in order_for(rater, items)) for rater in "ABCDEF"}
    assert len(set(orders.values())) > 3 and {frozenset(order) for order in orders.values()} == {
        frozenset(item.key for item in items)
    }


def test_agreement_is_krippendorffs_alpha_and_disagreements_are_named(tmp_path: Path) -> None:
    run = consulted(tmp_path / "one")
    first, second = ENGLISH
    agreed = [
        mark(rater, "diagnosis", value, case) for rater in ("Ann", "Bob") for case, value in ((first, 4), (second, 1))
    ]
    apart = [mark("Ann", "basis", 4, first), mark("Bob", "basis", 1, first), mark("Ann", "basis", 1, second)]
    tables = {
        table.name: table for table in tables_of([run], "mvme", [*agreed, *apart, mark("Bob", "basis", 4, second)])
    }
    found = {row["question"]: row for row in tables["agreement"].rows}
    assert found["diagnosis"]["alpha"] == 1 and found["diagnosis"]["raters"] == 2
    assert found["basis"]["alpha"] == pytest.approx(1 - (9 / (1 / 6 * (0 * 2 + 9 * 4))))  # observed 9, expected 6
    assert [row["apart"] for row in tables["disagreements"].rows] == [3, 3]
    means = {row["question"]: row["mark_mean"] for row in tables["ratings"].rows}
    assert means == {"diagnosis": 2.5, "basis": 2.5}


def test_a_mean_of_marks_has_an_interval_of_cases_also_where_all_are_the_same(tmp_path: Path) -> None:
    rated = [graded(case, epoch=epoch) for case in ("c1", "c2", "c3") for epoch in range(3)]
    (run,) = find_runs([write_run(tmp_path / "one", rated)])
    given = {"diagnosis": {"c1": 4, "c2": 4, "c3": 4}, "basis": {"c1": 4, "c2": 1, "c3": 2}}
    marks = [
        mark("Ann", question, value, case).model_copy(update={"epoch": epoch})
        for question, values in given.items()
        for case, value in values.items()
        for epoch in range(3)
    ]
    means = next(table for table in tables_of([run], "mvme", marks) if table.name == "ratings").rows
    cases = [case for case in ("c1", "c2", "c3") for _ in range(3)]
    for row in means:
        values = [float(given[row["question"]][case]) for case in cases]
        assert (row["mark_low"], row["mark_high"]) == estimate(values, cases, ends=(1, 4)).ci95, row["question"]


def test_people_are_held_beside_the_scores_of_the_run(tmp_path: Path) -> None:
    runs = [consulted(tmp_path / name, grade=grade) for name, grade in (("a", 1.0), ("b", 2.0), ("c", 4.0))]
    marks = [
        mark("Ann", "treatment", value, case).model_copy(update={"run": run})
        for run, value in (("a", 1), ("b", 3), ("c", 4))
        for case in ENGLISH
    ]
    (row,) = next(table for table in tables_of(runs, "mvme", marks) if table.name == "beside_scores").rows
    assert (row["score"], row["n"]) == ("treatment", 6) and row["rho"] == pytest.approx(1)


@pytest.mark.parametrize("line", ["{}", "no json", '{"rater": "A"}', "\udcff"])
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, line: str) -> None:
    sound = mark("Ann", "diagnosis", 4, "c").model_dump_json()
    (tmp_path / FILE).write_bytes(f"{sound}\n".encode() + line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(ConfigurationError, match=r"line 2: .*correct or delete it"):
        Marks(tmp_path / FILE)


def test_marks_of_byte_order_are_no_part_of_a_judgement(tmp_path: Path) -> None:
    """Editors on Windows write one, and a file put together of several such files has one inside."""
    lines = [mark("Ann", question, 4, "c").model_dump_json() for question in ("diagnosis", "treatment")]
    (tmp_path / FILE).write_text("".join(f"\ufeff{line}\r\n" for line in lines), "utf-8")
    assert [each.question for each in read_marks(tmp_path / FILE)] == ["diagnosis", "treatment"]


def test_judgements_from_a_spreadsheet_need_the_documented_columns_and_blanks_make_no_second_rater(
    tmp_path: Path,
) -> None:
    rows = [mark(name, "diagnosis", 4, "c").model_dump(include={*HANDED_IN}) for name in ("李医生", " 李医生\u00a0")]
    (tmp_path / FILE).write_text("\n".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")  # and a blank line
    assert [each.rater for each in read_marks(tmp_path / FILE)] == ["李医生"]
    (tmp_path / "marks.csv").write_text(",".join(HANDED_IN) + "\n", "utf-8")
    with pytest.raises(ConfigurationError, match=r"line 1: expected one answer.* rater, scale, question.*docs/rating"):
        read_marks(tmp_path / "marks.csv")


def test_the_table_of_ratings_says_who_gave_how_many(tmp_path: Path) -> None:
    given = [mark("Ann", "diagnosis", 4, ENGLISH[0]), mark("ann", "diagnosis", 4, ENGLISH[1])]
    given.append(mark("Ann", "basis", 4, ENGLISH[0]))
    assert "Marks by rater: Ann 2, ann 1." in tables_of([consulted(tmp_path / "one")], "mvme", given)[0].notes


def test_a_judgement_on_a_case_that_the_run_lacks_is_left_out_and_counted(tmp_path: Path) -> None:
    run = find_runs([consulted(tmp_path / "one").path])[0]
    sound, strange = mark("Ann", "diagnosis", 4, ENGLISH[0]), mark("Ann", "diagnosis", 1, "nobody-01")
    sound, strange = (each.model_copy(update={"run": run.name}) for each in (sound, strange))
    (rated,) = votes_of([run], "mvme", [sound, strange])["diagnosis"]
    assert rated[2] == ENGLISH[0]
    told = "1 judgement is of other runs or cases and left out (one/nobody-01)"
    assert told in left_out([run], tmp_path, [sound, strange])
    later = sound.model_copy(update={"epoch": 1})  # somebody who numbers epochs from 1
    assert f"(one/{sound.case_id}, epoch 1, where the first is 0)" in left_out([run], tmp_path, [later])
    assert Mark.model_validate({**sound.model_dump(), "case_id": 12}).case_id == "12", "as a spreadsheet has it"


def test_a_judgement_whose_line_feed_an_editor_dropped_counts_and_stays(tmp_path: Path) -> None:
    first, second = mark("Ann", "diagnosis", 4, ENGLISH[0]), mark("Bob", "diagnosis", 1, ENGLISH[0])
    file = tmp_path / FILE
    file.write_text(first.model_dump_json(), "utf-8")
    assert list(read_marks(file)) == [first]
    Marks(file).add(second)
    assert list(read_marks(file)) == [first, second]


def test_a_last_line_that_is_cut_off_is_told_and_does_not_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = mark("Ann", "diagnosis", 4, ENGLISH[0]), mark("Bob", "diagnosis", 1, ENGLISH[0])
    file = tmp_path / FILE
    file.write_text(f"{first.model_dump_json()}\n{second.model_dump_json()[:-9]}", "utf-8")
    assert list(read_marks(file)) == [first]
    assert f"{file}: line 2 is cut off and does not count; complete or delete it" in caplog.text
    file.write_text(f"{first.model_dump_json()}\nBob,diagnosis,1", "utf-8")
    with pytest.raises(ConfigurationError, match=r"line 2: expected one answer.*correct or delete it"):
        read_marks(file)


def test_true_is_no_mark_of_one_point(tmp_path: Path) -> None:
    line = mark("Ann", "diagnosis", 1, ENGLISH[0]).model_dump(mode="json") | {"value": True}
    (tmp_path / FILE).write_text(json.dumps(line) + "\n", "utf-8")
    with pytest.raises(ConfigurationError, match="line 1: value: expected a number, not true or false"):
        read_marks(tmp_path / FILE)


def test_the_summary_prints_and_writes_what_was_judged(tmp_path: Path) -> None:
    run = consulted(tmp_path / "one")
    told = CliRunner().invoke(app, ["rate", str(run.path), "--summary"])
    assert told.exit_code == 0 and "no judgements on scale mvme yet" in told.output
    lines = [
        mark(rater, "diagnosis", value, ENGLISH[0]).model_dump_json() for rater, value in (("=Ann", 4), ("Bob", 1))
    ]
    (run.path / FILE).write_text("\n".join(lines) + "\n" + lines[0][:20], "utf-8")  # the last was cut by a kill
    written = ["--csv", str(tmp_path / "csv"), "--json", str(tmp_path / "all.json")]
    told = CliRunner().invoke(app, ["rate", str(run.path), "--summary", *written])
    assert told.exit_code == 0, told.output
    assert "Items on which people disagree most" in told.output and "=Ann: 4, Bob: 1" in told.output
    assert json.loads((tmp_path / "all.json").read_text("utf-8"))["ratings"][0]["marks"] == 2
    assert "'=Ann: 4" in (tmp_path / "csv" / "disagreements.csv").read_text("utf-8")


@pytest.mark.slow
def test_what_cannot_be_judged_is_refused_with_the_reason(tmp_path: Path) -> None:
    run = consulted(tmp_path / "one")
    other = write_run(tmp_path / "other", [graded("surgery-01", 2.0, answers=next(iter(run.each_answered())).answers)])
    for arguments, reason in (
        ([str(tmp_path / "nowhere")], "is not a run directory"),
        ([str(run.path), "--scale", "pairwise"], "name at least two different runs"),
        ([str(run.path), str(run.path), "--scale", "pairwise"], "name at least two different runs"),
        ([str(run.path), str(other), "--scale", "pairwise"], "one, other: no case that two of the runs share"),
    ):
        told = CliRunner().invoke(app, ["rate", *arguments, "--no-browser"])
        assert told.exit_code == 2 and reason in told.output


def test_people_sort_the_diagnoses_graded_lowest_and_are_held_against_the_judge(tmp_path: Path) -> None:
    run = consulted(tmp_path / "one", grade=1.0)
    said = call("scoring/misdiagnosis_judge", "misdiagnosis_judge", answer={"reason": "", "type": "wrong_judgement"})
    for result in run.results:
        run.trace_file(*result.key).write_text(said.model_dump_json() + "\n", "utf-8")
    assert len(items_of([run], "misdiagnosis")) == 2
    with pytest.raises(ConfigurationError, match="no diagnosis graded D"):
        items_of([consulted(tmp_path / "two", grade=2.0)], "misdiagnosis")
    first, second = (result.case_id for result in run.results)
    marks = [mark("Ann", "type", 3, first, "misdiagnosis"), mark("Ann", "type", 1, second, "misdiagnosis")]
    marks += [mark("Bob", "type", 3, one, "misdiagnosis") for one in (first, second)]
    people, agreed, apart = tables_of([run], "misdiagnosis", marks)
    ann, bob, judge = people.rows
    assert (ann["omitted_examination"], ann["wrong_judgement"], ann["alike"], ann["both"]) == (1, 1, 0.5, 2)
    assert bob["alike"] == 1 and (judge["who"], judge["wrong_judgement"]) == ("(the judge)", 2)
    assert [row["case"] for row in apart.rows] == [second]
    assert agreed.rows[0]["alike"] == 0.5 and agreed.rows[0]["alpha"] == 0 and "by equality" in agreed.notes[0]
    (row,) = apart.rows
    assert (row["said"], row["apart"]) == ("Ann: omitted_examination, Bob: wrong_judgement", 1)


def test_rows_beyond_those_printed_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = [question.key for question in scale_of("clini_eval", "en").questions]
    marks = [mark("Ann", key, 1, ENGLISH[0], "clini_eval") for key in questions]
    print_and_write(tables_of([consulted(tmp_path / "one")], "clini_eval", marks))
    assert f"{len(questions) - 20} further rows" in capsys.readouterr().out


def test_all_tables_are_printed_before_one_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = [Table(name, name, [Column("x", "X")], [{"x": 1}]) for name in ("one", "other")]
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        print_and_write(tables, tmp_path / "file")
    shown = capsys.readouterr().out
    assert "one" in shown and "other" in shown


def test_all_tables_are_written_also_if_the_reader_of_the_output_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Table) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("wardround.tables.terminal.print_table", gone)
    tables = [Table(name, name, [Column("x", "X")], [{"x": 1}]) for name in ("one", "other")]
    with pytest.raises(BrokenPipeError):
        print_and_write(tables, tmp_path / "csv", tmp_path / "all.json")
    assert {file.name for file in tmp_path.rglob("*.*")} == {"one.csv", "other.csv", "all.json"}


def test_no_rating_is_written_through_a_link_in_a_received_run(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious", "utf-8")
    (tmp_path / FILE).symlink_to(precious)
    with pytest.raises(ConfigurationError, match="is a link, through which no ratings are written"):
        Marks(tmp_path / FILE)
    assert precious.read_text("utf-8") == "precious"


def test_a_place_that_cannot_be_written_is_told_before_anybody_rates_and_a_missing_folder_is_made(
    tmp_path: Path,
) -> None:
    Marks(tmp_path / "new" / "folder" / FILE)
    assert [*(tmp_path / "new").rglob("*")] == [tmp_path / "new" / "folder"], "nobody has rated, so there is no file"
    taken = tmp_path / "file"
    taken.touch()
    with pytest.raises(ConfigurationError, match=rf"{FILE}: cannot be written \(file exists .* with --marks"):
        Marks(taken / FILE)


def test_the_answers_of_a_clinical_workflow_stand_under_words_of_the_case_s_language(tmp_path: Path) -> None:
    chinese = next(case for case in load_cases() if case.language == "zh")
    answers = Answers(orders=["Skin Examination"], diagnosis=["湿疹"], treatment=["Medication"])
    result = graded(chinese.id, answers=answers)
    found = find_runs([write_run(tmp_path / "one", [result], graph="clinical_workflow")])
    with served(found, "mvme", tmp_path / FILE) as server:
        page = ask(f"{server.address}?rater=Ann")[1]
    shown = re.findall(r'<dt>(.*?)</dt><dd class="fact">(.*?)</dd>', page)
    assert shown[:3] == [("开出的检查", "皮肤检查"), ("诊断", "湿疹"), ("治疗", "药物治疗")]
    parts = pairs_of(Answers(), None)
    for language in ("en", "zh"):
        texts = load_words("rating/words", language)
        assert parts.keys() <= texts["parts"].keys() | texts["scales"]["mvme"]["questions"].keys()
