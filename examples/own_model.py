"""A model of one's own: any LangChain chat model object can stand behind a role.

    python examples/own_model.py

This one answers from a table that it holds. Put your own inference code into `_generate`, or use an integration of
LangChain's with settings that no spec has. A server that speaks OpenAI's protocol needs no code at all:
`wardround run --models doctor=openai:my-model@http://localhost:8000/v1`.
"""

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import wardround as wr


class QuestionList(BaseChatModel):
    """A doctor who puts the same questions to everybody. Its fields are what the record tells of it."""

    questions: tuple[str, ...] = ("What brings you here?", "Since when?", "Have you had this before?")

    @property
    def _llm_type(self) -> str:
        return "question_list"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Ask what has not been asked yet. With `plain_words` the answer is what is said, and not a form to fill in."""
        asked = sum(isinstance(message, AIMessage) for message in messages)
        text = self.questions[asked % len(self.questions)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def main() -> None:
    """One consultation, whose doctor is the table and whose other roles are played by rule."""
    result = wr.consultation.invoke(
        {"case": wr.load_cases("builtin")[0]},
        context={
            "models": {"default": "offline", "history_taking.doctor": QuestionList()},
            "plain_words": True,
            "max_turns": 3,
            "retrieval": False,
        },
    )
    for turn in result["dialogue"]:
        print(f"{turn.speaker}: {turn.text}")
    print("answered by", *result["trace"].models["doctor"])


if __name__ == "__main__":
    main()
