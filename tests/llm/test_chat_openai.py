"""What is sent of a conversation by our form of LangChain's chat model is what LangChain sends."""

import langchain_openai
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import SecretStr

from llm.chat_openai import AzureChatOpenAI, ChatOpenAI
from tests.support.fake_server import FakeServer

SPOKEN: list[BaseMessage] = [
    SystemMessage("You are the doctor."),
    HumanMessage(
        [{"type": "text", "text": "An X-ray"}, {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}]
    ),
    AIMessage("{}"),
    HumanMessage("Again, please."),
]


async def test_the_request_is_langchains_own_to_the_letter() -> None:
    with FakeServer() as server:
        for kind in (langchain_openai.ChatOpenAI, ChatOpenAI):
            model = kind(model="any", base_url=server.base_url, api_key=SecretStr("none"), temperature=0.5, seed=3)
            await model.ainvoke(SPOKEN, extra_body={"response_format": {"type": "json_object"}})
    theirs, ours = (request.body for request in server.requests)
    assert ours == theirs


@pytest.mark.parametrize("kind", [ChatOpenAI, AzureChatOpenAI])
def test_a_model_is_shown_without_its_headers_values(kind: type[BaseChatModel]) -> None:
    azure = {"azure_endpoint": "https://lab.example", "api_version": "2024-10-21"} if kind is AzureChatOpenAI else {}
    model = kind(model="any", api_key=SecretStr("none"), default_headers={"X-Gate": "canary-77aa01"}, **azure)
    assert "X-Gate" in repr(model) and "canary" not in repr(model) + str(model)
