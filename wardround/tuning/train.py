"""Train an adapter on dialogues; an interrupted training resumes at its last checkpoint."""

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from datasets import Dataset
from peft import load_peft_weights, set_peft_model_state_dict
from safetensors import SafetensorError
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from cases import CaseFileError
from cases.dialogues import Dialogue
from llm import ModelSpecError, RefusedError
from llm.local_weights import in_seat
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import read_experiment
from wardround.config.preflight import check_servers
from wardround.config.selection import select
from wardround.library import find_file
from wardround.run.from_python import run_experiment
from wardround.run.own_loop import in_own_loop
from wardround.store.durable_lines import RunStoppedError
from wardround.tuning.base import load_adapted, load_tokenizer
from wardround.tuning.configuration import TrainingStoppedError, Tuning, TuningError
from wardround.tuning.curve import Step, read_table, steps_of, write_picture, write_table
from wardround.tuning.directory import TuningDirectory, manifest_of
from wardround.tuning.examples import Counts, Example, examples_of

_UNWRITTEN = "cannot be written or read; free some space if the disk is full, then run the same command again"
_ARCHIVE = "inline_container.cc"  # PyTorch's files; where the disk is full, its error names the source line alone
_NO_MEMORY = re.compile("out of memory|can't allocate memory")  # CUDA's and Apple's GPUs; processors

Report = Callable[[Step, int], None]  # called with a step and the number of steps


@dataclass(frozen=True)
class Outcome:
    """The result of a training."""

    counts: Counts
    steps: list[Step]
    model: Any = None  # the adapted model; None if everything was done before


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
    """Train an adapter on dialogues, or resume an interrupted training.

    Args:
        tuning: the settings.
        dialogues: each turn of the physician that answers the patient is learnt.
        out: directory for the adapter, the loss and the manifest.
        report: called after each step.
        save_every: steps between two checkpoints; does not affect the result.
        keep: number of checkpoints kept.
        evaluate: an experiment in which each checkpoint plays the doctor; does not affect the result.
        told: called with a line about each such evaluation.

    Raises:
        TuningError: the settings or dialogues cannot be used, or the directory holds another training.
        TrainingStoppedError: the training could not continue; its checkpoints are kept.
    """
    if evaluate is not None:
        check_interviews(evaluate)
    tokenizer = load_tokenizer(tuning.base)
    examples, counts = examples_of(dialogues, tokenizer, tuning.source, tuning.target, tuning.example)
    if not examples:
        raise TuningError("the dialogues have no turn in which the physician answers the patient")
    directory = TuningDirectory(out)
    manifest = manifest_of(tuning, dialogues, counts)
    with directory.locked():
        if directory.check(manifest):
            return Outcome(counts, read_table(directory.table))
        model = load_adapted(tuning)
        started = time.monotonic()
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
            # Of this call only: time spent before an interruption is not included.
            seconds = round(time.monotonic() - started, 1)
            directory.finish({"steps": len(steps), "last_loss": steps[-1].loss, "seconds": seconds})
        except (OSError, SafetensorError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise TrainingStoppedError(f"{out}: {_UNWRITTEN}: {reason}") from error
        except RuntimeError as error:
            if _NO_MEMORY.search(str(error)):
                raise TrainingStoppedError(
                    "out of memory: use a larger --accumulate to process a batch in smaller parts"
                ) from error
            if _ARCHIVE not in str(error):
                raise
            raise TrainingStoppedError(f"{out}: {_UNWRITTEN}: a checkpoint is cut off ({error})") from error
    return Outcome(counts, steps, model)


def trainer_of(
    model: Any, tokenizer: Any, examples: list[Example], tuning: Tuning, checkpoints: Path, save_every: int, keep: int
) -> SFTTrainer:
    """Return TRL's trainer of an adapted model for examples that are already tokens and labels."""
    arguments = SFTConfig(
        output_dir=str(checkpoints),
        num_train_epochs=tuning.epochs,
        per_device_train_batch_size=tuning.batch // tuning.accumulate,
        gradient_accumulation_steps=tuning.accumulate,
        packing=tuning.packing,
        packing_strategy="bfd",  # packs whole examples, each attended to separately
        max_length=tuning.longest if tuning.packing else None,  # nothing is cut: no example is longer
        gradient_checkpointing=tuning.checkpointing,
        bf16=False,  # the base has its own precision; the adapter is float32
        learning_rate=tuning.learning_rate,
        lr_scheduler_type="linear",
        seed=tuning.seed,
        data_seed=tuning.seed,
        logging_steps=1,
        logging_nan_inf_filter=False,  # so that a NaN loss is visible
        save_strategy="steps",
        save_steps=save_every,
        save_total_limit=keep,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # several would each take a batch, and cannot share a prefix
    trainer = _AdapterTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_list([example.row for example in examples]),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


class _AdapterTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's trainer, which also resumes a prefix (peft does not), and sends no telemetry."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        set_peft_model_state_dict(self.model, load_peft_weights(resume_from_checkpoint, device="cpu"))

    def _send_telemetry(self) -> None:
        """Send nothing, whatever the environment says."""

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Write nothing: the card is ours."""


class _Recorder(TrainerCallback):
    """Records each step when it is done; a resumed training starts with the steps of its checkpoint."""

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
                    f"step {step.step}: the loss is not a number; try a lower --learning-rate and another --out"
                )
            if self._report is not None:
                self._report(step, state.max_steps)


SEAT = "clinichat.doctor"


def check_interviews(experiment: Path) -> None:
    """Refuse an experiment in which no checkpoint could take part.

    Raises:
        TuningError: names the file and the fault.
    """
    try:
        read = read_experiment(find_file(experiment), {}, {SEAT: "hf:."})  # a model, as a checkpoint will be
        select(read.data)
        others = {role: spec for role, spec in read.context.models.items() if role != SEAT}
        in_own_loop(check_servers(read.context.model_copy(update={"models": others})))
    except (CaseFileError, ConfigurationError, ModelSpecError) as error:
        raise TuningError(f"--evaluate {experiment}: {error}") from error


class Interviews(TrainerCallback):
    """Runs an experiment with each checkpoint as the doctor, and tabulates the mean scores.

    The model in memory is used, and training is not affected. An interrupted run is resumed when the training is.
    """

    def __init__(self, experiment: Path, directory: TuningDirectory, tokenizer: Any, told: Callable[[str], None]):
        self._experiment = experiment
        self._directory = directory
        self._tokenizer = tokenizer
        self._report = told

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Run at the checkpoint from which training resumes."""
        if state.global_step:
            self._run_interviews(state.global_step, model)

    def on_save(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Run at each new checkpoint."""
        self._run_interviews(state.global_step, model)

    def _run_interviews(self, step: int, model: Any) -> None:
        checkpoint = self._directory.checkpoints / f"checkpoint-{step}"
        run = self._directory.interviews / checkpoint.name
        try:
            with in_seat(checkpoint, model, self._tokenizer):
                summary = run_experiment(self._experiment, run, models={SEAT: f"hf:{checkpoint}"})
        except (CaseFileError, ConfigurationError, ModelSpecError, RefusedError, RunStoppedError) as error:
            raise TrainingStoppedError(f"--evaluate {self._experiment}, step {step}: {error}") from error
        self._write()
        means = {name: score["mean"] for name, score in summary["scores"].items() if score["mean"] is not None}
        listed = ", ".join(f"{name} {mean:.2f}" for name, mean in means.items())
        self._report(f"step {step}: {summary['scored']} of {summary['attempted']} interviews scored; {listed}")

    def _write(self) -> None:
        rows = []
        for file in self._directory.interviews.glob("*/summary.json"):
            summary = json.loads(file.read_text("utf-8"))
            means = {name: score["mean"] for name, score in summary["scores"].items()}
            means |= {f"{name}.failed_as_wrong": one["mean"] for name, one in summary["failed_as_wrong"].items()}
            counts = {name: summary[name] for name in ("attempted", "scored")}
            rows.append({"step": int(file.parent.name.rpartition("-")[2]), **counts, **means})
        pd.DataFrame(rows).sort_values("step").to_csv(self._directory.interviews_table, index=False)
