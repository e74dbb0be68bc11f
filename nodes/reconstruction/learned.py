"""Six small classifiers for what rules of words cannot decide about a freely worded dialogue.

They judge who says a turn, whether it answers, whether its yes or no is the note's, whether an exchange is unrelated to
everything else, whether a statement is founded on the note, and whether too much of the note is missing. They are
linear; their inputs are multilingual embeddings and a few counts. To that of statements a small network is added
(`alignment`). Their weights were learned (`python -m wardround.training.gates`) from real English dialogues and
corrupted copies of them, and each classifier rejects only what scores beyond nearly all the real ones. They therefore
skip other languages, and dialogues written by the offline rules, which `verbatim` checks sentence by sentence.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib.resources import files
from itertools import groupby, pairwise
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cases.dialogues import PATIENT, PHYSICIAN, Message
from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.numbers import known_numbers
from cases.text.sentences import sentences
from cases.text.words import stem, words
from cases.vocabulary import data_file, patterns
from llm.specs import OFFLINE
from nodes.reconstruction import alignment
from nodes.reconstruction.expected import answered, expected_rows
from nodes.reconstruction.parsed import Finding, ParsedDialogue, Rule, affirms, content_words, denies, only_where
from nodes.reconstruction.vectors import Rows, embedded
from retrieval.likeness import gram_rows

WEIGHTS = Path(str(files("nodes.reconstruction") / "learned.npz"))
DOUBT = 0.3  # score below which a turn does not count as the other speaker's
TELLS, SHORTEST = 3, 3  # minimum words of an answer, and of a sentence, to be scored
NO_GREETING = 8  # minimum words of question and answer together
ASKED = 200  # last characters of a question that are embedded with the answer
LONG_NOTE = 20  # minimum words of a note to be checked for missing parts
TOLD_AT_ALL = 2  # minimum of informative words in a note
UNLIKE = 0.45  # similarity below which a part of the note counts as unsaid
_PATTERNS = patterns("nodes.reconstruction", "learned")
_DENIAL = patterns("nodes.reconstruction", "content")["denial"]
_SIGNS = ("of_oneself", "of_you", "begins_as_answer")
_QUESTION_SIGNS = ("asks_openly", "asks_when")

Weighed = tuple[float, str, int | None]  # score (higher is worse), problem, turn


class Exchange(NamedTuple):
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


def exchanges(spoken: Sequence[Message]) -> list[Exchange]:
    """Return the exchanges of a dialogue in which both speakers say something."""
    turns = [(number, spoken[number - 1], message) for number, message in enumerate(spoken) if number]
    return [
        Exchange(number, asked.content, answer.content)
        for number, asked, answer in turns
        if (asked.role, answer.role) == (PHYSICIAN, PATIENT) and asked.content.strip() and answer.content.strip()
    ]


def asked_and_answered(spoken: Sequence[Message]) -> list[Exchange]:
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
    note = embedded(_lines(parsed))
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
    note, whole = embedded(_lines(parsed)), embedded([parsed.dialogue.note[:2000]])[0]
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


@cache
def _uninformative_words() -> frozenset[str]:
    return frozenset(map(stem, data_file("nodes.reconstruction", "learned")["tells_nothing"].split()))


def said_by_the_other(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score the run of turns that sounds most as if the other speaker said it."""
    start, total, best, run = 1, 0.0, 0.0, (1, 1)
    for number, like_other in enumerate(_scores_as_other(parsed.dialogue.spoken, weights), 1):
        total += like_other - DOUBT
        if total <= 0:
            start, total = number + 1, 0.0
        elif total > best:
            best, run = total, (start, number)
    if best:
        first, last = (parsed.dialogue.spoken[at - 1].content for at in run)
        yield best, f"from {first!r} to {last!r} (turn {run[1]}), this sounds like the other speaker", run[0]


def question_exchanged(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score a physician's turn and its reply for being swapped: both sound as if the other speaker said them.

    A patient who asks back is not such a pair, and greetings are skipped as too short.
    """
    both = list(zip(parsed.dialogue.spoken, _scores_as_other(parsed.dialogue.spoken, weights), strict=True))
    for number, ((turn, one), (reply, other)) in enumerate(pairwise(both), 1):
        length = [len(message.content.split()) for message in (turn, reply)]
        if turn.role == PHYSICIAN and reply.role == PATIENT and min(length) >= TELLS and sum(length) >= NO_GREETING:
            yield min(one, other), f"{turn.content!r}, {reply.content!r}: each sounds like the other speaker", number


def _scores_as_other(spoken: Sequence[Message], weights: Rows) -> list[float]:
    """Return for each turn how much it sounds like the other speaker."""
    by_turn = [
        [one for one in sentences(message.content) if len(one.split()) > 1] or [message.content or "."]
        for message in spoken
    ]
    scores = iter(_scores(speaker_rows([one for texts in by_turn for one in texts]), weights) if by_turn else ())
    like_patient = [sum(next(scores) for _ in texts) / len(texts) ** 0.5 for texts in by_turn]
    return [one if message.role == PHYSICIAN else -one for message, one in zip(spoken, like_patient, strict=True)]


def answers_exchanged(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score the two answers that gain most from swapping their questions."""
    found = asked_and_answered(parsed.dialogue.spoken)
    if len(found) < 2:
        return
    asked = [sentences(one.asked)[-1] for one in found for _ in found]
    score = np.array(_scores(fit_rows(asked, [one.answer for _ in found for one in found]), weights))
    score = score.reshape(len(found), -1)
    own = score.diagonal()
    gain = np.triu(score + score.T - own - own[:, None], 1)
    one, other = (found[at] for at in np.unravel_index(gain.argmax(), gain.shape))
    message = f"{one.answer!r} fits turn {other.number} better, {other.asked!r}, and the answer there fits this one"
    yield float(gain.max()), message, one.number


def other_than_expected(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score how little each short yes or no is what the note makes of the question."""
    found = [one for one in answered(parsed) if one.short]
    scores = _scores(expected_rows(parsed, [one.question for one in found]), weights)
    for one, likely in zip(found, scores, strict=True):
        score = -likely if one.yes else likely
        yield score, f"{one.question!r}, {one.reply!r}: by the note, the answer is the opposite", one.number


def of_nobody_else(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score how unrelated each exchange is to the note and to all other turns."""
    found, lines = exchanges(parsed.dialogue.spoken), _lines(parsed)
    note = embedded(lines)
    for one, score in zip(found, _scores(strange_rows(parsed), weights), strict=True):
        nearest = lines[int((note @ embedded([f"{one.asked} {one.answer}"])[0]).argmax())]
        yield score, f"{one.asked!r}, {one.answer!r}: the note has nothing closer than {nearest!r}", one.number


def unfounded(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score how little each statement is founded on the note; none if the note says too little.

    The score adds the log-odds by `claim_rows` and those by `alignment`, of which the second, which take far longer,
    are asked for only where the first doubt a statement.
    """
    found = claims(parsed)
    linear, network = np.split(weights, [-alignment.SIZE])
    scores = np.array(_scores(claim_rows(parsed, found), linear) if found else [])
    doubted = [place for place, score in enumerate(scores) if score > 0]
    if doubted:
        said = alignment.tokens_said([(found[place].asked, found[place].text) for place in doubted])
        scores[doubted] += alignment.unborne(network, said, alignment.tokens_noted(parsed.dialogue.note))
    for one, score in zip(found, scores, strict=True):
        yield round(float(score), 3), f"{one.text!r}: the note does not say this", one.number


def left_out(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score how much of the note is missing, if the note is long enough."""
    if len(words(parsed.dialogue.note)) >= LONG_NOTE:
        parts, met = parts_met(parsed)
        least = parts[int(met.argmin())]
        yield (
            _scores(whole_rows(parsed, parts, met), weights)[0],
            f"too little of the note comes up; missing is, for example, {least.strip()!r}",
            None,
        )


def _lines(parsed: ParsedDialogue) -> list[str]:
    """Return the note's sentences, followed by each one in everyday words."""
    own = sentences(parsed.dialogue.note) or ["."]
    return [*own, *(in_lay_words(text, parsed.dialogue.language) for text in own)]


def _scores(rows: Rows, weights: Rows) -> list[float]:
    """Return the log-odds of what a classifier looks for, for each row (n,)."""
    return [round(float(score), 3) for score in rows @ weights[:-1] + weights[-1]]


@cache
def _weights() -> Mapping[str, Rows]:
    """Return the weights of each classifier (d + 1,), with the constant last, and the limits of their scores."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files if name != "fingerprint"}


def _gate_of(head: str) -> Rule:
    """Make the gate of a classifier: it reports what scores beyond the limit."""

    @wraps(HEADS[head])
    def gate(parsed: ParsedDialogue) -> Iterator[Finding]:
        weighed = HEADS[head](parsed, _weights()[WEIGHTS_OF.get(head, head)])
        return ((message, turn) for score, message, turn in weighed if score > _weights()[f"{head}_limit"])

    return gate


def _is_freely_worded(parsed: ParsedDialogue) -> bool:
    return parsed.dialogue.language == "en" and parsed.dialogue.models != [OFFLINE]


HEADS: Mapping[str, Callable[[ParsedDialogue, Rows], Iterator[Weighed]]] = {
    "speaker": said_by_the_other,
    "exchanged": question_exchanged,
    "fits": answers_exchanged,
    "expected": other_than_expected,
    "strange": of_nobody_else,
    "unfounded": unfounded,
    "whole": left_out,
}
WEIGHTS_OF: Mapping[str, str] = {"exchanged": "speaker"}  # heads that use the weights of another
RULES: Mapping[str, Rule] = {
    "speaks_for_oneself": only_where(_is_freely_worded, _gate_of("speaker")),
    "turns_in_place": only_where(_is_freely_worded, _gate_of("exchanged")),
    "answers_in_place": only_where(_is_freely_worded, _gate_of("fits")),
    "answers_expected": only_where(_is_freely_worded, _gate_of("expected")),
    "connected_to_the_note": only_where(_is_freely_worded, _gate_of("strange")),
    "founded_on_the_note": only_where(_is_freely_worded, _gate_of("unfounded")),
    "whole_note": only_where(_is_freely_worded, _gate_of("whole")),
}
