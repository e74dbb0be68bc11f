"""Dialogues in the forms in which people keep chats."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases import CaseFileError
from cases.dialogue_files import read_dialogues
from cases.note_files import read_notes

MTS = Path(__file__).resolve().parents[3] / "shared" / "datasets" / "mts_dialog" / "MTS-Dialog-TestSet-1.csv"
SAID = [{"from": "human", "value": "I cough."}, {"from": "gpt", "value": "Since when?"}]
READ = [("user", "I cough."), ("assistant", "Since when?")]


def read(file: Path, *lines: Any) -> tuple[list[Any], list[str]]:
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    dialogues, problems = read_dialogues(file)
    messages = [[(message.role, message.content) for message in dialogue.messages] for dialogue in dialogues]
    return messages, [f"{problem.field}: {problem.message}" for problem in problems]


def test_chats_of_sharegpt_are_read_with_their_system_message_first(tmp_path: Path) -> None:
    system = {"from": "system", "value": "Be kind."}
    lines = [{"conversations": SAID}, {"system": "Be kind.", "conversations": SAID}, {"conversations": [system, *SAID]}]
    assert read(tmp_path / "chats.jsonl", *lines) == ([READ, *[[("system", "Be kind."), *READ]] * 2], [])


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        (
            {"from": "function_call", "value": "{}"},
            "conversations.0.role: 'function_call' is neither the patient (user, human, patient, 患者) nor the "
            "physician (assistant, doctor, 医生); leave out calls of tools and their results",
        ),
        (
            {"from": "human", "value": "I cough.", "weight": 0},
            "messages.0.weight: unknown field: expected one of content, role",
        ),
        ({"from": "human"}, "messages.0.content: Field required"),
        ({"from": 3, "value": "I cough."}, "messages.0.role: Input should be 'system', 'user' or 'assistant'"),
        ({"from": "gpt", "value": [{"type": "image_url"}]}, "messages.0.content: Input should be a valid string"),
        ("I cough.", "messages.0: expected an object"),
    ],
)
def test_a_turn_that_nobody_spoke_is_named_and_never_guessed(turn: Any, problem: str, tmp_path: Path) -> None:
    dialogues, problems = read(tmp_path / "chats.jsonl", {"conversations": [turn, *SAID]}, {"conversations": SAID})
    assert dialogues == [READ] and problem in problems


def test_a_parquet_file_is_called_so_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "chats.parquet").write_bytes(b"PAR1\x15\x04\xff\xfe")
    _, (problem,) = read_dialogues(tmp_path / "chats.parquet")
    assert "Parquet: save it as JSON lines, for example by pandas.read_parquet(FILE).to_json" in problem.message


def test_a_key_that_occurs_twice_in_a_dialogue_is_named_as_no_reader_sees_both(tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    said = '{"role": "user", "content": "Hello.", "content": "My knee hurts."}'
    file.write_text(f'{{"id": "a", "messages": [{said}]}}\n{{"id": "b", "messages": []}}\n', "utf-8")
    dialogues, problems = read_dialogues(file)
    assert [one.id for one in dialogues] == ["b"]
    assert [str(one) for one in problems] == [
        f"{file}, line 1, content: occurs twice in one object, of which only one can be read; keys must be unique"
    ]


@pytest.mark.parametrize(("physician", "patient"), [("Assistant", "Human"), ("doctor", "patient"), ("医生", "患者")])
def test_who_speaks_may_be_called_as_elsewhere_and_in_any_case(physician: str, patient: str, tmp_path: Path) -> None:
    messages = [{"role": patient, "content": "I cough."}, {"role": physician, "content": "Since when?"}]
    assert read(tmp_path / "chats.jsonl", {"messages": messages}) == ([READ], [])


@pytest.mark.parametrize(
    ("said", "language"),
    [("I cough.", "en"), ("我咳嗽三天了。", "zh"), ("Ich huste; nachts schläft mein Mann deswegen nicht.", "en")],
)
def test_a_dialogue_without_a_language_is_in_that_of_its_words(said: str, language: str, tmp_path: Path) -> None:
    record = {"messages": [{"role": "user", "content": said}], "note": said}
    (tmp_path / "chats.jsonl").write_text(json.dumps(record), "utf-8")
    (dialogue,), problems = read_dialogues(tmp_path / "chats.jsonl")
    assert (dialogue.language, problems) == (language, [])


@pytest.mark.parametrize("said", ["せきがでます。熱はありません。", "لدي سعال منذ ثلاثة أيام.", "У меня кашель."])
def test_a_dialogue_of_another_script_has_to_name_its_language(said: str, tmp_path: Path) -> None:
    record = {"messages": [{"role": "user", "content": said}]}
    dialogues, problems = read(tmp_path / "chats.jsonl", record, record | {"language": "ja"})
    assert dialogues == [[("user", said)]]
    assert problems == [
        "language: is missing, and the text is neither English nor Chinese; give the language's tag, such as 'ja'"
    ]


CHAT = [{"role": "user", "content": "I cough."}, {"role": "assistant", "content": "Since when?"}]
PARTS = [{"role": turn["role"], "content": [{"type": "text", "text": turn["content"]}]} for turn in CHAT]
SENTENCES = [{"speaker": "患者", "sentence": "I cough.", "id": "1"}, {"speaker": "医生", "sentence": "Since when?"}]
# What the client of OpenAI writes of a message.
DUMPED = [{**turn, "refusal": None, "tool_calls": None, "annotations": [], "created": 1} for turn in CHAT]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": PARTS},
        {"messages": DUMPED, "model": "gpt-4o", "metadata": {"site": 1}, "score": 0.5},
        {"messages": [{"type": "message", **turn} for turn in CHAT]},
        {"id": None, "language": None, "diseases": None, "messages": CHAT},
        {"messages": [{**CHAT[0], "name": "Ann"}, {**CHAT[1], "name": "Dr. Wu"}]},
        {"conversation": CHAT},
        {"Messages": [CHAT[0], {"role": "assistant", "content": None, "refusal": "Since when?"}]},
        {"dialogue": SENTENCES},
        {"Dialogue": ["病人：I cough.", "医生：Since when?"]},
        {"utterances": ["patient: I cough.", "doctor: Since when?"]},
        {
            "messages": [
                {"type": "human", "content": "I cough."},
                {"type": "ai", "content": "Since when?", "tool_calls": []},
            ]
        },
        {"src": "[patient] I cough.\n[doctor] Since when?"},
        {"dialogue": "**Patient:** I\ncough. **Doctor**: Since when?".replace("**", "")},
    ],
)
def test_chats_of_other_projects_are_read_by_their_own_names(record: dict[str, Any], tmp_path: Path) -> None:
    assert read(tmp_path / "chats.jsonl", record, record) == ([READ, READ], [])


def test_who_wrote_a_chat_and_its_one_disease_are_kept(tmp_path: Path) -> None:
    line = {"ID": 3.0, "messages": CHAT, "model": "gpt-4o", "disease": "flu", "tgt": "Coughs.", "Source": "a.csv"}
    (tmp_path / "chats.jsonl").write_text(json.dumps(line), "utf-8")
    ((one,), problems) = read_dialogues(tmp_path / "chats.jsonl")
    assert (one.models, one.diseases, one.note, one.id, problems) == (["gpt-4o"], ["flu"], "Coughs.", "3.0", [])
    assert one.source == "a.csv", "whatever the case of a field"


@pytest.mark.parametrize("held", [{"version": 1, "data": [{"id": "a", "messages": CHAT}]}, {"a": {"messages": CHAT}}])
def test_dialogues_by_their_ids_or_in_a_field_beside_others_are_read(held: Any, tmp_path: Path) -> None:
    (tmp_path / "chats.json").write_text(json.dumps(held, indent=1), "utf-8")
    dialogues, problems = read_dialogues(tmp_path / "chats.json")
    assert [one.id for one in dialogues] == ["a"] and not problems


def test_tables_of_transcribed_talk_are_read_with_guests_on_their_side(tmp_path: Path) -> None:
    said = '"Doctor: Hello. \nPatient: I cough.\nGuest_family_2: He does.\nGuest_clinician: Since when?"'
    (tmp_path / "mts.csv").write_text(f"ID,section_header,section_text,dialogue\n7,GENHX,He coughs.,{said}\n", "utf-8")
    ((one,), problems) = read_dialogues(tmp_path / "mts.csv")
    turns = [(message.role, message.content) for message in one.messages]
    assert turns == [("assistant", "Hello."), ("user", "I cough. He does."), ("assistant", "Since when?")]
    assert (one.id, one.note, problems) == ("7", "History of present illness: He coughs.", [])
    (tmp_path / "aci.csv").write_text(f"encounter_id,dialogue,note\nD1,{said},He coughs.\n", "utf-8-sig")
    ((one,), problems) = read_dialogues(tmp_path / "aci.csv")
    assert (one.id, one.note, len(one.messages), problems) == ("D1", "He coughs.", 3, [])


@pytest.mark.parametrize(
    "table", ["Study A,,\nid,dialogue,note\n", "Study A\nid,dialogue,note\n", "id|dialogue|note\n"]
)
def test_a_table_with_another_first_line_than_its_headings_is_refused_once(table: str, tmp_path: Path) -> None:
    """Each row was named as lacking a note, or as too long."""
    (tmp_path / "a.csv").write_text(f"{table}1,Doctor: Hello.,He coughs.\n2,Doctor: Hello.,She coughs.\n", "utf-8")
    _, problems = read_dialogues(tmp_path / "a.csv")
    with pytest.raises(CaseFileError) as refused:
        read_notes(tmp_path / "a.csv")
    for [problem] in (problems, refused.value.problems):
        assert problem.record == "heading" and problem.message.endswith(
            f"found {table.split(',')[0].splitlines()[0]!r}"
        )


def test_a_log_of_inspect_is_called_so_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04".ljust(30, b"\xff") + b"_journal/start.json")
    _, (problem,) = read_dialogues(tmp_path / "a.eval")
    assert "a log of Inspect: write it as JSON, by inspect log convert FILE --to json" in problem.message


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"dialogue": "Nurse: Hello.\nPatient: Hi."}, "dialogue: line 1: 'Nurse' is neither the patient"),
        ({"dialogue": "Doctor: Hello.\nMother: Hi."}, "dialogue: line 2: 'Mother' is neither the patient"),
        ({"dialogue": "Hello.\nPatient: Hi."}, "dialogue: line 1: expected who speaks, as in 'Doctor: ...', found"),
        (
            {"messages": [*CHAT, {**CHAT[1], "name": "Dr. Wu"}, {**CHAT[1], "name": "Dr. Li"}]},
            "messages: several speakers have the role 'assistant' (Dr. Li, Dr. Wu); keep one of each side",
        ),
        ({"messages": [{"role": "doctor 2", "content": "Hi"}]}, "messages.0.role: 'doctor 2' is neither the patient"),
        ({"messages": CHAT, "notes": "He coughs."}, "notes: unknown field: did you mean 'note'?"),
    ],
)
def test_speakers_of_no_side_two_of_one_role_and_misspelt_fields_are_named(
    record: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    dialogues, (found,) = read(tmp_path / "chats.jsonl", record, {"messages": CHAT})
    assert dialogues == [READ] and found.startswith(problem)


@pytest.mark.skipif(not MTS.exists(), reason="needs the authors' files in shared/datasets")
def test_all_dialogues_of_mts_dialog_are_read() -> None:
    dialogues, problems = read_dialogues(MTS)
    assert len(dialogues) == 200 and problems == [] and all(one.note for one in dialogues)
    turns = [message.content for one in dialogues for message in one.messages]
    assert not [said for said in turns if "Doctor:" in said or "Patient:" in said or "Guest_" in said]
