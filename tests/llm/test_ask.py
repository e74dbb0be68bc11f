import json
import operator
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from cases.registry import GivenError, RegistryError
from cases.validation import InputError
from cases.vocabulary import GivenDepartment
from llm import (
    AnswerError,
    AskError,
    ModelError,
    ModelSettings,
    ModelSpecError,
    Role,
    Speech,
    Trace,
    ask,
    merge_traces,
    role,
)
from llm.journal import journal
from llm.specs import model_of
from llm.trace import collecting_calls, read_calls
from nodes.context import Context
from nodes.node import node
from prompts import PromptError, load_prompt
from tests.llm.examinee import EXAMINEE, GOOD, OFFLINE_OPINION, OPINION, Opinion, View, fail, put, served, spec
from tests.support.fake_server import ChatRequest, FakeServer


class Choice(BaseModel):
    accepted: bool
    reason: str
    department: GivenDepartment


CHOOSER = Role("examinee", "rehearsal", "judges/claims", Choice, offline=lambda view: Choice(**GOOD))
SPEAKER = Role(
    "examinee",
    "rehearsal",
    "judges/claims",
    Opinion,
    offline=lambda view: OFFLINE_OPINION,
    speech=Speech(None, lambda view, words: OPINION.model_copy(update={"reason": words})),
)

Graph = CompiledStateGraph[Any, Any, Any, Any]
CONFIG: Any = {"configurable": {"thread_id": "1"}}
BY_HUMAN: Any = {"models": {"default": "offline", "examinee": "human"}}


class State(TypedDict, total=False):
    opinion: Opinion
    trace: Annotated[Trace, merge_traces]


@node
async def consult(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    return {"opinion": await ask(EXAMINEE, View(), runtime.context, language="en", place="seat 1")}


@pytest.fixture
def graph() -> Graph:
    builder = StateGraph(State, context_schema=Context)
    builder.add_node("consult", consult)
    builder.add_edge(START, "consult")
    builder.add_edge("consult", END)
    return builder.compile(checkpointer=InMemorySaver())


# Offline


async def test_offline_the_roles_rule_answers_and_nothing_is_asked() -> None:
    with FakeServer() as server:
        opinion, call = await put(ModelSettings(models={"default": spec(server), "examinee": "offline"}))
    assert opinion == OFFLINE_OPINION and server.requests == []
    assert (call.model, call.attempts, call.cost, call.input_tokens) == ("offline", 0, 0.0, 0)


@pytest.mark.parametrize("models", [{"default": "offline"}, {"default": "offline", "expert": "human"}])
async def test_a_rule_may_hold_up_the_loop_only_in_a_run_where_nobody_else_needs_it(
    models: dict[str, str], tmp_path: Path
) -> None:
    threads: list[int] = []

    def noted(view: Any) -> Opinion:
        threads.append(threading.get_ident())
        return OFFLINE_OPINION

    role = replace(EXAMINEE, offline=noted)
    settings = ModelSettings(models=models)
    await ask(role, View("text"), settings, language="en")
    with journal(tmp_path / "trace.jsonl"):
        await ask(role, View("text"), settings, language="en")
    here = threading.get_ident()
    assert [thread == here for thread in threads] == [False, len(models) == 1]


async def test_the_call_of_a_rule_is_recorded_like_any_other() -> None:
    _, call = await put(ModelSettings())
    prompt = load_prompt("judges/claims", "en")
    assert (call.id, call.role, call.stage) == ("rehearsal/examinee/seat 1", "examinee", "rehearsal")
    assert (call.prompt, call.prompt_hash) == ("en/judges/claims", prompt.hash)
    assert call.messages is not None and "A small left pleural effusion." in call.messages[1]["content"]
    assert call.answer == OFFLINE_OPINION.model_dump() and call.error is None and call.seconds >= 0


async def test_the_model_of_the_stage_comes_before_the_models_of_role_and_default() -> None:
    with FakeServer() as server:
        models = {"rehearsal.examinee": spec(server), "examinee": "offline", "default": "human"}
        _, call = await put(ModelSettings(models=models))
    assert call.model == spec(server) and len(server.requests) == 1


# People


def test_a_person_is_asked_by_an_interrupt_and_the_run_goes_on_with_the_answer(graph: Graph) -> None:
    paused = graph.invoke({}, CONFIG, context=BY_HUMAN)
    (interrupt,) = paused["__interrupt__"]
    assert (interrupt.value["role"], interrupt.value["stage"]) == ("examinee", "rehearsal")
    assert "A small left pleural effusion." in interrupt.value["messages"][1]["content"]
    assert interrupt.value["schema"]["properties"].keys() == GOOD.keys()
    final = graph.invoke(Command(resume=GOOD), CONFIG, context=BY_HUMAN)
    assert final["opinion"] == OPINION
    (call,) = final["trace"].calls
    assert (call.model, call.attempts, call.cost) == ("human", 0, 0.0)


async def test_a_person_is_asked_by_an_interrupt_also_in_an_async_run(graph: Graph) -> None:
    paused = await graph.ainvoke({}, CONFIG, context=BY_HUMAN)
    assert len(paused["__interrupt__"]) == 1 and "opinion" not in paused
    final = await graph.ainvoke(Command(resume=GOOD), CONFIG, context=BY_HUMAN)
    assert final["opinion"] == OPINION


def test_a_person_may_answer_with_json_text_in_chinese_terms(graph: Graph) -> None:
    graph.invoke({}, CONFIG, context=BY_HUMAN)
    answer = json.dumps({**GOOD, "department": "内科"}, ensure_ascii=False)
    assert graph.invoke(Command(resume=answer), CONFIG, context=BY_HUMAN)["opinion"] == OPINION


@pytest.mark.parametrize("answer", ["yes", "{", "[1]", {"accepted": True}, {**GOOD, "department": "Astrology"}, 3])
def test_a_persons_answer_of_another_type_is_asked_for_again_with_what_is_wrong(graph: Graph, answer: Any) -> None:
    """LangGraph gives a node again all that it was given before: an error would come back for ever."""
    graph.invoke({}, CONFIG, context=BY_HUMAN)
    for _ in range(3):
        paused = graph.invoke(Command(resume=answer), CONFIG, context=BY_HUMAN)
        (interrupt,) = paused["__interrupt__"]
        assert interrupt.value["wrong"] and interrupt.value["schema"]["properties"].keys() == GOOD.keys()
    assert graph.invoke(Command(resume=GOOD), CONFIG, context=BY_HUMAN)["opinion"] == OPINION


def test_a_person_who_pastes_a_book_is_asked_again_as_rules_would_search_it_for_minutes(graph: Graph) -> None:
    graph.invoke({}, CONFIG, context=BY_HUMAN)
    paused = graph.invoke(Command(resume={**GOOD, "reason": "pain " * 2_001}), CONFIG, context=BY_HUMAN)
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["wrong"] == "10,005 characters are too many; at most 10,000 are allowed"


def test_several_people_who_answer_at_once_are_each_asked_again_for_what_is_theirs(graph: Graph) -> None:
    def each(state: State) -> list[Send]:
        return [Send("consult", {}), Send("consult", {})]

    class Several(TypedDict, total=False):
        opinion: Annotated[list[Opinion], operator.add]
        trace: Annotated[Trace, merge_traces]

    @node
    async def consult_one(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"opinion": [await ask(EXAMINEE, View(), runtime.context, language="en", place="seat 1")]}

    builder = StateGraph(Several, context_schema=Context)
    builder.add_node("consult", consult_one)
    builder.add_conditional_edges(START, each, ["consult"])
    several: Graph = builder.compile(checkpointer=InMemorySaver())
    first, second = several.invoke({}, CONFIG, context=BY_HUMAN)["__interrupt__"]
    answers = {first.id: GOOD, second.id: "no idea"}
    (again,) = several.invoke(Command(resume=answers), CONFIG, context=BY_HUMAN)["__interrupt__"]
    assert "wrong" in again.value
    final = several.invoke(Command(resume={again.id: {**GOOD, "accepted": False}}), CONFIG, context=BY_HUMAN)
    # Interrupts come in the order in which the tasks reached them, opinions in that of the tasks.
    assert sorted(opinion.accepted for opinion in final["opinion"]) == [False, True]


def test_waiting_for_a_person_is_not_recorded_and_a_wrong_answer_is_no_failure(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    context = {**BY_HUMAN, "trace_file": str(file)}
    graph.invoke({}, CONFIG, context=context)
    graph.invoke(Command(resume="yes"), CONFIG, context=context)
    assert not file.exists()
    graph.invoke(Command(resume=GOOD), CONFIG, context=context)
    (call,) = read_calls(file.open(encoding="utf-8")).calls
    assert call.error is None and call.answer == GOOD


def test_a_person_whose_seat_only_speaks_may_type_a_plain_sentence() -> None:
    @node
    async def speak(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"opinion": await ask(SPEAKER, View(), runtime.context, language="en")}

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, CONFIG, context=BY_HUMAN)
    final = graph.invoke(Command(resume=" {It hurts} here. "), CONFIG, context=BY_HUMAN)
    assert final["opinion"].reason == "{It hurts} here."


# Closed lists and plain words


@pytest.mark.parametrize("given", ["Astrology", "cardiac Surgery"])
async def test_an_item_outside_a_closed_list_is_asked_about_once_and_then_kept_as_it_is(given: str) -> None:
    with FakeServer(answer=lambda request: {**GOOD, "department": given}) as server, collecting_calls() as calls:
        opinion = await ask(CHOOSER, View(), served(server, repairs=3), language="en")
    assert opinion.department == given and calls[0].repaired and len(server.requests) == 2
    assert f"'{given}' is not in the vocabulary" in server.requests[1].messages[-1]["content"]


async def test_an_item_outside_a_closed_list_that_is_mended_is_the_mended_one() -> None:
    answers = iter(["Astrology", "内科"])
    with FakeServer(answer=lambda request: {**GOOD, "department": next(answers)}) as server:
        opinion = await ask(CHOOSER, View(), served(server), language="en")
    assert opinion.department == "Internal Medicine"


async def test_an_answer_with_an_item_outside_a_closed_list_is_better_than_none() -> None:
    odd = {**GOOD, "department": "Astrology"}
    with FakeServer(answer=lambda request: odd, faults=[None, "cut_json", "cut_json"]) as server:
        opinion = await ask(CHOOSER, View(), served(server, repairs=2), language="en")
    assert opinion.department == "Astrology" and len(server.requests) == 3


@pytest.mark.parametrize("repairs", [0, 1, 3])
async def test_an_answer_is_asked_for_again_as_often_as_is_set(repairs: int) -> None:
    with FakeServer(faults=["cut_json"] * 9) as server:
        told, call = await fail(served(server, repairs=repairs), AnswerError)
    assert len(server.requests) == call.attempts == repairs + 1 and call.repaired == bool(repairs)
    assert "raise max_tokens" in told


async def test_where_the_seat_only_speaks_plain_words_are_its_answer() -> None:
    with FakeServer(answer=lambda request: "<think>What {now}?</think> It hurts here.") as server:
        opinion = await ask(SPEAKER, View(), served(server), language="en")
    assert opinion.reason == "It hurts here." and len(server.requests) == 1


@pytest.mark.parametrize("said", ['{"reason": "It hurts', "   ", None])
async def test_a_form_that_was_begun_silence_and_a_refusal_are_no_plain_words(said: str | None) -> None:
    faults: Any = ["refusal" if said is None else None] * 9
    with FakeServer(answer=lambda request: said, faults=faults) as server, pytest.raises(AnswerError):
        await ask(SPEAKER, View(), served(server), language="en")


async def test_where_the_seat_decides_plain_words_are_no_answer() -> None:
    with FakeServer(answer=lambda request: "Surgery, I think.") as server:
        await fail(served(server), AnswerError)


# Words


async def test_the_language_of_the_case_decides_and_the_settings_override_it() -> None:
    with FakeServer() as server:
        _, of_case = await put(served(server), language="zh")
        _, of_settings = await put(served(server, language="zh"), language="en")
        _, english = await put(served(server, language="en"), language="zh")
    assert of_case.prompt == of_settings.prompt == "zh/judges/claims" and english.prompt == "en/judges/claims"
    texts = [request.text for request in server.requests]
    assert texts[0] == texts[1] and "影像报告" in texts[0] and "影像报告" not in texts[2]
    assert "内科" in json.dumps(server.requests[1].schema, ensure_ascii=False)
    assert "内科" not in json.dumps(server.requests[2].schema, ensure_ascii=False)


async def test_the_repair_speaks_the_language_of_the_prompt() -> None:
    with FakeServer(faults=["null_content"]) as server:
        await put(served(server), language="zh")
    assert "上面的回答无法读取" in server.requests[1].text


async def test_a_view_without_a_variable_of_the_prompt_is_an_error_before_anything_is_sent() -> None:
    @dataclass
    class Blank:
        pass

    with FakeServer() as server, pytest.raises(PromptError, match="report"):
        await ask(EXAMINEE, Blank(), served(server), language="en")
    assert server.requests == []


# Records


async def test_tokens_are_those_of_all_answers_and_the_price_gives_the_cost() -> None:
    with FakeServer(answer=lambda request: GOOD, faults=["500", "cut_json"]) as server:
        _, call = await put(served(server, prices={spec(server): (2.0, 10.0)}))
        _, free = await put(served(server))
    assert call.attempts == 3 and call.repaired
    assert call.input_tokens > 2 * free.input_tokens > 0 and call.output_tokens > free.output_tokens > 0
    assert call.cost == pytest.approx((call.input_tokens * 2 + call.output_tokens * 10) / 1e6)
    assert free.cost is None


@pytest.mark.parametrize(
    ("faults", "error", "reason", "attempts"),
    [
        (["503"] * 3, ModelError, "model_error", 3),
        (["cut_json"] * 2, AnswerError, "unparseable_answer", 2),
        (["500", "schema_violation", "refusal"], AnswerError, "unparseable_answer", 3),
    ],
)
async def test_a_failed_call_is_written_to_the_trace_file_with_its_reason(
    tmp_path: Path, faults: Any, error: type[AskError], reason: str, attempts: int
) -> None:
    file = tmp_path / "trace.jsonl"
    with FakeServer(faults=faults) as server:
        text, outline = await fail(served(server, max_attempts=3, trace_file=str(file)), error)
    (call,) = read_calls(file.open(encoding="utf-8")).calls
    assert call.error == outline.error == f"{reason}: {text}"
    assert call.attempts == outline.attempts == attempts
    assert call.answer is None and call.messages is not None and outline.messages is None


async def test_an_error_says_at_which_call_and_model_it_happened() -> None:
    with FakeServer(supports=()) as server, pytest.raises(ModelError) as raised:
        await put(served(server))
    assert raised.value.__notes__ == [f"at rehearsal/examinee/seat 1, model {spec(server)}"]


async def test_a_model_that_cannot_be_built_is_not_taken_for_a_failed_answer() -> None:
    with pytest.raises(ModelSpecError, match="langchain-upstage"):
        await put(ModelSettings(models={"default": "upstage:solar"}))


@pytest.mark.parametrize("given", [{"models": {"default": "offline"}}, None])
async def test_settings_that_are_none_are_refused_with_the_role_that_is_asked(given: Any) -> None:
    with pytest.raises(InputError, match=r"examinee.: settings: expected wr.ModelSettings .*found (dict|None)"):
        await ask(EXAMINEE, View(), given, language="en")


async def test_an_error_inside_a_rule_is_no_answer_error() -> None:
    def broken(view: View) -> Opinion:
        raise ZeroDivisionError

    role = Role("examinee", "rehearsal", "judges/claims", Opinion, offline=broken)
    with pytest.raises(ZeroDivisionError):
        await ask(role, View(), ModelSettings(), language="en")


# What more must hold of an answer in view of what was asked


def names_the_report(view: View, opinion: Opinion) -> str | None:
    return None if view.report in opinion.reason else f"the reason does not name {view.report!r}"


STRICT = Role(
    "examinee",
    "rehearsal",
    "judges/claims",
    Opinion,
    offline=lambda view: OFFLINE_OPINION,
    check=names_the_report,
)
NAMED = {**GOOD, "reason": f"Seen: {View().report}"}


async def put_strictly(settings: ModelSettings) -> Opinion:
    return await ask(STRICT, View(), settings, language="en", place="seat 1")


async def test_an_answer_that_fails_the_check_is_repaired_with_what_was_wrong() -> None:
    with (
        FakeServer(answer=lambda asked: NAMED if len(asked.messages) > 2 else GOOD) as server,
        collecting_calls() as calls,
    ):
        opinion = await put_strictly(served(server))
    assert opinion.reason == NAMED["reason"] and calls[0].repaired and len(server.requests) == 2
    assert "the reason does not name 'A small left pleural effusion.'" in server.requests[1].messages[-1]["content"]


async def test_an_answer_that_fails_the_check_also_after_the_repair_is_a_failure_with_its_reason() -> None:
    with FakeServer(answer=lambda request: GOOD) as server, pytest.raises(AnswerError, match="repair: the reason does"):
        await put_strictly(served(server))
    assert len(server.requests) == 2


@pytest.mark.parametrize("kept_in", ["cache", "journal"])
async def test_a_kept_answer_that_fails_a_check_of_today_is_asked_for_again(kept_in: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    kept = {"cache": str(tmp_path / "cache.sqlite")} if kept_in == "cache" else {"trace_file": str(file)}

    def answer(request: ChatRequest) -> dict[str, Any]:
        return GOOD if len(server.requests) == 1 else NAMED

    with FakeServer(answer=answer) as server:
        await put(served(server, **kept))
        with journal(file):
            opinion = await put_strictly(served(server, **kept))
    assert opinion.reason == NAMED["reason"] and len(server.requests) == 2


def test_a_persons_answer_is_held_to_the_check() -> None:
    @node
    async def consult_strictly(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"opinion": await put_strictly(runtime.context)}

    builder = StateGraph(State, context_schema=Context)
    builder.add_node("consult", consult_strictly)
    builder.add_edge(START, "consult")
    graph = builder.compile(checkpointer=InMemorySaver())
    graph.invoke({}, CONFIG, context=BY_HUMAN)
    (again,) = graph.invoke(Command(resume=GOOD), CONFIG, context=BY_HUMAN)["__interrupt__"]
    assert "the reason does not name" in again.value["wrong"]
    assert graph.invoke(Command(resume=NAMED), CONFIG, context=BY_HUMAN)["opinion"].reason == NAMED["reason"]


async def test_the_offline_rule_is_trusted() -> None:
    assert await put_strictly(ModelSettings()) == OFFLINE_OPINION


class Word(BaseModel):
    text: str


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "night nurse"}, "role 'night nurse': expected a name of letters, digits, '-' and '_'"),
        ({"name": "ward.nurse"}, "role 'ward.nurse': expected a name"),
        ({"name": ""}, "role '': expected a name"),
        ({"name": "default"}, r"role 'default': in \[models\], `default` is the model of all roles; choose another"),
        ({"stage": None}, "role 'nurse': stage = None; expected a text"),
        ({"prompt": Path("a.md")}, r"role 'nurse': prompt = .*Path\('a.md'\); expected a text"),
        ({"seats": "two"}, "role 'nurse': seats = 'two'; expected a number"),
    ],
)
def test_a_role_for_which_no_model_could_be_named_is_refused_where_it_is_declared(
    given: dict[str, Any], told: str
) -> None:
    usual: dict[str, Any] = {"name": "nurse", "stage": "history_taking", "prompt": "examples/terse", "answer": Word}
    with pytest.raises(RegistryError, match=told):
        Role(**usual | given, offline=lambda view: Word(text="Hm."))


@pytest.mark.parametrize("name", ["ward-nurse", "Nurse", "护士"])
def test_a_role_may_have_any_name_that_a_key_of_the_model_map_can_be(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role, "_declared", {})
    nurse = Role(name, "history_taking", "examples/terse", Word, lambda view: Word(text="Hm."))
    assert model_of(nurse.name, nurse.stage, {name: "openai:gpt-4o"}) == "openai:gpt-4o"


@pytest.mark.parametrize(
    ("answer", "offline", "told"),
    [
        (str, lambda view: Word(text="Hm."), "role 'odd': answer = <class 'str'>; expected a subclass of pydantic"),
        (Word, lambda view, language: Word(text="Hm."), r"offline rule of role 'odd': expected a function, .*\(view\)"),
        (Word, None, "offline rule of role 'odd': expected a function"),
    ],
)
def test_a_role_that_could_not_answer_is_refused_when_it_is_declared(answer: Any, offline: Any, told: str) -> None:
    with pytest.raises(RegistryError, match=told):
        Role("odd", "history_taking", "examinee/question", answer, offline)


def test_a_rule_that_gives_no_answer_is_named_by_its_role() -> None:
    odd: Role[Word] = Role("odd", "history_taking", "examinee/question", Word, lambda view: "Hm.")  # type: ignore[arg-type, return-value]
    with pytest.raises(GivenError, match="role 'odd': its offline rule returned str; expected Word"):
        odd.by_rule(None)
