"""Whether a file can be read as text, why not, and whether it has changed since."""

import errno
import os
import re
from pathlib import Path
from unicodedata import normalize

_AS_LINES = "save it as JSON lines, for example by pandas.read_{}(FILE).to_json(OUT, orient='records', lines=True)"
_KINDS = {  # kinds of files that are not UTF-8 text, by their first bytes
    b"\x1f\x8b": "compressed by gzip: unpack it first",
    b"PK\x03\x04": f"a zip archive: unpack it first; an Excel workbook: {_AS_LINES.format('excel')}",
    b"\xd0\xcf\x11\xe0": f"an Excel workbook: {_AS_LINES.format('excel')}",
    b"PAR1": f"Parquet: {_AS_LINES.format('parquet')}",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}

_STRAIGHT = str.maketrans("“”„‘’", '"""\'\'')
_FIRST_OF_INSPECT = b"_journal/"  # what a log of Inspect holds first, after the 30 bytes that begin a zip archive


def kind_of_bytes(content: bytes) -> str | None:
    """Name a kind of file that is not UTF-8 text, with the remedy; None if it is another."""
    if content.startswith(_FIRST_OF_INSPECT, 30):
        return "a log of Inspect: write it as JSON, by inspect log convert FILE --to json --output-dir DIR"
    return next((kind for begins, kind in _KINDS.items() if content.startswith(begins)), None)


def unreadable(error: Exception, expected: str = "") -> str:
    """Say why a file could not be read: ``file not found``, or ``cannot be read (permission denied); expected ...``."""
    if isinstance(error, FileNotFoundError):
        return "file not found"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, UnicodeDecodeError):
        reason = (
            f"not UTF-8 at byte {error.start}: {kind_of_bytes(error.object) or f'{error.reason}; save it as UTF-8'}"
        )
    return f"cannot be read ({reason[:1].lower()}{reason[1:]})" + (f"; expected {expected}" if expected else "")


def wide_sign_in(text: str, error: str) -> str:
    """Say which sign of ASCII to write where a reader of TOML stopped at its full-width or curly form; else nothing."""
    if (place := re.search(r"line (\d+), column (\d+)", error)) is None:
        return ""
    line, column = map(int, place.groups())
    sign = text.split("\n")[line - 1][column - 1 :][:1]
    plain = normalize("NFKC", sign.translate(_STRAIGHT))
    return f"; write {plain} instead of {sign}" if sign and sign != plain and plain.isascii() else ""


def state_of(path: Path) -> tuple[int, int] | None:
    """Return what an edit of a file changes, for caches of what it holds: its time and size; None without a file."""
    seen = path.stat() if path.is_file() else None
    return seen and (seen.st_mtime_ns, seen.st_size)


def unpiped(path: Path) -> Path:
    """Return the path of a file, unless it is a device without an end, such as `/dev/zero`, or a named pipe.

    At a pipe we would wait for ever; ``<(command)`` is none, nor is a terminal a device without an end.

    Raises:
        OSError: it is one.
    """
    terminal = ("/dev/tty", "/dev/pts/", "/dev/console")
    if path.is_block_device() or (
        path.is_char_device() and not os.path.realpath(path).startswith((os.devnull, *terminal))
    ):
        raise OSError(errno.EINVAL, "is a device; give a file", str(path))
    if path.is_fifo() and path.parent.parts[:2] not in (("/", "dev"), ("/", "proc")):
        raise OSError(errno.EINVAL, "is a named pipe; give a file, or <(command)", str(path))
    return path
