"""A cache of the texts of immutable objects in prompts: all doctors of a stage see the same chart."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from prompts.folders import edition

_MOST = 256  # texts: a few stages of each case that runs in parallel

_texts: OrderedDict[Hashable, tuple[Sequence[Any], str]] = OrderedDict()
_lock = threading.Lock()


def shown_once(of: Sequence[Any], key: Hashable, words: Callable[[], str]) -> str:
    """Return a text, cached by the identity of the objects that it describes.

    Args:
        of: the objects, which must be immutable (``Strict``); they are kept alive with the text.
        key: everything else that the text depends on, including its kind.
        words: makes the text.
    """
    cache_key = (tuple(map(id, of)), key, edition())
    with _lock:
        if cache_key in _texts:
            _texts.move_to_end(cache_key)
            return _texts[cache_key][1]
    text = words()
    with _lock:
        _texts[cache_key] = (of, text)
        while len(_texts) > _MOST:
            _texts.popitem(last=False)
    return text
