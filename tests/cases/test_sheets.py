"""Tables of text, as spreadsheets and people write them, and every reader of them."""

from pathlib import Path

import pytest

from cases import CaseFileError
from cases.note_files import read_notes
from cases.sheets import SheetError, sheet_rows
from scoring.human_scores import read_human_scores
from scoring.metrics.icd10_terms import TermListError, load_terms
from tests.support.pictures import PNG

ROWS = [["caso", "juicio; nota"], ["一", "3,5"], ["dos", 'dijo: "sí"']]


def written(file: Path, separator: str, encoding: str, before: str = "") -> Path:
    quoted = (separator.join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in ROWS)
    file.write_bytes((before + "\r\n".join(quoted) + "\r\n").encode(encoding))
    return file


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_is_read_in_every_encoding_and_with_every_separator(
    tmp_path: Path, encoding: str, separator: str
) -> None:
    rows = sheet_rows(written(tmp_path / "t.csv", separator, encoding))
    assert rows == list(enumerate(ROWS, 1))


@pytest.mark.parametrize("declared", ["sep=;\r\n", "SEP=;\n", '"sep=;"\n', "sep=;;\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le"])
def test_a_first_line_that_declares_the_separator_is_obeyed_and_counted(
    tmp_path: Path, encoding: str, declared: str
) -> None:
    assert sheet_rows(written(tmp_path / "t.csv", ";", encoding, declared)) == list(enumerate(ROWS, 2))
    (tmp_path / "pipes.csv").write_text("sep=|\ncase|a,b;c\n1|2\n", "utf-8")
    assert sheet_rows(tmp_path / "pipes.csv")[0] == (2, ["case", "a,b;c"])


@pytest.mark.parametrize("empty", ["", ";;", " ; ;"])
def test_rows_of_empty_cells_as_spreadsheets_leave_below_a_table_are_passed_over(tmp_path: Path, empty: str) -> None:
    (tmp_path / "t.csv").write_text(f"case;name;\n1;Cough;\n{empty}\n2;;\n{empty}\n", "utf-8")
    assert sheet_rows(tmp_path / "t.csv") == [(1, ["case", "name", ""]), (2, ["1", "Cough", ""]), (4, ["2", "", ""])]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("case,name\n1,ok\n2,霍乱\n".encode("gbk"), r"neither UTF-8 nor UTF-16 at line 3 .*save it as 'CSV UTF-8'"),
        ("case;edad;año\n1;2;3\n".encode("cp1252"), r"neither UTF-8 nor UTF-16 at line 1"),
        ("case,a\n1,2\n".encode("utf-16-le")[:-1], r"incomplete UTF-16"),
        (b"PK\x03\x04\x14\0\x06\0", r"is a packed file or a workbook"),
        (PNG, r"neither UTF-8 nor UTF-16 at line 1"),
        (b"case,a\n1," + b"x" * 200_000, r"field larger than field limit"),
        (None, r"file not found"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_with_the_remedy_by_every_reader(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "t.csv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SheetError, match=said):
        sheet_rows(file)
    with pytest.raises(CaseFileError, match=said):
        read_notes(file)
    with pytest.raises(TermListError, match=said):
        load_terms(file)
    (problem,) = read_human_scores(file)[1]
    assert problem.message in str(problem) and problem.field == problem.record == ""


def test_lists_of_terms_and_notes_are_read_as_spreadsheets_of_other_countries_write_them(tmp_path: Path) -> None:
    terms = tmp_path / "cie10.csv"
    terms.write_bytes("sep=;\r\ncódigo;nombre\r\nA00.1;Cólera, no especificado\r\n".encode("utf-16-le"))
    found = load_terms(terms).nearest("cólera no especificado")
    assert found and (found.code, found.name) == ("A00.1", "Cólera, no especificado")
    notes = tmp_path / "mts.csv"
    notes.write_bytes("sep=;\nID;section_header;section_text\n7;CC;Tos, 3 días\n8;CC\n".encode("utf-8-sig"))
    with pytest.raises(CaseFileError, match="row 2, section_text: expected the text of a section, found nothing"):
        read_notes(notes)
    notes.write_bytes("sep=;\nID;section_header;section_text\n7;CC;Tos, 3 días\n".encode("utf-8-sig"))
    assert [(note.id, note.text) for note in read_notes(notes)] == [("mts-7", "Chief complaint: Tos, 3 días")]


def test_separators_in_the_first_names_do_not_outvote_that_of_the_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("A00;Cholera, unspecified, due to Vibrio\nA01;Fever\n", "utf-8")
    assert sheet_rows(tmp_path / "t.csv")[1] == (2, ["A01", "Fever"])


def test_an_index_without_a_name_is_a_column(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("\n\tsection_text\n0\tFever\n", "utf-8")
    assert sheet_rows(tmp_path / "t.tsv") == [(2, ["", "section_text"]), (3, ["0", "Fever"])]
    assert [note.text for note in read_notes(tmp_path / "t.tsv")] == ["Fever"]


@pytest.mark.parametrize("text", ["case,name\n1,Fe\0ver\n", "case,name\n1,Fe\0ver!\n"])
def test_a_stray_zero_byte_makes_no_other_encoding_of_a_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text, "utf-8")
    assert sheet_rows(tmp_path / "t.csv")[0] == (1, ["case", "name"])


def test_a_table_without_an_end_is_refused() -> None:
    with pytest.raises(SheetError, match="is a device; give a file"):
        sheet_rows(Path("/dev/zero"))


def test_a_fault_of_the_header_is_told_by_its_line_after_what_declares_the_separator(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sep=;\nname;name\n", "utf-8")
    assert [problem.record for problem in read_human_scores(tmp_path / "t.csv")[1]] == ["line 2", "line 2"]
