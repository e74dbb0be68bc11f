"""Dialogues as training examples: one a physician's turn, or a dialogue at once; the physician's words are labels."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cases.dialogues import PHYSICIAN, Dialogue
from llm.conversation import in_turns, source_tokens
from wardround.tuning.configuration import Unit

UNLABELLED = -100  # what the loss passes over


@dataclass(frozen=True)
class Example:
    """What is read, as tokens, and what of it is to be predicted: the physician's words with their end."""

    tokens: "array[int]"
    labels: "array[int]"

    @property
    def row(self) -> dict[str, list[int]]:
        """As a row of a data set."""
        return {"input_ids": self.tokens.tolist(), "labels": self.labels.tolist()}

    def goes_on_as(self, tokens: Sequence[int]) -> bool:
        """Whether what is read later begins with all of this."""
        return self.tokens.tolist() == list(tokens[: len(self.tokens)])

    def followed_by(self, source: Sequence[int], said: Sequence[int]) -> "Example":
        """The same with what was read since, and the words that answer it."""
        read = [*self.labels, *[UNLABELLED] * (len(source) - len(self.labels))]
        return Example(array("i", [*source, *said]), array("i", [*read, *said]))

    def ended_by(self, end: int) -> "Example":
        """The same, where the words that were said last are predicted to end."""
        return Example(self.tokens, array("i", [*self.labels, end]))

    def closed(self) -> "Example":
        """The same, with all that is to be predicted as part of what is read."""
        return Example(array("i", [*self.tokens, *self.labels[len(self.tokens) :]]), self.labels)


@dataclass
class Counts:
    """What became of the physician's turns."""

    dialogues: int = 0  # that were read
    examples: int = 0  # that were made of them
    turns: int = 0  # of the physician that are taught in them
    shortened_sources: int = 0  # turns before which the oldest turns are missing
    cut_targets: int = 0  # turns whose words are cut, and taught without an end
    openings: int = 0  # no example: said before the patient's first words
    unanswerable: int = 0  # no example: the patient's last turn alone is too long
    empty: int = 0  # no example: a turn without words


def examples_of(
    dialogues: Sequence[Dialogue], tokenizer: Any, source: int, target: int, unit: Unit = "turn"
) -> tuple[list[Example], Counts]:
    """One example for each turn of the physician that answers the patient, or one for all that can be read at once.

    A dialogue is encoded once where each turn's source goes on where the one before and its words ended: the loss of
    its labels is then the sum of that of its turns. A turn whose source was shortened begins an example of its own,
    and so does each where a chat template changes what was said earlier.

    The words are followed by the tokenizer's end-of-sequence token, labelled too: a model that never learns to stop
    would speak the patient's part as well. Words beyond the target length are cut and get no end, as they have none.

    Args:
        dialogues: of which only what was spoken is taken; system messages are left out.
        tokenizer: of the base.
        source: tokens of the dialogue so far at most; the newest turns are kept.
        target: tokens of the words at most, their end not counted.
        unit: what is encoded as one example.
    """
    examples: list[Example] = []
    counts = Counts(dialogues=len(dialogues))
    for dialogue in dialogues:
        turns = in_turns(dialogue.spoken)
        counts.openings += bool(dialogue.spoken) and dialogue.spoken[0].role == PHYSICIAN
        so_far: Example | None = None
        for place, turn in enumerate(turns):
            if turn.role != PHYSICIAN:
                continue
            words = tokenizer(turn.content.strip(), add_special_tokens=False).input_ids
            if not words:
                counts.empty += 1
                continue
            read = source_tokens(tokenizer, turns[:place], source)
            if read is None:
                counts.unanswerable += 1
                continue
            whole = len(words) <= target
            counts.cut_targets += not whole
            counts.shortened_sources += read.shortened
            counts.turns += 1
            if so_far is not None and not (unit == "dialogue" and so_far.goes_on_as(read.tokens)):
                examples.append(so_far.closed())
                so_far = None
            so_far = (so_far or Example(array("i"), array("i"))).followed_by(read.tokens, words[:target])
            so_far = so_far.ended_by(tokenizer.eos_token_id) if whole else so_far
        if so_far is not None:
            examples.append(so_far.closed())
    counts.examples = len(examples)
    return examples, counts
