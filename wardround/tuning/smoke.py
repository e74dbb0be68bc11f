"""A complete training in small: a random model and a new tokenizer, with checks of the result.

It needs no network, GPU or data beyond the installation.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cases.dialogue_files import read_dialogues
from cases.dialogues import PHYSICIAN, Dialogue
from wardround.tuning.configuration import Method, Tuning
from wardround.tuning.curve import Step
from wardround.tuning.examples import UNLABELLED, examples_of

_POSITIONS = 512


class Check(NamedTuple):
    """One check, and what is wrong."""

    name: str
    faults: list[str]


def smoke_dialogues() -> list[Dialogue]:
    """Return a few short dialogues, in both languages."""
    return read_dialogues(Path(__file__).with_name("smoke_dialogues.jsonl"))[0]


def make_base(folder: Path) -> None:
    """Write a random model of two small layers, and a byte-level tokenizer trained on the dialogues."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    byte_level = ByteLevelBPETokenizer()
    texts = [message.content for dialogue in smoke_dialogues() for message in dialogue.messages]
    byte_level.train_from_iterator(texts, vocab_size=420, special_tokens=["<pad>", "</s>"], show_progress=False)
    wrapped: Any = PreTrainedTokenizerFast
    tokenizer = wrapped(
        tokenizer_object=byte_level._tokenizer, pad_token="<pad>", eos_token="</s>", model_max_length=_POSITIONS
    )
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model: Any = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=_POSITIONS,
                initializer_range=0.1,  # large enough for attention to respond to a prefix
                bos_token_id=None,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
            )
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def smoke_tuning(base: Path, method: Method) -> Tuning:
    """Return settings under which some sources are shortened, some words cut, and batches are accumulated."""
    sizes = {"epochs": 8, "batch": 4, "accumulate": 2, "prefix": 8, "source": 200, "target": 40}
    rate = {"prefix": 0.3, "lora": 1e-2}[method]
    return Tuning.model_validate({"base": str(base), "method": method, "learning_rate": rate, **sizes})


def smoke(folder: Path, told: Callable[[str], None]) -> Iterator[Check]:
    """Train by both methods in a folder, and yield each check when its training is done."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    from llm.local_weights import load_model
    from wardround.tuning.train import train

    base = folder / "base"
    make_base(base)
    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    untrained: Any = AutoModelForCausalLM.from_pretrained(base, local_files_only=True)
    dialogues = smoke_dialogues()
    examples, counts = examples_of(dialogues, tokenizer, source=200, target=40)
    batch = DataCollatorForLanguageModeling(tokenizer.pad_token_id)([example.row for example in examples])
    words = [message.content for dialogue in dialogues for message in dialogue.messages if message.role == PHYSICIAN]
    told(f"{counts.examples} examples, {counts.shortened_sources} sources shortened, {counts.cut_targets} targets cut")
    yield Check("only the physician's words have labels", mask_faults(batch, words, tokenizer, target=40))

    methods: tuple[Method, ...] = ("prefix", "lora")
    for method in methods:
        tuning = smoke_tuning(base, method)
        outcome = train(tuning, dialogues, folder / method)
        trained = outcome.model.eval()
        per_epoch = -(-counts.examples // tuning.batch)
        told(f"{method}: loss {outcome.steps[0].loss:.3f} to {outcome.steps[-1].loss:.3f}")
        untrained.to(trained.device)  # the trainer has moved the model to the GPU, if there is one
        frozen = frozen_faults(dict(untrained.named_parameters()), base_weights(trained))
        yield Check(f"{method}: the base is unchanged", frozen)
        yield Check(f"{method}: the loss is recorded", loss_faults(outcome.steps, per_epoch * tuning.epochs))
        with torch.inference_mode():
            reloaded = load_model(str(folder / method)).model.to(trained.device)  # Apple's GPU alone trains
            there = {name: values.to(trained.device) for name, values in batch.items()}
            logits = [model(**there).logits.cpu() for model in (untrained, trained, reloaded)]
        yield Check(f"{method}: the reloaded adapter predicts the same", reload_faults(*logits))


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
