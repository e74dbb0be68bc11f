"""Rules that check what a dialogue says against its note: missing, denied, changed and invented content.

Rules compare words. They pass at least 95 of 100 real dialogues about real notes; what words cannot decide is left to
the reader (``entailment``).
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, wraps
from typing import NamedTuple

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.numbers import NUMBER_WORDS, known_numbers, spoken_numbers, stated_numbers
from cases.text.sentences import last_sentence, sentences
from cases.text.statements import mentions, statements
from cases.text.words import has_chinese, rules_of, stem, words
from cases.vocabulary import Language, data_file, patterns, word_list

_PATTERNS = patterns("nodes.reconstruction", "content")
_LISTS = data_file("nodes.reconstruction", "content")["list"]
COVERED = 0.1  # minimum share of the note's words, if it has ENOUGH of them
ENOUGH = 10
OF_MATTER = 0.5  # minimum words per turn beyond courtesies, if none is from the note
SPOKEN = frozenset(_LISTS["spoken"].split(", "))
SHORTEST = 0.75  # dialogue length / note length
PLAYED = 0.55  # SHORTEST for a role-play, which ends when its turns are used up
RECITED = 60  # words of a reply, over which it must not be most of the note
INVENTED = 3  # complaints not in the note; one is enough if the patient volunteers it
_ENGLISH = frozenset((*word_list("function_words")["between_phrases"].split(), *NUMBER_WORDS))
KNOWN = 0.2  # minimum share of a turn's words that are common, in the note or in another turn, from FEWEST words on
FEWEST = 5
MISPLACED = 0.05  # maximum share of misplaced words in a turn, from two on
SIGNS, SINGLE = 12, 0.7  # minimum Chinese characters of a turn; maximum share that are words by themselves
SAID_AGAIN = 5  # minimum words of a repeated sentence: people say "yes, I do" twice
ECHOED = 0.5  # share of the other speaker's content words, from which a turn without others is an echo
ECHOES, LONG_ECHO = 2, 4  # echoes that are too many; content words of one that is enough
_GREETINGS = 4  # first turns, in which people may greet each other
FOREIGN = 3  # words of another script that reject a turn
OTHER_SEX: Mapping[Sex | None, Sex] = {"female": "male", "male": "female"}


Finding = tuple[str, int | None]  # the problem, and its turn (from 1; None: the whole dialogue)


class NoteTerms(NamedTuple):
    """The terms of a note; those that it both affirms and denies, or perhaps denies, are only in the first."""

    every: set[str]
    affirmed: set[str]
    denied: set[str]


class PatientTerms(NamedTuple):
    """The terms that a patient affirms and denies, with the turn of the first time."""

    affirmed: dict[str, int]
    denied: dict[str, int]


@dataclass(frozen=True)
class ParsedDialogue:
    """A dialogue parsed for the rules: its statements and the terms that note and patient affirm or deny."""

    dialogue: Dialogue

    @property
    def language(self) -> Language:
        """The language whose rules apply."""
        return rules_of(self.dialogue.language)

    @cached_property
    def note(self) -> str:
        """The note, followed by a version in everyday words."""
        return f"{self.dialogue.note}\n{in_lay_words(self.dialogue.note, self.dialogue.language)}"

    @cached_property
    def text(self) -> str:
        """All that is spoken, as one text."""
        return " ".join(message.content for message in self.dialogue.spoken)

    @cached_property
    def replied(self) -> list[tuple[int, str, str]]:
        """All that the patient replies to the physician: the reply's turn number (from 1), what was said before, it."""
        return [
            (number, before.content, message.content)
            for number, (before, message) in enumerate(itertools.pairwise(self.dialogue.spoken), 2)
            if (before.role, message.role) == (PHYSICIAN, PATIENT)
        ]

    @cached_property
    def statements(self) -> list[tuple[int, str, str]]:
        """All sentences that are not questions: turn number (from 1), role, sentence."""
        return [
            (number, message.role, sentence)
            for number, message in enumerate(self.dialogue.spoken, 1)
            for sentence in sentences(message.content)
            if not sentence.rstrip("\"'”’)） ").endswith(("?", "？"))
        ]

    @cached_property
    def asserted(self) -> list[tuple[int, str]]:
        """All statements, and questions that the patient confirms with a yes, each with its turn number."""
        confirmed = [
            (number - 1, sentence)
            for number, asked, reply in self.replied
            if affirms(reply)
            for sentence in sentences(asked)[-1:]
        ]
        return [(number, sentence) for number, _, sentence in self.statements] + confirmed

    @cached_property
    def of_note(self) -> NoteTerms:
        """The note's terms; a denial may cover the other terms of its sentence too."""
        terms, affirmed, denied, uncertain = set[str](), set[str](), set[str](), set[str]()
        for sentence in statements(self.note) or [self.note]:
            found = terms_in(sentence, self.language)
            terms |= {name for name, _ in found}
            denied |= {name for name, negated in found if negated}
            open_list = _PATTERNS["denial"].search(sentence) is not None
            (uncertain if open_list else affirmed).update(name for name, negated in found if not negated)
        return NoteTerms(terms, affirmed - denied - uncertain, denied - affirmed - uncertain)

    @cached_property
    def of_patient(self) -> PatientTerms:
        """The terms of the patient's statements; a yes or no to a question counts."""
        affirmed: dict[str, int] = {}
        denied: dict[str, int] = {}
        asked: frozenset[tuple[str, bool]] = frozenset()
        for number, message in enumerate(self.dialogue.spoken, 1):
            if message.role == PHYSICIAN:
                last = last_sentence(message.content)
                asked = terms_in(last, self.language) if last.rstrip().endswith(("?", "？")) else frozenset()
                continue
            found = set[tuple[str, bool]]()
            for at, _, text in self.statements:
                if at == number:
                    open_list = _PATTERNS["denial"].search(text) is not None  # the denial may cover the following terms
                    found |= {one for one in terms_in(text, self.language) if one[1] or not open_list}
            if len(asked) <= 2 and not any(negated for _, negated in asked):
                if denies(message.content):
                    found |= {(name, True) for name, _ in asked}
                elif affirms(message.content):
                    found |= {(name, False) for name, _ in asked}
            for name, negated in sorted(found):
                (denied if negated else affirmed).setdefault(name, number)
        return PatientTerms(affirmed, denied)


def missing(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report that too little of the note comes up, or that nothing is said beyond courtesies."""
    note = content_words(parsed.dialogue.note, parsed.language)
    lay = content_words(in_lay_words(parsed.dialogue.note, parsed.dialogue.language), parsed.language)
    spoken_words = content_words(parsed.text, parsed.language)
    share = max(len(every & spoken_words) / len(every) for every in (note, lay)) if note and lay else 1.0
    if len(note) >= ENOUGH and share < COVERED:
        yield f"only {share:.0%} of the note's words come up; expected at least {COVERED:.0%}", None
    stems = spoken_words - courtesies()
    if parsed.language == "en" and len(stems) < (
        1 if stems & (note | lay) else OF_MATTER * len(parsed.dialogue.spoken)
    ):
        yield "nothing but courtesies is said", None


def out_of_proportion(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a dialogue much shorter than its note, or a reply that recites the note."""
    note, words_of_note = _length(parsed.dialogue.note), content_words(parsed.dialogue.note, parsed.language)
    lengths = [_length(message.content) for message in parsed.dialogue.spoken]
    least = PLAYED if parsed.dialogue.strategy == "interactive" else SHORTEST
    if sum(lengths) < least * note:
        yield f"too short: {sum(lengths)} words for a note of {note}", None
    for number, (message, length) in enumerate(zip(parsed.dialogue.spoken, lengths, strict=True), 1):
        if message.role != PATIENT or length <= RECITED:
            continue
        if len(content_words(message.content, parsed.language) & words_of_note) > 0.6 * len(words_of_note):
            yield f"{length} words in one reply; the physician should ask for them", number


def contradicted(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report what the patient denies against the note, or affirms against it, without ever saying the opposite."""
    _, recorded, excluded = parsed.of_note
    affirmed, denied = parsed.of_patient
    for name, turn in denied.items():
        if name in recorded and name not in affirmed and name in complaints():
            yield f"{name} is denied, but the note records it", turn
    for name, turn in affirmed.items():
        if name in excluded and name not in denied and name in {*complaints(), "smoking"}:
            yield f"{name} is affirmed, but the note denies it", turn
    for number, role, sentence in parsed.statements:
        if role == PATIENT and _PATTERNS["denies_all"].search(sentence):
            for name, negated in sorted(terms_in(sentence, parsed.language)):
                if negated and name in recorded:
                    yield f"{name} is denied, but the note records it", number
    if parsed.language == "en":
        yield from _unlisted_denials(parsed)


def _unlisted_denials(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report denials of what the note affirms, beyond the listed terms, as in "I have never had eczema" (English)."""
    note = [(content_words(f"{text} {in_lay_words(text, 'en')}", "en"), text) for text in sentences(parsed.note)]
    replies = [(content_words(text, "en"), number, text) for number, role, text in parsed.statements if role == PATIENT]
    denied = _PATTERNS["denial"].search
    for _, number, text in replies:
        for found in _PATTERNS["denied_thing"].finditer(text):
            thing = content_words("".join(filter(None, found.groups())), "en")
            recorded = [not denied(sentence) for stems, sentence in note if thing and thing <= stems]
            affirmed = any(thing <= stems and not denied(other) for stems, _, other in replies)
            if recorded and all(recorded) and not affirmed:
                yield f"{found[0].strip()!r}, but the note records it", number


def other_side(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a side if the note mentions only the other one, at all or of the same part ("left knee")."""
    known = sides_in(parsed.dialogue.note)
    if known in ({"left"}, {"right"}):
        for number, sentence in parsed.asserted:
            if (sides := sides_in(sentence)) and not sides & known:
                yield f"the {sides.pop()} side, but the note has the {next(iter(known))}", number
    elif known and parsed.language == "en" and not _PATTERNS["both_sides"].search(parsed.dialogue.note):
        parts = _sided_parts(parsed.note)
        for number, sentence in parsed.asserted:
            for part, sides in _sided_parts(sentence).items():
                if part in parts and not sides & parts[part]:
                    yield f"{sentence!r}: the note has this on the {', '.join(parts[part])}", number


def _sided_parts(text: str) -> dict[str, set[str]]:
    """Return the parts that a text names with a side (English): the stem of each, and its sides."""
    found: dict[str, set[str]] = {}
    for one in _PATTERNS["sided_part"].finditer(_PATTERNS["no_side"].sub(" ", text)):
        found.setdefault(stem(one[2].casefold()), set()).add(one[1].casefold())
    return found


def other_number(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report numbers that are not in the note, or that replace a number of the note that nobody says.

    Digits always count. The patient's number words count for an age, or with a noun that the note counts too.
    """
    known, language = known_numbers(parsed.dialogue.note), parsed.language
    counted = {stem(found[1].casefold()) for found in _PATTERNS["counted"].finditer(parsed.dialogue.note)}
    parts = {number % 10**digits for number in known for digits in (1, 2)}  # spoken as "two thousand and four"
    unsaid = _unsaid_numbers(parsed, known) if language == "en" else set()
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        own = " ".join(text for at, _, text in parsed.statements if at == number)
        if message.role == PHYSICIAN:
            values = [value for found in _PATTERNS["measured"].findall(own) for value in found if value]
            stated = {float(value.replace(",", "")): value for value in values}
        else:
            stated = stated_numbers(own, language)
        for value, wording in stated.items():
            in_words = wording[0].isalpha()
            if value in known or (in_words and (value in parts or not _counts_the_same(own, wording, counted))):
                continue
            yield f"{wording!r} is not in the note", number
        for wording, readings in spoken_numbers(message.content) if unsaid else ():
            in_place = {one for one in unsaid if any(_is_year(one) == _is_year(value) for value in readings[0])}
            if in_place and not any(each <= known | parts | {0, 1} for each in readings):
                yield (
                    f"{wording!r}, but nobody says the note's {', '.join(f'{one:g}' for one in sorted(in_place))}",
                    number,
                )


def _unsaid_numbers(parsed: ParsedDialogue, known: frozenset[float]) -> set[float]:
    """Return the note's numbers that nobody says in digits or words; 1 is left out ("one" is often no number)."""
    spoken = set(known_numbers(parsed.text))
    for _, readings in spoken_numbers(parsed.text):
        spoken |= next((each for each in readings if each <= known), readings[0])
    parts = [value for _, readings in spoken_numbers(parsed.dialogue.note) for each in readings for value in each]
    return {value for value in {*parts} & known if value > 1 and not spoken & {value, value % 100}}


def _is_year(value: float) -> bool:
    return 1900 <= value < 2100


def invented(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report complaints of the patient, or findings of the physician, that are not in the note."""
    every = parsed.of_note.every
    new = {
        name: turn
        for name, turn in parsed.of_patient.affirmed.items()
        if name not in every and name in {*complaints(), "smoking"}
    }
    added = {
        name
        for _, role, sentence in parsed.statements
        if role == PATIENT and _PATTERNS["adds"].search(sentence)
        for name, negated in terms_in(sentence, parsed.language)
        if not negated
    }
    if len(new) >= INVENTED or new.keys() & (added | set(_LISTS["grave"].split(", "))):
        yield f"{', '.join(new)}: the note does not mention it", min(new.values())
    for number, role, sentence in parsed.statements:
        if role == PHYSICIAN and _PATTERNS["reports"].search(sentence):
            unknown = {name for name, negated in terms_in(sentence, parsed.language) if not negated} - every
            if grave := unknown & set(_LISTS["found"].split(", ")):
                yield f"{', '.join(sorted(grave))} is reported, but the note has none", number


def repeated(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a sentence or an exchange that is repeated word for word, and turns that only echo the other speaker.

    A short sentence may come again ("Anything else?"), but not with the same answer; nor may a question come again in
    other words of courtesy, with an answer that says no more than the first ("So, how old are you?").
    """
    seen: dict[tuple[str, str], int] = {}
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        for sentence in sentences(message.content):
            key = (message.role, " ".join(words(sentence)))
            if _length(sentence) >= SAID_AGAIN and key in seen:
                yield f"{sentence!r}: said before in turn {seen[key]}", number
            seen.setdefault(key, number)
    exchanges, matters = set[tuple[str, ...]](), list[tuple[frozenset[str], frozenset[str]]]()
    for number, (asked, answered) in enumerate(itertools.pairwise(parsed.dialogue.spoken), 2):
        if asked.role == PATIENT or not content_words(answered.content, parsed.language):
            continue
        question, answer = (
            content_words(message.content, parsed.language) - courtesies() - _restating()
            for message in (asked, answered)
        )
        if len(question) > 1 and answer and any(question == one and answer <= other for one, other in matters):
            yield f"{asked.content!r} and its answer: said before in other words", number
        matters.append((question, answer))
        exchange = tuple(" ".join(words(message.content)) for message in (asked, answered))
        if exchange in exchanges:
            yield f"{asked.content!r} and its answer: said before", number
        exchanges.add(exchange)
    echoes = dict(_echoes(parsed))
    if len(echoes) >= ECHOES or any(length >= LONG_ECHO for length in echoes.values()):
        yield "the turn only repeats what the other speaker has just said", min(echoes)


def _echoes(parsed: ParsedDialogue) -> Iterator[tuple[int, int]]:
    """Yield the turns without any content word beyond the other speaker's last turn: number, content words."""
    content = [content_words(message.content, parsed.language) for message in parsed.dialogue.spoken]
    for number, (heard, said) in enumerate(itertools.pairwise(content), 2):
        if len(said) > 1 and said <= heard and len(said) >= ECHOED * len(heard):
            yield number, len(said)


def roles_swapped(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a patient who asks while the physician is asked, or who speaks like a case report."""
    asked = {PATIENT: 0, PHYSICIAN: 0}
    for message in parsed.dialogue.spoken:
        asked[message.role] += message.content.rstrip().endswith(("?", "？"))
    own = Counter(role for _, role, sentence in parsed.statements if _PATTERNS["of_oneself"].search(sentence))
    most = 1 if own[PHYSICIAN] > own[PATIENT] else max(3, len(parsed.dialogue.spoken) // 6)
    if asked[PATIENT] > asked[PHYSICIAN] + most:
        yield f"the patient asks {asked[PATIENT]} questions, the physician only {asked[PHYSICIAN]}", None
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        if message.role == PATIENT and (found := _PATTERNS["of_a_patient"].search(message.content)):
            yield f"the patient says {found[0]!r}, as somebody writing about a patient would", number


def begun_again(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a greeting in the middle: the turns are out of order, or two dialogues are joined."""
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        if _GREETINGS < number < len(parsed.dialogue.spoken) and _PATTERNS["greets"].search(message.content):
            yield "the conversation starts again", number


def no_language(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a dialogue, or a turn, that is not in the note's language or has its words in no order."""
    if parsed.dialogue.language not in ("en", "zh"):
        return
    english = parsed.language == "en"
    turns = [{stem(word) for word in words(message.content)} for message in parsed.dialogue.spoken]
    said_in = Counter(itertools.chain.from_iterable(turns))
    known = {stem(word) for word in (*words(parsed.note), *common_words(), *_ENGLISH)} | {
        word for word, n in said_in.items() if n > 1
    }
    for number, (turn, message) in enumerate(zip(turns, parsed.dialogue.spoken, strict=True), 1):
        foreign = _PATTERNS["foreign_to_english" if english else "foreign_to_chinese"].findall(message.content)
        unknown = sum(word in known or "'" in word for word in turn) < KNOWN * len(turn)
        # Nor have a chart's findings the order of sentences: "Mother's blood group O, baby's A", 腹软.
        new = (clause for clause in re.split("[，。；,;]|[.] ", message.content) if clause not in parsed.dialogue.note)
        if scrambled(", ".join(new), parsed.language):
            yield "the words make no sentence", number
        if len(foreign) >= FOREIGN or (english and len(turn) >= FEWEST and unknown):
            yield "not written in the language of the note", number


def scrambled(text: str, language: Language) -> bool:
    """Return whether a text's words are in random order; random Chinese has hardly any two-character words."""
    if language == "en":
        found = len(_PATTERNS["scrambled"].findall(text))
        return found >= 2 and found > MISPLACED * len(text.split())
    cut = [word for word in words(text) if has_chinese(word)]
    signs = sum(map(len, cut))
    return signs >= SIGNS and sum(len(word) == 1 for word in cut) > SINGLE * signs


def supposes(text: str, diseases: Sequence[str], language: Language) -> bool:
    """Return whether a text suspects one of the diseases under any of its everyday names."""
    supposed = [sentence for sentence in sentences(text) if _PATTERNS["supposes"].search(sentence)]
    if not supposed:
        return False
    names = {name for disease in diseases for name, _ in terms_in(disease, rules_of(language))}
    names &= illnesses(vague=True)
    found = (one for sentence in supposed for one in terms_in(sentence, rules_of(language)))
    return any(name in names and not negated for name, negated in found)


Rule = Callable[[ParsedDialogue], Iterator[Finding]]


def only_where(holds: Callable[[ParsedDialogue], bool], rule: Rule) -> Rule:
    """Restrict a rule to dialogues for which ``holds`` is true; it reports nothing for others."""

    @wraps(rule)
    def gate(parsed: ParsedDialogue) -> Iterator[Finding]:
        return rule(parsed) if holds(parsed) else iter(())

    return gate


def is_english(parsed: ParsedDialogue) -> bool:
    """Whether the rules of English apply."""
    return parsed.language == "en"


RULES: Mapping[str, Rule] = {
    "covers_the_note": missing,
    "in_proportion": out_of_proportion,
    "agrees_with_the_note": contradicted,
    "side_of_the_note": other_side,
    "numbers_of_the_note": other_number,
    "nothing_invented": invented,
    "not_repeated": repeated,
    "begins_once": begun_again,
    "roles_kept": roles_swapped,
    "in_the_language": no_language,
}


@cache
def complaints() -> frozenset[str]:
    """Return the terms of complaints and diseases, without those that come up in every conversation."""
    terms = list(word_list("medical_terms")["terms"])
    return frozenset(terms[: terms.index("operation")]) - set(_LISTS["vague"].split(", "))


@cache
def illnesses(*, vague: bool = False) -> frozenset[str]:
    """Return the terms of diseases; those that come up in every conversation only if ``vague``."""
    terms = list(word_list("medical_terms")["terms"])
    found = frozenset(terms[terms.index("hypertension") : terms.index("operation")])
    return found if vague else found & complaints()


@lru_cache(maxsize=1 << 13)  # each section is checked with all before it, against the same note
def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the stems of a text's content words; for Chinese, pairs of adjacent characters."""
    if language == "zh":
        signs = re.findall(r"[\u4e00-\u9fff]|\d+", text)
        return frozenset(one + other for one, other in itertools.pairwise(signs))
    found = (word for word in words(text) if word not in common_words() and (len(word) > 2 or word.isdigit()))
    return frozenset(map(stem, found))


def denies(reply: str) -> bool:
    """Return whether a reply begins with a no."""
    return _PATTERNS["no"].match(reply) is not None


def denies_something(text: str) -> bool:
    """Return whether a text has a word of denial."""
    return _PATTERNS["denial"].search(text) is not None


def affirms(reply: str) -> bool:
    """Return whether a reply begins with a yes."""
    return _PATTERNS["yes"].match(reply) is not None


@cache
def courtesies() -> frozenset[str]:
    """Return the stems of words of courtesy, which carry no content."""
    return frozenset(map(stem, _LISTS["courtesies"].split()))


@cache
def _restating() -> frozenset[str]:
    return frozenset(map(stem, _LISTS["restating"].split()))


@cache
def common_words() -> frozenset[str]:
    """Return the words that are common to all conversations."""
    return frozenset(_LISTS["common"].split())


def _length(text: str) -> int:
    return len(re.findall(r"[\u4e00-\u9fff]{2}|[^\W\u4e00-\u9fff]+", text))


def sides_in(text: str) -> set[str]:
    """Return the sides that a text mentions."""
    return {side for mention in mentions(_PATTERNS["no_side"].sub(" ", text)) for side in mention.sides}


def _counts_the_same(text: str, number: str, counted: set[str]) -> bool:
    after = re.search(rf"\b{re.escape(number)}[ -]([a-z]+)", text, re.IGNORECASE)
    age = re.search(rf"\bI(?:'m| am) {re.escape(number)}", text, re.IGNORECASE)
    return (after is not None and stem(after[1].casefold()) in counted) or (age is not None and "year" in counted)
