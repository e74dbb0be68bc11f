"""Parts of the body that a physician examines by hand: "let me look at your tongue, your hands and that rash"."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

from cases.vocabulary import EXAMINATION_ITEMS, normalise, patterns, spelled, word_list

_PATTERNS = patterns("cases", "vocabularies/examining")

Span = tuple[int, int]
Part = tuple[int, int, str, str]  # its place, the word for it, and the item that it is examined under

_CHEST = "Chest Examination"
_NEAR = 4  # Chinese characters between a verb that stands alone and the part
_BEFORE = 40  # characters between a part and a verb in a clause of its own


def examined_parts(folded: str, others: Sequence[tuple[int, int, bool]]) -> list[Part]:
    """The parts that folded words say are examined.

    A list shares its verb ("feel your belly, neck and groin"), and of a thing on a part ("the skin on your wrists") it
    is the thing that is looked at. A clause with a machine or a sample in it examines nothing by hand, nor does what
    tells its purpose.

    Args:
        folded: the words.
        others: the places of the tests that they name, and whether each is one by hand.
    """
    found: list[Part] = []
    for sentence in _PATTERNS["sentence"].finditer(folded):
        if not any(verb.search(folded, *sentence.span()) for verb in (_verb(), _further(), _alone())):
            continue
        waiting: list[Part] = []
        examines = by_machine = False
        for start, end in _clauses(folded, *sentence.span()):
            clause = folded[start:end]
            here = [(first, last, by_hand) for first, last, by_hand in others if first < end and start < last]
            if not all(by_hand for *_, by_hand in here) or (not here and _instrument().search(clause)):
                waiting, examines, by_machine = [], False, True
                continue
            verbs = [*_verb().finditer(folded, start, end)]
            if not verbs and (examines or not clause.isascii()):
                verbs = [match for match in [_further().match(folded, start, end)] if match]
            parts = _parts(folded, start, end, [(first, last) for first, last, _ in here])
            if (verb := _alone().fullmatch(folded, start, end)) and not parts:  # "Is your belly sore? Let me feel."
                spoken_of = _parts(folded, max(0, start - _BEFORE), start, [(first, last) for first, last, _ in others])
                verbs, parts = [verb], [(start, end, *part[2:]) for part in spoken_of[-1:]]
            if verbs and verbs[0].re is _further() and not clause.isascii():
                near = [part for part in parts if 0 <= part[0] - verbs[0].end() <= _NEAR]
                verbs = verbs if near else []  # 敲键盘的时候手腕疼吗
            if verbs and not (by_machine and _PATTERNS["purpose"].match(clause)):
                found += waiting + _reached(folded, parts, verbs)
                waiting, examines, by_machine = [], True, False
            elif _is_beside(folded, start, end, parts):
                found += parts if examines else []
                waiting += [] if examines else parts
            elif clause.strip():
                waiting, examines = [], False
    return found


@cache
def parts_of_the_body() -> tuple[tuple[str, str], ...]:
    """Each word for a part, folded, and the item that it is examined under."""
    return tuple(
        (normalise(word), EXAMINATION_ITEMS.require(part["item"]))
        for part in word_list("examined_parts")["part"]
        for word in part["words"]
    )


@cache
def told_as(word: str) -> tuple[str, ...]:
    """What tells of a thing that is filed now with one part of the body, now with another; nothing of other parts."""
    return next((tuple(thing["told"]) for thing in word_list("examined_parts")["told"] if word in thing["words"]), ())


def _clauses(folded: str, start: int, end: int) -> Iterator[Span]:
    for cut in _PATTERNS["cut"].finditer(folded, start, end):
        yield start, cut.start()
        start = cut.end()
    yield start, end


def _parts(folded: str, start: int, end: int, tests: Sequence[Span]) -> list[Part]:
    """The parts that a clause names, without those that a thing named beside them is on."""
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
    ]
    things = sorted([*(part[:2] for part in longest), *tests])
    told = word_list("examined_parts")["verb"]
    inner, lumps = [part[:2] for part in longest if part[2] in told["inner"]], told["lumps"]
    carried = set[Span]()
    for former, latter in product(things, things):
        between = folded[former[1] : latter[0]] if former[1] <= latter[0] else ""
        if on := _PATTERNS["on"].fullmatch(between) or _PATTERNS["its"].fullmatch(between):
            thing, place = (former, latter) if on.re is _PATTERNS["on"] else (latter, former)
            felt = folded[slice(*thing)] in lumps
            carried.add(thing if place in inner or felt else place)
    return [part for part in sorted(longest) if part[:2] not in carried]


def _reached(folded: str, parts: Sequence[Part], verbs: Sequence[re.Match[str]]) -> list[Part]:
    """The parts that the verbs of a clause are about: what follows one, or else what stands before it."""
    told = word_list("examined_parts")["verb"]
    said = [match.group() for match in verbs]
    if all(re.search("listen|tap|percuss|[听敲叩]", word) for word in said):
        parts = [(*part[:3], _CHEST) if part[2] in told["back"] else part for part in parts]
    if all(re.search("listen|听", word) for word in said):
        parts = [part for part in parts if part[3] in told["heard"]] or parts
    if all(re.fullmatch(_told("verb", "checks"), word) for word in said):
        parts = [part for part in parts if part[2] not in told["organs"]]
    after = [part for part in parts if part[0] >= verbs[0].end()]
    return after or [*parts]


def _is_beside(folded: str, start: int, end: int, parts: Sequence[Part]) -> bool:
    """Whether a clause names parts and says nothing more."""
    left = "".join(
        "." if any(first <= at < last for first, last, *_ in parts) else folded[at] for at in range(start, end)
    )
    return bool(parts) and _PATTERNS["beside"].fullmatch(left) is not None


@cache
def _told(table: str, name: str) -> str:
    return "".join(word_list("examined_parts")[table][name].split("\n"))


@cache
def _verb() -> re.Pattern[str]:
    """What says that a part is examined; what the patient does or feels is none."""
    patients = r"(?<!you )(?<!he )(?<!she )(?<!they )(?<!it )(?<!ever )"
    doctors = r"(?:i|i'll|i'd|i can|me|we|we'll|let's|us)(?: [a-z]+){0,3}? "
    own = f"{doctors}(?:{_told('verb', 'own')})"
    english = f"{patients}(?:{_told('verb', 'en')}|{own}|{_told('verb', 'checks')})(?![a-z])"
    return re.compile(rf"\b{english}|{_told('verb', 'noun')}|{_told('verb', 'zh')}")


@cache
def _further() -> re.Pattern[str]:
    """A verb without its subject, at the beginning of a clause after one in which the doctor examines."""
    return re.compile(rf"\s*(?:{_told('verb', 'own')})(?![a-z])|[再也先去来就]*[看摸按压听敲叩](?![见到得])")


@cache
def _alone() -> re.Pattern[str]:
    """A clause that says no more than that the doctor examines."""
    return re.compile(_told("verb", "alone"))


@cache
def _instrument() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_told('instrument', 'en')})\b|{_told('instrument', 'zh')}")
