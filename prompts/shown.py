"""What prompts show of things that do not change, put in words once: all doctors of a stage see one chart."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from prompts.folders import prompt_folders

_KEPT = 256  # texts: a few stages of each of the cases that run side by side

_texts: OrderedDict[Hashable, tuple[Sequence[Any], str]] = OrderedDict()
_lock = threading.Lock()


def shown_once(of: Sequence[Any], key: Hashable, words: Callable[[], str]) -> str:
    """A text, kept by the very objects that it tells of.

    Args:
        of: what is told of, values that stay as they were made (``Strict``); they are kept with the text.
        key: what else the text depends on, its kind included.
        words: makes the text.
    """
    place = (tuple(map(id, of)), key, prompt_folders())
    with _lock:
        if place in _texts:
            _texts.move_to_end(place)
            return _texts[place][1]
    text = words()
    with _lock:
        _texts[place] = (of, text)
        while len(_texts) > _KEPT:
            _texts.popitem(last=False)
    return text
