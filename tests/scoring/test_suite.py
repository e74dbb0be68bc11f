"""Suites by name, and columns of one's own beside the published ones."""

import asyncio
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cases import Case, load_cases
from cases.registry import RegistryError
from graphs import one_step
from llm import ModelError, ModelSettings, ask
from llm.errors import CacheError
from llm.trace import TraceError
from scoring.case_scores import CaseScores, Metric, Suite
from scoring.medchain.answers import Answers
from scoring.suite import SUITES, metric
from tests.llm.examinee import EXAMINEE, View
from tests.support.metrics import suites_given_back

CASE = load_cases()[0]


@pytest.fixture(autouse=True)
def nobodys_metrics() -> Iterator[None]:
    with suites_given_back():
        yield


def score(suite: str = "medchain") -> CaseScores:
    return asyncio.run(SUITES[suite].score(CASE, Answers(), ModelSettings()))


def test_the_scales_of_the_suites_are_the_papers() -> None:
    """By its scale a score has its interval, its margin and what a failed case counts as."""
    one_scale = {name: suite.ends for name, suite in SUITES.items() if isinstance(suite.ends, tuple)}
    assert one_scale == {
        "medchain": (0, 1),
        "mvme": (1, 4),
        "aie": (0, 100),
        "medpmc": (0, 100),
        "medpmc_judged": (1, 5),
        "gates": (0, 1),
    }
    told = {"D": (0, 2), "I": (0, 2), "C": (0, 2), "U": (0, 2), "CM": (0, 2), "Total": (0, 10)}
    assert SUITES["medpmc_standard"].ends == told
    assert SUITES["medpmc_patient"].ends == {**told, "Semantic consistency": (0, 5), "Character feature": (0, 5)}
    points = SUITES["clini_eval"].ends
    assert isinstance(points, dict) and points["Total Score"] == (0, 100) and points["Medical History"] == (0, 45)
    assert SUITES["clini_eval_paper"].ends == points


def test_a_metric_is_a_column_behind_the_published_ones_titled_from_its_name() -> None:
    @metric("right_first", suite="medchain")
    def right_first(case: Case, answers: Answers) -> float | None:
        """1 if the first diagnosis is the key's."""
        return float(case == CASE and answers == Answers())

    assert right_first.__doc__ == "1 if the first diagnosis is the key's."
    assert list(SUITES["medchain"].columns.items())[6:] == [("right_first", "Right first")]
    assert score().values["right_first"] == 1.0 and "right_first" not in score().unscored


def test_a_metric_may_be_a_coroutine() -> None:
    @metric("slow", suite="medchain")
    async def slow(case: Case, answers: Any) -> float | None:
        await asyncio.sleep(0)
        return 0.25

    assert score().values["slow"] == 0.25


def tensor(value: int) -> Any:
    import torch  # not when tests are collected, which each process does

    return torch.tensor(value)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, np.bool_, tensor, Fraction])
def test_a_metric_may_return_a_number_of_another_library(kind: Any, recwarn: pytest.WarningsRecorder) -> None:
    metric("other", suite="medchain")(lambda case, answers: kind(1))
    assert score().values["other"] == 1.0 and not recwarn.list


def test_a_case_that_a_metric_gives_no_value_is_unscored_and_says_so() -> None:
    metric("nothing", suite="medchain")(lambda case, answers: None)
    assert score().values["nothing"] is None
    assert score().unscored["nothing"] == "the metric returned no value for this case"


@pytest.mark.parametrize("value", ["high", float("nan"), float("inf"), [1.0], np.ones(1), np.array("high"), 1j])
def test_what_is_no_finite_number_is_no_score_and_the_reason_is_recorded(value: Any) -> None:
    metric("odd", suite="medchain")(lambda case, answers: value)
    assert score().values["odd"] is None
    assert score().unscored["odd"].startswith("metric failed: it returned ")


def test_a_metric_that_fails_costs_its_column_and_nothing_else() -> None:
    before = score()

    @metric("broken", suite="medchain")
    def broken(case: Case, answers: Any) -> float | None:
        raise KeyError("urgency")

    found = score()
    line = broken.__code__.co_firstlineno + 2
    assert found.unscored["broken"] == f"metric failed: KeyError: 'urgency' (test_suite.py, line {line})"
    assert {name: value for name, value in found.values.items() if name != "broken"} == before.values


def test_a_judge_of_another_stage_is_refused_as_the_doctors_model_would_be_its_own() -> None:
    @metric("judged", suite="medchain")
    async def judged(case: Case, answers: Any, settings: ModelSettings) -> float:
        await ask(EXAMINEE, View(), settings, language="en")
        return 1.0

    told = "metric failed: GivenError: role 'examinee' judges at the stage 'rehearsal'; declare it at 'evaluation'"
    assert score().unscored["judged"].startswith(told)


def test_a_metric_may_run_a_graph_that_asks_roles_of_any_stage() -> None:
    """It was told to declare our doctor at 'evaluation'."""

    @metric("second_report", suite="medchain")
    async def second_report(case: Case, answers: Any) -> float:
        report = (await one_step.ainvoke({"case": case}, context={"retrieval": False}))["report"]
        return float(bool(report.diagnosis))

    assert score().values["second_report"] == 1.0


@pytest.mark.parametrize("full", [CacheError("it cannot be used"), TraceError(28, "No space left on device")])
def test_a_judge_whose_answer_cannot_be_kept_is_no_fault_of_the_metric_that_asks_it(full: Exception) -> None:
    async def asks(case: Case, answers: Any, settings: ModelSettings) -> float:
        raise full

    with pytest.raises(type(full)):
        asyncio.run(Metric("asks", asks).score(CASE, Answers(), ModelSettings()))


def test_a_metric_that_raises_a_cancellation_of_its_own_has_failed_and_cancels_nothing() -> None:
    @metric("cancelled", suite="medchain")
    async def cancelled(case: Case, answers: Any) -> float | None:
        raise asyncio.CancelledError

    assert score().unscored["cancelled"].startswith("metric failed: CancelledError: no reason given (test_suite.py")


@pytest.mark.parametrize(
    ("name", "suite", "told"),
    [
        ("urgency", "medchian", "unknown suite 'medchian': did you mean 'medchain'?"),
        ("diagnosis", "medchain", "has a column of that name; try 'own_diagnosis'"),
        ("diagnosis", "medpmc", "has a column of that name"),  # whatever the case: there it is Diagnosis
        ("average", "medchain", "has a column of that name"),
        ("tokens", "mvme", "has a column of that name"),
        ("My metric", "medchain", "only lower-case letters, digits and underscores"),
    ],
)
def test_a_metric_that_cannot_be_a_column_is_refused_when_it_is_registered(name: str, suite: str, told: str) -> None:
    with pytest.raises(RegistryError, match=told.replace("?", r"\?")):
        metric(name, suite=suite)(lambda case, answers: 1.0)


def yielding(case: Case, answers: Any) -> Iterator[float]:
    yield 1.0


@pytest.mark.parametrize(
    "function", [lambda case: 1.0, yielding, CaseScores], ids=["one argument", "generator", "class"]
)
def test_a_metric_that_no_case_and_answers_can_be_put_to_is_refused_when_it_is_registered(function: Any) -> None:
    with pytest.raises(RegistryError, match=r"metric 'mine': expected a function, def mine\(case, answers\)"):
        metric("mine", suite="medchain")(function)


def test_a_name_is_registered_once() -> None:
    metric("mine", suite="medchain")(lambda case, answers: 1.0)
    with pytest.raises(RegistryError, match="already registered"):
        metric("mine", suite="medchain")(lambda case, answers: 0.0)
    metric("mine", suite="mvme")(lambda case, answers: 1.0)


def test_a_metric_cannot_be_averaged_where_there_is_no_average() -> None:
    with pytest.raises(RegistryError, match="'mvme' has no average; suites with an average: medchain"):
        metric("mine", suite="mvme", average=True)


def test_the_published_average_stands_as_it_is_and_one_with_own_metrics_beside_it() -> None:
    metric("mine", suite="medchain", average=True)(lambda case, answers: 1.0)
    metric("yours", suite="medchain")(lambda case, answers: 1.0)
    averages = SUITES["medchain"].averages
    assert averages["average"] == ("Average", list(SUITES["medchain"].published))
    assert averages["average_with_own"] == ("Average with mine", [*SUITES["medchain"].published, "mine"])
    assert list(SUITES["medchain"].titles)[5:] == ["treatment", "average", "mine", "yours", "average_with_own"]


def test_a_suite_without_metrics_shows_its_published_columns_alone() -> None:
    suite = Suite("s", {"a": "A"}, SUITES["medchain"].scored_by, frozenset())
    assert suite.columns == suite.titles == {"a": "A"} and suite.averages == {}
    assert Metric("a_b", lambda case, answers: 1.0).title == "A b"


@pytest.mark.parametrize("value", [1.7e308, -1e100, 10**400])
def test_a_number_too_great_for_a_mean_is_no_score_as_the_record_could_not_be_read_with_it(value: float) -> None:
    metric("great", suite="medchain")(lambda case, answers: value)
    assert score().values["great"] is None and score().unscored["great"].startswith("metric failed: it returned ")


def test_what_a_metric_changes_of_the_case_changes_no_other_score() -> None:
    @metric("careless", suite="medchain")
    def careless(case: Case, answers: Answers) -> float:
        case.key.diagnosis.clear()
        answers.decided["diagnosis"] = {}
        return 1.0

    before = CASE.model_copy(deep=True)
    assert score().values["careless"] == 1.0 and before == CASE


def test_whether_a_metric_is_averaged_is_said_by_yes_or_no() -> None:
    with pytest.raises(RegistryError, match="average = 'yes'; expected True or False"):
        metric("often", suite="medchain", average="yes")  # type: ignore[arg-type]


async def dialogue_length(case: Case, answers: Any, settings: ModelSettings) -> CaseScores:
    return CaseScores({"turns": float(len(answers.dialogue))})


def of_ones_own(**fields: Any) -> Suite:
    given = {"published": {"turns": "Turns"}, "scored_by": dialogue_length, "needs": frozenset({"dialogue"})}
    return Suite(**{"name": "mine", **given, **fields})


@pytest.mark.parametrize(
    ("suite", "told"),
    [
        ({"turns": "Turns"}, "found {'turns': 'Turns'}; expected a scoring.suite.Suite"),
        (of_ones_own(name="other"), "its name is 'other'; expected the name that it is added under"),
        (of_ones_own(published=["turns"]), "published = ['turns']; expected a title for each column's name"),
        (of_ones_own(published={}), "published = {}; expected a title for each column's name"),
        (
            of_ones_own(published={"turns": None}),
            "published = {'turns': None}; expected a title for each column's name",
        ),
        (of_ones_own(notes=None), "notes = None; expected a text"),
        (of_ones_own(ends=(1, 0)), "ends = (1, 0); expected the minimum and the maximum, such as (0, 1), or these by"),
        (of_ones_own(ends={"turns": (0,)}), "ends = {'turns': (0,)}; expected the minimum and the maximum"),
        (of_ones_own(means={"mean": "turns"}), "means = {'mean': 'turns'}; expected a title and the averaged columns"),
        (of_ones_own(published={"tokens": "Tokens"}), "'tokens' is a field of every result; name the column otherwise"),
        (of_ones_own(needs="dialogue"), "needs = 'dialogue'; expected a set, such as frozenset({'report'})"),
        (of_ones_own(needs={"dialog"}), "needs: unknown 'dialog': did you mean 'dialogue'?"),
        (of_ones_own(means={"mean": ("Mean", ["turn"])}), "means: unknown 'turn': did you mean 'turns'?"),
        (of_ones_own(neither=("turn",)), "neither: unknown 'turn': did you mean 'turns'?"),
        (of_ones_own(ends={"turn": (0.0, 1.0)}), "ends: unknown 'turn': did you mean 'turns'?"),
        (of_ones_own(scored_by=lambda case, answers: None), "def scored_by(case, answers, settings): too many"),
    ],
)
def test_a_suite_that_would_end_a_run_at_its_summary_is_refused_when_it_is_added(suite: Any, told: str) -> None:
    """Its cases had been paid by then."""
    with pytest.raises(RegistryError) as refusal:
        SUITES.add("mine", suite)
    assert told in str(refusal.value) and "mine" not in SUITES


def test_a_suite_of_ones_own_whose_judge_gives_no_answer_has_the_reason_and_its_metrics_stand() -> None:
    async def unanswered(case: Case, answers: Any, settings: ModelSettings) -> CaseScores:
        raise ModelError("no answer after 6 requests")

    suite = of_ones_own(scored_by=unanswered)
    suite.metrics.add("own", Metric("own", lambda case, answers: 1.0))
    found = asyncio.run(suite.score(CASE, Answers(), ModelSettings()))
    assert found.values == {"turns": None, "own": 1.0}
    assert found.unscored == {"turns": "judge failed: model_error: no answer after 6 requests"}
