import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases.vocabulary import DEPARTMENTS
from retrieval import CaseMemoryError, Count, Memory, Neighbour, RememberedCase, chroma_collections
from tests.retrieval.conftest import cheap_embed
from tests.retrieval.examples import pseudo, verified


def ids(neighbours: list[Neighbour]) -> list[str]:
    return [neighbour.case.id for neighbour in neighbours]


def test_the_most_similar_cases_of_the_department_come_back_nearest_first(memory: Memory) -> None:
    near, middle, far = np.eye(3, 16) + 0.5 * np.eye(3, 16)[0]
    memory.add([verified("far"), verified("near"), verified("middle")], np.stack([far, near, middle]) * 7)
    memory.add([verified("elsewhere", "Dentistry")], near[np.newaxis])
    found = memory.recall(near + 0.1 * middle, "Surgery", k=2)
    assert ids(found) == ["near", "middle"]
    assert found[0].similarity == pytest.approx(1, abs=0.01)
    assert found[0].case == verified("near")


def test_without_a_department_all_of_them_are_searched_and_merged(memory: Memory) -> None:
    memory.add([verified(f"{number}", name, "pain") for number, name in enumerate(DEPARTMENTS.names)])
    memory.add([verified("unfiled", None, "pain"), verified("other", None, "fever")])
    assert len(memory.recall("pain", None, k=50)) == 21
    assert ids(memory.recall("fever", None, k=1)) == ["other"]
    assert ids(memory.recall("pain", "外科", k=3)) == [str(DEPARTMENTS.names.index("Surgery"))]
    assert ids(memory.recall("pain", "", k=3)) == ["unfiled", "other"]


def test_a_remembered_case_that_is_damaged_is_named_in_one_line(memory: Memory) -> None:
    memory.add([verified("a", symptoms="pain")])
    shelf = memory._shelves._find("Surgery", None)
    assert shelf is not None
    shelf.update(ids=["a"], metadatas=[{"case": '{"id":"a","language":'}])
    for read in (lambda: memory.recall("pain", "Surgery"), lambda: list(memory.verified())):
        with pytest.raises(CaseMemoryError, match=r"cannot be read: the remembered case .*\"a.* is damaged") as caught:
            read()
        assert "\n" not in str(caught.value) and "pydantic" not in str(caught.value)


def test_of_the_language_that_is_wanted_as_many_are_found_as_there_are(memory: Memory) -> None:
    memory.add(
        verified(f"{number}", symptoms="pain", language="zh" if number % 4 == 0 else "en") for number in range(9)
    )
    memory.add([pseudo("pseudo", 0, symptoms="pain")])
    assert ids(memory.recall("pain", "Surgery", k=3, language="zh")) == ["0", "4", "8"]
    assert ids(memory.recall("pain", "Surgery", k=9, language="en")) == ["1", "2", "3", "5", "6", "7", "pseudo"]
    assert memory.recall("pain", None, k=3, language="fr") == []


def test_a_description_is_embedded_once_however_often_it_is_asked_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("retrieval.memory.embed", lambda texts, model: asked.extend(texts) or cheap_embed(texts))
    memory.add([verified("a", symptoms="pain")], np.eye(1, 16))
    found = [each.recall("pain", name) for each in (memory, memory.for_run("own")) for name in ("Surgery", None)]
    assert [ids(each) for each in found] == [["a"]] * 4
    assert asked == ["pain"]


def test_an_empty_memory_and_blank_symptoms_find_nothing(memory: Memory) -> None:
    assert memory.recall("pain", "Surgery") == []
    assert memory.recall("pain", None) == []
    memory.add([verified("a")])
    assert memory.recall(" ", None) == []
    assert len(memory.recall("pain", None)) == 1
    assert memory.recall("pain", None, k=0) == []


def test_equal_similarity_is_ordered_by_id(memory: Memory) -> None:
    memory.add(verified(name, symptoms="pain") for name in ("c", "a", "e", "b", "d"))
    assert ids(memory.recall("pain", "Surgery", k=3)) == ["a", "b", "c"]


def test_a_known_id_is_replaced(memory: Memory) -> None:
    memory.add([verified("a", symptoms="pain"), verified("a", symptoms="fever")])
    assert [neighbour.case.symptoms for neighbour in memory.recall("pain", "Surgery")] == ["fever"]
    memory.add([verified("a", symptoms="pain", sex="male")])
    (found,) = memory.recall("pain", "Surgery")
    assert found.case.sex == "male"
    assert found.similarity == pytest.approx(1)
    assert memory.stats() == {"Surgery": Count(verified=1, pseudo=0)}


def test_a_case_whose_department_changes_leaves_the_old_one(memory: Memory) -> None:
    memory.add([verified("a"), verified("b")])
    memory.add([verified("a", "Dentistry")])
    assert ids(memory.recall("pain", "Surgery")) == ["b"]
    assert ids(memory.recall("pain", "Dentistry")) == ["a"]
    assert sorted(ids(memory.recall("pain", None))) == ["a", "b"]


def test_pseudo_cases_only_fill_up_and_never_replace_a_verified_case(memory: Memory) -> None:
    memory.add([verified("v1"), verified("v2"), pseudo("p1", 0, symptoms="pain"), pseudo("v1", 1, symptoms="pain")])
    found = memory.recall("pain", "Surgery")
    assert ids(found)[2] == "p1"
    assert {*ids(found)[:2]} == {"v1", "v2"}
    assert [neighbour.case.verified for neighbour in found] == [True, True, False]
    assert memory.stats() == {"Surgery": Count(verified=2, pseudo=2)}


def test_only_pseudo_cases_before_a_position_are_seen(memory: Memory) -> None:
    memory.add([pseudo(f"p{order}", order) for order in range(5)])
    assert sorted(ids(memory.recall("pain", None, before=2, k=9))) == ["p0", "p1"]
    assert memory.recall("pain", None, before=0) == []
    assert len(memory.recall("pain", None, k=9)) == 5


def test_runs_share_verified_cases_and_keep_their_pseudo_cases_to_themselves(memory: Memory) -> None:
    memory.add([verified("v")])
    one, two = memory.for_run("one"), memory.for_run("two")
    one.add([pseudo("p", 0)])
    two.add([pseudo("q", 0)])
    assert ids(one.recall("pain", "Surgery")) == ["v", "p"]
    assert ids(two.recall("pain", "Surgery")) == ["v", "q"]
    assert ids(memory.recall("pain", "Surgery")) == ["v"]


def test_an_unknown_department_and_wrong_shapes_are_errors(memory: Memory) -> None:
    with pytest.raises(ValueError, match="first-level departments"):
        memory.recall("pain", "Astrology")
    for wrong in (np.ones((2, 16)), np.ones(16), np.full((1, 16), np.nan)):
        with pytest.raises(ValueError, match=r"shape \(1, d\)"):
            memory.add([verified("a")], wrong)


def test_vectors_of_another_length_are_one_error_that_names_the_memory(memory: Memory) -> None:
    memory.add([verified("a")])
    with pytest.raises(CaseMemoryError, match="'test'"):
        memory.recall(np.ones(5), "Surgery")


def test_a_closed_memory_says_so(memory: Memory) -> None:
    memory.close()
    with pytest.raises(CaseMemoryError, match="was closed"):
        memory.recall("pain", "Surgery")


@pytest.mark.slow
async def test_many_coroutines_may_recall_while_cases_are_added(memory: Memory) -> None:
    memory.add(verified(f"v{number}", name) for number, name in enumerate(DEPARTMENTS.names))
    growing = memory.for_run("run")

    async def step(order: int) -> list[Neighbour]:
        name = DEPARTMENTS.names[order % 19]
        found = await asyncio.to_thread(growing.recall, "pain", name, before=19, k=2)
        await asyncio.to_thread(growing.add, [pseudo(f"p{order}", order + 19, name)])
        return found

    answers = await asyncio.gather(*(step(order) for order in range(100)))
    assert [ids(answer) for answer in answers] == [[f"v{order % 19}"] for order in range(100)]
    assert sum(count.pseudo for count in growing.stats().values()) == 100


@pytest.mark.slow
def test_every_case_can_be_found_by_the_index_after_batches_with_reads_between(memory: Memory) -> None:
    prefix = f"test-{uuid.uuid4().hex}"
    memory = Memory(memory._client, location="test", embedding="cheap", prefix=prefix, shared=True)
    vectors = cheap_embed([str(number) for number in range(600)])
    for start in range(0, 600, 50):
        cases = [verified(f"{number}") for number in range(start, start + 50)]
        memory.add(cases, vectors[start : start + 50])
        memory.stats()
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda vector: memory.recall(vector, "Surgery", k=1)[0].case.id, vectors)
        assert list(found) == [str(number) for number in range(600)]


def test_a_case_that_the_index_lost_is_linked_anew_and_keeps_its_features(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_lost, checks = chroma_collections._lost, 0

    def lost(shelf: Any) -> dict[str, Any]:
        nonlocal checks
        checks += 1
        stored = shelf.get(include=["embeddings"])
        return dict(zip(stored["ids"], stored["embeddings"], strict=True)) if checks == 1 else really_lost(shelf)

    monkeypatch.setattr(chroma_collections, "_lost", lost)
    cases = [verified(f"{number}", sex="female") for number in range(5)]
    memory.add(cases)
    assert checks == 2
    found = memory.recall(cases[2].symptoms, "Surgery", k=5)
    assert found[0].case == cases[2]
    assert sorted(ids(found)) == ["0", "1", "2", "3", "4"]


def test_a_shared_memory_finds_what_another_client_adds_to_a_shelf_that_was_read(memory: Memory) -> None:
    prefix = f"test-{uuid.uuid4().hex}"
    one, other = (
        Memory(memory._client, location="test", embedding="cheap", prefix=prefix, shared=True) for _ in range(2)
    )
    for number in range(3):
        other.add([verified(f"v{number}")])
        assert len(one.recall("pain", "Surgery", k=9)) == number + 1


CASES = st.builds(
    lambda number, order, department, symptoms: (
        verified(f"c{number}", department, symptoms)
        if order is None
        else pseudo(f"c{number}", order, department, symptoms)
    ),
    st.integers(0, 12),
    st.none() | st.integers(0, 6),
    st.sampled_from(["Surgery", "Dentistry", None]),
    st.sampled_from(["pain", "fever", "cough", "rash"]),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    additions=st.lists(st.lists(CASES, max_size=6), max_size=4),
    department=st.sampled_from(["Surgery", "Dentistry", None]),
    exclude=st.sets(st.integers(0, 12).map("c{}".format), max_size=5),
    before=st.none() | st.integers(0, 7),
    k=st.integers(1, 5),
    shared=st.booleans(),
)
def test_recall_is_what_an_exact_search_by_the_rules_gives(
    memory: Memory,
    additions: list[list[RememberedCase]],
    department: str | None,
    exclude: set[str],
    before: int | None,
    k: int,
    shared: bool,
) -> None:
    prefix = f"test-{uuid.uuid4().hex}"
    fresh = Memory(memory._client, location="test", embedding="cheap", prefix=prefix, shared=shared)
    known: dict[tuple[bool, str], RememberedCase] = {}
    for cases in additions:
        fresh.recall("pain", None, k=9)  # what is known of the shelves by now is to follow what is added
        fresh.add(cases)
        known |= {(case.verified, case.id): case for case in cases}

    def rank(case: RememberedCase) -> tuple[float, str]:
        similarity = np.vdot(*cheap_embed([case.symptoms, "pain"]).astype(float))
        return (-round(float(similarity), 5), case.id)

    allowed = [case for case in known.values() if department in (None, case.department) and case.id not in exclude]
    expected = sorted((case for case in allowed if case.verified), key=rank)[:k]
    taken = {case.id for case in expected}
    fill = [case for case in allowed if not case.verified and case.id not in taken]
    fill = [case for case in fill if before is None or (case.order is not None and case.order < before)]
    expected += sorted(fill, key=rank)[: k - len(expected)]
    found = fresh.recall("pain", department, exclude=exclude, before=before, k=k)
    assert [neighbour.case for neighbour in found] == expected
