"""Likeness by rare pieces of words: what a plain TF-IDF cosine gives, in whatever order texts were met."""

import re
import zlib
from collections import Counter
from math import isclose, log, sqrt

from hypothesis import assume, example, given
from hypothesis import strategies as st

from retrieval.likeness import _WIDTH, likeness

TEXTS = st.lists(st.text("ab é咳嗽痛, ", max_size=24), min_size=1, max_size=6)


def pieces(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for match in re.finditer(r"([一-鿿]+)|[^\W_一-鿿]+", text.casefold()):
        word, lengths = (match[0], (1, 2)) if match[1] else (f" {match[0]} ", (3, 4, 5))
        found.update(word[at : at + n] for n in lengths for at in range(len(word) - n + 1))
    return found


def plainly(text: str, others: list[str]) -> list[float]:
    """The definition, without numbers for pieces and without vectors."""
    rows = [pieces(other) for other in others]

    def vector(counts: Counter[str]) -> dict[str, float]:
        rare = {piece: log((1 + len(rows)) / (1 + sum(piece in row for row in rows))) + 1 for piece in counts}
        weights = {piece: (1 + log(n)) * rare[piece] for piece, n in counts.items()}
        length = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {piece: weight / length for piece, weight in weights.items()}

    asked = vector(pieces(text))
    return [sum(weight * asked.get(piece, 0.0) for piece, weight in vector(row).items()) for row in rows]


def share_a_hash(texts: list[str]) -> bool:
    met = {piece for text in texts for piece in pieces(text)}
    return len({zlib.crc32(piece.encode()) % _WIDTH for piece in met}) < len(met)


@given(TEXTS, st.lists(st.text("abcé咳嗽痛热, ", max_size=24), min_size=1, max_size=3))
@example(["aaa"], ["éééb"])  # two pieces share a hash
def test_it_is_the_cosine_of_tf_idf(others: list[str], asked: list[str]) -> None:
    assume(not share_a_hash([*asked, *others]))
    for text in [*asked, *others]:  # the others are kept from the first question on; new pieces come after
        found = likeness(text, others)
        assert all(isclose(one, other, abs_tol=1e-9) for one, other in zip(found, plainly(text, others), strict=True))


def test_two_texts_are_alike_by_rare_pieces_in_any_word_form_and_without_spaces() -> None:
    others = ["the swollen ankles of an old man", "the cough of an old man", "口渴、多尿三天", "咳嗽三天"]
    assert max(range(4), key=likeness("swelling of an ankle", others).__getitem__) == 0
    assert max(range(4), key=likeness("总是口渴，尿也多", others).__getitem__) == 2
    assert likeness("", others) == [0.0] * 4 and likeness("cough", []) == []
