"""Each offline patient before the built-in cases: the offline doctors' stock questions, and everyday wordings.

All cases have their turn, each before one of the five, with questions that are spread over all that there are.
"""

import re
from collections import Counter

import anyio
import pytest

import graphs.patients  # noqa: F401 - registers who may be named
from cases import Case, load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language
from nodes.context import Context
from nodes.offline.own_words import said_of, voice_of
from nodes.offline.subjects import idioms, subjects, wordings
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Turn
from prompts import load_words
from tests.nodes.offline.test_everyday_wordings import A_PARTICULAR_ILLNESS
from wardround.analysis.simulators import reply_to
from wardround.training.labelled import labelled_cases

FIVE = ("saps", "medpmc", "ai_hospital", "medchain", "clinichat")
LABELS = {case.id: told for case, told in labelled_cases()}
STEPS = (7, 11, 13)  # from the questions before one case to those before the next


def stock(language: Language) -> list[str]:
    told = [load_words("medchain/words", language)["doctor"], load_words("clini_eval/words", language)["physician"]]
    return [question for words in told for question in words["questions"]]


def everyday(language: Language) -> list[tuple[str, str]]:
    return [
        (words, name)
        for name, about in subjects().items()
        if about.sections and name != "opening"
        for words in (*wordings(language)[name], *idioms(language)[name])
    ]


def consulted(case: Case, patient: str, asked: list[str]) -> list[Turn]:
    async def play() -> list[Turn]:
        said = [Turn(speaker="patient", text=case.patient.chief_complaint)]
        for words in asked:
            _, reply = await reply_to(words, said, case, Context(), patient, opened=True)
            said += [Turn(speaker="doctor", text=words), reply]
        return said

    return anyio.run(play)


def test_the_five_are_the_patients_there_are() -> None:
    assert {*FIVE} == {*PATIENTS}


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_offline_patient_denies_what_is_recorded_or_says_it_twice_or_speaks_of_itself_as_another(
    language: Language,
) -> None:
    """What is unasked is a share: another fact is told for some questions (docs/simulators.md)."""
    noes = {load_words("consultation/words", language)["patient"]["nothing"]}
    noes.add(load_words("saps/words", language)["ineffective_inquiry"])
    third = {"en": r"(?:^|\. )(?:She|He|The patient)\b", "zh": "患者|患儿|家长|家属"}[language]
    planned, worded = stock(language), everyday(language)
    told_of = Counter[bool]()
    for number, case in enumerate([case for case in load_cases() if case.language == language]):
        of_subjects = [worded[number * step % len(worded)] for step in STEPS]
        asked = [planned[number % len(planned)], *(words for words, _ in of_subjects)]
        turns = consulted(case, FIVE[number % len(FIVE)], [*asked, asked[0], asked[1]])
        replies = [turn.plain or turn.text for turn in turns[2::2]]
        facts = record_sentences(case.patient, ExaminationRecord(), language)
        spoken = dict(zip(facts, (words for _, words in said_of(facts, case.patient, language)), strict=True))
        for fact, words in spoken.items():
            once = [*re.finditer(rf"(?<!\w){re.escape(words.rstrip('.。'))}(?!\w)", "\n".join(replies))]
            assert len(once) <= 1, (case.id, asked, fact)
        if voice_of(case.patient, language).itself:
            assert not any(re.search(third, reply) for reply in replies), (case.id, replies)
        for (words, name), reply in zip(of_subjects, replies[1:], strict=False):
            about = subjects()[name]
            if reply in noes and not A_PARTICULAR_ILLNESS.search(words):
                labels = LABELS.get(case.id, {})
                recorded = [f for f, tells in labels.items() if tells & {*about.tells} and f.section in about.sections]
                assert not recorded, (case.id, words, recorded)
            told = [fact for fact in facts if spoken[fact] in reply and fact.section != "chief_complaint"]
            if told:
                told_of[any(fact.section in about.sections for fact in told)] += 1
    assert told_of[True] >= 0.9 * told_of.total() > 50, told_of
