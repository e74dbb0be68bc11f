"""AI Hospital: its medical records or, without them, the references inside its released evaluations.

A record keeps its sections; results in running text are filed under the items that they name. A released evaluation
holds only an expert's diagnosis, basis and treatment: patient record and results are then extracted from the basis,
sentence by sentence, and the provenance says so. Profiles and the doctors' answers are not imported. No closed item,
department or report is stated, so these stages stay unscored.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
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
from cases.text.sentences import clauses, sentences
from cases.text.words import language_of
from cases.vocabulary import PHYSICAL_ITEMS, normalise, patterns

_PATTERNS = patterns("cases", "vocabularies/ai_hospital")

_EXAMINED = {"physical": ("查体", "体格检查"), "auxiliary": ("辅助检查",)}
_CONTENTS = {"medical_record", "reference_diagnosis"}
_COMPLAINTS = ("主诉", "症状", "主要症状", "临床症状")


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
    medical = value["medical_record"]
    findings = {
        kind: paragraph(*(prose(medical[key]) for key in keys if key in medical)) for kind, keys in _EXAMINED.items()
    }
    examined = {key for keys in _EXAMINED.values() for key in keys}
    for key in examined & medical.keys():
        record.check_text(f"medical_record.{key}", medical[key])
    record.check_text("department", value.get("department"))
    department = value["department"] if isinstance(value.get("department"), str) else ""
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
            **assign_departments([*sections.listed("department"), *filter(None, [department])], record, None),
            "diagnosis": _names("\n".join(sections.listed("diagnosis"))),
            "diagnosis_basis": sections.text("diagnosis_basis"),
            "treatment_course": sections.text("treatment_course"),
        },
    }


def _reference(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Build a case from an expert's reference alone; None, with a warning, if its basis states no complaint."""
    reference = dict.fromkeys(("diagnosis", "basis", "treatment"), "")
    for name in reference:
        if isinstance(text := value["reference_diagnosis"].get(name), str):
            reference[name] = text
        elif text is not None:
            record.expected(f"reference_diagnosis.{name}", "text", text)
    if not record.sound:
        return None
    raw, names = reference["basis"], _names(reference["diagnosis"])
    collected: dict[str, list[str]] = {"told": [], "physical": [], "auxiliary": [], "opinion": []}
    complaint = ""
    for opened, sentence in _sentences(raw):
        kind, label, by_kind = opened, _PATTERNS["label"].match(sentence), dict[str, list[str]]()
        for clause in clauses(_PATTERNS["announced"].sub("", _PATTERNS["label"].sub("", sentence)).lstrip("，,；;")):
            kind = _kind(clause, names, kind)
            if not _PATTERNS["heading"].fullmatch(clause):
                by_kind.setdefault(kind, []).append(clause)
        for kind, parts in by_kind.items():
            collected[kind].append("，".join(parts))
        if label and label[1] in _COMPLAINTS:
            complaint = complaint or _PATTERNS["who"].sub("", "，".join(by_kind.get("told", [])), count=1)
    told = [_PATTERNS["who"].sub("", text, count=1) for text in collected["told"]]
    is_complaint = [not _PATTERNS["no_complaint"].search(text.rstrip("。")) for text in told]
    complaint = complaint or next(compress(told, is_complaint), "")
    illness = [text for text in told if text != complaint and re.search(r"\w", text)]
    if not complaint:
        record.warn(
            "reference_diagnosis.basis", "contains no complaint, and there is no medical record; the case is left out"
        )
        return None
    stated = demographics(raw)
    return {
        "language": language_of(raw),
        "patient": {
            "age_years": stated.age_years,
            "sex": stated.sex,
            "chief_complaint": complaint,
            "present_illness": paragraph(*illness),
        },
        "examinations": _sorted(paragraph(*collected["physical"]), paragraph(*collected["auxiliary"])),
        "key": {"diagnosis": names, "diagnosis_basis": prose(raw), "treatment_course": prose(reference["treatment"])},
        "provenance": {"note": "Patient and examinations are read out of the reference's basis: there was no record."},
    }


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
    """File results in running text: a test under the item it names, or under that of the test before it."""
    findings, last = Findings(), GENERAL
    if physical:
        findings.by_item[GENERAL] = [physical]
    for sentence in sentences(tests):
        last = next((test.item for test in named_tests(sentence) if test.item not in PHYSICAL_ITEMS.names), last)
        findings.by_item.setdefault(last, []).append(sentence)
    return findings.record


def _names(text: str) -> list[str]:
    """Return the diagnoses of a text, separated by lines or commas outside of brackets, without their numbers."""
    items = re.findall(r"(?:[(（](?:[^()（）\n]|[(（][^()（）\n]*[)）])*[)）]|[^\n,，;；])+", text)
    parts = [part for item in items for part in re.split(r"(?<=\S)\s+(?=\d{1,2}[.、)）．])|\s\s+", item)]
    return [name for part in parts if (name := _PATTERNS["number"].sub("", part).strip(" 。.:：\t"))]
