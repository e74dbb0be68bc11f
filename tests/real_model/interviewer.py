"""What tuning does to a real model: its loss on dialogues of notes held out, before and after.

``python -m tests.real_model.interviewer BASE TUNED HELD_OUT.jsonl`` prints both and their difference, with intervals
over dialogues. How well each interviews is what a run of `consultation` says, scored by Clini-Eval.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from cases.dialogue_files import read_dialogues
from cases.dialogues import Dialogue
from llm.local_weights import load_model
from scoring.metrics.comparison import paired_difference
from scoring.metrics.statistics import estimate
from wardround.tuning.examples import examples_of

SOURCE, TARGET, BATCH = 192, 40, 8  # tokens read, tokens said, examples at once


def losses(folder: Path, dialogues: Sequence[Dialogue]) -> dict[str, list[float]]:
    """The mean loss of a physician's token in each dialogue, by the dialogue's id."""
    import torch
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    loaded = load_model(str(folder))
    collate = DataCollatorForLanguageModeling(loaded.tokenizer.pad_token_id or loaded.tokenizer.eos_token_id)
    found = {}
    for dialogue in dialogues:
        examples, _ = examples_of([dialogue], loaded.tokenizer, SOURCE, TARGET)
        nats = tokens = 0.0
        for first in range(0, len(examples), BATCH):
            batch = collate([one.row for one in examples[first : first + BATCH]])
            said = int((batch["labels"][:, 1:] >= 0).sum())
            with torch.inference_mode():
                nats += said * float(loaded.model(**batch).loss)
            tokens += said
        found[dialogue.id] = [nats / tokens]
    return found


if __name__ == "__main__":
    base, tuned, held_out = map(Path, sys.argv[1:])
    dialogues, problems = read_dialogues(held_out)
    if problems:
        sys.exit("\n".join(map(str, problems)))
    before, after = losses(base, dialogues), losses(tuned, dialogues)
    for name, values in (("before", before), ("after", after)):
        print(name, estimate([value for (value,) in values.values()]))
    print("after - before", paired_difference(after, before))
