"""AIE's cases: HospitalCases (Chinese records) and MedicalExam (questions of five examinations), as JSON lists.

The closing question, its options and the right letter go to the answer key; the right option is the diagnosis if the
question asks for one. The opening turn in the files opens the dialogue, and gives the complaint if no field names it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.case import Case
from cases.importers.choices import asked_for, closing_question, exam_key, letter, letter_of, lettered
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import read_vignette
from cases.text.prose import phrase
from cases.text.words import language_of

_SPEAKERS = ("doctor", "patient")
_JOINED = re.compile(r"([。；;])\s*，")  # two fields of the hospital's form, joined
# What an empty field of the form has left.
_NOTHING_MORE = re.compile(r"(?<![\s，,。；;])[\s，,。；;]+(?:暂无|无)[。.]?\s*\Z")


@importer("aie")
def import_aie(source: Source) -> Iterator[Case]:
    """Read the cases of either set, or of a transcript file."""
    for record, value in source.objects("an object with raw_data", lambda value: "raw_data" in value):
        if (fields := _case_fields(record, value)) and (case := record.case(fields.pop("id"), fields)):
            yield case


def _case_fields(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    raw = value.get("raw_data")
    if not isinstance(raw, Mapping):
        record.expected("raw_data", "an object with question, options and answer_idx", raw)
        return None
    text, given = raw.get("question"), phrase(raw.get("answer"))
    if not isinstance(text, str) or not text.strip():
        record.expected("raw_data.question", "the record as text", text)
    options = lettered(raw.get("options")) or {}
    if not options:
        record.expected("raw_data.options", "lettered options: an object, or '(A) ... (B) ...'", raw.get("options"))
    stated = "" if raw.get("answer_idx") is None else str(raw["answer_idx"]).strip()
    right_letter = letter(stated)
    if right_letter not in options and not right_letter.strip("0123456789"):
        right_letter = letter_of(given, options)  # no letter, or a place in the list, counted from 0 or 1
    if options and right_letter not in options:
        record.expected("raw_data.answer_idx", f"one of {', '.join(options)}", raw.get("answer_idx"))
    _check_types(record, value)
    if not record.sound:
        return None
    narrative, asked = _split_question(str(text), phrase(value.get("question")))
    narrative = _NOTHING_MORE.sub("", _JOINED.sub(r"\1\n", narrative)) or narrative
    language = language_of(narrative)
    first = (value.get("history") or [{}])[0]
    opening = {speaker: " ".join((first.get(speaker) or "").split()) for speaker in _SPEAKERS}
    vignette = read_vignette(narrative, language, phrase(value.get("chief_complain")) or opening["patient"])
    right = options[right_letter]
    if given and letter_of(given, {right_letter: right}) != right_letter:
        record.warn("raw_data.answer", f"is {given!r}, but option {right_letter} is {right!r}; the option is used")
    of_diagnosis = "dataset" not in value or asked_for(asked) == "diagnosis"
    key = exam_key(vignette.findings.items, asked, options, right_letter, [right], "diagnosis" if of_diagnosis else "")
    dataset = phrase(value.get("dataset")) or "HospitalCases"
    return {
        "id": f"{dataset}-{value.get('id', record.key or record.number)}".lower(),
        "language": language,
        "patient": vignette.patient,
        "examinations": vignette.findings.record,
        "key": {**key, "entities": [name for name in value.get("entities") or [] if name.strip()]},
        "opening": opening if all(opening.values()) else None,
        "provenance": {
            "source": f"AIE, {dataset} ({record.source.path.name})",
            "note": f"Answer: {right}.",
            "dataset": phrase(value.get("dataset")),
            "record": str(text).strip(),
        },
    }


def _check_types(record: Record, value: Mapping[str, Any]) -> None:
    """Report fields, other than the record itself, whose type differs from the sets."""
    for field in ("chief_complain", "question", "dataset"):
        if not isinstance(value.get(field) or "", str):
            record.expected(field, "text", value[field])
    names, turns = value.get("entities") or [], value.get("history") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        record.expected("entities", "a list of texts", names)
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) for turn in turns):
        record.expected("history", "a list of turns, objects with doctor, state and patient", turns)
        return
    for number, turn in enumerate(turns):
        for speaker in _SPEAKERS:
            if not isinstance(turn.get(speaker) or "", str):
                record.expected(f"history.{number}.{speaker}", "text", turn[speaker])


def _split_question(text: str, asked: str) -> tuple[str, str]:
    """Split the closing question from the record; if ``asked`` holds the record, the question is found in the record.

    White space makes no difference: records have lines, and ``asked`` is one phrase.
    """
    text = text.strip()
    asked = "" if asked == phrase(text) else asked
    if asked and (start := _start_of_end(text, asked.split())) is not None:
        rest = text[:start]
    else:
        rest, closing = closing_question(text)
        told = phrase(rest)
        asked = closing if closing and (not asked or (told and told in asked)) else asked
    return rest.strip() or text, asked


def _start_of_end(text: str, words: list[str]) -> int | None:
    """Return where the words begin with which a text ends, whatever white space is between them; None if it does not.

    The first may be the end of a longer word, as no space stands between Chinese sentences.
    """
    last = [*re.finditer(r"\S+", text)][-len(words) :]
    if len(last) < len(words) or not last[0][0].endswith(words[0]):
        return None
    return last[0].end() - len(words[0]) if [word[0] for word in last[1:]] == words[1:] else None
