import json
import os
import pickle
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from cases import CaseFileError, check_cases, json_lines, load_cases, save_cases, validation
from cases.files import each_case
from cases.json_lines import objects_in
from cases.problems import Problem, shortened
from cases.readable import unreadable
from cases.validation import faults, in_a_line, suggestion
from wardround.store.durable_lines import raw_lines


class Bed(BaseModel):
    ward: str
    number: int = 1

    @field_validator("ward")
    @classmethod
    def _known(cls, ward: str) -> str:
        if ward != "3B":
            raise ValueError("there is no such ward")
        return ward


def test_a_sentence_of_ours_stands_alone_and_a_reason_of_a_type_as_it_is() -> None:
    with pytest.raises(ValidationError) as refused:
        Bed.model_validate({"ward": "9", "number": "x"})
    first, second = faults(refused.value)
    assert (first["loc"], first["msg"]) == (("ward",), "there is no such ward")
    assert second["msg"].startswith("Input should be a valid integer")
    assert in_a_line(refused.value).startswith("ward: there is no such ward; number: Input should be")
    assert in_a_line(refused.value, most=1) == "ward: there is no such ward"
    with pytest.raises(ValidationError) as refused:
        Bed.model_validate_json("no JSON")
    assert in_a_line(refused.value, "the line").startswith("the line: Invalid JSON")


class _OfSeveralTypes(BaseModel):
    seats: Literal["plain", "by_case"] | Annotated[list[str], Field(min_length=1)] = "plain"
    warmth: Annotated[float, Field(le=2)] | Literal["default"] = 1.0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"seats": 3}, "seats: Input should be 'plain' or 'by_case' or a valid list"),
        ({"seats": "plane"}, "seats: Input should be 'plain' or 'by_case'; did you mean 'plain'?"),
        ({"seats": []}, "seats: List should have at least 1 item after validation, not 0"),
        ({"seats": ["a", 3]}, "seats.1: Input should be a valid string"),
        ({"warmth": "hot"}, "warmth: Input should be a valid number or 'default'"),
        ({"warmth": 3}, "warmth: Input should be less than or equal to 2"),
    ],
)
def test_what_fits_none_of_several_types_has_one_fault_that_says_what_would(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _OfSeveralTypes.model_validate(given)
    assert in_a_line(refused.value) == told


def test_what_is_asked_of_a_coroutine_suggests_the_missing_await() -> None:
    error = AttributeError("'coroutine' object has no attribute 'text'")
    assert in_a_line(error) == "'coroutine' object has no attribute 'text': is an `await` missing?"
    assert in_a_line(AttributeError("'str' object has no attribute 'text'")).endswith("'text'")
    with pytest.raises(ValidationError) as refused:
        Bed.model_validate(3)
    assert in_a_line(refused.value) == "expected an object"
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(tuple[float, float]).validate_python({"input": 1.0})
    assert in_a_line(refused.value) == "Input should be a valid list", "as whoever writes a file calls it"
    assert in_a_line(KeyError("a\n b")) == "'a\\n b'" and in_a_line(ValueError("a\n b")) == "a b"


def test_an_unknown_field_of_a_case_suggests_the_one_that_was_meant_wherever_it_lies(tmp_path: Path) -> None:
    patient = {"age_years": 40, "sexx": "male", "chief_complaint": "I cough."}
    image = {"item": "X-ray", "fil": "a.png", "file": "b.png"}
    record = {"id": "1", "patient": patient, "examinations": {"images": [image], "results": {}}, "langage": "zh"}
    (tmp_path / "mine.jsonl").write_text(json.dumps({**record, "provenance": {"source": "mine"}}), "utf-8")
    _, problems = check_cases(tmp_path / "mine.jsonl")
    assert [(problem.field, problem.message) for problem in problems if "unknown" in problem.message] == [
        ("patient.sexx", "unknown field: did you mean 'sex'?"),
        ("examinations.images.0.fil", "unknown field: did you mean 'file'?"),
        ("examinations.results", "unknown field: expected one of auxiliary, images, physical, unpictured"),
        ("langage", "unknown field: did you mean 'language'?"),
    ]


def test_of_another_format_no_field_is_told_but_how_to_import_it(tmp_path: Path) -> None:
    record = {"patient_id": 1812, "doctor": "Agent.Doctor.GPT", "patient": "Agent.Patient.GPT", "dialog_history": []}
    (tmp_path / "dialogues.jsonl").write_text(json.dumps(record), "utf-8")
    _, problems = check_cases(tmp_path / "dialogues.jsonl")
    assert not any("unknown field" in problem.message for problem in problems)
    assert "import it first: `wardround cases import FORMAT" in problems[-1].message


@pytest.mark.parametrize("written", ["{}\n", "[{}]", "[\n{}\n]"])
def test_a_key_that_occurs_twice_is_named_as_only_one_of_them_can_be_read(tmp_path: Path, written: str) -> None:
    case = {"id": "1", "patient": {"sex": "male", "chief_complaint": "I cough."}, "provenance": {"source": "mine"}}
    twice = json.dumps(case).replace('"sex": "male"', '"sex": "male", "sex": "female"')
    (tmp_path / "mine.jsonl").write_text(written.replace("{}", twice), "utf-8")
    _, (problem,) = check_cases(tmp_path / "mine.jsonl")
    assert (problem.field, problem.message.partition(",")[0]) == ("sex", "occurs twice in one object")
    with pytest.raises(CaseFileError, match="sex: occurs twice in one object"):
        load_cases(tmp_path / "mine.jsonl")


@pytest.mark.parametrize("language", ["Italian", "IT", "it_IT", "", "en\n"])
def test_a_language_that_is_no_tag_is_told_what_one_looks_like(tmp_path: Path, language: str) -> None:
    case = {"id": "1", "patient": {"chief_complaint": "I cough."}, "provenance": {"source": "mine"}}
    (tmp_path / "mine.jsonl").write_text(json.dumps({**case, "language": language}), "utf-8")
    _, (problem,) = check_cases(tmp_path / "mine.jsonl")
    assert problem.field == "language" and problem.message.startswith("expected the tag of a language, such as en")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_that_holds_the_cases_in_a_field_is_told_to_be_a_list(tmp_path: Path, indent: int | None) -> None:
    case = {"id": "1", "patient": {"chief_complaint": "I cough."}, "provenance": {"source": "mine"}}
    (tmp_path / "mine.json").write_text(json.dumps({"version": [1, {}], "cases": [case, case]}, indent=indent), "utf-8")
    _, (problem,) = check_cases(tmp_path / "mine.json")
    assert problem.field == "cases" and problem.message.startswith("the cases lie in this field; write its list alone")


def test_a_line_that_is_longer_than_any_record_is_not_parsed_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_lines, "LONGEST", 100)
    (file := tmp_path / "cases.jsonl").write_text(f'{{"id": "{"a" * 100}"}}\n', "utf-8")
    _, problems = check_cases(file)
    (told,) = problems
    assert told.message == "line 1 has 110 characters; expected one record, of 100 at most"


def test_an_error_that_many_records_have_is_named_by_the_first_and_counted() -> None:
    errors = [Problem("f", f"line {number}", "id", "is missing") for number in range(1, 507)]
    warnings = [Problem("f", f"line {number}", "age", "is odd", "warning") for number in range(1, 9)]
    told = list(map(str, shortened([*errors, Problem("f", "line 9", "sex", "is odd"), *warnings])))
    assert told[:4] == [*map(str, errors[:3]), "f, and 503 more, id: is missing"]
    assert told[4:] == ["f, line 9, sex: is odd", *map(str, warnings)]  # what is left out is named each


def test_the_error_of_a_case_file_passes_from_one_process_to_another(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError) as raised:
        load_cases(tmp_path / "none.jsonl")
    passed = pickle.loads(pickle.dumps(raised.value))
    assert (str(passed), passed.problems) == (str(raised.value), raised.value.problems)


def test_a_file_that_cannot_be_read_is_told_without_codes_of_the_system() -> None:
    assert unreadable(FileNotFoundError(2, "No such file or directory"), "text") == "file not found"
    refused = PermissionError(13, "Permission denied", "x.txt")
    assert unreadable(refused, "text") == "cannot be read (permission denied); expected text"
    with pytest.raises(UnicodeDecodeError) as cut:
        b"\xff".decode()
    assert unreadable(cut.value) == "cannot be read (not UTF-8 at byte 0: invalid start byte; save it as UTF-8)"
    with pytest.raises(UnicodeDecodeError) as packed:
        b"PK\x03\x04\xff".decode("utf-8")
    assert "at byte 4: a zip archive: unpack it first; an Excel workbook: save it as" in unreadable(packed.value)


def test_a_file_that_is_not_text_to_its_end_is_refused_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(b"{}\n" * 10_000 + b"\xff\n")
    for read in (load_cases, lambda source: list(each_case(source))):
        with pytest.raises(CaseFileError) as refused:
            read(file)
        assert str(refused.value) == (
            f"{file}: cannot be read (not UTF-8 at byte 30000: invalid start byte; save it as UTF-8); "
            "expected UTF-8 JSON lines"
        )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_without_an_end_is_refused_instead_of_read(tmp_path: Path) -> None:
    """A received run that names one as its cases, or links to one, filled the memory of whoever read it."""
    with pytest.raises(CaseFileError, match="is a device; give a file"):
        load_cases("/dev/zero")
    (tmp_path / "results.jsonl").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="is a device; give a file"):
        next(raw_lines(tmp_path / "results.jsonl"))


def test_cases_may_come_through_a_pipe_which_can_be_read_once() -> None:
    """As ``<(command)`` gives them."""
    text = b"".join(case.model_dump_json().encode() + b"\n" for case in load_cases() if not case.examinations.images)
    reads, writes = os.pipe()
    with open(writes, "wb") as end:
        writer = threading.Thread(target=lambda: (end.write(text), end.close()), daemon=True)
        writer.start()
        try:
            found = [case.model_dump_json().encode() for case in load_cases(f"/dev/fd/{reads}")]
        finally:
            os.close(reads)
    assert found == text.split(b"\n")[:-1]


def test_what_types_say_is_read_in_this_place_alone() -> None:
    root = Path(__file__).parents[2]
    rooms = ("cases", "prompts", "llm", "retrieval", "nodes", "scoring", "graphs", "wardround")
    files = {file.relative_to(root): file.read_text("utf-8") for room in rooms for file in (root / room).rglob("*.py")}
    reading = {str(file) for file, text in files.items() if "error.errors(" in text or "Value error" in text}
    assert reading == {"cases/validation.py"}


def test_an_unknown_name_suggests_what_begins_like_it_or_looks_like_it_else_what_the_caller_says() -> None:
    assert suggestion("gou", ["gout-1", "gout-2"]) == "did you mean 'gout-1' or 'gout-2'?"
    assert suggestion("guot-2", ["gout-1", "gout-2"]).startswith("did you mean 'gout-2'")
    assert suggestion("GOUT-2", ["gout-1", "gout-2"]) == "did you mean 'gout-2'?"
    assert "looks the same" in suggestion("fievre\u0300", ["fievr\u00e8"])
    assert suggestion("", ["gout-1"], "there is one") == suggestion("xyz", ["gout-1"], "there is one") == "there is one"


def test_objects_in_a_row_are_read_from_one_text_of_which_no_rest_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    read = json.JSONDecoder.raw_decode
    given: list[str] = []
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", lambda self, s, idx=0: given.append(s) or read(self, s, idx))
    text = ' {"a": 1},\n{"b": \n2}\u2028{} ,'
    assert objects_in(text) == ['{"a": 1}', '{"b": \n2}', "{}"]
    assert all(one is text for one in given) and len(given) == 3
    assert objects_in("{} and more") == objects_in('{"a": 1} {"b"') == objects_in("[]") == []


def test_of_many_faults_only_those_that_are_told_are_put_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(validation, "_message", lambda fault: told.append(fault["msg"]) or fault["msg"])
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(list[int]).validate_python(["x"] * 1_000)
    assert len(in_a_line(refused.value).split("; ")) == len(told) == 8


@pytest.mark.parametrize("given", [load_cases()[0], [{"id": "x"}]], ids=["one case", "a dict"])
def test_what_is_no_list_of_cases_is_not_saved(tmp_path: Path, given: Any) -> None:
    with pytest.raises(TypeError, match=r"cases: expected a list of Case objects, found a (tuple|dict) in it"):
        save_cases(given, tmp_path / "cases.jsonl")
    assert not list(tmp_path.iterdir())
