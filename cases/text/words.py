"""Language, words and stems of a text."""

import marshal
import re
import warnings
from contextlib import suppress
from functools import cache, lru_cache
from types import ModuleType

from cases.user_cache import cache_folder
from cases.vocabulary import INVISIBLE, Language

HAN = "\u3400-\u9fff\uf900-\ufaff"  # Chinese characters, as the inside of a character class
_CHINESE = re.compile(f"[{HAN}]")
_LATIN = "A-Za-z\u00aa-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a"  # also with accents, and wide
_KNOWN_SCRIPTS = re.compile(f"[{HAN}{_LATIN}]+")
_WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['-][^\W_{HAN}]+)*")

_COUNTED = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’.,/-][^\W_\u3400-\u9fff]+)*")


def has_chinese(text: str) -> bool:
    """Whether a text has any Chinese character."""
    return _CHINESE.search(text) is not None


def language_of(*texts: str) -> Language:
    """Return "zh" if more than a quarter of the letters are Chinese, else "en"."""
    letters = "".join(filter(str.isalpha, "".join(texts)))
    return "zh" if 4 * len(_CHINESE.findall(letters)) > len(letters) else "en"


def written_in(*texts: str) -> Language | None:
    """Return the language as `language_of` does; None if more than a quarter of the letters are of other scripts.

    Japanese is of another script by its kana. Languages in Latin letters cannot be told from English here.
    """
    letters = "".join(filter(str.isalpha, "".join(texts)))
    return None if 4 * len(_KNOWN_SCRIPTS.sub("", letters)) > len(letters) else language_of(letters)


def rules_of(language: Language) -> Language:
    """Return the language whose rules are applied to a text: English for languages without rules."""
    return language if language in ("en", "zh") else "en"


def words(text: str) -> list[str]:
    """Return the folded words of a text: Chinese segmented by jieba, others with their hyphens and apostrophes."""
    return list(_words(text))


@lru_cache(maxsize=1024)  # rules analyse the same few texts repeatedly
def _words(text: str) -> tuple[str, ...]:
    found = _WORD.findall(text.casefold().replace("’", "'"))
    return tuple(word for run in found for word in (chinese_words(run) if has_chinese(run) else (run,)))


def count_words(text: str) -> int:
    """Count words as Clini-Eval does: each Chinese character is one; invisible characters end no word."""
    return len(_COUNTED.findall(text.translate(INVISIBLE)))


@lru_cache(maxsize=1 << 16)
def chinese_words(run: str) -> tuple[str, ...]:
    """Segment a run of Chinese characters into words of jieba's dictionary, without its model for unknown words."""
    return tuple(jieba().cut(run, HMM=False))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of an English word (Porter2); other words unchanged."""
    if not (word.isascii() and word.isalpha()):
        return word
    import snowballstemmer

    # A new stemmer each time: one shared by two threads gives wrong stems, or fails.
    stemmed: str = snowballstemmer.stemmer("english").stemWord(word.casefold())
    return stemmed


@cache
def stems_of(listed: str) -> frozenset[str]:
    """Return the stems of a list's words."""
    return frozenset(map(stem, listed.split()))


@cache
def jieba() -> ModuleType:
    """Return jieba with its dictionary, loaded once.

    Its parsed dictionary is kept in the user's own cache folder; in the temporary folder, which is jieba's default, any
    user of the machine could replace it.
    """
    # Its patterns are no raw strings: on Python 3.12 and later, compiling it prints three warnings.
    warnings.filterwarnings("ignore", ".*invalid escape sequence", SyntaxWarning, r".*\bjieba\b")
    import jieba as loaded

    loaded.setLogLevel(60)  # silence its messages about loading the dictionary
    folder = cache_folder() / f"jieba-{loaded.__version__}"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    loaded.dt.tmp_dir = str(folder)
    with suppress(OSError, EOFError, TypeError, ValueError):
        dictionary = (folder / "jieba.cache").read_bytes()  # jieba's own loading is slow
        loaded.dt.FREQ, loaded.dt.total = marshal.loads(dictionary)
        loaded.dt.initialized = True
    module: ModuleType = loaded
    return module
