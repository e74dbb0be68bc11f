"""The picture in `docs/architecture.md` is drawn from the imports.

After a change of rooms or of who imports whom, ``python -m tests.docs.test_architecture_page`` draws it anew.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_architecture import FILES, FLOOR, FLOORS, ROOT, imports

PAGE = ROOT / "docs" / "architecture.md"
PICTURE = re.compile(r"(?<=```mermaid\n).*?(?=\n```)", re.DOTALL)


def picture() -> str:
    """The rooms on their floors, with what is in them, and an arrow from each room to each that it imports."""
    return "\n".join(["graph TD", *rooms(), *arrows()])


def rooms() -> Iterator[str]:
    for height, floor in reversed(list(enumerate(FLOORS))):
        yield f'    subgraph floor{height} [" "]'
        for room in floor:
            inner = sorted({file.relative_to(ROOT).parts[1] for file in folders(room)})
            yield f'        {room}["<b>{room}/</b><br>{" · ".join(inner)}"]'
        yield "    end"


def folders(room: str) -> set[Path]:
    """The folders of a room that hold code."""
    return {path.parent for path in FILES.values() if path.parent.is_relative_to(ROOT / room)} - {ROOT / room}


def arrows() -> Iterator[str]:
    for room in reversed(FLOOR):
        seen = {
            name.split(".")[0] for module, names in imports().items() if module.split(".")[0] == room for name in names
        }
        yield from (f"    {room} --> {other}" for other in reversed(FLOOR) if other in seen - {room})


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_what_the_imports_say() -> None:
    assert PICTURE.findall(PAGE.read_text("utf-8")) == [picture()]


if __name__ == "__main__":
    PAGE.write_text(PICTURE.sub(lambda _: picture(), PAGE.read_text("utf-8")), "utf-8")
