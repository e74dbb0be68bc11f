"""Folders of models that run in this process: what one must hold, and what it must not bring."""

import hashlib
import json
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llm.errors import ModelSpecError

ADAPTER_FILE, _ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_CONTENT = frozenset({".json", ".jinja", ".model", ".safetensors", ".txt"})
_PART, _PARTS = 2**20, 64  # bytes and number of the parts of a large file that its fingerprint reads
_POINTER = b"version https://git-lfs"
_PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".joblib"})


def only_data(folder: Path) -> None:
    """Reject a model folder that would run code: Python files, an `auto_map` to them, or pickled weights.

    Weights that were not fetched are rejected too.

    Raises:
        ModelSpecError: names the file and the remedy.
    """
    code = next(folder.rglob("*.py"), None) or next(filter(_names_code, folder.rglob("*config*.json")), None)
    if code is not None:
        raise ModelSpecError(
            f"{folder} contains code ({code.relative_to(folder)}), which is not run; use a model of an architecture "
            "that transformers supports"
        )
    pickled = [file for file in folder.rglob("*") if file.suffix in _PICKLED]
    if pickled and not any(folder.rglob("*.safetensors")):
        raise ModelSpecError(
            f"{folder} has its weights in {pickled[0].name}, which can contain code; save them as .safetensors"
        )
    for file in folder.rglob("*.safetensors"):
        with file.open("rb") as weights:
            if weights.read(len(_POINTER)) == _POINTER:
                raise ModelSpecError(f"{file} is a pointer of Git LFS, not the weights; run `git lfs pull` there")


def _names_code(config: Path) -> bool:
    with suppress(OSError, ValueError, TypeError, LookupError):  # unreadable files are reported on loading
        return bool(json.loads(config.read_text("utf-8"))["auto_map"])
    return False


def check_folder(folder: str) -> None:
    """Reject a folder that cannot be loaded or would run code, without loading it.

    Raises:
        ModelSpecError: it is no model, brings code, or a package or the adapter's base is missing.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ModelSpecError(f"hf:{folder} is not a folder on this machine; models are not downloaded")
    only_data(path)
    training_of(path)
    if not (path / ADAPTER_FILE).is_file():
        if not (path / "config.json").is_file():
            raise ModelSpecError(f"hf:{folder} is not a model: it has neither config.json nor {ADAPTER_FILE}")
        return
    if find_spec("peft") is None:
        raise ModelSpecError(f"hf:{folder} is an adapter, which needs the extra `tune`: pip install 'wardround[tune]'")
    base = base_of(path)
    if not Path(base).is_dir() and (Path(base).is_absolute() or not _is_cached(base)):
        raise ModelSpecError(f"hf:{folder} was trained on {base}, which is not on this machine")
    if not (path / _ADAPTER_WEIGHTS).is_file():
        raise ModelSpecError(f"hf:{folder} is an adapter without its weights, {_ADAPTER_WEIGHTS}; copy them there")
    if Path(base).is_dir():
        only_data(Path(base))


def base_of(adapter: Path) -> str:
    """Return the name or folder of the model that an adapter was trained on; ModelSpecError if it names none."""
    try:
        base = json.loads((adapter / ADAPTER_FILE).read_text("utf-8"))["base_model_name_or_path"]
        if not isinstance(base, str) or not base:
            raise ValueError(f"found {base!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "write its name or folder under base_model_name_or_path"
        raise ModelSpecError(f"hf:{adapter}: {ADAPTER_FILE} names no base model ({error!r}); {remedy}") from None
    return base


def fingerprint(folder: str) -> str:
    """Return what tells two states of a model's folder apart: 16 hexadecimal digits of a SHA-256; empty without one.

    Of large files, parts spread over them are read: other weights differ nearly everywhere. The base of an adapter
    counts if it is a folder too.
    """
    path, digest = Path(folder), hashlib.sha256()
    base = [Path(base_of(path))] if (path / ADAPTER_FILE).is_file() else []
    for file in [file for part in (path, *base) for file in sorted(part.glob("*")) if file.suffix in _CONTENT]:
        size = file.stat().st_size
        digest.update(f"{file.name} {size}\n".encode())
        with file.open("rb") as content:
            for start in range(0, size, max(_PART, size // _PARTS)):
                content.seek(start)
                digest.update(content.read(_PART))
    return digest.hexdigest()[:16] if path.is_dir() else ""


def _is_cached(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    with suppress(HFValidationError):
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    return False


def training_of(folder: Path) -> dict[str, Any]:
    """Return the training configuration of a model or checkpoint of `wardround tune`; empty for other models."""
    for manifest in (folder / "tuning.json", folder.parent.parent / "tuning.json"):
        if manifest.is_file() and (manifest.parent == folder or folder.parent.name == "checkpoints"):
            try:
                return dict(json.loads(manifest.read_text("utf-8"))["configuration"])
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise ModelSpecError(f"hf:{folder}: {manifest} does not say how it was trained ({error!r})") from None
    return {}
