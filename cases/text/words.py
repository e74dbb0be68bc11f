"""What a text is made of: its language, its words and their stems."""

import marshal
import re
import tempfile
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType

from cases.vocabulary import Language

HAN = "\u3400-\u9fff\uf900-\ufaff"  # Chinese characters, as the inside of a character class
_CHINESE = re.compile(f"[{HAN}]")
_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['-][^\W_{HAN}]+)*")

_COUNTED = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’.,/-][^\W_\u3400-\u9fff]+)*")


def has_chinese(text: str) -> bool:
    """Whether there is any Chinese character."""
    return _CHINESE.search(text) is not None


def language_of(*texts: str) -> Language:
    """Chinese if more than a quarter of the letters are."""
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    return "zh" if 4 * sum(map(has_chinese, letters)) > len(letters) else "en"


def rules_of(language: Language) -> Language:
    """The language by whose rules a text is read: its own, or English where it has none, which then finds little."""
    return language if language in ("en", "zh") else "en"


def words(text: str) -> list[str]:
    """The words of a text, folded: Chinese cut by jieba, others whole with their hyphens and apostrophes."""
    return list(_words(text))


@lru_cache(maxsize=1024)  # rules ask it of the same few texts again and again
def _words(text: str) -> tuple[str, ...]:
    found = _WORD.findall(text.casefold().replace("’", "'"))
    return tuple(word for run in found for word in (chinese_words(run) if has_chinese(run) else (run,)))


def count_words(text: str) -> int:
    """The words of a text, as Clini-Eval counts them: each Chinese character is one."""
    return len(_COUNTED.findall(text))


@lru_cache(maxsize=1 << 16)
def chinese_words(run: str) -> tuple[str, ...]:
    """A run of Chinese characters cut into the words of jieba's dictionary; no word is guessed."""
    return tuple(jieba().cut(run, HMM=False))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """An English word without its ending (Porter's newer rules); other words as they are."""
    if not (word.isascii() and word.isalpha()):
        return word
    import snowballstemmer

    # One for each word: a stemmer that two threads share gives wrong stems, or fails.
    stemmed: str = snowballstemmer.stemmer("english").stemWord(word.casefold())
    return stemmed


@cache
def jieba() -> ModuleType:
    """The cutter of Chinese text, loaded once."""
    import jieba as loaded

    loaded.setLogLevel(60)  # it reports on loading its dictionary
    with suppress(OSError, EOFError, TypeError, ValueError):
        kept = Path(tempfile.gettempdir(), "jieba.cache").read_bytes()  # by itself it reads a word at a time
        loaded.dt.FREQ, loaded.dt.total = marshal.loads(kept)
        loaded.dt.initialized = True
    module: ModuleType = loaded
    return module
