import os

import pytest

import graphs.roles  # noqa: F401 - declares every role, whichever of these tests runs alone
import tests.llm.examinee  # noqa: F401 - and the one of these tests
from llm import retries


@pytest.fixture(autouse=True)
def _quick_and_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait of our own between attempts that a test would notice, and nothing taken over from the shell."""
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.01)
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AZURE_OPENAI_", "WARDROUND_", "LANGSMITH_", "LANGCHAIN_")):
            monkeypatch.delenv(name)
