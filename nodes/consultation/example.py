"""The example consultation for a doctor who thinks step by step (Med-PMC's one-shot chain of thought).

It is the text of another patient's consultation, with ``![finding](FILE)`` where a picture was handed over. The picture
is sent before those of the patient; if no pictures are sent, the finding takes its place in the text.
"""

import re
from pathlib import Path
from typing import NamedTuple

from cases.pictures import picture_fault
from cases.readable import state_of, unpiped, unreadable
from cases.vocabulary import Language
from prompts import cached_with_prompts, load_prompt, load_words

_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
EXAMPLES = Path(__file__).parent  # the folder of the built-in example's picture
_LONGEST = 100_000  # characters


class Example(NamedTuple):
    """An example: the text, and the pictures that it mentions, in order."""

    text: str
    pictures: tuple[str, ...] = ()


NO_EXAMPLE = Example("")


class ExampleError(ValueError):
    """The example cannot be used; the message names the file, the reason and the remedy."""


def example_for(file: str, language: Language, send_pictures: bool, examined: bool = False) -> Example:
    """Return the example of a file, else the built-in one.

    Args:
        file: the user's text file; the built-in example if empty.
        language: of the built-in example, and of the reference to a picture.
        send_pictures: whether pictures are sent; otherwise their findings are given in words.
        examined: whether all has been examined, so that the built-in example's doctor asks for results.

    Raises:
        ExampleError: the file or one of its pictures cannot be used.
    """
    return _example(file, state_of(Path(file)), language, send_pictures, examined)


@cached_with_prompts
def _example(
    file: str, state: tuple[int, int] | None, language: Language, send_pictures: bool, examined: bool
) -> Example:
    if file:
        text = _read(Path(file))
    else:
        text = load_prompt("consultation/example", language).render({"examined": examined})[1]
    folder = Path(file).resolve().parent if file else EXAMPLES
    enclosed: list[str] = []

    def refer_to(match: re.Match[str]) -> str:
        finding, name = match.groups()
        if fault := picture_fault(folder, name):
            raise ExampleError(f"example {file or '(built in)'}: {fault}")
        if not send_pictures:
            return finding
        enclosed.append(str(folder / name))
        return str(load_words("consultation/words", language)["example"]["picture"].format(len(enclosed)))

    return Example(_PICTURE.sub(refer_to, text), tuple(enclosed))


def _read(file: Path) -> str:
    try:
        text = unpiped(file).read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ExampleError(f"example {file}: {unreadable(error, 'a text file in UTF-8')}") from error
    if not text or len(text) > _LONGEST:
        raise ExampleError(f"example {file}: has {len(text)} characters; expected a consultation of up to {_LONGEST}")
    return text
