"""Rules that check what a dialogue says against its note: missing, denied, changed and invented content.

Rules compare words. They pass at least 95 of 100 real dialogues about real notes; what words cannot decide is left to
the reader (``entailment``).
"""

import re
from collections.abc import Iterator, Mapping

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.fact_preservation import fact_in_words, facts_in_words, terms_in
from cases.text.jargon import in_lay_words
from cases.text.numbers import known_numbers, spoken_numbers, stated_numbers
from cases.text.sentences import sentences
from cases.text.statements import mentions
from cases.text.words import stem
from cases.vocabulary import data_file, patterns
from nodes.reconstruction.parsed import Finding, ParsedDialogue, Rule, complaints, content_words, courtesies, length_of

_PATTERNS = patterns("nodes.reconstruction", "content")
_LISTS = data_file("nodes.reconstruction", "content")["list"]
COVERED = 0.1  # minimum share of the note's words, if it has ENOUGH of them
ENOUGH = 10
OF_MATTER = 0.5  # minimum words per turn beyond courtesies, if none is from the note
SHORTEST = 0.75  # dialogue length / note length
PLAYED = 0.55  # SHORTEST for a role-play, which ends when its turns are used up
RECITED = 60  # words of a reply, over which it must not be most of the note
INVENTED = 3  # complaints not in the note; one is enough if the patient volunteers it
OTHER_SEX: Mapping[Sex | None, Sex] = {"female": "male", "male": "female"}


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
    note, words_of_note = length_of(parsed.dialogue.note), content_words(parsed.dialogue.note, parsed.language)
    lengths = [length_of(message.content) for message in parsed.dialogue.spoken]
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
            yield f"{fact_in_words(name, parsed.language)} is denied, but the note records it", turn
    for name, turn in affirmed.items():
        if name in excluded and name not in denied and name in {*complaints(), "smoking"}:
            yield f"{fact_in_words(name, parsed.language)} is affirmed, but the note denies it", turn
    for number, role, sentence in parsed.statements:
        if role == PATIENT and _PATTERNS["denies_all"].search(sentence):
            for name, negated in sorted(terms_in(sentence, parsed.language)):
                if negated and name in recorded:
                    yield f"{fact_in_words(name, parsed.language)} is denied, but the note records it", number
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
                said, noted = (facts_in_words(side, parsed.language) for side in (sides, known))
                yield f"the {said} side, but the note has the {noted}", number
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
                unsaid_ones = facts_in_words((f"{one:g}" for one in sorted(in_place)), parsed.language)
                yield f"{wording!r}, but nobody says the note's {unsaid_ones}", number


def _unsaid_numbers(parsed: ParsedDialogue, known: frozenset[float]) -> set[float]:
    """Return the note's numbers that nobody says in digits or words; 1 is left out ("one" is often no number)."""
    spoken = known_numbers(parsed.text)
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
        yield f"{facts_in_words(new, parsed.language)}: the note does not mention it", min(new.values())
    for number, role, sentence in parsed.statements:
        if role == PHYSICIAN and _PATTERNS["reports"].search(sentence):
            unknown = {name for name, negated in terms_in(sentence, parsed.language) if not negated} - every
            if grave := unknown & set(_LISTS["found"].split(", ")):
                yield f"{facts_in_words(sorted(grave), parsed.language)} is reported, but the note has none", number


RULES: Mapping[str, Rule] = {
    "covers_the_note": missing,
    "in_proportion": out_of_proportion,
    "agrees_with_the_note": contradicted,
    "side_of_the_note": other_side,
    "numbers_of_the_note": other_number,
    "nothing_invented": invented,
}


def sides_in(text: str) -> set[str]:
    """Return the sides that a text mentions."""
    return {side for mention in mentions(_PATTERNS["no_side"].sub(" ", text)) for side in mention.sides}


def _counts_the_same(text: str, number: str, counted: set[str]) -> bool:
    after = re.search(rf"\b{re.escape(number)}[ -]([a-z]+)", text, re.IGNORECASE)
    age = re.search(rf"\bI(?:'m| am) {re.escape(number)}", text, re.IGNORECASE)
    return (after is not None and stem(after[1].casefold()) in counted) or (age is not None and "year" in counted)
