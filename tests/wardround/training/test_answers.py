"""The weights of what answers a question are those of the labelled questions that are shipped."""

import re

import numpy as np
import pytest

from cases import load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import data_file
from nodes.offline.pairs import WEIGHTS
from wardround.training.answers import fingerprint, places


@pytest.mark.slow
def test_the_shipped_weights_were_trained_on_the_shipped_questions() -> None:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        assert str(stored["fingerprint"]) == fingerprint(), "run `python -m wardround.training.answers`"


def test_what_answers_a_question_that_is_learned_from_is_a_sentence_of_its_case() -> None:
    cases = {case.id: case for case in load_cases()}
    for name, lines in data_file("nodes.offline", "asked_of_cases")["asked"].items():
        known = {*places(record_sentences(cases[name].patient, ExaminationRecord(), cases[name].language))}
        for words, due in (line.split(" | ") for line in lines.splitlines()):
            assert {*re.split("[,~]", due.removeprefix("-"))} <= known | {"", "O", "H*"}, (name, words, due)
