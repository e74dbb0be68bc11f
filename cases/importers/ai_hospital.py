"""AI Hospital: its medical records or, without them, the references inside its released evaluations.

A record keeps its sections, also under the keys of its English translation; results in running text are filed under
the items that they name. Its departments are those of its web page ("内科病例 神经内科病例"). A released evaluation
holds an expert's diagnosis, basis and treatment: patient record and results are then extracted from the basis, sentence
by sentence, unless the evaluation states them (``symptom``, ``medical_test``), and the provenance says so. Profiles and
the doctors' answers are not imported. No closed item or report is stated, so these stages stay unscored.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from operator import itemgetter
from typing import Any

from cases.case import Case
from cases.importers.findings import Findings
from cases.importers.medchain import read_patient
from cases.importers.medchain_departments import assign_departments
from cases.importers.medchain_sections import Sections
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.text.demographics import demographics
from cases.text.lexicon import GENERAL
from cases.text.named_tests import named_tests
from cases.text.prose import paragraph, prose
from cases.text.sentences import clauses, first_sentence, sentences
from cases.text.words import has_chinese, language_of
from cases.vocabulary import DEPARTMENTS, PHYSICAL_ITEMS, normalise, patterns, word_list

_PATTERNS = patterns("cases", "vocabularies/ai_hospital")
_TRANSLATED: dict[str, str] = word_list("ai_hospital")["translated"]

_EXAMINED = {"physical": ("查体", "体格检查"), "auxiliary": ("辅助检查",)}
_CONTENTS = {"medical_record", "reference_diagnosis"}
# What the release holds of its doctors, by the field that shows it.
_OF_DOCTORS = {"dialog_history": "is a doctor's dialogue with a patient", "final_turn": "is a discussion of doctors"}
_SCORES = "`wardround score mvme FILE --reference EVALUATIONS`, or by `score icd10`"
_BEFORE = ("既往病史", "既往史", "既往", "个人史", "家族史")
_COMPLAINTS = ("主诉", "症状", "主要症状", "临床症状")
_BULLET = re.compile(r"^\s*[-•*](?:\s+|(?=[^\s\d]))")  # not a minus
_CLAUSE_END = re.compile(r"(?<=[，；;])|(?<=, )")
_STATED = "Illness and results are those that the reference states: there was no record."
_READ_OUT = "Patient and examinations are read out of the reference's basis: there was no record."
_OF_A_PAGE = re.compile(r"病例|\bcases\b", re.IGNORECASE)  # after each department of a breadcrumb


@importer("ai_hospital")
def import_ai_hospital(source: Source) -> Iterator[Case]:
    """Read records (a JSON list) or released evaluations (JSON lines); a record that is repeated is used once."""
    seen: dict[str, list[object]] = {}
    read: Callable[[Record, Mapping[str, Any]], dict[str, Any] | None]
    for record in source.records(lambda value: not _CONTENTS.isdisjoint(value)):
        value = record.value
        if isinstance(value, Mapping) and isinstance(value.get("medical_record"), Mapping):
            number, content, read = value.get("id", record.key or None), value["medical_record"], _record
        elif isinstance(value, Mapping) and isinstance(value.get("reference_diagnosis"), Mapping):
            content = {name: text for name, text in value["reference_diagnosis"].items() if name != "patient_id"}
            stated = value.get("patient_id", value["reference_diagnosis"].get("patient_id", record.key or None))
            number, read = stated, _reference
        elif isinstance(value, Mapping) and (found := next((name for name in _OF_DOCTORS if name in value), None)):
            record.error("", f"{_OF_DOCTORS[found]} and not its case: score it by {_SCORES}")
            continue
        else:
            record.expected(
                "", "a record {id, medical_record} or an evaluation {patient_id, reference_diagnosis}", value
            )
            continue
        if number is None:
            record.expected("patient_id" if read is _reference else "id", "the patient's number", number)
        elif content not in seen.setdefault(str(number), []):
            seen[str(number)].append(content)
            if data := read(record, value):
                data["provenance"] = {"source": f"AI Hospital ({source.path.name})", **data.get("provenance", {})}
                if case := record.case(f"ai-hospital-{number}", data):
                    yield case


def _record(record: Record, value: Mapping[str, Any]) -> dict[str, Any]:
    medical = {_TRANSLATED.get(key, key): content for key, content in value["medical_record"].items()}
    findings = {
        kind: paragraph(*(entry for key in keys for entry in _entries(medical.get(key))))
        for kind, keys in _EXAMINED.items()
    }
    examined = {key for keys in _EXAMINED.values() for key in keys}
    for key, text in medical.items():
        if key in examined:
            record.check_text(f"medical_record.{key}", text)
    other = {key: text for key, text in medical.items() if key not in {*examined, "诊断结果"}}
    if "诊断结果" in medical:  # the final diagnosis takes precedence
        other = {key: text for key, text in other.items() if key != "初步诊断"} | {"初步诊断": medical["诊断结果"]}
    sections = Sections(record, other)
    patient = read_patient(sections)
    return {
        "language": language_of(*(text for text in patient.values() if isinstance(text, str))),
        "patient": patient,
        "examinations": _sorted(findings["physical"], findings["auxiliary"]),
        "key": {
            **assign_departments([*sections.listed("department"), *_departments(record, value)], record, None),
            "diagnosis": _names("\n".join(sections.listed("diagnosis"))),
            "diagnosis_basis": sections.text("diagnosis_basis"),
            "treatment_course": sections.text("treatment_course"),
        },
    }


def _entries(value: object) -> list[str]:
    """Return the entries of a list in lines, each with the heading above it if it is the first below it."""
    if not isinstance(value, str):
        return [prose(value)]
    lines = [line for line in value.split("\n") if line.strip()]
    if not any(_BULLET.match(line) for line in lines):
        return [prose(value)]
    entries, heading = [], ""
    for place, line in enumerate(lines):
        text = heading + _BULLET.sub("", line).strip()
        below = lines[place + 1] if place + 1 < len(lines) else ""
        holds = _BULLET.match(below) and (text.endswith((":", "：")) or _indent(below) > _indent(line))
        heading = f"{text.rstrip(':：')}{'：' if has_chinese(text) else ': '}" if holds else ""
        entries += [] if holds else [prose(text)]
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _departments(record: Record, value: Mapping[str, Any]) -> list[str]:
    """Return the departments of a record; those of a web page that we do not have are left out, with a warning."""
    record.check_text("department", value.get("department"))
    stated = value["department"] if isinstance(value.get("department"), str) else ""
    if not _OF_A_PAGE.search(stated):
        return [stated] if stated else []
    first, *others = [name for part in _OF_A_PAGE.split(stated) if (name := part.strip())] or [""]
    if DEPARTMENTS.canonical(first):
        return [first, *others]
    record.warn("department", f"left out: {first!r} is no first-level department; expected {DEPARTMENTS.choices}")
    return []


def _reference(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Build a case from an expert's reference alone; None, with a warning, if it states no complaint."""
    reference = dict.fromkeys(("diagnosis", "basis", "treatment", "symptom", "medical_test"), "")
    for name in reference:
        if isinstance(text := value["reference_diagnosis"].get(name), str):
            reference[name] = text
        elif text is not None:
            record.expected(f"reference_diagnosis.{name}", "text", text)
    if not record.sound:
        return None
    raw, names = reference["basis"], _names(reference["diagnosis"])
    illness, tests = prose(reference["symptom"]), paragraph(*_entries(reference["medical_test"]))
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
        "patient": {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "chief_complaint": complaint,
            "present_illness": illness or paragraph(*told),
        },
        "examinations": _sorted(physical, tests or found),
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


def _sorted(physical: str, tests: str) -> dict[str, dict[str, str]]:
    """File results in running text clause by clause, each under the item of the test that it names.

    A clause that names none is filed with the one before it, and at the beginning of a sentence with the next one.
    """
    findings, last = Findings(), GENERAL
    if physical:
        findings.by_item[GENERAL] = [physical]
    for sentence in sentences(tests):
        parts = [(_tested(clause), clause) for clause in _CLAUSE_END.split(sentence)]
        last = next((item for item, _ in parts if item), last)
        by_item: dict[str, list[str]] = {}
        for item, clause in parts:
            last = item or last
            by_item.setdefault(last, []).append(clause)
        for item, told in by_item.items():
            findings.by_item.setdefault(item, []).append("".join(told).rstrip("，,；; "))
    return findings.record


def _tested(clause: str) -> str | None:
    """Return the item of the first test that a clause names, other than by hand."""
    named = named_tests(_PATTERNS["no_test"].sub("", clause))
    return next((test.item for test in named if test.apart or test.item not in PHYSICAL_ITEMS.names), None)


def _names(text: str) -> list[str]:
    """Return the diagnoses of a text, separated by lines or commas outside of brackets, without their numbers."""
    items = re.findall(r"(?:[(（](?:[^()（）\n]|[(（][^()（）\n]*[)）])*[)）]|[^\n,，;；])+", text)
    parts = [part for item in items for part in re.split(r"(?<=\S)\s+(?=\d{1,2}[.、)）．])|\s\s+", item)]
    return [name for part in parts if (name := _PATTERNS["number"].sub("", part).strip(" 。.:：\t"))]
