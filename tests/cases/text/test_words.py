import marshal
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path

import pytest

from cases.text.sentences import sentences
from cases.text.words import has_chinese, jieba, language_of, stem, words


def test_words_are_cut_by_their_own_script() -> None:
    assert words("The patient’s X-ray: 胸部CT, L4-L5") == ["the", "patient's", "x-ray", "胸部", "ct", "l4-l5"]


@pytest.mark.parametrize(("text", "language"), [("CT of the 肺", "en"), ("CT示肺部阴影", "zh"), ("", "en")])
def test_a_text_is_chinese_if_more_than_a_quarter_of_its_letters_are(text: str, language: str) -> None:
    assert language_of(text) == language
    assert has_chinese(text) == ("肺" in text)


def test_only_english_words_have_their_endings_cut() -> None:
    assert stem("spreading") == stem("spreads") == "spread"
    assert stem("疼痛") == "疼痛"


def test_stems_are_right_from_many_threads_at_once() -> None:
    numbered = [f"{word}{ending}" for word in ("consolidat", "hypertens", "run", "swell") for ending in _endings()]
    alone = [stem(word) for word in numbered]
    stem.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(stem, numbered)) == alone


def _endings() -> list[str]:
    return [
        f"{letters}{ending}" for letters in map("".join, permutations("abcdef", 3)) for ending in ("ing", "ions", "ed")
    ]


@pytest.mark.parametrize(
    ("file", "shown"), [("jieba/__init__.py", False), ("jieba/finalseg/__init__.py", False), ("mine.py", True)]
)
@pytest.mark.parametrize("said", [r"invalid escape sequence '\.'", r'"\." is an invalid escape sequence. Such'])
def test_what_python_says_of_patterns_in_jieba_is_not_shown(file: str, shown: bool, said: str) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        jieba.__wrapped__()
        warnings.warn_explicit(said, SyntaxWarning, f"/site-packages/{file}", 44)
    assert bool(seen) == shown


@pytest.mark.parametrize(("kept", "read"), [(marshal.dumps(({"胸部": 3}, 3)), True), (b"torn", False), (None, False)])
def test_the_dictionary_that_jieba_has_kept_is_read_if_it_is_whole(
    kept: bytes | None, read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cutter = jieba().Tokenizer()
    monkeypatch.setattr(jieba(), "dt", cutter)
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    if kept:
        (folder := tmp_path / f"jieba-{jieba().__version__}").mkdir()
        (folder / "jieba.cache").write_bytes(kept)
    jieba.__wrapped__()
    assert cutter.initialized == read
    assert list(cutter.FREQ) == ["胸部"] * read


def test_the_dictionary_is_neither_read_from_nor_kept_in_the_folder_that_all_users_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own = tmp_path / "tmp", tmp_path / "own"
    shared.mkdir()
    (shared / "jieba.cache").write_bytes(marshal.dumps(({"胸部": 3}, 3)))
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    monkeypatch.setenv("WARDROUND_CACHE", str(own))
    monkeypatch.setattr(jieba(), "dt", cutter := jieba().Tokenizer())
    jieba.__wrapped__()
    assert len(cutter.lcut("右下腹部疼痛")) > 1 and len(cutter.FREQ) > 1000
    assert [file.name for file in shared.iterdir()] == ["jieba.cache"]
    assert (own / f"jieba-{jieba().__version__}" / "jieba.cache").is_file()


@pytest.mark.parametrize("read", [words, sentences], ids=["words", "sentences"])
def test_what_somebody_does_to_what_was_read_is_not_met_by_who_reads_the_same_next(
    read: Callable[[str], list[str]],
) -> None:
    read("It hurts. It burns.").clear()
    assert len(read("It hurts. It burns.")) >= 2
