import json
import os
from pathlib import Path

import pytest

from cases import load_cases, save_cases
from nodes.workflow import case_lookup
from nodes.workflow.case_lookup import UnknownCaseError, case_given, find_case

CASE = load_cases()[0]


def test_a_case_that_is_looked_up_again_is_read_once_until_its_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cases.jsonl"
    save_cases([CASE], file)
    read = []
    monkeypatch.setattr(case_lookup, "load_cases", lambda source: read.append(source) or load_cases(source))
    first = find_case(CASE.id, str(file))
    first.key.diagnosis.append("Changed by a caller")
    assert find_case(CASE.id, str(file)).key.diagnosis == CASE.key.diagnosis and len(read) == 1
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "id": "another"}), "utf-8")
    os.utime(file, ns=(1, 1))
    with pytest.raises(UnknownCaseError, match="its first case is 'another'"):
        find_case(CASE.id, str(file))


async def test_a_case_in_a_language_without_prompts_is_refused_by_its_field() -> None:
    with pytest.raises(UnknownCaseError, match=f"case {CASE.id}: language: there are no prompts in the language 'fr'"):
        await case_given({"case": CASE.model_copy(update={"language": "fr"})}, "builtin")


def test_an_id_of_any_length_is_refused_in_a_short_message() -> None:
    with pytest.raises(UnknownCaseError) as refused:
        find_case("x" * 1_000_000, "builtin")
    assert len(str(refused.value)) < 200
