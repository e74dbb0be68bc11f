"""Find tests that a physician orders, by name or by description ("a camera down your gullet").

Only for spoken orders: in a record, the same words describe findings.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise, product

from cases.text.named_tests import COLLECTIVE, NamedTest, parts_of, placed_tests, test_called, whole_test, whole_words
from cases.text.words import language_of
from cases.vocabulary import IMAGE_CLASSES, PHYSICAL_ITEMS, Language, normalise, patterns, word_list

Span = tuple[int, int]
Placed = tuple[int, int, NamedTest]

# Around the words of a description.
_FRAMES: dict[Language, str] = {"en": r"(?<![a-z])(?:{})(?![a-z])", "zh": "(?:{})"}
_MAX_GAP = {True: 60, False: 12}  # characters between the words of a description, by whether they are ASCII
_SENTENCE = re.compile(r"[^.;?!。；？！\n]+[.;?!。；？！\n]*")
_JOINED = re.compile(
    r"[,;，；](?![查看测]| so\b)|[、。\n+]|\. |\b(?:and|plus|then|as well as|along with)\b|以及|还有|加上|[和及与并再]"
)
_COMMA = re.compile("[,;，；]")
_PATTERNS = patterns("cases", "vocabularies/patterns")


@lru_cache(maxsize=4096)
def ordered_tests(words: str) -> tuple[Placed, ...]:
    """Return the ordered tests with their spans in the folded words, in order.

    Of a collection of tests ("blood for CRP"), and of the physical examination, only the named parts are ordered; tests
    that are declined are left out.
    """
    folded = normalise(words)
    whole_at = [match.span() for match in whole_words().finditer(folded)]
    named = tuple(place for place in placed_tests(words) if not is_within(place[:2], whole_at))  # "from head to toe"
    found = [*named, *_described(words, folded, named)]
    if not found and not whole_at:
        return ()
    excluded, spans = denied(words), phrases(folded)
    found = [place for place in found if not is_within(place[:2], excluded)]
    by_hand = [place for place in found if place[2].item in PHYSICAL_ITEMS.names]
    found += [
        (*at, part)
        for at in whole_at
        for part in parts_of(whole_test(language_of(folded[slice(*at)])))
        if not is_within(at, excluded)
        and not any(start <= at[0] < end and start <= place[0] < end for start, end in spans for place in by_hand)
    ]
    narrowed = [
        whole
        for whole in found
        if whole[2].item in COLLECTIVE
        and not whole[2].spellings
        and any(
            part[2].item == whole[2].item
            and part[2].spellings
            and start <= part[0] < end
            and not _COMMA.search(folded[part[1] : whole[0]])  # 血常规，查个血 orders both
            for start, end in spans
            if start <= whole[0] < end
            for part in found
        )
    ]
    return tuple(sorted((place for place in found if place not in narrowed), key=lambda place: (place[0], -place[1])))


def denied(words: str) -> list[Span]:
    """Return the spans, in the folded words, that are no order: declined, left out, past, told as a result or back."""
    names = ("not_to_be_done", "left_out", "done_before", "result_told", "told_back")
    folded = with_mark(words)
    return [match.span() for name in names for match in _PATTERNS[name].finditer(folded)]


def with_mark(words: str) -> str:
    """Return the folded words with their final question mark, which folding removes."""
    return normalise(words) + ("?" if words.rstrip().endswith(("?", "？")) else "")


def without_told_back(words: str) -> str:
    """Return the doctor's own words, without repetitions of the patient's, unless nothing else is left."""
    rest = _PATTERNS["told_back"].sub("", words)
    return rest.lstrip(" .,;?!。，；？！") or words


def left_of(words: str) -> str:
    """Return the folded words with everything that is no order blanked out."""
    folded = normalise(words)
    for start, end in denied(words):
        folded = folded[:start] + " " * (end - start) + folded[end:]
    return folded


def order_sentences(folded: str) -> list[Span]:
    """Return the spans of the sentences of an order."""
    return [match.span() for match in _SENTENCE.finditer(folded)]


def phrases(folded: str) -> list[Span]:
    """Return the spans of the phrases of an order, one for each thing ordered."""
    return [*pairwise([0, *(match.end() for match in _JOINED.finditer(folded)), len(folded) + 1])]


@cache
def picture_of(picture: str) -> re.Pattern[str]:
    """Return a pattern for a picture's folded name with a part of the body ("an ultrasound of the kidneys")."""
    after = "(?: scans?)?(?: (?:of|on) (?:(?:the|your|his|her|my|both) )?[a-z]+)?"
    return re.compile(f"(?:[a-z]+ |[一-鿿]{{0,4}})?(?<![a-z]){re.escape(picture)}(?![a-z]){after}")


def _described(words: str, folded: str, named: Sequence[Placed]) -> Iterator[Placed]:
    """Yield the tests that are described, each at the span of its last word.

    Words that belong to a test's name, or to the body part of a picture, describe no other test, and a description does
    not span them. Questions about the past or about feelings describe no test.
    """
    pictures = {name.spelling: name.item for *_, name in named if name.item in IMAGE_CLASSES}
    taken = [((start, end), name.item) for start, end, name in named]
    taken += [(match.span(), item) for name, item in pictures.items() for match in picture_of(name).finditer(folded)]
    for sentence in _SENTENCE.finditer(folded):
        mark = with_mark(words)[len(folded) :] if sentence.end() == len(folded) else ""
        if _PATTERNS["of_what_was"].search(sentence.group() + mark):
            continue
        if not any(each.search(folded, *sentence.span()) for each in _first_words()):  # nearly always
            continue
        called = {name.item for start, _, name in named if sentence.start() <= start < sentence.end()}
        for test, kinds in _descriptions():
            if not kinds[0].search(folded, *sentence.span()):
                continue
            if not test.spellings and test.item in {*IMAGE_CLASSES} & called:
                continue  # "an ultrasound scan of your belly" is named, not described
            others = [span for span, item in taken if item != test.item]
            if test.spellings:  # in "a clotting and some blood work", a test's own name describes nothing more
                others += [(start, end) for start, end, name in named if name.spellings == test.spellings]
            found = [
                [
                    match.span()
                    for match in kind.finditer(folded, *sentence.span())
                    if not is_within(match.span(), others)
                ]
                for kind in kinds
            ]
            spans = next((spans for spans in product(*found) if _are_adjacent(sorted(spans), others, folded)), None)
            if spans:
                yield *max(spans), test


def is_within(span: Span, others: Sequence[Span]) -> bool:
    """Whether a span overlaps any of the others."""
    return any(start < span[1] and span[0] < end for start, end in others)


def _are_adjacent(spans: Sequence[Span], others: Sequence[Span], folded: str) -> bool:
    """Whether spans are near each other, with no other test between them."""
    gaps = [(before[1], after[0]) for before, after in pairwise(spans)]
    return all(
        0 <= end - start <= _MAX_GAP[folded[start - 1].isascii()] and not is_within((start, end), others)
        for start, end in gaps
    )


@cache
def _descriptions() -> tuple[tuple[NamedTest, tuple[re.Pattern[str], ...]], ...]:
    """Return each test, as named in each language, with a pattern for every kind of word that describes it."""
    return tuple(
        (
            test_called(entry["test"], language),
            tuple(re.compile(frame.replace("{}", each), re.IGNORECASE) for each in entry[language]),
        )
        for entry in word_list("described_tests")["description"]
        for language, frame in _FRAMES.items()
    )


@cache
def _first_words() -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each language that finds a word of the first kind of any description."""
    table = word_list("described_tests")["description"]
    every = {language: "|".join(dict.fromkeys(entry[language][0] for entry in table)) for language in _FRAMES}
    return tuple(re.compile(frame.replace("{}", every[each]), re.IGNORECASE) for each, frame in _FRAMES.items())
