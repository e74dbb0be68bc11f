"""Train the network of `nodes/reconstruction/alignment.py`; `wardround.training.gates` calls this."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.reconstruction.alignment import HIDDEN, SHAPES
from retrieval.embedding_models import one_thread
from retrieval.token_vectors import WIDTH

_EPOCHS, _BATCH, _RATE, _DECAY, _DROPOUT = 8, 2, 2e-3, 0.05, 0.2
_SCALE = {"sharpness": 1.0, "project": 0.3, "compare": (4 * HIDDEN) ** -0.5, "decide": (2 * HIDDEN) ** -0.5}
_SHARPNESS = (12.0, 4.0)  # to begin with


class Aligned(NamedTuple):
    """A note's tokens (n, d), statements' tokens, and whether each statement is false."""

    noted: NDArray[np.float32]
    said: Sequence[NDArray[np.float32]]
    false: Sequence[bool]


@one_thread()
def fitted(notes: Sequence[Aligned]) -> NDArray[np.float64]:
    """Return the weights as one vector; true and false statements weigh alike as a whole."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits, dropout

    torch.manual_seed(0)
    weights = {name: torch.randn(shape) * _SCALE.get(name, 0.0) for name, shape in SHAPES.items()}
    weights["sharpness"] = torch.tensor(_SHARPNESS)
    optimizer = torch.optim.AdamW([each.requires_grad_() for each in weights.values()], lr=_RATE, weight_decay=_DECAY)
    steps = _EPOCHS * -(-len(notes) // _BATCH)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.02, steps)
    labels = np.concatenate([each.false for each in notes])
    weight_of = {label: len(labels) / 2 / max(1, (labels == label).sum()) for label in (False, True)}

    def unborne(said: torch.Tensor, lengths: torch.Tensor, noted: torch.Tensor) -> torch.Tensor:
        word, meaning = (said[:, layer] @ noted[:, layer].T for layer in (slice(WIDTH), slice(WIDTH, None)))
        attention = (weights["sharpness"][0] * meaning + weights["sharpness"][1] * word).softmax(1)
        own, theirs = (dropout((rows @ weights["project"]).tanh(), _DROPOUT) for rows in (said, noted))
        theirs = attention @ theirs
        nearest = torch.stack([meaning.amax(1), word.amax(1)], 1)
        compared = torch.hstack([own, theirs, own * theirs, (own - theirs).abs(), nearest])
        compared = dropout((compared @ weights["compare"] + weights["compare_bias"]).relu(), _DROPOUT)
        pooled = [torch.segment_reduce(compared, each, lengths=lengths) for each in ("mean", "max")]
        scores: torch.Tensor = torch.hstack(pooled) @ weights["decide"] + weights["decide_bias"]
        return scores

    for _ in range(_EPOCHS):
        for batch in torch.randperm(len(notes)).split(_BATCH):  # type: ignore[no-untyped-call]
            for noted, said, false in (notes[at] for at in batch if len(notes[at].said)):
                lengths = torch.tensor([len(each) for each in said])
                scores = unborne(torch.tensor(np.vstack(said)), lengths, torch.tensor(noted))
                weighed = torch.tensor([weight_of[label] for label in false])
                target = torch.tensor(false, dtype=torch.float32)
                loss = binary_cross_entropy_with_logits(scores, target, weighed, reduction="sum")
                (loss * len(notes) / len(labels) / _BATCH).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
    return np.concatenate([each.detach().double().numpy().ravel() for each in weights.values()])
