"""What is wrong with an answer is told in the language of the prompt."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cases.vocabulary import GivenAuxiliaryItem, GivenClinichatDepartment, GivenDepartment, GivenUrgency
from llm.faults import in_words, what_is_wrong
from prompts import load_words

ROOT = Path(str(files("llm"))).parent
# Of Pydantic, and the last of Python's reader of JSON.
PYDANTICS = re.compile(
    r"Field required|Extra inputs|Input should|String should|\{0\} should have|\{0\}' or|\{0\}: line"
)
GATES = ("gates", "content", "form", "particulars", "kinds", "answers", "verbatim", "learned")
# Only of dialogues written by rules, which are not written again; and a reader's, who is asked after all sections.
OF_RULES = {"x tells nothing of the note", "x answers its own question", "x: x", "expected the x, found the x"}
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
        ("Input should be 1, 2 or 3", "应为 1, 2、3 之一"),
        (
            "Expecting ',' delimiter: line 1 column 14 (char 13)",
            "不是有效的 JSON（第 1 行第 14 列）；文字中的引号请写成“”",
        ),
        (
            "names occurs twice in one JSON object; give each field once",
            "同一个 JSON 对象中 names 出现了两次；每个字段只写一次",
        ),
        ("NaN is not a number; give one", "NaN 不是数字，请给出数字"),
        ("'咳嗽': said before", "'咳嗽'：前面已经说过"),
        ("'咳嗽' and its answer: said before", "'咳嗽' 及其回答：前面已经说过"),
        ("the patient says '端坐呼吸'", "'端坐呼吸' 是专业术语，应换成日常的话"),
        ("the patient says '该患者', as somebody writing about a patient would", "患者说 '该患者'，像是旁人在描述患者"),
        ("'a', 'b': the note has nothing closer than 'c'", "'a'、'b'：病历中最接近的是 'c'"),
        ("'a': the note names no such medicine", "'a'：不是病历中的药物；病历中还没有说到的药物：无"),
        ("the facts are not those of the plain words (added: 咳)", "事实与原话不符（多出：咳）"),
        ("what a plug-in says of it", "what a plug-in says of it"),
    ],
)
def test_faults_of_the_whole_reply_and_of_a_role_too(english: str, chinese: str) -> None:
    assert what_is_wrong(ValueError(english), "zh") == chinese
    assert what_is_wrong(ValueError(english)) == english


@pytest.mark.parametrize(
    ("kind", "given", "listed"),
    [
        (GivenAuxiliaryItem, "心电图", "'心电图' 不在固定清单中，可选：X-ray、MRI、CT、超声、"),
        (GivenClinichatDepartment, "外一科", "'外一科' 不在固定清单中，可选：心内科、"),
        (GivenUrgency, "不急", "'不急' 不在固定清单中，可选：普通、紧急、急诊"),
        (GivenDepartment, "骨科", "'骨科' 不在固定清单中，可选：护理科、药剂科、"),
    ],
)
def test_the_terms_of_a_closed_list_are_told_in_the_language_of_the_prompt(kind: Any, given: str, listed: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(given, context={"closed": True})
    told = what_is_wrong(caught.value, "zh")
    assert listed in told and not ENGLISH.search(told)


def messages_of_gates() -> Iterator[str]:
    """What the gates say of a turn, with x for what they name."""
    gates = [path for path in (ROOT / "nodes/reconstruction").glob("*.py") if path.stem in GATES]
    for node in (node for path in gates for node in ast.walk(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            *_, message, turn = node.value.elts
            if not (isinstance(turn, ast.Constant) and turn.value is None) and not isinstance(message, ast.Name):
                parts = message.values if isinstance(message, ast.JoinedStr) else [message]
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
                yield text.removesuffix(" in turn x")  # as the writer's objections are


def test_every_objection_to_a_turn_has_words_of_its_own_in_chinese() -> None:
    found = {message for message in messages_of_gates() if message not in OF_RULES}
    assert len(found) > 40
    assert [message for message in sorted(found) if has_english(in_words(message, "zh"))] == []


def has_english(message: str) -> bool:
    return re.search("[A-Za-z]{2,}", message) is not None


def test_every_fault_of_ours_that_has_words_is_still_said_so_in_english() -> None:
    parts = [ROOT / part for part in ("cases", "llm", "nodes", "scoring")]
    said = "\n".join(path.read_text("utf-8") for part in parts for path in part.rglob("*.py"))
    for text in load_words("ask/faults", "en").values():
        if not PYDANTICS.match(text):
            assert re.search(re.sub(r"\\\{\d\\\}", r"\\{[^{}]+\\}", re.escape(text)), said), text


def test_a_long_message_stays_in_english() -> None:
    """Its patterns have several gaps, and what it quotes may have each of their words ten thousand times."""
    message = " should have at most  item after validation, not " * 2_000
    assert in_words(message, "zh") == message
    assert in_words("x is not a number; give one", "zh") != "x is not a number; give one"
