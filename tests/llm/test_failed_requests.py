from typing import Any

import pytest

from llm import failed_requests
from llm.failed_requests import brief, is_loading, is_transient, refusal, retry_after, words_of


def test_a_form_that_is_not_implemented_is_not_asked_for_again_and_again() -> None:
    error = type("NotImplementedByServer", (Exception,), {"status_code": 501})
    assert not is_transient(error())
    assert is_transient(type("Overloaded", (Exception,), {"status_code": 529})())


def says(status: int, text: str, **headers: str) -> Exception:
    response = type("Response", (), {"headers": {name.replace("_", "-"): text for name, text in headers.items()}})
    error: Exception = type("Said", (Exception,), {"status_code": status, "response": response})(text)
    return error


def busy(**headers: str) -> Exception:
    return says(429, "", **headers)


def test_what_the_server_asks_for_in_milliseconds_goes_before_its_seconds() -> None:
    assert retry_after(busy(retry_after_ms="1500", retry_after="9")) == 1.5
    assert retry_after(busy(retry_after_ms="soon", retry_after="9")) == 9.0
    assert retry_after(busy(retry_after="86400")) == failed_requests._LONGEST_WAIT
    assert retry_after(busy(retry_after_ms="0", retry_after="9")) == 9.0
    # a date by the clock of the server, which is ten years ahead of this machine's
    assert retry_after(busy(retry_after="Mon, 02 Jan 2040 00:00:20 GMT", date="Mon, 02 Jan 2040 00:00:00 GMT")) == 20.0
    assert retry_after(busy(retry_after="Fri, 20 Nov 2099 16:00:00 GMT")) == failed_requests._LONGEST_WAIT
    assert retry_after(busy()) is None and retry_after(None) is None


def test_a_server_that_wants_to_be_left_alone_for_hours_ends_the_run() -> None:
    assert refusal(busy(retry_after="25920")) == "it asks to wait for 7.2 hours"
    until_2099 = refusal(busy(retry_after="Fri, 20 Nov 2099 16:00:00 GMT"))
    assert until_2099 and until_2099.startswith("it asks to wait for ") and until_2099.endswith(" hours")
    assert refusal(says(429, "insufficient_quota", retry_after="25920")) == "the quota is used up"
    assert refusal(busy(retry_after="600")) is None


QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: "
    "generate_content_free_tier_requests, limit: 10\nPlease retry in 41.8s."
)


def test_a_quota_of_this_minute_is_waited_for_and_one_of_today_or_of_the_account_ends_the_run() -> None:
    """Gemini says the same of all, and names the wait in words alone."""
    assert refusal(says(429, QUOTA)) is None and retry_after(says(429, QUOTA)) == 41.8
    for text in (
        f"{QUOTA} quotaId: GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota: You exceeded your current quota. Please try again in 20s.",
        QUOTA.replace("limit: 10", "limit: 0, model: gemini-2.5-pro"),
        "You exceeded your current quota. Please try again in 5 hours.",
        "余额不足或无可用资源包,请充值。",
        "您的账户已欠费，请充值后重试",
        "Rate limit reached on tokens per day (TPD). Please try again in 1h22m3.5s.",
    ):
        assert refusal(says(429, text)) == "the quota is used up", text
    for text in ("余额不足", "You exceeded your current quota, please check your plan and billing details."):
        assert refusal(says(429, text, retry_after="20")) == "the quota is used up", "whatever a gateway's header asks"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 2.6s. Need more tokens?", 2.6),  # Groq
        ("Please try again in 340ms.", 0.34),
        ("Please try again in 1m0s.", 60.0),
        ("Please retry after 26 seconds.", 26.0),  # Azure
        ("Rate limit reached. Please try again in 20 minutes.", 60.0),
        ("Rate limited, try again in 24 hours", 60.0),
        ("Please retry after 1 hour.", 60.0),
        ("Please retry in 5 min", 60.0),
        ("try again in 1.5m", 60.0),
        ("retry after 6000 milliseconds", 6.0),
        ("retry after 0 minutes and 20 sec.", 20.0),
        ("please try again in a while", None),
        ("try again after 2026-11-27 00:00 UTC", None),
        ("Retry after 60", None),
        ("Limit: 20 / min", None),
    ],
)
def test_a_wait_that_stands_in_the_words_alone_is_kept(text: str, seconds: float | None) -> None:
    assert retry_after(says(429, text)) == seconds
    assert retry_after(says(400, text)) is None


@pytest.mark.parametrize(("delay", "seconds"), [("41s", 41.0), ("0.847655010s", 0.847655010), ("7200s", None)])
def test_a_wait_that_stands_in_the_details_of_the_body_alone_is_kept(delay: str, seconds: float | None) -> None:
    """Gemini's, also in a list of one."""
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    words = "You exceeded your current quota, please check your plan and billing details."
    error: Any = says(429, f"Error code: 429 - {words}")
    for body in ({"error": {"message": words, "details": [info]}}, [{"error": {"details": [info]}}]):
        error.body = body
        assert retry_after(error) == (seconds or failed_requests._LONGEST_WAIT)
        assert refusal(error) == (None if seconds else "the quota is used up")
    error.body = {"details": [info, {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
    assert refusal(error) == "the quota is used up"


@pytest.mark.parametrize(
    ("text", "loading"),
    [
        ('{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', True),
        ("Model Qwen/Qwen3-8B is currently loading", True),
        ("Error loading model: CUDA out of memory", False),
        ("Error while loading model qwen: CUDA out of memory", False),
        ("failed loading model weights: file not found", False),
        ("This starting address is unavailable", False),
    ],
)
def test_a_server_that_failed_to_load_its_model_is_not_loading_it(text: str, loading: bool) -> None:
    assert is_loading(says(503, text)) == loading


def test_only_an_output_that_was_filtered_is_asked_for_again() -> None:
    assert is_transient(says(400, "Output data may contain inappropriate content."))
    assert not is_transient(says(400, "Input or output data may contain inappropriate content."))


def test_what_a_server_says_is_read_wherever_it_stands_in_the_body() -> None:
    """OpenAI's client tells the `message` of a body alone: FastAPI says `detail`, TGI an `error` that is a text."""
    error: Any = type("Refused", (Exception,), {"status_code": 422})("Error code: 422")
    error.body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    assert "Extra inputs" in words_of(error) and "Extra inputs" in brief(error)
    error.body = "<html><body>502 with a tool</body></html>"
    assert words_of(error) == "Error code: 422"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"])
def test_no_key_of_the_environment_stands_in_an_errors_text(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "0123456789secret")
    assert brief(ValueError("bad key 0123456789secret")) == f"ValueError: bad key <{name}>"
