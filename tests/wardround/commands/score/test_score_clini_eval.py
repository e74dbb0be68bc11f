"""`wardround score clini-eval`: a file of dialogues in, the names of the paper out."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cases import load_cases, save_cases
from cases.dialogue_files import read_dialogues
from scoring.clini_eval.points import LEAVES, MAINS, TOTAL, CliniEvalScores, statistics_of
from tests.scoring.clini_eval_dialogues import dialogue_file, interview
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.commands.score import score_app
from wardround.commands.score.clini_eval import _gains

FULL = {key: leaf.maximum for key, leaf in LEAVES.items()}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, ["clini-eval", *map(str, arguments)], env={"COLUMNS": "400"})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    talks = [interview(language, good) for language in ("en", "zh") for good in (True, False)]
    return dialogue_file(tmp_path / "dialogues.jsonl", *talks)


def written(result: Result, file: Path) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


@pytest.mark.slow
def test_offline_the_total_is_missing_and_the_assessed_points_stand_beside_their_maximum(
    file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scores.json"
    result = run(file, "--json", out)
    found = written(result, out)
    assert (found["suite"], found["mode"], found["n"]) == ("clini-eval", "sound", 4)
    metrics = found["metrics"]
    assert set(metrics[TOTAL]) == {"mean", "se", "ci95", "n"}
    assert metrics[TOTAL] == {"mean": None, "se": None, "ci95": None, "n": 0}
    assert metrics["Empathy and Encouragement"]["n"] == 0, "not assessed is missing, not 0"
    assert metrics["Medical Exam"]["n"] == metrics["Family History"]["n"] == 4
    assert 0 < metrics["Assessed Points"]["mean"] < metrics["Assessed Maximum"]["mean"] == 50
    assert "Mean points of what was assessed" in result.stdout and "missing, not 0" in result.stdout


@pytest.mark.parametrize("foreign", ["", '{"OSCE_Examination": {}}\n' * 3, '{"id": 1}', '{"id": "1"}'])
def test_of_a_file_of_cases_one_sentence_says_that_dialogues_are_expected(tmp_path: Path, foreign: str) -> None:
    save_cases(load_cases()[:3], tmp_path / "cases.jsonl")
    if foreign:
        (tmp_path / "cases.jsonl").write_text(foreign)
    result = run(tmp_path / "cases.jsonl")
    expected = (
        "contains no dialogues (no record has messages); expected JSON lines with messages, each with a role (user, "
        "the patient, or assistant) and content, or with ShareGPT's conversations (from and value), or a table with "
        "dialogue and note"
    )
    assert result.exit_code == 2
    assert result.stderr == f"error: {tmp_path}/cases.jsonl: {expected}\nerror: nothing was scored: 1 problem\n"


def test_chats_without_ids_or_with_numbers_are_named_by_their_place_or_number(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "I cough."}, {"role": "assistant", "content": "Since when?"}]
    lines = [json.dumps({"messages": chat}), json.dumps({"id": 7, "messages": chat})]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    dialogues, problems = read_dialogues(tmp_path / "chats.jsonl")
    assert ([each.id for each in dialogues], problems) == (["line 1", "7"], [])


def test_chats_without_ids_in_several_files_are_cases_of_their_own_unless_they_share_a_note(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "I cough."}, {"role": "assistant", "content": "Since when?"}]
    for name, note in (("a", "He coughs."), ("b", "She coughs."), ("c", "He coughs.")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"messages": chat, "note": note}))
    result = run(tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "c.jsonl")
    assert "clini-eval, sound mode, 2 cases, 3 dialogues" in result.stdout and "same id" not in result.stderr


def test_by_department_the_good_interviews_stand_above_the_bad(file: Path) -> None:
    result = run(file, "--by", "department")
    assert result.exit_code == 0
    table = result.stdout[result.stdout.index("Means by department") :]
    rows = {line.split("│")[1].strip(): line.split("│") for line in table.splitlines() if line.startswith("│")}
    assert list(rows) == ["Cardiology", "Neurology"]
    assert [row[2].strip() for row in rows.values()] == ["2", "2"]
    assert float(rows["Cardiology"][-3]) > float(rows["Neurology"][-3])


def test_a_department_that_one_strategy_has_inferred_counts_for_all_dialogues_of_that_note(tmp_path: Path) -> None:
    recon = interview("en", True, strategy="clini_recon", department="Cardiology")
    direct = interview("en", False, strategy="direct", department=None)
    other = interview("zh", False, strategy="direct", department=None)
    file = dialogue_file(tmp_path / "dialogues.jsonl", direct, recon, other)
    out = tmp_path / "scores.json"
    table = run(file, "--by", "strategy", "--by", "department", "--over", "direct", "--json", out).stdout
    rows = [line.split("│") for line in table[table.index("Means by") :].splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
        ["direct", "(no department)", "1"],
        ["direct", "Cardiology", "1"],
        ["clini_recon", "Cardiology", "1"],
    ], "the strategy that others gain over comes first, as in the paper's Table 3"
    assert rows[-1][-2].strip().startswith("+"), "its gain is over the other dialogue of the note"
    groups = json.loads(out.read_text("utf-8"))["groups"]
    assert [[one["strategy"], one["department"], str(one["n"])] for one in groups] == [
        [cell.strip() for cell in row[1:4]] for row in rows
    ]
    assert f"{groups[-1]['gains']['Assessed Points']:+.1f} %" == rows[-1][-2].strip()
    assert [f"{one['metrics']['Avg. Turns']['mean']:.3f}" for one in groups] == [row[4].strip() for row in rows]


def test_a_gain_is_over_the_notes_of_both_strategies(tmp_path: Path) -> None:
    pair = [interview("en", True, strategy="clini_recon"), interview("en", False, strategy="direct")]
    another = interview("zh", True, strategy="direct")  # its dialogue by Clini-Recon is missing
    gains = []
    for name, dialogues in {"pair": pair, "more": [*pair, another]}.items():
        file = dialogue_file(tmp_path / f"{name}.jsonl", *dialogues)
        table = run(file, "--by", "strategy", "--over", "direct").stdout
        rows = [line.split("│") for line in table[table.index("Means by") :].splitlines() if line.startswith("│")]
        gains.append([row[-2].strip() for row in rows if row[1].strip() == "clini_recon"])
    assert gains[0] == gains[1] and gains[0][0].startswith("+")


def test_each_note_counts_alike_in_a_gain_where_one_of_its_dialogues_is_missing(tmp_path: Path) -> None:
    notes = [interview("en", True), interview("en", False).model_copy(update={"note": "Cough for three days."})]
    talks = {
        name: [
            talk.model_copy(update={"id": f"{name}-{number}/epoch{epoch}", "strategy": name})
            for number, talk in enumerate(notes)
            for epoch in range(2)
        ]
        for name in ("direct", "clini_recon")
    }
    out = tmp_path / "scores.json"
    source = dialogue_file(tmp_path / "d.jsonl", *talks["direct"], *talks["clini_recon"][1:])
    _, other = written(run(source, "--by", "strategy", "--over", "direct", "--json", out), out)["groups"]
    assert other["n"] == 3 and other["gains"] == {"Assessed Points": pytest.approx(0)}


def test_a_gain_in_a_score_is_over_the_notes_of_which_both_have_it() -> None:
    full = CliniEvalScores(leaves=dict.fromkeys(LEAVES, 1.0))
    half, none = (CliniEvalScores(leaves=dict.fromkeys(LEAVES, points)) for points in (0.5, 0.0))
    partial = CliniEvalScores(leaves={}, unscored=dict.fromkeys(LEAVES, "nothing to assess"))
    assert _gains({"a": [full], "b": [full]}, {"a": [half], "b": [partial]})[TOTAL] == 100
    assert _gains({"a": [full], "b": [none]}, {"a": [half], "b": [partial]})[TOTAL] == 100, "b has no total of theirs"
    assert TOTAL not in _gains({"a": [full], "b": [partial]}, {"a": [partial], "b": [half]}), "no note has both"
    assert _gains({"a": [full], "b": [none]}, {"c": [half]})[TOTAL] == 0, "over all, as they share no note"
    assert TOTAL not in _gains({"a": [full]}, {"a": [none]})


def test_a_gain_that_cannot_be_told_is_said(tmp_path: Path) -> None:
    talks = [interview("en", True).model_copy(update={"strategy": name}) for name in ("direct", "clini_recon")]
    result = run(dialogue_file(tmp_path / "dialogues.jsonl", *talks), "--by", "strategy", "--over", "direct")
    assert "No gain over direct in Medical History, Interview Techniques, Total Score" in result.output


def judge(request: ChatRequest) -> dict[str, Any] | None:
    return FULL if request.name == "CliniEvalPoints" else None


@pytest.mark.slow
def test_a_judge_gives_every_number_and_the_sums(file: Path, tmp_path: Path) -> None:
    out, details = tmp_path / "scores.json", tmp_path / "details.jsonl"
    with FakeServer(answer=judge, latency=0.02) as server:
        result = run(file, "--judge", f"openai:judge@{server.base_url}", "--json", out, "--details", details)
        at_once = server.max_in_flight
    metrics = written(result, out)["metrics"]
    assert {name: metrics[name]["mean"] for name in MAINS} == dict(zip(MAINS, (45, 25, 4, 10, 10, 6), strict=True))
    total = metrics[TOTAL]
    assert (total["mean"], total["se"], total["n"]) == (100, 0, 4) and 0 < total["ci95"][0] < total["ci95"][1] == 100
    assert "Assessed Points" not in metrics and 1 < at_once <= 8
    lines = [json.loads(line) for line in details.read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["en-good", "en-bad", "zh-good", "zh-bad"]
    assert all(line["total"] == 100 and line["summary"] and line["comparison"] for line in lines)


def test_a_dialogue_whose_judge_fails_is_named_counted_and_left_out(file: Path, tmp_path: Path) -> None:
    def too_high(request: ChatRequest) -> dict[str, Any] | None:
        if request.name == "CliniEvalPoints" and "Twenty cigarettes" in request.text:
            return {**FULL, "personal_history": 3}
        return judge(request)

    out = tmp_path / "scores.json"
    with FakeServer(answer=too_high) as server:
        result = run(file, "--judge", f"openai:judge@{server.base_url}", "--json", out, "--by", "department")
    assert result.exit_code == 1
    means = result.stdout.partition("Means by department")[2].splitlines()
    row = next([cell.strip() for cell in line.split("│")] for line in means if line.startswith("│ Cardiology"))
    [other] = [one for one in read_dialogues(file)[0] if one.id == "zh-good"]
    assert row[2] == "1" and float(row[3]) == statistics_of(other)["Avg. Turns"], "no turn of one not judged counts"
    assert (
        "Left out: 1 dialogue that could not be judged" in result.stdout
        and "Dialogue en-good: not judged" in result.stdout
    )
    found = json.loads(out.read_text("utf-8"))
    assert found["n"] == 4 and found["metrics"][TOTAL]["n"] == 3 and found["metrics"][TOTAL]["mean"] == 100
    assert [group["metrics"][TOTAL]["n"] for group in found["groups"]] == [group["n"] for group in found["groups"]]


def test_a_group_of_which_no_dialogue_could_be_judged_stands_empty(file: Path, tmp_path: Path) -> None:
    def never(request: ChatRequest) -> dict[str, Any] | None:
        refused = request.name == "CliniEvalPoints" and "Twenty cigarettes" in request.text
        return {**FULL, "personal_history": 3} if refused else judge(request)

    failing = interview("en", True, strategy="clini_recon")
    source = dialogue_file(tmp_path / "d.jsonl", failing, interview("zh", True, strategy="direct"))
    out = tmp_path / "scores.json"
    with FakeServer(answer=never) as server:
        options = ["--judge", f"openai:judge@{server.base_url}", "--json", out, "--by", "strategy", "--over", "direct"]
        assert run(source, *options).exit_code == 1
    full, empty = json.loads(out.read_text("utf-8"))["groups"]
    assert (empty["strategy"], empty["n"], empty["gains"]) == ("clini_recon", 0, {})
    assert full["metrics"][TOTAL]["mean"] == 100 and full["gains"][TOTAL] == 0


def test_only_in_sound_mode_is_the_judge_told_the_diagnosis(tmp_path: Path) -> None:
    source = dialogue_file(tmp_path / "d.jsonl", interview("en", False))
    told = {}
    for mode in ("sound", "paper"):
        with FakeServer(answer=judge) as server:
            assert run(source, "--mode", mode, "--judge", f"openai:judge@{server.base_url}").exit_code == 0
            told[mode] = "Myocardial infarction" in server.requests[0].text
    assert told == {"sound": True, "paper": False}


def test_every_bad_line_is_named_and_nothing_is_scored(file: Path) -> None:
    good = file.read_text("utf-8")
    more = dialogue_file(
        file.with_name("more.jsonl"), interview("en", True, note=""), interview("en", True, messages=[])
    )
    file.write_text(f'{good}{{"id": "x"}}\nnot JSON\n{more.read_text("utf-8")}', encoding="utf-8")
    result = run(file)
    assert result.exit_code == 2 and result.stdout == ""
    for part in ("line 5", "line 6", "no clinical note", "no turn of the physician", "nothing was scored: 4 problems"):
        assert part in result.stderr


def test_dialogues_spread_over_several_lines_are_read(file: Path, tmp_path: Path) -> None:
    talks = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for number, text in enumerate(
        [json.dumps(talks[0], indent=2), "\n".join(json.dumps(talk, indent=2) for talk in talks)]
    ):
        file.write_text(text)
        found = written(run(file, "--json", tmp_path / "scores.json"), tmp_path / "scores.json")
        assert found["n"] == (1, 4)[number]


def test_broken_json_over_several_lines_is_one_error_that_names_the_place(file: Path) -> None:
    talk = json.loads(file.read_text("utf-8").splitlines()[0])
    file.write_text(json.dumps(talk, indent=2)[:-2])
    result = run(file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count(str(file)) == 1 and "expected a JSON list or object" in result.stderr, result.stderr


def test_a_misspelt_judge_is_refused_before_a_call(file: Path) -> None:
    result = run(file, "--judge", "gpt")
    assert result.exit_code == 2 and "--judge" in result.stderr


def test_a_judge_whose_folder_is_missing_is_refused_before_the_others_are_asked(file: Path) -> None:
    result = run(
        file,
        "--judge",
        "openai:m@http://127.0.0.1:9/v1",
        "--judge",
        "clini_eval.summary.clinical_instructor=hf:/nowhere",
    )
    assert result.exit_code == 2
    assert "--judge: models." in result.stderr and "hf:/nowhere is not a folder on this machine" in result.stderr


def test_roles_that_seem_exchanged_and_ids_of_several_notes_are_warned_of(tmp_path: Path) -> None:
    talk = interview("en", True)
    other = {"user": "assistant", "assistant": "user"}
    turned = [one.model_copy(update={"role": other[one.role]}) for one in talk.spoken]
    exchanged = talk.model_copy(update={"messages": turned, "note": f"{talk.note} He is 70."})
    files = [dialogue_file(tmp_path / f"{n}.jsonl", one) for n, one in enumerate([talk, exchanged])]
    warnings = [line for line in run(*files).stderr.splitlines() if line.startswith("warning: ")]
    assert warnings[0].startswith(f"warning: {files[1]}: the patient (role 'user') asks in ")
    assert warnings[1].startswith(f"warning: several notes have the same id ({talk.id}): ")
    assert len(warnings) == 2
    assert "warning" not in run(files[0]).stderr


def test_a_dialogue_in_which_the_patient_is_silent_is_no_interview(tmp_path: Path) -> None:
    talk = interview("en", True)
    alone = [one for one in talk.messages if one.role != "user"]
    result = run(dialogue_file(tmp_path / "alone.jsonl", talk.model_copy(update={"messages": alone})))
    assert result.exit_code == 2 and "has no turn of the patient (role 'user')" in result.output
