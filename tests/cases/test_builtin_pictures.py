"""The pictures of the built-in cases: each there, a PNG, and small."""

import struct
from importlib.resources import files
from pathlib import Path

import pytest

from cases import load_cases

FOLDER = Path(str(files("cases") / "builtin"))
PICTURES = sorted(FOLDER / image.file for case in load_cases("builtin") for image in case.examinations.images)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_is_a_small_png_that_says_nothing_but_its_scale(path: Path) -> None:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) < 90_000
    assert struct.unpack(">II", content[16:24]) == (384, 384)
    assert b"pHYs" in content and not any(text in content for text in (b"tEXt", b"iTXt", b"zTXt", b"eXIf", b"tIME"))


def test_the_folder_holds_the_pictures_of_the_cases_and_nothing_else() -> None:
    assert sorted((FOLDER / "images").iterdir()) == PICTURES and len(PICTURES) == 21
