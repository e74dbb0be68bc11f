import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr, ValidationError

from cases import load_cases
from graphs import clinical_workflow, one_step
from llm import ModelError, ModelSettings, ModelSpecError
from llm.build import build_model
from tests.support.fake_server import FakeServer
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import check_experiment

SHORT = {"retrieval": False, "general_agents": 1, "discussion_rounds": 1, "feedback": "off", "max_turns": 2}


class Bound(BaseChatModel):
    """A model that takes an answer's schema as a tool."""

    answer: dict[str, Any]
    api_key: str = "sk-secret"
    access_token: str = "secret-2"
    base_url: str = "https://me:secret-3@host/v1"
    max_tokens: int = 7
    temperature: float = 0.5
    asked: list[Any] = []  # noqa: RUF012  Pydantic copies it

    @property
    def _llm_type(self) -> str:
        return "bound"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self.asked.append(kwargs)
        call = {"name": kwargs["tools"][0]["title"], "args": self.answer, "id": "1"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))])


REPORT = '{"symptoms": "s", "examinations": "e", "diagnosis": ["Croup"], "basis": "b", "treatment": "t"}'


def test_a_chat_model_object_answers_and_is_recorded_by_its_class_and_parameters() -> None:
    report = FakeListChatModel(responses=["no JSON", REPORT])
    state = one_step.invoke({"case": load_cases()[0]}, context={"retrieval": False, "models": {"doctor": report}})
    (call,) = (call for call in state["trace"].calls if call.role == "doctor")
    assert state["report"].diagnosis == ["Croup"] and call.attempts == 2
    assert call.model.startswith("object:FakeListChatModel(") and call.cost is None


@pytest.mark.parametrize("error", [NotImplementedError("none"), TypeError("tool_choice"), ValueError("only auto")])
def test_an_object_that_binds_no_tools_or_none_by_name_is_asked_in_text(error: Exception) -> None:
    class Toolless(FakeListChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            raise error

    report = Toolless(responses=[REPORT], name=str(error))
    state = one_step.invoke({"case": load_cases()[0]}, context={"retrieval": False, "models": {"doctor": report}})
    assert state["report"].diagnosis == ["Croup"]


def test_objects_of_the_same_class_and_parameters_have_one_spec_and_of_others_another() -> None:
    def spec(*responses: str) -> str:
        model = FakeListChatModel(responses=[*responses])
        return ModelSettings.model_validate({"models": {"doctor": model}}).models["doctor"]

    assert spec("a") == spec("a") != spec("b")


def test_objects_at_different_servers_or_of_different_names_have_different_specs() -> None:
    here, there = (ChatOpenAI(model="m", base_url=f"http://{host}/v1", api_key=SecretStr("k")) for host in "ab")
    named = FakeListChatModel(responses=["a"], name="second")
    for one, other in ((here, there), (named, FakeListChatModel(responses=["a"]))):
        models = ModelSettings.model_validate({"models": {"doctor": one, "patient": other}}).models
        assert models["doctor"] != models["patient"]


@pytest.mark.parametrize(
    ("error", "told"),
    [(KeyError("answer"), r"\(KeyError: 'answer'\)"), (StopIteration(), "RuntimeError from StopIteration")],
)
def test_what_the_code_of_an_object_raises_is_named_by_its_kind(error: Exception, told: str) -> None:
    """A fake of LangChain's whose messages are used up raises a RuntimeError without a word."""

    class Faulty(FakeListChatModel):
        def _generate(self, *arguments: Any, **named: Any) -> Any:
            raise error

    faulty = {"models": {"doctor": Faulty(responses=[], name=told)}, "retrieval": False, "max_attempts": 1}
    with pytest.raises(ModelError, match=told):
        one_step.invoke({"case": load_cases()[0]}, context=faulty)


def test_an_object_given_later_is_asked_although_it_has_the_spec_of_an_earlier_one() -> None:
    """It may have another key or other callbacks, which are in no spec."""
    keys = ["first", "second"]
    with FakeServer() as server:
        for key in keys:
            model = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr(key))
            one_step.invoke({"case": load_cases()[0]}, context={"retrieval": False, "models": {"doctor": model}})
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {key}" for key in keys]


def test_what_may_be_a_secret_is_in_no_spec() -> None:
    spec = ModelSettings.model_validate({"models": {"doctor": Bound(answer={})}}).models["doctor"]
    assert "temperature=0.5" in spec and "max_tokens=7" in spec and "host/v1" in spec and "secret" not in spec


def test_two_objects_that_nothing_tells_apart_and_what_is_no_model_are_refused() -> None:
    with pytest.raises(
        ValidationError, match=r"models.patient: its parameters do not distinguish it from another Bound"
    ):
        ModelSettings.model_validate({"models": {"doctor": Bound(answer={}), "patient": Bound(answer={})}})
    with pytest.raises(ValidationError, match=r"models.doctor\s+Input should be a valid string"):
        ModelSettings.model_validate({"models": {"doctor": 3}})


def test_an_object_that_judges_is_never_asked_in_place_of_a_doctors() -> None:
    """One that differs in its key alone was: the doctor's prompts went to the judge's account."""
    ours, theirs = (Bound(answer={}, api_key=key) for key in ("ours", "theirs"))
    shared = Experiment.model_validate({"models": {"doctor": ours}, "judges": {"default": ours}})
    assert shared.judges["default"] == shared.models["doctor"]
    for judge, told in (
        (theirs, "its parameters do not distinguish it from another Bound"),
        (theirs.with_retry(), "found RunnableRetry; give the chat model itself"),
    ):
        with pytest.raises(ConfigurationError, match=f"^experiment: judges.default: .*{told}"):
            check_experiment({"models": {"doctor": ours}, "judges": {"default": judge}})


@pytest.mark.parametrize("field", ["models", "judges"])
def test_a_run_on_a_cluster_refuses_a_model_object_before_the_cluster_is_started(field: str) -> None:
    given = {field: {"default": Bound(answer={})}, "run": {"engine": "ray"}}
    with pytest.raises(ConfigurationError, match=f"^experiment: {field}.default: a model object cannot be sent to the"):
        check_experiment(given)


def test_a_record_of_another_process_can_be_read_but_its_model_object_not_be_asked() -> None:
    settings = ModelSettings(models={"doctor": "object:Lost()#00000000"})
    with pytest.raises(ModelSpecError, match="is a model object of another Python process"):
        build_model(settings.models["doctor"], settings)


def test_the_graph_takes_an_object_as_it_takes_a_spec() -> None:
    state = clinical_workflow.invoke(
        {"case": load_cases()[0]},
        context={
            **SHORT,
            "models": {"default": "offline", "patient": FakeListChatModel(responses=['{"text": "Ouch."}'])},
        },
    )
    assert "Ouch." in [turn.text for turn in state["dialogue"]]


class Callable:
    def invoke(self, words: str) -> str:
        return words


@pytest.mark.parametrize(
    ("model", "found"),
    [
        (Callable(), "Callable"),
        (Callable, "the class Callable"),
        (FakeListChatModel(responses=[]).with_retry(), "RunnableRetry; give the chat model itself, unwrapped"),
    ],
)
def test_what_is_neither_a_spec_nor_a_chat_model_object_is_refused_with_what_is_expected(
    model: object, found: str
) -> None:
    with pytest.raises(ValidationError, match=f"models.doctor: expected a spec, .* object, found {found}"):
        ModelSettings.model_validate({"models": {"doctor": model}})


class Down(FakeListChatModel):
    """A model whose server is away."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("nothing listens there")


def test_an_object_whose_server_was_never_there_fails_at_once_although_another_object_has_answered() -> None:
    context = {"retrieval": False, "models": {"doctor": FakeListChatModel(responses=[REPORT])}}
    one_step.invoke({"case": load_cases()[0]}, context=context)
    away = {**context, "max_outage": 5, "max_attempts": 1, "models": {"doctor": Down(responses=["never"])}}
    with pytest.raises(ModelError, match="after 1 request"):
        one_step.invoke({"case": load_cases()[0]}, context=away)


class OfAnotherLoop(FakeListChatModel):
    """A model whose pool still has connections of an event loop that is closed."""

    old: list[str]

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        if self.old:
            raise RuntimeError(self.old.pop())
        return self._generate(*args, **kwargs)


def test_connections_that_an_object_keeps_from_a_closed_loop_are_passed_over() -> None:
    """In the second `asyncio.run` of a program, the first requests failed, and with them their cases."""
    model = OfAnotherLoop(responses=[REPORT], old=["Event loop is closed"] * 9)
    context = {"retrieval": False, "models": {"doctor": model}}
    (call,) = asyncio.run(one_step.ainvoke({"case": load_cases()[0]}, context=context))["trace"].calls
    assert (call.attempts, model.old) == (10, [])


class Exiting(Bound):
    """A model whose code ends the program, as a library's command-line entry point does."""

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        raise SystemExit("no weights")


def test_a_model_object_that_exits_fails_its_call_and_leaves_the_loop_of_the_others_running() -> None:
    """It is asked in a task, whose SystemExit ends asyncio's loop: this call and all later ones waited forever."""
    context = {"retrieval": False, "max_attempts": 1, "models": {"doctor": Exiting(answer={})}}
    for _ in range(2):
        with pytest.raises(ModelError, match="SystemExit"):
            one_step.invoke({"case": load_cases()[0]}, context=context)
