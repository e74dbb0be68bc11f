"""Words that occur nowhere else, planted in every field of a case, and the hunt for them in what others were told."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cases import AnswerKey, Case
from cases.case import Plan
from cases.vocabulary import AUXILIARY_ITEMS, IMAGE_CLASSES, PHYSICAL_ITEMS
from nodes.state.chart import Turn

# What stands behind each canary, by its first letters.
KEY, RECORD, RESULT = "key", "record", "result"
_CANARY = re.compile(rf"(?:{KEY}|{RECORD}|{RESULT})canary\d{{3}}")
_TEXTS = ("occupation", "chief_complaint", "present_illness", "past_history", "personal_history", "family_history")
_CLOSED = ("urgency", "department", "examination_items", "treatment_items", "option", "inferred")

# Who has the patient's record, or the examination record, before their eyes; nobody has the key.
KNOWS: Mapping[str, frozenset[str]] = {
    KEY: frozenset(),
    RECORD: frozenset({"patient", "patient_profile", "state_tracker", "memory_bank"}),
    RESULT: frozenset({"state_tracker", "memory_bank"}),
}
# Who also hears what was released and not yet said.
PATIENT_SIDE = frozenset({"patient", "examiner", "technician", "response_generator", "actor"})


def canaries(text: str) -> set[str]:
    """The canaries in a text."""
    return set(_CANARY.findall(text))


def planted(case: Case) -> Case:
    """The case with a canary of its own in each text of both records and in each field of the key."""
    return planted_key(_planted_records(case))


def planted_key(case: Case, closed: bool = True) -> Case:
    """The case with a canary of its own in each field of the key.

    Args:
        case: any.
        closed: in fields of a closed vocabulary too; such a case can be run, but neither saved nor remembered.
    """
    fresh = _fresh(KEY)
    update = {name: _planted_like(name, fresh) for name in AnswerKey.model_fields if closed or name not in _CLOSED}
    return case.model_copy(update={"key": case.key.model_copy(update=update)})


def told(result: Mapping[str, Any]) -> str:
    """All that the patient's side said, and all results and pictures that were released, in a final state."""
    consultations = [dict(each) for each in result.get("consultations", [])]
    met = "dialogue" in result or "consultations" in result  # else the record was laid open
    at_the_door = ("chief_complaint", "occupation") if met else _TEXTS
    said = [getattr(result["presentation"], name) for name in at_the_door]
    for state in (result, *consultations):
        said += [turn.text for turn in state.get("dialogue", [])]
        said += state.get("results", {}).values()
    said += [confirmation.reply for confirmation in result.get("confirmations", [])]
    return "\n".join(said)


def released(result: Mapping[str, Any]) -> str:
    """What was taken from the records for the patient's side to say, besides what was said."""
    dialogues: Iterable[list[Turn]] = [
        result.get("dialogue", []),
        *(each.dialogue for each in result.get("consultations", [])),
    ]
    facts = [fact for dialogue in dialogues for turn in dialogue for fact in (*turn.facts, turn.plain)]
    return "\n".join([told(result), *facts])


def leaks(shown: Iterable[tuple[str, str]], result: Mapping[str, Any], knows_results: Iterable[str] = ()) -> set[str]:
    """The canaries that somebody was shown who does not have that record and had not been told, with the role.

    Args:
        shown: role and text of each question.
        result: the final state of the case.
        knows_results: roles that have the examination record too.
    """
    heard, behind = canaries(told(result)), canaries(released(result))
    found = set()
    for role, text in shown:
        for canary in canaries(text) - (behind if role in PATIENT_SIDE else heard):
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
    """A value of the field's shape that holds canaries."""
    if name == "alternative_plans":
        return [Plan(treatment_course=next(fresh)), Plan(treatment_course=next(fresh))]
    default = AnswerKey.model_fields[name].get_default(call_default_factory=True)
    if isinstance(default, dict):
        return {item: next(fresh) for item in IMAGE_CLASSES}
    return [next(fresh), next(fresh)] if isinstance(default, list) else next(fresh)


def _fresh(kind: str) -> Iterator[str]:
    return (f"{kind}canary{number:03}" for number in itertools.count())
