"""Keys and passwords in addresses: in no message, file or trace."""

import asyncio
import json
import time
import traceback
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import wardround as wr
from llm.blocks import ModelBlock
from llm.errors import ModelSpecError
from llm.failed_requests import brief
from llm.masking import mask_chain, masked
from llm.specs import ModelSpec
from scoring.case_scores import Metric
from wardround.cli import app
from wardround.run.faults import describe_fault

SECRET = "hunter2"


@pytest.mark.parametrize(
    "address",
    [
        "http://me:hunter2@host/v1",
        "https://hunter2@host:8000",
        "postgresql://me:p@ss/hunter2@host:5432/db?sslmode=require",
        "postgresql://host/db?user=me&password=hunter2&connect_timeout=1",
        "https://host/v1?api_key=hunter2&model=x",
        "https://host/v1?model=x&X-Api-Key=hunter2",
        "https://host/v1#access_token=hunter2",
        "https://host/v1?sig=hunter2",
        "https://host/v1;api_key=hunter2",
        "host=host user=me password=hunter2",
        "openai:any@http://me:hunter2@host/v1",
    ],
)
def test_an_address_is_shown_without_what_opens_it(address: str) -> None:
    said = masked(f"cannot reach {address!r} (refused); try again")
    assert SECRET not in said
    assert "host" in said and said.endswith("(refused); try again")
    assert SECRET not in brief(RuntimeError(f"at {address}"))
    try:
        raise RuntimeError(f"at {address}")
    except RuntimeError as error:
        assert SECRET not in describe_fault(error)


@pytest.mark.parametrize(
    "text",
    [
        "openai:gemma2:9b@http://localhost:11434/v1",
        "http://[::1]:8000/v1?model=a",
        "a 12:30@home, 5 ml/kg",
        "me@x.org",
        "hf:models/hf_smollm2_135m_instruct, max_tokens=70",
        "https://gateway.example/v1/0123456789abcdef0123456789abcdef/openai",
    ],
)
def test_nothing_else_is_changed(text: str) -> None:
    assert masked(text) == text


@given(st.text())
def test_any_text_can_be_masked_twice(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize(
    "key", ["sk-proj-hunter2-0a1B2c3D4e5F", "gsk_hunter20a1B2c3D4e5F6g7H", "Bearer hunter2-abc.def"]
)
def test_a_key_is_not_shown_wherever_it_stands(key: str) -> None:
    for text in (f"http://host/{key}/v1", f"Incorrect API key provided: {key}.", f"{{'authorization': '{key}'}}"):
        assert SECRET not in masked(text)


OWN = 'ward canary/with+all="of it"'


@pytest.mark.parametrize(
    "repeated", [OWN, json.dumps(OWN), repr(OWN), quote(OWN), quote(OWN, ""), b64encode(OWN.encode()).decode()]
)
def test_a_secret_of_the_environment_is_masked_as_whoever_repeats_it_spells_it(
    monkeypatch: pytest.MonkeyPatch, repeated: str
) -> None:
    monkeypatch.setenv("WARD_TOKEN", f"{OWN}\r\n")  # as a file with Windows' line ends gives it
    assert masked(f"no access with {repeated}!").replace('"', "").replace("'", "") == "no access with <WARD_TOKEN>!"


def test_the_longest_of_two_secrets_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "canary-01")
    monkeypatch.setenv("B_KEY", "canary-01-and-more")
    assert masked("canary-01-and-more, canary-01") == "<B_KEY>, <A_KEY>"


def test_the_traceback_of_a_refused_question_shows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_TOKEN", OWN)
    try:
        try:
            raise KeyError(OWN, 3)
        except KeyError as cause:
            raise RuntimeError(f"not with {OWN}") from cause
    except RuntimeError as error:
        mask_chain(error)
        shown = "".join(traceback.format_exception(error))
        assert "canary" not in shown and shown.count("<WARD_TOKEN>") == 2


@pytest.mark.parametrize("link", ["__cause__", "__context__"])
def test_an_error_behind_another_is_masked_however_they_are_linked(link: str) -> None:
    behind, error = RuntimeError("Bearer hunter2hunter2"), RuntimeError("refused")
    setattr(error, link, behind)
    mask_chain(error)
    assert (str(behind), str(error)) == ("Bearer ***", "refused")


def test_a_long_message_keeps_no_part_of_a_key_at_its_end() -> None:
    error = RuntimeError("x" * 3986 + " Bearer hunter2hunter2" + "x" * 9000)
    mask_chain(error)
    assert str(error) == "x" * 3986 + " Bearer ***"


def test_a_short_secret_is_not_masked_as_it_stands_in_words_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_TOKEN", "pain")
    assert masked("painful") == "painful"


def test_a_metric_that_names_a_secret_in_its_error_leaves_none_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_TOKEN", OWN)

    def leaks(case: object, answers: object) -> float:
        raise RuntimeError(f"no access with {OWN}")

    reason = asyncio.run(Metric("leaks", leaks).score(wr.load_cases()[0], None, wr.ClinicalContext()))
    assert "<WARD_TOKEN>" in str(reason) and "canary" not in str(reason)


@pytest.mark.parametrize("part", ["://", "://a:", "?key", "sk-", "Bearer a", "Basic a", "&sig", "AIza"])
def test_a_long_message_is_masked_in_time_that_grows_with_its_length(part: str) -> None:
    began = time.process_time()
    masked(part * (100_000 // len(part)))
    assert time.process_time() - began < 2


KEY = "sk-hunter2-0a1B2c3D4e5F6g"


@pytest.mark.parametrize("given", [{"extra_body": {"user": [KEY]}}, {"card": {"maker": KEY}}])
def test_a_block_with_a_key_in_any_field_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="looks like a key"):
        ModelBlock.model_validate({"spec": "openai:any", **given})


SPECS = (
    "openai:any@https://me:hunter2@host/v1",
    "openai:any@https://host/v1?api_key=hunter2",
    "openai:any@https://host/v1;api_key=hunter2",
    "openai:any@https://host/v1/%3Fapi_key=hunter2",
    "openai:any@https://host/sk-hunter2-0a1B2c3D4e5F/v1",
    f"openai:{KEY}",
    f"openai:{KEY}@https://host/v1",
)


@pytest.mark.parametrize("spec", SPECS)
def test_a_model_whose_address_holds_a_secret_is_refused_and_the_refusal_does_not_repeat_it(spec: str) -> None:
    with pytest.raises(ModelSpecError) as refused:
        ModelSpec.parse(spec)
    assert SECRET not in str(refused.value) and "WARDROUND_API_KEY" in str(refused.value)
    with pytest.raises(ValueError) as from_python:
        wr.ClinicalContext(models={"default": spec})
    assert SECRET not in str(from_python.value)


def test_an_error_that_is_raised_again_from_its_own_consequence_is_masked_once() -> None:
    first, second = ValueError("Bearer abcdefgh1234"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    mask_chain(first)
    assert str(first) == "Bearer ***"


@pytest.mark.parametrize(
    "options",
    [
        ["--models", f"default={SPECS[0]}"],
        ["--models", f"default={SPECS[1]}"],
        ["--models", "default=opnai:any@https://me:hunter2@host/v1"],
        ["--set", "memory=http://me:hunter2@localhost:1"],
        ["--set", "memory=http://localhost:1/?api_key=hunter2"],
        ["--set", "memory=http://me:hunter2@localhost:port"],
        ["--set", "run.checkpoints=postgres//me:hunter2@localhost/db"],
    ],
)
def test_the_command_line_names_what_is_wrong_and_keeps_the_secret(tmp_path: Path, options: list[str]) -> None:
    refused = CliRunner().invoke(app, ["run", "--limit", "1", "--out", str(tmp_path / "run"), *options])
    assert refused.exit_code == 2, refused.output
    assert refused.stderr.startswith("error: ") and SECRET not in refused.output + refused.stderr
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(SECRET.encode() in file.read_bytes() for file in files)


@pytest.mark.parametrize("name", ["SMTP_PASSWD", "SSH_PASSPHRASE", "MYSQL_PWD", "GITHUB_PAT"])
def test_secrets_of_other_programs_are_masked_and_the_working_directory_is_none(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "canary 77aa01")
    monkeypatch.setenv("PWD", "/home/canary")
    assert masked("not with canary 77aa01 in /home/canary") == f"not with <{name}> in /home/canary"
