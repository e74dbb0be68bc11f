"""Read dialogues from files: our own, chats as trainers and servers keep them, and tables of transcribed talk.

Who speaks may be called by other names, in any case (``_SPEAKERS``); who is neither physician nor patient is refused.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.dialogues import NO_LANGUAGE, PATIENT, PHYSICIAN, Dialogue
from cases.importers.source import Record, Source
from cases.note_files import mts_note
from cases.problems import Problem
from cases.text.words import written_in

_SPEAKERS = {
    **dict.fromkeys(("user", "human", "patient", "患者", "病人"), PATIENT),
    **dict.fromkeys(("assistant", "gpt", "ai", "doctor", "physician", "clinician", "医生", "医师"), PHYSICIAN),
    "guest_family": PATIENT,  # MTS-Dialog's other speakers, by their side
    "guest_clinician": PHYSICIAN,
    **dict.fromkeys(("system", "developer"), "system"),
}
# The fields of other projects, ours first: OpenAI, ShareGPT, IMCS-21, MedDialog, MTS-Dialog, ACI-Bench, LangChain.
_TURNS = ("messages", "conversations", "conversation", "dialogue", "dialog", "turns", "utterances", "src")
_SPEAKER = ("role", "from", "speaker", "type")
_WORDS = ("content", "value", "text", "sentence", "utterance", "refusal")
_NOTE = ("note", "tgt")
_ID = ("id", "encounter_id", "dialogue_id", "file")
# What else a turn may say that changes who spoke, what was said or what is learnt; its other fields are bookkeeping.
# A type beside a role is that of an item ("message").
_TELLING = {*_SPEAKER, *_WORDS, "weight", "tool_calls", "tool_call_id", "function_call", "audio"} - {"type"}
_MISSPELT = 0.85  # likeness from which an unknown field is one of ours
_EXPECTED = (
    "expected JSON lines with messages, each with a role (user, the patient, or assistant) and content, or with "
    "ShareGPT's conversations (from and value), or a table with dialogue and note"
)
_MARK = re.compile(r"[\s\"*_]*(?:\[([^\]]{1,30})\]\s*[:：]?|([^\W\d_][\w .]{0,24}?)\s*[:：])[\s*_]*")
_PLACE = re.compile(r"(?:line|entry|object|row) [\d.]+")
_GUEST = re.compile(r"(guest_(?:family|clinician))_?\d")  # MTS-Dialog numbers them
_WITHIN_LINE = re.compile(r"(?<=[.?!。？！…])\s*(?=(?:Doctor|Patient|医生|患者|病人)\s*[:：])")


def read_dialogues(path: str | Path) -> tuple[list[Dialogue], list[Problem]]:
    """Read dialogues from JSON lines, a list, what holds one, or a table; return the valid ones and the problems.

    A dialogue without an id is called by its place in the file. One without a language is in that of its words, and a
    problem if these are in neither English nor Chinese.
    """
    source = Source(Path(path), unique_keys=True)
    records = source.rows(_TURNS) if source.is_table else source.records(_is_dialogue)
    found = [(record, dialogue) for record in records if (dialogue := _read(record))]
    problems = [problem for problem in source.problems if problem.severity == "error"]
    faulty = {problem.record for problem in problems}
    dialogues = [dialogue for record, dialogue in found if record.name not in faulty]
    without_turns = {problem.record for problem in problems if "messages" in problem.lacking}
    if not dialogues and without_turns == {problem.record for problem in problems}:  # also of an empty file
        lacking = " (no record has messages)" if problems else ""
        problems = [Problem(str(path), "", "", f"contains no dialogues{lacking}; {_EXPECTED}")]
    return dialogues, problems


def is_place(name: str) -> bool:
    """Whether a dialogue is called by its place in its file, as it has no id."""
    return _PLACE.fullmatch(name) is not None


def _is_dialogue(value: Mapping[str, Any]) -> bool:
    return _first(value, _TURNS) is not None


def _first(value: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first of these fields that holds anything, as the record writes it, in any case."""
    as_written = {str(name).casefold(): name for name, held in value.items() if held not in (None, "")}
    return next((as_written[name] for name in names if name in as_written), None)


def _read(record: Record) -> Dialogue | None:
    """Return a record as a dialogue; None, with problems, if it is none."""
    if not isinstance(record.value, Mapping):
        record.expected("", "an object with messages", record.value)
        return None
    chat = _fields(record, record.value)
    if not record.sound:
        return None
    try:
        dialogue = Dialogue.model_validate({"id": record.key or record.name or f"object {record.number}", **chat})
    except ValidationError as error:
        record.invalid(error, Dialogue)
        return None
    if "language" in chat:
        return dialogue
    language = written_in(dialogue.note, *(message.content for message in dialogue.spoken))
    if language is None:
        record.error("language", NO_LANGUAGE)
        return None
    return dialogue.model_copy(update={"language": language})


def _fields(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a dialogue under our names; what other projects keep beside them is passed over."""
    known = Dialogue.model_fields
    chat = {key: held for name, held in value.items() if held not in (None, "") and (key := name.casefold()) in known}
    chat |= {
        name: held
        for name, held in value.items()
        if name.casefold() not in (*known, "model", "disease", *_TURNS) and get_close_matches(name, known, 1, _MISSPELT)
    }
    for ours, theirs in (("id", _ID), ("note", _NOTE)):
        if ours not in chat and (name := _first(value, theirs)):
            chat[ours] = value[name]
    if "note" not in chat and "section_text" in value and (note := mts_note(record, value)):
        chat["note"] = note.text
    if isinstance(chat.get("id"), int | float):
        chat["id"] = str(chat["id"])
    diseases = chat.get("diseases", value.get("disease"))
    if diseases is not None:
        chat["diseases"] = [diseases] if isinstance(diseases, str) else diseases
    if isinstance(model := value.get("model"), str) and "models" not in chat:
        chat["models"] = [model]
    if name := _first(value, _TURNS):
        chat["messages"] = messages = _messages(record, name, value[name])
        if isinstance(messages, list) and isinstance(system := value.get("system"), str) and system:  # of ShareGPT
            messages.insert(0, {"role": "system", "content": system})
    return chat


def _messages(record: Record, field: str, turns: Any) -> Any:
    """Return turns as messages; what is none stays as it is, and an unknown speaker is a problem, once."""
    if isinstance(turns, list) and turns and all(isinstance(turn, str) for turn in turns):
        turns = "\n".join(turns)
    if isinstance(turns, str):
        return _told(record, field, turns)
    if not isinstance(turns, list):
        return turns
    messages = [_message(turn) for turn in turns]
    _check_names(record, field, messages)
    strange: dict[str, int] = {}
    for place, said in enumerate(messages):
        if isinstance(said, dict) and isinstance(said.get("role"), str) and said["role"] not in _SPEAKERS.values():
            strange.setdefault(said["role"], place)
    for role, place in strange.items():
        record.error(f"{field}.{place}.role", _neither(role))
    return messages


def _message(turn: Any) -> Any:
    """Return a turn under our names, without empty fields and bookkeeping; what is no turn stays as it is."""
    if not isinstance(turn, Mapping):
        return turn
    speaker, words = _first(turn, _SPEAKER), next((name for name in _WORDS if turn.get(name) is not None), None)
    rest = {name: held for name, held in turn.items() if name not in (speaker, words) and held not in (None, "", [])}
    message = {name: held for name, held in rest.items() if name in _TELLING or name == "name"}
    if speaker is not None:
        role = turn[speaker]
        message["role"] = _speaker(role) or role if isinstance(role, str) else role
    if words is not None:
        message["content"] = _text(turn[words])
    elif turn.get("content", 0) is None and "tool_calls" not in message:
        message["content"] = ""
    return message


def _text(content: Any) -> Any:
    """Return the text of a message whose parts are all texts; other contents as they are."""
    if not isinstance(content, list) or not content:
        return content
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else content


def _check_names(record: Record, field: str, messages: list[Any]) -> None:
    """Report a role that several people have; one name for each role tells nothing, and is left out."""
    named: dict[Any, set[str]] = {}
    for message in messages:
        if isinstance(message, dict) and (name := message.pop("name", None)):
            named.setdefault(str(message.get("role")), set()).add(str(name))
    for role, names in named.items():
        if len(names) > 1:
            listed = ", ".join(sorted(names))
            record.error(field, f"several speakers have the role {role!r} ({listed}); keep one of each side")


def _speaker(name: str) -> str | None:
    """Return the role of a speaker; None if it is neither side."""
    name = name.strip().casefold()
    guest = _GUEST.fullmatch(name)
    return _SPEAKERS.get(guest[1] if guest else name)


def _neither(name: str) -> str:
    tools = "; leave out calls of tools and their results" if name in ("tool", "function", "function_call") else ""
    return (
        f"{name!r} is neither the patient (user, human, patient, 患者) nor the physician (assistant, doctor, 医生)"
        f"{tools}"
    )


def _told(record: Record, field: str, text: str) -> list[dict[str, str]]:
    """Return a dialogue told in lines (``Doctor: ...``, ``[doctor] ...``); a line without a speaker goes on."""
    messages: list[dict[str, str]] = []
    for number, line in enumerate(_lines(text), start=1):
        mark = _MARK.match(line)
        name = (mark[1] or mark[2]) if mark else ""
        role = _speaker(name)
        if mark and role is None:
            record.error(field, f"line {number}: {_neither(name)}")
            break
        if not messages and role is None:
            record.error(field, f"line {number}: expected who speaks, as in 'Doctor: ...', found {line[:40]!r}")
            break
        said = line[mark.end() :].strip() if mark else line.strip()
        if role is None or (messages and messages[-1]["role"] == role):
            messages[-1]["content"] = f"{messages[-1]['content']} {said}".strip()
        else:
            messages.append({"role": role, "content": said})
    return messages


def _lines(text: str) -> Iterator[str]:
    return (line for line in _WITHIN_LINE.sub("\n", text).splitlines() if any(map(str.isalnum, line)))
