"""The fingerprint of a question: questions with equal fingerprints share one answer."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from llm.settings import ModelSettings


def fingerprint(
    call_id: str,
    spec: str,
    messages: Sequence[BaseMessage],
    schema: Mapping[str, Any],
    instruction: str,
    settings: ModelSettings,
) -> str:
    """Return a hash of all that an answer depends on.

    It covers the call's id, because two seats that are asked the same question at a temperature above zero should
    answer independently. Pictures count by content, not by path.
    """
    block = settings.block(spec)
    parts = {
        "id": call_id,
        "model": block.text,
        "messages": [[message.type, message.content] for message in messages],
        "schema": schema,
        "instruction": instruction,
        "temperature": settings.temperature if block.temperature is None else block.temperature,
        "max_tokens": block.max_tokens or settings.max_tokens,
        "seed": settings.seed,
        "epoch": settings.epoch,
        **block.own_parameters,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
