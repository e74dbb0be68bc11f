"""Replies as a very small model gives them: its own sentence over and over, or the form said back."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from cases.dialogues import PATIENT, Message
from cases.vocabulary import Language
from llm import AnswerError, Call, ModelSettings, Role, ask
from llm.role import Speech, says_back, variables
from llm.trace import collecting_calls
from prompts import load_prompt
from tests.support.fake_server import Answer, ChatRequest, FakeServer, Fault, Faults

MEANT = "What the speaker says next."
SAID = "It hurts under my ribs since yesterday."
LOOP = f"{SAID} " * 30


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(description=MEANT)


@dataclass(frozen=True)
class View:
    report: str = "Since when have you had the pain under your ribs?"


SPEECH = Speech[Said](
    conversation=lambda view: [Message(role=PATIENT, content="Hello.")],
    answer=lambda view, words: Said(text=words),
    heard=lambda view: view.report,
)
SPEAKER = Role("examinee", "rehearsal", "judges/claims", Said, offline=lambda view: Said(text=SAID), speech=SPEECH)


async def put(
    answer: Answer, faults: Faults = (), language: Language = "en", **options: Any
) -> tuple[Said, Call, list[ChatRequest]]:
    """The answer, the record of the call, and what was sent, to a server with a JSON mode alone."""
    told = ["json_object", "text"]
    with FakeServer(answer=answer, faults=faults, supports=told) as server, collecting_calls() as calls:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, **options)
        said = await ask(SPEAKER, View(), settings, language=language)
    asked = [request for request in server.requests if request.status == 200]
    return said, calls[0], asked


async def test_a_reply_that_goes_round_in_circles_is_repaired_from_what_it_first_said() -> None:
    said, call, asked = await put(lambda request: {"text": SAID if len(request.messages) > 2 else LOOP})
    assert said.text == SAID and call.repaired and not call.shortened and len(asked) == 2
    assert SAID in asked[1].messages[-2]["content"] and len(asked[1].messages[-2]["content"]) < 100
    assert "the same over and over" in asked[1].messages[-1]["content"]


async def test_what_is_wrong_is_told_in_the_language_of_the_prompt() -> None:
    _, _, asked = await put(lambda request: {"text": SAID if len(request.messages) > 2 else LOOP}, language="zh")
    assert "回答反复重复，已被截断" in asked[1].messages[-1]["content"]


async def test_who_says_what_is_said_of_the_form_speaks_anew() -> None:
    told = "Answer with one JSON object and nothing else."
    replies = iter([{"text": told}, {"text": SAID}])
    said, call, asked = await put(lambda request: next(replies))
    assert said.text == SAID and call.repaired and len(asked) == 2


async def test_a_field_beside_all_that_were_asked_for_goes_back_once_and_is_then_left_out() -> None:
    said, call, asked = await put(lambda request: {"text": SAID, "confidence": 0.9})
    assert said.text == SAID and call.repaired and len(asked) == 2
    with pytest.raises(AnswerError, match="text: Field required; words: Extra inputs"):
        await put(lambda request: {"words": SAID})


async def test_an_answer_that_a_filter_withheld_is_said_to_be_so() -> None:
    with pytest.raises(AnswerError, match="its server's filter, refuses to answer"):
        await put(lambda request: {"text": SAID}, faults=["filtered"] * 9)


async def test_a_reply_that_never_ends_is_cut_where_it_began_to_repeat_itself_and_that_is_on_record() -> None:
    said, call, asked = await put(lambda request: {"text": LOOP})
    assert said.text == SAID and call.repaired and call.shortened and len(asked) == 2


async def test_a_short_loop_at_a_low_limit_of_tokens_is_asked_for_again_within_bounds_at_once() -> None:
    """SmolLM2 with 150 tokens: three such replies in a row, each too short for a loop, lost a case."""
    loop = {**GIVEN.model_dump(), "reason": "The patient has a history of breast" + "-de" * 80}
    faults: list[Fault | None] = ["cut_json"]
    with FakeServer(
        answer=lambda request: GIVEN.model_dump() if request.messages[2:] else loop, faults=faults
    ) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        given = await ask(JUDGE, View(), settings, language="en")
    _, again = server.requests
    assert given == GIVEN and again.schema is not None and again.schema["properties"]["reason"]["maxLength"] < 100
    assert "over and over" in again.messages[-1]["content"] and "-de-de-de" not in again.messages[-2]["content"]


async def test_a_loop_that_a_bound_has_ended_is_cut_where_it_began_to_repeat_itself() -> None:
    """As SmolLM2 with 100 tokens, whose sentence stood in the patient's chart three times and a half."""
    once = "I am a patient who has been referred to you."
    faults: list[Fault | None] = ["cut_json"]
    with FakeServer(
        answer=lambda request: {"text": f"{once} " * 3 + once[:24] if request.messages[2:] else f"{once} " * 7},
        faults=faults,
    ) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, repairs=1)
        said = await ask(SPEAKER, View(), settings, language="en")
    assert said.text == once and len(server.requests) == 2


@pytest.mark.parametrize("max_tokens", [None, 500])
async def test_a_loop_that_never_ends_is_not_said_to_need_more_tokens(max_tokens: int | None) -> None:
    """As SmolLM2's list of diseases for Clini-Eval's demonstration, which named one until its tokens were used up.

    Nor is it said to need a shorter prompt, if what it used up was the model's context.
    """
    loop = {**GIVEN.model_dump(), "found": ["Chronic apical periodontitis"] * 40}
    with (
        FakeServer(answer=lambda request: loop, faults=["cut_json"] * 9) as server,
        pytest.raises(AnswerError, match="over and over") as told,
    ):
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, max_tokens=max_tokens)
        await ask(JUDGE, View(), settings, language="en")
    assert "max_tokens" not in str(told.value) and told.value.reason == "unparseable_answer"


async def test_plain_words_that_go_round_in_circles_are_cut_at_once() -> None:
    said, call, asked = await put(lambda request: LOOP, plain_words=True)
    assert said.text == SAID and call.shortened and not call.repaired and len(asked) == 1


async def test_plain_words_that_end_at_the_limit_of_tokens_are_asked_for_shorter_once_and_then_marked() -> None:
    half = f"{SAID[: len(SAID) // 2]}…"  # there is no whole sentence
    said, call, asked = await put(lambda request: SAID, lambda request: None if request.messages[2:] else "cut_json")
    assert said.text == SAID and call.repaired and not call.shortened
    assert "too long and was cut off" in asked[-1].messages[-1]["content"]
    said, call, asked = await put(lambda request: SAID, lambda request: "cut_json")
    assert said.text == half and call.shortened and [len(request.messages) for request in asked] == [2, 2, 4]
    said, call, asked = await put(lambda request: SAID, ["cut_json"], plain_words=True)
    assert said.text == half and call.shortened and len(asked) == 1
    said, call, _ = await put(lambda request: f"Yes. {SAID}", lambda request: "cut_json")
    assert said.text == "Yes." and call.shortened


async def test_plain_words_that_the_limit_of_tokens_cut_off_behind_a_sentence_stand() -> None:
    said, call, _ = await put(lambda request: SAID * 2, lambda request: "cut_json")
    assert said.text == SAID and not call.repaired and not call.shortened


async def test_who_does_not_speak_may_answer_with_what_a_repair_named() -> None:
    class Advice(BaseModel):
        place: Literal["Send home with oral antibiotics", "Admit to the intensive care unit"]

    replies = iter([{"place": "ICU"}, {"place": "Admit to the intensive care unit"}])
    role = Role("examinee", "rehearsal", "judges/claims", Advice, offline=lambda view: Advice.model_construct())
    with FakeServer(answer=lambda request: next(replies)) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, repairs=1)
        advice = await ask(role, View(), settings, language="en")
    assert advice.place == "Admit to the intensive care unit"


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_a_repair_says_is_nobody_s_words(language: Language) -> None:
    back = View().report

    def reply(request: ChatRequest) -> dict[str, Any]:
        told = request.messages[-1]["content"].partition('"problem">' if language == "en" else '"问题">')[2]
        return {"text": told.partition("</data>")[0].strip().removeprefix("text").lstrip(":： ") or back}

    said, call, asked = await put(reply, language=language)
    assert said.text == back and call.repaired and [len(request.messages) for request in asked] == [2, 4, 2]


async def test_a_form_that_is_said_back_is_asked_for_anew_without_showing_it_again() -> None:
    replies = iter([{"text": MEANT}, {"text": SAID}])
    said, call, asked = await put(lambda request: next(replies))
    assert said.text == SAID and call.repaired
    assert len(asked[1].messages) == 2 and MEANT not in asked[1].text


@pytest.mark.parametrize("end", [None, 150], ids=["whole", "cut off"])
async def test_a_schema_that_is_given_back_is_asked_for_anew_without_showing_either_again(end: int | None) -> None:
    """What SmolLM2 does where no grammar binds it; shown its reply and the schema, it gave the schema each time."""
    schema = {"type": "object", "additionalProperties": False, "required": ["text"]}
    given = {**schema, "properties": {"text": {"type": "string", "minLength": 1, "defaultValue": "Pain"}}}
    reply = f"```json\n{json.dumps(given)}\n```"[:end]
    with FakeServer(
        answer=lambda request: reply if "additionalProperties" in request.text else SAID, supports=["text"]
    ) as server:
        said = await ask(
            SPEAKER, View(), ModelSettings(models={"default": f"openai:any@{server.base_url}"}), language="en"
        )
        first, second = [request for request in server.requests if request.status == 200]
    assert said.text == SAID and len(second.messages) == len(first.messages)


async def test_a_reply_that_does_not_fit_beside_its_prompt_is_asked_for_anew_without_showing_it() -> None:
    replies = iter(['{"text": ', {"text": SAID}])
    too_long = lambda request: "too_long" if request.messages[2:] else None  # noqa: E731
    said, call, asked = await put(lambda request: next(replies), too_long)
    assert said.text == SAID and call.repaired and [len(request.messages) for request in asked] == [2, 2]
    replies = iter(['{"text": ', {"text": SAID}])
    said, call, asked = await put(lambda request: next(replies), too_long, repairs=1)
    assert said.text == SAID, "the last repair, too"
    with pytest.raises(AnswerError, match="Expecting value"):  # it is the answer that fails, not the length
        await put(lambda request: '{"text": ', too_long)


async def test_a_form_that_is_always_said_back_is_no_answer() -> None:
    with pytest.raises(AnswerError, match="the description of a field"):
        await put(lambda request: {"text": MEANT})


async def test_in_json_mode_the_words_tell_the_fields_and_the_schema_what_they_mean() -> None:
    _, _, (asked,) = await put(lambda request: {"text": SAID})
    assert '"text"' in asked.text and MEANT not in asked.text and MEANT in str(asked.schema)


async def test_who_only_says_back_what_was_said_is_asked_once_more_and_then_taken_at_these_words() -> None:
    back = f" {View().report.upper()} "
    said, call, asked = await put(lambda request: {"text": back if len(request.messages) == 2 else SAID})
    assert said.text == SAID and call.repaired and "only repeats what was just said" in asked[1].messages[-1]["content"]
    said, call, asked = await put(lambda request: {"text": back})
    assert said.text == back and call.repaired and len(asked) == 2


@pytest.mark.parametrize(
    ("heard", "said", "back"),
    [
        ("Hello, what brings you here today?", "hello what brings you here today", True),
        ("哪里不舒服？", "哪里不舒服", True),
        ("It is 1. 74 years that she has had this pain.", "It is 1.74 years that she has had this pain.", True),
        ("Goodbye, and thank you.", "Goodbye, and thank you.", False),
        ("宝宝的皮肤发黄，两天来越来越黄，吃奶也变少了。", "宝宝的皮肤发黄，两天来越来越黄，吃奶也变少了", True),
        (
            "宝宝的皮肤发黄，两天来越来越黄，吃奶也变少了。",
            "患者：宝宝的皮肤发黄，两天来越来越黄，吃奶也变少了。",
            True,
        ),
        ("好的，谢谢医生，再见。", "好的，谢谢医生，再见。", False),
        ("Does it hurt?", "It does hurt.", False),
    ],
)
def test_a_question_is_not_its_own_answer_and_words_are_the_same_however_they_are_set(
    heard: str, said: str, back: bool
) -> None:
    assert says_back(said, heard) is back


@pytest.mark.parametrize(
    ("debris", "left"),
    [
        ("It hurts here:</data>", "It hurts here:"),
        ("}] }\n```\nThe patient speaks.\n<data name=", "}] }\n\nThe patient speaks."),
        ('<data name="reply">\nIt hurts.\n</data>', "It hurts."),
    ],
)
async def test_marks_of_the_prompt_stand_in_no_answer(debris: str, left: str) -> None:
    said, call, _ = await put(lambda request: {"text": debris})
    assert said.text == left and not call.repaired


def _a_direction() -> str:
    """A sentence of the prompt that is outside of its material."""
    system, _ = load_prompt("judges/claims", "en", "rehearsal").render(variables(View()))
    return next(sentence for sentence in system.split(". ") if len(sentence.split()) > 6).strip() + "."


async def test_who_says_what_they_were_told_to_do_is_asked_anew_and_then_taken_at_these_words() -> None:
    replies = iter([f"Well. {_a_direction()}", SAID])
    said, call, asked = await put(lambda request: {"text": next(replies)})
    assert said.text == SAID and call.repaired and len(asked[1].messages) == 2
    said, call, asked = await put(lambda request: {"text": _a_direction()})
    assert said.text == _a_direction() and call.repaired and len(asked) == 2


async def test_who_says_a_heading_of_the_prompt_is_asked_anew_and_then_taken_at_these_words() -> None:
    said, _, asked = await put(lambda request: {"text": "Imaging report"})
    assert said.text == "Imaging report" and len(asked) == 2
    said, _, asked = await put(lambda request: {"text": "String"})
    assert said.text == "String" and len(asked) == 1  # a word that people say


async def test_what_holds_no_words_is_nothing_said() -> None:
    with pytest.raises(AnswerError, match="it contains no words"):
        await put(lambda request: {"text": "},\n {"})


class Verdicts(BaseModel):
    kind: Literal["found", "wish"] = Field(description="What it is.")
    reason: str
    found: Annotated[list[str], Field(min_length=1)]


JUDGE = Role("examiner", "rehearsal", "judges/claims", Verdicts, offline=lambda view: GIVEN)
GIVEN = Verdicts(kind="found", reason="It fits.", found=["a stone"])
EMPTY = {"kind": "found", "reason": "Reason.", "found": ["string", "]\n```json\n{\n", "a stone"]}


async def decide(answer: Answer, supports: Sequence[str], **options: Any) -> tuple[Verdicts, list[ChatRequest]]:
    with FakeServer(answer=answer, supports=supports) as server, collecting_calls():
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"}, **options)
        given = await ask(JUDGE, View(), settings, language="en")
    return given, [request for request in server.requests if request.status == 200]


@pytest.mark.parametrize("supports", [["json_object", "text"], ["json_schema"], ["text"]])
async def test_names_of_fields_and_types_are_asked_for_anew_by_the_names_of_the_fields_alone(
    supports: list[str],
) -> None:
    replies = iter([EMPTY, GIVEN.model_dump()])
    given, asked = await decide(lambda request: next(replies), supports)
    assert given == GIVEN and len(asked[1].messages) == 2
    told = asked[1].text.partition("of these fields: ")[2]
    assert told.startswith("kind: found | wish, reason, found []. ") and "additionalProperties" not in asked[1].text


@pytest.mark.parametrize(
    ("reason", "again"),
    [("reason_description", True), ("The_Reason", True), ("blood_count", False), ("Reason_", True)]
    + [(said, False) for said in ("reason_unknown", "found_on_ultrasound", "kind_2_allergy")],
)
async def test_an_identifier_that_is_made_of_a_name_is_asked_for_anew(reason: str, again: bool) -> None:
    """As Gemma 3 270M described the symptoms of two patients: "symptoms_description"."""
    replies = iter([{**GIVEN.model_dump(), "reason": reason}, GIVEN.model_dump()])
    given, asked = await decide(lambda request: next(replies), ["json_schema"])
    assert given.reason == ("It fits." if again else reason) and len(asked) == 1 + again


async def test_an_identifier_of_a_closed_list_is_an_answer() -> None:
    class Cause(BaseModel):
        kind: Literal["kind_of_test", "judgement"]
        examination: str

    role = Role("examiner", "rehearsal", "judges/claims", Cause, offline=lambda view: Cause.model_construct())
    with FakeServer(answer=lambda request: {"kind": "kind_of_test", "examination": "CT"}) as server:
        settings = ModelSettings(models={"default": f"openai:any@{server.base_url}"})
        cause = await ask(role, View(), settings, language="en")
    assert cause.kind == "kind_of_test" and len(server.requests) == 1


async def test_what_is_but_a_name_is_nothing_said_if_it_comes_again() -> None:
    given, asked = await decide(lambda request: EMPTY, ["json_object", "text"])
    assert given == Verdicts(kind="found", reason="", found=["a stone"]) and len(asked) == 2


async def test_a_heading_of_the_prompt_s_material_is_no_answer_where_one_is_needed() -> None:
    heading = {"kind": "wish", "reason": "fits", "found": ["Imaging report!"]}
    with pytest.raises(AnswerError, match="name of a field, or of a part of the material"):
        await decide(lambda request: heading, ["json_object", "text"])


async def test_an_answer_that_is_given_again_unmended_is_asked_for_anew_without_showing_it() -> None:
    replies = iter([{"kind": "wish"}, {"kind": "wish"}, GIVEN.model_dump()])
    given, asked = await decide(lambda request: next(replies), ["json_object", "text"])
    assert given == GIVEN and [len(request.messages) for request in asked] == [2, 4, 2]


async def test_own_words_that_a_repair_quotes_may_be_said_again() -> None:
    replies = iter(
        [
            "There is a stone in the bladder.",
            GIVEN.model_copy(update={"reason": "There is a stone in the bladder."}).model_dump(),
        ]
    )
    given, asked = await decide(lambda request: next(replies), ["text"])
    assert given.reason in asked[1].messages[-1]["content"] and len(asked) == 2
