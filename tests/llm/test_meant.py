"""Answers that lack their type but can mean only one: read at once, while what is in doubt is asked for again."""

import json
import random
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from cases.strict import NonEmpty, Strict
from cases.vocabulary import GivenDepartment, GivenExaminationItem, Language
from graphs import roles as roles  # declares them all
from llm import Call, ModelSettings, Role, ask
from llm.meant import as_meant, object_in
from llm.role import declared_roles
from llm.schema import answer_schema
from llm.trace import collecting_calls
from tests.support.fake_server import FakeServer
from tests.support.schema_sampler import sample


class Findings(Strict):
    accepted: bool
    reason: str
    department: GivenDepartment
    exam_items: list[GivenExaminationItem]
    diagnoses: list[NonEmpty]
    numbers: list[int]


class Grades(Strict):
    level: Literal[1, 2, 3, 4, 5]
    points: Annotated[float, Field(ge=0, le=10)]
    option: Literal["A", "B", "not", "fully"]


class Agreed(Strict):
    agreed: bool


class Departments(Strict):
    departments: list[GivenDepartment]


@dataclass(frozen=True)
class View:
    report: str = "A small left pleural effusion."


GOOD: dict[str, Any] = {
    "accepted": True,
    "reason": "It fits.",
    "department": "Surgery",
    "exam_items": ["X-ray", "CT"],
    "diagnoses": ["Gout"],
    "numbers": [1, 3],
}
KINDS = sorted(
    {role.answer for role in declared_roles().values() if role.answer.model_fields}, key=lambda one: one.__name__
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


async def put(reply: Any, kind: type[BaseModel] = Findings, language: Language = "en") -> tuple[BaseModel, Call]:
    """The answer to a server that first gives this reply, and then, if it is asked again, the good one."""
    role = Role("examinee", "rehearsal", "judges/claims", kind, offline=lambda view: kind.model_validate(GOOD))
    replies = iter([reply])
    with (
        FakeServer(answer=lambda request: next(replies, GOOD), supports=("text",)) as server,
        collecting_calls() as calls,
    ):
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        answer = await ask(role, View(), settings, language=language)
    return answer, calls[0]


READ: dict[str, list[tuple[Any, Any]]] = {
    "exam_items": [
        ("X-ray", ["X-ray"]),
        ("X-ray; CT", ["X-ray", "CT"]),
        ("X-ray, CT and MRI", ["X-ray", "CT", "MRI"]),
        ("CT、磁共振", ["CT", "MRI"]),
        (["X-ray; CT"], ["X-ray", "CT"]),
        ("Head, Eyes, Ears, Nose and Throat Examination", ["Head, Eyes, Ears, Nose and Throat Examination"]),
        ([{"name": "X-ray", "description": "of the chest"}, {"name": "CT"}], ["X-ray", "CT"]),
        (None, []),
        ("None", []),
        (["无"], []),
        ("不需要", []),
    ],
    "department": [(["Surgery"], "Surgery"), ("外科（普通外科）", "Surgery")],
    "diagnoses": [
        ("Acute appendicitis (perforated)", ["Acute appendicitis (perforated)"]),
        ("Pneumonia, left lower lobe; gout", ["Pneumonia, left lower lobe", "gout"]),
        ("1. Gout\n2. Asthma", ["Gout", "Asthma"]),
        ("肺炎；哮喘", ["肺炎", "哮喘"]),
    ],
    "numbers": [("1, 3", [1, 3]), (3, [3]), (["1", "3"], [1, 3]), (["第1句", "3号"], [1, 3])],
    "reason": [(3, "3"), (["It fits."], "It fits.")],
    "accepted": [("Yes.", True), ("no", False), ("是", True), ("否", False)],
}
LABELLED = {**GOOD, "exam_items": "X-ray, CT", "diagnoses": "Gout", "numbers": "1, 3", "accepted": "yes"}


@pytest.mark.parametrize(
    ("field", "given_value", "meant"), [(field, *pair) for field, pairs in READ.items() for pair in pairs]
)
async def test_what_can_mean_one_thing_alone_is_read_without_asking_again(
    field: str, given_value: Any, meant: Any
) -> None:
    answer, call = await put({**GOOD, field: given_value})
    assert answer.model_dump() == {**GOOD, field: meant} and not call.repaired


@pytest.mark.parametrize(
    "reply",
    [
        {key.replace("_", " ").title(): part for key, part in GOOD.items()},
        {key.replace("_", "-").upper(): part for key, part in GOOD.items()},
        {{"exam_items": "examItems"}.get(key, key): part for key, part in GOOD.items()},
        {"Answer": {key.title(): part for key, part in GOOD.items()}},
        {"status": "success", "data": GOOD},
        json.dumps(GOOD).replace('"', "&quot;"),
        "\n".join(f"- **{key.replace('_', ' ').title()}:** {part}" for key, part in LABELLED.items()),
    ],
)
async def test_fields_in_another_spelling_an_envelope_an_escape_or_labels_are_read(reply: Any) -> None:
    answer, call = await put(reply)
    assert answer.model_dump() == GOOD and not call.repaired


@pytest.mark.parametrize(
    "doubtful",
    [
        {"diagnoses": "Gout, asthma"},  # or one with its site: never split
        {"diagnoses": "Gout and asthma"},
        {"diagnoses": "Burn (hand; face)"},
        {"exam_items": "X-ray; something else"},
        {"exam_items": [{"name": "X-ray", "needed": "no"}]},
        {"exam_items": "an X-ray if it gets worse"},
        {"department": ["Surgery", "Pediatrics"]},
        {"department": "Surgery (or Pediatrics)"},
        {"accepted": "partly"},
        {"numbers": "1 to 3"},
        {"numbers": ["1/3"]},  # of no scale
        {"exam_items": ["X-ray", "CT（暂不做）"]},
        {"Reason": "It does not."},  # beside `reason`
        {"note": "as asked"},
    ],
)
async def test_what_is_in_doubt_is_asked_for_again(doubtful: dict[str, Any]) -> None:
    answer, call = await put({**GOOD, **doubtful})
    assert answer.model_dump() == GOOD and call.repaired


@pytest.mark.parametrize(
    ("reply", "kind", "meant"),
    [
        ("**Agreed:** yes", Agreed, {"agreed": True}),
        ("Answer: no", Agreed, {"agreed": False}),
        ("**No.**", Agreed, {"agreed": False}),
        ({"result": "yes"}, Agreed, {"agreed": True}),
        ("**Departments:** Surgery, Pediatrics", Departments, {"departments": ["Surgery", "Pediatrics"]}),
        ("外科、儿科", Departments, {"departments": ["Surgery", "Pediatrics"]}),
    ],
)
async def test_a_form_of_one_field_is_read_from_a_label_or_a_term_alone(
    reply: Any, kind: type[BaseModel], meant: dict[str, Any]
) -> None:
    answer, call = await put(reply, kind)
    assert answer.model_dump() == meant and not call.repaired


@pytest.mark.parametrize(
    "reply", ["I agree with the plan.", "Agreed: yes\nAgreed: no", "First this.\nAgreed: yes", "yes and no", ""]
)
def test_words_that_do_not_only_answer_are_no_answer(reply: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON object|is empty"):
        object_in(reply, answer_schema(Agreed, "en"))


@pytest.mark.parametrize(
    "level",
    ["4", "４", "4.0", "4分", "４ 分", "四分", "四", "第4级", "4/5", "4／5分", "4 out of 5", "4（好）"],
)
def test_a_grade_is_read_with_its_unit_its_scale_or_as_a_chinese_numeral(level: str) -> None:
    meant = as_meant({"level": level, "points": "7.5分", "option": "A（全部）"}, answer_schema(Grades, "zh"))
    assert Grades.model_validate(meant) == Grades(level=4, points=7.5, option="A")


@pytest.mark.parametrize("level", ["3-4", "8/10", "4.5分", "4分以上", "-4分", "六分", "约4分", "三四分", "好"])
def test_a_grade_of_another_scale_or_between_two_is_asked_for_again(level: str) -> None:
    meant = as_meant({"level": level, "points": 7, "option": "A"}, answer_schema(Grades, "zh"))
    with pytest.raises(ValidationError):
        Grades.model_validate(meant)


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("全部（A）", "A"),
        ("A：全部掌握", "A"),
        ("b (most of it)", "B"),
        ("A（B）", "A（B）"),
        ("not: fully", "not: fully"),
        ("A（也可算 B）", "A（也可算 B）"),
        ("不是 A（全部）", "不是 A（全部）"),
        ("A（全部），B（大部分）", "A（全部），B（大部分）"),
    ],
)
def test_a_choice_is_read_without_the_words_that_explain_it(option: str, meant: str) -> None:
    schema = answer_schema(Grades, "zh")
    assert as_meant({"level": 4, "points": 7, "option": option}, schema)["option"] == meant


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_answer_of_its_type_is_never_changed(kind: type[BaseModel], language: Language) -> None:
    schema = answer_schema(kind, language)
    for seed in range(5):
        given_answer = sample(schema, random.Random(seed))
        assert as_meant(given_answer, schema) == given_answer


@given(value=JSON, text=st.text(), kind=st.sampled_from(KINDS), place=st.integers(0, 99))
def test_nothing_that_a_model_writes_raises_another_error(
    value: Any, text: str, kind: type[BaseModel], place: int
) -> None:
    schema = answer_schema(kind, "en")
    names = [*schema["properties"]]
    as_meant(value, schema)
    as_meant({names[place % len(names)]: value}, schema)
    with suppress(ValueError):
        object_in(text, schema)
