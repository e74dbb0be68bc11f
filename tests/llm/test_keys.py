"""Whose key goes where: two listeners, and what each of them was sent."""

import json
import traceback
from typing import Any

import pytest

from llm import ModelSettings, ModelSpecError
from llm.build import build_model
from llm.errors import RefusedError
from llm.keys import key_of
from tests.llm.examinee import fail, put
from tests.support.fake_server import FakeServer

KEYS = {"FIRST_KEY": "key-of-the-first", "SECOND_TOKEN": "key-of-the-second", "WARDROUND_API_KEY": "key-of-the-ward"}


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with FakeServer() as first, FakeServer() as second:
        yield first, second


def settings(first: FakeServer, second: FakeServer, *own: dict[str, Any]) -> ModelSettings:
    """Both servers in one map; the examinee is the first's and the patient the second's."""
    blocks = {
        name: {"spec": "openai:any", "base_url": server.base_url, **more}
        for name, server, more in zip(("one", "two"), (first, second), own, strict=True)
    }
    return ModelSettings.model_validate({"model": blocks, "models": {"default": "one", "patient": "two"}})


async def asked_both(context: ModelSettings) -> None:
    await put(context)
    await put(context.model_copy(update={"models": {**context.models, "default": "two", "patient": "one"}}))


def sent(server: FakeServer) -> str:
    return json.dumps([[dict(request.headers), request.body] for request in server.requests])


async def test_each_server_is_sent_its_own_key_and_no_other(servers: tuple[FakeServer, FakeServer]) -> None:
    first, second = servers
    await asked_both(settings(first, second, {"api_key_env": "FIRST_KEY"}, {"api_key_env": "SECOND_TOKEN"}))
    assert first.requests[0].headers["authorization"] == "Bearer key-of-the-first"
    assert second.requests[0].headers["authorization"] == "Bearer key-of-the-second"
    assert sent(first).count("key-of") == sent(second).count("key-of") == 1


async def test_a_key_may_be_named_by_its_host_and_port(
    servers: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = servers
    monkeypatch.setenv(f"WARDROUND_API_KEY_127_0_0_1_{first.port}", "key-of-this-port")
    await asked_both(settings(first, second, {}, {}))
    assert first.requests[0].headers["authorization"] == "Bearer key-of-this-port"
    assert second.requests[0].headers["authorization"] == "Bearer key-of-the-ward"  # the only one left


async def test_one_key_for_two_servers_is_refused_before_anything_is_sent(
    servers: tuple[FakeServer, FakeServer],
) -> None:
    first, second = servers
    with pytest.raises(ModelSpecError) as refused:
        await put(settings(first, second, {}, {}))
    for named in (f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}", "WARDROUND_API_KEY_127_0_0_1_", "api_key_env"):
        assert named in str(refused.value)
    assert first.requests == second.requests == [] and "key-of" not in str(refused.value)


async def test_a_server_that_needs_no_key_is_sent_none_and_leaves_the_wards_to_the_other(
    servers: tuple[FakeServer, FakeServer],
) -> None:
    first, second = servers
    await asked_both(settings(first, second, {}, {"api_key_env": ""}))
    assert first.requests[0].headers["authorization"] == "Bearer key-of-the-ward"
    assert second.requests[0].headers["authorization"] == "Bearer none"


class AzureResource(FakeServer):
    """Serves the deployment `any`."""

    async def _route(self, method: str, target: str, *more: Any) -> None:
        mine = "/openai/deployments/any/chat/completions?api-version=2024-10-21"
        await super()._route(method, "/v1/chat/completions" if target == mine else target, *more)


async def test_a_resource_of_azure_is_named_by_its_url_and_sent_no_key_or_token_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_KEY", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, f"key-of-another-{name}")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.setenv("WARDROUND_API_KEY", "key-of-this-one")
    with AzureResource() as server:
        await put(ModelSettings(models={"default": f"azure_openai:any@{server.base_url.removesuffix('/v1')}"}))
    assert server.requests[0].headers["api-key"] == "key-of-this-one"
    assert sent(server).count("key-of") == 1


def test_a_version_in_a_base_url_is_refused_with_how_to_name_azure() -> None:
    url = "https://lab.openai.azure.com/openai/deployments/any?api-version=2024-10-21"
    with pytest.raises(ValueError, match="name a deployment of Azure as azure_openai:DEPLOYMENT@https://HOST"):
        ModelSettings(models={"default": f"openai:any@{url}"})


async def test_an_answer_that_azures_filter_withheld_is_asked_for_again_as_with_any_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    with AzureResource(faults=["filtered"]) as server:
        models = {"default": f"azure_openai:any@{server.base_url.removesuffix('/v1')}"}
        await put(ModelSettings(models=models, repairs=1))
    assert len(server.requests) == 2


def test_what_azure_lacks_is_said_in_a_line_without_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "key-of-azure")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelSpecError, match=r"azure_openai:any cannot be used: Must .* `OPENAI_API_VERSION` [\w ]+\Z"):
        build_model("azure_openai:any", ModelSettings())


async def test_two_addresses_of_one_server_share_its_key(servers: tuple[FakeServer, FakeServer]) -> None:
    first, _ = servers
    context = settings(first, first, {}, {"base_url": first.base_url.replace("/v1", "/v2")})
    await put(context)
    assert first.requests[0].headers["authorization"] == "Bearer key-of-the-ward"


SHARED = "WARDROUND_API_KEY_API_X_ORG"


def both_hosts() -> ModelSettings:
    return ModelSettings(
        models={"default": "openai:any@https://api-x.org/v1", "patient": "openai:any@https://api.x.org/v1"}
    )


def test_a_host_with_hyphens_has_a_key_of_its_own_and_none_of_the_host_with_dots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hyphens, dots = both_hosts().models.values()
    monkeypatch.setenv(SHARED, "key-of-the-dots")
    assert (both_hosts().key_of(hyphens), both_hosts().key_of(dots)) == ("none", "key-of-the-dots")
    monkeypatch.setenv("WARDROUND_API_KEY_API__X_ORG", "key-of-the-hyphens")
    assert (both_hosts().key_of(hyphens), both_hosts().key_of(dots)) == ("key-of-the-hyphens", "key-of-the-dots")


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    context = ModelSettings.model_validate({"model": {"one": {"spec": "openai:any", "api_key_env": "FIRST_KEY"}}})
    with pytest.raises(ModelSpecError, match="api_key_env: the environment variable FIRST_KEY is not set"):
        context.key_of("one")
    assert key_of(ModelSettings().block("openai:any"), []) is None  # the integration finds its own


@pytest.mark.parametrize("value", ["key-of…", "key-of\r\nX-Other: 1", "ключ-of", "key-of\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", value)
    with pytest.raises(ModelSpecError, match=r"character \d+ of .* WARDROUND_API_KEY .* copy it again") as refused:
        ModelSettings(models={"default": "openai:any@http://localhost:1/v1"}).key_of("openai:any@http://localhost:1/v1")
    assert value not in str(refused.value)


def test_blanks_and_line_ends_around_a_key_are_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARDROUND_API_KEY", " key-of-it\r\n")
    spec = "openai:any@http://localhost:1/v1"
    assert ModelSettings(models={"default": spec}).key_of(spec) == "key-of-it"


async def test_headers_are_taken_from_the_environment_and_no_record_has_them(
    servers: tuple[FakeServer, FakeServer], tmp_path: Any
) -> None:
    first, second = servers
    own = {"headers": {"X-Ward": "3", "Authorization": "Basic $SECOND_TOKEN"}, "api_key_env": ""}
    context = settings(first, second, own, {"api_key_env": ""})
    file = tmp_path / "trace.jsonl"
    await put(context.model_copy(update={"trace_file": str(file)}))
    headers = first.requests[0].headers
    assert (headers["x-ward"], headers["authorization"]) == ("3", "Basic key-of-the-second")
    assert "key-of" not in file.read_text("utf-8") + context.model_dump_json()


async def test_a_key_under_any_name_that_a_server_quotes_is_not_recorded(
    servers: tuple[FakeServer, FakeServer],
) -> None:
    first, second = servers
    first.faults = ["401"]
    context = settings(first, second, {"api_key_env": "SECOND_TOKEN"}, {"api_key_env": ""})
    error, call = await fail(context, RefusedError)
    assert "<SECOND_TOKEN>" in error and "key-of" not in error + (call.error or "")


async def test_the_traceback_of_a_refusal_shows_no_key_that_the_server_quoted(
    servers: tuple[FakeServer, FakeServer],
) -> None:
    first, second = servers
    first.faults = ["401"]
    with pytest.raises(RefusedError) as refused:
        await put(settings(first, second, {"api_key_env": "SECOND_TOKEN"}, {"api_key_env": ""}))
    shown = "".join(traceback.format_exception(refused.value))
    assert shown.count("<SECOND_TOKEN>") > 1 and "key-of" not in shown
