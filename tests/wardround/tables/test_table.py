"""One table, three ways to write it down."""

import csv
import io

import pytest

from scoring.metrics.statistics import Estimate
from wardround.tables.csv_file import as_csv
from wardround.tables.latex import as_latex, escape
from wardround.tables.table import Column, Measured, Table
from wardround.tables.terminal import rich_table

MEAN = Estimate(mean=0.5, se=0.1, ci95=(0.3, 0.64), n=8)
TABLE = Table(
    "made_up",
    "Made up",
    [
        Column("run", "Run", key=True),
        Column("stage", "Stage", key=True),
        Column("score", "Score & more", "Group", digits=3, measured=True, tested=True),
        Column("cases", "Cases", "Group"),
    ],
    [
        ["one_a", "x", Measured(MEAN, best=True), 8],
        ["one_a", "y", Measured(MEAN, p=0.004), 8],
        ["two", "y", Measured(Estimate(n=0)), None],
    ],
    notes=["50 % of it"],
    caption="A caption",
)


def test_csv_has_plain_numbers_with_mean_interval_n_and_p_in_columns_of_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(TABLE))))
    assert rows[1] == {
        "run": "one_a", "stage": "y", "score_mean": "0.5", "score_low": "0.3", "score_high": "0.64", "score_n": "8",
        "score_p": "0.004", "cases": "8",
    }  # fmt: skip
    assert rows[2]["score_mean"] == rows[2]["cases"] == "" and rows[2]["score_n"] == "0"


def test_latex_has_the_layout_of_the_papers() -> None:
    text = as_latex(TABLE)
    assert r"\begin{tabular}{llrr}" in text and r"\cmidrule(lr){3-4}" in text and r"\multicolumn{2}{c}{Group}" in text
    assert r"one\_a & x & \textbf{0.500} $\pm$ 0.170 & 8 \\" in text
    assert r" & y & 0.500 $\pm$ 0.170$^{**}$ & 8 \\" in text  # the run is not said again
    assert r"two & y & - & - \\" in text
    assert r"\caption{A caption}" in text and r"\label{tab:made-up}" in text and r"50 \% of it" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")


def test_no_sign_of_a_name_is_obeyed_by_latex() -> None:
    assert escape(r"\input{a}") == r"\textbackslash{}input\{a\}"
    assert escape("a&b%c$d#e_f{g}~^<>|") == (
        r"a\&b\%c\$d\#e\_f\{g\}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"
    )


def test_a_terminal_shows_the_same_cells_and_obeys_no_control_sign() -> None:
    drawn = rich_table(TABLE)
    assert [str(cell) for cell in drawn.columns[2].cells] == ["0.500 ± 0.170", "0.500 ± 0.170**", "-"]
    evil = Table("t", "t", [Column("run", "Run", key=True)], [["\x1b[2J[bold]x"]])
    assert [str(cell) for cell in rich_table(evil).columns[0].cells] == ["[2J[bold]x"]


def test_a_row_with_a_cell_too_few_is_refused() -> None:
    with pytest.raises(ValueError, match="one cell for each"):
        Table("t", "t", [Column("a", "A"), Column("b", "B")], [[1]])
