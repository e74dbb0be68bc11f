"""AI Hospital's evaluations without a record: patient and results are read out of the expert's reference."""

import re
from collections.abc import Iterator, Mapping
from itertools import compress
from operator import itemgetter
from typing import Any

from cases.importers.ai_hospital_texts import entries_in, filed, names_in
from cases.importers.source import Record
from cases.text.demographics import demographics
from cases.text.named_tests import named_tests
from cases.text.prose import paragraph, prose
from cases.text.sentences import clauses, first_sentence, sentences
from cases.text.words import language_of
from cases.vocabulary import PHYSICAL_ITEMS, normalise, patterns

_PATTERNS = patterns("cases", "vocabularies/ai_hospital")
_BEFORE = ("既往病史", "既往史", "既往", "个人史", "家族史")
_COMPLAINTS = ("主诉", "症状", "主要症状", "临床症状")
_STATED = "Illness and results are those that the reference states: there was no record."
_READ_OUT = "Patient and examinations are read out of the reference's basis: there was no record."


def read_reference(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Build a case from an expert's reference alone; None, with a warning, if it states no complaint."""
    reference = dict.fromkeys(("diagnosis", "basis", "treatment", "symptom", "medical_test"), "")
    for name in reference:
        if isinstance(text := value["reference_diagnosis"].get(name), str):
            reference[name] = text
        elif text is not None:
            record.expected(f"reference_diagnosis.{name}", "text", text)
    if not record.sound:
        return None
    raw, names = reference["basis"], names_in(reference["diagnosis"])
    illness, tests = prose(reference["symptom"]), paragraph(*entries_in(reference["medical_test"]))
    chinese = language_of(raw) == "zh"
    complaint, told, physical, found = _read_basis(raw, names) if chinese else ("", [], "", "")
    if not complaint:
        complaint, told = first_sentence(illness), []
    if not complaint:
        reason = "contains no complaint, and there is no medical record"
        if raw and not chinese:
            reason = "is not Chinese, and neither a symptom nor a medical record is stated"
        record.warn("reference_diagnosis.basis", f"{reason}; the case is left out")
        return None
    stated = demographics(illness, raw)
    return {
        "language": language_of(raw, illness),
        "patient": {**vars(stated), "chief_complaint": complaint, "present_illness": illness or paragraph(*told)},
        "examinations": filed(physical, tests or found),
        "key": {"diagnosis": names, "diagnosis_basis": prose(raw), "treatment_course": prose(reference["treatment"])},
        "provenance": {"note": _STATED if illness or tests else _READ_OUT},
    }


def _read_basis(raw: str, names: list[str]) -> tuple[str, list[str], str, str]:
    """Return what a Chinese basis tells: complaint (empty if there is none), illness, signs and results."""
    collected: dict[str, list[str]] = {"told": [], "physical": [], "auxiliary": [], "opinion": []}
    complaint, openings = "", list[str]()
    for opened, sentence in _sentences(raw):
        kind, label, by_kind = opened, _PATTERNS["label"].match(sentence), dict[str, list[str]]()
        for clause in clauses(_PATTERNS["announced"].sub("", _PATTERNS["label"].sub("", sentence)).lstrip("，,；;")):
            kind = _kind(clause, names, kind)
            if not _PATTERNS["heading"].fullmatch(clause):
                by_kind.setdefault(kind, []).append(clause)
        for kind, parts in by_kind.items():
            collected[kind].append("，".join(parts))
        if "told" in by_kind:
            openings.append("既往" if label and label[1] in _BEFORE else "")
        if label and label[1] in _COMPLAINTS:
            complaint = complaint or _PATTERNS["who"].sub("", "，".join(by_kind.get("told", [])), count=1)
    told = [_PATTERNS["who"].sub("", text, count=1) for text in collected["told"]]
    is_complaint = [not _PATTERNS["no_complaint"].search(text.rstrip("。")) for text in told]
    is_past = [
        _PATTERNS["past"].fullmatch(opening + text) is not None for opening, text in zip(openings, told, strict=True)
    ]
    complaints = sorted(compress(zip(is_past, told, strict=True), is_complaint), key=itemgetter(0))
    complaint = complaint or next((text for _, text in complaints), "")
    illness = [text for text in told if text != complaint and re.search(r"\w", text)]
    return complaint, illness, paragraph(*collected["physical"]), paragraph(*collected["auxiliary"])


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a basis, each with what its line opens with: "physical", "auxiliary" or else "told"."""
    for line in text.split("\n"):
        line = _PATTERNS["number"].sub("", line)
        heading = _PATTERNS["findings"].match(line)
        opened = "told" if heading is None else "physical" if heading["physical"] else "auxiliary"
        yield from ((opened, sentence) for sentence in sentences(line))


def _kind(clause: str, diagnoses: list[str], before: str) -> str:
    """Classify a clause, given the kind of the one before; "opinion" names or weighs a diagnosis and is left out."""
    if _PATTERNS["verdict"].search(clause):
        return "opinion"
    if _PATTERNS["history"].search(clause):
        return "told"
    tests = named_tests(clause)
    by_hand = [test for test in tests if test.item in PHYSICAL_ITEMS.names]
    is_examined = any(test.spelling.endswith("检查") and not test.apart for test in by_hand)
    if is_examined or _PATTERNS["seen"].search(clause):
        return "physical"
    if len(by_hand) < len(tests) or _PATTERNS["tested"].search(clause):
        return "auxiliary"
    is_sign = _PATTERNS["sign"].search(clause) and not _PATTERNS["complained"].search(clause)
    if before in ("physical", "auxiliary"):
        return "physical" if is_sign else before
    folded = normalise(clause)
    if is_sign and not any(folded in normalise(name) for name in diagnoses):
        return "physical"
    named = any(normalise(name) in folded or folded in normalise(name) for name in diagnoses)
    return "opinion" if named or _PATTERNS["opinion"].search(clause) else "told"
