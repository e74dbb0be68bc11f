"""The price of a model's tokens: from the settings, else from the package genai-prices, used offline."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

from llm.settings import ModelSettings
from llm.specs import HUMAN, IN_PROCESS, OFFLINE

_SOURCE = "genai-prices"
# LangChain's provider names by the package's; other providers have no known price.
_SAME_NAMES = ("anthropic", "cohere", "deepseek", "fireworks", "groq", "openai", "openrouter", "perplexity", "together")
_PROVIDERS = {name: name for name in _SAME_NAMES}
_PROVIDERS |= dict.fromkeys(("anthropic_bedrock", "bedrock", "bedrock_converse"), "aws")
_PROVIDERS |= dict.fromkeys(("azure_ai", "azure_openai"), "azure")
_PROVIDERS |= dict.fromkeys(("google_genai", "google_vertexai"), "google")
_PROVIDERS |= {"mistralai": "mistral", "xai": "x-ai"}
_MILLION = 1_000_000
_BATCH_SHARE = 0.5  # of OpenAI's list price


def cost_of(
    spec: str, input_tokens: int, output_tokens: int, settings: ModelSettings, when: float | None = None
) -> float | None:
    """Return the US dollars for the tokens at list price (half in batches, no other discounts); None if unknown.

    ``spec`` is a model spec or a block's name; the price is the one at ``when`` (seconds since the epoch).
    """
    block = settings.block(spec)
    if own_prices := block.prices or settings.prices.get(spec) or settings.prices.get(block.text):
        price_in, price_out = own_prices
        return (input_tokens * price_in + output_tokens * price_out) / _MILLION
    parsed = block.parsed
    if parsed.provider in (OFFLINE, HUMAN, IN_PROCESS):
        return 0.0
    provider = _PROVIDERS.get(parsed.provider)
    if provider is None or parsed.base_url is not None:
        return None
    price = _list_price(provider, parsed.name, input_tokens, output_tokens, when)
    return price and price * (_BATCH_SHARE if block.batch else 1)


def price_of(spec: str, settings: ModelSettings) -> tuple[float, float] | None:
    """Return today's US dollars per million input and output tokens of a short request; None if unknown."""
    tokens = 1000
    cost_in, cost_out, fee = (cost_of(spec, *counts, settings) for counts in ((tokens, 0), (0, tokens), (0, 0)))
    if cost_in is None or cost_out is None or fee is None:
        return None
    return (cost_in - fee) * _MILLION / tokens, (cost_out - fee) * _MILLION / tokens


def unpriced(models: Mapping[str, str], settings: ModelSettings) -> list[str]:
    """Return the specs of a model map whose price is unknown."""
    return sorted({spec for spec in models.values() if price_of(spec, settings) is None})


@cache
def price_source() -> str:
    """Return the name and version of the package that known prices come from, for the record of a run."""
    return f"{_SOURCE} {version(_SOURCE)}"


def _list_price(provider: str, name: str, input_tokens: int, output_tokens: int, when: float | None) -> float | None:
    from genai_prices import Usage, calc_price

    at = datetime.now(UTC) if when is None else datetime.fromtimestamp(when, UTC)
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(calc_price(usage, name, provider_id=provider, genai_request_timestamp=at).total_price)
    except (LookupError, ValueError):  # unknown model, or not priced by token
        return None
