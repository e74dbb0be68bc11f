import pytest

from cases.vocabulary import Language
from nodes.offline.meaning import asks_of_the_story, is_likely_of_history


@pytest.mark.parametrize(
    ("language", "of_the_story", "of_history"),
    [
        (
            "en",
            ("Is the pain worse at night?", "Does anything make it better?"),
            ("Do you smoke?", "Are you allergic to anything?", "Is anybody in your family ill?"),
        ),
        (
            "zh",
            ("晚上疼得更厉害吗？", "疼痛是什么时候开始的？"),
            ("您抽烟吗？", "您对什么药过敏吗？", "家里有人得过这种病吗？"),
        ),
    ],
)
def test_a_question_of_the_story_of_the_complaint_is_told_from_one_of_the_rest_of_the_history(
    language: Language, of_the_story: tuple[str, ...], of_history: tuple[str, ...]
) -> None:
    for asks, told in ((asks_of_the_story, of_the_story), (is_likely_of_history, of_history)):
        assert [words for words in (*of_the_story, *of_history) if asks(words, language)] == [*told]
