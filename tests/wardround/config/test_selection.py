"""The cases of an experiment, and the departments that a data set brings along."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.many_cases import write_cases
from cases import Case, CaseFileError, ExaminationRecord, load_cases, save_cases
from cases.notes import Note, note_of
from cases.vocabulary import SECOND_LEVEL
from wardround.config import selection
from wardround.config.experiment import ConfigurationError, Data
from wardround.config.selection import StoredItem, TextStore, select, select_cases


def test_of_the_built_in_cases_the_test_split_is_taken() -> None:
    assert {case.split for case in select_cases(Data())} == {"test"}


def test_a_split_that_is_named_is_taken() -> None:
    assert {case.split for case in select_cases(Data(split="validation"))} == {"validation"}


def test_a_file_is_taken_whole_and_a_limit_takes_its_first_cases(tmp_path: Path) -> None:
    chosen = load_cases()[:4]
    save_cases([case.model_copy(update={"examinations": type(case.examinations)()}) for case in chosen], tmp_path / "c")
    assert [case.id for case in select_cases(Data(cases=str(tmp_path / "c")))] == [case.id for case in chosen]
    assert [case.id for case in select_cases(Data(cases=str(tmp_path / "c"), limit=2))] == [
        case.id for case in chosen[:2]
    ]


def test_case_ids_are_taken_from_any_split_in_their_order_and_once() -> None:
    ids = [next(case.id for case in load_cases() if case.split == split) for split in ("train", "test")]
    assert [case.id for case in select_cases(Data(case_ids=[*ids, ids[0]]))] == ids


def test_notes_are_taken_instead_of_cases_and_are_no_cases(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"id": "a", "note": "Cough."}\n{"id": "b", "note": "Pain."}\n', "utf-8")
    data = Data(notes=str(tmp_path / "notes.jsonl"), limit=1)
    assert [item.id for item in select(data).items] == ["a"] and all(
        isinstance(stored.item, Note) for stored in select(data).items
    )
    with pytest.raises(ConfigurationError, match="has notes, but cases are needed"):
        select_cases(data)


def test_an_unknown_case_id_is_named_with_its_like() -> None:
    with pytest.raises(ConfigurationError, match=r"case_ids: no case surgery-001 in builtin; did you mean 'surgery-01"):
        select_cases(Data(case_ids=["surgery-001"]))


def test_a_case_id_outside_the_named_split_is_refused() -> None:
    train = next(case.id for case in load_cases() if case.split == "train")
    with pytest.raises(ConfigurationError, match=rf"no case {train} in builtin \(split 'test'\)"):
        select_cases(Data(split="test", case_ids=[train]))


def test_a_split_without_cases_is_refused(tmp_path: Path) -> None:
    case = next(case for case in load_cases() if not case.examinations.images and case.split == "train")
    save_cases([case], tmp_path / "cases.jsonl")
    with pytest.raises(ConfigurationError, match=r"no cases in .* \(split 'test'\)"):
        select_cases(Data(cases=str(tmp_path / "cases.jsonl"), split="test"))


def test_a_case_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match=r"absent\.jsonl"):
        select_cases(Data(cases=str(tmp_path / "absent.jsonl")))


def own_departments(file: Path, *named: list[str]) -> dict[str, list[str]] | None:
    """Return the second-level departments that a file brings whose keys name these ones of Surgery."""
    case = load_cases()[0].model_copy(update={"examinations": ExaminationRecord()})
    keys = [case.key.model_copy(update={"department": "Surgery", "sub_departments": names}) for names in named]
    save_cases([case.model_copy(update={"id": f"own-{at}", "key": key}) for at, key in enumerate(keys)], file)
    return select(Data(cases=str(file))).sub_departments


def test_a_data_set_with_departments_of_its_own_brings_its_list(tmp_path: Path) -> None:
    named = [["Tropical Surgery", "Urology"], *[["Aviation Surgery"]] * 9]
    assert own_departments(tmp_path / "own.jsonl", *named) == {
        "Surgery": ["Aviation Surgery", "Tropical Surgery", "Urology"]
    }


def test_a_few_cases_do_not_choose_among_their_own_answers_alone(tmp_path: Path) -> None:
    found = own_departments(tmp_path / "own.jsonl", ["Tropical Surgery", "Urology"], [])
    assert found == {"Surgery": sorted({"Tropical Surgery", *SECOND_LEVEL["Surgery"].names})}


def test_a_data_set_with_our_departments_keeps_our_list() -> None:
    assert select(Data()).sub_departments is None


def test_a_shuffled_order_is_drawn_by_its_seed_before_the_first_so_many_are_taken() -> None:
    as_filed = select_cases(Data())
    one, again, other = (select_cases(Data(shuffle=seed)) for seed in (1, 1, 2))
    assert one == again != other and one != as_filed
    assert {case.id for case in one} == {case.id for case in as_filed}
    assert select_cases(Data(shuffle=1, limit=5)) == one[:5]


def test_what_is_held_is_the_case_or_note_again_and_its_json_that_of_the_fingerprint() -> None:
    for case in load_cases():
        stored = StoredItem.of(case)
        assert stored.item == case and stored.json.decode() == case.model_dump_json()
        assert (stored.id, stored.language, stored.split) == (case.id, case.language, case.split)
        assert [picture.is_file() for picture in stored.pictures] == [True] * len(case.examinations.images)
        note = note_of(case)
        assert StoredItem.of(note).item == note and StoredItem.of(note).json.decode() == note.model_dump_json()


def test_of_many_cases_only_a_part_of_their_file_is_in_memory_and_each_comes_back_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_IN_MEMORY", 100_000)
    file = tmp_path / "cases.jsonl"
    write_cases(file, 1_000)
    select(Data(limit=1))  # what is kept for good is built before
    tracemalloc.start()
    try:
        items = select(Data(cases=str(file))).items
        stored = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert stored < file.stat().st_size / 4
    for place in (999, 0, 500, 0):
        item = items[place].item
        assert isinstance(item, Case) and item == items[place].item and item.id == items[place].id


def test_a_held_case_goes_to_another_process_without_the_others() -> None:
    items = select(Data()).items
    sent = pickle.dumps(items[5])
    assert len(sent) < 3 * items[5].length
    arrived = pickle.loads(sent)
    assert (arrived.item, arrived.json, arrived.folder) == (items[5].item, items[5].json, items[5].folder)


def test_texts_put_away_by_many_threads_come_back_as_they_were() -> None:
    texts, said = TextStore(), [f"{number} ".encode() * number for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(texts.put, said))
        assert list(pool.map(texts.get, places, map(len, said))) == said
