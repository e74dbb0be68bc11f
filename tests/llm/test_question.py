from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from llm.question import typed_question
from tests.llm.examinee import EXAMINEE


async def test_what_is_said_of_a_reply_reaches_a_server_without_chat_roles_too() -> None:
    question: Any = await typed_question(EXAMINEE, None, "You judge.", "Well?", (), "en")
    again = [AIMessage("So."), HumanMessage("Once more.")]
    assert question.about([*question.messages, *again]).in_text == ()
    in_text = [HumanMessage("You judge. Well?")]
    repaired = replace(question, in_text=in_text).about([*question.messages, *again])
    assert repaired.messages == [*question.messages, *again] and repaired.in_text == [*in_text, *again]
