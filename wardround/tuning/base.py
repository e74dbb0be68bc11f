"""The base model: its weights stay frozen, while a prefix or LoRA matrices are trained."""

from contextlib import suppress
from importlib.util import find_spec
from os.path import commonprefix
from pathlib import Path
from typing import Any

from llm.conversation import PLAIN_TEMPLATE
from llm.model_folders import ADAPTER_FILE, only_data
from wardround.tuning.configuration import Tuning, TuningError


def require_extra() -> None:
    """Refuse to continue without the packages of the extra `tune`.

    Raises:
        TuningError: names the missing packages.
    """
    missing = [package for package in ("trl", "peft", "accelerate") if find_spec(package) is None]
    if missing:
        raise TuningError(f"{' and '.join(missing)} not installed: training needs `pip install 'wardround[tune]'`")


def load_tokenizer(base: str) -> Any:
    """Load the base's tokenizer; if it has no chat template, it gets the plain one, which is saved with the adapter.

    Raises:
        TuningError: there is no tokenizer, it has no end-of-sequence token, or one that begins a turn.
    """
    from transformers import AutoTokenizer

    tokenizer: Any = _load(AutoTokenizer, base)
    if tokenizer.eos_token_id is None:
        raise TuningError(f"--base {base}: its tokenizer has no end-of-sequence token, so replies would never end")
    tokenizer.chat_template = tokenizer.chat_template or PLAIN_TEMPLATE
    if tokenizer.eos_token in _opening(tokenizer):  # as some conversions of GGUF files have it
        raise TuningError(
            f"--base {base}: its end-of-sequence token {tokenizer.eos_token!r} begins the model's turn in its chat "
            "template, so replies would never end; correct eos_token in its tokenizer_config.json"
        )
    return tokenizer


def _opening(tokenizer: Any) -> str:
    """Return what the chat template writes before the model's words, if anything."""
    from jinja2.exceptions import TemplateError

    asked = [{"role": "user", "content": "I cough."}]
    with suppress(TemplateError):
        without, opened = (
            str(tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=prompted))
            for prompted in (False, True)
        )
        return opened[len(commonprefix([without, opened])) :]  # noqa: RUF071 - of characters
    return ""


def load_adapted(tuning: Tuning) -> Any:
    """Load the frozen base with a new adapter, which is the same for the same seed.

    Raises:
        TuningError: the base cannot be loaded, has too short a context, or does not support the adapter.
    """
    import torch
    from peft import LoraConfig, PeftConfig, PrefixTuningConfig, get_peft_model
    from transformers import AutoModelForCausalLM, set_seed

    model: Any = _load(AutoModelForCausalLM, tuning.base, use_safetensors=True, dtype=getattr(torch, tuning.precision))
    _check_length(model, tuning)
    adapter: PeftConfig
    if tuning.method == "prefix":
        adapter = PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=tuning.prefix)
    else:
        # "all-linear" avoids a list of layer names by architecture.
        adapter = LoraConfig(
            task_type="CAUSAL_LM", r=tuning.rank, lora_alpha=2 * tuning.rank, target_modules="all-linear"
        )
    set_seed(tuning.seed)
    try:
        return get_peft_model(model, adapter)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TuningError(f"--base {tuning.base}: does not support a {tuning.method} adapter ({error})") from error


def _check_length(model: Any, tuning: Tuning) -> None:
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    prefix = tuning.prefix if tuning.method == "prefix" else 0
    needed = prefix + tuning.longest
    if positions is not None and needed > positions:
        parts = f"{tuning.source} (--source) + {tuning.target} (--target) + 1 (end of sequence)"
        parts += f" + {prefix} (--prefix)" if prefix else ""
        raise TuningError(f"--base {tuning.base}: reads at most {positions} tokens, but needs {needed}: {parts}")


def _load(kind: Any, base: str, **options: Any) -> Any:
    """Load from a folder or from the Hub; code that comes with a model is not run."""
    is_local = Path(base).is_dir()
    if not is_local and (Path(base).is_absolute() or base.startswith((".", "~"))):
        raise TuningError(f"--base {base}: folder not found")
    if (Path(base) / ADAPTER_FILE).is_file():
        raise TuningError(f"--base {base}: is an adapter; name the model that it was trained on, or a merged model")
    try:
        if is_local:
            only_data(Path(base))
        return kind.from_pretrained(base, local_files_only=is_local, trust_remote_code=False, **options)
    except Exception as error:  # each layer below raises its own types: files, Hub, safetensors, configuration
        brief = str(error).strip().split("\n")[0]
        place = "the folder" if is_local else "neither a local folder nor a model available on the Hub"
        raise TuningError(f"--base {base}: cannot be loaded ({place}): {brief}") from error
