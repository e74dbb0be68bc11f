"""Find parts of the body that a physician examines by hand: "let me look at your tongue, your hands and that rash"."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

from cases.vocabulary import EXAMINATION_ITEMS, normalise, patterns, spelled, word_list

_PATTERNS = patterns("cases", "vocabularies/examining")

Span = tuple[int, int]
Part = tuple[int, int, str, str]  # start, end, the word for it, and the item that it is examined under

_CHEST = "Chest Examination"
_NEAR = 4  # Chinese characters between a bare verb and the part
_BEFORE = 40  # characters between a part and a verb in a separate clause


def examined_parts(folded: str, others: Sequence[tuple[int, int, bool]]) -> list[Part]:
    """Return the parts of the body that folded words say are examined.

    A list shares its verb ("feel your belly, neck and groin"). If a thing on a part is named ("the skin on your
    wrists"), the thing is examined. Clauses that mention an instrument or a sample do not count, nor do those that
    state its purpose.

    Args:
        folded: the normalised words.
        others: the spans of tests named in them, and whether each is an examination by hand.
    """
    found: list[Part] = []
    for sentence in _PATTERNS["sentence"].finditer(folded):
        if not any(verb.search(folded, *sentence.span()) for verb in (_verb(), _further(), _alone())):
            continue
        pending: list[Part] = []
        examines = by_machine = False
        for start, end in _clauses(folded, *sentence.span()):
            clause = folded[start:end]
            named = [(first, last, by_hand) for first, last, by_hand in others if first < end and start < last]
            if not all(by_hand for *_, by_hand in named) or (not named and _instrument().search(clause)):
                pending, examines, by_machine = [], False, True
                continue
            parts = _parts(folded, start, end, [(first, last) for first, last, _ in named])
            if not parts and (verb := _alone().fullmatch(folded, start, end)):  # "Is your belly sore? Let me feel."
                mentioned = _parts(folded, max(0, start - _BEFORE), start, [(first, last) for first, last, _ in others])
                verbs, parts = [verb], [(start, end, *part[2:]) for part in mentioned[-1:]]
            else:
                verbs = _verbs(folded, start, end, parts, goes_on=examines)
            if verbs and not (by_machine and _PATTERNS["purpose"].match(clause)):
                found += pending + _objects_of(folded, parts, verbs)
                pending, examines, by_machine = [], True, False
            elif _only_names_parts(folded, start, end, parts):
                found += parts if examines else []
                pending += [] if examines else parts
            elif clause.strip():
                pending, examines = [], False
    return found


@cache
def parts_of_the_body() -> tuple[tuple[str, str], ...]:
    """Return each word for a part, folded, with the item that it is examined under."""
    return tuple(
        (normalise(word), EXAMINATION_ITEMS.require(part["item"]))
        for part in word_list("examined_parts")["part"]
        for word in part["words"]
    )


@cache
def told_as(word: str) -> tuple[str, ...]:
    """Return the words by which to find a thing that is filed under varying parts of the body; empty for others."""
    return next((tuple(thing["told"]) for thing in word_list("examined_parts")["told"] if word in thing["words"]), ())


def _clauses(folded: str, start: int, end: int) -> Iterator[Span]:
    for cut in _PATTERNS["cut"].finditer(folded, start, end):
        yield start, cut.start()
        start = cut.end()
    yield start, end


def _verbs(folded: str, start: int, end: int, parts: Sequence[Part], *, goes_on: bool) -> list[re.Match[str]]:
    """Return a clause's verbs for examining; a bare one only if an examination goes on, or a Chinese part is near."""
    is_chinese = not folded[start:end].isascii()
    verbs = [*_verb().finditer(folded, start, end)]
    if verbs or not (goes_on or is_chinese) or not (further := _further().match(folded, start, end)):
        return verbs
    is_near = any(0 <= part[0] - further.end() <= _NEAR for part in parts)
    return [further] if is_near or not is_chinese else []  # 敲键盘的时候手腕疼吗


def _parts(folded: str, start: int, end: int, tests: Sequence[Span]) -> list[Part]:
    """Return the parts that a clause names, without those that only locate a thing named beside them."""
    named = [
        (start + match.start(), start + match.end(), word, item)
        for word, item in parts_of_the_body()
        if word in folded[start:end]
        for match in spelled(word).finditer(folded[start:end])
    ]
    longest = [
        part
        for part in named
        if not any(a <= part[0] and part[1] <= b and (a, b) != part[:2] for a, b, *_ in named)
        and not any(a <= part[0] and part[1] <= b for a, b in tests)
        and not _PATTERNS["no_part"].search(folded[start : part[1]])
        and not _PATTERNS["of_a_clinic"].match(folded, part[1])  # 看过皮肤科没有
    ]
    things = sorted([*(part[:2] for part in longest), *tests])
    table = word_list("examined_parts")["verb"]
    inner, lumps = [part[:2] for part in longest if part[2] in table["inner"]], table["lumps"]
    locations = set[Span]()
    for former, latter in product(things, things):
        between = folded[former[1] : latter[0]] if former[1] <= latter[0] else ""
        if on := _PATTERNS["on"].fullmatch(between) or _PATTERNS["its"].fullmatch(between):
            thing, place = (former, latter) if on.re is _PATTERNS["on"] else (latter, former)
            is_lump = folded[slice(*thing)] in lumps
            locations.add(thing if place in inner or is_lump else place)
    return [part for part in sorted(longest) if part[:2] not in locations]


def _objects_of(folded: str, parts: Sequence[Part], verbs: Sequence[re.Match[str]]) -> list[Part]:
    """Return the parts that a clause's verbs refer to: those after the first verb or, without any, those before it."""
    table = word_list("examined_parts")["verb"]
    spoken = [match.group() for match in verbs]
    if all(re.search("listen|tap|percuss|[听敲叩]", word) for word in spoken):
        parts = [(*part[:3], _CHEST) if part[2] in table["back"] else part for part in parts]
    if all(re.search("listen|听", word) for word in spoken):
        parts = [part for part in parts if part[3] in table["heard"]] or parts
    if all(re.fullmatch(_source("verb", "checks"), word) for word in spoken):
        parts = [part for part in parts if part[2] not in table["organs"]]
    after = [part for part in parts if part[0] >= verbs[0].end()]
    return after or [*parts]


def _only_names_parts(folded: str, start: int, end: int, parts: Sequence[Part]) -> bool:
    """Whether a clause names parts and says nothing else."""
    rest = "".join(
        "." if any(first <= at < last for first, last, *_ in parts) else folded[at] for at in range(start, end)
    )
    return bool(parts) and _PATTERNS["beside"].fullmatch(rest) is not None


@cache
def _source(table: str, name: str) -> str:
    return "".join(word_list("examined_parts")[table][name].split("\n"))


@cache
def _verb() -> re.Pattern[str]:
    """Return the pattern of verbs for examining a part; what the patient does or feels does not match."""
    patients = r"(?<!you )(?<!he )(?<!she )(?<!they )(?<!it )(?<!ever )"
    doctors = r"(?:i|i'll|i'd|i can|me|we|we'll|let's|us)(?: [a-z]+){0,3}? "
    own = f"{doctors}(?:{_source('verb', 'own')})"
    english = f"{patients}(?:{_source('verb', 'en')}|{own}|{_source('verb', 'checks')})(?![a-z])"
    return re.compile(rf"\b{english}|{_source('verb', 'noun')}|{_source('verb', 'zh')}")


@cache
def _further() -> re.Pattern[str]:
    """Return the pattern of a verb without a subject, at the start of a clause that continues an examination."""
    return re.compile(rf"\s*(?:{_source('verb', 'own')})(?![a-z])|[再也先去来就]*[看摸按压听敲叩](?![见到得])")


@cache
def _alone() -> re.Pattern[str]:
    """Return the pattern of a clause that only says that the doctor examines."""
    return re.compile(_source("verb", "alone"))


@cache
def _instrument() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_source('instrument', 'en')})\b|{_source('instrument', 'zh')}")
