"""The judgements of patients on the labelled items: Med-PMC's, and AI Hospital's. Each reply is played first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from cases import Case
from cases.vocabulary import Language
from llm import Role, ask
from llm.errors import AskError
from llm.role import Answer
from nodes.context import Context
from scoring.aie.simulator_set import Played, SimulatorItem
from scoring.medpmc.judges import patient_judge, persona_judge, view
from scoring.medpmc.patient_judgements import actor_judgement, as_consultations, patient_judgement, standard
from scoring.metrics.samples import Sample
from scoring.mvme.reply_judges import (
    ExaminationAccuracy,
    Relevance,
    consistency,
    consistency_judge,
    examination_accuracy,
    examination_judge,
    is_answered,
    orders_examination,
    relevance,
    relevance_judge,
    reply_view,
)
from wardround.analysis.simulator_trial import play_all

WITH, WITHOUT = "w", "w/o"
_AT_ONCE = 8  # questions before a judge at a time
_Question = tuple[Any, Language]


@dataclass(frozen=True)
class Judgements:
    """The values by metric, and what got no answer, with the reason."""

    samples: dict[str, list[Sample]]
    failures: dict[str, str]


async def judge_patient_actor(
    items: Sequence[SimulatorItem], cases: Mapping[str, Case], context: Context
) -> Judgements:
    """Med-PMC's patient with and without its tracker, its words with and without the actor (Tables 4 and 5).

    Without the tracker MedChain's patient answers, which holds the record and tracks nothing.
    """
    tracked, failures = await play_all(items, cases, context, "medpmc")
    untracked, more = await play_all(items, cases, context, "medchain")
    failures |= {f"{item} without tracker": reason for item, reason in more.items()}
    samples: dict[str, list[Sample]] = {}

    async def judged(role: Role[Answer], played: Sequence[Played], setting: str) -> dict[str, Answer]:
        questions: dict[str, _Question] = {}
        for case_id, transcript in as_consultations(played, cases).items():
            language = cases[case_id].language
            seen = view(transcript, language)
            if role.name != persona_judge.name or seen.replies:
                questions[case_id] = seen, language
        answers, unanswered = await _ask_all(role, questions, context, setting)
        failures.update({f"{case_id}, {role.name} {setting}": reason for case_id, reason in unanswered.items()})
        return answers

    plain = standard(tracked)
    for way, played in ((WITH, plain), (WITHOUT, untracked)):
        setting = f"{way} S-T"
        samples |= patient_judgement(await judged(patient_judge, played, setting), setting)
    for way, played in ((WITH, tracked), (WITHOUT, plain)):
        setting = f"{way} Actor"
        samples |= actor_judgement(await judged(persona_judge, played, setting), setting, acted=way == WITH)
    return Judgements(samples, failures)


async def judge_replies(
    items: Sequence[SimulatorItem], cases: Mapping[str, Case], context: Context, patient: str
) -> Judgements:
    """Relevance, consistency and examination accuracy of a patient's replies (AI Hospital, Table 4)."""
    played, failures = await play_all([item for item in items if is_answered(item)], cases, context, patient)
    views = {one.item.id: reply_view(one, cases[one.item.case_id]) for one in played}
    case_of = {one.item.id: one.item.case_id for one in played}
    silent = [name for name, seen in views.items() if not seen.reply.strip()]

    async def judged(role: Role[Answer], of: Sequence[str], silence: Answer | None = None) -> list[tuple[str, Answer]]:
        questions = {name: (views[name], views[name].language) for name in of if name not in silent}
        answers, unanswered = await _ask_all(role, questions, context)
        failures.update({f"{name}, {role.name}": reason for name, reason in unanswered.items()})
        given = {**answers, **({name: silence for name in of if name in silent} if silence is not None else {})}
        return [(case_of[name], given[name]) for name in of if name in given]

    orders = [name for name, seen in views.items() if orders_examination(seen)]
    return Judgements(
        {
            "Rel": relevance(await judged(relevance_judge, list(views), Relevance(relevant=False))),
            "Con": consistency(await judged(consistency_judge, list(views))),
            "Acc": examination_accuracy(await judged(examination_judge, orders, ExaminationAccuracy(accurate=False))),
        },
        failures,
    )


async def _ask_all(
    role: Role[Answer], questions: Mapping[str, _Question], context: Context, setting: str = ""
) -> tuple[dict[str, Answer], dict[str, str]]:
    """A role's answers by name, in the order of the questions; and why others are missing."""
    answers: dict[str, Answer] = {}
    failures: dict[str, str] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one(name: str, seen: Any, language: Language) -> None:
        async with limit:
            try:
                place = "/".join(filter(None, (name, setting)))
                answers[name] = await ask(role, seen, context, language=language, place=place)
            except AskError as error:
                failures[name] = f"{error.reason}: {error}"

    async with anyio.create_task_group() as group:
        for name, (seen, language) in questions.items():
            group.start_soon(one, name, seen, language)
    return {name: answers[name] for name in questions if name in answers}, failures
