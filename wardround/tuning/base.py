"""The model that is adapted: its weights stay as they are, and a prefix or LoRA's matrices are trained beside them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llm.conversation import PLAIN_TEMPLATE
from llm.local_weights import ADAPTER_FILE, only_data
from wardround.tuning.configuration import Tuning, TuningError


def require_extra() -> None:
    """Refuse to go on without the packages of the extra `tune`.

    Raises:
        TuningError: naming them.
    """
    missing = [package for package in ("trl", "peft", "accelerate") if find_spec(package) is None]
    if missing:
        raise TuningError(f"{' and '.join(missing)} missing: training needs `pip install 'wardround[tune]'`")


def load_tokenizer(base: str) -> Any:
    """The base's tokenizer; one without a chat template gets the plain one, which is saved with what is trained.

    Raises:
        TuningError: there is none, or it has no token for the end.
    """
    from transformers import AutoTokenizer

    tokenizer: Any = _loaded(AutoTokenizer, base)
    if tokenizer.eos_token_id is None:
        raise TuningError(f"--base {base}: its tokenizer has no end-of-sequence token, so no reply would ever end")
    tokenizer.chat_template = tokenizer.chat_template or PLAIN_TEMPLATE
    return tokenizer


def load_adapted(tuning: Tuning) -> Any:
    """The frozen base with a new adapter, the same for the same seed.

    Raises:
        TuningError: the base cannot be loaded, is too short for the lengths asked for, or takes no such adapter.
    """
    import torch
    from peft import LoraConfig, PeftConfig, PrefixTuningConfig, get_peft_model
    from transformers import AutoModelForCausalLM, set_seed

    model: Any = _loaded(
        AutoModelForCausalLM, tuning.base, use_safetensors=True, dtype=getattr(torch, tuning.precision)
    )
    _check_length(model, tuning)
    adapter: PeftConfig
    if tuning.method == "prefix":
        adapter = PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=tuning.prefix)
    else:
        # "all-linear" needs no list of layer names by architecture.
        adapter = LoraConfig(
            task_type="CAUSAL_LM", r=tuning.rank, lora_alpha=2 * tuning.rank, target_modules="all-linear"
        )
    set_seed(tuning.seed)
    try:
        return get_peft_model(model, adapter)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TuningError(f"--base {tuning.base}: takes no {tuning.method} adapter ({error})") from error


def _check_length(model: Any, tuning: Tuning) -> None:
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    prefix = tuning.prefix if tuning.method == "prefix" else 0
    wanted = prefix + tuning.longest
    if positions is not None and wanted > positions:
        parts = f"{tuning.source} (--source) + {tuning.target} (--target) + 1 (the end)"
        parts += f" + {prefix} (--prefix)" if prefix else ""
        raise TuningError(f"--base {tuning.base}: reads {positions} tokens at most, not {wanted} = {parts}")


def _loaded(kind: Any, base: str, **options: Any) -> Any:
    """What a folder holds, or what a name of the Hub stands for; code that comes with a model is not run."""
    here = Path(base).is_dir()
    if not here and (Path(base).is_absolute() or base.startswith((".", "~"))):
        raise TuningError(f"--base {base}: there is no such folder")
    if (Path(base) / ADAPTER_FILE).is_file():
        raise TuningError(f"--base {base}: is an adapter; name the model that it was trained on, or a merged one")
    try:
        if here:
            only_data(Path(base))
        return kind.from_pretrained(base, local_files_only=here, trust_remote_code=False, **options)
    except Exception as error:  # each layer below has its own kinds: files, Hub, safetensors, configuration
        brief = str(error).strip().split("\n")[0]
        place = "the folder" if here else "neither a folder here nor a model that the Hub gives out"
        raise TuningError(f"--base {base}: cannot be loaded ({place}): {brief}") from error
