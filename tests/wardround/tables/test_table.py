"""One table, three ways to write it down."""

import csv
import io
import re
from dataclasses import replace
from typing import Any

import pytest

from scoring.metrics.statistics import Estimate, estimate
from tests.support.hostile import FORMULAS, LATEX, TERMINAL, obeyed
from wardround.report.pages import environment
from wardround.tables.latex import as_latex, escape
from wardround.tables.table import P_VALUE, Column, Table, as_markdown, measured, of_numbers
from wardround.tables.terminal import print_rows, print_table

MEAN = Estimate(mean=0.5, se=0.1, ci95=(0.3, 0.64), n=8)
LOW = Estimate(mean=0.25, n=1)


def row(run: str, stage: str, score: Estimate, p: float | None = None, cases: int | None = 8) -> dict[str, Any]:
    return {"run": run, "stage": stage, **measured({"score": score}, p={"score": p}), "cases": cases}


TABLE = Table(
    "made_up",
    "Made up",
    [
        Column("run", "Run", key=True),
        Column("stage", "Stage", key=True),
        Column("score", "Score & more", "Group", ".3f", mean=True, ranked=True),
        Column("cases", "Cases", "Group"),
    ],
    [
        row("one_a", "x", MEAN),
        row("one_a", "y", LOW, p=0.004),
        row("two", "y", Estimate(n=0), cases=None),
    ],
    notes=["50 % of it"],
    caption="A caption",
)


def test_csv_has_plain_numbers_with_mean_interval_n_and_p_in_columns_of_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(TABLE.csv)))
    assert rows[1] == {
        "run": "one_a", "stage": "y", "score_mean": "0.25", "score_low": "", "score_high": "", "score_n": "1",
        "score_p": "0.004", "cases": "8",
    }  # fmt: skip
    assert (rows[0]["score_low"], rows[0]["score_high"], rows[0]["score_p"]) == ("0.3", "0.64", "")
    assert rows[2]["score_mean"] == rows[2]["cases"] == "" and rows[2]["score_n"] == "0"


def test_intervals_of_too_few_cases_are_named_below_the_table_and_not_in_csv() -> None:
    rare = [(value, case) for case in "abcd" for value in (0.2 * ord(case), 0.2)]  # eight values, of four cases
    few = estimate((value for value, _ in rare), (case for _, case in rare))
    enough = estimate([0.1, 0.2, 0.4, 0.8, 0.9])
    columns = [Column("few", "Rare", "Group", mean=True), Column("enough", "Frequent", mean=True)]
    table = Table("t", "t", columns, [measured({"few": few, "enough": enough})])
    assert table.footnotes[1:] == ["Rare (Group): with fewer than 5 cases, the 95 % interval is too narrow."]
    assert table.csv.splitlines()[0] == "few_mean,few_low,few_high,few_n,enough_mean,enough_low,enough_high,enough_n"
    ends = replace(table, columns=[Column("few_low", "From"), Column("few_high", "To")])
    assert ends.footnotes == ["With fewer than 5 cases, the 95 % interval is too narrow."]
    assert replace(table, columns=columns[1:]).footnotes[1:] == [], "not shown"
    right = estimate([0.0, 1.0, 1.0], ends=(0.0, 1.0))
    assert replace(table, rows=[measured({"few": right, "enough": enough})]).footnotes[1:] == [], (
        "Wilson's is wide enough"
    )


def test_what_rounds_to_zero_has_no_minus_sign() -> None:
    found = Estimate(mean=-0.001, ci95=(-0.004, 0.3), n=8)
    columns = [Column("slope", "Slope"), Column("gain", "Gain", form="+.2f", mean=True)]
    table = Table("t", "t", columns, [{"slope": -0.0004, **measured({"gain": found})}])
    assert [(cell.text, cell.spread) for cell in table.lines[0]] == [("0.00", ""), ("+0.00", "[+0.00, +0.30]")]


def marked(bounds: dict[int, int], *means: float | None) -> str:
    """Return a letter for each row: b if it is marked as best, s as second."""
    rows = [measured({"score": Estimate(mean=mean, n=mean is not None)}) for mean in means]
    columns = [Column("score", "Score", mean=True, ranked=True)]
    table = Table("t", "t", columns, rows, beside=[*bounds.values()], bounds=bounds)
    return "".join("b" if cell.best else "s" if cell.second else "." for (cell,) in table.lines)


def test_a_very_small_p_is_not_shown_as_0() -> None:
    table = Table("t", "T", [Column("p", "p", form=P_VALUE)], [{"p": 0.0001}, {"p": 0.0006}, {"p": 1.0}, {"p": None}])
    assert [line[0].text for line in table.lines] == ["<0.001", "0.001", "1.000", "-"]


def test_the_best_row_is_marked_only_if_it_is_best_with_failed_cases_as_wrong_too() -> None:
    assert marked({}, 0.9, 0.4, 0.3) == "bs."
    assert marked({0: 1}, 0.9, 0.8, 0.4, 0.3) == "b.s."  # the second row bounds the first
    assert marked({0: 1}, 0.9, 0.1, 0.4, 0.3) == "...."  # it owes its rank to the cases that failed
    assert marked({0: 1}, 0.9, None, 0.4, 0.3) == "b.s."  # a column without a bound
    assert marked({0: 1}, None, 0.0, 0.4, 0.3) == "..b."  # all cases of the first row failed
    assert marked({0: 1, 2: 3}, None, 0.0, None, 0.0) == "...."  # all of both


def test_latex_has_the_layout_of_the_papers() -> None:
    text = as_latex(TABLE)
    assert r"\begin{tabular}{llrr}" in text and r"\cmidrule(lr){3-4}" in text and r"\multicolumn{2}{c}{Group}" in text
    assert r"one\_a & x & \textbf{0.500} {[}0.300, 0.640] & 8 \\" in text
    assert r" & y & 0.250$^{**}$ & 8 \\" in text  # the run is not said again
    assert r"two & y & - & - \\" in text
    assert r"\caption{A caption}" in text and r"\label{tab:made-up}" in text and r"50 \% of it" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")


def test_latex_names_the_package_that_chinese_names_of_runs_need() -> None:
    chinese = as_latex(replace(TABLE, rows=[row("对照组", "x", MEAN)])).splitlines()[0]
    assert "{ctex}" in chinese and "fontenc" not in chinese
    assert "ctex" not in as_latex(TABLE) and "fontenc" in as_latex(TABLE).splitlines()[0]


def test_latex_breaks_a_table_that_fits_on_no_page() -> None:
    text = as_latex(replace(TABLE, rows=[row(f"run {number}", "x", MEAN) for number in range(60)]))
    assert r"\begin{longtable}{llrr}" in text and r"\begin{table}" not in text and "resizebox" not in text
    assert text.count("{c}{Group}") == text.count(r"\cmidrule(lr){3-4}") == 2, "on the first page and on each other"
    assert r"\caption{A caption} \label{tab:made-up}" in text and r"50 \% of it" in text and "run 59" in text


def test_a_table_with_intervals_says_how_they_are_written_and_one_without_does_not() -> None:
    assert TABLE.footnotes[0].startswith("±: half-width of the 95 % interval") and TABLE.footnotes[1:] == TABLE.notes
    assert replace(TABLE, rows=TABLE.rows[1:]).footnotes == TABLE.notes


def test_latex_prints_options_minus_signs_and_commands_as_they_are() -> None:
    assert escape("--set, ---, a-b, ICD-10, 1-2") == "-{}-set, -{}-{}-, a-b, ICD-10, 1-2"
    assert escape("[-0.31, +0.20], -.5 and -4") == "{[}$-$0.31, +0.20], $-$.5 and $-$4"
    assert r"\texttt{thoughts}" in as_latex(replace(TABLE, notes=["Set `thoughts` in the file."]))


def test_latex_leaves_out_what_the_person_at_the_terminal_could_type_next() -> None:
    notes = [
        "Ours: ROUGE-1; for another, use `wardround score medpmc RUN --recall X`.",
        "Run `wardround floors /home/me/run` to add the baseline.",
        "3 cases are left out: no list is included; `--set data.terms=FILE` names one.",
    ]
    text = as_latex(replace(TABLE, notes=notes))
    assert "Ours: ROUGE-1.\n3 cases are left out: no list is included.\n" in text and "wardround" not in text


def test_a_label_in_latex_has_only_signs_that_a_label_may_have() -> None:
    assert r"\label{tab:personas-a-50-x}" in as_latex(replace(TABLE, name="personas-a=50%~x"))


def test_white_space_of_any_kind_keeps_words_apart_in_latex() -> None:
    assert escape("one\ttwo\nthree\u00a0four\u3000five\u2009six") == "one two three four five six"
    assert escape("zero\u200bwidth\x07") == "zerowidth"


def test_no_sign_of_a_name_is_obeyed_by_latex() -> None:
    assert escape(r"\input{a}") == r"\textbackslash{}input\{a\}"
    assert escape("a&b%c$d#e_f{g}~^<>|") == (
        r"a\&b\%c\$d\#e\_f\{g\}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"
    )


def test_a_terminal_shows_the_same_cells_and_obeys_no_control_sign(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(TABLE)
    shown = capsys.readouterr().out
    assert all(cell in shown for cell in ("0.500 [0.300, 0.640]", "0.250**", " - "))
    print_table(Table("t", "t", [Column("run", "Run", key=True)], [{"run": "\x1b[2J[bold]x"}]))
    assert "│ [2J[bold]x │" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["0.5", "-", ""], True),
        (["+0.10", "[0.1, 0.2]", "<0.001"], True),
        (["unscored", "0.320", "12 %"], True),
        ([], True),
        (["surgery-01", "openai:gpt-4o"], False),
        (["2nd opinion", "committee", "-"], True),  # what begins as numbers do is taken for one where it is half of all
        (["-", "the key has none"], False),
    ],
)
def test_a_column_is_of_numbers_where_most_of_what_it_says_begins_as_numbers_do(
    cells: list[str], numbers: bool
) -> None:
    assert of_numbers(cells) is numbers


def test_text_stands_left_and_numbers_right_wherever_a_table_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column("run", "Run", key=True), Column("why", "Reason"), Column("cases", "Cases")]
    rows = [{"run": "a", "why": "no answer in time", "cases": 12}, {"run": "b", "why": "none", "cases": 3}]
    table = Table("t", "t", columns, rows)
    print_table(table)
    assert "│ b   │ none              │     3 │" in capsys.readouterr().out
    assert r"\begin{tabular}{llr}" in as_latex(table)
    page = environment().from_string('{% from "tables.html.jinja" import draw %}{{ draw(table) }}').render(table=table)
    assert '<td class="key">none</td><td>3</td>' in page.replace("\n", "")
    assert "| --- | --- | ---: |" in as_markdown(["Run", "Reason", "Cases"], [["a", "none", "3"]])


def test_a_title_over_several_columns_makes_none_of_them_wide(capsys: pytest.CaptureFixture[str]) -> None:
    group = "Rank correlation with length"
    columns = [Column("run", "Run", key=True), Column("rho", "rho", group), Column("p", "p", group)]
    print_table(Table("t", "t", columns, [{"run": "a", "rho": 0.5, "p": 0.25}]))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split("┃")[2].strip() == "Rank" and max(map(len, lines)) < 50


def test_a_table_of_13_columns_is_folded_where_a_terminal_is_narrower_and_no_number_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headings = ["metric", *(f"COVERAGE OF {place}" for place in range(12))]
    rows = [[f"metric number {row}", *(f"-0.{place:02} to {row}" for place in range(12))] for row in range(2)]
    monkeypatch.delenv("COLUMNS", raising=False)
    print_rows("Made up", headings, rows)
    assert len(capsys.readouterr().out.splitlines()) == 7  # away from a terminal a row is one line
    monkeypatch.setenv("COLUMNS", "80")
    print_rows("Made up", headings, rows)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert all(cell in shown for row in rows for cell in row) and "…" not in shown
    parts = shown.count("metric number 1")
    assert parts == shown.count("further columns") + 1 > 1


def test_a_long_text_is_broken_before_columns_are_parted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_rows("t", ["item", "doctor", "n"], [["a", "Since when have you had this pain? " * 5, "3"]])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80 and shown.count("item") == 1 and " 3 │" in shown


def test_a_long_chinese_text_which_has_no_spaces_is_broken_and_not_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    said = "今晨同学发现他呼吸深快，口中有烂苹果味，精神差、答话慢，于是由室友搀扶来院就诊。" * 2
    print_rows("t", ["item", "patient", "n"], [["a", said, "3"]])
    assert said in "".join(re.findall("[\u4e00-\u9fff，、。]", capsys.readouterr().out))


@pytest.mark.parametrize(
    ("found", "form", "shown"),
    [
        (Estimate(mean=1.0, ci95=(0.884, 1.0), n=29), ".3f", "1.000 [0.884, 1.000]"),
        (Estimate(mean=0.5, ci95=(0.4, 0.6), n=8), ".3f", "0.500 ± 0.100"),
        (Estimate(mean=0.1, ci95=(-0.1, 0.3), n=8), "+.2f", "+0.10 ± 0.20"),
        (Estimate(mean=0.3, ci95=(0.1 + 0.2, 0.1 + 0.2), n=8), ".2f", "0.30 ± 0.00"),  # beside the mean by rounding
        (Estimate(mean=0.1, ci95=(-0.1, 0.2), n=8), "+.2f", "+0.10 [-0.10, +0.20]"),
    ],
)
def test_an_interval_is_half_its_width_only_where_it_reaches_as_far_to_both_sides(
    found: Estimate, form: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("t", "t", [Column("score", "Score", form=form, mean=True)], [measured({"score": found})])
    print_table(table)
    assert f"│ {shown} │" in capsys.readouterr().out
    assert escape(shown) in as_latex(table)


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_and_no_heading_of_a_csv_file_is_a_formula_to_a_spreadsheet(formula: str) -> None:
    table = Table("t", "t", [Column("run", "Run", key=True)], [{"run": formula, formula: formula, "mean": -0.5}])
    heads, cells = csv.reader(io.StringIO(table.csv))
    assert heads == ["run", f"'{formula}", "mean"]
    assert cells == [f"'{formula}", f"'{formula}", "-0.5"]  # a number stays a number


@pytest.mark.parametrize("words", LATEX)
def test_a_cell_is_text_to_latex_also_where_a_row_begins_with_it(words: str) -> None:
    table = Table("t", "t", [Column("run", "Run", key=True)], [{"run": words}, {"run": f"{words} again"}])
    body = as_latex(table).split(r"\midrule")[1].split(r"\bottomrule")[0]
    rows = [row for row in body.split("\\\\\n") if row.strip()]
    assert len(rows) == 2
    assert not any(row.lstrip().startswith(("[", "*")) for row in rows)
    assert set(re.findall(r"\\[A-Za-z]+", body)) <= {r"\textbackslash", r"\textasciicircum"}


@pytest.mark.parametrize("words", TERMINAL)
def test_no_part_of_a_table_is_obeyed_by_a_terminal(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table("t", words, [Column("run", words, words, key=True)], [{"run": words}], [words]))
    shown = capsys.readouterr().out
    assert obeyed(shown) == []
    if "[bold" in words:
        assert words in shown  # and no markup either


def test_the_name_of_a_run_is_text_wherever_latex_shows_it() -> None:
    evil = r"\input{a}%_&"
    table = Table("t", evil, [Column("n", evil, evil)], [{"n": evil}], [evil])
    assert as_latex(table).count(r"\textbackslash{}input\{a\}\%\_\&") == 5 and evil not in as_latex(table)
