"""A conversation as the tokens that a model reads."""

from types import SimpleNamespace
from typing import Any, ClassVar

from cases.dialogues import Message
from llm.conversation import in_turns, source_tokens


class Words:
    """A tokenizer whose tokens are words, and that remembers how many it made."""

    chat_template = "none"
    added_tokens_decoder: ClassVar[dict[int, Any]] = {}
    made = 0

    def apply_chat_template(self, turns: list[dict[str, str]], **_: Any) -> str:
        return " ".join(f"{turn['role']}: {turn['content']}" for turn in turns)

    def __call__(self, text: str, **_: Any) -> SimpleNamespace:
        tokens = text.split()
        self.made += len(tokens)
        return SimpleNamespace(input_ids=tokens)


def said(turns: int, words: int) -> list[Message]:
    roles: Any = ("user", "assistant")
    return [Message(role=roles[at % 2], content=" ".join([f"w{at}"] * words)) for at in range(turns)]


def test_the_newest_turns_are_read_from_the_oldest_patients_turn_with_which_they_fit() -> None:
    talk = said(19, 9)
    for limit in range(5, 200, 5):
        fitting = [start for start in range(0, 19, 2) if 10 * (19 - start) <= limit]
        found = source_tokens(Words(), talk, limit)
        assert (found is None) is (not fitting)
        if found is not None:
            assert len(found.tokens) == 10 * (19 - fitting[0]) and found.shortened is (fitting[0] > 0)


def test_a_long_dialogue_is_not_encoded_from_its_start_for_each_turn() -> None:
    tokenizer, talk = Words(), in_turns(said(61, 99))
    assert source_tokens(tokenizer, talk, 512) is not None
    assert tokenizer.made < 4 * 512  # with one turn left out after another, 95,700
