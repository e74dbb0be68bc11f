"""What is posted to a tracing service besides prompts and answers; the whole of it is in end_to_end."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from langchain_core.tracers.schemas import Run

from llm.tracing import ModelTracer


def test_the_error_of_a_traced_call_is_posted_without_the_key_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARD_TOKEN", "canary-77aa01")
    posted: list[Run] = []
    monkeypatch.setattr("langchain_core.tracers.LangChainTracer._update_run_single", posted.append)
    began = datetime.now(UTC)
    run = Run(id=uuid4(), name="chat", run_type="llm", start_time=began, error="not with canary-77aa01", inputs={})
    ModelTracer._update_run_single(run)
    assert [one.error for one in posted] == ["not with <WARD_TOKEN>"]


def test_the_model_beside_a_traced_call_is_posted_without_the_key_in_its_headers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WARD_TOKEN", "canary-77aa01")
    posted: list[Run] = []
    monkeypatch.setattr("langchain_core.tracers.LangChainTracer._update_run_single", posted.append)
    model = {"kwargs": {"model_name": "any", "default_headers": {"X-Gate": "canary-77aa01"}}}
    run = Run(id=uuid4(), name="chat", run_type="llm", start_time=datetime.now(UTC), serialized=model, inputs={})
    ModelTracer._update_run_single(run)
    assert [one.serialized for one in posted] == [
        {"kwargs": {"model_name": "any", "default_headers": {"X-Gate": "<WARD_TOKEN>"}}}
    ]
