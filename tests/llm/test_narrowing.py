"""The form of the last repair: scales as lists, and, of an answer that was cut off, lengths that fit."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from llm import AnswerError, Call, ModelSettings, Role, ask
from llm import forms as known_forms
from llm.narrowing import narrowed
from llm.schema import answer_schema
from llm.trace import collecting_calls
from nodes.reconstruction.knowledge import ClinicalKnowledge
from nodes.workflow.order_extraction import ExtractedOrders
from tests.support.fake_server import ChatRequest, FakeServer


class Told(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="What is noted.")
    grade: Annotated[float, Field(ge=0, le=2)]


class Opinion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    said: list[Told] = Field(min_length=1)


class Spoken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


@dataclass(frozen=True)
class View:
    report: str = "Pain under the ribs since yesterday."


ROLE = Role("judge", "narrowing", "judges/claims", Opinion, offline=lambda view: Opinion(said=[]))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_forms, "_known", {})


def bound(request: ChatRequest) -> dict[str, Any]:
    """The parts of the schema that a repair may bind."""
    assert request.schema is not None
    told = request.schema["$defs"]["Told"]["properties"]
    return {
        "items": request.schema["properties"]["said"].get("maxItems"),
        "text": told["name"].get("maxLength"),
        "grades": told["grade"].get("enum"),
    }


def weak(request: ChatRequest) -> Any:
    """What a small model says under a grammar: as much as it may, and the highest grade it can."""
    parts = bound(request)
    text, items = (parts["text"] or 4000), (parts["items"] or 3)
    grade = parts["grades"][-1] if parts["grades"] else 9
    return {"said": [{"name": " ".join(map(str, range(text)))[:text], "grade": grade}] * items}


async def put(
    answer: Any, faults: Any = (), repairs: int = 1, questions: int = 1, role: Role[Opinion] = ROLE, **server: Any
) -> tuple[list[Opinion], list[Call], list[ChatRequest]]:
    with FakeServer(answer=answer, faults=faults, **server) as fake, collecting_calls() as calls:
        settings = ModelSettings(models={"default": f"openai:any@{fake.base_url}"}, repairs=repairs)
        said = [await ask(role, View(f"Patient {n}."), settings, language="en") for n in range(questions)]
    return said, calls, fake.requests


async def test_a_grade_beyond_its_scale_is_asked_for_at_last_from_the_list_of_grades() -> None:
    def answer(request: ChatRequest) -> Any:
        grades = bound(request)["grades"]
        return {"said": [{"name": "a", "grade": grades[1] if grades else 9}]}

    (said,), (call,), requests = await put(answer, repairs=2)
    assert [bound(request)["grades"] for request in requests] == [None, None, [0, 0.5, 1, 1.5, 2]]
    assert said.said[0].grade == 0.5 and call.repaired and not call.shortened
    assert bound(requests[-1])["text"] is None  # nothing was too long


def test_a_scale_is_listed_without_its_ends_and_only_free_texts_and_lists_have_a_length() -> None:
    fields: dict[str, Any] = {
        "grade": {"type": "integer", "title": "Grade", "minimum": 0, "maximum": 2},
        "share": {"type": "number", "minimum": 0},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "day": {"type": "string", "format": "date"},
        "names": {"type": "array", "items": {"type": "string"}},
    }
    bounded = narrowed({"type": "object", "properties": fields}, 1000)["properties"]
    assert bounded["grade"] == {"type": "integer", "title": "Grade", "enum": [0, 1, 2]}
    assert [bounded[name] for name in ("share", "kind", "day")] == [fields[name] for name in ("share", "kind", "day")]
    texts, longest = bounded["names"]["maxItems"], bounded["names"]["items"]["maxLength"]
    assert texts > 1 and texts * longest < 1000


async def test_a_filter_that_flags_a_narrowed_question_does_not_widen_the_next_ones() -> None:
    filtered = (400, "{'message': 'The response was filtered.', 'code': 'content_filter'}")
    flagged: list[int] = []

    def answer(request: ChatRequest) -> Any:  # the flagged question is answered when it is asked again, wide
        fits = bound(request)["grades"] or request.index - 1 in flagged
        return {"said": [{"name": "a", "grade": 0.5 if fits else 9}]}

    def refusal(request: ChatRequest) -> tuple[int, str] | None:
        if flagged or not bound(request)["grades"]:
            return None
        flagged.append(request.index)
        return filtered

    _, _, requests = await put(answer, repairs=2, questions=2, refusal=refusal)
    assert flagged and bound(requests[-1])["grades"] == [0, 0.5, 1, 1.5, 2]


async def test_an_answer_that_overruns_its_tokens_every_time_is_bound_to_a_length_at_last_and_marked() -> None:
    def cut(request: ChatRequest) -> Any:
        return "cut_json" if bound(request)["text"] is None else None

    (said,), (call,), requests = await put(weak, faults=cut, repairs=2)
    assert [bound(request)["text"] is None for request in requests] == [True, True, False]
    assert len(said.said) == bound(requests[-1])["items"] and call.shortened
    assert '"maxLength"' in requests[-1].text  # told in words too, to a server that binds nothing


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("My cough began three weeks ago. It is worse at night, and I bring up a little white phlegm with it", None),
        (
            "我咳嗽三个星期了。晚上比较重，躺下以后更明显，痰不多，是白色的，没有血，也不发烧，吃了药店里买来的止咳"
            "糖浆以后好了一点，可是前天着凉以后又重起来了，夜里睡不好",
            "我咳嗽三个星期了。",
        ),
        ("since last winter my cough has come and gone, mostly at night, with a little white phlegm and ", "…"),
    ],
)
async def test_words_that_a_length_cut_off_are_kept_up_to_their_last_whole_sentence(
    told: str, said: str | None
) -> None:
    speaker = Role("patient", "narrowing", "judges/claims", Spoken, offline=lambda view: Spoken(text="Yes."))

    def longest_of(request: ChatRequest) -> int | None:
        assert request.schema is not None
        longest = request.schema["properties"]["text"].get("maxLength")
        return None if longest is None else int(longest)

    with FakeServer(
        answer=lambda request: {"text": told[: longest_of(request)]},
        faults=lambda request: None if longest_of(request) else "cut_json",
    ) as fake, collecting_calls() as calls:  # fmt: skip
        settings = ModelSettings(models={"default": f"openai:any@{fake.base_url}"}, repairs=1)
        spoken = await ask(speaker, View(), settings, language="en")
    cut = told[: longest_of(fake.requests[-1])]
    assert cut != told and calls[0].shortened
    assert spoken.text == (f"{cut.rstrip()}…" if said == "…" else said or told.partition(" It")[0])


async def test_what_is_counted_is_never_bound_to_a_length() -> None:
    counting = Role("judge", "narrowing", "judges/claims", Opinion, offline=lambda view: Opinion(said=[]), whole=True)
    with pytest.raises(AnswerError, match="too long and was cut off"):
        await put(weak, faults=["cut_json"] * 3, repairs=2, role=counting)
    _, (call,), (_, repair) = await put(weak, faults=["cut_json"], role=counting)
    assert bound(repair)["grades"] and bound(repair)["text"] is None and not call.shortened


async def test_an_answer_that_goes_round_in_circles_to_its_last_token_is_bound_to_a_length_at_once() -> None:
    def circles(request: ChatRequest) -> Any:
        long = bound(request)["text"]
        return {"said": [{"name": ("pain " * 500)[:long], "grade": 1}]}

    def cut(request: ChatRequest) -> Any:
        return "cut_json" if bound(request)["text"] is None else None

    (said,), (call,), requests = await put(circles, faults=cut, repairs=3)
    assert len(requests) == 2 and call.shortened and said.said[0].grade == 1


async def test_a_repair_tells_the_fields_of_the_form_without_what_it_says_of_them() -> None:
    replies = iter(["{}", {"said": [{"name": "a", "grade": 1}]}])
    _, _, (_, repair) = await put(lambda request: next(replies))
    assert '"grade"' in repair.text and "What is noted" not in repair.text and "What is noted" in str(repair.schema)


async def test_a_server_that_takes_no_lengths_is_asked_in_the_same_form_without_and_no_more_with_them() -> None:
    def refusal(request: ChatRequest) -> tuple[int, str] | None:
        return (400, "Invalid schema: 'enum' of numbers is not permitted") if bound(request)["grades"] else None

    def answer(request: ChatRequest) -> Any:
        return {"said": [{"name": "a", "grade": 1 if len(request.messages) > 2 else 9}]}

    said, calls, requests = await put(answer, questions=2, refusal=refusal)
    assert [opinion.said[0].grade for opinion in said] == [1, 1] and not any(call.error for call in calls)
    assert [(request.status, request.mode) for request in requests] == [
        (200, "json_schema"), (400, "json_schema"), (200, "json_schema"), (200, "json_schema"), (200, "json_schema")
    ]  # fmt: skip


async def test_what_no_repair_mends_is_still_no_answer() -> None:
    with pytest.raises(AnswerError, match="less than or equal to 2"):
        await put(lambda request: {"said": [{"name": "a", "grade": 9}]})


def test_an_answer_within_the_lengths_has_room_in_what_was_cut_off() -> None:
    def longest(node: Any, schema: Any) -> Any:
        if "$ref" in node:
            return longest(schema["$defs"][node["$ref"].rpartition("/")[2]], schema)
        if "anyOf" in node or "enum" in node:
            return "Infectious Diseases"
        if node["type"] == "object":
            return {name: longest(part, schema) for name, part in node["properties"].items()}
        return (
            [longest(node["items"], schema)] * node["maxItems"] if node["type"] == "array" else "x" * node["maxLength"]
        )

    for characters in (2500, 5000, 20_000):
        schema = narrowed(answer_schema(ClinicalKnowledge, "en"), characters)
        assert 0.5 * characters < len(json.dumps(longest(schema, schema))) <= characters


@pytest.mark.parametrize(
    ("number", "scale"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5}, [1, 2, 3, 4, 5]),
        ({"type": "number", "minimum": 0, "maximum": 1}, [0, 0.5, 1]),
        ({"type": "number", "minimum": 0, "maximum": 100}, list(range(101))),
        ({"type": "number", "minimum": 0}, None),
        ({"type": "integer", "minimum": 0, "maximum": 1000}, None),
    ],
)
def test_a_closed_scale_is_told_as_its_numbers(number: dict[str, Any], scale: list[float] | None) -> None:
    assert narrowed(number, None).get("enum") == scale


def test_bounds_of_the_answer_type_itself_are_never_loosened() -> None:
    array = {"type": "array", "minItems": 4, "maxItems": 6, "items": {"type": "string", "maxLength": 9}}
    found = narrowed({"type": "object", "properties": {"a": array}}, 10_000)["properties"]["a"]
    assert found == array
    assert narrowed({"type": "array", "minItems": 4, "items": {"type": "string"}}, 10)["maxItems"] == 4


def test_a_closed_list_has_as_many_items_as_its_longest_term_leaves_room_for() -> None:
    term = "Head, Eyes, Ears, Nose and Throat Examination"
    closed = {"type": "array", "items": {"type": "string", "enum": ["Skin Examination", term]}}
    schema = {"type": "object", "properties": {"reasoning": {"type": "string"}, "items": closed}}
    bound = narrowed(schema, 380)["properties"]
    longest = {"reasoning": "x" * bound["reasoning"]["maxLength"], "items": [term] * bound["items"]["maxItems"]}
    assert len(longest["items"]) > 1 and len(json.dumps(longest, indent=1)) < 380


def test_closed_lists_without_a_text_beside_them_have_the_items_for_which_there_is_room() -> None:
    """A cut-off list of ordered examinations was bound to one of each kind."""
    for characters, items in ((1500, 8), (600, 3), (100, 1)):
        bound = narrowed(answer_schema(ExtractedOrders, "en"), characters)["properties"]
        assert [part["maxItems"] for part in bound.values()] == [items, items]


def test_no_text_is_bound_below_its_least_length() -> None:
    """As of a plug-in; llama.cpp's grammar takes all memory for a text that cannot be."""
    schema = {"type": "object", "properties": {"text": {"type": "string", "minLength": 200}}}
    assert narrowed(schema, 150)["properties"]["text"] == {"type": "string", "minLength": 200, "maxLength": 200}
