"""What the note makes of a yes/no question: thirteen features that tell whether the answer is to be yes or no.

They hold the question against the clauses of the note that affirm something and those that deny, by meaning and by
words; `learned` weighs them. What people ask of no clause at all (a new complaint) is mostly answered with a no.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.sentences import last_sentence
from cases.text.statements import mentions, statements
from cases.text.words import stems_of
from cases.vocabulary import data_file, patterns
from nodes.reconstruction.parsed import ParsedDialogue, affirms, content_words, denies, denies_something
from nodes.reconstruction.vectors import Rows, embedded

SHARPNESS = 12.0  # of the attention to the clauses that are most like the question
OF_WORDS = 0.5  # what a question's words in a clause count beside its likeness in meaning
MOST_TERMS = 2  # terms that count
FEATURES = 13
SHORT_NO, SHORT_YES = 6, 7  # maximum words of a bare no or yes; a longer reply says more
_PATTERNS = patterns("nodes.reconstruction", "expected")
_REQUEST = re.compile(r"\b(?:can|could|would|will) you\b", re.IGNORECASE)
_ANY = re.compile(r"\b(?:any|ever)", re.IGNORECASE)


class Clause(NamedTuple):
    """A clause of the note: its content words, also in everyday words; and whether it denies."""

    stems: frozenset[str]
    denies: bool
    text: str


class Answered(NamedTuple):
    """A question with the number of the reply, whether it is a yes, and whether it says more than that."""

    number: int
    question: str
    reply: str
    yes: bool
    short: bool


def answered(parsed: ParsedDialogue) -> list[Answered]:
    """Return the questions that get a yes or a no, without requests and those that deny ("You don't smoke?")."""
    found = []
    for number, said, reply in parsed.replied:
        question, no, yes = last_sentence(said), denies(reply), affirms(reply) or _PATTERNS["says_yes"].match(reply)
        if _REQUEST.search(question) or _PATTERNS["denying"].search(question):
            continue
        if question.endswith("?") and (no or yes):
            short = len(reply.split()) <= (SHORT_NO if no else SHORT_YES)
            found.append(Answered(number, question, reply, not no, short))
    return found


def expected_rows(parsed: ParsedDialogue, asked: Sequence[str]) -> Rows:
    """Return the features of n questions (n, FEATURES): higher ones speak for a yes or for a no."""
    clauses = clauses_of(parsed.dialogue.note)
    if not asked or not clauses:
        return np.zeros((len(asked), FEATURES), np.float32)
    texts = [one.text for one in clauses]
    own, lay = embedded(texts), embedded([in_lay_words(text, "en") for text in texts])
    denying = np.array([one.denies for one in clauses])
    every, recorded, excluded = parsed.of_note
    polarities = {(one.word, one.negated) for text in statements(parsed.note) for one in mentions(text)}
    denied_words = {word for word, negated in polarities if negated and (word, False) not in polarities}
    rows = []
    for question, vector in zip(asked, embedded(asked), strict=True):
        content, words = content_of(question), {one.word for one in mentions(question)}
        terms = {name for name, _ in terms_in(question, "en")}
        likeness = np.maximum(own @ vector, lay @ vector)
        shared = np.array([len(content & one.stems) for one in clauses]) / max(1, len(content))
        attention = np.exp(SHARPNESS * (likeness + OF_WORDS * shared))
        rows.append(
            [
                *(likeness[~denying].max(initial=0), likeness[denying].max(initial=0)),
                *(shared[~denying].max(initial=0), shared[denying].max(initial=0)),
                attention @ np.where(denying, -1, 1) / attention.sum(),
                denying.mean(),
                len(words & denied_words) / max(1, len(words)),
                *(min(MOST_TERMS, len(terms & each)) for each in (recorded, excluded, terms - every)),
                _PATTERNS["confirms"].search(question) is not None,
                _ANY.search(question) is not None,
                _PATTERNS["of_another_time"].search(question) is not None,
            ]
        )
    return np.array(rows, np.float32)


@lru_cache(maxsize=8)
def clauses_of(note: str) -> list[Clause]:
    """Return the clauses of a note."""
    return [
        Clause(content_of(f"{text}. {in_lay_words(text, 'en')}"), denies_something(text), text)
        for statement in statements(note)
        for text in _PATTERNS["clause_end"].split(_PATTERNS["non"].sub(r"not \1ing", statement))
    ]


def content_of(text: str) -> frozenset[str]:
    """Return the stems of a text's content words that are the matter of a question or a clause."""
    beside = stems_of(data_file("nodes.reconstruction", "expected")["beside"])
    return frozenset(one for one in content_words(text, "en") - beside if not one.isdigit())
