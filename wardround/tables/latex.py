"""Tables as LaTeX, in the layout of the papers (package booktabs)."""

import re

import pandas as pd

from cases.text.words import HAN
from wardround.tables.table import Shown, Table

_ESCAPED = str.maketrans({
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "[": "{[}",  # at the start of a row, LaTeX would take it for an option of the previous row's end
    "*": "{*}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
})  # fmt: skip

_LIGATURE = re.compile("-(?=-)")  # LaTeX would print two hyphens as a dash
_MINUS = re.compile(r"(?<![\w.)-])-(?=\.?\d)")  # of a negative number, which LaTeX would print as a hyphen
_CODE = re.compile("`([^`]*)`")
_ADVICE = re.compile(r"`(wardround |--|\[)")  # what to type next, which is not for a reader of the paper
_NOT_IN_LABELS = re.compile(r"[^\w.:]+", re.ASCII)

_LONGEST = 40  # rows of a float, which has to fit on one page
_HEAD = re.compile(r"(\\toprule\n.*\n)")  # with the line of the group titles

_LATIN = r"\usepackage[T1]{fontenc}"
_CHINESE = r"\usepackage[scheme=plain]{ctex} % XeLaTeX or LuaLaTeX"  # the plain scheme leaves `Table 1` in English

# What pandas' own environments lack: a width that fits the page, and the notes.
_LAYOUT = r"""% \usepackage{{booktabs,graphicx}} {fonts}
\begin{{table}}[t]
\centering
\caption{{{caption}}}
\label{{tab:{label}}}
\resizebox{{\ifdim\width>\linewidth\linewidth\else\width\fi}}{{!}}{{%
{body}}}
{notes}\end{{table}}
"""
_LONG_LAYOUT = r"""% \usepackage{{booktabs,longtable}} {fonts}
{{\footnotesize
{body}
{notes}}}
"""


def as_latex(table: Table) -> str:
    """Return a ``table`` environment that compiles as it is, given the packages in its first line.

    A table that fits on no page is a ``longtable``, which goes on on the next; its width is that of its columns.
    """
    heads = [(escape(column.group), escape(column.title)) for column in table.columns]
    grouped = any(group for group, _ in heads)
    cells = pd.DataFrame([[_cell(cell) for cell in line] for line in table.lines])
    cells.columns = pd.MultiIndex.from_tuples(heads) if grouped else pd.Index([title for _, title in heads])
    caption, label = escape(table.caption or table.title), _NOT_IN_LABELS.sub("-", table.name).replace("_", "-")
    long = len(table.rows) > _LONGEST
    body = cells.style.hide(axis="index").to_latex(
        hrules=True,
        multicol_align="c",
        column_format="".join("l" if left else "r" for left in table.left),
        environment="longtable" if long else None,
        caption=caption if long else None,
        label=f"tab:{label}" if long else None,
    )
    if grouped:
        body = _HEAD.sub(lambda head: f"{head[0]}{_rules(table)}\n", body)
    notes = [_CODE.sub(r"\\texttt{\1}", escape(note)) for note in map(_without_advice, table.footnotes) if note]
    return (_LONG_LAYOUT if long else _LAYOUT).format(
        fonts=_CHINESE if re.search(f"[{HAN}]", f"{caption}{body}{notes}") else _LATIN,
        caption=caption,
        label=label,
        body=body.rstrip(),
        notes="\n".join([r"\par\smallskip\footnotesize", *notes, ""]) if notes else "",
    )


def _without_advice(note: str) -> str:
    """Leave out the sentences, or what follows a semicolon, that tell the person at the terminal what to type."""
    parts = [part for part in re.split("(?<=[.;]) ", note) if not _ADVICE.search(part)]
    return re.sub(";$", ".", " ".join(parts))


def escape(text: str) -> str:
    """Escape every character that is special in LaTeX; any white space becomes a blank."""
    spaced = (" " if letter.isspace() else letter for letter in text)
    printed = "".join(filter(str.isprintable, spaced)).translate(_ESCAPED)
    return _LIGATURE.sub("-{}", _MINUS.sub("$-$", printed))


def _rules(table: Table) -> str:
    """Return the lines under group titles, which pandas does not draw."""
    rules, last = [], 0
    for title, span in table.groups:
        first, last = last + 1, last + span
        if title:
            rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
    return " ".join(rules)


def _cell(cell: Shown) -> str:
    text = escape(cell.text)
    if cell.best or cell.second:
        text = rf"\{'textbf' if cell.best else 'underline'}{{{text}}}"
    spread = f" {escape(cell.spread)}" if cell.spread else ""
    mark = rf"$^{{{cell.mark}}}$" if cell.mark else ""
    return text + spread + mark
