"""`wardround consult --web`: a person in a seat, over real HTTP, without a browser."""

import errno
import html
import json
import re
import resource
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from typer.testing import CliRunner

from cases import Case
from llm.ask import LONGEST_TYPED
from tests.graphs.scripting import builtin
from tests.support.fake_server import FakeServer
from tests.support.hostile import HTML
from tests.support.serving import serving
from tests.wardround.report.test_pages import Tags
from wardround.cli import app
from wardround.commands.consult import _context
from wardround.interactive.browser_seat import BrowserSeat
from wardround.interactive.consultation_session import open_session

CHINESE = builtin("surgery-06")
REPORT = {
    "symptoms": "转移性腹痛",
    "examinations": "白细胞升高",
    "diagnosis": "阑尾炎；脱水",
    "basis": "压痛",
    "treatment": "手术",
}
_ENGLISH_WORD = re.compile(r"[A-Za-z]{4,}")
_NOT_CHINESE = {
    "Clini",
    "Eval",
    "models",
    "SPEC",
    "judge",
    "diagnosis",
    "clinical",
    "instructor",
    "mvme",
    "director",
    "mmHg",
}


@contextmanager
def served(
    out: Path, case: Case = CHINESE, seat: Literal["doctor", "patient"] = "doctor", *models: str, **settings: str
) -> Iterator[BrowserSeat]:
    chosen = {"retrieval": "false", **settings}
    context = _context(list(models), [f"{name}={value}" for name, value in chosen.items()], seat)
    with open_session(case, seat, context, out) as session, serving(BrowserSeat(session)) as server:
        yield server


def ask(server: BrowserSeat, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        with urllib.request.urlopen(urllib.request.Request(server.address, body, sent), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def shown(server: BrowserSeat) -> str:
    status, page = ask(server)
    assert status == 200, page[-500:]
    return page


def at(page: str) -> str:
    found = re.search(r'name="at" value="(\w+)"', page)
    assert found, page[-800:]
    return found[1]


def send(server: BrowserSeat, old: str = "", **fields: str) -> tuple[int, str]:
    return ask(server, urlencode({"at": old or at(shown(server)), **fields}).encode())


def read(page: str) -> str:
    """What a person reads of a page."""
    text = re.sub(r"<[^>]+>", " ", page[page.index("<main") : page.index("</main>")])
    return re.sub(r"\s+", " ", html.unescape(text))


@pytest.mark.slow
def test_a_doctor_asks_orders_concludes_reports_and_reads_a_trainers_feedback_all_in_chinese(tmp_path: Path) -> None:
    pages = []
    with served(tmp_path / "s") as server:
        pages.append(shown(server))
        assert CHINESE.patient.chief_complaint in pages[0] and "年龄：22岁" in pages[0]
        assert not any(name in pages[0] for name in (CHINESE.id, *CHINESE.key.diagnosis)), "the key is not shown"
        pages.append(send(server, text="对药物过敏吗？", do="say")[1])
        pages.append(send(server, text="请做腹部超声和心电图。", do="say")[1])
        assert CHINESE.examinations.results["Ultrasound"][:12] in pages[-1] and "您还可以说8次，共10次" in pages[-1]
        pages.append(send(server, do="end")[1])
        status, refused = send(server, do="report", diagnosis="；")
        assert status == 400 and "还没有填完：诊断" in refused
        pages.append(send(server, do="report", **REPORT)[1])
    told = read(pages[-1])
    assert "4分（满分5分）" in told and "是同一种病，不如参考答案具体" in told and "脱水 – 参考答案中没有" in told
    assert "抽烟吗？ 不吸烟，偶尔饮酒。" in told and "没有药物和食物过敏。 " in told
    assert "漏开 一般检查 做了会看到：体温38.3℃" in told and "多开（参考答案中没有） 胸部检查（心电图）" in told
    assert "询问家族史。 0/2" in told and "每次提问不超过两个问题。 3/3" in told
    for page in pages:
        assert '<html lang="zh"' in page and not Tags(page).open
        assert set(_ENGLISH_WORD.findall(read(page))) <= _NOT_CHINESE, "the page speaks Chinese throughout"


@pytest.mark.slow
def test_a_session_outlives_its_server_a_reload_and_the_feedback_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "s"
    with served(out) as server:
        send(server, text="对药物过敏吗？", do="say")
        before = shown(server)
        assert read(shown(server)) == read(before), "a reload changes nothing"
    with served(out) as again:
        assert read(shown(again)) == read(before)
        send(again, do="end")
        with monkeypatch.context() as full:
            full.setattr("wardround.interactive.browser_seat.write_whole", on_a_full_disk)
            assert "feedback.json: cannot be written: No space" in send(again, do="report", **REPORT)[1]
        send(again, do="again")
        kept = json.loads((out / "feedback.json").read_text("utf-8"))
    (out / "feedback.json").write_text(json.dumps({**kept, "facts": 99}), "utf-8")
    with served(out) as finished:
        assert "共99条" in shown(finished)
        (out / "feedback.json").write_text("{}", "utf-8")
    with served(out) as another:
        assert "共11条" in shown(another), "one of another version is made anew"


@pytest.mark.slow
def test_the_second_of_two_clicks_says_nothing_and_another_tab_is_told_and_loses_no_word(tmp_path: Path) -> None:
    with served(tmp_path / "s") as server:
        first = at(shown(server))
        pages: list[tuple[int, str]] = []
        clicks = [
            threading.Thread(target=lambda: pages.append(send(server, first, text="对药物过敏吗？", do="say")))
            for _ in range(3)
        ]
        for click in clicks:
            click.start()
        for click in clicks:
            click.join()
        assert [status for status, _ in pages] == [200] * 3
        status, told = send(server, first, text="吸烟吗？", do="say")
        assert status == 409 and "已经回答过了" in told and 'value="吸烟吗？"' in told
        assert sum(turn.speaker == "doctor" for turn in server.session.heard()) == 1
        old = at(told)
        assert send(server, old, do="end")[0] == 200 and send(server, old, do="end")[0] == 200
        old = at(shown(server))
        assert send(server, old, do="report", **REPORT)[0] == send(server, old, do="report", **REPORT)[0] == 200
        assert send(server, old, do="report", **{**REPORT, "basis": "别的"})[0] == 409


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"text": "  ", "do": "say"}, 400),
        ({"do": "nonsense"}, 400),
        ({"text": "长" * (LONGEST_TYPED + 1), "do": "say"}, 413),
        ({"text": "x" * 500_000, "do": "say"}, 413),
        ({f"field{number}": "x" for number in range(30)}, 400),
    ],
)
def test_what_is_no_answer_is_refused_and_nothing_is_said(tmp_path: Path, fields: dict[str, str], status: int) -> None:
    with served(tmp_path / "s") as server:
        assert send(server, **fields)[0] == status
        assert ask(server, b"at=%ff&text=%ff")[0] == 400
        assert ask(server, b"{}", content_type="application/json")[0] == 400
        assert not any(turn.speaker == "doctor" for turn in server.session.heard())


def test_strangers_are_refused_and_the_page_runs_no_script(tmp_path: Path) -> None:
    with served(tmp_path / "s") as server:
        body = urlencode({"at": at(shown(server)), "text": "对药物过敏吗？", "do": "say"}).encode()
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
            assert ask(server, body, **headers)[0] == 403
        assert not any(turn.speaker == "doctor" for turn in server.session.heard())
        with urllib.request.urlopen(server.address, timeout=30) as answer:
            page, policy = answer.read().decode(), answer.headers["content-security-policy"]
    assert "<script" not in page and "default-src 'none'" in policy and "form-action 'self'" in policy
    assert '<meta name="referrer" content="same-origin">' in page, "else a browser hides where its form comes from"


def test_words_of_case_person_and_model_are_text_on_the_page(tmp_path: Path) -> None:
    patient = CHINESE.patient.model_copy(update={"chief_complaint": HTML, "past_history": HTML})
    key = CHINESE.key.model_copy(update={"diagnosis": [HTML], "treatment_course": HTML})
    case = CHINESE.model_copy(update={"patient": patient, "key": key})
    says = {"addressee": "doctor", "text": HTML, "finished": False}
    with (
        FakeServer(answer=lambda _: says) as model,
        served(tmp_path / "s", case, "doctor", f"patient=openai:any@{model.base_url}") as server,
    ):
        pages = [shown(server), send(server, text=HTML, do="say")[1], send(server, text=HTML, do="end")[1]]
        pages.append(send(server, do="report", diagnosis="")[1])
        pages.append(send(server, do="report", **dict.fromkeys(REPORT, HTML))[1])
    for page in pages:
        assert "<script" not in page and "<img src=x" not in page and "&lt;script&gt;alert" in page


@pytest.mark.slow
def test_a_patient_knows_the_record_answers_goes_to_the_examiner_and_reads_what_was_not_told(tmp_path: Path) -> None:
    case = builtin("surgery-01")
    with served(tmp_path / "s", case, "patient", patient="medchain", max_turns="3") as server:
        page = shown(server)
        assert case.patient.past_history in html.unescape(page) and "You are this patient" in page
        for _ in range(6):
            if 'name="text"' not in (page := shown(server)):
                break
            page = send(server, text="It hurts.", do="say")[1]
    told = read(page)
    assert "The doctor's report" in told and "What the doctor did not ask" in told
    assert "0 of 15 facts of the record came up" in told and "You were asked for it and did not tell it" in told


def test_the_examiner_is_spoken_to_by_a_button_where_the_patient_system_has_one(tmp_path: Path) -> None:
    with served(tmp_path / "s", CHINESE, "patient") as server:
        assert 'value="examiner"' in shown(server)
        send(server, text="我需要做什么检查？", do="examiner")
        told = read(shown(server))
    assert "您（对检查员） 我需要做什么检查？ 检查员 申请中没有写明具体的检查项目。" in told, (
        "before the patient goes on"
    )


def test_a_model_that_fails_is_named_what_was_said_is_kept_and_a_button_tries_again(tmp_path: Path) -> None:
    def answer(request: Any) -> dict[str, Any] | str:
        return "{" if broken else {"addressee": "doctor", "text": "这里疼。", "finished": False}

    with FakeServer(answer=answer) as model:
        broken = True
        with served(tmp_path / "s", CHINESE, "doctor", f"patient=openai:any@{model.base_url}") as server:
            page = send(server, text="哪里疼？", do="say")[1]
            assert "有一方没有应答" in page and 'value="again"' in page and "patient" in page
            broken = False
            assert "这里疼。" in send(server, do="again")[1]


def test_a_full_disk_is_named_on_the_page_and_a_button_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with served(tmp_path / "s") as server:
        page, (soft, hard) = shown(server), resource.getrlimit(resource.RLIMIT_FSIZE)
        largest = max(file.stat().st_size for file in (tmp_path / "s").iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
        try:
            full = send(server, at(page), text="哪里疼？", do="say")[1]
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert "checkpoints.sqlite: cannot be written" in full and 'value="again"' in full
        assert "cannot be written" not in send(server, do="again")[1]


def test_who_looks_while_the_others_are_at_work_is_told_so_and_the_page_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wardround.interactive.browser_seat._PATIENCE", 0.01)
    with served(tmp_path / "s") as server, server.busy:
        page = shown(server)
    assert "请稍候" in page and '<meta http-equiv="refresh" content="2">' in page


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with served(tmp_path / "s") as server:
        arguments = ["consult", "surgery-06", "--as", "doctor", "--web", "--no-browser", f"--out={tmp_path / 'other'}"]
        told = CliRunner().invoke(app, [*arguments, f"--port={server.server_port}"])
    assert told.exit_code == 2 and "choose another with --port" in told.output
