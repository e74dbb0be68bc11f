"""Read tables of text as spreadsheets write them: the one reader of CSV files, whoever wrote them."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from cases.readable import unpiped, unreadable

TOO_LONG = "has more cells than the heading; quote a text that has the separator in it"  # of a row
_PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0")  # xlsx and zip, gzip, xls
_REMEDY = "in the spreadsheet, save it as 'CSV UTF-8'"
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATORS = ",;\t"
# What Excel reads, and some programs write, before the header.
_DECLARED = re.compile(rf'\s*"?sep=([{_SEPARATORS}|])"?[{_SEPARATORS}]*\r?(?:\n|$)', re.IGNORECASE)


class SheetError(ValueError):
    """A table cannot be read; says why, and how to save it."""


def is_too_long(row: Sequence[str], heading: Sequence[str]) -> bool:
    """Whether a row has a text beyond its heading; empty cells there, as spreadsheets leave, are none."""
    return any(cell.strip() for cell in row[len(heading) :])


def sheet_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a table with the number of the line where each ends; rows without any text are left out.

    Cells are separated by what a first line ``sep=;`` declares, or else by the first comma, semicolon or tab of the
    header. The text is UTF-8, or UTF-16 with its mark or beginning in ASCII: bytes that other encodings share cannot
    be told apart (GBK, Windows-1252), and are refused.

    Raises:
        SheetError: the file cannot be opened, decoded or cut into cells.
    """
    try:
        text = _decoded(unpiped(path).read_bytes())
        declared = _DECLARED.match(text)
        text = text[declared.end() :] if declared else text
        header = _QUOTED.sub("", text.lstrip("\r\n").partition("\n")[0])  # an index may have no name
        separator = declared[1] if declared else next((sign for sign in header if sign in _SEPARATORS), ",")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [(reader.line_num + bool(declared), row) for row in reader if any(map(str.strip, row))]
    except OSError as error:
        raise SheetError(unreadable(error)) from error
    except csv.Error as error:
        raise SheetError(f"cannot be read ({error}); expected a CSV file") from error


def _decoded(data: bytes) -> str:
    if data.startswith(_PACKED):
        raise SheetError(f"is a packed file or a workbook, not a CSV file; {_REMEDY}")
    encoding = "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif data[:2].count(0) == 1:  # a first letter, digit or quotation mark in UTF-16
        encoding = "utf-16-le" if data[1::2].count(0) > data[::2].count(0) else "utf-16-be"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        found = "neither UTF-8 nor UTF-16" if encoding == "utf-8-sig" else "incomplete UTF-16"
        raise SheetError(f"is {found} at line {line} (GBK or Windows-1252, perhaps); {_REMEDY}") from error
