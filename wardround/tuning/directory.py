"""The directory of a training: its manifest, checkpoints, loss and result."""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cases.dialogues import Dialogue
from llm.model_folders import ADAPTER_FILE
from scoring.clini_eval.data_sheet import LICENCE, RESEARCH_ONLY, data_sheet
from wardround.printing import in_markdown
from wardround.store.durable_lines import only_writer
from wardround.store.provenance import differences, git_state, versions, write_json, write_whole
from wardround.tuning.configuration import Tuning, TuningError
from wardround.tuning.examples import Counts

_PACKAGES = ("wardround", "torch", "transformers", "trl", "peft", "accelerate", "tokenizers")
_COMPARED = ("configuration", "data")  # what a resumed training must have in common with its start

_WRITTEN = (  # ours, and those of a model and its checkpoints
    *("loss.*", "interviews", "interviews.csv", "interviews/*", "README.md", "*.json", "*.safetensors", "*.jinja"),
    *("*.txt", "*.model", "*.bin", ".*.part", "checkpoints/*"),
)


class TuningDirectory:
    """The files of one training. Only one process writes them at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "tuning.json"
        self.checkpoints = path / "checkpoints"
        self.table = path / "loss.csv"
        self.picture = path / "loss.svg"
        self.interviews = path / "interviews"
        self.interviews_table = path / "interviews.csv"
        self.card = path / "README.md"

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Lock the directory, which is created if missing; that of the checkpoints is the trainer's to create.

        Raises:
            TuningError: it cannot be written, or another process trains here.
        """
        refusal = f"--out {self.path}: another process is training in this directory"
        return only_writer(self.path, "", _WRITTEN, TuningError, refusal)

    def check(self, manifest: dict[str, Any]) -> bool:
        """Compare a training's manifest with the one in the directory.

        Returns:
            Whether this training is already finished here.

        Raises:
            TuningError: the directory holds another training; names the differences.
        """
        if not self.manifest.exists():
            if any((self.path / name).exists() for name in ("config.json", ADAPTER_FILE)):
                raise TuningError(f"--out {self.path}: already contains a model; choose another --out")
            return False
        try:
            before = json.loads(self.manifest.read_text("utf-8"))
            changes = [change for part in _COMPARED for change in differences(before[part], manifest[part], part)]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TuningError(f"{self.manifest}: is not a manifest ({error!r}); choose another --out") from None
        if changes:
            listed = "\n".join(f"  {change}" for change in changes)
            raise TuningError(
                f"--out {self.path}: contains another training:\n{listed}\n"
                "Choose another --out, or use the previous settings."
            )
        return before.get("finished") is not None

    def begin(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, once."""
        if not self.manifest.exists():
            write_json(self.manifest, manifest, indent=2)

    def last_checkpoint(self) -> Path | None:
        """Return the newest complete checkpoint; its state file is written last."""
        found = [path for path in self.checkpoints.glob("checkpoint-*") if _is_whole(path)]
        return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)

    def describe(self, dialogues: Sequence[Dialogue], manifest: dict[str, Any], losses: Sequence[float]) -> None:
        """Write the model card: training data and limits. The card of the library only gives the front matter."""
        sheet, settings = data_sheet(dialogues), manifest["configuration"]
        known = any(dialogue.department for dialogue in dialogues)
        front_matter = (
            self.card.read_text("utf-8").split("---", 2)[1] if self.card.exists() else "\nlibrary_name: peft\n"
        )
        card_text = Path(__file__).with_name("card.md").read_text("utf-8")
        card_text = card_text.format(
            version=manifest["versions"]["wardround"],
            method=settings["method"],
            base=settings["base"],
            turns=manifest["data"]["turns"],
            dialogues=sheet.dialogues,
            steps=len(losses),
            first=losses[0],
            last=losses[-1],
            sources=_listed(dialogue.source for dialogue in dialogues),
            models=_listed(name for dialogue in dialogues for name in dialogue.models or [""]),
            use=RESEARCH_ONLY,
            licence=LICENCE,
            rare=", ".join(map(in_markdown, sheet.rare)) or ("none" if known else "not recorded"),
        )
        write_whole(self.card, f"---{front_matter}---\n{card_text}")

    def finish(self, outcome: dict[str, Any]) -> None:
        """Record how the training ended."""
        write_json(self.manifest, {**json.loads(self.manifest.read_text("utf-8")), "finished": outcome}, indent=2)


def manifest_of(tuning: Tuning, dialogues: Sequence[Dialogue], counts: Counts) -> dict[str, Any]:
    """Return everything that the result of a training depends on."""
    text = "\n".join(dialogue.model_dump_json() for dialogue in dialogues)
    return {
        "configuration": tuning.model_dump(),
        "data": {**asdict(counts), "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:32]},
        "versions": versions(_PACKAGES),
        "git": git_state(),
        "finished": None,
    }


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted({in_markdown(name or "not recorded") for name in names}))


def _is_whole(checkpoint: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
        return True
    return False
