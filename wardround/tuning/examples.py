"""Training examples from dialogues, per turn of the physician or per dialogue; the labels are the physician's words."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cases.dialogues import PHYSICIAN, Dialogue
from llm.conversation import in_turns, source_tokens
from wardround.tuning.configuration import Unit

UNLABELLED = -100  # ignored by the loss


@dataclass(frozen=True)
class Example:
    """The tokens that are read, and their labels: the physician's words with their end."""

    tokens: "array[int]"
    labels: "array[int]"

    @property
    def row(self) -> dict[str, list[int]]:
        """The example as a row of a data set."""
        return {"input_ids": self.tokens.tolist(), "labels": self.labels.tolist()}


@dataclass
class Counts:
    """What became of the physician's turns."""

    dialogues: int = 0  # read
    examples: int = 0  # made from them
    turns: int = 0  # of the physician, in these examples
    shortened_sources: int = 0  # turns whose oldest context was dropped
    cut_targets: int = 0  # turns whose words were cut, and so have no end label
    openings: int = 0  # left out: said before the patient's first words
    unanswerable: int = 0  # left out: the patient's last turn alone is too long
    empty: int = 0  # left out: turns without words


def examples_of(
    dialogues: Sequence[Dialogue], tokenizer: Any, source: int, target: int, unit: Unit = "turn"
) -> tuple[list[Example], Counts]:
    """Make an example per turn in which the physician answers the patient, or (``unit="dialogue"``) as few as possible.

    Turns share an example if each turn's source starts with the previous source and words: the loss of its labels is
    then the sum of the turns' losses. A turn whose source was shortened starts a new example, and so does each turn if
    a chat template rewrites earlier ones.

    The words are followed by the tokenizer's end-of-sequence token, labelled too: a model that never learns to stop
    would also speak the patient's part. Words beyond the target length are cut and get no end.

    Args:
        dialogues: only spoken turns are used; system messages are left out.
        tokenizer: of the base.
        source: maximum tokens of the dialogue so far; the newest turns are kept.
        target: maximum tokens of the words, without their end.
        unit: what is encoded as one example.
    """
    examples: list[Example] = []
    counts = Counts(dialogues=len(dialogues))
    for dialogue in dialogues:
        turns = in_turns(dialogue.spoken)
        counts.openings += bool(dialogue.spoken) and dialogue.spoken[0].role == PHYSICIAN
        tokens: list[int] = []  # of the example in the making, without an end after the last words
        labels: list[int] = []
        for index, turn in enumerate(turns):
            if turn.role != PHYSICIAN:
                continue
            words = tokenizer(turn.content.strip(), add_special_tokens=False).input_ids
            if not words:
                counts.empty += 1
                continue
            read = source_tokens(tokenizer, turns[:index], source)
            if read is None:
                counts.unanswerable += 1
                continue
            is_complete = len(words) <= target
            counts.cut_targets += not is_complete
            counts.shortened_sources += read.shortened
            counts.turns += 1
            if tokens and (unit == "turn" or tokens != list(read.tokens[: len(tokens)])):
                examples.append(_example(tokens, labels))
                labels = []
            said = words[:target]
            tokens = [*read.tokens, *said]
            labels += [UNLABELLED] * (len(read.tokens) - len(labels)) + said
            labels += [tokenizer.eos_token_id] * is_complete
        if tokens:
            examples.append(_example(tokens, labels))
    counts.examples = len(examples)
    return examples, counts


def _example(tokens: list[int], labels: list[int]) -> Example:
    """Return an example whose predicted tokens are all read, the end too."""
    return Example(array("i", [*tokens, *labels[len(tokens) :]]), array("i", labels))
