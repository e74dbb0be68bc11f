import csv
import errno
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from llm import ModelSettings
from scoring.aie.mcq import Answered, Question
from scoring.aie.metrics import METRICS, score_aie
from scoring.aie.pairwise import ASPECTS
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import PERCENT, estimates
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, aie_data, turn, write
from tests.support.fake_server import ChatRequest, FakeServer
from wardround.commands.score import choices, score_app


@pytest.fixture(autouse=True)
def _few_resamples_and_each_figure_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else they give is tested by itself, `tests/scoring/aie/test_tournament.py` and `tables/test_figures.py`."""
    monkeypatch.setattr("scoring.aie.tournament._RESAMPLES", 10)
    monkeypatch.setattr("wardround.tables.making.as_png", lambda figure: b"a picture")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})


def scores(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content


@pytest.mark.parametrize("mode", ["sound", "paper"])
def test_the_json_has_the_estimates_at_full_precision(tmp_path: Path, mode: Any) -> None:
    out = tmp_path / "out.json"
    result = run("aie", write(tmp_path / "t.json", CHINESE), "--mode", mode, "--json", out)
    assert result.exit_code == 0, result.output
    written = scores(out)
    assert {key: written[key] for key in ("suite", "mode", "n")} == {"suite": "aie", "mode": mode, "n": 2}
    assert tuple(written["metrics"]) == METRICS
    samples = score_aie((AieTranscript.model_validate(entry) for entry in CHINESE), mode)
    expected = estimates(samples, clustered=mode == "sound", ends=PERCENT, neither=("AVG_TURN", "AVG_LEN"))
    assert written["metrics"] == {name: found.model_dump(mode="json") for name, found in expected.items()}


def test_tables_of_actions_lengths_and_languages_are_printed(tmp_path: Path) -> None:
    result = run("aie", write(tmp_path / "t.json", ENGLISH))
    for title in ("Share of actions by turn", "By length of the dialogue", "Utterances by language"):
        assert title in result.stdout
    assert "choose no option" not in result.stdout and "what was answered" not in result.stdout
    out = tmp_path / "out.json"
    told = run("aie", write(tmp_path / "z.json", CHINESE), "--json", out)
    assert "1 of 2 diagnoses choose no option" in told.stdout and "Over answered cases only" in told.stdout
    answered, whole = scores(out)["answered"]["DIAGNOSIS"], scores(out)["metrics"]["DIAGNOSIS"]
    assert (answered["mean"], answered["n"], answered["share"]) == (100.0, 1, 0.5)
    assert (whole["mean"], whole["n"]) == (50.0, 2), "who chooses none is wrong"


@pytest.mark.slow
def test_a_letter_that_was_asked_for_and_not_given_is_wrong_named_and_ends_the_command_with_1(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with FakeServer(answer=lambda request: "I would rather not say.") as server:
        told = run(
            "aie", write(tmp_path / "t.json", ENGLISH), "--diagnose", f"openai:any@{server.base_url}", "--json", out
        )
    assert told.exit_code == 1, told.output
    assert "no option was chosen" in told.stdout
    diagnosis = scores(out)["metrics"]["DIAGNOSIS"]
    assert diagnosis["mean"] == 0 and diagnosis["n"] == len(ENGLISH)
    assert {*scores(out)["chosen"]["t"].values()} == {None}


def test_a_case_that_occurs_again_in_a_file_keeps_the_letter_of_each_dialogue(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    again = [{**one, "diagnosis": letter} for letter in "BC" for one in ENGLISH[:1]]
    run("aie", write(tmp_path / "t.json", again), "--json", out)
    assert scores(out)["chosen"] == {"t": {"MedQA/1": "B", "MedQA/1/epoch1": "C"}}


def test_each_round_asks_a_whole_dialogue_once_and_each_shorter_one_once(tmp_path: Path) -> None:
    turns = [turn("O", "Hello.", "I am tired."), turn("A-A-A", "Since when?", "A week."), turn("E", "Goodbye.")]
    played = [aie_data("Tired.", *turns, id=1), aie_data("Tired, too.", *turns[:2], id=2)]
    out = tmp_path / "out.json"
    with FakeServer(answer=lambda request: {"letter": "C"}) as server:
        asked = ("--diagnose", f"openai:any@{server.base_url}", "--each-round", "--json", out)
        assert run("aie", write(tmp_path / "t.json", played), *asked).exit_code == 0
    assert len(server.requests) == 3 + 2
    assert scores(out)["chosen"] == {"t": {"1": "C", "2": "C"}}


@pytest.mark.parametrize("record", ["The haemoglobin is 7. What is it?", "Ill.\n\nHaemoglobin 7 g/dL What is it?"])
def test_who_chooses_from_a_dialogue_has_nothing_of_a_record_that_the_question_repeats(
    tmp_path: Path, record: str
) -> None:
    told = aie_data(record, turn("O", "Hello.", "I am tired."), question=record, options={"A": "x", "B": "y"})
    with FakeServer(answer=lambda request: {"letter": "A"}) as server:
        model = f"openai:any@{server.base_url}"
        assert run("aie", write(tmp_path / "t.json", [told]), "--diagnose", model).exit_code == 0
    (request,) = server.requests
    assert "I am tired." in request.text and "What is it?" in request.text and "aemoglobin" not in request.text


def test_who_chooses_from_a_dialogue_is_asked_in_the_language_of_the_case(tmp_path: Path) -> None:
    told = aie_data("He is ill. What is it?", turn("O", "您好。", "我很累。"), options={"A": "x", "B": "y"})
    with FakeServer(answer=lambda request: {"letter": "A"}) as server:
        model = f"openai:any@{server.base_url}"
        assert run("aie", write(tmp_path / "t.json", [told]), "--diagnose", model).exit_code == 0
    assert "Doctor: 您好。" in server.requests[0].text and "Which option is right?" in server.requests[0].text


def test_dialogues_of_cases_without_options_are_counted_and_no_wrong_diagnoses(tmp_path: Path) -> None:
    without = aie_data("A cough.", turn("O", "Hello.", "I cough."), options={}, answer_idx="", diagnosis=None, id=9)
    out = tmp_path / "out.json"
    file = write(tmp_path / "t.json", [*ENGLISH, without])
    for arguments in ((), ("--mode", "paper"), ("--diagnose", "offline", "--each-round")):
        told = run("aie", file, *arguments, "--json", out)
        assert told.exit_code == 0, told.output
        assert "1 of 3 dialogues have no correct option to choose" in told.stdout
        assert "choose no option" not in told.stdout
        found = scores(out)["metrics"]
        assert found["DIAGNOSIS"]["n"] == 2 and found["AVG_TURN"]["n"] == 3


def test_dialogues_in_which_nobody_tracked_actions_are_unscored_in_them_and_told_once(tmp_path: Path) -> None:
    """Transcripts exported from a run of another patient have no actions but the conclusion."""
    turns = [turn("", "Hello.", "I am tired."), turn("", "Since when?", "A week."), turn("E", "Goodbye.")]
    file = write(tmp_path / "t.json", [aie_data("Tired.", *turns, id=one) for one in (1, 2)])
    out = tmp_path / "out.json"
    told = run("aie", file, "--diagnose", "offline", "--each-round", "--json", out, "--out", tmp_path / "drawn")
    assert told.exit_code == 0, told.output
    assert told.stderr.count("warning") == 1 and "case 1 and 1 more" in told.stderr and "found only ['']" in told.stderr
    found = scores(out)["metrics"]
    assert {name for name, one in found.items() if not one["n"]} == {
        "COVERAGE", "INQUIRY_ACC", "INQUIRY_SPECIFIC", "INQUIRY_LOGIC", "ADVICE_ACC", "ADVICE_SPECIFIC"
    }  # fmt: skip
    assert "Share of actions by turn" not in told.stdout
    assert (tmp_path / "drawn" / "aie-figure-6d.png").is_file()


def test_scores_are_printed_also_if_the_tables_of_out_find_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_a_full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "aie-table-2.csv")

    monkeypatch.setattr("wardround.commands.score.output.write_tables", on_a_full_disk)
    file = write(tmp_path / "z.json", CHINESE)
    for command in (("aie", file), ("aie-pairwise", file, write(tmp_path / "y.json", CHINESE), "--judge", "offline")):
        told = run(*command, "--out", tmp_path / "drawn")
        assert told.exit_code == 2 and told.stderr == "error: aie-table-2.csv: no space left on device\n"
        assert f"{command[0]}, sound mode, 2 cases" in told.stdout


def test_doctors_who_chose_from_different_options_are_named(tmp_path: Path) -> None:
    """The options of each run may have been written by another model, and fewer tempting ones are easier."""
    options = {"A": "Asthma", "B": "Gout"}
    choices = {"one": options, "same": {"A": "Gout", "B": "Asthma"}, "other": options | {"B": "Scabies"}}
    talk = [turn("O", "Hello.", "I am tired."), turn("E", "Goodbye.")]
    files = [
        write(tmp_path / f"{name}.json", [aie_data("Tired.", *talk, id=1, options=found)])
        for name, found in choices.items()
    ]
    told = run("aie", *files, "--diagnose", "offline")
    assert "DIAGNOSIS: 1 case of other had other options than in one, and cannot be compared." in told.stdout
    assert told.stdout.count("cannot be compared") == 1 and "cannot be compared" not in run("aie", *files).stdout
    pairs = run("aie-pairwise", *files, "--judge", "offline", "--diagnose", "offline")
    assert "1 case of other had other options than in one" in pairs.stdout


def test_two_dialogues_of_a_case_are_one_case_and_within_a_file_a_warning_says_so(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.json", rows) for name, rows in (("one", CHINESE), ("two", CHINESE[:1] * 2))]
    told = run("aie", *files)
    assert "aie, sound mode, 2 cases, 4 dialogues" in told.stdout
    assert "two.json, case " in told.stderr and "appears 2 times; each occurrence is scored" in told.stderr
    assert "one.json" not in told.stderr and "1 case, 2 dialogues" in run("aie", files[1]).stdout


@pytest.mark.slow
def test_several_doctors_have_a_column_each_as_the_paper_prints_them(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.json", CHINESE[:rows]) for name, rows in (("gpt4", 2), ("glm", 1))]
    told = run("aie", *files, "--mode", "paper", "--out", tmp_path / "out", "--json", tmp_path / "out.json")
    assert told.exit_code == 0, told.output
    own = json.loads((tmp_path / "out.json").read_text("utf-8"))["files"]
    assert {name: found["AVG_TURN"]["mean"] for name, found in own.items()} == {"gpt4": 4.0, "glm": 6.0}
    title, _, table = told.stdout.partition("AIE, Table 2)")
    assert "Doctors in dialogue" in title and "64.00 ± 6.86" in table, "GPT-4 of the paper"
    assert "Over 2 cases (gpt4), 1 case (glm)." in " ".join(table.split())
    rows = {row["metric"]: row for row in csv.DictReader((tmp_path / "out" / "aie-table-2.csv").open())}
    assert list(rows) == list(METRICS)
    assert rows["AVG_TURN"]["gpt4"] == "4.00 ± 2.00" and rows["AVG_TURN"]["glm"] == "6.00"
    actions = list(csv.DictReader((tmp_path / "out" / "aie-figure-6c.csv").open()))
    assert [(row["run"], row["turn"]) for row in actions] == [
        *(("gpt4", str(number)) for number in range(1, 7)),
        *(("glm", str(number)) for number in range(1, 7)),
    ]
    assert (actions[1]["A-A-A"], actions[1]["A-B"], actions[2]["A-A-A"]) == ("0.5", "0.5", "1.0")


@pytest.mark.slow
def test_records_of_both_languages_have_both_tables_and_the_mean_of_all_lengths_is_called_mixed(tmp_path: Path) -> None:
    file, mixed = write(tmp_path / "one.json", [*ENGLISH[:1], *CHINESE[:1]]), "AVG_LEN mixes words and characters"
    told = run("aie", file, "--out", tmp_path / "both")
    assert mixed in told.stdout and "Doctors in dialogue" not in told.stdout
    assert {"aie-table-2.csv", "aie-table-3.csv"} <= {each.name for each in (tmp_path / "both").iterdir()}
    assert mixed not in run("aie", file, "--language", "en", "--out", tmp_path / "english").stdout
    assert not (tmp_path / "english" / "aie-table-2.csv").exists()


def test_tables_of_one_case_say_so_in_the_singular(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.json", CHINESE[:1]) for name in ("gpt4", "glm")]
    assert "Over 1 case;" in " ".join(run("aie", *files).stdout.split())


def test_ours_by_sound_definitions_beside_the_printed_cells_name_the_way_to_compare_like_with_like(
    tmp_path: Path,
) -> None:
    files = [write(tmp_path / f"{name}.json", CHINESE[:1]) for name in ("gpt4", "glm")]
    sound, paper = (" ".join(run("aie", *files, "--mode", mode).stdout.split()) for mode in ("sound", "paper"))
    other = "The printed cells follow other definitions"
    assert other in sound and "use `wardround score aie RUNS --mode paper`" in sound and other not in paper


def test_who_chooses_a_diagnosis_reads_who_said_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    async def choose(questions: Sequence[Question], settings: ModelSettings) -> Answered:
        read.extend(question.view.record for question in questions)
        return Answered({question.case: "A" for question in questions}, {})

    monkeypatch.setattr(choices, "answer_questions", choose)
    told = run("aie", write(tmp_path / "gpt4.json", CHINESE[:1]), "--diagnose", "offline")
    assert told.exit_code == 0, told.output
    said = CHINESE[0]["history"][0]
    assert read[0].startswith(f"医生：{said['doctor']}\n患者：{said['patient']}\n医生：")


@pytest.mark.parametrize(("unasked", "difference"), [("record", -50.0), ("dialogue", 50.0)])
def test_no_answer_is_wrong_in_the_difference_of_the_formats_whichever_lacks_it(
    unasked: str, difference: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def choose(questions: Sequence[Question], settings: ModelSettings) -> Answered:
        failed = {"2": "unreachable"} if unasked == "record" else {}
        return Answered({question.case: "A" for question in questions if question.case not in failed}, failed)

    monkeypatch.setattr(choices, "answer_questions", choose)
    records = [
        aie_data("I cough.", turn("O", "Hello", "I cough."), id=number, diagnosis=letter)
        for number, letter in enumerate(["A", "no idea" if unasked == "dialogue" else "A"], start=1)
    ]
    out = tmp_path / "out.json"
    run("aie", write(tmp_path / "t.json", records), "--mcq", "offline", "--json", out)
    found = scores(out)["formats"]["DIAGNOSIS"]
    assert (found["mean"], found["n"]) == (difference, 2)
    assert scores(out)["mcq_chosen"] == {"t": {"1": "A", "2": None if unasked == "record" else "A"}}


def test_only_cases_that_were_asked_about_have_a_letter_or_none_under_the_file_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail_at_the_second(questions: Sequence[Question], settings: ModelSettings) -> Answered:
        return Answered({question.case: "A" for question in questions if question.case != "2"}, {"2": "unreachable"})

    monkeypatch.setattr(choices, "answer_questions", fail_at_the_second)
    case = partial(aie_data, "I cough.", turn("O", "Hello", "I cough."))
    one = write(tmp_path / "one.json", [case(id=1), case(id=2), case(id=3, options={}), case(id=4, answer_idx="Z")])
    other = write(tmp_path / "other.json", [case(id=5)])
    run("aie", one, other, "--mcq", "offline", "--json", tmp_path / "out.json")
    assert scores(tmp_path / "out.json")["mcq_chosen"] == {"one": {"1": "A", "2": None}, "other": {"5": "A"}}


@pytest.mark.slow
def test_formats_are_set_beside_each_other_by_examination_and_coverage_beside_diagnosis(tmp_path: Path) -> None:
    records = [
        aie_data(
            "I cough. He smokes.",
            turn("O", "Hello", "I cough."),
            turn("A-A-A", "Do you smoke?", "He smokes." if right else "No."),
            id=number,
            dataset=exam,
            diagnosis="A" if right else "C",
        )
        for number, (exam, right) in enumerate([("MedQA", True), ("MedQA", False), ("MMLU", True), ("MMLU", False)])
    ]
    told = run("aie", write(tmp_path / "t.json", records), "--mcq", "offline", "--out", tmp_path)
    assert told.exit_code == 0, told.output
    assert {"aie-figure-6b.svg", "aie-figure-6b.png", "aie-figure-6b.csv"} <= {file.name for file in tmp_path.iterdir()}
    found = told.stdout.partition("Right diagnoses in both formats")[2]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in found.splitlines() if "│" in line]
    assert [(row[0], row[2][:5], row[4]) for row in rows[:3]] == [
        ("MedQA", "50.00", "2"), ("MMLU", "50.00", "2"), ("all", "50.00", "4"),
    ]  # fmt: skip
    beside = told.stdout.partition("Correlation of coverage and diagnosis")[2]
    row = next(line for line in beside.splitlines() if "│ t " in line).split("│")
    assert row[2].strip() == "1.000" and row[5].strip() == "4", "who told more was diagnosed"


def test_each_files_language_is_its_own_in_paper_mode(tmp_path: Path) -> None:
    files = [write(tmp_path / "en.json", ENGLISH), write(tmp_path / "zh.json", CHINESE)]
    out = tmp_path / "out.json"
    result = run("aie", *files, "--mode", "paper", "--json", out)
    assert result.exit_code == 0 and scores(out)["n"] == 4
    single = [
        score_aie((AieTranscript.model_validate(entry) for entry in data), "paper") for data in (ENGLISH, CHINESE)
    ]
    both = [sample.value for part in single for sample in part["COVERAGE"]]
    assert scores(out)["metrics"]["COVERAGE"]["mean"] == pytest.approx(sum(both) / 4)


def test_a_faulty_record_ends_with_code_2_and_nothing_written(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    file = write(tmp_path / "t.json", [*ENGLISH, {"id": 3, "raw_data": {"question": "x", "answer_idx": "A"}}])
    result = run("aie", file, "--json", out)
    assert result.exit_code == 2 and not out.exists() and result.stdout == ""
    assert "entry 3, history: Field required" in result.stderr and "nothing was scored: 1 problem" in result.stderr


def test_odd_actions_are_warnings(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", [aie_data("Cough.", turn("O", "Hello"), *[turn("?", "Hi")] * 25)])
    result = run("aie", file)
    assert result.exit_code == 0 and result.stderr.count("warning:") == 20 and "5 more warnings" in result.stderr


def test_another_run_is_compared_and_people_correlated(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", ENGLISH)
    people = tmp_path / "people.csv"
    people.write_text("case,total\nMedQA/1,3\nMedQA/2,4\n", "utf-8")
    result = run("aie", file, "--against", file, "--human", people)
    assert result.exit_code == 0, result.output
    assert (
        "Difference to the other transcripts (these minus those), paired by case" in result.stdout
        and "people: total" in result.stdout
    )
    same = f"{len(ENGLISH)} of {len(ENGLISH)} dialogues are identical in --against"
    others = write(
        tmp_path / "others.json", [{**each, "history": [*each["history"], turn("E", "Goodbye.")]} for each in ENGLISH]
    )
    assert same in result.stdout
    again = run("aie", file, "--against", others, "--human", people, "--json", tmp_path / "out.json")
    assert "are identical" not in again.stdout
    written = scores(tmp_path / "out.json")
    turns = written["differences"]["AVG_TURN"]
    assert (turns["mean"], turns["n"], turns["permutation_p"], turns["holm_p"]) == (-1, 2, 0.5, 1)
    with_people = [one for one in written["correlations"] if one["other"] == "people: total"]
    assert [one["one"] for one in with_people] == list(METRICS) and with_people[0]["n"] == 2
    people.write_text("case,total\nMedQA/1,good\n", "utf-8")
    assert run("aie", file, "--human", people).exit_code == 2


def simulator(tmp_path: Path, name: str, reply: str) -> Path:
    replies = {
        "0": {
            "A-A-A": {
                "human_state": "A-A-A",
                "human_answer": "咳嗽三天",
                "prediction": reply,
                "state_prediction": "A-B",
            }
        },
        "1": {"C": {"human_state": "C", "human_answer": "线上", "prediction": reply}},
    }
    return write(tmp_path / name, [{"id": 1, "raw_data": {"question": "咳嗽三天，发热。"}, "patient_test": replies}])


def test_simulator_tests_are_scored(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    file = simulator(tmp_path, "s.json", "线上咳嗽三天")
    result = run("aie-simulator", file, "--json", out, "--people", simulator(tmp_path, "p.json", "不"))
    assert result.exit_code == 0, result.output
    assert "Tracked actions" in result.stdout and "Correlation" in result.stdout
    assert "take every reply as independent" in " ".join(result.stdout.split())
    metrics = scores(out)["metrics"]
    assert metrics["ACCURACY"]["mean"] == metrics["FOCUS"]["mean"] == 100 and metrics["TRACKING"]["mean"] == 0
    assert metrics["HONEST"] == {"mean": None, "se": None, "ci95": None, "n": 0}
    assert "no reply" not in result.stdout
    unplayed = json.loads(file.read_text("utf-8"))
    del unplayed[0]["patient_test"]["1"]["C"]["prediction"]
    told = run("aie-simulator", write(tmp_path / "part.json", unplayed)).stdout
    assert "part: 1 questions have no reply (prediction) and are left out, such as 1/1/C." in told
    unplayed = json.loads(file.read_text("utf-8"))
    for tests in unplayed[0]["patient_test"].values():
        for test in tests.values():
            del test["prediction"]
    told = run("aie-simulator", tmp_path)
    assert told.exit_code == 2 and f"run `wardround score simulator {tmp_path}`" in told.stderr, "a run's folder"
    told = run("aie-simulator", write(tmp_path / "unplayed.json", unplayed))
    assert told.exit_code == 2 and "has no replies" in told.stderr
    alone = json.loads(file.read_text("utf-8"))
    del alone[0]["patient_test"]["1"]
    once = run("aie-simulator", *(write(tmp_path / f"{name}.json", alone) for name in "ab")).stdout
    assert "Correlation" in once and "as independent" not in once, "each simulator has one reply of each patient"
    both = run("aie-simulator", file, tmp_path / "p.json", "--people", tmp_path / "p.json").stdout
    assert "s         │ LENGTH" in both and "p         │ LENGTH" not in both, "people are not held against themselves"


def test_simulators_are_subtracted_from_people_on_the_questions_that_both_answered(tmp_path: Path) -> None:
    files = [simulator(tmp_path, "tells.json", "线上咳嗽三天"), simulator(tmp_path, "denies.json", "不")]
    asked = json.loads(simulator(tmp_path, "p.json", "咳嗽").read_text("utf-8"))
    del asked[0]["patient_test"]["1"]["C"]["prediction"]  # people answered fewer questions, as in the released file
    people, out = write(tmp_path / "people.json", asked), tmp_path / "out.json"
    told = run("aie-simulator", *files, people, "--people", people, "--json", out)
    assert "Simulators minus people on the same questions, paired by patient" in told.stdout, told.output
    differences = scores(out)["differences"]
    assert {name: (found["AVG_LEN"]["mean"], found["AVG_LEN"]["n"]) for name, found in differences.items()} == {
        "tells": (4.0, 1),
        "denies": (-1.0, 1),
    }
    assert "FOCUS" not in differences["tells"], "nobody of the people answered a demand"
    assert "minus people" not in run("aie-simulator", *files).stdout


def test_peoples_own_file_is_held_against_nobody_also_where_patients_are_left_out_or_no_action_is_tracked(
    tmp_path: Path,
) -> None:
    (one,), (by_people,) = (
        json.loads(simulator(tmp_path, name, reply).read_text("utf-8"))
        for name, reply in (("s.json", "线上咳嗽三天"), ("p.json", "咳嗽"))
    )
    del by_people["patient_test"]["0"]["A-A-A"]["state_prediction"]
    file, people = (
        write(tmp_path / name, [{**each, "id": number} for number in (1, 2)])
        for name, each in (("s.json", one), ("p.json", by_people))
    )
    out = tmp_path / "out.json"
    told = run("aie-simulator", file, people, "--people", people, "--leave-out", "2", "--json", out).stdout
    differences = scores(out)["differences"]
    assert {name: [*found] for name, found in differences.items()} == {"s": ["ACCURACY", "PASSIVE", "FOCUS", "AVG_LEN"]}
    assert "s         │ LENGTH" in told and "p         │ LENGTH" not in told


def test_paper_mode_says_that_its_chinese_words_and_keywords_find_nothing_in_english_replies(tmp_path: Path) -> None:
    files = [simulator(tmp_path, f"{n}.json", reply) for n, reply in enumerate(("Sorry, not online.", "线上咳嗽三天"))]
    assert "2 of 4 replies are not Chinese" in run("aie-simulator", *files, "--mode", "paper").stdout
    assert "not Chinese" not in run("aie-simulator", files[1], "--mode", "paper").stdout
    assert "not Chinese" not in run("aie-simulator", *files).stdout


@pytest.mark.slow
def test_each_file_of_replies_has_its_rows_by_round_beside_the_papers_and_cases_can_be_left_out(tmp_path: Path) -> None:
    files = [simulator(tmp_path, "a.json", "线上"), simulator(tmp_path, "b.json", "咳嗽")]
    told = run("aie-simulator", *files, "--by", "turn", "--out", tmp_path / "out", "--json", tmp_path / "out.json")
    assert told.exit_code == 0, told.output
    written = json.loads((tmp_path / "out.json").read_text("utf-8"))
    assert [*written["files"]] == ["a", "b"] and all(
        found.keys() == written["metrics"].keys() for found in written["files"].values()
    )
    rows = (tmp_path / "out" / "aie-figure-3a.csv").read_text("utf-8").splitlines()
    assert [line.split(",")[:2] for line in rows[1:7]] == [[name, turn] for name in "ab" for turn in ("all", "0", "1")]
    assert "[GPT-4, states]" in told.stdout and "Round" in told.stdout and "mode, 1 case " in told.stdout
    assert "Round" not in run("aie-simulator", *files).stdout
    assert "no such case" in run("aie-simulator", *files, "--leave-out", "2").stderr


@pytest.mark.slow
def test_trackers_and_people_stand_in_one_table_with_kappa_and_a_matrix_each(tmp_path: Path) -> None:
    labels = ["A-A-A", "A-B", "C", "D"] * 3

    def played(name: str, tracked: list[str]) -> Path:
        tests = [
            {
                "id": patient,
                "raw_data": {"question": "咳嗽三天。"},
                "patient_test": {
                    str(turn): {label: {"human_state": label, "prediction": "好", "state_prediction": tracked[turn]}}
                    for turn, label in enumerate(labels)
                },
            }
            for patient in (1, 2, 3)
        ]
        return write(tmp_path / name, tests)

    files = [played("people.json", labels), played("always_c.json", ["C"] * 12)]
    told = run("aie-simulator", *files, "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    assert "Kappa of people, Kappa of always_c: with fewer than 10 cases" in " ".join(told.stdout.split())
    people, constant = csv.DictReader((tmp_path / "out" / "aie-figure-3c.csv").open())
    assert (people["accuracy_mean"], people["kappa_mean"], people["n"]) == ("100.0", "1.0", "36")
    assert (constant["accuracy_mean"], constant["kappa_mean"]) == ("25.0", "0.0"), "a constant is no tracker"
    rows = list(csv.DictReader((tmp_path / "out" / "aie-figure-3c-always_c.csv").open()))
    assert {row["label"]: row["C"] for row in rows} == dict.fromkeys(("A-A-A", "A-B", "C", "D"), "1.0")
    assert (tmp_path / "out" / "aie-figure-3c-people.svg").stat().st_size > 1000


@pytest.mark.slow
def test_a_doctor_that_differs_from_the_first_is_marked(tmp_path: Path) -> None:
    def doctor(name: str, questions: int) -> Path:
        asked = [turn("A-A-A", "Do you smoke?", "Yes.")] * questions
        records = [aie_data("He smokes.", turn("O", "Hello", "I cough."), *asked, id=case) for case in range(12)]
        return write(tmp_path / name, records)

    told = run("aie", doctor("a.json", 1), doctor("b.json", 4), "--out", tmp_path / "out")
    assert "differs from a with p" in told.stdout
    rows = {row["metric"]: row for row in csv.DictReader((tmp_path / "out" / "aie-table-3.csv").open())}
    assert rows["AVG_TURN"]["b"] == "5.00 ± 0.00**" and rows["AVG_TURN"]["a"] == "2.00 ± 0.00"
    assert rows["COVERAGE"]["b"].endswith("0.00") and rows["AVG_TURN"]["b n"] == "12"
    assert rows["ADVICE_ACC"]["a"] == "" and "ADVICE_ACC" in told.stdout, "an empty cell where there is nothing"


def test_cases_are_left_out_of_the_doctors_metrics(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.json", ENGLISH), tmp_path / "out.json"
    told = run("aie", file, "--leave-out", "MedQA/1", "--json", out)
    assert told.exit_code == 0 and scores(out)["n"] == 1
    assert run("aie", file, "--leave-out", "MedQA/1,MedQA/9").exit_code == 2


@pytest.mark.parametrize("view", ["doctor", "patient"])
def test_two_doctors_are_compared_in_both_orders(tmp_path: Path, view: str) -> None:
    good = [
        aie_data("A man coughs.", turn("B-A-A", "I am sorry. A cough? Have an X-ray.", "A man coughs."), diagnosis="A")
    ]
    poor = [aie_data("A man coughs.", turn("O", "Speak at once of all that you have got, and be quick"), diagnosis="B")]
    files = [write(tmp_path / "good.json", good), write(tmp_path / "poor.json", poor)]
    out = tmp_path / "out.json"
    result = run("aie-pairwise", *files, "--view", view, "--json", out)
    assert result.exit_code == 0, result.output
    assert scores(out)["suite"] == "aie-pairwise" and scores(out)["metrics"]["total"]["mean"] == 100
    same = run("aie-pairwise", files[0], write(tmp_path / "copy.json", good), "--json", out)
    assert same.exit_code == 0 and scores(out)["metrics"]["total"] == {"mean": None, "se": None, "ci95": None, "n": 0}
    assert run("aie-pairwise", *files, "--judge", "gpt").exit_code == 2
    write(files[1], [aie_data("x", turn("O", "Hello"), id=9)])
    assert "no case in common" in run("aie-pairwise", *files).stderr


def test_a_doctor_is_not_held_against_itself_nor_is_a_case_scored_that_nobody_played(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", ENGLISH)
    told = run("aie-pairwise", file, tmp_path / "." / "t.json")
    assert told.exit_code == 2 and "t.json: is given twice" in told.stderr
    cases = write(tmp_path / "cases.json", [{**each, "history": []} for each in ENGLISH])
    for command in (("aie", cases), ("aie-pairwise", file, cases), ("aie", cases, "--diagnose", "openai:x@http://no")):
        told = run(*command)
        assert told.exit_code == 2 and "cases.json: no dialogue to score" in told.stderr
    assert run("aie", cases, "--mcq", "offline").exit_code == 0


def test_cases_that_nobody_played_among_others_are_named(tmp_path: Path) -> None:
    first, *others = ENGLISH
    opening = {**first, "id": 90, "history": first["history"][:1], "diagnosis": None}
    file = write(tmp_path / "t.json", [first, *others, opening, {**opening, "id": 91, "history": []}])
    told = run("aie", file)
    count = len(ENGLISH) + 2
    assert told.exit_code == 0 and f"2 of {count} dialogues hold no words of the doctor" in told.stderr
    assert "(90, 91), and count as wrong" in told.stderr
    assert "hold no words" not in run("aie", write(tmp_path / "whole.json", ENGLISH)).stderr


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Three doctors on four cases, who ask once, twice and three times."""
    made = []
    for asked, name in enumerate(("gpt4", "chatgpt", "glm-6b"), 1):
        turns = [turn("A-A-A", f"Please, do you smoke {number}?", f"He smokes {number}.") for number in range(asked)]
        told = [turn("O", "Hello", "I cough."), *turns]
        made.append(
            write(
                tmp_path / f"{name}.json",
                [aie_data("He smokes 0, 1, 2.", *told, diagnosis="A", id=n) for n in range(4)],
            )
        )
    return made


def test_a_judge_of_pairs_who_fails_is_named_and_exits_with_one(three: list[Path]) -> None:
    with FakeServer(answer=lambda request: "I would rather not say.") as server:
        told = run("aie-pairwise", *three[:2], "--judge", f"openai:judge@{server.base_url}", "--set", "repairs=0")
    assert told.exit_code == 1 and told.stdout.count("unparseable_answer") == 4, told.output


@pytest.mark.slow
def test_what_rules_judged_or_chose_says_so_where_it_is_printed_and_in_every_file_of_it(
    three: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for command, options in (("aie-pairwise", "--judge"), ("aie", "--diagnose"), ("aie", "--diagnose, --mcq")):
        asked = [each for option in options.split(", ") for each in (option, "offline")]
        told = run(command, *three[:2], *asked, "--out", out)
        said = f"Answered by offline rules, not by a model: {options}."
        assert told.exit_code == 0 and said in told.stdout, told.output
        written = [*out.glob("*.csv")]
        assert written and all(said in row["by_rules"] for file in written for row in csv.DictReader(file.open()))
        for file in out.iterdir():
            file.unlink()
    assert "offline rules" not in run("aie", *three[:2]).stdout


def chosen(case: int, first: str, second: str, winner: str) -> dict[str, Any]:
    result = dict.fromkeys(("Inquiry", "Logic", "Patient", "Diagnosis", "Total"), f"<{winner}>")
    return {"id": case, "model1": {"model": first}, "model2": {"model": second}, "result": result}


@pytest.mark.slow
def test_doctors_meet_pair_by_pair_and_people_stand_beside_the_judge(three: list[Path], tmp_path: Path) -> None:
    judged = [chosen(case, "gpt4", "glm", "tie" if case == 3 else "model2") for case in range(4)]
    judged += [chosen(case, "gpt4", "chatgpt", "model1") for case in range(4)]
    people, out, folder = write(tmp_path / "people.json", judged), tmp_path / "out.json", tmp_path / "figures"
    told = run("aie-pairwise", *three, "--people", people, "--closed", "gpt4,chatgpt", "--out", folder, "--json", out)
    assert told.exit_code == 0, told.output
    found = scores(out)["metrics"]
    assert found["gpt4: people: total"]["mean"] == pytest.approx(400 / 7) and found["gpt4: people: total"]["n"] == 7
    assert found["glm-6b: people: inquiry"]["mean"] == 100 and found["glm-6b: judge: inquiry"]["n"] == 8
    assert {file.name for file in folder.glob("*.csv")} >= {
        "aie-figure-4-doctor.csv",
        "aie-figure-5-all-pearson.csv",
        "aie-figure-5-mixed-spearman.csv",
        "aie-figure-5-closed-tests.csv",
        "aie-figure-5b-closed-spearman.csv",
    }
    assert "Agreement with people, all pairs" in told.stdout and "gpt4: people: total" not in told.stdout
    radar = (folder / "aie-figure-6a-doctor.svg").read_text("utf-8")
    assert "the best doctor" in radar, "the radar of the win rates"
    assert (folder / "aie-figure-5b-all-spearman.svg").stat().st_size > 1000 and "DIAGNOSIS" in told.stdout
    beneath = told.stdout.partition("aie-pairwise, sound mode, 4 cases")[2].split()
    assert beneath[:2] == ["Win", "rates,"], "the heading stands above its table"
    strange = write(tmp_path / "strange.json", [*judged, chosen(77, "gpt4", "glm", "model1")])
    told = run("aie-pairwise", *three, "--people", strange, "--judge", "none", "--diagnose", "offline")
    assert "1 of people's 9 choices are about cases" in told.stdout, told.output
    lines = tmp_path / "people.jsonl"
    lines.write_text("\n".join(map(json.dumps, judged)), "utf-8")
    alone = run("aie-pairwise", *three, "--people", lines, "--judge", "none", "--json", out)
    assert alone.exit_code == 0 and set(scores(out)["metrics"]) == {
        f"{doctor}: {aspect}" for doctor in ("gpt4", "chatgpt", "glm-6b") for aspect in ASPECTS["doctor"]
    }


@pytest.mark.slow
def test_several_raters_have_their_majority_and_their_agreement_printed(three: list[Path], tmp_path: Path) -> None:
    """A rater a file, as the three students and three lay people of Figure 4."""
    winners = {"ann": "1112", "ben": "1121", "eve": "1222"}
    files = [
        write(tmp_path / f"{rater}.json", [chosen(case, "gpt4", "glm", f"model{won[case]}") for case in range(4)])
        for rater, won in winners.items()
    ]
    people = [part for file in files for part in ("--people", file)]
    told = run("aie-pairwise", *three, *people, "--judge", "none", "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader((tmp_path / "out" / "aie-figure-4-doctor.csv").open()))
    wins = {(row["judged"], row["run"]): (float(row["total_mean"]), row["duels"]) for row in rows}
    assert wins["people", "gpt4"] == (pytest.approx(700 / 12), "12") and wins["majority", "gpt4"] == (50, "4")
    agreed = list(csv.DictReader((tmp_path / "out" / "aie-raters-doctor.csv").open()))
    assert {(row["raters"], row["items"], row["alike"]) for row in agreed} == {("3", "4", "0.25")}
    assert float(agreed[0]["alpha"]) == pytest.approx(1 - (6 / 12) / (2 * 7 * 5 / (12 * 11)))
    everybody = write(tmp_path / "all.json", [one for file in files for one in json.loads(file.read_text())])
    again = run("aie-pairwise", *three, "--people", everybody, "--judge", "none")
    assert "Agreement among people" in again.stdout, "three who are not named in one file are three"
    people = []
    for file in files:
        (tmp_path / f"of_{file.stem}").mkdir()
        people += ["--people", file.replace(tmp_path / f"of_{file.stem}" / "choices.json")]
    run("aie-pairwise", *three, *people, "--judge", "none", "--out", tmp_path / "again")
    raters = csv.DictReader((tmp_path / "again" / "aie-raters-doctor.csv").open())
    assert [*raters] == agreed, "three with files of one name in folders of their own are three, too"


@pytest.mark.slow
def test_people_who_rated_on_the_page_are_read_too(three: list[Path], tmp_path: Path) -> None:
    common = {"rater": "r", "scale": "pairwise", "run": "gpt4", "against": "glm-6b", "case_id": "1", "epoch": 1}
    marks = [{**common, "question": question, "value": -1} for question in ("logic", "doctor_total", "patient_total")]
    file, out = tmp_path / "ratings.jsonl", tmp_path / "out.json"
    file.write_text("".join(json.dumps(mark) + "\n" for mark in marks), "utf-8")
    told = run("aie-pairwise", *three, "--people", file, "--judge", "none", "--json", out, "--out", tmp_path)
    assert told.exit_code == 0, told.output
    found = scores(out)["metrics"]
    assert {name for name, one in found.items() if one["n"]} == {
        f"{doctor}: {view}"
        for doctor in ("gpt4", "glm-6b")
        for view in ("doctor: logic", "doctor: total", "patient: total")
    }
    assert found["gpt4: doctor: logic"]["mean"] == 100
    rows = list(csv.DictReader((tmp_path / "aie-figure-4-doctor.csv").open()))
    assert {row["duels"] for row in rows if row["run"] == "gpt4"} == {"1"}, "one pair, however many questions"


def test_the_judge_of_the_doctors_view_sees_record_and_diagnosis_or_the_dialogues_alone(three: list[Path]) -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        return dict.fromkeys(ASPECTS["doctor"], "first")

    seen = {}
    for sees in ("record", "dialogues"):
        with FakeServer(answer=answer) as server:
            told = run("aie-pairwise", *three[:2], "--sees", sees, "--judge", f"openai:any@{server.base_url}")
            assert told.exit_code == 0, told.output
            seen[sees] = [request.text for request in server.requests]
    assert len(seen["record"]) == len(seen["dialogues"]) == 8  # four cases, both orders
    assert all("right diagnosis" in text for text in seen["record"])
    assert not any("know the record" in text or 'right diagnosis"' in text for text in seen["dialogues"])
    assert all("He smokes 0." in text for text in seen["dialogues"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--judge", "human"], "wardround rate RUN RUN --scale pairwise"),
        (["--judge", "none"], "--judge none: needs people's choices"),
        (["--closed", "gpt5"], "--closed gpt5: did you mean 'gpt4'?"),
        (["--people", "PEOPLE"], "unknown doctor claude: expected one of chatgpt, glm-6b, gpt4"),
        (["--leave-out", "77"], "--leave-out 77: no such case"),
    ],
)
def test_bad_input_of_a_tournament_is_one_clear_sentence(
    three: list[Path], tmp_path: Path, options: list[str], told: str
) -> None:
    people = write(tmp_path / "people.json", [chosen(1, "gpt4", "claude", "tie")])
    found = run("aie-pairwise", *three, *(people if option == "PEOPLE" else option for option in options))
    assert found.exit_code == 2 and told in found.stderr and "Traceback" not in found.output


def test_no_answer_is_paid_for_where_the_judge_or_peoples_file_cannot_be_used(
    three: list[Path], tmp_path: Path
) -> None:
    people = write(tmp_path / "people.json", [chosen(1, "gpt4", "claude", "tie")])
    with FakeServer() as server:
        spec = f"openai:any@{server.base_url}"
        for options in (["--judge", spec, "--people", people], ["--judge", "gpt", "--diagnose", spec]):
            assert run("aie-pairwise", *three, *options).exit_code == 2
        assert not server.requests


def test_the_offline_judge_holds_what_was_chosen_for_a_dialogue_against_the_right_diagnosis(tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"{name}.json", [aie_data("He coughs.", turn("E", f"It is {name}."), diagnosis=None)])
        for name in ("flu", "gout")
    ]
    out = tmp_path / "out.json"
    for options, mean in (([], None), (["--diagnose", "offline"], 100)):
        assert run("aie-pairwise", *files, *options, "--json", out).exit_code == 0
        assert scores(out)["metrics"]["diagnosis"]["mean"] == mean


def test_what_only_these_transcripts_have_is_a_difference_without_cases(tmp_path: Path) -> None:
    with_choices, without = (
        write(tmp_path / f"{diagnosis}.json", [{**each, "diagnosis": diagnosis} for each in ENGLISH])
        for diagnosis in (ENGLISH[0]["diagnosis"], None)
    )
    for files in ((with_choices, without), (without, with_choices)):
        result = run("aie", files[0], "--against", files[1])
        assert result.exit_code == 0, result.output


def test_one_doctor_is_no_tournament(three: list[Path]) -> None:
    assert "give two or more" in run("aie-pairwise", three[0]).stderr


@pytest.mark.parametrize(
    ("options", "right", "chosen", "paper"),
    [
        ({"a": "Asthma", "b": "Pneumonia"}, "b", "b", 100),
        ({"1": "Asthma", "2": "Pneumonia"}, 2, "2", 100),
        (["Asthma", "Pneumonia"], "B", "B", 100),
        ({"A": "Asthma", "B": "Pneumonia"}, "B.", "B", 0),
        ({"A": "Asthma", "B": "Pneumonia"}, "b", "B", 0),
    ],
)
def test_options_and_the_right_letter_are_read_however_a_file_writes_them(
    tmp_path: Path, options: Any, right: Any, chosen: str, paper: float
) -> None:
    record = {"question": "A woman coughs. What is it?", "options": options, "answer_idx": right}
    history = [{"doctor": "Hello.", "state": "O", "patient": "I cough."}, {"doctor": "Bye.", "state": "E"}]
    file = write(tmp_path / "t.json", [{"id": "1", "raw_data": record, "history": history, "diagnosis": chosen}])
    for mode, share in (("sound", 100), ("paper", paper)):
        result = run("aie", file, "--mode", mode, "--json", tmp_path / "out.json")
        assert "warning" not in result.stderr
        assert scores(tmp_path / "out.json")["metrics"]["DIAGNOSIS"]["mean"] == share


def test_different_patients_of_one_number_are_warned_of_as_they_count_as_one_case(tmp_path: Path) -> None:
    def played(record: str) -> dict[str, Any]:
        history = [{"doctor": "Hello.", "state": "O", "patient": "I cough."}, {"doctor": "Bye.", "state": "E"}]
        return {"id": "1", "raw_data": {"question": record, "answer_idx": "B"}, "history": history, "diagnosis": "B"}

    one = write(tmp_path / "one.json", [played("A woman of 45 years coughs and has a fever.")])
    same = write(tmp_path / "same.json", [played("A woman of 45 years coughs, has a fever.")])
    other = write(tmp_path / "other.json", [played("An old man fell from a ladder, his left leg is short.")])
    assert "warning" not in run("aie", one, same).stderr
    expected = (
        f"warning: {one} and {other}: different patients have the same number (1) and count as epochs of one case"
    )
    assert expected in run("aie", one, other).stderr
