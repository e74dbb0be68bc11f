"""Rules that compare particulars of a dialogue with its note, on the basis of `content`.

They cover times, units, medicines, allergies, treatments, illnesses and whose they are, and the patient's sex.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise

from cases.case import Sex
from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.demographics import demographics
from cases.text.fact_preservation import measures, terms_in
from cases.text.numbers import spans_of_time
from cases.text.sentences import last_sentence, sentences
from cases.text.statements import mentions
from cases.text.words import stem, words
from cases.vocabulary import Language, data_file, patterns
from nodes.reconstruction.content import (
    OTHER_SEX,
    REASON_TOLD,
    Finding,
    Rule,
    Told,
    affirms,
    complaints,
    content_words,
    illnesses,
    is_english,
    only_where,
)

_PATTERNS = patterns("nodes.reconstruction", "particulars")
_PHYSICAL = frozenset(data_file("nodes.reconstruction", "particulars")["physical_units"])
ORDERED, SUPPORTED = 3, 1 / 3  # minimum words of an order; minimum share of them in the note
AT_ONCE = 2  # complaints of one reply that are not in the note
SPOKEN_OF = 2  # pronouns of the other sex
TURNED = 2  # words that the note only denies and a reply affirms


def other_time(told: Told) -> Iterator[Finding]:
    """Report a length of time whose number is in the note with another unit: two years for two days."""
    known = spans_of_time(told.dialogue.note)
    for number, role, sentence in told.statements:
        for span in spans_of_time(sentence) if role == PATIENT else ():
            if any(one.amount == span.amount for one in known) and not any(one.lasts_as(span) for one in known):
                yield f"{span} is not in the note, which uses another unit", number


def other_unit(told: Told) -> Iterator[Finding]:
    """Report a measure whose number is in the note with another unit: grams for milligrams."""
    known = _units_by_value(told.dialogue.note)
    for number, _, sentence in told.statements:
        for value, units in _units_by_value(sentence).items():
            if value in known and not units & known[value]:
                yield f"{value} {', '.join(sorted(units))}: the note uses another unit", number


def _units_by_value(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for value, _, unit in (one.partition(" ") for one in measures(text)):
        if unit in _PHYSICAL:
            found.setdefault(value, set()).add(unit)
    return found


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


def other_allergy(told: Told) -> Iterator[Finding]:
    """Report an allergy denied although the note records one, or stated although it records none."""
    if not _PATTERNS["allergy"].search(told.dialogue.note):
        return
    none = _PATTERNS["no_allergy"].search(told.dialogue.note)  # its heading may stand on a line of its own
    asked = None
    for number, message in enumerate(told.dialogue.spoken, 1):
        mentioned = _PATTERNS["allergy"].search(message.content)
        if message.role == PHYSICIAN:
            asked = mentioned
            continue
        all_denied = asked and _PATTERNS["none_at_all"].search(message.content)
        denied = all_denied or _PATTERNS["denies_allergy"].search(message.content)
        has = affirms(message.content) if asked else _PATTERNS["has_allergy"].search(message.content)
        if none and has and (mentioned or asked) and not denied:
            yield "an allergy is reported, but the note records none", number
        elif denied and not none:
            yield "an allergy is denied, but the note records one", number


def other_treatment(told: Told) -> Iterator[Finding]:
    """Report a treatment that the physician starts or orders and the note does not have."""
    known, of_note = {stem(word) for word in words(told.note)}, content_words(told.note, told.language)
    for number, role, sentence in told.statements:
        if role != PHYSICIAN:
            continue
        for found in filter(None, chain.from_iterable(_PATTERNS["treats"].findall(sentence))):
            if stem(found.casefold()) not in known:
                yield f"{found!r} is started, but the note does not mention it", number
        if _PATTERNS["orders"].search(sentence) and _PATTERNS["of_treatment"].search(sentence):
            ordered = content_words(sentence, told.language)
            if len(ordered) >= ORDERED and len(ordered & of_note) < SUPPORTED * len(ordered):
                yield f"{sentence!r} is ordered, but the note does not mention it", number


def of_a_relative(told: Told) -> Iterator[Finding]:
    """Report what the note tells only of a relative as the patient's own."""
    of_kin, own = set[str](), set[str]()
    for sentence in sentences(told.note):
        found = {name for name, negated in terms_in(sentence, told.language) if not negated}
        (of_kin if _PATTERNS["kin"].search(sentence) else own).update(found)
    for number, role, sentence in told.statements:
        if role == PATIENT and _PATTERNS["had"].search(sentence) and not _PATTERNS["kin"].search(sentence):
            for name, negated in terms_in(sentence, told.language):
                if not negated and name in of_kin - own:
                    yield f"{name} belongs to a relative in the note", number


def all_at_once(told: Told) -> Iterator[Finding]:
    """Report a reply with several complaints that are not in the note: another patient's history."""
    known = told.of_note[0]
    for number in range(1, len(told.dialogue.spoken) + 1):
        own = " ".join(text for at, role, text in told.statements if at == number and role == PATIENT)
        found = terms_in(own, told.language)
        new = {name for name, negated in found if not negated} - known
        if len(new & complaints()) >= AT_ONCE:
            yield f"{', '.join(sorted(new))}: the note does not mention it", number


def other_illness(told: Told) -> Iterator[Finding]:
    """Report an illness that the patient claims or suspects and the note does not have."""
    known, terms_of_note = content_words(told.note, told.language), told.of_note[0]
    for number, role, sentence in told.statements:
        if role != PATIENT or _PATTERNS["of_another"].search(sentence) or not _PATTERNS["claims"].search(sentence):
            continue
        terms, others = _illnesses_in(_PATTERNS["no_doubt"].sub(" ", sentence), told.language)
        named = terms - terms_of_note
        named |= {
            found
            for found in others
            if not content_words(found, told.language) & known
            and not {name for name, _ in terms_in(found, told.language)} & terms_of_note
        }
        if named - terms_of_note:
            yield f"{sentence!r}: the note does not mention {', '.join(sorted(named - terms_of_note))}", number


def _illnesses_in(text: str, language: Language) -> tuple[set[str], set[str]]:
    """Return the listed illnesses that a text does not deny, and other words formed like illnesses."""
    terms = {name for name, negated in terms_in(text, language) if not negated and name in illnesses()}
    others = {
        found[0]
        for found in _PATTERNS["illness"].finditer(text)
        if not _PATTERNS["denies"].search(text[: found.start()])
    }
    return terms, others


def concluded_at_once(told: Told) -> Iterator[Finding]:
    """Report a conclusion of the physician when the patient has told only the reason for the visit (English).

    Short dialogues, which discuss a diagnosis and take no history, are skipped.
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


def other_closing(told: Told) -> Iterator[Finding]:
    """Report what the physician states in the second half without doubt, and the note denies or nobody knows of.

    That is a complaint or illness that the note denies and the patient never affirms; or a diagnosis that is not in the
    note, among the dialogue's diseases or in the patient's words (English).
    """
    dialogue, (affirmed, _) = told.dialogue, told.of_patient
    of_patient = [message.content for message in dialogue.spoken if message.role == PATIENT]
    known = "\n".join([told.note, *dialogue.diseases, dialogue.inferred, *of_patient])
    known_words = content_words(known, told.language)
    known_terms = {name for name, _ in terms_in(known, told.language)}
    denied = (told.of_note[2] - affirmed.keys()) & {*complaints(), *illnesses(vague=True), "smoking", "alcohol"}
    for number, role, sentence in told.statements:
        if role != PHYSICIAN or 2 * number <= len(dialogue.spoken) or _PATTERNS["doubts"].search(sentence):
            continue
        stated = {name for name, negated in terms_in(sentence, told.language) if not negated}
        of_somebody = any(_PATTERNS[name].search(sentence) for name in ("of_you", "third_female", "third_male"))
        if of_somebody and not _PATTERNS["denies"].search(sentence) and (against := stated & denied):
            yield f"{sentence!r}: the note denies {', '.join(sorted(against))}", number
        elif _PATTERNS["concludes"].search(sentence):
            terms, others = _illnesses_in(sentence, told.language)
            new = (terms - known_terms) | {
                found
                for found in others
                if not content_words(found, told.language) & known_words
                and not {name for name, _ in terms_in(found, told.language)} & known_terms
            }
            if new:
                yield f"{sentence!r}: neither note nor patient mentions {', '.join(sorted(new))}", number


def turned_round(told: Told) -> Iterator[Finding]:
    """Report what the patient affirms in the note's own words although the note denies it."""
    parts = [part for sentence in sentences(told.note) for part in _PATTERNS["says_too"].split(sentence)]
    polarities = {(one.word, one.negated) for part in parts for one in mentions(part)}
    denied = {word for word, negated in polarities if negated and (word, False) not in polarities}
    for number, role, sentence in told.statements:
        if role == PATIENT and not _PATTERNS["denies"].search(sentence):
            affirmed = {one.word for one in mentions(sentence) if not one.negated}
            own = told.language == "zh" or _PATTERNS["had"].search(sentence)
            if own and len(affirmed & denied) >= max(TURNED, len(affirmed) // 3):
                yield f"{', '.join(sorted(affirmed & denied))}: affirmed, but the note denies it", number
            if _PATTERNS["left_of_denial"].search(sentence):
                yield f"{sentence!r} is a denial that denies nothing", number
    for number, (before, message) in enumerate(pairwise(told.dialogue.spoken), 2):
        last = last_sentence(before.content)
        if message.role == PATIENT and last.endswith(("?", "？")) and affirms(message.content):
            asked = {one.word for one in mentions(last) if not one.sides}
            if asked & denied and not any((word, False) in polarities for word in asked):
                yield f"{', '.join(sorted(asked & denied))}: affirmed, but the note denies it", number


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
    if spoken_of := _as_the_other_sex(told, OTHER_SEX[sex], sex):
        yield f"{spoken_of!r} is said of a patient who is {sex}", None


def _as_the_other_sex(told: Told, other: Sex, sex: Sex) -> str | None:
    """Return how the patient is spoken of as of the other sex throughout, as a child or in the third person, or None.

    The third person counts only if nobody else is spoken of.
    """
    child, young = _PATTERNS[f"child_{other}"].search(told.text), _PATTERNS[f"young_{other}"].search(told.dialogue.note)
    if child and not young and not _PATTERNS[f"child_{sex}"].search(told.text):
        return child[0]
    said = _PATTERNS[f"third_{other}"].findall(told.text)
    known = _PATTERNS[f"pronoun_{other}"].search(told.dialogue.note) or _PATTERNS[f"third_{sex}"].search(told.text)
    if len(said) >= SPOKEN_OF and not known and not _PATTERNS["somebody_else"].search(told.text):
        return str(said[0])
    return None


def _sex_by_pronouns(note: str) -> Sex | None:
    """Return the sex of the note's pronouns, if all are of one sex."""
    found = [sex for sex in OTHER_SEX.values() if _PATTERNS[f"pronoun_{sex}"].search(note)]
    return found[0] if len(found) == 1 else None


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
    "closing_of_the_note": other_closing,
    "address_of_the_note": only_where(is_english, other_address),
}
