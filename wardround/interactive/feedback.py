"""A trainer's feedback at the end: missed facts and questions for them, orders, technique, diagnosis, report."""

import re
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from cases import Case
from cases.case import ExaminationRecord, PatientRecord
from cases.strict import Strict
from cases.text.named_tests import named_tests
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.text.statements import mentions
from cases.vocabulary import Language
from llm import ModelSettings, Role, side_by_side
from llm.specs import HUMAN
from nodes.offline.doctor_actions import is_vague
from nodes.offline.own_words import in_own_words, unsaid, voice_of
from nodes.offline.record_answers import facts_for, wants_examination
from nodes.state.chart import Turn, heard_by
from prompts import load_words
from scoring.clini_eval.demonstration import NothingToScoreError
from scoring.clini_eval.dialogue import dialogue_of_consultation
from scoring.clini_eval.instructor import score_clini_eval, scoring
from scoring.clini_eval.points import LEAVES, CliniEvalScores
from scoring.consultation import ConsultationScores, Orders, compare_orders, score_consultation
from scoring.medchain.judges import diagnosis_judge, judge_diagnosis
from scoring.metrics.diagnosis_grade import DiagnosisGrade
from scoring.metrics.diagnosis_names import ComparedName, compare_names, grade_names
from scoring.metrics.stated_share import stated_share
from scoring.mvme.judges import director

_TOLD_SHARE = 0.6  # share of a fact's content words that counts as told, whatever the wording
_KNOWN_SECTIONS = ("person", "chief_complaint")
_MAX_FACTS = 3  # facts of the present illness that a question may bring up and still count as specific
_ADULT_YEARS = 14.0  # from this age on, no questions about birth are suggested
_DENIAL = re.compile(r"(?:no|not|none|never|nothing|neither)\b|[没无不否未]", re.IGNORECASE)
# A question that matches no sentence gets the first ones (`relevance`); these placeholders take that place.
_PLACEHOLDERS = (RecordSentence("present_illness", "-"), RecordSentence("present_illness", "--"))

_HISTORY_METRICS = ("Medical History", "Interview Techniques")
_JUDGES: tuple[Role[Any], ...] = (diagnosis_judge, director, scoring)


class MissedFacts(Strict):
    """Facts of the record that never came up, with a question that brings them up."""

    question: str = Field(description="Empty if no standard question does.")
    facts: list[str]


class Feedback(Strict):
    """One consultation as a trainer sees it; None where key or dialogue give no basis."""

    diagnosis: DiagnosisGrade | None = Field(
        description="Grade from 1 to 5, by a judge's model, otherwise by names and synonyms."
    )
    judged: list[str] = Field(description="The judges that were models, whose analyses are worth reading.")
    names: list[ComparedName]
    facts: int = Field(description="Number of facts in the record beyond those known at the start.")
    missed: list[MissedFacts] = Field(description="Facts neither told nor asked for, by the question for them.")
    withheld: list[str] = Field(description="Facts asked for but not told.")
    orders: Orders | None
    asked_as: dict[str, list[str]] = Field(description="The doctor's own names for closed items.")
    technique: CliniEvalScores | None
    scores: ConsultationScores


async def feedback_on(case: Case, state: Mapping[str, Any], settings: ModelSettings) -> Feedback:
    """Return the feedback on a finished consultation.

    Raises:
        AskError: a judge's model could not be asked, or gave no valid answer; offline judges are rules.
    """
    language = settings.prompt_language(case.language)
    key = case.key
    diagnosis, reference = state["report"].diagnosis, key.diagnosis
    judged = [role.name for role in _JUDGES if not settings.is_by_rule(role)]
    by_model = reference and diagnosis_judge.name in judged

    async def graded() -> DiagnosisGrade | None:
        if by_model:
            return await judge_diagnosis(diagnosis, reference, settings, language)
        return grade_names(diagnosis, reference)

    async def assessed() -> CliniEvalScores | None:
        try:
            return _technique(await score_clini_eval(dialogue_of_consultation(case, state), settings))
        except NothingToScoreError:
            return None

    judging: list[Awaitable[Any]] = [graded(), score_consultation(case, state, settings), assessed()]
    grade, scores, technique = await side_by_side(judging)
    record = state.get("patient_record") or case.patient
    dialogue = state.get("dialogue", [])
    if any(spec == HUMAN and key.rpartition(".")[2] != "doctor" for key, spec in settings.models.items()):
        # Facts released to a person who plays the patient are told by that person's words alone.
        dialogue = [turn.model_copy(update={"facts": []}) if turn.speaker == "patient" else turn for turn in dialogue]
    facts, missed, withheld = _facts(record, dialogue, language)
    return Feedback(
        diagnosis=grade,
        judged=judged,
        names=compare_names(diagnosis, reference),
        facts=facts,
        missed=missed,
        withheld=withheld,
        orders=compare_orders(scores.asked_for, key.examination_items) if key.examination_items else None,
        asked_as=_asked_as(dialogue),
        technique=technique,
        scores=scores,
    )


def _asked_as(dialogue: Sequence[Turn]) -> dict[str, list[str]]:
    names: dict[str, dict[str, None]] = {}
    for turn in dialogue:
        if turn.speaker == "doctor" and wants_examination(turn.text):
            for test in named_tests(turn.text):
                if test.spellings:  # otherwise the item itself was named
                    names.setdefault(test.item, {})[test.spelling] = None
    return {item: list(spellings) for item, spellings in names.items()}


def _technique(scores: CliniEvalScores) -> CliniEvalScores:
    """Keep the points for history and technique: examinations and diagnosis have their own sections."""
    history_leaves = {key for key, leaf in LEAVES.items() if leaf.main in _HISTORY_METRICS}
    leaves = {key: points for key, points in scores.leaves.items() if key in history_leaves}
    unscored = {key: why for key, why in scores.unscored.items() if key in history_leaves}
    return scores.model_copy(update={"leaves": leaves, "unscored": unscored})


def _facts(
    record: PatientRecord, dialogue: Sequence[Turn], language: Language
) -> tuple[int, list[MissedFacts], list[str]]:
    """Return the number of facts, those that never came up, and those asked for but not told."""
    facts = [
        fact for fact in record_sentences(record, ExaminationRecord(), language) if fact.section not in _KNOWN_SECTIONS
    ]
    not_told = [fact for fact in facts if not _is_told(fact, record, dialogue, language)]
    asked_for = list(_asked_for(facts, dialogue, language)) if not_told else []
    not_told = [fact for fact in not_told if (fact, True) not in asked_for]
    missed = [fact for fact in not_told if (fact, False) not in asked_for]
    withheld = [fact.text for fact in not_told if (fact, False) in asked_for]
    return len(facts), list(_by_question(missed, facts, record, language)), withheld


def _is_told(fact: RecordSentence, record: PatientRecord, dialogue: Sequence[Turn], language: Language) -> bool:
    """Whether the doctor heard a fact: recorded as released, word for word, or most of its words and polarity."""
    heard = [turn for turn in heard_by("doctor", dialogue) if turn.speaker != "doctor"]
    if any(fact.text in turn.facts for turn in dialogue):
        return True
    spoken = [turn.model_copy(update={"speaker": "patient"}) for turn in heard]
    plain = [turn.model_copy(update={"text": turn.plain}) for turn in dialogue if turn.plain]
    if not unsaid(in_own_words([fact], voice_of(record, language)), [*spoken, *plain]):
        return True
    return stated_share("\n".join(turn.text for turn in [*spoken, *plain]), fact.text) >= _TOLD_SHARE


def _asked_for(
    facts: Sequence[RecordSentence], dialogue: Sequence[Turn], language: Language
) -> Iterator[tuple[RecordSentence, bool]]:
    """Yield what the doctor's questions were about, and whether it was denied; vague questions do not count."""
    for turn, reply in zip(dialogue, [*dialogue[1:], None], strict=True):
        if turn.speaker == "doctor" and not is_vague(turn.text, language):
            denied = reply is not None and reply.speaker != "doctor" and _DENIAL.match(reply.text.strip()) is not None
            for fact in _answers(turn.text, facts, language):
                yield fact, denied and any(mention.negated for mention in mentions(fact.text))


def _answers(question: str, facts: Sequence[RecordSentence], language: Language) -> list[RecordSentence]:
    """Return the facts that answer a question, but not those given for lack of a match."""
    return [fact for fact in facts_for(question, [*_PLACEHOLDERS, *facts], language) if fact not in _PLACEHOLDERS]


def _by_question(
    missed: Sequence[RecordSentence], facts: Sequence[RecordSentence], record: PatientRecord, language: Language
) -> Iterator[MissedFacts]:
    """Yield the missed facts, each under the first specific question for which the offline patient tells it."""
    words = load_words("consultation/seat", language)["trainer"]
    by_section = words["questions"]
    is_child = record.age_years is not None and record.age_years < _ADULT_YEARS
    extra = "of_a_child" if is_child else "of_a_woman" if record.sex == "female" else ""
    suitable = {**by_section, "personal_history": [*by_section["personal_history"], *by_section.get(extra, ())]}
    found = {
        question: _answers(question, facts, language)
        for section in dict.fromkeys(fact.section for fact in missed)
        for question in suitable[section]
        if not is_vague(question, language)  # as the offline patient would take it
    }
    questions: dict[RecordSentence, str] = {}
    for fact in missed:
        revealing = [question for question in suitable[fact.section] if fact in found.get(question, ())]
        enough = _MAX_FACTS if fact.section == "present_illness" else 1
        last = words["more"] if fact.section == "present_illness" else ""
        questions[fact] = min(revealing, key=lambda question: max(enough, len(found[question])), default=last)
    for question in dict.fromkeys(questions.values()):
        yield MissedFacts(question=question, facts=[fact.text for fact in missed if questions[fact] == question])
