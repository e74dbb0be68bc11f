"""AIE's cases: HospitalCases (Chinese records) and MedicalExam (questions of five examinations), as JSON lists.

What is asked at the end and what can be chosen belongs to the answer key; so does the right letter. The right option is
the diagnosis where one is asked for. The opening turn that the files hold opens the dialogue as it was filled in, and
gives the complaint where no field names it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.case import Case
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.importers.vignettes import read_vignette
from cases.text.prose import phrase
from cases.text.words import language_of
from cases.vocabulary import patterns

_PATTERNS = patterns("cases", "vocabularies/patterns")
_OPTION = re.compile(r"\(([A-Z])\)\s*(.*?)\s*(?=\([A-Z]\)|\Z)", re.DOTALL)
_CLOSING = re.compile(r"(?:^|(?<=[.!?。！？\n]))[^.!?。！？\n]*[?？:：]\s*\Z")


@importer("aie")
def import_aie(source: Source) -> Iterator[Case]:
    """Read the cases of either set; of a transcript file, its cases."""
    for record, value in source.objects("an object with raw_data"):
        if (data := _data(record, value)) and (case := record.case(data.pop("id"), data)):
            yield case


def _data(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    raw = value.get("raw_data")
    if not isinstance(raw, Mapping):
        record.expected("raw_data", "an object with question, options and answer_idx", raw)
        return None
    text, letter = raw.get("question"), str(raw.get("answer_idx") or "").strip()
    if not isinstance(text, str) or not text.strip():
        record.expected("raw_data.question", "the record as text", text)
    options = _options(record, raw.get("options"))
    if options and letter not in options:
        record.error("raw_data.answer_idx", f"expected one of {', '.join(options)}, found {letter!r}")
    if not record.sound:
        return None
    told, asked = _parted(str(text), phrase(value.get("question")))
    language = language_of(told)
    turns = value.get("history") or [{}]
    first = turns[0] if isinstance(turns, list) and isinstance(turns[0], Mapping) else {}
    opening = {speaker: " ".join(str(first.get(speaker) or "").split()) for speaker in ("doctor", "patient")}
    vignette = read_vignette(told, language, phrase(value.get("chief_complain")) or opening["patient"])
    right = options.get(letter) or phrase(raw.get("answer"))
    of_diagnosis = "dataset" not in value or _PATTERNS["asks_diagnosis"].search(asked) is not None
    dataset = phrase(value.get("dataset")) or "HospitalCases"
    return {
        "id": f"{dataset}-{value.get('id', record.number)}".lower(),
        "language": language,
        "patient": vignette.patient,
        "examinations": vignette.findings.record,
        "key": {
            "examination_items": vignette.findings.items,
            "diagnosis": [right] if right and of_diagnosis else [],
            "question": asked,
            "options": options,
            "option": letter if options else "",
            "entities": [str(name) for name in value.get("entities") or [] if str(name).strip()],
            "inferred": ["examination_items"],
        },
        "opening": opening if all(opening.values()) else None,
        "provenance": {
            "source": f"AIE, {dataset} ({record.source.path.name})",
            "note": f"Answer: {right}.",
            "dataset": phrase(value.get("dataset")),
            "record": str(text).strip(),
        },
    }


def _options(record: Record, given: object) -> dict[str, str]:
    """Options by letter, from an object or from ``(A) ... (B) ...``."""
    found = dict(_OPTION.findall(given)) if isinstance(given, str) else given
    if not isinstance(found, Mapping) or not 2 <= len(found) <= 26:
        record.expected("raw_data.options", "lettered options: an object, or '(A) ... (B) ...'", given)
        return {}
    return {str(letter): phrase(text) for letter, text in found.items() if phrase(text)}


def _parted(text: str, asked: str) -> tuple[str, str]:
    """The record without the closing question, and that question; one that is the whole record is cut from it."""
    text = text.strip()
    asked = "" if asked == text else asked
    if asked and text.endswith(asked):
        told = text.removesuffix(asked)
    elif closing := _CLOSING.search(text):
        told, asked = text[: closing.start()], asked or closing.group().strip()
    else:
        told = text
    return told.strip() or text, asked
