"""What a model's tokens cost: as the settings say, else as the package genai-prices, which is asked offline, knows."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version

from llm.settings import ModelSettings
from llm.specs import HUMAN, IN_PROCESS, OFFLINE

_SOURCE = "genai-prices"
# LangChain's names of providers, as the package calls them; another provider has no known price.
_SAME = ("anthropic", "cohere", "deepseek", "fireworks", "groq", "openai", "openrouter", "perplexity", "together")
_PROVIDERS = {name: name for name in _SAME}
_PROVIDERS |= dict.fromkeys(("anthropic_bedrock", "bedrock", "bedrock_converse"), "aws")
_PROVIDERS |= dict.fromkeys(("azure_ai", "azure_openai"), "azure")
_PROVIDERS |= dict.fromkeys(("google_genai", "google_vertexai"), "google")
_PROVIDERS |= {"mistralai": "mistral", "xai": "x-ai"}
_MILLION = 1_000_000
_BATCH = 0.5  # of OpenAI's list price


def cost_of(
    spec: str, input_tokens: int, output_tokens: int, settings: ModelSettings, when: float | None = None
) -> float | None:
    """US dollars for so many tokens at list price (half of it in batches, no other discount); None if it is not known.

    The model is named by its spec or by its block; a price may have changed since ``when`` (seconds since the epoch).
    """
    block = settings.block(spec)
    if stated := block.prices or settings.prices.get(spec) or settings.prices.get(block.text):
        price_in, price_out = stated
        return (input_tokens * price_in + output_tokens * price_out) / _MILLION
    parsed = block.parsed
    if parsed.provider in (OFFLINE, HUMAN, IN_PROCESS):
        return 0.0
    provider = _PROVIDERS.get(parsed.provider)
    if provider is None or parsed.base_url is not None:
        return None
    price = _list_price(provider, parsed.name, input_tokens, output_tokens, when)
    return price and price * (_BATCH if block.batch else 1)


def price_of(spec: str, settings: ModelSettings) -> tuple[float, float] | None:
    """US dollars per million input and output tokens of a short request today; None if they are not known."""
    tokens = 1000
    cost_in, cost_out, fee = (cost_of(spec, *counts, settings) for counts in ((tokens, 0), (0, tokens), (0, 0)))
    if cost_in is None or cost_out is None or fee is None:
        return None
    return (cost_in - fee) * _MILLION / tokens, (cost_out - fee) * _MILLION / tokens


def unpriced(models: Mapping[str, str], settings: ModelSettings) -> list[str]:
    """The specs of a model map whose price is not known."""
    return sorted({spec for spec in models.values() if price_of(spec, settings) is None})


@cache
def price_source() -> str:
    """The package that the known prices are from, with its version: for the record of a run."""
    return f"{_SOURCE} {version(_SOURCE)}"


def _list_price(provider: str, name: str, input_tokens: int, output_tokens: int, when: float | None) -> float | None:
    from genai_prices import Usage, calc_price

    at = datetime.now(UTC) if when is None else datetime.fromtimestamp(when, UTC)
    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(calc_price(usage, name, provider_id=provider, genai_request_timestamp=at).total_price)
    except (LookupError, ValueError):  # no such model, or one whose price is not by the token
        return None
