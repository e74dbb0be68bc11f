"""Ways to damage a run directory."""

import random
from pathlib import Path

DAMAGES = ("flip", "cut", "double", "garbage", "unlink", "folder", "swap", "empty")


def damage(out: Path, kind: str, draw: random.Random) -> None:
    """Damage a random file of a run directory, except the copy of its manifest and its lock."""
    files = sorted(file for file in out.rglob("*") if file.is_file() and file.name not in (".manifest.json", ".lock"))
    if not files:
        return
    file = draw.choice(files)
    content = file.read_bytes()
    place = draw.randrange(len(content)) if content else 0
    if kind in ("unlink", "folder"):
        file.unlink()
        if kind == "folder":
            file.mkdir()
        return
    other = draw.choice(files)
    file.write_bytes(
        {
            "flip": content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :],
            "cut": content[:place],
            "double": content + b"".join(content.splitlines(keepends=True)[:1]),
            "garbage": content[:place] + draw.randbytes(40) + content[place:],
            "swap": other.read_bytes(),
            "empty": b"",
        }[kind]
    )
