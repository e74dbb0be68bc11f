"""The weights of what answers a question are those of the labelled questions that are shipped."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from cases import load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import RecordSentence, record_sentences
from cases.vocabulary import data_file
from nodes.offline.classifiers import PAIR_WEIGHTS, WEIGHTS
from nodes.offline.subjects import matters_told, subjects
from prompts import load_words
from wardround.training import answers as training
from wardround.training.answers import fingerprint
from wardround.training.asked_of_imported import asked_of_imported, imported_patients
from wardround.training.fitting import LANGUAGES
from wardround.training.labelled import Asked, places

DATASETS = Path(__file__).resolve().parents[4] / "shared" / "datasets"
HELD_OUT = Path(__file__).resolve().parents[2] / "nodes" / "offline" / "questions_before_imported.toml"


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:  # `test_meaning` shows that this is what they give: 8 s
        monkeypatch.setattr(training, "of_meaning", lambda: str(stored["fingerprint"]))
        fingerprint = training.fingerprint()
    with np.load(PAIR_WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint, "run `python -m wardround.training.answers DATASETS`"
        assert stored["matters"].tolist() == [*matters_told()]


def test_a_recorded_sentence_in_other_words_is_other_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def fingerprint_with(text: str) -> str:
        facts = (RecordSentence("past_history", text),)
        monkeypatch.setattr(training, "answers_to_learn", lambda: [Asked("Any asthma?", "a", "en", facts, (True,))])
        return fingerprint()

    for name in ("told_to_learn", "wordings_to_learn"):
        monkeypatch.setattr(training, name, list)
    monkeypatch.setattr(training, "of_meaning", str)
    assert fingerprint_with("I have asthma.") == fingerprint_with("I have asthma.") != fingerprint_with("I had asthma.")


def test_what_answers_a_question_that_is_learned_from_is_a_sentence_of_its_case() -> None:
    cases = {case.id: case for case in load_cases()}
    for name, lines in data_file("nodes.offline", "asked_of_cases")["asked"].items():
        known = {*places(record_sentences(cases[name].patient, ExaminationRecord(), cases[name].language))}
        for words, due in (line.split(" | ") for line in lines.splitlines()):
            assert {*re.split("[,~]", due.removeprefix("-"))} <= known | {"", "O", "H*"}, (name, words, due)


def test_what_offline_doctors_ask_of_the_story_is_learned_as_they_word_it() -> None:
    for language, lines in data_file("nodes.offline", "asked_of_cases")["of_doctors"].items():
        doctors = [
            load_words("medchain/words", language)["doctor"],
            load_words("clini_eval/words", language)["physician"],
        ]
        stock = {question for doctor in doctors for question in doctor["questions"]}
        for words, names in (line.split(" | ") for line in lines.splitlines()):
            assert words in stock and {*names.split(",")} <= {*subjects()}, words


def test_no_record_or_wording_that_the_patients_are_measured_with_is_learned_from() -> None:
    imported, held_out = data_file("nodes.offline", "asked_of_imported"), tomllib.loads(HELD_OUT.read_text("utf-8"))
    for language in LANGUAGES:
        measured = {record for part in ("first", "second", "third", "fourth") for record in held_out[part][language]}
        assert not measured & {*imported["records"][language]}
        wordings = {words for lines in imported["wordings"][language].values() for words in lines.splitlines()}
        lists = [part for part in held_out if part.endswith("questions")]
        asked = [held_out[part][language].splitlines() for part in lists]
        assert not wordings & {*chain(*asked)}


@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
def test_what_answers_a_topic_is_a_sentence_of_the_imported_record_and_a_topic_has_its_wordings() -> None:
    imported = data_file("nodes.offline", "asked_of_imported")
    topics = {*imported["wordings"]["en"]}
    assert {*imported["story"]} <= topics == {*imported["wordings"]["zh"]}
    assert {topic.replace("_", " ") for topic in topics} <= {*matters_told()}
    patients = imported_patients(DATASETS)
    for language in LANGUAGES:
        for name, labels in imported["records"][language].items():
            known = {*places(record_sentences(patients[name], ExaminationRecord(), language))}
            for topic, due in (each.split(":") for each in labels.split()):
                assert topic in topics, (name, topic)
                assert {*re.split("[,~]", due)} <= known | {""}, (name, topic, due)


@pytest.mark.skipif(not DATASETS.is_dir(), reason=f"no data sets at {DATASETS}")
def test_of_an_imported_record_more_is_asked_than_it_holds() -> None:
    asked = [*asked_of_imported(DATASETS)]
    answered = sum(True in each.answers for each in asked)
    assert 1500 < len(asked) < 3500 and 0.3 * len(asked) < answered < 0.7 * len(asked)
