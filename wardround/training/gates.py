"""Train what the gates hear in freely worded dialogues: ``python -m wardround.training.gates FILE``.

Learned from real dialogues of MTS-Dialog (CC BY 4.0, Ben Abacha et al., EACL 2023; FILE is MTS-Dialog-TestSet-1.csv),
from copies of them spoiled here, and from `nodes/reconstruction/strange.toml`. Of the dialogues no word is kept, only
weights. Those of ``KEPT_APART`` are neither learned from nor looked at here. What a head refuses is stranger than
nearly all that it hears in real dialogues that it has not learned from, each fifth in turn.
"""

import argparse
import csv
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.note_files import read_notes
from cases.text.sentences import sentences
from cases.text.words import words
from cases.vocabulary import data_file
from nodes.reconstruction.content import Told, content_words, denies
from nodes.reconstruction.gates import GATES
from nodes.reconstruction.learned import (
    HEADS,
    LONG_NOTE,
    RULES,
    WEIGHTS,
    WEIGHTS_OF,
    Claim,
    Exchange,
    Rows,
    asked_and_answered,
    claim_rows,
    claims,
    exchanges,
    fit_rows,
    parts_met,
    speaker_rows,
    strange_rows,
    whole_rows,
)
from wardround.training.fitting import keep

# The numbers of the dialogues by which the gates are judged.
# fmt: off
KEPT_APART = frozenset((
    1, 2, 3, 4, 5, 6, 12, 13, 16, 18, 30, 33, 34, 40, 48, 58, 60, 65, 68, 70, 75, 79, 81, 82, 86, 88, 90,
    91, 103, 108, 109, 110, 113, 119, 121, 122, 123, 128, 131, 137, 143, 145, 153, 157, 161, 162, 166, 171,
    172, 174, 175, 179, 183, 185, 187, 188, 193, 196, 198, 199,
))
# fmt: on
FOLDS, COPIES = 5, 3
_STRENGTH = {"speaker": 3.0, "fits": 0.5, "strange": 0.1, "unfounded": 0.3, "whole": 0.1}
# Real dialogues, in the folds.
_REFUSED = {"speaker": 1, "exchanged": 1, "fits": 0, "strange": 1, "unfounded": 1, "whole": 1}
TELLS_SOMETHING, ENOUGH_TO_CUT = 2, 6  # words of a claim, turns of a dialogue
SPARE = 0.1  # of a score: beyond the strangest that passes


Labelled = tuple[Rows, list[bool]]


def mts_dialogues(path: Path) -> list[Dialogue]:
    """The dialogues of MTS-Dialog; a person's lines that follow each other are one turn."""
    found = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        for note, row in zip(read_notes(path), csv.DictReader(file), strict=True):
            messages: list[Message] = []
            for line in row["dialogue"].splitlines():
                who, _, text = line.partition(":")
                role = PHYSICIAN if who.strip() == "Doctor" else PATIENT
                if text.strip() and messages and messages[-1].role == role:
                    messages[-1] = Message(role=role, content=f"{messages[-1].content} {text.strip()}")
                elif text.strip():
                    messages.append(Message(role=role, content=text.strip()))
            found.append(Dialogue(id=note.id, messages=messages, note=note.text))
    return found


def number_of(dialogue: Dialogue) -> int:
    """The number in the data set."""
    return int(dialogue.id.rpartition("-")[2])


def speakers(dialogues: Sequence[Dialogue]) -> Labelled:
    """Every sentence, and whether the patient says it."""
    said = _said(dialogues)
    return speaker_rows([text for text, _ in said]), [patient for _, patient in said]


def fitting(dialogues: Sequence[Dialogue]) -> Labelled:
    """Every answer after its question, and others after it, of the same dialogue and of all."""
    rng, kept = random.Random(0), [asked_and_answered(dialogue.spoken) for dialogue in dialogues]
    every = [one.answer for own in kept for one in own]
    pairs: list[tuple[str, str, bool]] = []
    for own in kept:
        for one in own:
            question = sentences(one.asked)[-1]
            pairs.append((question, one.answer, True))
            for _ in range(4):
                near = len(own) > 1 and rng.random() < 0.5
                other = rng.choice([each.answer for each in own if each != one]) if near else rng.choice(every)
                pairs.append((question, other, other == one.answer))
    return fit_rows([one for one, _, _ in pairs], [one for _, one, _ in pairs]), [fits for *_, fits in pairs]


def strangers(dialogues: Sequence[Dialogue]) -> Labelled:
    """Every exchange, and others that were put between: of another dialogue, or made up."""
    rows = [strange_rows(Told(dialogue)) for dialogue in dialogues]
    strange = [row for dialogue in dialogues for row in _put_between(dialogue, dialogues)]
    real = np.vstack(rows)
    return np.vstack([real, *strange]), [False] * len(real) + [True] * len(strange)


def unfounded(dialogues: Sequence[Dialogue]) -> Labelled:
    """Every claim, with advice that anybody gives, and thrice as many of another dialogue or made up."""
    rng, rows, labels = random.Random(0), list[Rows](), list[bool]()
    told = [one for one in map(Told, dialogues) if claims(one)]
    foreign = [(one.dialogue.id, each) for one in told for each in claims(one)]
    for one in told:
        own, known, last = claims(one), content_words(one.note, "en"), max(2, len(one.dialogue.spoken))
        advice = [
            Claim(rng.randint(2, last), PHYSICIAN, "", rng.choice(_lines(_made_up()["advice"])))
            for _ in range(max(1, len(own) // 6))
        ]
        strange = [_strange_claim(rng, rng.randint(2, last), one, foreign) for _ in range(COPIES * max(4, len(own)))]
        put = [each for each in strange if each and len(content_words(each.text, "en") & known) <= 1]
        rows.append(claim_rows(one, [*own, *advice, *put]))
        labels += [False] * (len(own) + len(advice)) + [True] * len(put)
    return np.vstack(rows), labels


def _strange_claim(rng: random.Random, number: int, told: Told, foreign: Sequence[tuple[str, Claim]]) -> Claim | None:
    kind = rng.choices(["complaints", "findings", "unheard", "foreign"], [30, 30, 8, 32])[0]
    if kind == "foreign":
        source, claim = rng.choice(foreign)
        tells = len(content_words(claim.text, "en")) >= TELLS_SOMETHING and not denies(claim.text)
        return claim._replace(number=number) if tells and source != told.dialogue.id else None
    if kind == "unheard":
        return Claim(number, rng.choice((PATIENT, PHYSICIAN)), "", rng.choice(_unheard()))
    role, asked = (PATIENT, rng.choice(("", "Anything else?", "Okay."))) if kind == "complaints" else (PHYSICIAN, "")
    return Claim(number, role, asked, rng.choice(_lines(_made_up()[kind])))


def _unheard() -> list[str]:
    return [line for lines in _made_up()["unheard"].values() for line in _lines(lines)]


def cut(dialogues: Sequence[Dialogue]) -> Labelled:
    """Every dialogue of a note that is long enough, and the same without a half or without its middle."""
    rows, labels = list[Rows](), list[bool]()
    for dialogue in dialogues:
        if len(words(dialogue.note)) < LONG_NOTE:
            continue
        said, half = dialogue.spoken, len(dialogue.spoken) // 4 * 2
        start = random.Random(dialogue.id).randrange(max(1, len(said) - 3))
        left = [said[:half], said[half:], [*said[:start], *said[start + len(said) * 2 // 5 :]]]
        left = [one for one in left if one and len(said) >= ENOUGH_TO_CUT]
        told = [Told(dialogue.model_copy(update={"messages": one})) for one in [said, *left]]
        rows += [whole_rows(one, *parts_met(one)) for one in told]
        labels += [False] + [True] * len(left)
    return np.vstack(rows), labels


def _said(dialogues: Sequence[Dialogue]) -> list[tuple[str, bool]]:
    return [
        (sentence, message.role == PATIENT)
        for dialogue in dialogues
        for message in dialogue.spoken
        for sentence in sentences(message.content)
        if len(sentence.split()) > 2
    ]


def _put_between(dialogue: Dialogue, dialogues: Sequence[Dialogue]) -> Iterator[Rows]:
    made_up = [Exchange(0, *line.split("|")) for line in _lines(_made_up()["exchanges"])]
    places = [at for at, message in enumerate(dialogue.messages) if at and message.role == PHYSICIAN]
    rng = random.Random(dialogue.id)
    foreign = [each for other in dialogues if other.id != dialogue.id for each in asked_and_answered(other.spoken)[1:]]
    for source in [foreign, made_up] * COPIES if places else []:
        one, at = rng.choice(source), rng.choice(places)
        if not content_words(" ".join(one[1:]), "en") & content_words(dialogue.note, "en"):
            between = [Message(role=PHYSICIAN, content=one.asked), Message(role=PATIENT, content=one.answer)]
            messages = [*dialogue.messages[:at], *between, *dialogue.messages[at:]]
            spoiled = dialogue.model_copy(update={"messages": messages})
            numbers = [each.number for each in exchanges(spoiled.spoken)]
            yield strange_rows(Told(spoiled))[numbers.index(at + 1)]


def _made_up() -> Mapping[str, Any]:
    return data_file("nodes.reconstruction", "strange")


def _lines(text: str) -> list[str]:
    return text.strip().split("\n")


_LEARNED: dict[str, Callable[[Sequence[Dialogue]], Labelled]] = {
    "speaker": speakers,
    "fits": fitting,
    "strange": strangers,
    "unfounded": unfounded,
    "whole": cut,
}


def fitted(head: str, dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
    """The weights of a head, the constant last, by a logistic regression."""
    from sklearn.linear_model import LogisticRegression  # comes with sentence-transformers
    from sklearn.preprocessing import StandardScaler

    rows, labels = _LEARNED[head](dialogues)
    scale = np.ones(rows.shape[1])
    if head in ("strange", "whole"):
        scale = StandardScaler().fit(rows).scale_
    balance = "balanced" if head in ("fits", "whole") else None
    model = LogisticRegression(C=_STRENGTH[head], max_iter=1000, class_weight=balance).fit(rows / scale, labels)
    return np.append(model.coef_[0] / scale, model.intercept_).astype(np.float32)


def strangest(head: str, dialogue: Dialogue, weights: NDArray[np.float32]) -> float:
    """The highest score that a head gives to anything in a dialogue."""
    return max((score for score, _, _ in HEADS[head](Told(dialogue), weights)), default=-10.0)


def _passes(dialogue: Dialogue) -> bool:
    """Whether the gates that know words alone let a dialogue pass."""
    told = Told(dialogue)
    return not any(True for name, gate in GATES.items() if name not in RULES for _ in gate(told))


def train(dialogues: Sequence[Dialogue]) -> dict[str, NDArray[np.generic]]:
    """The weights of all heads, in half precision, and the score beyond which each refuses."""
    stored: dict[str, NDArray[np.generic]] = {}
    parts = [[each for place, each in enumerate(dialogues) if place % FOLDS != fold] for fold in range(FOLDS)]
    weights = {head: [fitted(head, rest) for rest in parts] for head in _LEARNED}
    stored |= {head: fitted(head, dialogues).astype(np.float16) for head in _LEARNED}
    for head, refused in _REFUSED.items():
        scores = [
            (strangest(head, each, own), each.id)
            for fold, own in enumerate(weights[WEIGHTS_OF.get(head, head)])
            for each in dialogues[fold::FOLDS]
            if _passes(each)
        ]
        stored[f"{head}_limit"] = np.array(sorted(scores)[-refused - 1][0] + SPARE, np.float32)
        print(f"{head}: refuses beyond {stored[f'{head}_limit']:.2f}; the strangest are {sorted(scores)[-5:]}")
    return stored


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="MTS-Dialog-TestSet-1.csv")
    real = mts_dialogues(parser.parse_args().path)
    keep(WEIGHTS, train([each for each in real if number_of(each) not in KEPT_APART]))
