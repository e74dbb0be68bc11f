"""`wardround consult`: a person in a seat, driven through standard input."""

import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from typer.testing import CliRunner, Result

from cases import Case, save_cases
from nodes.patients.registration import patient
from nodes.patients.systems import PATIENTS
from nodes.state.patient_side import PatientSideState
from tests.graphs.scripting import builtin
from tests.support.fake_server import FakeServer
from wardround.cli import app
from wardround.commands.consult import _context
from wardround.interactive.consultation_session import open_session

CASE = builtin("surgery-01")
ORDER = "Please have an ultrasound of the abdomen and a blood test done."
REPORT = ["She has pain.", "A stone.", "Acute calculous cholecystitis", "Pain, fever and the stone.", "Operate."]


def consult(lines: list[str], out: Path, *more: str, case: str = "surgery-01", seat: str = "doctor") -> Result:
    quick = ["--set=retrieval=false", f"--out={out}"]
    return CliRunner().invoke(app, ["consult", case, "--as", seat, *quick, *more], input="\n".join([*lines, ""]))


def flat(shown: Result) -> str:
    """What was printed, without the breaks of lines and the frames of tables."""
    return re.sub(r"[\s│┃╭╮╰╯─━┌┐└┘├┤┡┩╇┏┓┳┬┴┼]+", " ", shown.stdout)


def flat_error(shown: Result) -> str:
    return re.sub(r"\s+", " ", shown.stderr)


def dialogue(out: Path) -> list[dict[str, Any]]:
    """The calls of the session, as far as they are of the dialogue."""
    calls = [json.loads(line) for line in (out / "trace.jsonl").read_text("utf-8").splitlines()]
    return [call for call in calls if call.get("role") in ("doctor", "patient", "response_generator", "examiner")]


@pytest.mark.slow
def test_a_person_as_doctor_talks_orders_concludes_reports_and_sees_the_scores(tmp_path: Path) -> None:
    out = tmp_path / "session"
    shown = consult(["Do you have allergies?", ORDER, "/end", *REPORT], out)
    assert shown.exit_code == 0, shown.output
    told = flat(shown)
    assert CASE.patient.chief_complaint in told
    assert "I have no known drug allergy." in told
    assert CASE.examinations.results["Blood Test"] in told
    assert "Diagnosis: 5 of 5: right" in told and "1 of 15 facts of the record came up" in told
    assert "Do you smoke? She does not smoke" in told and "Abdominal Examination It would have shown" in told
    assert "Overlap of the examinations asked for with the key (0 to 1): 0.50." in told
    [picture] = (out / "pictures").iterdir()
    assert picture.read_bytes() == (Path(CASE.folder) / CASE.examinations.images[0].file).read_bytes()


def test_the_first_words_of_a_doctor_whom_nobody_greets_are_told_again_only_on_resuming(tmp_path: Path) -> None:
    said, mute = ["Since when does it hurt?"], "--set=patient=clinichat"
    assert "You: Since when" not in flat(consult(said, tmp_path / "session", mute))
    assert "You: Since when" in flat(consult([], tmp_path / "session", mute))


@pytest.mark.parametrize("seat", ["doctor", "patient"])
def test_a_person_reads_first_that_this_is_no_care(tmp_path: Path, seat: str) -> None:
    shown = flat(consult([], tmp_path / "session", seat=seat))
    assert shown.strip().startswith("Research software: not for care. The patient is not real. If you need help")


def test_nothing_of_the_answer_key_is_shown_before_the_report_is_written(tmp_path: Path) -> None:
    shown = consult(["Do you have allergies?", ORDER, "/end"], tmp_path / "session")
    assert "Left." in shown.stdout
    key = [*CASE.key.diagnosis, CASE.key.diagnosis_basis, CASE.key.treatment_course]
    assert not any(text in flat(shown) for text in key)


@pytest.mark.slow
def test_a_person_as_patient_knows_the_record_and_answers_a_doctor_of_the_machine(tmp_path: Path) -> None:
    answers = [f"Answer {number}." for number in range(20)]
    shown = consult(answers, tmp_path / "session", "--set=max_turns=6", seat="patient")
    assert shown.exit_code == 0, shown.output
    told = flat(shown)
    assert CASE.patient.past_history in told and "When did this begin" in told
    assert "The doctor's report" in told and "Report compared with the answer key" in told
    assert "Answer 0." in told


def test_a_person_as_patient_may_go_to_the_examiner_and_say_goodbye(tmp_path: Path) -> None:
    out = tmp_path / "session"
    lines = ["/examiner What do I need?", "They ask what is wanted.", "/nonsense", "/end I must go."]
    shown = consult(lines, out, seat="patient")
    assert shown.exit_code == 0, shown.output
    assert "Examiner: No examination is named" in flat(shown)
    said = [call["answer"] for call in dialogue(out) if call["role"] == "patient"]
    assert [answer.get("addressee", "doctor") for answer in said] == ["examiner", "doctor", "doctor"]
    assert said[-1]["finished"] and said[-1]["text"] == "I must go."


@pytest.mark.parametrize(("system", "named"), [("ai_hospital", True), ("medchain", False)])
def test_only_commands_that_the_question_obeys_are_offered(system: str, named: bool, tmp_path: Path) -> None:
    told = flat(consult(["/end"], tmp_path / "session", f"--set=patient={system}", seat="patient"))
    assert ("/end WORDS says goodbye" in told, "/examiner WORDS speaks" in told) == (named, named), told
    assert "Ctrl-D leaves" in told


@pytest.mark.slow
def test_no_sentence_of_a_chinese_feedback_is_cut_where_it_has_no_spaces_to_break_at(tmp_path: Path) -> None:
    shown = consult(["/end", *REPORT], tmp_path / "session", case="surgery-06")
    assert shown.exit_code == 0 and "…" not in shown.stdout, shown.output
    told = flat(shown).replace(" ", "")
    key = builtin("surgery-06").key
    assert key.treatment_course and key.treatment_course.replace(" ", "") in told


@pytest.mark.slow
def test_a_person_whose_answer_is_none_is_told_why_and_asked_again(tmp_path: Path) -> None:
    out = tmp_path / "session"
    shown = consult(
        ["When did this begin, and how has it developed since?", "Two days ago.", "/end"], out, seat="patient"
    )
    assert shown.exit_code == 0, shown.output
    assert "it only repeats what was just said to it" in flat(shown)
    said = [call["answer"]["text"] for call in dialogue(out) if call["role"] == "patient"]
    assert said[0] == "Two days ago." and len(said) == 2


LINES = ["Do you have allergies?", ORDER, "/end", *REPORT]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session that nobody left."""
    out = tmp_path_factory.mktemp("whole")
    assert consult(LINES, out).exit_code == 0
    return out


@pytest.mark.slow
@pytest.mark.parametrize("left_after", [0, 1, 2, 3, 5])
def test_a_session_that_was_left_goes_on_with_the_same_dialogue(left_after: int, whole: Path, tmp_path: Path) -> None:
    lines, halves = LINES, tmp_path / "halves"
    left = consult(lines[:left_after], halves)
    assert left.exit_code == 0 and "Run the same command again to resume" in left.stdout
    rest = lines[min(left_after, 3) :]  # a report that was begun is begun again
    resumed = consult(rest, halves)
    assert resumed.exit_code == 0 and "Report compared with the answer key" in flat(resumed)
    for line in lines[: min(left_after, 3)]:
        if not line.startswith("/"):
            assert f"You: {line}" in flat(resumed), "what was said before is shown again"

    def said(out: Path) -> list[Any]:
        return [(call["id"], call["answer"]) for call in dialogue(out)]

    assert said(halves) == said(whole)


def test_a_finished_session_shows_its_scores_again_and_asks_nothing(tmp_path: Path) -> None:
    out = tmp_path / "session"
    first = consult(["/end", *REPORT], out)
    again = consult([], out)
    assert again.exit_code == 0
    table = "Report compared with the answer key"
    assert flat(again).split(table)[1] == flat(first).split(table)[1]


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, EOFError])
def test_ctrl_c_and_ctrl_d_leave_the_session_to_be_gone_on_with(
    interrupted: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(prompt: str) -> str:
        raise interrupted

    with monkeypatch.context() as patch:
        patch.setattr("wardround.commands.consult._read_line", leave)
        left = consult([], tmp_path / "session")
    assert left.exit_code == 0 and "Left." in left.stdout and "Traceback" not in left.output
    assert consult(["/end", *REPORT], tmp_path / "session").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "mode"),
    list(
        zip(
            ["medchain", "ai_hospital", "saps", "medpmc", "clinichat"], cycle(["direct", "zero_shot_cot"]), strict=False
        )
    ),
)
def test_a_person_may_meet_any_patient_system_in_either_seat(system: str, mode: str, tmp_path: Path) -> None:
    settings = (f"--set=patient={system}", f"--set=doctor_mode={mode}", "--set=max_turns=3")
    doctor = consult(["Hello.", "Do you smoke?", "/end", *REPORT], tmp_path / "doctor", *settings)
    assert doctor.exit_code == 0 and re.search("do(?:es)? not smoke and", flat(doctor)), doctor.output
    patient = consult(["It hurts badly."] * 9, tmp_path / "patient", *settings, seat="patient")
    assert patient.exit_code == 0 and "The doctor's report" in flat(patient), patient.output
    assert "It hurts badly." in str(dialogue(tmp_path / "patient"))


@pytest.mark.slow
def test_the_other_seats_may_be_models_and_one_that_fails_is_named_and_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "session"

    def answer(request: Any) -> dict[str, Any] | str:
        return "{" if broken else {"addressee": "doctor", "text": "It hurts here.", "finished": False}

    with FakeServer(answer=answer) as server:
        model = f"--models=patient=openai:any@{server.base_url}"
        broken = True
        failed = consult(["Where?"], out, model)
        assert failed.exit_code == 1 and "patient" in failed.stderr and "same command again to retry" in failed.stderr
        broken = False
        shown = consult(["/end", *REPORT], out, model)
    assert shown.exit_code == 0 and "It hurts here." in flat(shown)


def leaky_file(folder: Path) -> Path:
    """A case whose id tells the diagnosis."""
    case: Case = CASE.model_copy(update={"id": "acute-calculous-cholecystitis-17", "folder": ""})
    bare = case.model_copy(update={"examinations": case.examinations.model_copy(update={"images": []})})
    save_cases([bare], folder / "cases.jsonl")
    return folder / "cases.jsonl"


def test_a_doctor_never_sees_the_id_of_a_case_that_tells_the_diagnosis(tmp_path: Path) -> None:
    file = leaky_file(tmp_path)
    out = tmp_path / "session"
    shown = consult(["Since when?", ORDER], out, f"--cases={file}", case="1")
    assert shown.exit_code == 0, shown.output
    assert "cholecystitis" not in shown.output
    assert "cholecystitis" not in (out / "session.json").read_text("utf-8")
    mistyped = consult([], tmp_path / "other", f"--cases={file}", case="acute-calculous-cholecystiti")
    assert mistyped.exit_code == 2 and "cholecystitis-17" not in mistyped.output


def test_without_a_place_of_its_own_a_session_is_kept_under_the_name_that_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, ["consult", "../surgery-01", "--as", "doctor"], input="")
    assert not (tmp_path / "consults").exists(), "an unknown case leaves nothing behind"
    assert CliRunner().invoke(app, ["consult", "surgery-01", "--as", "doctor"], input="").exit_code == 0
    assert (tmp_path / "consults" / "surgery-01" / "session.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere-01", "--as", "doctor"], "no case 'nowhere-01' in builtin"),
        (["surgery-99", "--as", "patient"], "did you mean 'surgery-0"),
        (["0", "--as", "doctor"], "the cases are numbered 1 to"),
        (["surgery-01", "--as", "nurse"], "nurse"),
        (["surgery-01"], "--as"),
        (["surgery-01", "--as", "doctor", "--cases", "nowhere.jsonl"], "nowhere.jsonl"),
        (["surgery-01", "--as", "doctor", "--models", "doctor=offline"], "you play this role yourself"),
        (["surgery-01", "--as", "doctor", "--models", "report.doctor=offline"], "you play this role yourself"),
        (
            ["surgery-01", "--as", "doctor", "--models", "patient=human"],
            "only the role given with --as can be played by a person",
        ),
        (["surgery-01", "--as", "doctor", "--models", "patient=nobody"], "nobody"),
        (["surgery-01", "--as", "doctor", "--set", "patient=nobody"], "patient"),
        (["surgery-01", "--as", "doctor", "--set", "foo=1"], "foo"),
        (["surgery-01", "--as", "doctor", "--set", "data.limit=1"], "not a setting of a consultation"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_refused_before_anything_is_begun(arguments: list[str], message: str, tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["consult", *arguments, "--out", str(tmp_path / "session")], input="")
    assert refused.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", refused.output)
    assert not (tmp_path / "session").exists()


def test_a_directory_of_another_session_or_of_something_else_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "session"
    assert consult([], out).exit_code == 0
    other = consult([], out, seat="patient")
    assert other.exit_code == 2 and "(different: as, " in other.stderr
    assert consult([], out, "--set=max_turns=3").exit_code == 2
    (out / "session.json").write_bytes(b"\xff")
    damaged = consult([], out)
    assert damaged.exit_code == 2 and "cannot be used for a consultation" in damaged.stderr
    (out / "session.json").write_text("[" * 100_000)
    nested = consult([], out)
    assert nested.exit_code == 2 and "cannot be used for a consultation" in nested.stderr
    (out / "session.json").unlink()
    os.mkfifo(out / "session.json")  # at which a reader waits for a writer
    piped = consult([], out)
    assert piped.exit_code == 2 and "named pipe" in piped.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("hello")
    assert "contains other files" in consult([], tmp_path / "full").stderr
    assert [file.name for file in (tmp_path / "full").iterdir()] == ["letter.txt"]
    (tmp_path / "file").write_text("hello")
    assert consult([], tmp_path / "file").exit_code == 2


def test_a_full_disk_ends_a_session_with_what_to_do_and_no_word_is_lost(tmp_path: Path) -> None:
    out, (soft, hard) = tmp_path / "session", resource.getrlimit(resource.RLIMIT_FSIZE)
    assert consult(["Do you have allergies?"], out).exit_code == 0
    resource.setrlimit(resource.RLIMIT_FSIZE, ((out / "checkpoints.sqlite").stat().st_size, hard))
    try:
        full = consult(["Do you smoke?"], out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert full.exit_code == 1 and "checkpoints.sqlite: cannot be written" in flat_error(full)
    assert flat_error(full).strip().endswith("fix this, then run the same command again to resume")
    assert "Do you have allergies?" in flat(consult([], out))


def _flip(file: Path) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE checkpoints SET checkpoint = CAST(x'80' || substr(checkpoint, 2) AS BLOB)")
        database.commit()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda file: file.write_bytes(b"no database at all" * 100), "is damaged (file is not a database)"),
        (_flip, "is damaged (a checksum differs)"),
        (lambda file: file.write_bytes(b""), "is missing or empty, but trace.jsonl is not"),
        (lambda file: file.unlink(), "is missing or empty, but trace.jsonl is not"),
    ],
)
def test_a_session_that_is_damaged_is_refused_and_not_begun_again(
    damage: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    out = tmp_path / "session"
    assert consult(["Do you have allergies?"], out).exit_code == 0
    damage(out / "checkpoints.sqlite")
    refused = consult([], out)
    assert refused.exit_code == 2 and f"{out}/checkpoints.sqlite: {said}; restore" in flat_error(refused)


def test_a_session_that_a_kill_kept_from_being_named_is_begun_again(tmp_path: Path) -> None:
    out = tmp_path / "session"
    out.mkdir()
    (out / ".session.json.part").write_text("{")
    assert consult([], out).exit_code == 0


@pytest.mark.parametrize("way", [[], ["--web", "--no-browser"]])
def test_a_session_that_is_open_elsewhere_is_refused_in_a_sentence_and_nothing_of_it_changes(
    way: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "session"
    with open_session(CASE, "doctor", _context([], ["retrieval=false"], "doctor"), out):
        before = {file.name: file.read_bytes() for file in out.iterdir()}
        second = consult(["Hello."], out, *way)
        assert second.exit_code == 2 and "open in another terminal or browser page" in flat_error(second)
        assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert consult([], out).exit_code == 0, "it is free again"


def test_a_patient_that_no_person_could_speak_as_is_refused_with_what_its_decorator_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PATIENTS, "_entries", dict(PATIENTS))
    patient("by_itself", examines=False)(
        lambda: StateGraph(PatientSideState).add_node("say", lambda state: {}).add_edge(START, "say")
    )
    seat = ["surgery-01", "--as", "patient", "--set", "patient=by_itself", "--out", str(tmp_path / "session")]
    refused = CliRunner().invoke(app, ["consult", *seat], input="")
    assert refused.exit_code == 2 and not (tmp_path / "session").exists()
    assert "error: patient 'by_itself' has no role 'patient'" in refused.stderr and "speaker='ROLE'" in refused.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_line_typed_at_a_terminal_is_whole_edited_and_pasted_with_its_breaks() -> None:
    """The terminal's own line editing cut it at 4,095 bytes, took an arrow key for words, and a break for the end."""
    import pty
    import tty

    program = "from wardround.commands.consult import _typed_line as typed; print(ascii([typed('> '), typed('> ')]))"
    long = "疼" * 2_000
    keys = [*(long[start : start + 100] for start in range(0, len(long), 100)), "ac\x1b[Db\r"]
    keys.append("\x1b[200~One?\nTwo?\x1b[201~\r")
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=theirs, stdout=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    typing = Thread(target=lambda: [os.write(ours, part.encode()) for part in keys])
    shown = b""
    while b"']" not in shown:  # readline shows each key, which must be read for it to take the next
        shown += os.read(ours, 65_536)
        if b"> " in shown and typing.ident is None:
            typing.start()
    typing.join()
    process.wait()
    os.close(ours)
    assert ascii([f"{long}abc", "One?\nTwo?"]).encode() in shown
