"""The offline rules of the doctors: decisions by the vote of similar cases and by what the findings name.

Each rule reads what a model would read (the chart and the recalled cases) and nothing else.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from cases.vocabulary import normalise
from nodes.state.chart import Chart
from nodes.state.decisions import (
    AuxiliaryOrders,
    Decision,
    Diagnosis,
    PhysicalOrders,
    Report,
    SubDepartments,
    Treatment,
    Triage,
)
from nodes.workflow.stages import Stage
from prompts import load_words
from retrieval import Neighbour

_EMERGENCY = (
    "unconscious|loss of consciousness|collapse|seizure|convuls|chest pain|short(ness)? of breath|cannot breathe|"
    "massive|vomiting blood|overdose|poison|stab|crash|fell from|traffic|sudden(ly)? severe|"
    "昏迷|意识|抽搐|胸痛|呼吸困难|大出血|呕血|中毒|车祸|坠落|外伤"
)
_URGENT = (
    "severe|acute|sudden|fever|bleed|worsen|hours?\\b|today|yesterday|剧烈|急性|突发|发热|出血|加重|小时|今天|昨天"
)
# Phrases with which a result names a disease.
_NAMED = re.compile(
    r"(?:consistent with|suggestive of|indicative of|diagnostic of|characteristic of|compatible with|typical of|"
    r"confirms?|suggest(?:s|ing)|indicat(?:es|ing)|印象[:：]|提示|考虑(?:为)?|符合|诊断为)\s*(?:an? |the )?"
    r"(?P<name>[^.;,，。；()（）\n]{3,60})",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(no|not|without|nor|rule out|excludes?)\b[^.;]{0,40}$|[无未非不]\S{0,6}$", re.IGNORECASE)


# What a clinic does when it knows nothing more.
_ROUTINE: dict[type[Decision], list[str]] = {PhysicalOrders: ["General Examination"], AuxiliaryOrders: ["Blood Test"]}


def urgency(chart: Chart) -> str:
    """Urgency by the alarm words of the complaint."""
    text = chart.patients_words.casefold()
    if re.search(_EMERGENCY, text):
        return "emergency"
    return "urgent" if re.search(_URGENT, text) else "routine"


def weights(stage: Stage, neighbours: Sequence[Neighbour], image_class: str | None = None) -> dict[str, float]:
    """How much the similar cases speak for each choice: similarities summed, as shares of the whole."""
    votes: dict[str, float] = {}
    spelling: dict[str, str] = {}
    total = sum(max(neighbour.similarity, 1e-6) for neighbour in neighbours)
    for neighbour in neighbours:
        for choice in stage.precedent(neighbour.case, image_class):
            key = spelling.setdefault(normalise(choice), choice)
            votes[key] = votes.get(key, 0.0) + max(neighbour.similarity, 1e-6) / total
    return dict(sorted(votes.items(), key=lambda item: (-round(item[1], 9), item[0])))


def majority(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What at least half of the (weighted) similar cases hold; the strongest single choice if nothing reaches that."""
    share = weights(stage, neighbours, image_class)
    chosen = [choice for choice, weight in share.items() if weight >= 0.5] or list(share)[:1]
    return decision_of(stage, chosen, chart, options)


def nearest(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What the nearest case that says anything holds."""
    for neighbour in neighbours:
        if chosen := list(stage.precedent(neighbour.case, image_class)):
            return decision_of(stage, chosen, chart, options)
    return decision_of(stage, [], chart, options)


def lenient(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], image_class: str | None
) -> Decision:
    """What at least a third of the (weighted) similar cases hold."""
    share = weights(stage, neighbours, image_class)
    if stage.decision in (Triage, Diagnosis, Report):  # one answer, or one text: no union of them
        return decision_of(stage, list(share)[:1], chart, options)
    return decision_of(stage, [choice for choice, weight in share.items() if weight >= 1 / 3 - 1e-9], chart, options)


def rule_of(seat: int) -> Callable[..., Decision]:
    """How the doctor of a seat weighs the similar cases; the first seat is 1."""
    return (nearest, majority, lenient)[(seat - 1) % 3]


def named_in_findings(chart: Chart) -> list[str]:
    """Diseases that a result or report names outright ("consistent with ..."), in order."""
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in _NAMED.finditer(text):
            if not _NEGATED.search(text[: match.start()][-50:]):
                name = match["name"].strip()
                names.setdefault(normalise(name), name)
    return list(names.values())[:2]


def decision_of(stage: Stage, chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> Decision:
    """The choices as a decision of the stage's type; without any, the answer a clinic gives when it knows nothing."""
    if options:
        chosen = [choice for choice in chosen if choice in options]
    values: dict[str, Any]
    if stage.decision is Triage:
        values = {"urgency": urgency(chart), "department": next(iter(chosen), "General Medicine")}
    elif stage.decision is SubDepartments:
        values = {"sub_departments": list(chosen) or list(options[:1]) or ["General Outpatient Clinic"]}
    elif stage.decision is Diagnosis:
        names = named_in_findings(chart) or list(chosen)
        values = {
            "names": names or [reason("undetermined", chart, chart.presentation.chief_complaint)],
            "basis": " ".join(chart.results.values())[:500],
        }
    elif stage.decision is Treatment:
        values = {"items": list(chosen) or ["Medication"], "plan": ""}
    elif stage.decision is Report:
        values = {"findings": next(iter(chosen), reason("no_description", chart)), "impression": ""}
    else:
        values = {"items": list(chosen) or _ROUTINE[stage.decision]}
    return stage.decision.model_validate(values)


def reason(name: str, chart: Chart, *what: str) -> str:
    """What somebody gives as the reason who weighs similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(each, each) for each in what)))


def agreement(decision: Decision, other: Decision) -> float:
    """Overlap of two decisions of one kind, in [0, 1]; two empty ones agree."""
    left = {normalise(choice) for choice in decision.choices()}
    right = {normalise(choice) for choice in other.choices()}
    return len(left & right) / len(left | right) if left | right else 1.0
