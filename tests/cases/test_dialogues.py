"""Dialogues in the forms in which people keep chats."""

import json
from pathlib import Path
from typing import Any

import pytest

from cases.dialogues import read_dialogues

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
        ({"from": "function_call", "value": "{}"}, "messages.0.role: Input should be 'system', 'user' or 'assistant'"),
        (
            {"from": "human", "value": "I cough.", "weight": 0},
            "messages.0.weight: unknown field: expected one of content, role",
        ),
        ({"from": "human"}, "messages.0.content: Field required"),
        ({"from": 3, "value": "I cough."}, "messages.0.role, messages.0.content: Fields required"),
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
