"""What rules of words cannot tell of a freely worded dialogue, by five small linear classifiers.

Who says it, whether it answers, whether anybody but this exchange speaks of it, whether the note has anything of a
statement, and whether too much of the note is missing. They read multilingual embeddings and a few counts; the weights
were learned from real English dialogues and their spoiled copies (`python -m wardround.training.gates`), and each
refuses only what is stranger than nearly all of those. So other languages are not read, nor what is all by rules, which
is held to the note sentence by sentence (`verbatim`).
"""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib.resources import files
from itertools import groupby, pairwise
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cases.dialogues import PATIENT, PHYSICIAN, Message
from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.numbers import NUMBER_WORDS, known_numbers
from cases.text.sentences import sentences
from cases.text.words import stem, words
from cases.vocabulary import data_file, patterns
from llm.specs import OFFLINE
from nodes.reconstruction.content import (
    REASON_TOLD,
    Finding,
    Rule,
    Told,
    affirms,
    complaints,
    content_words,
    courtesies,
    denies,
    only_where,
    sides_in,
)
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.reconstruction") / "learned.npz"))
ALIKE = 0.85  # two exchanges are the same in other words
SAME_MATTER, STATED, OF_MATTER = 0.6, 4, 2  # two statements are of the same matter; statements, their words, at least
GRAMS = 4096  # places for words and pairs of words, which are not kept themselves
DOUBT = 0.3  # how much a turn must sound like the other speaker to speak for it at all
TELLS, SHORTEST = 3, 3  # words of an answer, of a sentence, that can be weighed
NO_GREETING = 8  # words of question and answer
ASKED = 200  # signs of a question that are read with the answer
LONG_NOTE = 20  # words of a note of which a half can be missed
TOLD_AT_ALL = 2  # words of a note that tells something
ILLNESS = 2.5  # how much stranger a complaint or a finding is, which people add to no note as they do the rest
UNLIKE = 0.45  # what is no nearer to anything said is not said
_PATTERNS = patterns("nodes.reconstruction", "learned")
_DENIAL = patterns("nodes.reconstruction", "content")["denial"]
_SIGNS = ("of_oneself", "of_you", "begins_as_answer")
_QUESTION_SIGNS = ("asks_openly", "asks_when")

Rows = NDArray[np.float32]
Weighed = tuple[float, str, int | None]  # how strange, what is wrong, and at which turn


class Exchange(NamedTuple):
    """A turn of the physician, the reply, and the number of the first of them."""

    number: int
    asked: str
    answer: str


class Claim(NamedTuple):
    """What somebody states: at which turn, who, in answer to what."""

    number: int
    role: str
    asked: str
    text: str


def exchanges(spoken: Sequence[Message]) -> list[Exchange]:
    """The exchanges of a dialogue in which both say something."""
    turns = [(number, spoken[number - 1], message) for number, message in enumerate(spoken) if number]
    return [
        Exchange(number, asked.content, answer.content)
        for number, asked, answer in turns
        if (asked.role, answer.role) == (PHYSICIAN, PATIENT) and asked.content.strip() and answer.content.strip()
    ]


def asked_and_answered(spoken: Sequence[Message]) -> list[Exchange]:
    """Those exchanges in which the physician ends with a question, and the reply is more than a word."""
    return [one for one in exchanges(spoken) if one.asked.rstrip().endswith("?") and len(one.answer.split()) > 1]


def claims(told: Told) -> list[Claim]:
    """What is stated in a dialogue; none if the note tells nothing that it could be founded on ("Unremarkable.")."""
    if len(content_words(told.note, "en") - _tells_nothing()) < TOLD_AT_ALL:
        return []
    spoken = told.dialogue.spoken
    return [
        Claim(number, role, spoken[number - 2].content if number > 1 and role == PATIENT else "", text)
        for number, role, text in told.statements
        if len(text.split()) >= SHORTEST
    ]


def speaker_rows(texts: Sequence[str]) -> Rows:
    """Of each sentence what tells who says it (n, d)."""
    signs = [
        ["?" in text, *(_PATTERNS[name].search(text) is not None for name in _SIGNS), min(len(text.split()), 30) / 30]
        for text in texts
    ]
    grams = np.zeros((len(texts), GRAMS), np.float32)
    for row, text in zip(grams, texts, strict=True):
        said = re.findall(r"\w+(?:'\w+)?|[?!]", re.sub(r"\d+", "0", text.casefold()))
        for gram in (*said, *map(" ".join, pairwise(said))):
            row[zlib.crc32(gram.encode()) % GRAMS] = 1
    grams /= np.linalg.norm(grams, axis=1, keepdims=True).clip(1)
    return np.hstack([_embedded(texts), 0.5 * np.array(signs, np.float32), grams])


def fit_rows(asked: Sequence[str], answers: Sequence[str]) -> Rows:
    """Of each question with an answer what tells whether they belong together (n, d)."""
    question, answer = _embedded(asked), _embedded(answers)
    signs = []
    for one, other in zip(asked, answers, strict=True):
        openly, when = (_PATTERNS[name].search(one) is not None for name in _QUESTION_SIGNS)
        no, yes, time = denies(other), affirms(other), _PATTERNS["tells_when"].search(other) is not None
        signs.append([no, yes, openly, when, time, log(1 + len(other.split())), "?" in one])
        signs[-1] += [no and openly, yes and openly, time and when]
    both = question * answer
    likeness = both.sum(axis=1, keepdims=True)
    return np.hstack([4 * both, abs(question - answer), answer, question, likeness, np.array(signs, np.float32)])


def strange_rows(told: Told) -> Rows:
    """Of each exchange what connects it with the note and with the rest of the dialogue (n, 17)."""
    spoken, found = told.dialogue.spoken, exchanges(told.dialogue.spoken)
    if not found:
        return np.zeros((0, 17), np.float32)
    note = _embedded(_lines(told))
    whole, turns = _embedded([told.dialogue.note[:2000]])[0], _embedded([one.content or "." for one in spoken])
    pairs = _embedded([f"{one.asked} {one.answer}" for one in found])
    known, terms = content_words(told.note, "en"), told.of_note[0]
    said = [content_words(one.content, "en") for one in spoken]
    rows = []
    for place, (pair, one) in enumerate(zip(pairs, found, strict=True)):
        here = (one.number - 1, one.number)
        beside = np.delete(np.arange(len(spoken)), here)
        others = np.delete(pairs, place, axis=0) @ pair
        own = said[here[0]] | said[here[1]]
        elsewhere = set[str]().union(*(said[at] for at in beside))
        named = {name for text in one[1:] for name, _ in terms_in(text, "en")}
        new, old, first = min(len(named - terms), 2), min(len(named & terms), 2), one.number <= 2
        told_alone = not own & known and not denies(one.answer) and len(one.answer.split()) >= TELLS and not first
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
                told_alone,
                told_alone and new and not old,
                told_alone and not own & elsewhere,
            ]
        )
    return np.array(rows, np.float32)


def claim_rows(told: Told, said: Sequence[Claim]) -> Rows:
    """Of each claim what connects it with the note and with the turns beside its own, and what it says (n, d)."""
    spoken, known, terms = told.dialogue.spoken, content_words(told.note, "en"), told.of_note[0]
    note, whole = _embedded(_lines(told)), _embedded([told.dialogue.note[:2000]])[0]
    turns, heard = _embedded([one.content for one in spoken]), [content_words(one.content, "en") for one in spoken]
    texts, asked = _embedded([one.text for one in said]), [f"{one.asked[-ASKED:]} {one.text}".strip() for one in said]
    size, rows = log(1 + len(known - _tells_nothing())), []
    for one, text, pair in zip(said, texts, _embedded(asked), strict=True):
        beside = [place for place in range(len(spoken)) if place + 1 not in (one.number - 1, one.number)]
        elsewhere = set[str]().union(*(heard[place] for place in beside))
        own, named = content_words(one.text, "en"), {name for name, _ in terms_in(one.text, "en")}
        near, near_pair = (note @ text).max(), (note @ pair).max()
        again = max((turns[beside] @ text).max(), (turns[beside] @ pair).max()) if beside else 0.3
        alone, patient = not own & known, one.role == PATIENT
        denied = denies(one.text) or _DENIAL.search(one.text) is not None
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


def whole_rows(told: Told, parts: Sequence[str], met: Rows) -> Rows:
    """How much of each part of a note comes up, in words and in meaning, of all and at its ends (1, 18)."""
    said = content_words(" ".join(message.content for message in told.dialogue.spoken), "en")
    own = [(content_words(part, "en"), content_words(in_lay_words(part, "en"), "en")) for part in parts]
    share = np.array([max(len(each & said) / max(1, len(each)) for each in pair) for pair in own])
    size = np.array([len(each) for each, _ in own], float)
    size, unsaid, third = size / size.sum(), share == 0, max(1, len(parts) // 3)
    missed, both = unsaid & (met < UNLIKE), np.maximum(share, 2 * (met - 0.3))
    ends = both[:third].mean(), both[-third:].mean()
    text = " ".join(message.content for message in told.dialogue.spoken)
    numbers, length = known_numbers(told.dialogue.note), len(words(told.dialogue.note))
    told_numbers = len(numbers & known_numbers(text)) / len(numbers) if numbers else 0.7
    row = [met.mean(), met.min(), np.quantile(met, 0.2), size @ met, share.mean(), size @ share]
    row += [unsaid.mean(), size @ unsaid, missed.mean(), size @ missed]
    row += [log(1 + length), log((1 + len(words(text))) / (1 + length)), told_numbers, min(ends), *ends]
    row += [len(parts) / 20, max((len([*run]) for one, run in groupby(missed) if one), default=0) / len(parts)]
    return np.array([row], np.float32)


def parts_met(told: Told) -> tuple[list[str], Rows]:
    """The parts of a note's sentences, and how near each is to what comes nearest in the dialogue."""
    cut = (part for one in sentences(told.dialogue.note) for part in _PATTERNS["part_end"].split(one))
    parts = [part for part in cut if content_words(part, "en")] or [told.dialogue.note]
    spoken = told.dialogue.spoken
    texts = [one.content for one in spoken] + [f"{one.asked} {one.answer}" for one in exchanges(spoken)]
    said = _embedded([*texts, *(text for one in spoken for text in sentences(one.content))]).T
    lay = [in_lay_words(part, "en") for part in parts]
    return parts, np.maximum((_embedded(parts) @ said).max(axis=1), (_embedded(lay) @ said).max(axis=1))


@cache
def _tells_nothing() -> frozenset[str]:
    return frozenset(map(stem, data_file("nodes.reconstruction", "learned")["tells_nothing"].split()))


def said_by_the_other(told: Told, weights: Rows) -> Iterator[Weighed]:
    """The run of turns that sounds most as if the other of the two said it."""
    begun, total, most, found = 1, 0.0, 0.0, (1, 1)
    for number, like_other in enumerate(_like_other(told.dialogue.spoken, weights), 1):
        total += like_other - DOUBT
        if total <= 0:
            begun, total = number + 1, 0.0
        elif total > most:
            most, found = total, (begun, number)
    if most:
        first, last = (told.dialogue.spoken[at - 1].content for at in found)
        yield most, f"from {first!r} to {last!r} (turn {found[1]}) it sounds as if the other said it", found[0]


def question_exchanged(told: Told, weights: Rows) -> Iterator[Weighed]:
    """The physician's turn and the reply of which both sound most as if the other said them: answer, then question.

    A patient who asks back stands the other way round, and a greeting is nobody's.
    """
    both = list(zip(told.dialogue.spoken, _like_other(told.dialogue.spoken, weights), strict=True))
    for number, ((said, one), (reply, other)) in enumerate(pairwise(both), 1):
        length = [len(message.content.split()) for message in (said, reply)]
        if said.role == PHYSICIAN and reply.role == PATIENT and min(length) >= TELLS and sum(length) >= NO_GREETING:
            yield min(one, other), f"{said.content!r}, {reply.content!r}: each sounds as if the other said it", number


def _like_other(spoken: Sequence[Message], weights: Rows) -> list[float]:
    """How much each turn sounds as if the other of the two said it."""
    cut = [
        [one for one in sentences(message.content) if len(one.split()) > 1] or [message.content or "."]
        for message in spoken
    ]
    scores = iter(_scores(speaker_rows([one for texts in cut for one in texts]), weights) if cut else ())
    like_patient = [sum(next(scores) for _ in texts) / len(texts) ** 0.5 for texts in cut]
    return [one if message.role == PHYSICIAN else -one for message, one in zip(spoken, like_patient, strict=True)]


def answers_exchanged(told: Told, weights: Rows) -> Iterator[Weighed]:
    """The two answers of which each fits the other's question best."""
    found = asked_and_answered(told.dialogue.spoken)
    if len(found) < 2:
        return
    asked = [sentences(one.asked)[-1] for one in found for _ in found]
    score = np.array(_scores(fit_rows(asked, [one.answer for _ in found for one in found]), weights))
    score = score.reshape(len(found), -1)
    own = score.diagonal()
    gain = np.triu(score + score.T - own - own[:, None], 1)
    one, other = (found[at] for at in np.unravel_index(gain.argmax(), gain.shape))
    message = f"{one.answer!r} fits turn {other.number} better, {other.asked!r}, and its answer this one"
    yield float(gain.max()), message, one.number


def of_nobody_else(told: Told, weights: Rows) -> Iterator[Weighed]:
    """How strange each exchange is to the note and to all the rest."""
    found, lines = exchanges(told.dialogue.spoken), _lines(told)
    for one, score in zip(found, _scores(strange_rows(told), weights), strict=True):
        nearest = lines[int((_embedded(lines) @ _embedded([f"{one.asked} {one.answer}"])[0]).argmax())]
        yield score, f"{one.asked!r}, {one.answer!r}: the note has nothing nearer than {nearest!r}", one.number


def unfounded(told: Told, weights: Rows) -> Iterator[Weighed]:
    """How little each statement is founded on the note, if the note tells something."""
    said = claims(told)
    for one, score in zip(said, _scores(claim_rows(told, said), weights) if said else (), strict=False):
        yield score + ILLNESS * _tells_of_illness(told, one), f"{one.text!r}: the note has nothing of it", one.number


def _tells_of_illness(told: Told, one: Claim) -> bool:
    """Whether a claim tells a complaint, or a finding that nobody asked for, without a word or a term of the note."""
    matter, terms = content_words(one.text, "en") - courtesies(), terms_in(one.text, "en")
    if matter & content_words(told.note, "en") or {name for name, _ in terms} & told.of_note[0]:
        return False
    if one.role == PHYSICIAN:
        asked_for = affirms(one.text) or told.dialogue.spoken[max(0, one.number - 2)].content.rstrip().endswith("?")
        found = _PATTERNS["observes"].search(one.text) and not _PATTERNS["no_finding"].search(one.text)
        return bool(found) and not asked_for
    if any(name in complaints() for name, denied in terms if not denied):
        return not _PATTERNS["no_complaint"].search(one.text)
    of_a_part = one.number > REASON_TOLD and _PATTERNS["of_a_part"].search(one.text) is not None
    return of_a_part and not _DENIAL.search(one.text)


def left_out(told: Told, weights: Rows) -> Iterator[Weighed]:
    """How much of the note is missing, if it is long enough to be cut."""
    if len(words(told.dialogue.note)) >= LONG_NOTE:
        parts, met = parts_met(told)
        least = parts[int(met.argmin())]
        yield (
            _scores(whole_rows(told, parts, met), weights)[0],
            f"too little of the note comes up, as {least.strip()!r}",
            None,
        )


def asked_again(told: Told) -> Iterator[Finding]:
    """An exchange comes twice, in whatever words, and the second time brings nothing new."""
    found = exchanges(told.dialogue.spoken)
    texts = [f"{one.asked} {one.answer}" for one in found]
    rows, matter = _embedded(texts) if found else np.zeros((0, 1), np.float32), [_matter(text) for text in texts]
    for place, (one, row) in enumerate(zip(found, rows, strict=True)):
        alike = {at: rows[at] @ row for at in range(place) if matter[place] <= matter[at]}
        if alike and max(alike.values()) >= ALIKE:
            earlier = found[max(alike, key=alike.__getitem__)]
            yield f"{one.asked!r}: asked and answered as in turn {earlier.number}, {earlier.asked!r}", one.number


def told_again(told: Told) -> Iterator[Finding]:
    """A third of what the patient states was stated before in other words; of real dialogues a quarter at most."""
    said = [
        (number, text)
        for number, role, text in told.statements
        if role == PATIENT and len(content_words(text, "en")) >= OF_MATTER
    ]
    if len(said) < STATED:
        return
    rows = _embedded([text for _, text in said])
    alike = rows @ rows.T
    nearest = [(place, int(alike[place, :place].argmax())) for place in range(1, len(said))]
    apart = [_told_apart(in_lay_words(text, "en")) for _, text in said]
    again = [
        (place, other)
        for place, other in nearest
        if alike[place, other] >= SAME_MATTER and apart[place] <= apart[other]
    ]
    if len(again) >= len(said) / 3:
        (number, text), (_, earlier) = (said[at] for at in again[0])
        yield f"{len(again)} of {len(said)} statements were made before, as {text!r} after {earlier!r}", number


def _matter(text: str) -> set[str | float]:
    """What an exchange is about, in everyday words: what, where, on which side, when, how many."""
    lay = in_lay_words(_PATTERNS["says_nothing"].sub(" ", text), "en")
    about = {word for word in content_words(lay, "en") if not word.isdigit() and word not in NUMBER_WORDS}
    return {*about, *_told_apart(lay)}


def _told_apart(lay: str) -> set[str | float]:
    """By what the same is told apart from the same of another time or place: where, which side, when, how many."""
    apart = {found[0].casefold().split()[-1] for found in _PATTERNS["tells_apart"].finditer(lay)}
    return {*apart, *sides_in(lay), *known_numbers(lay)}


def _lines(told: Told) -> list[str]:
    """The note's sentences, and again in everyday words."""
    own = sentences(told.dialogue.note) or ["."]
    return [*own, *(in_lay_words(text, told.dialogue.language) for text in own)]


def _embedded(texts: Sequence[str]) -> Rows:
    return embed([text if text.strip() else "." for text in texts], MULTILINGUAL_MODEL)


def _scores(rows: Rows, weights: Rows) -> list[float]:
    """How likely each row is what a head looks for, as a logarithm of odds (n,)."""
    return [round(float(score), 3) for score in rows @ weights[:-1] + weights[-1]]


@cache
def _weights() -> Mapping[str, Rows]:
    """Of each head the weights (d + 1,), the constant last, and beyond which score it refuses."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files if name != "fingerprint"}


def _learned(head: str) -> Rule:
    """The gate of a head: what it weighs beyond its limit."""

    @wraps(HEADS[head])
    def gate(told: Told) -> Iterator[Finding]:
        weighed = HEADS[head](told, _weights()[WEIGHTS_OF.get(head, head)])
        return ((message, turn) for score, message, turn in weighed if score > _weights()[f"{head}_limit"])

    return gate


def _is_freely_worded(told: Told) -> bool:
    return told.dialogue.language == "en" and told.dialogue.models != [OFFLINE]


HEADS: Mapping[str, Callable[[Told, Rows], Iterator[Weighed]]] = {
    "speaker": said_by_the_other,
    "exchanged": question_exchanged,
    "fits": answers_exchanged,
    "strange": of_nobody_else,
    "unfounded": unfounded,
    "whole": left_out,
}
WEIGHTS_OF: Mapping[str, str] = {"exchanged": "speaker"}  # heads that weigh otherwise what another has learned
RULES: Mapping[str, Rule] = {
    "speaks_for_oneself": only_where(_is_freely_worded, _learned("speaker")),
    "turns_in_place": only_where(_is_freely_worded, _learned("exchanged")),
    "answers_in_place": only_where(_is_freely_worded, _learned("fits")),
    "connected_to_the_note": only_where(_is_freely_worded, _learned("strange")),
    "founded_on_the_note": only_where(_is_freely_worded, _learned("unfounded")),
    "whole_note": only_where(_is_freely_worded, _learned("whole")),
    "not_asked_again": only_where(_is_freely_worded, asked_again),
    "not_told_again": only_where(_is_freely_worded, told_again),
}
