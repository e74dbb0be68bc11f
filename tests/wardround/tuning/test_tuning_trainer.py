"""What TRL's trainer makes of our examples: whose tokens are labelled, packed or not, and what the loss is of."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wardround.tuning.examples import UNLABELLED, Example, examples_of
from wardround.tuning.smoke import make_base, smoke_dialogues, smoke_tuning


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base(folder)
    return folder


def trainer(base: Path, folder: Path, method: Any, **options: Any) -> tuple[Any, list[Example]]:
    from transformers import AutoTokenizer

    from wardround.tuning.base import load_adapted
    from wardround.tuning.train import trainer_of

    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    tuning = smoke_tuning(base, method).model_copy(update={"accumulate": 1, "batch": 2, **options})
    examples, _ = examples_of(smoke_dialogues(), tokenizer, tuning.source, tuning.target, tuning.example)
    return trainer_of(load_adapted(tuning), tokenizer, examples, tuning, folder, 100, 2), examples


def read_apart(batch: dict[str, Any]) -> Iterator[tuple[list[int], list[int]]]:
    """Each stretch of a batch that the model reads by itself: its tokens and their labels."""
    if "position_ids" in batch:
        begins = [*(batch["position_ids"][0] == 0).nonzero().flatten().tolist(), batch["position_ids"].shape[1]]
        places = [(0, slice(first, last)) for first, last in itertools.pairwise(begins)]
    else:
        places = [(row, slice(0, int(mask.sum()))) for row, mask in enumerate(batch["attention_mask"])]
    for row, place in places:
        yield batch["input_ids"][row, place].tolist(), batch["labels"][row, place].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("example", ["turn", "dialogue"])
@pytest.mark.parametrize(("method", "packing"), [("prefix", False), ("lora", False), ("lora", True)])
def test_every_example_is_read_whole_once_and_apart_and_its_loss_is_that_of_the_physicians_words(
    base: Path, tmp_path: Path, method: str, packing: bool, example: str
) -> None:
    import torch  # not for every process that collects

    made, examples = trainer(base, tmp_path, method, packing=packing, example=example)
    read, losses, rows = [], 0.0, 0
    made.model.eval()
    for batch in made.get_train_dataloader():
        read += list(read_apart(batch))
        rows = max(rows, batch["input_ids"].shape[1])
        with torch.inference_mode():
            losses += made.compute_loss(made.model, dict(batch), num_items_in_batch=1).item()
    assert sorted(read) == sorted((one.tokens.tolist(), one.labels.tolist()) for one in examples)
    assert not packing or rows > max(len(one.tokens) for one in examples)  # several stand in one sequence

    alone = 0.0
    for one in examples:
        tokens, labels = (torch.tensor(row.tolist(), device=made.model.device) for row in (one.tokens, one.labels))
        with torch.inference_mode():
            logits = made.model(input_ids=tokens[None]).logits[0, :-1]
            alone += torch.nn.functional.cross_entropy(
                logits, labels[1:], ignore_index=UNLABELLED, reduction="sum"
            ).item()
    assert losses == pytest.approx(alone, rel=1e-4)
