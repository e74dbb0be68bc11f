"""Six small classifiers for what rules of words cannot decide about a freely worded dialogue.

They judge who says a turn, whether it answers, whether its yes or no is the note's, whether an exchange is unrelated to
everything else, whether a statement is founded on the note, and whether too much of the note is missing. They are
linear; their inputs are multilingual embeddings and a few counts. To that of statements a small network is added
(`alignment`). Their weights were learned (`python -m wardround.training.gates`) from real English dialogues and
corrupted copies of them, and each classifier rejects only what scores beyond nearly all the real ones. They therefore
skip other languages, and dialogues written by the offline rules, which `verbatim` checks sentence by sentence.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np

from cases.dialogues import PATIENT, PHYSICIAN, Message
from cases.text.sentences import sentences
from cases.text.words import words
from llm.specs import OFFLINE
from nodes.offline.stored_weights import weights_in
from nodes.reconstruction import alignment
from nodes.reconstruction.answers import evades
from nodes.reconstruction.expected import answered, expected_rows
from nodes.reconstruction.features import (
    TELLS,
    asked_and_answered,
    claim_rows,
    claims,
    exchanges,
    fit_rows,
    lines_of,
    parts_met,
    speaker_rows,
    strange_rows,
    whole_rows,
)
from nodes.reconstruction.parsed import Finding, ParsedDialogue, Rule, only_where
from nodes.reconstruction.vectors import Rows, embedded

WEIGHTS = Path(str(files("nodes.reconstruction") / "learned.npz"))
DOUBT = 0.3  # score below which a turn does not count as the other speaker's
NO_GREETING = 8  # minimum words of question and answer together
LONG_NOTE = 20  # minimum words of a note to be checked for missing parts

Weighed = tuple[float, str, int | None]  # score (higher is worse), problem, turn


def said_by_the_other(parsed: ParsedDialogue, weights: Rows) -> Iterator[Weighed]:
    """Score the run of turns that sounds most as if the other speaker said it, before the findings are told.

    From there on, by the plan, the patient asks and the physician answers.
    """
    start, total, best, run = 1, 0.0, 0.0, (1, 1)
    history = parsed.dialogue.spoken[: parsed.findings_from]
    for number, like_other in enumerate(_scores_as_other(history, weights), 1):
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
    """Score the two answers that gain most from swapping their questions; who does not know answers every question."""
    found = [one for one in asked_and_answered(parsed.dialogue.spoken) if not evades(one.answer)]
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
    """Score how unrelated each exchange is to the note and to all other turns, before the findings are told.

    From there on, by the plan, the physician reassures, concludes and names tests, of which a note may have nothing;
    nor need it have anything of a question to which the patient does not know the answer.
    """
    found, lines = exchanges(parsed.dialogue.spoken), lines_of(parsed)
    note = embedded(lines)
    for one, score in zip(found, _scores(strange_rows(parsed), weights), strict=True):
        told = parsed.findings_from is not None and one.number > parsed.findings_from
        if told or evades(one.answer):
            continue
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


def _scores(rows: Rows, weights: Rows) -> list[float]:
    """Return the log-odds of what a classifier looks for, for each row (n,)."""
    return [round(float(score), 3) for score in rows @ weights[:-1] + weights[-1]]


def _gate_of(head: str) -> Rule:
    """Make the gate of a classifier: it reports what scores beyond the limit."""

    @wraps(HEADS[head])
    def gate(parsed: ParsedDialogue) -> Iterator[Finding]:
        stored = weights_in(WEIGHTS)  # of each classifier (d + 1,), the constant last, and the limit of its scores
        weighed = HEADS[head](parsed, stored[WEIGHTS_OF.get(head, head)])
        return ((message, turn) for score, message, turn in weighed if score > stored[f"{head}_limit"])

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
_GATES = {
    "speaks_for_oneself": "speaker",
    "turns_in_place": "exchanged",
    "answers_in_place": "fits",
    "answers_expected": "expected",
    "connected_to_the_note": "strange",
    "founded_on_the_note": "unfounded",
    "whole_note": "whole",
}
RULES: Mapping[str, Rule] = {name: only_where(_is_freely_worded, _gate_of(head)) for name, head in _GATES.items()}
