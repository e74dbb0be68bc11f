"""Particulars of a dialogue held against its note, by rules as in `content` and on what it takes apart.

Times, medicines, allergies, treatments, whose illness it is, and whether what is said answers what was asked.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.demographics import demographics
from cases.text.fact_preservation import measures, terms_in
from cases.text.numbers import spans_of_time
from cases.text.sentences import sentences
from cases.text.statements import mentions
from cases.text.words import stem, words
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import REASON_TOLD, Finding, Rule, Told, affirms, complaints, content_words, illnesses

_PATTERNS = patterns("nodes.reconstruction", "particulars")
_PHYSICAL = frozenset(data_file("nodes.reconstruction", "particulars")["physical_units"])
ORDERED, SUPPORTED = 3, 1 / 3  # words of an order, at least, and their share that the note has
AT_ONCE = 2  # complaints that the note does not know, in one reply
TURNED = 2  # words that the note knows only denied, and a reply only affirmed


def other_time(told: Told) -> Iterator[Finding]:
    """Two days become two years: the note has the number, and another unit."""
    known = spans_of_time(told.dialogue.note)
    for number, role, sentence in told.statements:
        for span in spans_of_time(sentence) if role == PATIENT else ():
            if any(one.amount == span.amount for one in known) and not any(one.lasts_as(span) for one in known):
                yield f"{span} is not in the note, which has another unit", number


def other_unit(told: Told) -> Iterator[Finding]:
    """Grams for milligrams: the note has the number with another unit."""
    known = _with_units(told.dialogue.note)
    for number, _, sentence in told.statements:
        for value, units in _with_units(sentence).items():
            if value in known and not units & known[value]:
                yield f"{value} {', '.join(sorted(units))}: the note has another unit", number


def _with_units(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for value, _, unit in (one.partition(" ") for one in measures(text)):
        if unit in _PHYSICAL:
            found.setdefault(value, set()).add(unit)
    return found


def other_medicine(told: Told) -> Iterator[Finding]:
    """A medicine that the note has not; what is sold freely only where the note has another, of which nobody speaks."""
    known = {found[0].casefold() for found in _PATTERNS["medicine"].finditer(told.dialogue.note)}
    text = " ".join(message.content.casefold() for message in told.dialogue.spoken)
    unsaid = [name for name in known if name not in text]
    for number, _, sentence in told.statements:
        said = {
            found[0].casefold()
            for found in _PATTERNS["medicine"].finditer(sentence)
            if not _PATTERNS["denies"].search(sentence[: found.start()])
        }
        new = {name for name in said - known if unsaid or not _PATTERNS["sold_freely"].search(name)}
        if new:
            yield f"{', '.join(sorted(new))}: the note names {', '.join(sorted(unsaid)) or 'none such'}", number


def other_allergy(told: Told) -> Iterator[Finding]:
    """An allergy is denied that the note records, or told where it records none."""
    if not _PATTERNS["allergy"].search(told.dialogue.note):
        return
    about = [one for one in sentences(told.dialogue.note) if _PATTERNS["allergy"].search(one)]
    none = any(_PATTERNS["no_allergy"].search(one) for one in about)
    asked = False
    for number, message in enumerate(told.dialogue.spoken, 1):
        if message.role == PHYSICIAN:
            asked = bool(_PATTERNS["allergy"].search(message.content))
            continue
        said = bool(_PATTERNS["allergy"].search(message.content))
        denied = bool(
            _PATTERNS["denies_allergy"].search(message.content)
            or (asked and _PATTERNS["none_at_all"].search(message.content))
        )
        has = affirms(message.content) if asked else _PATTERNS["has_allergy"].search(message.content)
        if none and has and (said or asked) and not denied:
            yield "an allergy is told, and the note records none", number
        elif about and not none and denied:
            yield "an allergy is denied, and the note records one", number


def other_treatment(told: Told) -> Iterator[Finding]:
    """The physician begins or orders a treatment of which the note knows nothing."""
    known, matter = {stem(word) for word in words(told.note)}, content_words(told.note, told.language)
    for number, role, sentence in told.statements:
        if role != PHYSICIAN:
            continue
        for found in filter(None, chain.from_iterable(_PATTERNS["treats"].findall(sentence))):
            if stem(found.casefold()) not in known:
                yield f"{found!r} is begun, and the note knows nothing of it", number
        if _PATTERNS["orders"].search(sentence) and _PATTERNS["of_treatment"].search(sentence):
            ordered = content_words(sentence, told.language)
            if len(ordered) >= ORDERED and len(ordered & matter) < SUPPORTED * len(ordered):
                yield f"{sentence!r} is ordered, and the note knows nothing of it", number


def of_a_relative(told: Told) -> Iterator[Finding]:
    """What the note tells of a relative alone becomes the patient's own."""
    of_kin, own = set[str](), set[str]()
    for sentence in sentences(told.note):
        found = {name for name, negated in terms_in(sentence, told.language) if not negated}
        (of_kin if _PATTERNS["kin"].search(sentence) else own).update(found)
    for number, role, sentence in told.statements:
        if role == PATIENT and _PATTERNS["had"].search(sentence) and not _PATTERNS["kin"].search(sentence):
            for name, negated in terms_in(sentence, told.language):
                if not negated and name in of_kin - own:
                    yield f"{name} is a relative's in the note", number


def all_at_once(told: Told) -> Iterator[Finding]:
    """Another patient's history: one reply with complaints that the note does not know."""
    every = told.of_note[0]
    for number in range(1, len(told.dialogue.spoken) + 1):
        own = " ".join(text for at, role, text in told.statements if at == number and role == PATIENT)
        found = terms_in(own, told.language)
        new = {name for name, negated in found if not negated} - every
        if len(new & complaints()) >= AT_ONCE:
            yield f"{', '.join(sorted(new))}: the note does not mention it", number


def other_illness(told: Told) -> Iterator[Finding]:
    """The patient claims, or supposes, to have an illness of which the note knows nothing."""
    known, every = content_words(told.note, told.language), told.of_note[0]
    for number, role, sentence in told.statements:
        if role != PATIENT or _PATTERNS["of_another"].search(sentence) or not _PATTERNS["claims"].search(sentence):
            continue
        terms, others = _illnesses_in(_PATTERNS["no_doubt"].sub(" ", sentence), told.language)
        named = terms - every
        named |= {
            found
            for found in others
            if not content_words(found, told.language) & known
            and not {name for name, _ in terms_in(found, told.language)} & every
        }
        if named - every:
            yield f"{sentence!r}: the note knows nothing of {', '.join(sorted(named - every))}", number


def _illnesses_in(text: str, language: Language) -> tuple[set[str], set[str]]:
    """The illnesses of the list that a text does not deny, and what else is called like one."""
    terms = {name for name, negated in terms_in(text, language) if not negated and name in illnesses()}
    others = {
        found[0]
        for found in _PATTERNS["illness"].finditer(text)
        if not _PATTERNS["denies"].search(text[: found.start()])
    }
    return terms, others


def concluded_at_once(told: Told) -> Iterator[Finding]:
    """The physician says what it is when the patient has told no more than the reason of the visit (English).

    A few turns about a diagnosis alone take no history.
    """
    for number, role, sentence in told.statements:
        if (
            role == PHYSICIAN
            and number <= REASON_TOLD < len(told.dialogue.spoken) / 2
            and not _PATTERNS["recalls"].search(sentence)
        ):
            found = _PATTERNS["concludes"].search(sentence)
            if found and any(_illnesses_in(sentence[found.start() :], told.language)):
                yield f"{sentence!r}: the physician concludes before any history is taken", number


def turned_round(told: Told) -> Iterator[Finding]:
    """The patient affirms in the note's own words what it denies."""
    parts = [part for sentence in sentences(told.note) for part in _PATTERNS["says_too"].split(sentence)]
    read = {(one.word, one.negated) for part in parts for one in mentions(part)}
    denied = {word for word, negated in read if negated and (word, False) not in read}
    for number, role, sentence in told.statements:
        if role == PATIENT and not _PATTERNS["denies"].search(sentence):
            said = {one.word for one in mentions(sentence) if not one.negated}
            own = told.language == "zh" or _PATTERNS["had"].search(sentence)
            if own and len(said & denied) >= max(TURNED, len(said) // 3):
                yield f"{', '.join(sorted(said & denied))}: affirmed, and the note denies it", number
            if _PATTERNS["left_of_denial"].search(sentence):
                yield f"{sentence!r} is a denial that denies nothing", number
    for number, (before, message) in enumerate(pairwise(told.dialogue.spoken), 2):
        last = (sentences(before.content) or [""])[-1]
        if message.role == PATIENT and last.endswith(("?", "？")) and affirms(message.content):
            asked = {one.word for one in mentions(last) if not one.sides}
            if asked & denied and not any((word, False) in read for word in asked):
                yield f"{', '.join(sorted(asked & denied))}: affirmed, and the note denies it", number


def other_address(told: Told) -> Iterator[Finding]:
    """The patient is addressed as, or has the organs of, the other sex."""
    sex = demographics(told.dialogue.note, brief=True).sex or _by_pronouns(told.dialogue.note)
    if sex is None or told.language != "en":
        return
    other = {"female": "male", "male": "female"}[sex]
    of_others = any(_PATTERNS[f"third_{sex}"].search(message.content) for message in told.dialogue.spoken)
    for number, message in enumerate(told.dialogue.spoken, 1):
        by = "addressed" if message.role == PHYSICIAN else "body"
        if not of_others and (found := _PATTERNS[f"{by}_{other}"].search(message.content)):
            yield f"{found[0]!r} of a patient who is {sex}", number


def _by_pronouns(note: str) -> Sex | None:
    """The sex of whom a note calls he alone, or she alone."""
    found: dict[Sex, bool] = {sex: bool(_PATTERNS[f"pronoun_{sex}"].search(note)) for sex in ("female", "male")}
    return next((sex for sex in found if list(found.values()).count(True) == 1 and found[sex]), None)


RULES: Mapping[str, Rule] = {
    "times_of_the_note": other_time,
    "units_of_the_note": other_unit,
    "medicines_of_the_note": other_medicine,
    "allergies_of_the_note": other_allergy,
    "treatment_of_the_note": other_treatment,
    "own_illness": of_a_relative,
    "illness_of_the_note": other_illness,
    "one_history": all_at_once,
    "history_first": concluded_at_once,
    "denials_kept": turned_round,
    "address_of_the_note": other_address,
}
