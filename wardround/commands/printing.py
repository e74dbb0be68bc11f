"""Text on a terminal: of others, and how many of a thing."""

import logging

import typer


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey."""
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print what may hold words of others."""
    typer.echo(printable(text), err=err, nl=nl)


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


class Plain(logging.Formatter):
    """Writes what libraries and ours log, in which words of others may stand."""

    def format(self, record: logging.LogRecord) -> str:
        """The line as a terminal may have it."""
        return printable(super().format(record))
