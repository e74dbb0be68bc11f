"""Dialogues as training examples: one a physician's turn, with labels on the physician's words alone."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cases.dialogues import PHYSICIAN, Dialogue
from llm.conversation import in_turns, source_tokens

UNLABELLED = -100  # what the loss passes over


@dataclass(frozen=True)
class Example:
    """The dialogue so far and the physician's words, as tokens."""

    tokens: "array[int]"
    spoken_from: int

    @property
    def labels(self) -> list[int]:
        """What is to be predicted: the physician's words and their end; the dialogue so far is not."""
        return [UNLABELLED] * self.spoken_from + self.tokens[self.spoken_from :].tolist()


@dataclass
class Counts:
    """What became of the physician's turns.

    Attributes:
        dialogues: that were read.
        examples: that were made of them.
        shortened_sources: examples whose oldest turns are missing.
        cut_targets: examples whose words are cut, and taught without an end.
        openings: no example: said before the patient's first words.
        unanswerable: no example: the patient's last turn alone is too long.
        empty: no example: a turn without words.
    """

    dialogues: int = 0
    examples: int = 0
    shortened_sources: int = 0
    cut_targets: int = 0
    openings: int = 0
    unanswerable: int = 0
    empty: int = 0


def examples_of(
    dialogues: Sequence[Dialogue], tokenizer: Any, source: int, target: int
) -> tuple[list[Example], Counts]:
    """One example for each turn of the physician that answers the patient.

    The words are followed by the tokenizer's end-of-sequence token, labelled too: a model that never learns to stop
    would speak the patient's part as well. Words beyond the target length are cut and get no end, as they have none.

    Args:
        dialogues: of which only what was spoken is taken; system messages are left out.
        tokenizer: of the base.
        source: tokens of the dialogue so far at most; the newest turns are kept.
        target: tokens of the words at most, their end not counted.
    """
    examples = []
    counts = Counts(dialogues=len(dialogues))
    for dialogue in dialogues:
        turns = in_turns(dialogue.spoken)
        counts.openings += bool(dialogue.spoken) and dialogue.spoken[0].role == PHYSICIAN
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
            said = [*words, tokenizer.eos_token_id] if whole else words[:target]
            examples.append(Example(array("i", [*read.tokens, *said]), len(read.tokens)))
    counts.examples = len(examples)
    return examples, counts


def collate(examples: Sequence[Example], padding: int) -> dict[str, Any]:
    """A batch of examples, padded on the right with tokens that are neither read nor labelled."""
    import torch

    longest = max(len(example.tokens) for example in examples)
    gaps = [longest - len(example.tokens) for example in examples]
    rows = list(zip(examples, gaps, strict=True))
    return {
        "input_ids": torch.tensor([[*example.tokens, *[padding] * gap] for example, gap in rows]),
        "attention_mask": torch.tensor([[1] * len(example.tokens) + [0] * gap for example, gap in rows]),
        "labels": torch.tensor([example.labels + [UNLABELLED] * gap for example, gap in rows]),
    }
