"""AgentClinic: OSCE-style records and New England Journal questions, as JSON lines.

The objective for the doctor ("Assess and diagnose ...") is left out, because it often reveals the answer. Urgency,
department and treatment are not recorded, so their stages stay unscored. Findings are sorted into the closed
examination items by ``lexicon.toml``. A test without an item in the vocabulary (an ECG, a lumbar puncture, an
audiogram) is filed, under its own label, with the physical examination of the same system, which the case's provenance
says.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cases.case import Case
from cases.importers.agentclinic_nejm import nejm_fields
from cases.importers.findings import Findings
from cases.importers.registry import importer
from cases.importers.source import Record, Source
from cases.text.demographics import age_phrases, beyond_age_and_sex, demographics
from cases.text.prose import label, listed, paragraph, phrase, prose, sentence
from cases.text.sentences import first_sentence
from cases.text.words import language_of
from cases.vocabulary import patterns

_ROOT = "OSCE_Examination"
_ACTOR = f"{_ROOT}.Patient_Actor"
_FORMATS = {_ROOT, "question", "answers"}
_READ = {"Objective_for_Doctor", "Patient_Actor", "Physical_Examination_Findings", "Test_Results", "Correct_Diagnosis"}
_ACTOR_READ = {"Demographics", "History", "Symptoms", "Past_Medical_History", "Social_History", "Review_of_Systems"}
_PERSON = ("Age", "Sex", "Gender")  # beside Demographics, where somebody's own records have them

_PATTERNS = patterns("cases", "vocabularies/patterns")


@importer("agentclinic")
def import_agentclinic(source: Source) -> Iterator[Case]:
    """Read AgentClinic records of either format."""
    stem = source.path.stem.replace("_", "-")
    for record, value in source.objects(f"an object with {_ROOT}", lambda value: not _FORMATS.isdisjoint(value)):
        fields = _case_fields(record, value)
        case = record.case(f"{stem}-{record.key or f'{record.number:03d}'}", fields) if fields else None
        if case:
            yield case


def _case_fields(record: Record, value: Mapping[str, Any]) -> dict[str, Any] | None:
    if _ROOT in value:
        if isinstance(value[_ROOT], Mapping):
            return _osce_fields(record, value[_ROOT])
        record.expected(_ROOT, "an object with Patient_Actor and Correct_Diagnosis", value[_ROOT])
    elif "answers" in value or "question" in value:
        return nejm_fields(record, value)
    else:
        record.expected("", f"{_ROOT}, or question and answers", None)
    return None


def _osce_fields(record: Record, osce: Mapping[str, Any]) -> dict[str, Any] | None:
    actor = osce.get("Patient_Actor")
    if not isinstance(actor, Mapping):
        record.expected(_ACTOR, "an object with Demographics, History and Symptoms", actor)
        return None
    for where, part in ((_ROOT, osce), (_ACTOR, actor), (f"{_ACTOR}.Symptoms", actor.get("Symptoms"))):
        for name, content in part.items() if isinstance(part, Mapping) else ():
            is_read = name in _READ if part is osce else not (part is actor and name in _PERSON)
            if is_read:
                record.check_text(f"{where}.{name}", content)
    diagnosis = listed(osce.get("Correct_Diagnosis"))
    if not diagnosis or isinstance(osce["Correct_Diagnosis"], Mapping):
        record.expected(f"{_ROOT}.Correct_Diagnosis", "the diagnosis, or a list", osce.get("Correct_Diagnosis"))
    findings = Findings()
    findings.add_physical(osce.get("Physical_Examination_Findings"))
    findings.add_tests(osce.get("Test_Results"))
    for name in findings.unknown:
        record.warn("", f"{name!r} is not in the lexicon; filed under General Examination")
    for name in [*findings.ignored, *(key for key in osce if key not in _READ)]:
        record.warn("", f"{label(name)!r} is not a finding; left out")
    patient = _patient(record, actor)
    return {
        "language": language_of(patient["present_illness"], patient["chief_complaint"]),
        "patient": patient,
        "examinations": findings.record,
        "key": {"examination_items": findings.items, "diagnosis": diagnosis, "inferred": ["examination_items"]},
        "provenance": {"source": f"AgentClinic ({record.source.path.name})", "note": findings.note},
    }


def _patient(record: Record, actor: Mapping[str, Any]) -> dict[str, Any]:
    about = phrase(actor.get("Demographics"))
    history, symptoms = prose(actor.get("History")), actor.get("Symptoms")
    primary, others = _symptoms(symptoms)
    if not primary:
        primary = first_sentence(history)
        if primary:
            record.warn(f"{_ACTOR}.Symptoms", "has no Primary_Symptom; the first sentence of History is used instead")
        else:
            record.expected(f"{_ACTOR}.Symptoms", "a Primary_Symptom, or a History", symptoms)
    stated = demographics(about, *(sentence(name, actor.get(name)) for name in _PERSON), brief=True)
    social, review = prose(actor.get("Social_History")), actor.get("Review_of_Systems")
    return {
        **vars(stated),
        "occupation": _occupation(about, social),
        "chief_complaint": primary,
        "present_illness": paragraph(
            history,
            sentence("Other symptoms", others),
            # A text, unlike a structure, needs no heading.
            sentence("Review of systems", review) if isinstance(review, Mapping | list) else prose(review),
        ),
        # Medication and everything else about the patient is past history.
        "past_history": paragraph(
            prose(actor.get("Past_Medical_History")),
            *(
                sentence(label(key), value)
                for key, value in actor.items()
                if key not in {*_ACTOR_READ, *_PERSON, "Family_History"}
            ),
        ),
        "personal_history": paragraph(about if re.search(r"\w", beyond_age_and_sex(about)) else "", social),
        "family_history": prose(actor.get("Family_History")),
    }


def _symptoms(value: object) -> tuple[str, object]:
    """Return the primary symptom and the others."""
    if isinstance(value, Mapping):
        others = {key: content for key, content in value.items() if key != "Primary_Symptom"}
        secondary = others.pop("Secondary_Symptoms", None)
        return phrase(value.get("Primary_Symptom")), [secondary, others]
    if isinstance(value, list):
        return (phrase(value[0]), value[1:]) if value else ("", None)
    return phrase(value), None


def _occupation(about: str, social: str) -> str:
    """Return the occupation, from "26-year-old female nurse" or "Works as a graphic designer"."""
    sex = _PATTERNS["sex_word"].search(about)
    ages = age_phrases(about)
    rest = about[sex.end() :] if sex else about.partition(ages[0])[2] if ages else ""
    if beyond_age_and_sex(rest).strip() and not _PATTERNS["no_occupation"].search(rest.strip()):
        return rest.strip()
    match = _PATTERNS["works_as"].search(social)
    return match[1].strip() if match else ""
