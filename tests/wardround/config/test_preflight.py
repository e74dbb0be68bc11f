"""What a role lacks, ours or somebody else's, is said before the first call."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel

from cases import load_cases
from graphs import clinical_workflow
from graphs.contexts import ClinicalContext
from llm import Role, ask, role
from nodes.context import Context
from nodes.node import node
from nodes.state.patient_side import PatientSideState
from prompts import PromptError, folders, load_prompt
from wardround.config import preflight
from wardround.config.experiment import ConfigurationError
from wardround.config.preflight import check_prompts, check_servers

ENGLISH = next(case for case in load_cases() if case.language == "en")
CHINESE = next(case for case in load_cases() if case.language == "zh")


class Reply(BaseModel):
    text: str


@dataclass(frozen=True)
class View:
    question: str


def say(view: View) -> Reply:
    return Reply(text="Hm.")


SHY: Role[Reply] = Role("shy_patient", "history_taking", "mine/shy", Reply, offline=say)


@node(asks=SHY)
async def answer(state: PatientSideState, runtime: Runtime[Context]) -> dict[str, Any]:
    return {"reply": await ask(SHY, View("?"), runtime.context, language="en")}


@pytest.fixture
def prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "_added", [tmp_path])
    (tmp_path / "en/mine").mkdir(parents=True)
    return tmp_path / "en/mine/shy.md"


def check(*cases: Any, **context: Any) -> None:
    builder = StateGraph(PatientSideState, context_schema=Context).add_node(answer).add_edge(START, "answer")
    check_prompts(builder.compile(), {case.language for case in cases}, Context(**context))


@pytest.mark.slow
def test_a_role_without_a_prompt_in_the_language_of_a_case_is_named_with_the_remedy(prompt: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"role 'shy_patient': there is no file prompts/en/mine/shy.md; write"):
        check(ENGLISH)
    prompt.write_text("---\nvariables: [question]\n---\n# system\n# user\n{{ question }}\n", "utf-8")
    check(ENGLISH)
    with pytest.raises(ConfigurationError, match=r"prompts/zh/mine/shy.md"):
        check(ENGLISH, CHINESE)
    check(CHINESE, language="en")


def test_a_prompt_of_ours_that_a_change_has_broken_is_refused_before_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str, language: str, stage: str | None) -> Any:
        if name == "medchain/feedback":
            raise PromptError(f"prompt {name} ({language}) uses variables that it does not declare: decison")
        return load_prompt(name, language, stage)

    monkeypatch.setattr(preflight, "load_prompt", load)
    with pytest.raises(ConfigurationError, match=r"^role 'feedback': prompt medchain/feedback \(en\) .*: decison$"):
        check_prompts(clinical_workflow, {"en"}, ClinicalContext())


def test_a_prompt_that_asks_for_what_the_view_has_not_is_named(prompt: Path) -> None:
    prompt.write_text("---\nvariables: [pulse, question]\n---\n# system\n# user\n{{ question }}{{ pulse }}\n", "utf-8")
    with pytest.raises(ConfigurationError, match=r"mine/shy \(en\) uses variables that View has no field for: pulse"):
        check(ENGLISH)


def test_the_judge_of_a_metric_of_ones_own_has_its_prompt_too_if_a_metric_asks_one(
    prompt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    Role("shy_judge", "evaluation", "mine/judge", Reply, offline=say)
    prompt.write_text("---\nvariables: [question]\n---\n# system\n# user\n{{ question }}\n", "utf-8")
    builder = StateGraph(PatientSideState, context_schema=Context).add_node(answer).add_edge(START, "answer")
    check_prompts(builder.compile(), {"en"}, Context())
    with pytest.raises(ConfigurationError, match=r"role 'shy_judge': there is no file prompts/en/mine/judge.md; write"):
        check_prompts(builder.compile(), {"en"}, Context(), with_judges=True)


def test_a_judge_of_ones_own_with_the_name_of_one_of_ours_is_refused(
    prompt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    Role("diagnosis_judge", "evaluation", "mine/shy", Reply, offline=say)
    prompt.write_text("---\nvariables: [question]\n---\n# system\n# user\n{{ question }}\n", "utf-8")
    builder = StateGraph(PatientSideState, context_schema=Context).add_node(answer).add_edge(START, "answer")
    with pytest.raises(ConfigurationError, match="role 'diagnosis_judge': another role of this name is used at eval"):
        check_prompts(builder.compile(), {"en"}, Context(), with_judges=True)


def test_a_role_with_the_name_of_another_that_is_asked_beside_it_is_refused(prompt: Path) -> None:
    """The model map and the record call them by the same name, and would take one for the other."""
    prompt.write_text("---\nvariables: [question]\n---\n# system\n# user\n{{ question }}\n", "utf-8")
    twin: Role[Reply] = Role("shy_patient", "history_taking", "mine/bold", Reply, offline=say)

    @node(asks=twin)
    async def follow(state: PatientSideState, runtime: Runtime[Context]) -> dict[str, Any]:
        return {"reply": await ask(twin, View("?"), runtime.context, language="en")}

    builder = StateGraph(PatientSideState, context_schema=Context).add_node(answer).add_node(follow)
    graph = builder.add_edge(START, "answer").add_edge("answer", "follow").compile()
    with pytest.raises(ConfigurationError, match="role 'shy_patient': another role of this name is used at history"):
        check_prompts(graph, {"en"}, Context())


@pytest.mark.parametrize(
    ("host", "asked"),
    [("lab.openai.azure.com", 0), ("lab.openai.azure.cn", 0), ("api.fireworks.ai", 0), ("api.deepseek.com", 1)],
)
async def test_a_server_that_does_not_list_its_deployments_is_not_asked_for_them(
    host: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients: list[str] = []
    monkeypatch.setattr("wardround.config.preflight.build_model", lambda *_: None)
    monkeypatch.setattr("httpx2.AsyncClient", lambda **_: clients.append(host))
    await check_servers(Context(models={"default": f"openai:mine@https://{host}/v1"}))
    assert len(clients) == asked
