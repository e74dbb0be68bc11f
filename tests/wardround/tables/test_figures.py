"""Figures: the same bytes from the same table, and nothing in a name is obeyed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.support.recorded_runs import PARTS, discussed, graded, write_run
from wardround.store.recorded_run import find_runs
from wardround.tables.aie_simulators import simulators_table
from wardround.tables.drawing import as_png, as_svg, figures_of
from wardround.tables.figures import (
    draw_information,
    draw_learning_curve,
    draw_matrix,
    draw_radar,
    draw_shares,
    draw_simulators,
    draw_win_rates,
)
from wardround.tables.making import make_tables, write_tables
from wardround.tables.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
def test_the_panel_of_a_column_in_which_no_case_was_scored_says_so(tmp_path: Path) -> None:
    scored = dict.fromkeys(PARTS[1:], 2.0)
    assert "unscored" not in drawn(write_run(tmp_path / "all", [graded("a"), graded("b")]), "scores")
    some = write_run(tmp_path / "some", [graded("a", scores=scored), graded("b", scores=scored)])
    assert drawn(some, "scores").count("unscored") == 1


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


def lines(name: str, **values: float | None) -> Table:
    """Return a table of figures by round, in which each run has the same value in each round."""
    parts = ("b_mean", "b_low", "b_high")
    rows: list[dict[str, object]] = [
        {
            "run": run,
            "round": number,
            "block": number,
            "a_mean": 0.5,
            "a_low": 0.4,
            "a_high": 0.6,
            **dict.fromkeys(parts, value),
        }
        for run, value in values.items()
        for number in (1, 2)
    ]
    columns = [Column("run", "Run", key=True), *(Column(each, each.upper(), mean=True) for each in "ab")]
    return Table(name, name, columns, rows, pictures={name: PICTURES[name]})


PICTURES = {"information": draw_information, "learning_curve": draw_learning_curve}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_legend_names_each_run_that_any_panel_shows(name: str, recwarn: pytest.WarningsRecorder) -> None:
    ((_, figure),) = figures_of(lines(name, one=None, two=None))  # nobody has a value in the last panel
    assert [text.get_text() for text in figure.legends[0].texts] == ["one", "two"]
    assert as_svg(figure) and not recwarn.list


@pytest.mark.slow
def test_error_propagation_of_runs_that_have_nothing_right_is_drawn_from_zero(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    for name in ("one", "two"):
        scores = {"referral_level1": 0.0}
        write_run(tmp_path / name, [graded("a", scores=scores)], graph="clinical_workflow")
    (made,) = make_tables(find_runs([tmp_path]), ["error_propagation"])
    ((_, figure),) = figures_of(made.tables[0])
    left, right = figure.axes
    assert left.get_ylim()[0] == 0 and [tick for tick in left.get_yticks() if tick % 1] == []
    assert right.get_xlim() == (-0.5, 4.5) and len(figure.legends[0].texts) == 2
    assert as_svg(figure) and not recwarn.list


@pytest.mark.slow
def test_long_and_chinese_names_leave_room_and_warn_of_nothing(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    for name in ("W" * 200, "基线" * 30, "tab\there"):
        write_run(tmp_path / name, [discussed("a", 1)])
    made = make_tables(find_runs([tmp_path]), ["scores", "consensus"])
    for one in made:
        ((_, figure),) = figures_of(one.tables[0])
        svg = as_svg(figure)
        assert "基线" * 30 in svg and as_png(figure) and figure.axes[0].get_position().width * figure.get_figwidth() > 1
    assert not recwarn.list


@pytest.mark.slow
def test_legend_and_note_of_rules_do_not_cover_each_other_and_the_note_is_not_cut_off() -> None:
    table = replace(lines("information", one=0.1, two=0.2), by_rules=["Answered by offline rules: memory_bank."] * 12)
    table = replace(table, pictures={"information": draw_information, "simulators": draw_by_simulator})
    for _, figure in figures_of(table):
        as_svg(figure)
        note, legend = (each.get_window_extent() for each in (figure._supxlabel, figure.legends[0]))  # type: ignore[attr-defined]
        assert not note.overlaps(legend)
        assert note.x0 >= 0 and note.x1 <= figure.bbox.width and note.y0 >= 0


def draw_by_simulator(table: Table) -> "Figure":
    rows = [{**row, "simulator": row["run"]} for row in table.rows]
    return draw_simulators(replace(table, rows=rows))


def test_percentages_of_simulators_are_drawn_on_one_scale_and_the_unit_of_lengths_is_told() -> None:
    ((_, figure),) = figures_of(simulators_table({}, "sound", beside=True))
    scales = {panel.get_title(loc="left"): panel.get_ylim() for panel in figure.axes}
    length = scales.pop("Length")
    assert {*scales.values()} == {(0, 100)} and length[1] < 100
    assert "words; in Chinese, characters" in as_svg(figure)


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


@pytest.mark.parametrize("draw", [draw_win_rates, draw_radar])
def test_a_legend_above_has_as_many_columns_as_there_is_room_for_and_every_doctor(
    draw: Callable[[Table], "Figure"],
) -> None:
    names = ["Qwen2.5-72B-Instruct", "Llama-3.3-70B-Instruct", "gpt-4o-2024-11-20", "claude-sonnet-4-5", "MedGemma-27B"]
    columns = [Column("run", "Run", key=True), Column("judged", "By", key=True)]
    columns += [Column(name, name.upper(), mean=True) for name in "abc"]
    row = {f"{name}_{part}": 50.0 for name in "abc" for part in ("mean", "low", "high")}
    rows: list[dict[str, Any]] = [{"run": name, "judged": "people", **row} for name in names]
    rows[2] |= {f"a_{part}": None for part in ("mean", "low", "high")}
    ((_, figure),) = figures_of(Table("t", "T", columns, rows, pictures={"t": draw}))
    as_svg(figure)
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width
    assert [text.get_text() for text in legend.texts] == names


def test_each_of_nine_doctors_looks_different_in_a_radar() -> None:
    columns = [Column("run", "Run", key=True), Column("judged", "By", key=True), Column("a", "A", mean=True)]
    rows = [{"run": f"doctor {number}", "judged": "people", "a_mean": 50.0} for number in range(9)]
    lines = draw_radar(Table("t", "T", columns, rows)).axes[0].lines
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == 9
