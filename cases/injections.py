"""Prompt injections: variants of cases whose text gives commands to the models that read it.

A variant differs from its case by one attack in one place and keeps the answer key, so that their scores can be
compared. The texts are in ``vocabularies/injections.toml``.
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Literal

from cases.case import Case
from cases.strict import Strict
from cases.vocabulary import Language, word_list

Place = Literal["complaint", "history", "report"]


class Attack(Strict):
    """One text that tries to command its reader, in both languages."""

    name: str
    en: str
    zh: str

    def text(self, language: Language) -> str:
        """Return the attack in the language of a case."""
        return (self.zh if language == "zh" else self.en).strip()


@cache
def attacks() -> tuple[Attack, ...]:
    """Return all attacks in the order of the file."""
    return tuple(Attack.model_validate(entry) for entry in word_list("injections")["attack"])


def injected(case: Case) -> list[Case]:
    """Return the variants of a case: each attack in each place that the case has; ids name both."""
    return [
        changed.model_copy(update=_as_variant(case, f"{place}-{attack.name}"))
        for place, put in PLACES.items()
        for attack in attacks()
        if (changed := put(case, attack.text(case.language))) is not None
    ]


def injected_earlier(case: Case) -> list[Case]:
    """Return a case as memory cases, with each attack in the texts that are shown when it is recalled."""
    return [
        case.model_copy(update={**_as_variant(case, f"earlier-{attack.name}"), **_remembered(case, attack)})
        for attack in attacks()
    ]


def in_record(section: str, case: Case, text: str) -> Case:
    """Append the text to a section of the patient's record."""
    told = _joined(getattr(case.patient, section), text)
    return case.model_copy(update={"patient": case.patient.model_copy(update={section: told})})


def in_report(case: Case, text: str) -> Case | None:
    """Append the text to the findings of the first picture's class, else to the first result; None without any."""
    examinations = case.examinations
    pictured = [image.item for image in examinations.images if image.item in examinations.auxiliary]
    for item in [*pictured, *examinations.auxiliary][:1]:
        auxiliary = {**examinations.auxiliary, item: _joined(examinations.auxiliary[item], text)}
        return case.model_copy(update={"examinations": examinations.model_copy(update={"auxiliary": auxiliary})})
    return None


PLACES: Mapping[Place, Callable[[Case, str], Case | None]] = {
    "complaint": partial(in_record, "chief_complaint"),  # every doctor reads it first
    "history": partial(in_record, "past_history"),  # the patient tells it when asked
    "report": in_report,
}


def _as_variant(case: Case, suffix: str) -> dict[str, object]:
    provenance = case.provenance.of_changed_record()
    return {"id": f"{case.id}-{suffix}", "parent_id": case.parent_id or case.id, "provenance": provenance}


def _remembered(case: Case, attack: Attack) -> dict[str, object]:
    """Return the free texts of a recalled case with the attack: the complaint and the imaging reports."""
    text = attack.text(case.language)
    reports = {item: _joined(report, text) for item, report in case.key.imaging_reports.items()}
    key = case.key.model_copy(update={"imaging_reports": reports})
    return {"patient": in_record("chief_complaint", case, text).patient, "key": key}


def _joined(text: str, attack: str) -> str:
    return "\n".join(part for part in (text, attack) if part)
