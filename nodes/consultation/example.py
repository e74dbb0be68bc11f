"""The example that a doctor is shown before thinking step by step (Med-PMC's one-shot chain of thought).

A text of another patient's consultation, in which ``![what it shows](FILE)`` stands where a picture was handed over.
The picture is enclosed before those of the patient; where none are sent, what it shows stands there in words.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cases.pictures import picture_fault
from cases.vocabulary import Language
from prompts import load_prompt, load_words

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
EXAMPLES = Path(__file__).parent  # where the picture of ours lies
_LONGEST = 100_000  # characters


class Example(NamedTuple):
    """What is shown: the text, and the pictures that it speaks of, in its order."""

    text: str
    pictures: tuple[str, ...] = ()


NO_EXAMPLE = Example("")


class ExampleError(ValueError):
    """An example that cannot be shown: which file, why, and what would mend it."""


@cache
def example_for(file: str, language: Language, send_pictures: bool) -> Example:
    """The example of a file, else ours.

    Args:
        file: a text file of one's own; ours if empty.
        language: of ours, and of the words that stand for a picture.
        send_pictures: whether pictures are enclosed, or told in words.

    Raises:
        ExampleError: the file or one of its pictures cannot be used.
    """
    text = _read(Path(file)) if file else load_prompt("consultation/example", language).render({})[1]
    folder = Path(file).resolve().parent if file else EXAMPLES
    enclosed: list[str] = []

    def shown(match: re.Match[str]) -> str:
        finding, name = match.groups()
        if fault := picture_fault(folder, name):
            raise ExampleError(f"example {file or 'of ours'}: {fault}")
        if not send_pictures:
            return finding
        enclosed.append(str(folder / name))
        return str(load_words("consultation/words", language)["example"]["picture"].format(len(enclosed)))

    return Example(_PICTURE.sub(shown, text), tuple(enclosed))


def _read(file: Path) -> str:
    try:
        text = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ExampleError(f"example {file}: cannot be read ({error}); expected a text file in UTF-8") from error
    if not text or len(text) > _LONGEST:
        raise ExampleError(f"example {file}: has {len(text)} characters; expected a consultation, up to {_LONGEST}")
    return text
