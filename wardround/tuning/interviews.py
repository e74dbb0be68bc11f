"""Evaluate an interviewer during training: each checkpoint plays the doctor in an experiment."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from transformers import TrainerCallback

from cases import CaseFileError
from llm import ModelSpecError, RefusedError
from llm.local_weights import in_seat
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import read_experiment
from wardround.library import find_file
from wardround.run.from_python import run_experiment
from wardround.store.durable_lines import RunStoppedError
from wardround.tuning.configuration import TrainingStoppedError, TuningError
from wardround.tuning.directory import TuningDirectory

SEAT = "clinichat.doctor"


def check_interviews(experiment: Path) -> None:
    """Refuse an experiment in which no checkpoint could take part.

    Raises:
        TuningError: names the file and the fault.
    """
    try:
        read_experiment(find_file(experiment), {}, {SEAT: "offline"})
    except (ConfigurationError, ModelSpecError) as error:
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
            counts = {name: summary[name] for name in ("attempted", "scored")}
            rows.append({"step": int(file.parent.name.rpartition("-")[2]), **counts, **means})
        pd.DataFrame(rows).sort_values("step").to_csv(self._directory.interviews_table, index=False)
