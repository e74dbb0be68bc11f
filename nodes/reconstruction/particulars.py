"""Rules that compare particulars of a dialogue with its note, on the basis of `content`.

They cover times, medicines, allergies, treatments, illnesses, whose history is told, and the patient's sex.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.demographics import demographics
from cases.text.fact_preservation import facts_in_words, terms_in
from cases.text.numbers import spans_of_time
from cases.text.sentences import sentences
from cases.text.words import stem, words
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import OTHER_SEX
from nodes.reconstruction.parsed import (
    Finding,
    ParsedDialogue,
    Rule,
    affirms,
    complaints,
    content_words,
    illnesses,
    is_english,
    only_where,
)

_PATTERNS = patterns("nodes.reconstruction", "particulars")
_SAME_KIN = data_file("nodes.reconstruction", "particulars")["same_kin"]
ORDERED, SUPPORTED = 3, 1 / 3  # minimum words of an order; minimum share of them in the note
SPOKEN_OF = 2  # pronouns of the other sex
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ASKED_BEFORE = 4  # turns back to the question before the last


def other_time(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a length of time or a month that replaces one of the note.

    The note has the number with another unit (two years for two days), or the unit with another number that nobody
    says; or it names or dates another month that nobody says.
    """
    known, said = spans_of_time(parsed.dialogue.note), spans_of_time(parsed.text)
    unsaid = [one for one in known if one.amount[0].isdigit() and not any(one.lasts_as(other) for other in said)]
    months = _months_in(parsed.dialogue.note)
    missing = months - _months_in(parsed.text)
    for number, _, sentence in parsed.statements:
        for span in spans_of_time(sentence):
            if any(one.lasts_as(span) for one in known):
                continue
            if any(one.amount == span.amount for one in known):
                yield f"{span} is not in the note, which uses another unit", number
            elif span.amount[0].isdigit() and (others := [str(one) for one in unsaid if one.unit == span.unit]):
                yield f"{span}, but nobody says the note's {facts_in_words(others, parsed.language)}", number
        if missing and (new := _months_in(sentence) - months):
            yield f"month {min(new)}, but nobody says the note's {', '.join(map(str, sorted(missing)))}", number


def _months_in(text: str) -> set[int]:
    """Return the months that a text names or dates, from 1 (English)."""
    named = {MONTHS.index(found[0][:3].casefold()) + 1 for found in _PATTERNS["month"].finditer(text)}
    dated = {int(found[1] or found[2]) for found in _PATTERNS["date"].finditer(text)}
    return named | {month for month in dated if 1 <= month <= len(MONTHS)}


def other_medicine(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a medicine that the note does not have.

    An over-the-counter one counts only if the note has a medicine that nobody mentions.
    """
    known = {found[0].casefold() for found in _PATTERNS["medicine"].finditer(parsed.dialogue.note)}
    text = parsed.text.casefold()
    unmentioned = [name for name in known if name not in text]
    for number, _, sentence in parsed.statements:
        named = {
            found[0].casefold()
            for found in _PATTERNS["medicine"].finditer(sentence)
            if not _PATTERNS["denies"].search(sentence[: found.start()])
        }
        new = {name for name in named - known if unmentioned or not _PATTERNS["sold_freely"].search(name)}
        if new:
            named_here, named_there = (facts_in_words(sorted(names), parsed.language) for names in (new, unmentioned))
            yield f"{named_here}: the note names {named_there or 'no such medicine'}", number


def other_allergy(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report an allergy denied although the note records one, or stated although it records none."""
    recorded = _PATTERNS["allergy"].search(parsed.dialogue.note) is not None
    none = _PATTERNS["no_allergy"].search(parsed.dialogue.note)  # its heading may stand on a line of its own
    asked = None
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        mentioned = _PATTERNS["allergy"].search(message.content)
        if message.role == PHYSICIAN:
            asked = mentioned
            continue
        all_denied = asked and _PATTERNS["none_at_all"].search(message.content)
        denied = all_denied or _PATTERNS["denies_allergy"].search(message.content)
        has = none and asked and affirms(message.content)
        if not denied and (has or ((none or not recorded) and _PATTERNS["has_allergy"].search(message.content))):
            yield "an allergy is reported, but the note records none", number
        elif denied and recorded and not none:
            yield "an allergy is denied, but the note records one", number


def other_treatment(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a treatment that the physician starts or orders, or an operation of the patient, that the note lacks."""
    any_operation = _PATTERNS["any_operation"].search(parsed.dialogue.note)
    known, of_note = {stem(word) for word in words(parsed.note)}, content_words(parsed.note, parsed.language)
    for number, role, sentence in parsed.statements:
        if role == PATIENT and (had := _PATTERNS["had_operation"].search(sentence)):
            name = next(filter(None, had.groups())).casefold()
            other_name = any_operation and not _PATTERNS["always_called_so"].search(name)
            if not other_name and name[:6] not in parsed.dialogue.note.casefold():
                yield f"{sentence!r}: the note does not mention this operation", number
        if role != PHYSICIAN:
            continue
        for found in filter(None, chain.from_iterable(_PATTERNS["treats"].findall(sentence))):
            if stem(found.casefold()) not in known:
                yield f"{found!r} is started, but the note does not mention it", number
        if _PATTERNS["orders"].search(sentence) and _PATTERNS["of_treatment"].search(sentence):
            ordered = content_words(sentence, parsed.language)
            if len(ordered) >= ORDERED and len(ordered & of_note) < SUPPORTED * len(ordered):
                yield f"{sentence!r} is ordered, but the note does not mention it", number


def other_illness(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report an illness that nobody knows of: that the patient claims or suspects, or the physician concludes.

    The note knows illnesses; for the physician, the dialogue's diseases and the patient's words do too.
    """
    dialogue = parsed.dialogue
    of_patient = [message.content for message in dialogue.spoken if message.role == PATIENT]
    of_both = "\n".join([parsed.note, *dialogue.diseases, dialogue.inferred, *of_patient])
    known: dict[str, tuple[frozenset[str], set[str]]] = {
        role: (content_words(text, parsed.language), {name for name, _ in terms_in(text, parsed.language)})
        for role, text in ((PATIENT, parsed.note), (PHYSICIAN, of_both))
    }
    for number, role, sentence in parsed.statements:
        states, unless = ("claims", "of_another") if role == PATIENT else ("concludes", "doubts")
        if not _PATTERNS[states].search(sentence) or _PATTERNS[unless].search(sentence):
            continue
        if new := _illnesses_in(_PATTERNS["no_doubt"].sub(" ", sentence), parsed.language, *known[role]):
            yield f"{sentence!r}: nobody knows of {facts_in_words(sorted(new), parsed.language)}", number


def _illnesses_in(text: str, language: Language, known: frozenset[str], known_terms: set[str]) -> set[str]:
    """Return the unknown illnesses that a text does not deny: listed ones, and words formed like illnesses."""
    listed = {name for name, negated in terms_in(text, language) if not negated and name in illnesses()}
    formed = {
        found[0]
        for found in _PATTERNS["illness"].finditer(text)
        if not _PATTERNS["denies"].search(text[: found.start()])
        and not content_words(found[0], language) & known
        and not {name for name, _ in terms_in(found[0], language)} & known_terms
    }
    return listed - known_terms | formed


def denied_at_the_end(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report what the physician states in the second half without doubt, and the note denies and nobody affirms."""
    dialogue, affirmed = parsed.dialogue, parsed.of_patient.affirmed
    denied = (parsed.of_note.denied - affirmed.keys()) & {*complaints(), *illnesses(vague=True), "smoking", "alcohol"}
    for number, role, sentence in parsed.statements:
        if role != PHYSICIAN or 2 * number <= len(dialogue.spoken):
            continue
        of_somebody = any(_PATTERNS[name].search(sentence) for name in ("of_you", "third_female", "third_male"))
        if of_somebody and not any(_PATTERNS[name].search(sentence) for name in ("doubts", "denies")):
            stated = {name for name, negated in terms_in(sentence, parsed.language) if not negated}
            if against := stated & denied:
                yield f"{sentence!r}: the note denies {facts_in_words(sorted(against), parsed.language)}", number


def of_somebody_else(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a person of whom more than daily life is told, and nobody asked and the note says nothing (English).

    Dialogues in which a relative speaks for the patient are skipped.
    """
    heard = " ".join(message.content for message in parsed.dialogue.spoken if message.role == PHYSICIAN)
    if len(_PATTERNS["he_or_she"].findall(heard)) > len(_PATTERNS["of_you"].findall(heard)):
        return
    if any(_PATTERNS[f"child_{sex}"].search(heard) for sex in OTHER_SEX.values()):
        return
    of_kin = [text for text in sentences(parsed.note) if _PATTERNS["kin"].search(text)]
    known = content_words(" ".join(of_kin), parsed.language)
    for number, role, sentence in parsed.statements:
        other = _PATTERNS["begins_with_another"].search(sentence)
        if role != PATIENT or not other:
            continue
        asked = " ".join(parsed.dialogue.spoken[at].content for at in (number - 2, number - ASKED_BEFORE) if at >= 0)
        rest = sentence[other.end() :]
        in_note = re.search(_SAME_KIN.get(other[1].casefold(), other[1]), parsed.dialogue.note, re.IGNORECASE)
        told_of = in_note or _PATTERNS["kin"].search(asked) or content_words(rest, parsed.language) & known
        if not told_of and not _PATTERNS["of_daily_life"].search(rest):
            yield f"{sentence!r}: nobody asked about the {other[1]}, whom the note does not mention", number


def other_address(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a form of address, a role or a body part that belongs to the other sex (English).

    Those who speak for the patient may be of the other sex: the physician then says "she" or "he" as often as "you".
    """
    sex = demographics(parsed.dialogue.note, brief=True).sex or _sex_of_all_pronouns(parsed.dialogue.note)
    if sex is None:
        return
    heard = " ".join(message.content for message in parsed.dialogue.spoken if message.role == PHYSICIAN)
    of_another, of_you = (len(_PATTERNS[name].findall(heard)) for name in ("he_or_she", "of_you"))
    of_others = of_another >= max(1, of_you)
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        by = "addressed" if message.role == PHYSICIAN else "body"
        if not of_others and (found := _PATTERNS[f"{by}_{OTHER_SEX[sex]}"].search(message.content)):
            yield f"{found[0]!r} is said of a patient who is {sex}", number
    if spoken_of := _as_the_other_sex(parsed, OTHER_SEX[sex], sex):
        yield f"{spoken_of!r} is said of a patient who is {sex}", None


def _as_the_other_sex(parsed: ParsedDialogue, other: Sex, sex: Sex) -> str | None:
    """Return how the patient is spoken of as of the other sex throughout, as a child or in the third person, or None.

    The third person counts only if nobody else is spoken of.
    """
    child = _PATTERNS[f"child_{other}"].search(parsed.text)
    young = _PATTERNS[f"young_{other}"].search(parsed.dialogue.note)
    if child and not young and not _PATTERNS[f"child_{sex}"].search(parsed.text):
        return child[0]
    said = _PATTERNS[f"third_{other}"].findall(parsed.text)
    known = _PATTERNS[f"pronoun_{other}"].search(parsed.dialogue.note) or _PATTERNS[f"third_{sex}"].search(parsed.text)
    if len(said) >= SPOKEN_OF and not known and not _PATTERNS["somebody_else"].search(parsed.text):
        return str(said[0])
    return None


def _sex_of_all_pronouns(note: str) -> Sex | None:
    """Return the sex of the note's pronouns, if all are of one sex."""
    found = [sex for sex in OTHER_SEX.values() if _PATTERNS[f"pronoun_{sex}"].search(note)]
    return found[0] if len(found) == 1 else None


RULES: Mapping[str, Rule] = {
    "times_of_the_note": other_time,
    "medicines_of_the_note": other_medicine,
    "allergies_of_the_note": other_allergy,
    "treatment_of_the_note": other_treatment,
    "own_history": only_where(is_english, of_somebody_else),
    "illness_of_the_note": other_illness,
    "closing_of_the_note": denied_at_the_end,
    "address_of_the_note": only_where(is_english, other_address),
}
