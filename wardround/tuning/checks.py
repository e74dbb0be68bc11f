"""Checks of a training; each returns what is wrong, and an empty list if nothing is."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wardround.tuning.curve import Step
from wardround.tuning.examples import UNLABELLED


def mask_faults(batch: Mapping[str, Any], words: Sequence[str], tokenizer: Any, target: int) -> list[str]:
    """Check that the labels are the physician's words with their end, in place, and nothing else.

    ``words`` is what the physician says in each row, cut at the target length.
    """
    faults = []
    rows = zip(*(batch[name].tolist() for name in ("input_ids", "attention_mask", "labels")), words, strict=True)
    for number, (tokens, attended, labels, spoken) in enumerate(rows):
        labelled = [index for index, label in enumerate(labels) if label != UNLABELLED]
        spoken_tokens = tokenizer(spoken, add_special_tokens=False).input_ids
        expected = [*spoken_tokens, tokenizer.eos_token_id] if len(spoken_tokens) <= target else spoken_tokens[:target]
        if [labels[index] for index in labelled] != expected:
            text = tokenizer.decode([labels[index] for index in labelled])
            faults.append(f"row {number}: the labels say {text!r}, the physician said {spoken!r}")
        if any(labels[index] != tokens[index] or not attended[index] for index in labelled):
            faults.append(f"row {number}: a label differs from the token at its position")
        if labelled and (labelled[-1] != sum(attended) - 1 or labelled[-1] - labelled[0] != len(labelled) - 1):
            faults.append(f"row {number}: the labels are not at the end of the sequence")
    return faults


def base_weights(adapted: Any) -> dict[str, Any]:
    """Return the base weights of an adapted model, under their names in the base."""
    return {
        name.replace(".base_layer.", "."): weight
        for name, weight in adapted.get_base_model().named_parameters()
        if ".lora_" not in name
    }


def frozen_faults(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Check that the base weights are unchanged."""
    import torch

    missing = [f"{name} is in only one of the two models" for name in sorted(before.keys() ^ after.keys())]
    changed = [name for name in before.keys() & after.keys() if not torch.equal(before[name], after[name])]
    return missing + [f"{name} has changed" for name in sorted(changed)]


def loss_faults(steps: Sequence[Step], wanted: int) -> list[str]:
    """Check that the loss of each step was recorded, is finite, and has fallen."""
    if [step.step for step in steps] != list(range(1, wanted + 1)):
        return [f"{len(steps)} steps are recorded, not 1 to {wanted}"]
    faults = [f"step {step.step}: the loss is {step.loss}" for step in steps if not math.isfinite(step.loss)]
    third = max(1, wanted // 3)
    first, last = (math.fsum(step.loss for step in part) / third for part in (steps[:third], steps[-third:]))
    return faults or ([] if last < first else [f"the loss went from {first:.3f} to {last:.3f}"])


def reload_faults(base: Any, trained: Any, reloaded: Any) -> list[str]:
    """Check that the reloaded adapter predicts exactly as the trained one, and not as the base."""
    import torch

    faults = []
    if not torch.equal(trained, reloaded):
        faults.append(f"reloaded logits differ by up to {(trained - reloaded).abs().max().item():.2g}")
    if torch.equal(trained, base):
        faults.append("the adapter changes nothing: its logits are the base's")
    return faults
