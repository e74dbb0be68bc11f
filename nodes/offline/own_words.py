"""How a patient tells the record offline: each sentence as "I", or as an accompanying person would say it."""

import re
from collections.abc import Sequence
from functools import lru_cache

from cases.case import PatientRecord
from cases.text.jargon import in_lay_words
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.text.statements import Mention, mentions
from cases.vocabulary import Language, patterns
from nodes.reconstruction.lay_speech import article_of, spoken
from nodes.reconstruction.voice import ANSWERS_FROM, Voice, cannot_speak, tells_of_oneself, whose
from nodes.state.chart import Presentation, Turn, said_by
from prompts import load_words, with_full_stop

_PATTERNS = patterns("nodes.offline", "own_words")


def voice_of(person: PatientRecord | Presentation, language: Language) -> Voice:
    """Return who speaks: the patient, the parent or relative who tells the complaint, or who came with the patient."""
    young = person.age_years is not None and person.age_years < ANSWERS_FROM  # unless the complaint says "I"
    kin = whose(person.chief_complaint, young, person.sex, language)
    if kin == "self" and not tells_of_oneself(person.chief_complaint):
        kin = "relative" if cannot_speak(f"{person.chief_complaint} {person.present_illness}") else kin
    return Voice(language, kin, person.sex)


def in_own_words(facts: Sequence[RecordSentence], voice: Voice) -> list[str]:
    """Return the facts in the speaker's words; results, and what the rules cannot rephrase, stay as recorded.

    A sentence that only says why nothing is recorded is left unsaid, as "".
    """
    return [_phrase(fact, voice) for fact in facts]


def said_of(facts: Sequence[RecordSentence], person: PatientRecord, language: Language) -> list[tuple[str, str]]:
    """Return the section of each fact, and how the patient or the accompanying person tells it."""
    words = in_own_words(facts, voice_of(person, language))
    return [(fact.section, said) for fact, said in zip(facts, words, strict=True)]


def unsaid(told: Sequence[str], dialogue: Sequence[Turn]) -> list[str]:
    """Return those texts that the patient has not said before, each once.

    Left out is also what another of them, or a sentence said before, says with all its words: records have much twice.
    """
    before = "\n".join(said_by("patient", dialogue))
    said = sentences(before)
    told = [_without_repeats(words, (*said, *(other for other in told if other != words))) for words in told]
    fresh = [words for words in dict.fromkeys(told) if words and not _stands_in(words.rstrip(".。"), before)]
    return [
        words
        for place, words in enumerate(fresh, 1)
        if not any(_says(other, words) for other in (*said, *fresh[: place - 1]))
        and not any(_says(other, words) and not _says(words, other) for other in fresh[place:])
    ]


def _stands_in(words: str, text: str) -> bool:
    return words in text and re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _without_repeats(words: str, others: Sequence[str]) -> str:
    """Return a list of symptoms without those that another sentence tells, as records repeat the story in it."""
    if (listed := _PATTERNS["list_of_symptoms"].match(words)) is None:
        return words
    items = re.split(r", (?:and )?| and ", listed["symptoms"])
    kept = [item for item in items if not any(_says(other, item) for other in others)]
    rest = [each for each in sentences(words[listed.end() :]) if not any(_says(other, each) for other in others)]
    *first, last = kept or [""]
    fewer = f"{listed['begin']}{', '.join(first)}{' and ' if first else ''}{last}." if kept else ""
    return " ".join(filter(None, [listed[0] if kept == items else fewer, *rest]))


def _says(longer: str, shorter: str) -> bool:
    """Whether a sentence of the speaker says what a shorter one does, with the same words, denials and sides."""
    wanted = _told_in(shorter)
    if not wanted or not wanted <= _told_in(longer):
        return False
    one, other = (_PATTERNS["of_something_else"].search(each) is None for each in (longer, shorter))
    return one == other


@lru_cache(maxsize=4096)
def _told_in(sentence: str) -> frozenset[Mention]:
    return frozenset(each for each in mentions(sentence) if not _PATTERNS["telling"].fullmatch(each.word))


def _phrase(fact: RecordSentence, voice: Voice) -> str:
    if fact.is_result:
        return fact.text
    if fact.section == "chief_complaint":
        own = spoken(fact.text, "present_illness", voice) if _PATTERNS["of_a_record"].search(fact.text) else ""
        return with_full_stop(own or in_lay_words(fact.text, voice.language), voice.language)
    about = load_words("consultation/words", voice.language)["person"]
    ways = about["self" if voice.itself else voice.sex or "child"]
    if fact.section != "person":
        told = _told(fact, voice)
        if not _PATTERNS["who_it_is"].fullmatch(told):
            return told
        return str(ways[-1]).format(told.rstrip("."), article=article_of(told))
    for line, way in zip(about["lines"], ways, strict=True):
        opening, _, ending = line.partition("{}")
        if fact.text.startswith(opening):
            value = fact.text.removeprefix(opening).removesuffix(ending)
            if _PATTERNS["no_bare_trade"].match(value):
                return spoken(value, "personal_history", voice)
            return str(way).format(value[:1].lower() + value[1:], article=article_of(value))
    return fact.text


def _told(fact: RecordSentence, voice: Voice) -> str:
    """Return a sentence of the histories as the speaker tells it; habits that a semicolon parts, one by one."""
    parts = fact.text.split("; ") if fact.section == "personal_history" else [fact.text]
    is_who = _PATTERNS["who_it_is"].fullmatch  # says who somebody is, which is told with "I am"
    said = (spoken(part, fact.section, voice) or (part if is_who(part) else "") for part in parts)
    return " ".join(with_full_stop(each, voice.language) if len(parts) > 1 else each for each in said if each)
