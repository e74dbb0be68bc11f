import socket
from datetime import UTC, datetime
from typing import Any

import pytest

from llm import ModelSettings
from llm.blocks import ModelBlock
from llm.prices import cost_of, price_of, price_source, unpriced

SETTINGS = ModelSettings()


def test_a_known_model_of_a_known_provider_has_its_list_price() -> None:
    assert price_of("openai:gpt-4o-mini", SETTINGS) == pytest.approx((0.15, 0.6))
    assert cost_of("openai:gpt-4o-mini", 2_000_000, 1_000_000, SETTINGS) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "spec",
    [
        "anthropic:claude-3-5-haiku-latest",
        "google_genai:gemini-2.5-flash",
        "azure_openai:gpt-4o",
        "bedrock_converse:anthropic.claude-3-5-sonnet-20240620-v1:0",
        "mistralai:mistral-large-latest",
        "deepseek:deepseek-chat",
        "groq:llama-3.3-70b-versatile",
        "xai:grok-4",
        "perplexity:sonar",
        "openrouter:openai/gpt-4o",
    ],
)
def test_the_providers_are_found_under_the_names_that_a_spec_gives_them(spec: str) -> None:
    price = price_of(spec, SETTINGS)
    assert price is not None and 0 < price[0] <= price[1] < 100


@pytest.mark.parametrize(
    "spec",
    [
        "openai:gpt-4o-mini@http://localhost:8000/v1",
        "openai:no-such-model-7",
        "ollama:gemma2:9b",
        "ollama:gpt-4o",
        "huggingface:meta-llama/Llama-3.1-8B",
    ],
)
def test_a_server_by_url_and_an_unknown_model_have_no_price_unless_it_is_given(spec: str) -> None:
    assert price_of(spec, SETTINGS) is None and cost_of(spec, 1, 1, SETTINGS) is None
    given = ModelSettings(prices={spec: (2.0, 10.0)})
    assert price_of(spec, given) == pytest.approx((2.0, 10.0))
    assert cost_of(spec, 1000, 100, given) == pytest.approx(0.003)


def test_what_a_request_costs_whatever_its_length_is_in_no_price_of_a_token() -> None:
    assert cost_of("perplexity:sonar", 0, 0, SETTINGS), "a fee"
    assert price_of("perplexity:sonar", SETTINGS) == pytest.approx((1.0, 1.0))


def test_a_given_price_goes_before_the_known_one() -> None:
    assert price_of("openai:gpt-4o-mini", ModelSettings(prices={"openai:gpt-4o-mini": (0.0, 1.0)})) == (0.0, 1.0)


def test_a_block_has_its_own_price_or_the_one_that_is_given_for_its_model() -> None:
    own = ModelBlock(spec="openai:gpt-4o-mini", prices=(3.0, 4.0))
    given = {"openai:gpt-4o-mini": (1.0, 2.0)}
    settings = ModelSettings(model={"own": own, "plain": ModelBlock(spec="openai:gpt-4o-mini")}, prices=given)
    assert price_of("own", settings) == pytest.approx((3.0, 4.0))
    assert price_of("plain", settings) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize("spec", ["offline", "human"])
def test_rules_and_people_cost_nothing(spec: str) -> None:
    assert cost_of(spec, 0, 0, SETTINGS) == 0.0


def test_a_call_is_priced_as_of_its_day() -> None:
    early = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    late = datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp()
    costs = [cost_of("deepseek:deepseek-chat", 1_000_000, 1_000_000, SETTINGS, when) for when in (early, late)]
    assert costs[0] != costs[1] and None not in costs


def test_the_specs_without_a_price_are_named_once() -> None:
    models = {
        "default": "openai:any@http://localhost:1/v1",
        "patient": "openai:any@http://localhost:1/v1",
        "doctor": "openai:gpt-4o-mini",
        "feedback_agent": "offline",
        "examiner": "human",
        "director": "ollama:gemma2",
    }
    assert unpriced(models, SETTINGS) == ["ollama:gemma2", "openai:any@http://localhost:1/v1"]


def test_prices_are_looked_up_without_any_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **more: Any) -> Any:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert price_of("anthropic:claude-sonnet-4-0", SETTINGS) is not None


def test_the_source_of_the_prices_is_named_with_its_version() -> None:
    name, _, version = price_source().partition(" ")
    assert name == "genai-prices" and version[0].isdigit()
