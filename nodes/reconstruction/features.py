"""What the learned gates compare: exchanges, statements and parts of the note, and their features.

Features are multilingual embeddings and a few counts. The gates that weigh them are in `learned`.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from math import log
from typing import NamedTuple

import numpy as np

from cases.dialogues import PATIENT, PHYSICIAN, Message
from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.numbers import known_numbers
from cases.text.sentences import sentences
from cases.text.words import stems_of, words
from cases.vocabulary import data_file, patterns
from nodes.reconstruction.alignment import ASKED
from nodes.reconstruction.parsed import ParsedDialogue, affirms, content_words, denies, denies_something
from nodes.reconstruction.vectors import Rows, embedded
from retrieval.likeness import gram_rows

TELLS, SHORTEST = 3, 3  # minimum words of an answer, and of a sentence, to be scored
TOLD_AT_ALL = 2  # minimum of informative words in a note
UNLIKE = 0.45  # similarity below which a part of the note counts as unsaid
_PATTERNS = patterns("nodes.reconstruction", "learned")
_SIGNS = ("of_oneself", "of_you", "begins_as_answer")
_QUESTION_SIGNS = ("asks_openly", "asks_when")


class NumberedExchange(NamedTuple):
    """A physician's turn with the reply, and its turn number."""

    number: int
    asked: str
    answer: str


class Claim(NamedTuple):
    """A statement: turn number, role, the question that it answers, text."""

    number: int
    role: str
    asked: str
    text: str


def exchanges(spoken: Sequence[Message]) -> list[NumberedExchange]:
    """Return the exchanges of a dialogue in which both speakers say something."""
    turns = [(number, spoken[number - 1], message) for number, message in enumerate(spoken) if number]
    return [
        NumberedExchange(number, asked.content, answer.content)
        for number, asked, answer in turns
        if (asked.role, answer.role) == (PHYSICIAN, PATIENT) and asked.content.strip() and answer.content.strip()
    ]


def asked_and_answered(spoken: Sequence[Message]) -> list[NumberedExchange]:
    """Return the exchanges that end with a question and have a reply of more than one word."""
    return [one for one in exchanges(spoken) if one.asked.rstrip().endswith("?") and len(one.answer.split()) > 1]


def claims(parsed: ParsedDialogue) -> list[Claim]:
    """Return the statements of a dialogue; none if the note has too little to support any ("Unremarkable.")."""
    if len(content_words(parsed.note, "en") - _uninformative_words()) < TOLD_AT_ALL:
        return []
    spoken = parsed.dialogue.spoken
    return [
        Claim(number, role, spoken[number - 2].content if number > 1 and role == PATIENT else "", text)
        for number, role, text in parsed.statements
        if len(text.split()) >= SHORTEST
    ]


def speaker_rows(texts: Sequence[str]) -> Rows:
    """Return features of sentences that tell who says them (n, d)."""
    signs = [
        ["?" in text, *(_PATTERNS[name].search(text) is not None for name in _SIGNS), min(len(text.split()), 30) / 30]
        for text in texts
    ]
    tokens = [re.findall(r"\w+(?:'\w+)?|[?!]", re.sub(r"\d+", "0", text.casefold())) for text in texts]
    return np.hstack([embedded(texts), 0.5 * np.array(signs, np.float32), gram_rows(tokens)])


def fit_rows(asked: Sequence[str], answers: Sequence[str]) -> Rows:
    """Return features of questions with answers that tell whether they belong together (n, d)."""
    question, answer = embedded(asked), embedded(answers)
    of_question = {one: [_PATTERNS[name].search(one) is not None for name in _QUESTION_SIGNS] for one in {*asked}}
    tells_when = {one: _PATTERNS["tells_when"].search(one) is not None for one in {*answers}}
    signs = []
    for one, other in zip(asked, answers, strict=True):
        (openly, when), time = of_question[one], tells_when[other]
        no, yes = denies(other), affirms(other)
        signs.append([no, yes, openly, when, time, log(1 + len(other.split())), "?" in one])
        signs[-1] += [no and openly, yes and openly, time and when]
    both = question * answer
    likeness = both.sum(axis=1, keepdims=True)
    return np.hstack([4 * both, abs(question - answer), answer, question, likeness, np.array(signs, np.float32)])


def strange_rows(parsed: ParsedDialogue) -> Rows:
    """Return features of exchanges that connect them with the note and with the other turns (n, 17)."""
    spoken, found = parsed.dialogue.spoken, exchanges(parsed.dialogue.spoken)
    if not found:
        return np.zeros((0, 17), np.float32)
    note = embedded(lines_of(parsed))
    whole, turns = embedded([parsed.dialogue.note[:2000]])[0], embedded([one.content or "." for one in spoken])
    pairs = embedded([f"{one.asked} {one.answer}" for one in found])
    known, terms = content_words(parsed.note, "en"), parsed.of_note.every
    turn_words = [content_words(one.content, "en") for one in spoken]
    rows = []
    for place, (pair, one) in enumerate(zip(pairs, found, strict=True)):
        here = (one.number - 1, one.number)
        beside = np.delete(np.arange(len(spoken)), here)
        others = np.delete(pairs, place, axis=0) @ pair
        own = turn_words[here[0]] | turn_words[here[1]]
        elsewhere = set[str]().union(*(turn_words[at] for at in beside))
        named = {name for text in one[1:] for name, _ in terms_in(text, "en")}
        new, old, first = min(len(named - terms), 2), min(len(named & terms), 2), one.number <= 2
        only_here = not own & known and not denies(one.answer) and len(one.answer.split()) >= TELLS and not first
        answer = turns[one.number]
        rows.append(
            [
                (note @ pair).max(),
                (note @ answer).max(),
                pair @ whole,
                max(others.max(initial=0.4), (turns[beside] @ pair).max(initial=0.4)),
                others.mean() if len(others) else 0.3,
                turns[one.number - 1] @ answer,
                min(len(own - known - elsewhere), 8),
                min(len(own & known), 3),
                min(len(own & elsewhere), 3),
                new,
                old,
                denies(one.answer),
                first,
                log(1 + len(one.answer.split())),
                only_here,
                only_here and new and not old,
                only_here and not own & elsewhere,
            ]
        )
    return np.array(rows, np.float32)


def claim_rows(parsed: ParsedDialogue, said: Sequence[Claim]) -> Rows:
    """Return features of claims: their links to the note and to other turns, and their content (n, d)."""
    spoken, known, terms = parsed.dialogue.spoken, content_words(parsed.note, "en"), parsed.of_note.every
    note, whole = embedded(lines_of(parsed)), embedded([parsed.dialogue.note[:2000]])[0]
    turns, stems = embedded([one.content for one in spoken]), [content_words(one.content, "en") for one in spoken]
    texts, asked = embedded([one.text for one in said]), [f"{one.asked[-ASKED:]} {one.text}".strip() for one in said]
    size, rows = log(1 + len(known - _uninformative_words())), []
    for one, text, pair in zip(said, texts, embedded(asked), strict=True):
        beside = [place for place in range(len(spoken)) if place + 1 not in (one.number - 1, one.number)]
        elsewhere = set[str]().union(*(stems[place] for place in beside))
        own, named = content_words(one.text, "en"), {name for name, _ in terms_in(one.text, "en")}
        near, near_pair = (note @ text).max(), (note @ pair).max()
        again = max((turns[beside] @ text).max(), (turns[beside] @ pair).max()) if beside else 0.3
        alone, patient = not own & known, one.role == PATIENT
        denied = denies(one.text) or denies_something(one.text)
        rows.append(
            [
                *(near, near_pair, text @ whole, pair @ whole, again),
                *(min(len(own & known), 4), min(len(own - known), 6)),
                *(min(len(own - known - elsewhere), 5), min(len((own - known) & elsewhere), 3)),
                len(own & known) / max(1, len(own)),
                *(min(len(named - terms), 2), min(len(named & terms), 2)),
                *(denied, patient, one.number <= 2, log(1 + len(one.text.split())), alone),
                *(patient * near, patient * near_pair, alone * near, alone * denied, denied * near),
                patient and _PATTERNS["of_oneself"].search(one.text) is not None,
                *(size, alone * size),
                *text,
                *(alone * text),
                *(patient * text),
            ]
        )
    return np.array(rows, np.float32)


def whole_rows(parsed: ParsedDialogue, parts: Sequence[str], met: Rows) -> Rows:
    """Return features of how much of the note comes up, in words and in meaning (1, 18).

    ``parts`` and ``met`` come from `parts_met`. Some features cover the first and last third of the parts.
    """
    spoken_words = content_words(parsed.text, "en")
    own = [(content_words(part, "en"), content_words(in_lay_words(part, "en"), "en")) for part in parts]
    share = np.array([max(len(each & spoken_words) / max(1, len(each)) for each in pair) for pair in own])
    size = np.array([len(each) for each, _ in own], float)
    size, unsaid, third = size / size.sum(), share == 0, max(1, len(parts) // 3)
    missed, both = unsaid & (met < UNLIKE), np.maximum(share, 2 * (met - 0.3))
    ends = both[:third].mean(), both[-third:].mean()
    numbers, length = known_numbers(parsed.dialogue.note), len(words(parsed.dialogue.note))
    told_numbers = len(numbers & known_numbers(parsed.text)) / len(numbers) if numbers else 0.7
    row = [met.mean(), met.min(), np.quantile(met, 0.2), size @ met, share.mean(), size @ share]
    row += [unsaid.mean(), size @ unsaid, missed.mean(), size @ missed]
    row += [log(1 + length), log((1 + len(words(parsed.text))) / (1 + length)), told_numbers, min(ends), *ends]
    row += [len(parts) / 20, max((len([*run]) for one, run in groupby(missed) if one), default=0) / len(parts)]
    return np.array([row], np.float32)


def parts_met(parsed: ParsedDialogue) -> tuple[list[str], Rows]:
    """Return the parts of the note's sentences, and each one's highest similarity to anything said (n,)."""
    clauses = (part for one in sentences(parsed.dialogue.note) for part in _PATTERNS["part_end"].split(one))
    parts = [part for part in clauses if content_words(part, "en")] or [parsed.dialogue.note]
    spoken = parsed.dialogue.spoken
    texts = [one.content for one in spoken] + [f"{one.asked} {one.answer}" for one in exchanges(spoken)]
    rows = embedded([*texts, *(text for one in spoken for text in sentences(one.content))]).T
    lay = [in_lay_words(part, "en") for part in parts]
    return parts, np.maximum((embedded(parts) @ rows).max(axis=1), (embedded(lay) @ rows).max(axis=1))


def _uninformative_words() -> frozenset[str]:
    return stems_of(data_file("nodes.reconstruction", "learned")["tells_nothing"])


def lines_of(parsed: ParsedDialogue) -> list[str]:
    """Return the note's sentences, followed by each one in everyday words."""
    own = sentences(parsed.dialogue.note) or ["."]
    return [*own, *(in_lay_words(text, parsed.dialogue.language) for text in own)]
