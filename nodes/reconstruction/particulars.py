"""Rules that compare particulars of a dialogue with its note, on the basis of `content`.

They cover times, medicines, treatments and the patient's sex.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.demographics import demographics
from cases.text.numbers import spans_of_time
from cases.text.words import stem, words
from cases.vocabulary import patterns
from nodes.reconstruction.content import OTHER_SEX, Finding, Rule, Told, is_english, only_where

_PATTERNS = patterns("nodes.reconstruction", "particulars")


def other_time(told: Told) -> Iterator[Finding]:
    """Report a length of time whose number is in the note with another unit: two years for two days."""
    known = spans_of_time(told.dialogue.note)
    for number, role, sentence in told.statements:
        for span in spans_of_time(sentence) if role == PATIENT else ():
            if any(one.amount == span.amount for one in known) and not any(one.lasts_as(span) for one in known):
                yield f"{span} is not in the note, which uses another unit", number


def other_medicine(told: Told) -> Iterator[Finding]:
    """Report a medicine that the note does not have.

    An over-the-counter one counts only if the note has a medicine that nobody mentions.
    """
    known = {found[0].casefold() for found in _PATTERNS["medicine"].finditer(told.dialogue.note)}
    text = " ".join(message.content.casefold() for message in told.dialogue.spoken)
    unmentioned = [name for name in known if name not in text]
    for number, _, sentence in told.statements:
        named = {
            found[0].casefold()
            for found in _PATTERNS["medicine"].finditer(sentence)
            if not _PATTERNS["denies"].search(sentence[: found.start()])
        }
        new = {name for name in named - known if unmentioned or not _PATTERNS["sold_freely"].search(name)}
        if new:
            yield (
                f"{', '.join(sorted(new))}: the note names {', '.join(sorted(unmentioned)) or 'no such medicine'}",
                number,
            )


def other_treatment(told: Told) -> Iterator[Finding]:
    """Report a treatment that the physician starts and the note does not have."""
    known = {stem(word) for word in words(told.note)}
    for number, role, sentence in told.statements:
        if role != PHYSICIAN:
            continue
        for found in filter(None, chain.from_iterable(_PATTERNS["treats"].findall(sentence))):
            if stem(found.casefold()) not in known:
                yield f"{found!r} is started, but the note does not mention it", number


def other_address(told: Told) -> Iterator[Finding]:
    """Report a form of address or a body part that belongs to the other sex (English)."""
    sex = demographics(told.dialogue.note, brief=True).sex or _sex_by_pronouns(told.dialogue.note)
    if sex is None:
        return
    of_others = any(_PATTERNS[f"third_{sex}"].search(message.content) for message in told.dialogue.spoken)
    for number, message in enumerate(told.dialogue.spoken, 1):
        by = "addressed" if message.role == PHYSICIAN else "body"
        if not of_others and (found := _PATTERNS[f"{by}_{OTHER_SEX[sex]}"].search(message.content)):
            yield f"{found[0]!r} is said of a patient who is {sex}", number


def _sex_by_pronouns(note: str) -> Sex | None:
    """Return the sex of the note's pronouns, if all are of one sex."""
    found = [sex for sex in OTHER_SEX.values() if _PATTERNS[f"pronoun_{sex}"].search(note)]
    return found[0] if len(found) == 1 else None


RULES: Mapping[str, Rule] = {
    "times_of_the_note": other_time,
    "medicines_of_the_note": other_medicine,
    "treatment_of_the_note": other_treatment,
    "address_of_the_note": only_where(is_english, other_address),
}
