"""All courses of a case: each graph of a run, with each of its patient systems and strategies."""

import asyncio
import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any, get_args

import pytest

from cases import Case
from graphs.contexts import CONTEXTS
from llm.role import known_roles
from nodes.context import Context
from nodes.patients.systems import PATIENTS as SYSTEMS
from nodes.strategies import moderator
from nodes.strategies.moderator import ComplexityCheck
from nodes.strategies.registry import STRATEGIES as REGISTERED
from scoring.suite import SUITES, CaseScores
from tests.support.fake_server import FakeServer
from wardround.config.experiment import GraphName
from wardround.run.tasks import TASKS

PATIENTS: tuple[str, ...] = tuple(SYSTEMS)
STRATEGIES: tuple[str, ...] = tuple(REGISTERED)
COMPLEXITIES = ("low", "moderate", "high")  # MDAgents' three levels
JUDGED = {"evaluation", "clini_eval"}  # the stages of the judges

# Short, but every role of the course is asked.
SHORT: dict[str, Any] = {
    "retrieval": False,
    "general_agents": 2,
    "max_feedback_rounds": 1,
    "max_turns": 9,
    "interns": 2,
    "max_rounds": 1,
    "max_backtracks": 1,
}


@dataclasses.dataclass(frozen=True)
class Course:
    """One path through one graph."""

    graph: GraphName
    patient: str = "medchain"
    strategy: str = "group"
    complexity: str = ""

    def __str__(self) -> str:
        return "-".join(part for part in (self.graph, self.patient, self.strategy, self.complexity) if part)

    def context(self, **more: Any) -> dict[str, Any]:
        """Return the context of the graph."""
        own = {"reconstruction": self.strategy} if self.graph == "reconstruction" else {"strategy": self.strategy}
        given = {**SHORT, "patient": self.patient, **own, **more}
        kind = CONTEXTS[self.graph]
        context = {name: value for name, value in given.items() if name in kind.model_fields}
        if "models" in context and kind.asks:  # only roles of this course
            asked = {"default", *kind.asks(kind.model_validate({**context, "models": {}}).whole)}
            context["models"] = {role: model for role, model in context["models"].items() if role in asked}
        return context

    def run(self, case: Any, **more: Any) -> dict[str, Any]:
        """Run a case on this course, and return the final state."""
        context = self.context(**more)
        built_for = {name: context[name] for name in ("strategy",) if name in context}
        graph: Any = TASKS[self.graph].graph(Context.model_validate(built_for))
        with self.scripted():
            result: dict[str, Any] = asyncio.run(graph.ainvoke({"case": case}, context=context))
        return result

    @contextmanager
    def scripted(self) -> Iterator[None]:
        """Make the complexity check find this course's complexity."""
        with pytest.MonkeyPatch.context() as patch:
            if self.complexity:
                found: Any = ComplexityCheck.model_validate({"reason": "", "complexity": self.complexity})
                changed = dataclasses.replace(moderator.complexity_check, offline=lambda view: found)
                patch.setattr(moderator, "complexity_check", changed)
            yield


def _courses() -> Iterator[Course]:
    for graph in TASKS:
        if graph == "reconstruction":
            continue
        if graph == "one_step":
            yield Course(graph)
            continue
        yield from (Course(graph, patient) for patient in PATIENTS)
    for strategy in STRATEGIES:
        if strategy == "mdagents":
            yield from (Course("clinical_workflow", "medchain", strategy, found) for found in COMPLEXITIES)
        elif strategy != "group":
            yield Course("clinical_workflow", "medchain", strategy)


COURSES = list(_courses())
# Dialogues are written from the whole note, so that no record is hidden from any role.
WAYS: tuple[str, ...] = get_args(Context.model_fields["reconstruction"].annotation)
WRITING = [Course("reconstruction", strategy=way) for way in WAYS]
# Each graph, each patient in two of them, each strategy: together they ask all roles by all prompts, as all courses do.
_WITH = {
    "consultation": PATIENTS,
    "clinical_workflow": ("ai_hospital", "medpmc"),
    "dispute_resolution": ("saps", "clinichat"),
    "one_step": ("medchain",),
}
SOME = [course for course in COURSES if course.patient in _WITH[course.graph] or course.strategy != "group"]


def in_turn(courses: Iterable[Course], languages: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise courses with alternating languages; as there are five patients, each graph and patient gets both."""
    return _parametrised(zip(courses, cycle(languages), strict=False))


def in_the_other_language(courses: Iterable[Course], languages: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise courses with the language that `in_turn` of all courses does not give them."""
    first, second = languages
    other = {course: second if place % 2 == 0 else first for place, course in enumerate(COURSES)}
    return _parametrised((course, other[course]) for course in courses)


def _parametrised(pairs: Iterable[tuple[Course, str]]) -> pytest.MarkDecorator:
    parameters = [pytest.param(course, language, id=f"{course}-{language}") for course, language in pairs]
    return pytest.mark.parametrize(("course", "language"), parameters)


def everybody(server: FakeServer, **models: str) -> dict[str, str]:
    """Return a model map that asks the server for each role of a graph, with the role's name as the model."""
    asked = {
        role for role, stages in known_roles().items() if not any(stage.startswith(tuple(JUDGED)) for stage in stages)
    }
    return {role: f"openai:{role}@{server.base_url}" for role in sorted(asked)} | models


def scored(suite: str, case: Case, answers: Any) -> dict[str, float | None]:
    """Return the offline scores of answers by a suite."""

    async def score() -> CaseScores:
        return await SUITES[suite].score(case, answers, Context())

    return asyncio.run(score()).values
