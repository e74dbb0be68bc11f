"""Models run in this process: a folder of Hugging Face weights, or an adapter trained on one.

Nothing is downloaded. Each model writes one reply at a time or, with `together`, answers the questions that arrived
meanwhile as one batch.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from cases.dialogues import Message
from cases.readable import state_of
from llm.conversation import own_turn, source_tokens
from llm.errors import ModelSpecError, RefusedError
from llm.model_folders import ADAPTER_FILE, base_of, training_of

LONGEST_REPLY = 512  # tokens, if neither `max_tokens` nor the training sets a limit
_ROLES: dict[str, Literal["system", "user", "assistant"]] = {"system": "system", "human": "user", "ai": "assistant"}
_READ = frozenset({".safetensors", ".json", ".jinja", ".model"})
_DATA = {"local_files_only": True, "trust_remote_code": False}
_loading = threading.Lock()
_drawing = threading.Lock()  # all models of a process draw from the same generator of random numbers


class HfChat(BaseChatModel):
    """The chat model of a folder; its weights are loaded at the first question and shared within the process."""

    folder: str
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    together: int = 1  # replies written as one batch

    @property
    def _llm_type(self) -> str:
        return "hf"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with _loading:
            loaded = load_model(str(Path(self.folder).resolve()))
        request = _Request([_message(message) for message in messages], self)
        loaded.waiting.append(request)
        if not loaded.lock.acquire(timeout=-1 if self.timeout is None else self.timeout):
            with suppress(ValueError):  # another caller has just taken it
                loaded.waiting.remove(request)
            raise TimeoutError(f"{self.folder} was still answering other questions after {self.timeout} s")
        try:
            if request.reply is None:
                loaded.answer(request)
        finally:
            loaded.lock.release()
        if isinstance(request.reply, Exception):
            raise request.reply
        assert request.reply is not None
        return request.reply


@dataclass(eq=False)
class _Request:
    """A conversation that waits for its reply, or has it."""

    conversation: list[Message]
    how: HfChat
    reply: ChatResult | Exception | None = None


@dataclass
class LoadedModel:
    """Weights and tokenizer of a folder, tokens that end a reply, and limits on prompts and replies in tokens."""

    model: Any
    tokenizer: Any
    ends: list[int]
    longest_source: int | None  # in training
    longest_reply: int
    positions: int | None  # prompt and reply together
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: list[_Request] = field(default_factory=list)

    def answer(self, request: _Request) -> None:
        """Write the requested reply, together with waiting requests of the same settings."""
        how = request.how
        most = how.together if how.temperature == 0 else 1  # with sampling, each reply needs its own seed
        same_settings = [other for other in tuple(self.waiting) if other is not request and other.how == how]
        batch = [request, *same_settings[: most - 1]]
        for member in batch:
            with suppress(ValueError):  # its caller has just timed out
                self.waiting.remove(member)
        sources: list[tuple[_Request, list[int]]] = []
        try:
            for member in batch:
                try:
                    sources.append((member, self._source(member.conversation, how)))
                except ValueError as error:
                    member.reply = error
            written = self._written([source for _, source in sources], how) if sources else []
            for (member, source), row in zip(sources, written, strict=True):
                member.reply = self._result(member, len(source), row)
        except Exception as error:  # every caller gets the error
            for member in batch:
                member.reply = member.reply or error

    def _source(self, conversation: Sequence[Message], how: HfChat) -> list[int]:
        longest = how.max_tokens or self.longest_reply
        limit = 2**31 if self.positions is None else self.positions - longest
        # If the last message alone exceeds the length in training, the model's full context is used.
        lengths = (min(self.longest_source or limit, limit), limit)
        source = next(filter(None, (source_tokens(self.tokenizer, conversation, length) for length in lengths)), None)
        if source is None:
            raise ValueError(
                f"the last message alone is longer than the {max(limit, 0)} tokens that {how.folder} can read: its "
                f"context has {self.positions} tokens, of which {longest} are reserved for the reply; use a smaller "
                "max_tokens, or a base model with a longer context"
            )
        return source.tokens

    def _written(self, sources: Sequence[list[int]], how: HfChat) -> list[list[int]]:
        """Return the tokens written to each source; with a seed, a source always gets the same."""
        import torch

        longest = how.max_tokens or self.longest_reply
        sampling: dict[str, Any] = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        if how.temperature > 0:
            sampling = {"do_sample": True, "temperature": how.temperature, "top_p": how.top_p, "top_k": 0}
        padding = self.tokenizer.pad_token_id or self.tokenizer.eos_token_id
        width = max(map(len, sources))
        gaps = [width - len(source) for source in sources]
        rows = [[padding] * gap + source for gap, source in zip(gaps, sources, strict=True)]
        mask = [[0] * gap + [1] * (width - gap) for gap in gaps]
        draws = _draws_by(how.seed, self.model.device) if how.temperature > 0 else nullcontext()
        with draws, torch.inference_mode():
            written: list[list[int]] = self.model.generate(
                input_ids=torch.tensor(rows, device=self.model.device),
                attention_mask=torch.tensor(mask, device=self.model.device),
                max_new_tokens=longest,
                max_time=how.timeout,
                eos_token_id=self.ends or None,
                pad_token_id=padding,
                **sampling,
            )[:, width:].tolist()
        return written

    def _result(self, member: _Request, read: int, row: list[int]) -> ChatResult:
        longest = member.how.max_tokens or self.longest_reply
        written = row[: next((place + 1 for place, token in enumerate(row) if token in self.ends), len(row))]
        usage = {"input_tokens": read, "output_tokens": len(written), "total_tokens": read + len(written)}
        reply = self.tokenizer.decode(written, skip_special_tokens=True).strip()
        instructed = any(message.role == "system" for message in member.conversation)
        own = own_turn(self.tokenizer, reply, instructed=instructed)
        message = AIMessage(
            own,
            usage_metadata=usage,
            response_metadata={"finish_reason": "length" if len(written) == longest and own == reply else "stop"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


@contextmanager
def _draws_by(seed: int | None, device: Any) -> Iterator[None]:
    """Let one model at a time draw, by a seed or anew; the rest of the process draws as if it had not."""
    import torch

    own = [] if device.type == "cpu" else [device]  # by default, memory is taken on every GPU of the machine
    with _drawing, torch.random.fork_rng(own, device_type=device.type):
        torch.seed() if seed is None else torch.manual_seed(seed)
        yield


_seated: dict[str, LoadedModel] = {}
_loaded: dict[str, tuple[object, LoadedModel]] = {}  # with the state of the files it was read from


def load_model(folder: str) -> LoadedModel:
    """Load a folder's weights, with the base model if it is an adapter; once per process, and again if they change.

    Raises:
        RefusedError: loading failed, so that no question will be answered.
    """
    if folder in _seated:
        return _seated[folder]
    state = _state_of_files(Path(folder))
    if folder not in _loaded or _loaded[folder][0] != state:
        _loaded.pop(folder, None)  # two would not fit
        try:
            _loaded[folder] = state, _load(Path(folder))
        except Exception as error:
            why = shorten(str(error), 400, placeholder=" ...")  # PEFT lists every weight that does not fit
            raise RefusedError(f"hf:{folder} cannot be loaded ({type(error).__name__}: {why})") from error
    return _loaded[folder][1]


def _state_of_files(folder: Path) -> object:
    """Return what changes when a model's files do, with those of its base if it is an adapter."""
    folders = [folder]
    if (folder / ADAPTER_FILE).is_file():
        with suppress(ModelSpecError):  # told when it is loaded
            folders.append(Path(base_of(folder)))
    return {file: state_of(file) for each in folders for file in each.glob("*.*") if file.suffix in _READ}


@contextmanager
def in_seat(folder: Path, model: Any, tokenizer: Any) -> Iterator[None]:
    """Inside the block, make `hf:FOLDER` a model that is already in memory, such as one in training."""
    name, training = str(folder.resolve()), model.training
    _seated[name] = _with_limits(folder, model.eval(), tokenizer)
    try:
        yield
    finally:
        del _seated[name]
        model.train(training)


def _load(path: Path) -> LoadedModel:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    adapted = (path / ADAPTER_FILE).is_file()
    base = base_of(path) if adapted else str(path)
    precision = training_of(path).get("precision", "auto")  # an adapter needs the precision it was trained with
    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=precision, use_safetensors=True, **_DATA)
    if adapted:
        from peft import PeftModel

        model = PeftModel.from_pretrained(model, path, local_files_only=True)  # safetensors: see `only_data`
    tokenizer_folder = path if (path / "tokenizer_config.json").is_file() else base
    model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    return _with_limits(path, model, AutoTokenizer.from_pretrained(tokenizer_folder, **_DATA))


def _with_limits(path: Path, model: Any, tokenizer: Any) -> LoadedModel:
    trained = training_of(path)
    prefix = getattr(getattr(model, "active_peft_config", None), "num_virtual_tokens", None) or 0
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return LoadedModel(
        model=model,
        tokenizer=tokenizer,
        ends=_ends(model, tokenizer),
        longest_source=trained.get("source"),
        longest_reply=trained.get("target", LONGEST_REPLY),
        positions=None if positions is None else positions - prefix,
    )


def _ends(model: Any, tokenizer: Any) -> list[int]:
    """Return the tokens that end a reply: the weights' own, and the tokenizer's, which a tuned model has learnt to say.

    They differ where the weights name the end of a turn and the tokenizer that of a text.
    """
    own = model.generation_config.eos_token_id
    named = own if isinstance(own, list) else [own]
    return sorted({end for end in (*named, tokenizer.eos_token_id) if end is not None})


def _message(message: BaseMessage) -> Message:
    if not isinstance(message.content, str):
        raise ValueError("a model in this process cannot see pictures; set send_pictures = false")
    return Message(role=_ROLES[message.type], content=message.content)
