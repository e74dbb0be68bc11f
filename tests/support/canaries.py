"""Unique words planted in every field of a case, and the search for them in what roles were shown."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cases import AnswerKey, Case
from cases.case import Plan
from cases.vocabulary import AUXILIARY_ITEMS, IMAGE_CLASSES, PHYSICAL_ITEMS
from nodes.state.chart import Turn

# The prefix of a canary names where it was planted.
KEY, RECORD, RESULT = "key", "record", "result"
_CANARY = re.compile(rf"(?:{KEY}|{RECORD}|{RESULT})canary\d{{3}}")
_TEXTS = ("occupation", "chief_complaint", "present_illness", "past_history", "personal_history", "family_history")
_CLOSED = ("urgency", "department", "examination_items", "treatment_items", "option", "inferred")

# Roles that are shown the patient's record, or the examination record; none is shown the key.
KNOWS: Mapping[str, frozenset[str]] = {
    KEY: frozenset(),
    RECORD: frozenset({"patient", "patient_profile", "state_tracker", "memory_bank"}),
    RESULT: frozenset({"state_tracker", "memory_bank"}),
}
# Roles that are also shown what was released but not yet said.
PATIENT_SIDE = frozenset({"patient", "examiner", "technician", "response_generator", "actor"})


def canaries(text: str) -> set[str]:
    """Return the canaries in a text."""
    return set(_CANARY.findall(text))


def planted(case: Case) -> Case:
    """Return the case with a unique canary in each text of both records and in each field of the key."""
    return planted_key(_planted_records(case))


def planted_key(case: Case, closed: bool = True) -> Case:
    """Return the case with a unique canary in each field of the key.

    Args:
        case: any case.
        closed: also plant in fields of a closed vocabulary; such a case can be run, but not saved or remembered.
    """
    fresh = _fresh(KEY)
    update = {name: _planted_like(name, fresh) for name in AnswerKey.model_fields if closed or name not in _CLOSED}
    return case.model_copy(update={"key": case.key.model_copy(update=update)})


def told(result: Mapping[str, Any]) -> str:
    """Return everything that the patient's side said, and all released results and pictures, from a final state."""
    consultations = [dict(each) for each in result.get("consultations", [])]
    has_dialogue = "dialogue" in result or "consultations" in result  # otherwise the whole record is shown
    shown_fields = ("chief_complaint", "occupation") if has_dialogue else _TEXTS
    texts = [getattr(result["presentation"], name) for name in shown_fields]
    for state in (result, *consultations):
        texts += [turn.text for turn in state.get("dialogue", [])]
        texts += state.get("results", {}).values()
    texts += [confirmation.reply for confirmation in result.get("confirmations", [])]
    return "\n".join(texts)


def released(result: Mapping[str, Any]) -> str:
    """Return what was said, plus what was released from the records for the patient's side to say."""
    dialogues: Iterable[list[Turn]] = [
        result.get("dialogue", []),
        *(each.dialogue for each in result.get("consultations", [])),
    ]
    facts = [fact for dialogue in dialogues for turn in dialogue for fact in (*turn.facts, turn.plain)]
    return "\n".join([told(result), *facts])


def leaks(shown: Iterable[tuple[str, str]], result: Mapping[str, Any], knows_results: Iterable[str] = ()) -> set[str]:
    """Return the canaries shown to a role that neither has their record nor was told, with the role.

    Args:
        shown: role and text of each question.
        result: the final state of the case.
        knows_results: further roles that have the examination record.
    """
    heard, available = canaries(told(result)), canaries(released(result))
    found = set()
    for role, text in shown:
        for canary in canaries(text) - (available if role in PATIENT_SIDE else heard):
            kind = canary.split("canary")[0]
            if role not in KNOWS[kind] and not (kind == RESULT and role in knows_results):
                found.add(f"{role}: {canary}")
    return found


def _planted_records(case: Case) -> Case:
    record, result = _fresh(RECORD), _fresh(RESULT)
    texts = {name: f"{getattr(case.patient, name)}\n{next(record)}." for name in _TEXTS}
    shown = case.examinations.results
    found = {
        item: f"{shown.get(item, 'Done.')}\n{next(result)}." for item in (*PHYSICAL_ITEMS.names, *AUXILIARY_ITEMS.names)
    }
    examinations = {
        "physical": {item: text for item, text in found.items() if item in PHYSICAL_ITEMS.names},
        "auxiliary": {item: text for item, text in found.items() if item in AUXILIARY_ITEMS.names},
    }
    return case.model_copy(
        update={
            "patient": case.patient.model_copy(update=texts),
            "examinations": case.examinations.model_copy(update=examinations),
        }
    )


def _planted_like(name: str, fresh: Iterator[str]) -> Any:
    """Return a value of the field's shape with canaries."""
    if name == "alternative_plans":
        return [Plan(treatment_course=next(fresh)), Plan(treatment_course=next(fresh))]
    default = AnswerKey.model_fields[name].get_default(call_default_factory=True)
    if isinstance(default, dict):
        return {item: next(fresh) for item in IMAGE_CLASSES}
    return [next(fresh), next(fresh)] if isinstance(default, list) else next(fresh)


def _fresh(kind: str) -> Iterator[str]:
    return (f"{kind}canary{number:03}" for number in itertools.count())
