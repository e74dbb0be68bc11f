"""Figures: the same bytes from the same table, and nothing in a name is obeyed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.recorded_runs import discussed, write_run
from wardround.store.recorded_run import find_runs
from wardround.tables.figures import as_png, as_svg, draw_matrix, draw_shares, figures_of
from wardround.tables.making import make_tables, write_tables
from wardround.tables.table import Column, Table


def drawn(path: Path, name: str) -> str:
    (made,) = make_tables(find_runs([path]), [name])
    ((_, figure),) = [each for table in made.tables for each in figures_of(table)]
    assert as_png(figure).startswith(b"\x89PNG")
    return as_svg(figure)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "consensus"])
def test_the_same_table_gives_the_same_svg_without_a_date(tmp_path: Path, name: str) -> None:
    path = write_run(tmp_path / "run", [discussed("a", 1), discussed("b", 3)])
    first = drawn(path, name)
    assert first == drawn(path, name) and "dc:date" not in first
    ElementTree.fromstring(first)


@pytest.mark.slow
def test_the_name_of_a_run_is_text_in_a_figure(tmp_path: Path) -> None:
    path = write_run(tmp_path / "<script>alert(1)<", [discussed("a", 1)])
    svg = drawn(path, "consensus")
    assert "<script" not in svg and "&lt;script&gt;" in svg


@pytest.mark.slow
def test_tables_are_written_as_csv_latex_and_figures(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [discussed("a", 1)])
    made = make_tables(find_runs([path]), ["scores", "ends", "error_propagation"])
    write_tables([table for one in made for table in one.tables], tmp_path / "out")
    written = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert written == ["ends.csv", "ends.tex", "scores.csv", "scores.png", "scores.svg", "scores.tex"]


@pytest.mark.slow
def test_a_figure_of_runs_that_rules_played_says_so(tmp_path: Path) -> None:
    path = write_run(tmp_path / "$run$", [discussed("a", 1, models={"intern": ["offline"]})])
    svg = " ".join(drawn(path, "consensus").split())
    assert "Answered by offline rules, not by a model: intern." in svg


def test_shares_are_drawn_from_none_to_all_and_correlations_from_opposite_to_same() -> None:
    table = Table(
        "aie-figure-3c-x",
        "Tracked",
        (
            Column(
                "action",
                "",
            ),
            Column("A-B", "A-B"),
        ),
        ({"action": "A-B", "A-B": 0.5},),
    )
    scales = [draw(table).axes[0].images[0].get_clim() for draw in (draw_shares, draw_matrix)]
    assert scales == [(0, 1), (-1, 1)]
