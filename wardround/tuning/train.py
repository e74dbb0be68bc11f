"""Training: the dialogues through the base, its adapter out; taken up at the last checkpoint if it was broken off."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import load_peft_weights, set_peft_model_state_dict
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from cases.dialogues import Dialogue
from wardround.tuning.base import load_adapted, load_tokenizer
from wardround.tuning.configuration import TrainingStoppedError, Tuning, TuningError
from wardround.tuning.curve import Step, read_table, steps_of, write_picture, write_table
from wardround.tuning.directory import TuningDirectory, manifest_of
from wardround.tuning.examples import Counts, Example, examples_of
from wardround.tuning.interviews import Interviews, check_interviews

Report = Callable[[Step, int], None]  # one step, and how many there are


@dataclass(frozen=True)
class Outcome:
    """What a training came to."""

    counts: Counts
    steps: list[Step]
    model: Any = None  # the adapted model; None if all had been done before


def train(
    tuning: Tuning,
    dialogues: Sequence[Dialogue],
    out: Path,
    report: Report | None = None,
    save_every: int = 100,
    keep: int = 2,
    evaluate: Path | None = None,
    told: Callable[[str], None] = print,
) -> Outcome:
    """Train an adapter on dialogues, or go on where an earlier call was broken off.

    Args:
        tuning: the settings.
        dialogues: of which each physician's turn that answers the patient is taught.
        out: where the adapter, the loss and the manifest go.
        report: called after each step.
        save_every: steps between two checkpoints; changes nothing in what comes out.
        keep: how many of them are kept.
        evaluate: an experiment in which each checkpoint takes the doctor's seat; changes nothing in what comes out.
        told: what comes of that.

    Raises:
        TuningError: nothing can be trained like that, or the directory holds another training.
        TrainingStoppedError: it could not go on; what a checkpoint holds is kept.
    """
    if evaluate is not None:
        check_interviews(evaluate)
    tokenizer = load_tokenizer(tuning.base)
    examples, counts = examples_of(dialogues, tokenizer, tuning.source, tuning.target, tuning.example)
    if not examples:
        raise TuningError("the dialogues hold no turn of the physician that answers the patient")
    directory = TuningDirectory(out)
    manifest = manifest_of(tuning, dialogues, counts)
    with directory.held():
        if directory.check(manifest):
            return Outcome(counts, read_table(directory.table))
        model = load_adapted(tuning)
        start = time.monotonic()
        try:
            directory.begin(manifest)
            trainer = trainer_of(model, tokenizer, examples, tuning, directory.checkpoints, save_every, keep)
            trainer.add_callback(_Recorder(directory.table, report))
            if evaluate is not None:
                trainer.add_callback(Interviews(evaluate, directory, tokenizer, told))
            checkpoint = directory.last_checkpoint()
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
            steps = steps_of(trainer.state.log_history)
            model.save_pretrained(out)
            tokenizer.save_pretrained(out)
            write_picture(directory.picture, steps)
            directory.describe(dialogues, manifest, [step.loss for step in steps])
            # Of this call alone: what was trained before a kill took its own time.
            seconds = round(time.monotonic() - start, 1)
            directory.finish({"steps": len(steps), "last_loss": steps[-1].loss, "seconds": seconds})
        except OSError as error:
            raise TrainingStoppedError(f"{out}: cannot be written: {error}") from error
        except torch.OutOfMemoryError as error:
            raise TrainingStoppedError("out of memory: a larger --accumulate takes a batch in smaller parts") from error
    return Outcome(counts, steps, model)


def trainer_of(
    model: Any,
    tokenizer: Any,
    examples: list[Example],
    tuning: Tuning,
    checkpoints: Path,
    save_every: int = 100,
    keep: int = 2,
) -> SFTTrainer:
    """TRL's trainer of an adapted model on examples that are already tokens and labels."""
    arguments = SFTConfig(
        output_dir=str(checkpoints),
        num_train_epochs=tuning.epochs,
        per_device_train_batch_size=tuning.batch // tuning.accumulate,
        gradient_accumulation_steps=tuning.accumulate,
        packing=tuning.packing,
        packing_strategy="bfd",  # whole examples side by side, each read as if it stood alone
        max_length=tuning.longest if tuning.packing else None,  # nothing is cut: no example is longer
        gradient_checkpointing=tuning.checkpointing,
        bf16=False,  # the base has its precision; the adapter is float32
        learning_rate=tuning.learning_rate,
        lr_scheduler_type="linear",
        seed=tuning.seed,
        data_seed=tuning.seed,
        logging_steps=1,
        logging_nan_inf_filter=False,  # a loss that is no number is to be seen
        save_strategy="steps",
        save_steps=save_every,
        save_total_limit=keep,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # several would each take a batch, and none can share a prefix
    trainer = _AdapterTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list([example.row for example in examples]),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _AdapterTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's trainer, which takes a prefix up again, as peft itself does not, and tells nobody that it trains."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        set_peft_model_state_dict(self.model, load_peft_weights(resume_from_checkpoint, device="cpu"))

    def _send_telemetry(self) -> None:
        """Nothing leaves the machine, whatever the environment says."""

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """The card is ours, and stands beside what comes out."""


class _Recorder(TrainerCallback):
    """Writes each step down as it is done; a training that is taken up begins with the steps of its checkpoint."""

    def __init__(self, table: Path, report: Report | None) -> None:
        self._table = table
        self._report = report

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        write_table(self._table, steps_of(state.log_history))

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        for step in steps_of(state.log_history[-1:]):
            write_table(self._table, [step], more=True)
            if not math.isfinite(step.loss):
                raise TrainingStoppedError(
                    f"step {step.step}: the loss is no number; try a lower --learning-rate and another --out"
                )
            if self._report is not None:
                self._report(step, state.max_steps)
