"""Print text on a terminal and in Markdown safely, counts and lists in words, and reasons of failures."""

import logging
from collections.abc import Sequence

import typer


def printable(text: str) -> str:
    """Remove control characters, which a terminal would obey.

    Half a surrogate pair stands for a byte of a file name in another encoding; as an escape, it is still seen.
    """
    kept = (each for each in text if each in "\n\t" or each.isprintable() or "\ud800" <= each <= "\udfff")
    return "".join(kept).encode("utf-8", "backslashreplace").decode()


def printable_line(text: str) -> str:
    """Return a text without line ends and control characters: an id that holds some is no further line of ours."""
    return printable(" ".join(text.split()))


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*[]<>|#&~!"})


def in_markdown(text: str) -> str:
    """Return a text as Markdown shows it word for word, on one line: no link, picture, heading, cell or tag."""
    return printable_line(text).translate(_MARKS)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text that may come from cases, models or plug-ins."""
    typer.echo(printable(text), err=err, nl=nl)


def counted(number: int, thing: str) -> str:
    """Return a number with its noun, and with separators of thousands."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def first_of(names: Sequence[str]) -> str:
    """List the first five names, with an ellipsis if there are more."""
    return ", ".join([*names[:5], *["..."] * (len(names) > 5)])


def reason(error: Exception) -> str:
    """Return why a file cannot be used, without an error number and the file's name; of other errors, their text."""
    if isinstance(error, FileNotFoundError):
        return "file or folder not found"
    if isinstance(error, FileExistsError):
        return "file exists where a folder is needed; name another"
    if isinstance(error, NotADirectoryError):
        return "a part of this path is a file and no folder; name another"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text (at byte {error.start})"
    text = error.strerror if isinstance(error, OSError) else None
    return f"{text[0].lower()}{text[1:]}" if text else str(error)


class Plain(logging.Formatter):
    """Formats log messages, which may contain foreign text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message without control characters and keys."""
        from llm.masking import masked

        return printable(masked(super().format(record)))
