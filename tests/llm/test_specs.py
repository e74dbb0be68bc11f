import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from llm import ModelSettings, ModelSpecError, Role
from llm.specs import ModelSpec, check_models, model_of
from tests.llm.examinee import OFFLINE_OPINION, Opinion


def role(name: str, stage: str) -> Role[Opinion]:
    return Role(name, stage, "judges/claims", Opinion, offline=lambda view: OFFLINE_OPINION)


role("understudy", "rehearsal.act1")
role("understudy", "rehearsal.act2")
role("prompter", "rehearsal")

PIECES = st.sampled_from(
    ["openai", "ollama", ":", "@", "/", "http://", "https://", "[", "]", "::1", "a", "é", " ", "%"]
)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("openai:gpt-4o-mini", ModelSpec("openai", "gpt-4o-mini")),
        (
            "openai:gemma2:9b@http://localhost:11434/v1",
            ModelSpec("openai", "gemma2:9b", "http://localhost:11434/v1"),
        ),
        ("openai:Qwen/Qwen3-8B@https://host/v1/", ModelSpec("openai", "Qwen/Qwen3-8B", "https://host/v1")),
        ("google_vertexai:claude@20240620", ModelSpec("google_vertexai", "claude@20240620")),
        ("openai:org/m@main@http://[::1]:8000/v1", ModelSpec("openai", "org/m@main", "http://[::1]:8000/v1")),
        ("openai:smollm@sha256:0a1b", ModelSpec("openai", "smollm@sha256:0a1b")),
        ("openai:@cf/meta/llama-3@https://host/v1", ModelSpec("openai", "@cf/meta/llama-3", "https://host/v1")),
        ("offline", ModelSpec("offline", "")),
        ("human", ModelSpec("human", "")),
    ],
)
def test_a_spec_is_taken_apart_into_provider_name_and_base_url(text: str, parsed: ModelSpec) -> None:
    assert ModelSpec.parse(text) == parsed


@pytest.mark.parametrize(
    ("text", "provider"),
    [("opnai:gpt-4o", "openai"), ("OpenAI:gpt-4o", "openai"), ("google-genai:g", "google_genai")],
)
def test_an_unknown_provider_is_refused_with_the_nearest_one_named(text: str, provider: str) -> None:
    with pytest.raises(ModelSpecError, match=rf"unknown provider .*did you mean '{provider}'"):
        ModelSpec.parse(text)


def test_a_provider_near_to_none_is_refused_with_all_of_them_listed() -> None:
    with pytest.raises(ModelSpecError, match=r"unknown provider 'xyzzy'; expected one of .*anthropic.*openai"):
        ModelSpec.parse("xyzzy:model")


@pytest.mark.parametrize("text", ["openai:", "openai:@http://localhost/v1"])
def test_a_spec_without_the_models_name_is_refused(text: str) -> None:
    with pytest.raises(ModelSpecError, match="names no model"):
        ModelSpec.parse(text)


@pytest.mark.parametrize("text", ["", "gpt-4o", "Offline", "openai:gpt 4o", ":gpt-4o", " offline"])
def test_another_spelling_is_refused_with_the_accepted_one(text: str) -> None:
    with pytest.raises(ModelSpecError, match=r"is not a model: expected .*provider:model.*--set model.NAME.spec=SPEC"):
        ModelSpec.parse(text)


@pytest.mark.parametrize("url", ["localhost:11434", "localhost:11434/v1", "host/v1", "ftp://host/v1", "htp://host", ""])
def test_an_address_without_http_is_refused_and_not_taken_for_a_part_of_the_name(url: str) -> None:
    with pytest.raises(ModelSpecError, match="must start with http:// or https://"):
        ModelSpec.parse(f"openai:gemma2:9b@{url}")


@pytest.mark.parametrize("url", ["http://", "https:///v1", "http://:8000/v1", "http://[::1", "http://host:99999/v1"])
def test_a_url_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(ModelSpecError, match="base URL"):
        ModelSpec.parse(f"openai:gemma2:9b@{url}")


def test_a_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(ModelSpecError, match="WARDROUND_API_KEY") as refused:
        ModelSpec.parse("openai:any@https://me:hunter2@host/v1")
    assert "hunter2" not in str(refused.value)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.text().map("openai:a@http://{}".format)))
def test_parsing_raises_nothing_but_a_spec_error(text: str) -> None:
    with contextlib.suppress(ModelSpecError):
        parsed = ModelSpec.parse(text)
        assert parsed.name or parsed.provider in ("offline", "human")


@pytest.mark.parametrize(
    ("wrong", "meant"), [("promptr", "prompter"), ("rehearsal.promter", "rehearsal.prompter"), ("defualt", "default")]
)
def test_an_unknown_role_in_the_map_is_refused_with_the_nearest_one_named(wrong: str, meant: str) -> None:
    with pytest.raises(ValidationError, match=rf"unknown role '{wrong}'; did you mean .*'{meant}'"):
        ModelSettings(models={wrong: "offline"})


def test_a_role_at_a_stage_that_it_does_not_belong_to_is_refused() -> None:
    with pytest.raises(ModelSpecError, match=r"unknown role 'finale\.prompter'"):
        check_models({"finale.prompter": "offline"})


def test_a_bad_model_in_the_map_is_refused_with_its_role_named() -> None:
    with pytest.raises(ValidationError, match=r"models\.prompter: 'opnai:x': unknown provider"):
        ModelSettings(models={"prompter": "opnai:x"})


def test_every_place_where_a_model_is_looked_up_is_accepted_in_the_map() -> None:
    places = ["default", "understudy", "rehearsal.understudy", "rehearsal.act1.understudy", "rehearsal.act2.understudy"]
    assert ModelSettings(models=dict.fromkeys(places, "offline")).models.keys() == set(places)


def test_the_nearest_entry_of_the_map_decides_from_part_of_a_stage_to_default() -> None:
    models = {
        "rehearsal.act1.understudy": "openai:a",
        "rehearsal.understudy": "openai:b",
        "understudy": "openai:c",
        "default": "openai:d",
    }
    found = []
    while models:
        found.append(model_of("understudy", "rehearsal.act1", models))
        del models[next(iter(models))]
    assert found == ["openai:a", "openai:b", "openai:c", "openai:d"]


def test_an_entry_for_one_part_of_a_stage_leaves_the_other_parts_alone() -> None:
    models = {"rehearsal.act1.understudy": "openai:a", "rehearsal.prompter": "openai:b", "default": "human"}
    assert model_of("understudy", "rehearsal.act2", models) == "human"
    assert model_of("prompter", "finale", models) == "human"


def test_a_role_that_the_map_does_not_name_is_offline() -> None:
    assert model_of("understudy", "rehearsal.act1", {"prompter": "human"}) == "offline"
