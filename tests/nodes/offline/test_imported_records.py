"""Everyday questions before imported records: what is told of what they hold, and of what they don't hold.

docs/simulators.md tells the shares. The floors are just below them, so that a loss is seen.
"""

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest

from cases import load_cases
from cases.case import ExaminationRecord, PatientRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language
from nodes.offline.record_answers import denial, facts_for
from wardround.training.asked_of_imported import imported_patients
from wardround.training.labelled import places

DATASETS = Path(__file__).resolve().parents[4] / "shared" / "datasets"
SET = tomllib.loads(Path(__file__).with_name("questions_before_imported.toml").read_text("utf-8"))
EVERYDAY = tomllib.loads(Path(__file__).with_name("everyday_wordings.toml").read_text("utf-8"))
QUESTIONS_OF = {
    "first": "questions",
    "second": "questions",
    "third": "further_questions",
    "built_in": "further_questions",
    "fourth": "latest_questions",
}
Asked = tuple[str, str, set[str], set[str]]  # a record's id, the words, the places that answer, and that may be told


def is_kept_apart(question: str) -> bool:
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 2 == 0


def asked(part: str, language: Language) -> Iterator[Asked]:
    """Each question before each record of a part."""
    questions = SET[QUESTIONS_OF[part]][language].split("\n")[:-1]
    for record, lines in SET[part][language].items():
        labels = dict(each.split(":") for each in lines.split())
        for number, words in enumerate(questions, 1):
            if part != "first" or is_kept_apart(words):
                due, _, tolerable = labels.get(str(number), "").partition("~")
                yield record, words, {*filter(None, due.split(","))}, {*filter(None, tolerable.split(","))}


def everyday(name: str, language: Language) -> Iterator[Asked]:
    """Each everyday wording of a set before each record whose labels say what answers it; `-` is none to ask."""
    lines = [line.split(" | ") for line in EVERYDAY["asked"][name][language].splitlines()]
    for part, questions in QUESTIONS_OF.items():
        numbers = EVERYDAY["same_as"][language][questions]
        for record, labelled in SET[part][language].items():
            labels = dict(each.split(":") for each in labelled.split())
            facts = record_sentences(patients()[record], ExaminationRecord(), language)
            story = {place for place in places(facts) if place[0] in "CH"}
            for words, topics in lines:
                due, tolerable = set(story if topics in ("complaint", "story") else ()), set[str]()
                named = [] if due else topics.split(",")
                if all(topic in numbers for topic in named):  # words that ask nothing are none of them
                    for number in (number for topic in named for number in numbers[topic]):
                        answer, _, beside = labels.get(str(number), "").partition("~")
                        due |= {*filter(None, answer.split(","))}
                        tolerable |= {*filter(None, beside.split(","))}
                    yield record, words, due, tolerable


@cache
def patients() -> dict[str, PatientRecord]:
    return imported_patients(DATASETS) | {case.id: case.patient for case in load_cases()}


def outcomes(questions: Iterable[Asked], language: Language) -> Counter[str]:
    """What the patient as MedChain's does with what is recorded, and with what is not."""
    counted: Counter[str] = Counter()
    for record, words, due, tolerable in questions:
        facts = record_sentences(patients()[record], ExaminationRecord(), language)
        place = dict(zip(facts, places(facts), strict=True))
        told = {place[fact].replace("None", "X") for fact in facts_for(words, facts, language)}
        if due:
            denied = not told and denial(words, language, facts) == "nothing"
            counted["told" if told & due else "another" if told - tolerable else "denied" if denied else "silent"] += 1
        elif told - tolerable or not tolerable:
            counted["told of nothing" if told else "nothing"] += 1
    return counted


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
@pytest.mark.parametrize(
    ("part", "language", "least_told", "most_of_nothing"),
    [
        ("first", "en", 82, 15),
        ("first", "zh", 86, 8),
        ("second", "en", 86, 23),
        ("second", "zh", 75, 8),
        ("third", "en", 89, 22),
        ("third", "zh", 75, 6),
        ("fourth", "en", 75, 25),
        ("fourth", "zh", 76, 10),
        ("built_in", "en", 91, 28),
        ("built_in", "zh", 89, 26),
    ],
)
def test_of_what_imported_records_hold_most_is_told_and_of_what_they_do_not_hold_little(
    part: str, language: Language, least_told: int, most_of_nothing: int
) -> None:
    counted = outcomes(asked(part, language), language)
    recorded = sum(counted[name] for name in ("told", "another", "denied", "silent"))
    assert 100 * counted["told"] >= least_told * recorded, counted
    unrecorded = counted["told of nothing"] + counted["nothing"]
    assert 100 * counted["told of nothing"] <= most_of_nothing * unrecorded, counted
    assert counted["denied"] <= 3, counted


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
@pytest.mark.parametrize(("language", "least_told", "most_of_nothing"), [("en", 82, 20), ("zh", 78, 10)])
def test_everyday_wordings_get_what_they_ask_for_and_seldom_a_denial_of_it(
    language: Language, least_told: int, most_of_nothing: int
) -> None:
    """A third of what `python -m tests.docs.patient_tables` counts, with every wording and every record in it."""
    questions = [each for name in EVERYDAY["asked"] for each in everyday(name, language)]
    some = Random(1).sample(questions, len(questions) // 3)
    assert all({each[part] for each in some} == {each[part] for each in questions} for part in (0, 1))
    counted = outcomes(some, language)
    recorded = sum(counted[name] for name in ("told", "another", "denied", "silent"))
    assert 100 * counted["told"] >= least_told * recorded, counted
    unrecorded = counted["told of nothing"] + counted["nothing"]
    assert 100 * counted["told of nothing"] <= most_of_nothing * unrecorded, counted
    assert counted["denied"] <= 0.01 * recorded, counted
