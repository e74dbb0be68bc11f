"""Tables as LaTeX, in the layout of the papers (package booktabs)."""

from wardround.tables.table import Shown, Table

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "\n": " ",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


def as_latex(table: Table) -> str:
    """A ``table`` environment that compiles as it stands, given the packages that its first line names."""
    layout = "".join("l" if column.key else "r" for column in table.columns)
    lines = [
        r"% \usepackage{booktabs,graphicx} \usepackage[T1]{fontenc}",
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{escape(table.caption or table.title)}}}",
        rf"\label{{tab:{table.name.replace('_', '-')}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        *_group_lines(table),
        _line([escape(column.title) for column in table.columns]),
        r"\midrule",
        *(_line([_cell(cell) for cell in line]) for line in table.lines),
        r"\bottomrule",
        r"\end{tabular}}",
    ]
    if table.notes:
        lines += [r"\par\smallskip\footnotesize", *(escape(note) for note in table.notes)]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def escape(text: str) -> str:
    """Text without any sign that LaTeX would obey."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text if letter.isprintable() or letter == "\n")


def _group_lines(table: Table) -> list[str]:
    if not any(column.group for column in table.columns):
        return []
    heads, rules, place = [], [], 1
    for title, span in table.groups:
        heads.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(title)}}}" if title else "")
        if title:
            rules.append(rf"\cmidrule(lr){{{place}-{place + span - 1}}}")
        place += span
    return [_line(heads), " ".join(rules)]


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Shown) -> str:
    text = rf"\textbf{{{escape(cell.text)}}}" if cell.best else escape(cell.text)
    spread = rf" $\pm$ {cell.spread}" if cell.spread else ""
    mark = rf"$^{{{cell.mark}}}$" if cell.mark else ""
    return text + spread + mark
