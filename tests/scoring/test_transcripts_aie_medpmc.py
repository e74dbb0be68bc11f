from pathlib import Path

import pytest

from scoring.aie.transcripts import read_aie, read_simulator_tests
from scoring.medpmc.transcripts import read_medpmc
from tests.scoring.transcripts_of_ours import CHINESE, ENGLISH, MEDPMC_HISTORY, aie, aie_data, medpmc_data, turn, write


def test_transcripts_of_both_data_sets_are_read(tmp_path: Path) -> None:
    reading = read_aie(write(tmp_path / "a.json", ENGLISH + CHINESE))
    assert reading.problems == [] and [one.case for one in reading.records] == ["MedQA/1", "MedQA/2", "11", "12"]
    first = reading.records[0]
    assert first.options == {"A": "Pneumonia", "B": "Asthma", "C": "Gout", "D": "Sepsis"}
    assert first.history[-1].patient is None


def test_options_with_words_before_them_and_letters_within_are_read(tmp_path: Path) -> None:
    told = "Choices: (A) High lipoprotein(a) (B) Low HDL"
    (record,) = read_aie(write(tmp_path / "a.json", [aie_data("Cough.", turn("O", "Hello"), options=told)])).records
    assert record.options == {"A": "High lipoprotein(a)", "B": "Low HDL"}


def test_a_case_that_was_not_played_is_a_transcript_without_diagnosis(tmp_path: Path) -> None:
    case = aie_data("Cough.", turn("O", "Hello", "Cough"), zid="x", chief_complain="c", entities=[])
    del case["diagnosis"]
    (record,) = read_aie(write(tmp_path / "a.json", [case])).records
    assert record.diagnosis is None and record.dataset is None


@pytest.mark.parametrize(
    ("record", "question", "findings"),
    [
        ("Cough for 3.5 days. What is it?", None, "Cough for 3.5 days."),
        ("Cough. Name the drug", "Name the drug", "Cough."),
        ("Cough. He coughs.", None, "Cough. He coughs."),
        ("咳嗽三天。最可能的诊断是？", None, "咳嗽三天。"),
        ("Cough. What is it?", "Cough. What is it?", "Cough."),
        ("\n Cough. What is it?", "\n Cough. What is it?", "Cough."),
        ("What is it?", None, "What is it?"),
    ],
)
def test_the_closing_question_is_no_finding(record: str, question: str | None, findings: str) -> None:
    assert aie(record, question=question).findings == findings


def test_faulty_records_are_named_by_file_record_and_field_and_the_others_read(tmp_path: Path) -> None:
    content = [{"id": 1, "raw_data": {}, "history": [{"state": "O"}]}, 7, aie_data("Cough.", turn("O", "Hi"))]
    reading = read_aie(write(tmp_path / "a.json", content))
    assert len(reading.records) == 1 and reading.warnings == []
    named = [(problem.file, problem.record, problem.field) for problem in reading.errors]
    lacking = "raw_data.question, raw_data.answer_idx, history.0.doctor"
    assert named == [(str(tmp_path / "a.json"), "entry 1", lacking), (str(tmp_path / "a.json"), "entry 2", "")]


def test_a_file_of_another_kind_is_named_once_with_what_it_has(tmp_path: Path) -> None:
    chats = [{"id": number, "messages": [], "note": "Cough."} for number in range(5)]
    (problem,) = read_aie(write(tmp_path / "chats.json", chats)).errors
    expected = "no record has raw_data.question, raw_data.answer_idx, history; the first has 'id', 'messages', 'note'"
    assert (problem.record, problem.message) == ("", f"{expected}: chats are for `wardround score clini-eval`")
    (problem,) = read_medpmc(write(tmp_path / "other.json", [{"patient_id": 1}] * 2)).errors
    assert problem.message.endswith("the first has 'patient_id': is it of another format?")
    mixed = read_aie(write(tmp_path / "mixed.json", [*chats, aie_data("Cough.", turn("O", "Hi"))]))
    assert len(mixed.records) == 1 and len(mixed.errors) == 5, "the one record tells the format"


def test_transcripts_are_read_from_a_field_beside_others_and_by_their_ids(tmp_path: Path) -> None:
    data = aie_data("Cough.", turn("O", "Hi"))
    for number, held in enumerate(({"model": "gpt4", "results": [data]}, {"12": data})):
        reading = read_aie(write(tmp_path / f"{number}.json", held))
        assert len(reading.records) == 1 and not reading.problems


def test_odd_actions_and_answers_are_warnings(tmp_path: Path) -> None:
    dialogue = aie_data("Cough.", turn("O", "Hello"), turn("Z", "Hi"), answer_idx="Q")
    reading = read_aie(write(tmp_path / "a.json", [dialogue]))
    assert len(reading.records) == 1 and reading.errors == []
    assert [problem.field for problem in reading.warnings] == ["history.1.state", "raw_data.answer_idx"]


def test_a_dialogue_whose_actions_nobody_tracked_and_a_number_as_the_choice_are_read(tmp_path: Path) -> None:
    said = [{"doctor": "Hello.", "patient": "I cough."}, {"doctor": "Goodbye."}]
    dialogue = aie_data("Cough.", *said, options={"1": "Flu", "2": "Gout"}, answer_idx=1, diagnosis=1)
    reading = read_aie(write(tmp_path / "a.json", [dialogue]))
    assert not reading.errors and reading.records[0].untracked and reading.records[0].diagnosis == "1"
    assert "no metric of actions is scored" in reading.warnings[0].message


@pytest.mark.parametrize("content", ["", "[]", "not json", '{"id": 1}'])
def test_a_file_without_a_record_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, "utf-8")
    assert read_aie(tmp_path / "a.json").errors and read_medpmc(tmp_path / "a.json").errors
    assert read_aie(tmp_path / "nowhere.json").errors


def test_simulator_tests_are_read_and_unknown_labels_named(tmp_path: Path) -> None:
    tests = {"0": {"A-A-A": {"human_state": "A-A-A"}, "odd": {"prediction": "x"}}, "1": {}}
    file = write(tmp_path / "s.json", [{"id": 5, "raw_data": {"question": "x"}, "patient_test": tests}])
    reading = read_simulator_tests(file)
    assert len(reading.records) == 1 and [problem.field for problem in reading.warnings] == [
        "patient_test.0.odd.human_state"
    ]


def test_medpmc_transcripts_are_read_with_their_images(tmp_path: Path) -> None:
    shown = turn("B-A-A", "CT?", "‹\\image00002.jpg> and <\\image00001.jpg>")
    content = [medpmc_data(*MEDPMC_HISTORY, shown, 主诉="腹痛", state=0)]
    (case,) = read_medpmc(write(tmp_path / "m.json", content)).records
    assert case.history[-1].images == ["00002.jpg", "00001.jpg"] and case.history[2].images == ["00001.jpg"]
    assert case.history[0].told == "Upper abdominal pain." and case.history[2].told.startswith("WBC")
    assert len(case.turns_before_end) == 5


def test_a_missing_section_of_a_medpmc_case_is_named(tmp_path: Path) -> None:
    content = medpmc_data()
    del content["Text"]["Treatment"]
    (problem,) = read_medpmc(write(tmp_path / "m.json", [content])).errors
    assert (problem.record, problem.field) == ("entry 1", "Text.Treatment")


def test_a_medpmc_case_without_a_past_history_is_read(tmp_path: Path) -> None:
    content = medpmc_data()
    del content["Text"]["Past Medical History"]
    without, null = read_medpmc(
        write(tmp_path / "m.json", [content, {**content, "Text": {**content["Text"], "Past Medical History": None}}])
    ).records
    assert without.past_history == null.past_history == ""


def test_a_medpmc_consultation_whose_report_is_null_has_none(tmp_path: Path) -> None:
    content = {**medpmc_data(*MEDPMC_HISTORY), "diagnosis_self": None}
    (case,) = read_medpmc(write(tmp_path / "m.json", [content])).records
    assert case.report == "" and case.played
