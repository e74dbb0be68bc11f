"""Text of others on a terminal."""


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey."""
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())
