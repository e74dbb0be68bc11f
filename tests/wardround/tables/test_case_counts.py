"""How cases are distributed: everything is counted once a case, and the command writes what it prints."""

from pathlib import Path

import pytest

from cases import load_cases
from tests.support.commands import wardround
from wardround.tables.medchain import CASE_KINDS, case_counts

CASES = load_cases()


def test_each_case_counts_once_for_a_name_and_both_levels_items_classes_and_treatments_are_there() -> None:
    table = case_counts([*CASES, CASES[0].model_copy(update={"key": type(CASES[0].key)()})])
    rows = table.frame
    assert list(dict.fromkeys(rows["kind"])) == list(CASE_KINDS)
    departments = rows[rows["kind"] == "Department"]
    assert departments["cases"].sum() == len(CASES) + 1 and "not recorded" in set(departments["name"])
    second = rows[rows["kind"] == "Second level"]
    assert set(second["name"]) == {"not recorded", *(name for case in CASES for name in case.key.sub_departments)}
    physical = rows[(rows["kind"] == "Physical examination") & (rows["name"] == "Chest Examination")]
    counted = sum("Chest Examination" in case.key.examination_items for case in CASES)
    assert physical["cases"].tolist() == [counted]
    assert physical["share"].tolist() == [100 * counted / (len(CASES) + 1)]


@pytest.mark.slow
def test_the_command_writes_table_and_figure_and_says_where_it_cannot(tmp_path: Path) -> None:
    done = wardround("cases", "check", "builtin", "-o", tmp_path / "counts")
    assert done.exit_code == 0 and "How 144 cases are distributed" in done.stdout
    assert {file.suffix for file in (tmp_path / "counts").iterdir()} == {".csv", ".tex", ".svg", ".png"}
    (tmp_path / "file").touch()
    refused = wardround("cases", "check", "builtin", "-o", tmp_path / "file")
    assert (
        refused.exit_code == 2
        and f"{tmp_path / 'file'}: file exists where a folder is needed; name another" in refused.stderr
    )
