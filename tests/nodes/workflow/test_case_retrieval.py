import threading
from typing import Any

import pytest

from cases import load_cases
from cases.vocabulary import Language
from graphs import clinical_workflow, one_step
from llm.trace import RECALLED
from nodes.workflow.case_retrieval import WordsView, _search_memory, cut_to_symptoms
from nodes.workflow.stages import Stage
from prompts import load_words
from retrieval import Neighbour
from retrieval.features import remember

GRAPH: Any = one_step


@pytest.mark.parametrize(("wanted", "asked"), [("any", {None}), ("case", {"zh"})])
def test_the_setting_says_of_which_language_cases_are_recalled(
    wanted: str, asked: set[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    languages: set[str | None] = set()

    class Empty:
        def recall(self, *_: Any, language: str | None, **__: Any) -> list[Any]:
            languages.add(language)
            return []

    def memory_of(context: Any) -> Any:
        return Empty()

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", memory_of)
    case = next(case for case in load_cases() if case.language == "zh" and case.split == "test")
    GRAPH.invoke({"case": case}, context={"recall_language": wanted, "language": "en"})
    assert languages == asked


async def test_the_memory_is_searched_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    class Empty:
        def recall(self, *_: Any, **__: Any) -> list[Any]:
            threads.add(threading.get_ident())
            return []

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", lambda context: Empty())
    await GRAPH.ainvoke({"case": load_cases()[0]})
    assert threads and threading.get_ident() not in threads


def test_where_a_department_has_too_few_cases_those_without_a_department_fill_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A memory of imported cases, whose source names no department, was searched at the first stage alone."""
    asked: list[tuple[str | None, int]] = []

    class OfOne:
        def recall(self, _: Any, department: str | None, *, k: int, **__: Any) -> list[Any]:
            asked.append((department, k))
            return [Neighbour(remember(load_cases()[0]), 0.5)] if department else []

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", lambda context: OfOne())
    case = next(case for case in load_cases() if case.split == "test")
    state = clinical_workflow.invoke({"case": case}, context={"models": {"default": "offline"}})
    department = state["referral"].department
    searches = [pair for pair in asked if pair[0] is not None]
    assert searches and searches == [(department, 3), ("", 2)] * (len(searches) // 2)


def test_verified_cases_without_a_department_come_before_pseudo_cases_of_the_department(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verified, *others = map(remember, load_cases()[:5])
    pseudo = [other.model_copy(update={"verified": False}) for other in others]

    class Mixed:
        def recall(self, _: Any, department: str | None, *, before: int | None, k: int, **given: Any) -> list[Any]:
            shelf = [verified] if department == "" else pseudo if before != 0 else []
            return [Neighbour(case, 0.5) for case in shelf if case.id not in given["exclude"]][:k]

        def add(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", lambda context: Mixed())
    case = next(case for case in load_cases() if case.split == "test")
    context: Any = {"models": {"default": "offline"}, "grow": "as_finished"}
    trace = clinical_workflow.invoke({"case": case}, context=context)["trace"]
    recalled = [event.content["cases"] for event in trace.events if event.event == RECALLED]
    assert len(recalled) > 3
    for cases in recalled[1:]:
        assert [each["verified"] for each in cases] == [True, False, False]


@pytest.mark.parametrize("position", [0, 1])
def test_in_the_order_of_the_run_a_case_recalls_what_came_before_it_and_the_first_nothing(
    position: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[int | None] = set()

    class Empty:
        def recall(self, *_: Any, before: int | None, **__: Any) -> list[Any]:
            asked.add(before)
            return []

        def add(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", lambda context: Empty())
    context: Any = {"models": {"default": "offline"}, "grow": "in_order", "position": position}
    clinical_workflow.invoke({"case": load_cases()[0]}, context=context)
    assert asked == {0, position}


@pytest.mark.parametrize("verified_cases", [1, 3])
def test_rules_too_meet_pseudo_cases_only_where_there_are_too_few_verified_ones(
    verified_cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They recalled their own guesses from all departments, beside three verified cases of their own one."""
    remembered = [remember(case) for case in load_cases()[:6]]
    shelf = [each.model_copy(update={"verified": at < verified_cases}) for at, each in enumerate(remembered)]
    seen: list[Neighbour] = []

    class Mixed:
        def recall(self, _: Any, department: str | None, *, before: int | None, k: int, **given: Any) -> list[Any]:
            fits = [each for each in shelf if each.verified or before != 0]
            found = [Neighbour(each, 0.5) for each in fits if each.id not in given["exclude"]][:k]
            seen.extend(found)
            return found

        def add(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("nodes.workflow.case_retrieval.memory_of", lambda context: Mixed())
    case = next(case for case in load_cases() if case.split == "test")
    clinical_workflow.invoke({"case": case}, context={"models": {"default": "offline"}, "grow": "as_finished"})
    assert {each.case.verified for each in seen} == ({True} if verified_cases == 3 else {True, False})


def test_rules_compare_the_symptoms_where_one_answer_is_sought_and_not_where_several_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages: list[Stage] = []
    compared: list[bool] = []

    def search(findings: Any, stage: Stage, context: Any) -> list[Neighbour]:
        stages.append(stage)
        return _search_memory(findings, stage, context)

    def seen_whole(_: Any, found: Any, others: Any, embedding: Any, symptoms: str, **given: Any) -> list[Neighbour]:
        compared.append(bool(symptoms))
        return list(found)

    monkeypatch.setattr("nodes.workflow.case_retrieval._search_memory", search)
    monkeypatch.setattr("nodes.workflow.case_retrieval.seen_whole", seen_whole)
    clinical_workflow.invoke({"case": load_cases()[0]}, context={"models": {"default": "offline"}})
    assert {True, False} == {*compared} and compared == [stage.single for stage in stages]


@pytest.mark.parametrize(("language", "complaint"), [("en", "Painless ulcer for 2 weeks"), ("zh", "停经48天，下腹痛")])
def test_offline_no_answer_that_tells_nothing_becomes_part_of_what_similar_cases_are_found_by(
    language: Language, complaint: str
) -> None:
    empty = load_words("consultation/words", language)["patient"].values()
    view = WordsView(" ".join([f"{complaint}.", *empty]), language)
    assert cut_to_symptoms(view).symptoms == complaint
