"""Importers of other people: their faults are named like those of a file, and never end in a traceback."""

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cases import AnswerKey, Case, load_cases
from cases.importers import IMPORTERS, Record, Source, import_cases, importer
from cases.registry import RegistryError
from tests.support.pictures import PNG


@pytest.fixture(autouse=True)
def _forget_what_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IMPORTERS, "_entries", dict(IMPORTERS))


def case(number: int = 1, **changes: Any) -> Case:
    return Case.model_validate(
        {
            "id": f"ward-{number}",
            "patient": {"chief_complaint": "Cough"},
            "provenance": {"source": "a ward"},
            **changes,
        }
    )


def problems(read: Callable[[Path], Any], tmp_path: Path) -> list[str]:
    importer("ward")(read)
    source = tmp_path / "ward.txt"
    source.write_text("", "utf-8")
    return [str(problem).removeprefix(f"{source}, ") for problem in import_cases("ward", source).errors]


class Reader:
    def __call__(self, source: Any) -> Any:
        return _read(source)


def _read(source: Any, **_: Any) -> Any:
    return [case() for _ in source.records()]


@pytest.mark.parametrize("read", [_read, partial(_read, dialect="ours"), Reader()], ids=["plain", "partial", "object"])
def test_a_source_is_given_also_where_what_is_returned_is_imported_for_type_checkers_alone(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in (_read, Reader.__call__):
        typed = {"source": "Source", "return": "Elsewhere"}  # as with `from __future__ import annotations`
        monkeypatch.setattr(code, "__annotations__", typed)
    importer("ward")(read)
    (tmp_path / "ward.jsonl").write_text("{}", "utf-8")
    assert [found.id for found in import_cases("ward", tmp_path / "ward.jsonl").cases] == ["ward-1"]


def test_the_rows_of_any_table_are_read_and_one_without_the_columns_that_an_importer_names_is_refused(
    tmp_path: Path,
) -> None:
    for name, columns in (("any", ()), ("some", ("id",)), ("others", ("dialogue", "note"))):

        @importer(name)
        def read(source: Source, columns: Any = columns) -> Iterable[Case]:
            yield from (case(int(row.value["id"])) for row in source.rows(*filter(None, [columns])))

    (tmp_path / "ward.csv").write_text("ID,Text\n1,Cough\n2,Fever\n", "utf-8")
    for name in ("any", "some"):
        assert [one.id for one in import_cases(name, tmp_path / "ward.csv").cases] == ["ward-1", "ward-2"]
    (refused,) = import_cases("others", tmp_path / "ward.csv").errors
    assert "expected one of the columns dialogue, note in the first line, found 'ID', 'Text'" in str(refused)


def test_a_function_of_a_path_is_an_importer(tmp_path: Path) -> None:
    @importer("ward")
    def read(source: Path) -> Iterable[Case]:
        yield from (case(number, key={"diagnosis": [line]}) for number, line in enumerate(source.open(), start=1))

    (tmp_path / "ward.txt").write_text("Gallstones\nAsthma\n", "utf-8")
    result = import_cases("ward", tmp_path / "ward.txt")
    assert not result.problems and [one.key.diagnosis for one in result.cases] == [["Gallstones"], ["Asthma"]]
    assert {one.folder for one in result.cases} == {str(tmp_path.resolve())}


def test_a_file_that_is_not_there_is_named_once_and_not_as_a_fault_of_the_importer(tmp_path: Path) -> None:
    @importer("ward")
    def read(source: Path) -> Iterable[Case]:
        yield from (case(number) for number, _ in enumerate(source.open(), start=1))

    (problem,) = import_cases("ward", tmp_path / "wrad.txt").errors
    assert str(problem) == f"{tmp_path / 'wrad.txt'}: file not found"


def test_one_that_takes_an_open_source_reads_json_records_and_notes_faults_itself(tmp_path: Path) -> None:
    @importer("ward")
    def read(source: Source) -> Iterator[Case]:
        for record in source.records():
            assert isinstance(record, Record)
            record.warn("age", "is odd")
            yield case(record.number)

    (tmp_path / "ward.json").write_text(json.dumps([{"age": 200}]), "utf-8")
    result = import_cases("ward", tmp_path / "ward.json")
    assert len(result.cases) == 1 and [problem.field for problem in result.warnings] == ["age"]


def test_what_is_no_case_is_named_by_its_place(tmp_path: Path) -> None:
    known = set(IMPORTERS)
    assert problems(lambda source: [case(1), {"id": "x"}], tmp_path) == ["case 2: expected a Case, found an object"]
    assert set(IMPORTERS) == {*known, "ward"}


def test_an_importer_that_gives_nothing_back_is_told(tmp_path: Path) -> None:
    assert "the importer returned nothing; expected an iterable of cases" in problems(lambda source: None, tmp_path)[0]


@pytest.mark.parametrize("error", [KeyError("diagnosis"), SystemExit(4)], ids=repr)
def test_an_exception_is_named_by_the_record_and_the_line_of_the_importer(error: BaseException, tmp_path: Path) -> None:
    """`SystemExit` ended the command without a word."""

    def read(source: Path) -> Iterator[Case]:
        yield case(1)
        raise error

    line = read.__code__.co_firstlineno + 2
    told = f"{type(error).__name__}: {error}"
    assert problems(read, tmp_path) == [f"case 2: {told} ({Path(__file__).name}, line {line})"]


def test_an_unknown_department_is_named_by_record_and_field(tmp_path: Path) -> None:
    def read(source: Path) -> Iterator[Case]:
        yield case(1)
        yield case(2, key={"department": "Chest Pain Unit"})

    (found,) = problems(read, tmp_path)
    assert found.startswith("case 2, key.department: ") and "Chest Pain Unit" in found


def test_a_second_level_department_is_told_where_it_belongs(tmp_path: Path) -> None:
    (found,) = problems(lambda source: iter([case(1, key={"department": "Cardiology"})]), tmp_path)
    assert "write Internal Medicine here, and it into sub_departments" in found


def test_an_unknown_field_of_a_part_of_a_case_is_named_with_the_one_that_was_meant(tmp_path: Path) -> None:
    def read(_: Path) -> Iterable[Case]:
        yield case(key=AnswerKey(diagnoses=["Asthma"]))  # type: ignore[call-arg]

    (problem,) = problems(read, tmp_path)
    assert problem.startswith("case 1, diagnoses: unknown field: did you mean 'diagnosis'?")


def test_a_copy_with_changes_that_no_case_may_have_is_found(tmp_path: Path) -> None:
    changed = case(1)
    changed = changed.model_copy(update={"patient": changed.patient.model_copy(update={"sex": "f"})})
    (found,) = problems(lambda source: [changed], tmp_path)
    assert found.startswith("case 1 (ward-1), patient.sex: ")


def test_an_id_that_stands_twice_and_a_picture_that_is_not_there_are_named(tmp_path: Path) -> None:
    pictured = case(2, examinations={"images": [{"file": "ct.png", "item": "CT"}]})
    assert problems(lambda source: [case(1), case(1), pictured], tmp_path) == [
        "case 2 (ward-1), id: the id 'ward-1' is already used by an earlier case; ids must be unique",
        "case 3 (ward-2), examinations.images.0.file: picture 'ct.png' not found; "
        "put it into the case's folder, or remove it from the case",
    ]


async def awaited(source: Path) -> list[Case]:
    return []


async def yielded(source: Path) -> AsyncIterator[Case]:
    yield case(1)


def test_a_picture_in_a_source_that_is_a_folder_is_named_from_there(tmp_path: Path) -> None:
    importer("ward")(lambda source: [case(examinations={"images": [{"file": "pictures/ct.png", "item": "CT"}]})])
    (tmp_path / "ward" / "pictures").mkdir(parents=True)
    (tmp_path / "ward" / "pictures" / "ct.png").write_bytes(PNG)
    result = import_cases("ward", tmp_path / "ward")
    assert not result.errors
    assert result.cases[0].folder == str((tmp_path / "ward").resolve())


@pytest.mark.parametrize(
    "read",
    [lambda: [], lambda source, more: [], 3, awaited, yielded, Path],
    ids=["none", "two", "no function", "async", "async generator", "class"],
)
def test_a_function_of_another_signature_is_refused_when_it_is_registered(read: Any) -> None:
    with pytest.raises(RegistryError, match=r"format 'ward': expected a function, def ward\(source\)"):
        importer("ward")(read)


def test_a_decorator_without_its_parentheses_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"format: expected a name in the decorator's parentheses"):
        importer(lambda source: [])  # type: ignore[arg-type]


def test_a_name_of_ours_is_taken() -> None:
    with pytest.raises(RegistryError, match="format 'medchain' is already registered"):
        importer("medchain")(lambda source: load_cases())


def test_one_case_instead_of_several_is_told_once(tmp_path: Path) -> None:
    (told,) = problems(lambda source: case(), tmp_path)
    assert "; expected an iterable of cases" in told


def test_whatever_an_importer_of_an_open_source_does_is_named_by_the_record_that_it_reads(tmp_path: Path) -> None:
    @importer("ward")
    def read(source: Source) -> Iterator[Any]:
        for record in source.records():
            if record.value == 3:
                raise OSError("the tape ended")
            yield case(sex="other") if record.value == 4 else case(1) if record.value else "no case"

    line = read.__code__.co_firstlineno + 4
    for values, told in (
        ([1, 1], "case 2 (ward-1), id: the id 'ward-1' is already used by an earlier case; ids must be unique"),
        ([0], "case 1: expected a Case, found text 'no case'"),
        ([1, 3], f"entry 2: OSError: the tape ended ({Path(__file__).name}, line {line})"),
        ([4], "entry 1, sex: "),
    ):
        (tmp_path / "ward.json").write_text(json.dumps(values), "utf-8")
        (found,) = import_cases("ward", tmp_path / "ward.json").errors
        assert str(found).removeprefix(f"{tmp_path / 'ward.json'}, ").startswith(told)


def test_an_unknown_field_in_what_a_record_is_made_a_case_of_is_named_so_too(tmp_path: Path) -> None:
    def read(source: Source) -> Iterator[Case]:
        for record in source.records():
            if found := record.case("1", {**record.value, "provenance": {"source": "a ward"}}):
                yield found

    importer("ward")(read)
    file = tmp_path / "ward.jsonl"
    file.write_text('{"patient": {"age": 44, "chief_complaint": "Cough"}}\n', "utf-8")
    (problem,) = import_cases("ward", file).errors
    assert problem.field == "patient.age" and problem.message.startswith("unknown field: expected one of age_years, ")
