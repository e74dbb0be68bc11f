"""What is wrong with an answer is told in the language of the prompt."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm.faults import what_is_wrong
from prompts import load_words

ROOT = Path(str(files("llm"))).parent
PYDANTICS = re.compile(r"Field required|Extra inputs|Input should|String should|\{0\} should have|\{0\}' or")
ENGLISH = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")


class Graded(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1)
    done: Literal["fully", "partly", "not"]
    items: list[int] = Field(min_length=2)
    points: float = Field(ge=0, le=5)
    accepted: bool


def fault(given: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Graded.model_validate(given)
    return caught.value


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"reason": "", "done": "fuly", "items": [1], "points": 7, "note": 1},
            "reason：至少 1 个字符；done：应为 'fully', 'partly'、'not' 之一；是否指 'fully'？；"
            "items：至少 2 项，现有 1 项；points：不得大于 5；accepted：缺少该字段；note：不应有该字段",
        ),
        (
            {"reason": 1, "done": 2, "items": "x", "points": "much", "accepted": "perhaps"},
            "reason：应为文字；done：应为 'fully', 'partly'、'not' 之一；items：应为列表；points：应为数字；"
            "accepted：应为 true 或 false",
        ),
        ([], "answer：应为一个对象"),
    ],
)
def test_faults_of_the_form_are_told_in_chinese(given: object, told: str) -> None:
    assert what_is_wrong(fault(given), "zh") == told
    assert ENGLISH.search(what_is_wrong(fault(given)))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("the reply contains no JSON object: '疼痛'", "回答中没有 JSON 对象：'疼痛'"),
        ("the number of verdicts is 2; expected 1, one per claim", "共 1 条陈述，却有 2 条判断"),
        ("text: it contains no words, but must be something that somebody says", "text：没有文字；这里应是所说的话"),
        (
            "it is too long and was cut off: answer in fewer words (the reply is empty)",
            "回答过长，已被截断，请写得短些（回答为空）",
        ),
        (
            "'Prayer' is not in the vocabulary of treatment items; expected Surgery",
            "'Prayer' 不在固定清单中，可选：Surgery",
        ),
        (
            "names occurs twice in one JSON object; give each field once",
            "同一个 JSON 对象中 names 出现了两次；每个字段只写一次",
        ),
        ("NaN is not a number; give one", "NaN 不是数字，请给出数字"),
        ("'咳嗽': said before", "'咳嗽'：前面已经说过"),
        ("'咳嗽' and its answer: said before", "'咳嗽' 及其回答：前面已经说过"),
        ("what a plug-in says of it", "what a plug-in says of it"),
    ],
)
def test_faults_of_the_whole_reply_and_of_a_role_too(english: str, chinese: str) -> None:
    assert what_is_wrong(ValueError(english), "zh") == chinese
    assert what_is_wrong(ValueError(english)) == english


def test_every_fault_of_ours_that_has_words_is_still_said_so_in_english() -> None:
    parts = [ROOT / part for part in ("cases", "llm", "nodes", "scoring")]
    said = "\n".join(path.read_text("utf-8") for part in parts for path in part.rglob("*.py"))
    for text in load_words("ask/faults", "en").values():
        if not PYDANTICS.match(text):
            assert re.search(re.sub(r"\\\{\d\\\}", r"\\{[^{}]+\\}", re.escape(text)), said), text
