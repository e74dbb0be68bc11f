"""Train the classifiers of the gates for freely worded dialogues: ``python -m wardround.training.gates FILE``.

The training data are the real dialogues of MTS-Dialog (CC BY 4.0, Ben Abacha et al., EACL 2023; FILE is
MTS-Dialog-TestSet-1.csv), copies of them corrupted here, and `nodes/reconstruction/strange.toml`. Only weights are
stored, no text of the dialogues. Those of ``KEPT_APART`` are held out. The limit beyond which a head rejects is set by
five-fold cross-validation, so that nearly all real dialogues pass.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.note_files import read_notes
from cases.text.sentences import sentences
from cases.text.words import words
from cases.vocabulary import data_file
from nodes.reconstruction.alignment import read_of_note, read_of_said
from nodes.reconstruction.expected import answered, expected_rows
from nodes.reconstruction.features import (
    Claim,
    NumberedExchange,
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
from nodes.reconstruction.gates import GATES
from nodes.reconstruction.learned import HEADS, LONG_NOTE, RULES, WEIGHTS, WEIGHTS_OF
from nodes.reconstruction.parsed import ParsedDialogue, content_words
from nodes.reconstruction.vectors import Rows
from retrieval.token_vectors import each_token_vectors
from scoring.records import read_sheet
from wardround.training import alignment
from wardround.training.fitting import fitted as logistic
from wardround.training.fitting import keep

# The numbers of the held-out dialogues, on which the gates are evaluated.
# fmt: off
KEPT_APART = frozenset((
    1, 2, 3, 4, 5, 6, 12, 13, 16, 18, 30, 33, 34, 40, 48, 58, 60, 65, 68, 70, 75, 79, 81, 82, 86, 88, 90,
    91, 103, 108, 109, 110, 113, 119, 121, 122, 123, 128, 131, 137, 143, 145, 153, 157, 161, 162, 166, 171,
    172, 174, 175, 179, 183, 185, 187, 188, 193, 196, 198, 199,
))
# fmt: on
FOLDS, COPIES = 5, 3
_STRENGTH = {"speaker": 3.0, "fits": 0.5, "expected": 0.03, "strange": 0.1, "unfounded": 0.3, "whole": 0.1}
# How many real dialogues each head may reject in cross-validation.
_MAX_REJECTED = {"speaker": 1, "exchanged": 1, "fits": 0, "expected": 1, "strange": 1, "unfounded": 1, "whole": 1}
MIN_TURNS_TO_CUT = 6
INVENTED = {"complaints": 30, "findings": 15, "past": 55}  # kinds of invented claims, in percent
MARGIN = {"unfounded": 0.3}  # added to the highest score that passes; 0.1 for the others


Labelled = tuple[Rows, list[bool]]


def mts_dialogues(path: Path) -> list[Dialogue]:
    """Return the dialogues of MTS-Dialog; consecutive lines of one speaker become one turn."""
    found = []
    for note, (_, row) in zip(read_notes(path), read_sheet(path, ("dialogue",))[1], strict=True):
        said = (line.partition(":") for line in row["dialogue"].splitlines())
        spoken = [(PHYSICIAN if who.strip() == "Doctor" else PATIENT, text.strip()) for who, _, text in said]
        turns = groupby((each for each in spoken if each[1]), key=itemgetter(0))
        messages = [Message(role=role, content=" ".join(text for _, text in own)) for role, own in turns]
        found.append(Dialogue(id=note.id, messages=messages, note=note.text))
    return found


def number_of(dialogue: Dialogue) -> int:
    """Return the dialogue's number in the data set."""
    return int(dialogue.id.rpartition("-")[2])


def speakers(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of every sentence, labelled by whether the patient says it."""
    labelled = [
        (sentence, message.role == PATIENT)
        for dialogue in dialogues
        for message in dialogue.spoken
        for sentence in sentences(message.content)
        if len(sentence.split()) > 2
    ]
    return speaker_rows([text for text, _ in labelled]), [patient for _, patient in labelled]


def fitting(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of every question with its answer, and with four random answers of the same or another dialogue.

    The label is whether the answer is the question's own.
    """
    rng, exchanges_of_each = random.Random(0), [asked_and_answered(dialogue.spoken) for dialogue in dialogues]
    answers = [one.answer for own in exchanges_of_each for one in own]
    pairs: list[tuple[str, str, bool]] = []
    for own in exchanges_of_each:
        for one in own:
            question = sentences(one.asked)[-1]
            pairs.append((question, one.answer, True))
            for _ in range(4):
                near = len(own) > 1 and rng.random() < 0.5
                other = rng.choice([each.answer for each in own if each != one]) if near else rng.choice(answers)
                pairs.append((question, other, other == one.answer))
    return fit_rows([one for one, _, _ in pairs], [one for _, one, _ in pairs]), [fits for *_, fits in pairs]


def expected(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of every question that gets a yes or a no, labelled by whether it gets a yes."""
    found = [(parsed, answered(parsed)) for parsed in map(ParsedDialogue, dialogues)]
    rows = [expected_rows(parsed, [one.question for one in own]) for parsed, own in found]
    return np.vstack(rows), [one.yes for _, own in found for one in own]


def strangers(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of every exchange, and of inserted ones, which are invented or from another dialogue.

    The label is whether the exchange is inserted.
    """
    rows = [strange_rows(ParsedDialogue(dialogue)) for dialogue in dialogues]
    inserted = [row for dialogue in dialogues for row in _inserted(dialogue, dialogues)]
    real = np.vstack(rows)
    return np.vstack([real, *inserted]), [False] * len(real) + [True] * len(inserted)


def founded_and_not(dialogues: Sequence[Dialogue]) -> Iterator[tuple[ParsedDialogue, list[Claim], list[bool]]]:
    """Yield for each dialogue its claims, added general advice, and invented claims, and whether each is invented.

    `COPIES` times as many are invented as there are true ones.
    """
    rng = random.Random(0)
    for parsed in map(ParsedDialogue, dialogues):
        if own := claims(parsed):
            last = max(2, len(parsed.dialogue.spoken))
            advice = [
                Claim(rng.randint(2, last), PHYSICIAN, "", rng.choice(_lines(_invented()["advice"])))
                for _ in range(max(1, len(own) // 6))
            ]
            drawn = [_invented_claim(rng, rng.randint(2, last), parsed, own) for _ in range(COPIES * max(4, len(own)))]
            false = [each for each in drawn if each]
            yield parsed, [*own, *advice, *false], [False] * (len(own) + len(advice)) + [True] * len(false)


def unfounded(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of the claims of `founded_and_not`, labelled by whether they are invented."""
    made = list(founded_and_not(dialogues))
    return np.vstack([claim_rows(parsed, said) for parsed, said, _ in made]), [
        one for *_, false in made for one in false
    ]


def _invented_claim(rng: random.Random, number: int, parsed: ParsedDialogue, own: Sequence[Claim]) -> Claim | None:
    """Return a complaint, finding, illness, medicine, operation or test result; None if the note has it."""
    kind = rng.choices(list(INVENTED), list(INVENTED.values()))[0]
    role, text = (PHYSICIAN if kind == "findings" else PATIENT), ""
    if kind == "past":
        past, speaker = rng.choice(_invented()[kind]), rng.choice(("patient", "patient", "physician"))
        what = rng.choice(past["of"].split(", "))
        if content_words(what, "en") <= content_words(parsed.note, "en"):
            return None
        text = rng.choice(_lines(past[speaker])).format(what)
        role, text = (PATIENT, text) if speaker == "patient" else (PHYSICIAN, text.replace(" my ", " your "))
    asked = rng.choice(("", "Anything else?", "Okay.", *(one.asked for one in own))) if role == PATIENT else ""
    return Claim(number, role, asked, text or rng.choice(_lines(_invented()[kind])))


def cut(dialogues: Sequence[Dialogue]) -> Labelled:
    """Return the rows of every dialogue of a long enough note, and of copies without a half or a random two fifths.

    The label is whether the dialogue is shortened.
    """
    rows, labels = list[Rows](), list[bool]()
    for dialogue in dialogues:
        if len(words(dialogue.note)) < LONG_NOTE:
            continue
        turns, half = dialogue.spoken, len(dialogue.spoken) // 4 * 2
        start = random.Random(dialogue.id).randrange(max(1, len(turns) - 3))
        shortened = [turns[:half], turns[half:], [*turns[:start], *turns[start + len(turns) * 2 // 5 :]]]
        shortened = [one for one in shortened if one and len(turns) >= MIN_TURNS_TO_CUT]
        versions = [ParsedDialogue(dialogue.model_copy(update={"messages": one})) for one in [turns, *shortened]]
        rows += [whole_rows(one, *parts_met(one)) for one in versions]
        labels += [False] + [True] * len(shortened)
    return np.vstack(rows), labels


def _inserted(dialogue: Dialogue, dialogues: Sequence[Dialogue]) -> Iterator[Rows]:
    invented = [NumberedExchange(0, *line.split("|")) for line in _lines(_invented()["exchanges"])]
    places = [at for at, message in enumerate(dialogue.messages) if at and message.role == PHYSICIAN]
    rng = random.Random(dialogue.id)
    foreign = [each for other in dialogues if other.id != dialogue.id for each in asked_and_answered(other.spoken)[1:]]
    for source in [foreign, invented] * COPIES if places else []:
        one, at = rng.choice(source), rng.choice(places)
        if not content_words(" ".join(one[1:]), "en") & content_words(dialogue.note, "en"):
            pair = [Message(role=PHYSICIAN, content=one.asked), Message(role=PATIENT, content=one.answer)]
            messages = [*dialogue.messages[:at], *pair, *dialogue.messages[at:]]
            changed = dialogue.model_copy(update={"messages": messages})
            numbers = [each.number for each in exchanges(changed.spoken)]
            yield strange_rows(ParsedDialogue(changed))[numbers.index(at + 1)]


def _invented() -> Mapping[str, Any]:
    return data_file("nodes.reconstruction", "strange")


def _lines(text: str) -> list[str]:
    return text.strip().split("\n")


_TRAINING_DATA: dict[str, Callable[[Sequence[Dialogue]], Labelled]] = {
    "speaker": speakers,
    "fits": fitting,
    "expected": expected,
    "strange": strangers,
    "unfounded": unfounded,
    "whole": cut,
}


def fitted(head: str, dialogues: Sequence[Dialogue]) -> NDArray[np.float32]:
    """Return the weights of a head by a logistic regression, the bias last; of claims, those of the network follow."""
    from sklearn.preprocessing import StandardScaler  # comes with sentence-transformers

    rows, labels = _TRAINING_DATA[head](dialogues)
    scale = StandardScaler().fit(rows).scale_ if head in ("expected", "strange", "whole") else np.ones(rows.shape[1])
    balanced = head in ("fits", "whole")
    weights = logistic(rows / scale, labels, [False, True], balanced=balanced, strength=_STRENGTH[head])[:, 0]
    weights = weights / np.append(scale, 1)
    if head == "unfounded":
        weights = np.append(weights, alignment.fitted(_aligned([*founded_and_not(dialogues)])))
    return weights.astype(np.float32)


def _aligned(made: Sequence[tuple[ParsedDialogue, list[Claim], list[bool]]]) -> list[alignment.Aligned]:
    """Return the tokens of `founded_and_not`; each text is embedded once, since many are drawn again and again."""
    notes = [read_of_note(parsed.dialogue.note) for parsed, _, _ in made]
    texts = [read_of_said([(one.asked, one.text) for one in said]) for _, said, _ in made]
    vectors = each_token_vectors([one for each in (*notes, *texts) for one in each])
    return [
        alignment.Aligned(np.vstack([vectors[one] for one in note]), [vectors[one] for one in said], false)
        for note, said, (_, _, false) in zip(notes, texts, made, strict=True)
    ]


def strangest(head: str, dialogue: Dialogue, weights: NDArray[np.float32]) -> float:
    """Return the highest score that a head gives to anything in a dialogue."""
    return max((score for score, _, _ in HEADS[head](ParsedDialogue(dialogue), weights)), default=-10.0)


def _passes(dialogue: Dialogue) -> bool:
    """Whether a dialogue passes the gates that need neither a classifier nor embeddings."""
    parsed = ParsedDialogue(dialogue)
    return not any(True for name, gate in GATES.items() if name not in RULES for _ in gate(parsed))


def train(dialogues: Sequence[Dialogue]) -> dict[str, NDArray[np.generic]]:
    """Return the weights of all heads, in half precision, and the score beyond which each rejects."""
    training_parts = [[each for place, each in enumerate(dialogues) if place % FOLDS != fold] for fold in range(FOLDS)]
    weights = {head: [fitted(head, rest) for rest in training_parts] for head in _TRAINING_DATA}
    stored: dict[str, NDArray[np.generic]] = {
        head: fitted(head, dialogues).astype(np.float16) for head in _TRAINING_DATA
    }
    for head, most_rejected in _MAX_REJECTED.items():
        scores = [
            (strangest(head, each, own), each.id)
            for fold, own in enumerate(weights[WEIGHTS_OF.get(head, head)])
            for each in dialogues[fold::FOLDS]
            if _passes(each)
        ]
        limit = sorted(scores)[-most_rejected - 1][0] + MARGIN.get(head, 0.1)
        stored[f"{head}_limit"] = np.array(limit, np.float32)
        print(f"{head}: refuses beyond {stored[f'{head}_limit']:.2f}; the strangest are {sorted(scores)[-5:]}")
    return stored


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="MTS-Dialog-TestSet-1.csv")
    real = mts_dialogues(parser.parse_args().path)
    keep(WEIGHTS, train([each for each in real if number_of(each) not in KEPT_APART]))
