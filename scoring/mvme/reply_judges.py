"""AI Hospital's judges of patient and examiner replies: relevance, consistency, examination accuracy (Table 4).

In the paper, people judge; here each question is a role. The offline rules use the labels of the items (the action, the
facts that are due), which no prompt shows to a model, and compare what is stated.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, Field

from cases import Case
from cases.strict import Strict
from cases.text.fact_preservation import changes
from cases.text.record_sentences import facts_of
from cases.text.sentences import sentences
from cases.text.statements import statements
from cases.vocabulary import Language
from llm import Role
from nodes.offline.record_answers import wants_examination
from prompts import said
from scoring.aie.simulator import ASKS_BACK, DENIAL, OTHER_TOPIC, has_keyword
from scoring.aie.simulator_set import Played, SimulatorItem
from scoring.metrics.claims import entailed
from scoring.metrics.samples import Sample
from scoring.metrics.stated_share import stated_share
from scoring.metrics.text_overlap import words

_MIN_SHARE = 0.5  # share of a fact's content from which it counts as told
_SENTENCE = 5  # minimum words of a record sentence, so that it is not told by chance
# AI Hospital's patient speaks first and is in the same room; a farewell needs no reply.
_NOT_ASKED_ABOUT = ("Initialization", "Demand", "Conclusion")
_NO, _SAYS_NOTHING = "no ", {"a denial", "examination"}  # as the fact preservation rule names them
_NOTHING_FOUND = re.compile(r"\b(?:normal|cannot|unable)\b|无|正常", re.IGNORECASE)


class Relevance(Strict):
    """Whether a reply is an answer to what was said."""

    relevant: bool = Field(description="Whether the reply takes up what the doctor said and answers it.")


class Consistency(Strict):
    """Whether a reply agrees with the record."""

    consistent: bool = Field(description="Whether every fact, number and denial of the reply agrees with the record.")


class ExaminationAccuracy(Strict):
    """Whether an order was carried out as given."""

    accurate: bool = Field(description="Whether the results told are those of the examinations named, and no others.")


@dataclass(frozen=True)
class ReplyView:
    """What these judges see of a reply; each prompt declares its part, and the rules also see the labels."""

    played: Played
    dialogue: str
    question: str
    reply: str
    record: str
    results: list[str]
    examinations: list[str]  # of each result
    language: Language


def reply_view(played: Played, case: Case) -> ReplyView:
    """Return what a judge sees of a played item."""
    item = played.item
    facts = facts_of(case)
    results = [fact for fact in facts if fact.is_result]
    return ReplyView(
        played=played,
        dialogue="\n".join(said(turn.speaker, turn.text, case.language) for turn in item.dialogue),
        question=item.doctor,
        reply=played.reply,
        record="\n".join(fact.text for fact in facts),
        results=[fact.text for fact in results],
        examinations=[fact.heading(case.language) for fact in results],
        language=case.language,
    )


def is_answered(item: SimulatorItem) -> bool:
    """Whether an item is a question-answer pair of this judgement: all but first words, demands and conclusions."""
    return item.action not in _NOT_ASKED_ABOUT


def orders_examination(view: ReplyView) -> bool:
    """Whether an item is advice to be examined: a result is due, or an examination is mentioned."""
    item = view.played.item
    due = set(item.expected) & set(view.results)
    return item.action.endswith("Advice") and bool(due or (not item.expected and wants_examination(item.doctor)))


def judge_relevance_offline(view: ReplyView) -> Relevance:
    """Judge relevance by what the labelled action requires.

    If facts are due: at least half of the content of one, by meaning, polarity and side. For vague words: a question
    back. If nothing is on record, and for other topics: a denial, following the advice or a normal finding (for
    advice), or AIE's keywords for leading back (for other topics), and no record sentence of five words or more.
    """
    item, reply = view.played.item, view.reply
    if item.expected:
        return Relevance(relevant=any(_is_told(fact, reply) for fact in item.expected))
    if item.action.startswith("Ambiguous"):
        return Relevance(relevant=has_keyword(reply, ASKS_BACK))
    if any(_is_told(fact, reply) for fact in view.record.splitlines() if len(words(fact)) >= _SENTENCE):
        return Relevance(relevant=False)
    denied = has_keyword(reply, DENIAL) or (item.action == "Ineffective Advice" and bool(_NOTHING_FOUND.search(reply)))
    return Relevance(relevant=denied or (item.action == "Other Topic" and has_keyword(reply, OTHER_TOPIC)))


def judge_consistency_offline(view: ReplyView) -> Consistency:
    """Judge consistency: no number or medical term absent from record and doctor's words, and no recorded one denied.

    Numbers (with units) and terms are those of the rule that guards the actor's rewritings
    (``cases.text.fact_preservation``); questions are ignored. Denying what is not on record is consistent, and so is
    repeating the doctor's terms.
    """
    known, from_doctor = _facts(view.record, view.language), _facts(view.question, view.language)
    stating = [sentence for sentence in sentences(view.reply) if not sentence.endswith(("?", "？"))]
    facts = _facts("\n".join(stating), view.language)
    denied = {fact.removeprefix(_NO) for fact in facts if fact.startswith(_NO)}
    stated = {fact for fact in facts if not fact.startswith(_NO)} - _SAYS_NOTHING
    against = {fact for fact in denied - _SAYS_NOTHING if fact in known and f"{_NO}{fact}" not in known}
    return Consistency(consistent=stated <= known | {fact.removeprefix(_NO) for fact in from_doctor} and not against)


def judge_examination_offline(view: ReplyView) -> ExaminationAccuracy:
    """Judge accuracy: every due result is stated, and the remaining sentences state no other result."""
    due = view.played.item.expected
    rest = "\n".join(line for line in statements(view.reply) if not any(_is_told(line, fact) for fact in due))
    others = [fact for fact in view.results if fact not in due]
    return ExaminationAccuracy(accurate=all(entailed(due, view.reply)) and not any(entailed(others, rest)))


relevance_judge = Role("relevance_judge", "evaluation", "judges/relevance", Relevance, offline=judge_relevance_offline)
consistency_judge = Role(
    "consistency_judge", "evaluation", "judges/consistency", Consistency, offline=judge_consistency_offline, whole=True
)
examination_judge = Role(
    "examination_judge",
    "evaluation",
    "judges/examination_accuracy",
    ExaminationAccuracy,
    offline=judge_examination_offline,
    whole=True,
)


def shares(verdicts: Iterable[tuple[str, BaseModel]]) -> list[Sample]:
    """Return the verdicts as percentages, 0 or 100; higher is better. One value per reply, by case.

    Rel: ``100 * relevant / replies``, over question-answer pairs; a silence is not relevant. Con:
    ``100 * consistent / replies``, over non-empty replies. Acc: ``100 * accurate / orders``, over the doctor's turns
    that advise examinations, including vague ones and ones not on record, which must release nothing. Source: AI
    Hospital, section 6.1 and Table 4, judged there by people.
    """
    return [Sample(case, 100.0 * yes) for case, verdict in verdicts for _, yes in verdict]


def _is_told(fact: str, reply: str) -> bool:
    return stated_share(reply, fact) >= _MIN_SHARE


def _facts(text: str, language: Language) -> set[str]:
    return set(changes("", text, language).added)
