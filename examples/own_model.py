"""A custom model: any LangChain chat model object can play a role.

    python examples/own_model.py

This one asks questions from a fixed list. Put your own inference code into `_generate`, or use a LangChain integration
with settings that no model spec offers. A server with an OpenAI-compatible API needs no code:
`wardround run --models doctor=openai:my-model@http://localhost:8000/v1`.
"""

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import wardround as wr


class QuestionList(BaseChatModel):
    """A doctor who asks everybody the same questions. Its fields are recorded with the run."""

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
        """Return the next question. With `plain_words`, the answer is the spoken text instead of a JSON form."""
        asked = sum(isinstance(message, AIMessage) for message in messages)
        text = self.questions[asked % len(self.questions)]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def main() -> None:
    """Run one consultation with this doctor; the other roles follow their offline rules."""
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
