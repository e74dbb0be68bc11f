"""The table of models: who spoke, and what their blocks say of them."""

from pathlib import Path

from tests.support.recorded_runs import graded, write_run
from wardround.store.recorded_run import find_runs
from wardround.tables import models
from wardround.tables.making import make_tables


def test_each_model_has_the_roles_that_it_answered_for_and_what_its_card_names(tmp_path: Path) -> None:
    blocks = {
        "mini": {"spec": "openai:MiniCPM@http://127.0.0.1:1/v1", "card": {"maker": "OpenBMB", "size": "8.5B"}},
        "other": {"spec": "openai:other@http://127.0.0.1:1/v1", "card": {"precision": "bf16"}},
    }
    spoken = {"doctor": ["mini"], "patient": ["offline"], "summarizing": ["mini", "other"]}
    write_run(tmp_path / "one", [graded("a", models=spoken)], model=blocks)
    (table,) = models.build_models(find_runs([tmp_path]))
    assert [column.title for column in table.columns] == [
        *("Run", "Model", "Spec", "Maker", "Size", "Precision", "Roles"),
    ]
    rows = [
        [row.get(name) for name in ("model", "spec", "card_maker", "card_precision", "roles")] for row in table.rows
    ]
    assert rows == [
        ["mini", "openai:MiniCPM@http://127.0.0.1:1/v1", "OpenBMB", None, "doctor, summarizing"],
        ["offline", "offline", None, None, "patient"],
        ["other", "openai:other@http://127.0.0.1:1/v1", None, "bf16", "summarizing"],
    ]
    assert not table.notes


def test_without_a_card_the_table_says_where_one_stands_and_without_an_answer_there_is_none(tmp_path: Path) -> None:
    write_run(tmp_path / "one", [graded("a", models={"doctor": ["openai:m"]})])
    (table,) = models.build_models(find_runs([tmp_path / "one"]))
    assert "[model.NAME]" in table.notes[0]
    write_run(tmp_path / "none", [])
    (made,) = make_tables(find_runs([tmp_path / "none"]), ["models"])
    assert made.reason == "no model has answered yet" and not made.tables
