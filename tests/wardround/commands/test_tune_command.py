"""``wardround tune``: what it trains, what it leaves behind, what it refuses, and that a kill loses nothing."""

import gc
import importlib.util
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner, Result

from llm.local_weights import load_model
from wardround.cli import app
from wardround.commands import tune as tune_module
from wardround.commands.tune import tune as tune_command
from wardround.tuning import examples
from wardround.tuning.configuration import LEARNING_RATES, Tuning
from wardround.tuning.curve import Step, read_table
from wardround.tuning.directory import TuningDirectory
from wardround.tuning.examples import Example
from wardround.tuning.smoke import make_base, smoke, smoke_dialogues

pytestmark = pytest.mark.slow

SMALL = {"epochs": 4, "batch": 4, "prefix": 4, "source": 200, "target": 40, "learning_rate": 0.1, "save_every": 2}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with dialogues and a base."""
    folder = tmp_path_factory.mktemp("tune")
    make_base(folder / "base")
    lines = "".join(f"{one.model_dump_json()}\n" for one in smoke_dialogues())
    (folder / "dialogues.jsonl").write_text(lines, "utf-8")
    return folder


@pytest.fixture(autouse=True)
def _imported_once_is_not_searched() -> Iterator[None]:
    """Each training ends with Accelerate's search for garbage, a third of a second in all that PyTorch has brought."""
    yield
    gc.freeze()


def arguments(work: Path, out: Path, **options: object) -> list[str]:
    given: dict[str, object] = {"base": work / "base", "out": out, **SMALL, **options}
    named = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
        for name, value in given.items()
        if value is not None
    ]
    return ["tune", str(work / "dialogues.jsonl"), *named]


def tune(work: Path, out: Path, **options: object) -> Result:
    return CliRunner().invoke(app, arguments(work, out, **options))


def refused(told: Result) -> str:
    """What is said of bad input: one error, no traceback, exit status 2."""
    assert told.exit_code == 2 and "Traceback" not in told.output
    assert told.stderr.startswith("error: ") and told.stderr.count("error:") == 1
    return told.stderr


def forbid_network(patch: pytest.MonkeyPatch) -> None:
    def connect(self: socket.socket, address: object) -> None:
        raise AssertionError(f"a connection to {address!r} was asked for")

    patch.setattr(socket.socket, "connect", connect)


def test_smoke_trains_by_both_methods_offline_and_says_what_it_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_network(monkeypatch)
    told = CliRunner().invoke(app, ["tune", "--smoke"])
    assert told.exit_code == 0, told.output
    assert "7 checks, 0 failed" in told.stdout
    parts = ("have labels", "base is unchanged", "loss is recorded", "the reloaded adapter predicts the same")
    assert all(told.stdout.count(part) == (1 if part == "have labels" else 2) for part in parts)
    assert "1 sources shortened, 1 targets cut" in told.stdout


def test_smoke_ends_with_1_and_says_what_failed_if_the_patients_words_are_labelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = examples._example
    monkeypatch.setattr(
        examples, "_example", lambda tokens, labels: Example(made(tokens, labels).tokens, made(tokens, labels).tokens)
    )
    monkeypatch.setattr(
        "wardround.tuning.smoke.smoke", lambda *given: islice(smoke(*given), 1)
    )  # what trains comes after
    told = CliRunner().invoke(app, ["tune", "--smoke"])
    assert told.exit_code == 1
    assert "FAILED: only the physician's words have labels" in told.stdout
    assert "the labels say 'Patient:" in told.stdout and "1 checks, 1 failed" in told.stdout


def test_smoke_compares_what_was_trained_on_a_gpu_that_hf_models_do_not_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As Apple's: the tokens lay there, and the reloaded adapter did not."""

    class Elsewhere:
        def __init__(self, folder: str) -> None:
            self.model = self
            self.loaded = load_model(folder).model

        def to(self, device: object) -> Any:
            return self.loaded.to(device)

    monkeypatch.setattr("llm.local_weights.load_model", Elsewhere)
    checks = list(islice(smoke(tmp_path, print), 4))
    assert checks[3] == ("prefix: the reloaded adapter predicts the same", [])


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_where_memory_is_short_a_training_stops_with_what_to_do(
    device: str, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only CUDA has an error of its own for this; of others, there was a traceback."""
    import torch

    def trainer_of(*_: object) -> None:
        if device == "mps":
            raise RuntimeError("MPS backend out of memory (MPS allocated: 18.1 GB)")
        torch.empty(2**50)

    monkeypatch.setattr("wardround.tuning.train.trainer_of", trainer_of)
    told = tune(work, tmp_path / "out")
    assert told.exit_code == 1 and "out of memory: use a larger --accumulate" in told.stderr


def test_a_training_leaves_an_adapter_its_loss_and_what_it_rests_on(work: Path, tmp_path: Path) -> None:
    told = tune(work, tmp_path / "out", keep=3)
    assert told.exit_code == 0, told.output
    assert f"Model: hf:{tmp_path / 'out'}" in told.stdout and "1 cut at the target length" in told.stdout
    steps = read_table(tmp_path / "out" / "loss.csv")
    assert [step.step for step in steps] == list(range(1, 13)) and steps[-1].loss < steps[0].loss
    assert (tmp_path / "out" / "loss.svg").read_text().count("<svg") == 1
    manifest = json.loads((tmp_path / "out" / "tuning.json").read_text())
    assert manifest["configuration"]["base"] == str(work / "base") and manifest["configuration"]["method"] == "prefix"
    assert manifest["data"]["examples"] == 10 and manifest["data"]["cut_targets"] == 1
    assert manifest["finished"]["steps"] == 12 and manifest["versions"]["peft"]
    adapter = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    assert adapter["base_model_name_or_path"] == str(work / "base") and adapter["num_virtual_tokens"] == 4

    assert len(list((tmp_path / "out" / "checkpoints").glob("checkpoint-*"))) == 3
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith(f"---\nbase_model: {work / 'base'}\n") and "More Information Needed" not in card
    assert "that of the base, of the notes and of the models that wrote the dialogues; this card" in card
    assert "**For research only, not for care.** No" in card and "10 turns of 3 dialogues, 12 steps" in card
    assert "| departments with under 2 % of the dialogues | not recorded |" in card

    again = tune(work, tmp_path / "out")
    assert again.exit_code == 0 and "already trained" in again.stdout
    said = refused(tune(work, tmp_path / "out", epochs=2, seed=None))
    assert "configuration.epochs: was 4, is 2" in said and "configuration.seed" not in said


METHODS: dict[str, dict[str, object]] = {"prefix": {"method": "prefix"}, "lora": {"method": "lora", "prefix": None}}


@pytest.fixture(scope="module")
def cut(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a training by each method that was killed at its fifth step; a fork has nothing to import."""
    folder = tmp_path_factory.mktemp("cut")
    for method, options in METHODS.items():
        child = multiprocessing.get_context("fork").Process(
            target=_killed, args=[arguments(work, folder / method, **options)]
        )
        child.start()
        child.join(120)
        child.kill()
        assert child.exitcode == -signal.SIGKILL
        assert (folder / method / "checkpoints").is_dir()
    return folder


def _killed(line: list[str]) -> None:
    def report(step: Step, steps: int) -> None:
        if step.step == 5:
            os.kill(os.getpid(), signal.SIGKILL)

    tune_module._report = report
    app(line)


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_training_goes_on_and_ends_as_if_it_had_not_been_killed(
    work: Path, cut: Path, tmp_path: Path, method: str
) -> None:
    options = METHODS[method]
    assert tune(work, tmp_path / "whole", **options).exit_code == 0
    (cut / method).rename(tmp_path / "cut")
    assert len(read_table(tmp_path / "cut" / "loss.csv")) == 5
    newest = tmp_path / "cut" / "checkpoints" / "checkpoint-4"
    assert newest.is_dir()
    torn = tmp_path / "cut" / "checkpoints" / "checkpoint-6"  # as if killed while it was written
    torn.mkdir()
    (torn / "adapter_config.json").write_text("{}")

    told = tune(work, tmp_path / "cut", **options)
    assert told.exit_code == 0, told.output
    assert "step 5/12" in told.stderr and "step 4/12" not in told.stderr
    assert (tmp_path / "cut" / "loss.csv").read_text() == (tmp_path / "whole" / "loss.csv").read_text()
    weights = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("whole", "cut")]
    assert weights[0] == weights[1]


def test_a_full_disk_stops_the_training_with_1_and_the_same_command_goes_on(work: Path, tmp_path: Path) -> None:
    """A limit on the size of files is met as a full disk is: by safetensors, then by PyTorch's own files."""
    import resource

    lora = {"method": "lora", "prefix": None, "rank": 64, "learning_rate": None, "epochs": 1}
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in (60_000, 550_000):  # bytes: less than an adapter has, and than its optimizer
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, unlimited[1]))
        try:
            told = tune(work, tmp_path / "out", **lora)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        assert told.exit_code == 1 and "free some space" in told.stderr and "Traceback" not in told.output, told.output
    told = tune(work, tmp_path / "out", **lora)
    assert told.exit_code == 0 and [step.step for step in read_table(tmp_path / "out" / "loss.csv")] == [1, 2, 3]


def test_a_batch_in_parts_is_learnt_from_like_a_whole_one(work: Path, tmp_path: Path) -> None:
    losses = []
    for parts in (1, 4):
        assert tune(work, tmp_path / str(parts), accumulate=parts, epochs=2).exit_code == 0
        losses.append([step.loss for step in read_table(tmp_path / str(parts) / "loss.csv")])
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_dialogues_are_encoded_once_and_checkpointing_changes_nothing(work: Path, tmp_path: Path) -> None:
    losses = []
    for folder, more in (("plain", ()), ("checkpointed", ("--checkpointing",))):
        options = {"example": "dialogue", "method": "lora", "prefix": None, "epochs": 1, "batch": 2}
        told = CliRunner().invoke(app, [*arguments(work, tmp_path / folder, **options), *more])
        assert told.exit_code == 0, told.output
        losses.append([step.loss for step in read_table(tmp_path / folder / "loss.csv")])
    assert "10 turns of the physician in" in told.stdout and len(losses[0]) < 5
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


INTERVIEW = """
graph = "consultation"
suite = "clini_eval"
[data]
case_ids = ["surgery-01"]
[models]
default = "offline"
[workflow]
patient = "clinichat"
retrieval = false
max_turns = 1
max_tokens = 8
"""


def test_each_checkpoint_interviews_while_the_training_goes_on_and_nothing_else_changes(
    work: Path, tmp_path: Path
) -> None:
    (tmp_path / "interview.toml").write_text(INTERVIEW)
    options = {"epochs": 2, "save_every": 3, "keep": 1}
    assert tune(work, tmp_path / "plain", **options).exit_code == 0
    told = tune(work, tmp_path / "watched", evaluate=tmp_path / "interview.toml", **options)
    assert told.exit_code == 0, told.output
    assert "step 3: 1 of 1 interviews scored" in told.stderr and "step 6: 1 of 1" in told.stderr
    out = tmp_path / "watched"
    table = (out / "interviews.csv").read_text().splitlines()
    assert table[0].startswith("step,attempted,scored,") and [row[:6] for row in table[1:]] == ["3,1,1,", "6,1,1,"]
    spec = f"hf:{out / 'checkpoints' / 'checkpoint-3'}"
    spoken = json.loads((out / "interviews" / "checkpoint-3" / "manifest.json").read_text())
    assert spec in json.dumps(spoken)
    for file in ("loss.csv", "adapter_model.safetensors"):
        assert (out / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()


def test_scores_of_checkpoints_stand_beside_those_with_failed_interviews_as_wrong(tmp_path: Path) -> None:
    from wardround.tuning.train import Interviews  # seconds of imports, not for every process that collects

    directory = TuningDirectory(tmp_path)
    for step, bound in ((3, {}), (6, {"Total Score": {"mean": 20.0}})):
        summary = {"scores": {"Total Score": {"mean": 40.0}}, "failed_as_wrong": bound}
        file = directory.interviews / f"checkpoint-{step}" / "summary.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({**summary, "attempted": 2, "scored": 2 - len(bound)}), "utf-8")
    Interviews(tmp_path / "interview.toml", directory, None, print)._write()
    lines = directory.interviews_table.read_text("utf-8").splitlines()
    assert lines == ["step,attempted,scored,Total Score,Total Score.failed_as_wrong", "3,2,2,40.0,", "6,2,1,40.0,20.0"]


def test_an_experiment_in_which_no_checkpoint_can_sit_is_refused_before_the_training(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "stage.toml").write_text('graph = "clinical_workflow"\n[data]\nlimits = 1\n')
    said = refused(tune(work, tmp_path / "out", evaluate=tmp_path / "stage.toml"))
    assert said.startswith(f"error: --evaluate {tmp_path / 'stage.toml'}: ") and "limits" in said
    assert "--evaluate " in refused(tune(work, tmp_path / "out", evaluate=tmp_path / "none.toml"))
    for fault, named in (
        (f'tables = ["scores"]\n{INTERVIEW}', "mixed = true"),
        (f'{INTERVIEW}\n[judges]\ndefault = "openai:gpt-4o"\n', "needs a key"),
        (INTERVIEW.replace("[data]", '[data]\ncases = "none.jsonl"'), "none.jsonl"),
    ):
        (tmp_path / "interview.toml").write_text(fault)
        assert named in refused(tune(work, tmp_path / "out", evaluate=tmp_path / "interview.toml"))
    assert not (tmp_path / "out").exists()


def test_faults_of_the_dialogues_are_named_by_line_and_nothing_is_begun(work: Path, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"id": "a", "messages": []}\nnot json\n{"id": "b"}\n')
    given = ["tune", str(file), f"--base={work / 'base'}", f"--out={tmp_path / 'out'}"]
    told = CliRunner().invoke(app, given)
    second, third = told.stderr.splitlines()  # an error each, as of any file
    assert (
        told.exit_code == 2 and f"error: {file}, line 2: " in second and f"error: {file}, line 3, messages: " in third
    )
    assert not (tmp_path / "out").exists()
    file.write_text('{"id": "a", "messages": [{"role": "user", "content": "I cough."}]}\n')
    assert "no turn in which the physician" in refused(CliRunner().invoke(app, given))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base": "./nowhere"}, "--base ./nowhere: folder not found"),
        ({"base": None}, "DIALOGS, --base and --out are required"),
        (
            {"source": 600},
            "at most 512 tokens, but needs 645: 600 (--source) + 40 (--target) + 1 (end of sequence) + 4",
        ),
        ({"accumulate": 3}, "a batch of 4 cannot be divided into 3 equal parts"),
        ({"method": "full"}, "--method: Input should be 'prefix' or 'lora'"),
        ({"example": "word"}, "--example: Input should be 'turn' or 'dialogue'"),
        ({"rank": 4}, "--rank does not apply to --method prefix"),
        ({"packing": True}, "--packing would put one prefix before several examples; use --method lora"),
    ],
)
def test_what_cannot_be_trained_is_refused(work: Path, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    assert said in refused(tune(work, tmp_path / "out", **options))
    assert not (tmp_path / "out" / "tuning.json").exists()


def test_a_folder_that_is_no_model_or_only_an_adapter_is_no_base(work: Path, tmp_path: Path) -> None:
    assert "cannot be loaded (the folder)" in refused(tune(work, tmp_path / "out", base=tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")
    assert "is an adapter" in refused(tune(work, tmp_path / "out", base=tmp_path))


def test_a_place_where_nothing_can_be_written_is_refused(work: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(tune(work, tmp_path / "file" / "out"))
    assert "already contains a model" in refused(tune(work, work / "base"))


def test_without_the_extra_it_says_what_to_install(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("wardround.tuning.base.find_spec", lambda name: None if name == "peft" else find(name))
    assert "pip install 'wardround[tune]'" in refused(tune(work, tmp_path / "out"))


def test_a_loss_that_is_no_number_stops_the_training_with_1(work: Path, tmp_path: Path) -> None:
    told = tune(work, tmp_path / "out", method="lora", prefix=None, learning_rate=1e30)
    assert told.exit_code == 1 and "the loss is not a number; try a lower --learning-rate" in told.stderr


def test_the_guide_names_every_option() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "tuning.md").read_text("utf-8")
    parameters = signature(tune_command).parameters.keys() - {"context", "dialogues"}
    options = {f"--{name.replace('_', '-')}" for name in parameters}
    assert {option for option in options if f"`{option}" not in guide and f" {option} " not in guide} == set()


def test_the_help_tells_the_defaults_that_hold() -> None:
    parameters = signature(tune_command).parameters
    for name, field in Tuning.model_fields.items():
        default = parameters[name].default
        if name == "learning_rate":  # depends on the method
            default = get_args(parameters[name].annotation)[1].show_default
        expected = f"{field.default}; LoRA {LEARNING_RATES['lora']}" if name == "learning_rate" else field.default
        assert field.is_required() or default == expected, name


def test_the_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from wardround.cli import app\n"
        "try: app(['tune', '--help'])\n"
        "except SystemExit: print([name for name in ('torch', 'transformers', 'peft') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.endswith("[]\n")
