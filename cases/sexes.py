"""Change the sex of a case's patient: pronouns and gendered words change, findings stay.

What only one sex has (menstruation, pregnancy, the prostate, ...) cannot be changed, so such a case is rejected: a run
with patients of one sex never contains one of the other. The rules match words: a pronoun of the patient's sex means
the patient, except in the family history after a relative of that sex.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Any, TypeVar

from pydantic import BaseModel

from cases.case import Case, Sex
from cases.text.record_sentences import HISTORIES
from cases.text.sentences import pieces
from cases.vocabulary import Language, patterns, word_list

Model = TypeVar("Model", bound=BaseModel)
_CHILD = 10.0  # years; below this age, mentions of pregnancy and birth concern the mother
_PATTERNS = patterns("cases", "vocabularies/patterns")
PRONOUNS: Mapping[Sex, str] = {"female": r"she|herself|hers|her", "male": r"he|himself|him|his"}
_MY_CHILD = re.compile(r"\b(?:my|our)\s(?:[\w-]+\s){0,3}?(?:daughter|son)\b", re.IGNORECASE)
# 他 is also a syllable of drug names, and part of words for other people.
_HE_ZH = re.compile("(?<![其吉西雷伐辛洛普匹倍阿维依排])他(?![汀克定滨米唑洛林卡巴扎莫昔乡人们])")
SHE_HE_ZH = re.compile(f"{_HE_ZH.pattern}|她(?!们)")


LANGUAGES = ("en", "zh")


class SexBoundError(ValueError):
    """The findings of a case imply one sex, but it was to be played by the other."""


def with_sex(case: Case, sex: Sex) -> Case:
    """Return the case with a patient of that sex; unchanged if it already is.

    The patient's record, the examinations and the texts of the key are changed; the source's own words are dropped.

    Raises:
        SexBoundError: the case depends on what only the other sex has; names the words.
    """
    if case.patient.sex == sex:
        return case
    if case.language not in LANGUAGES:
        raise SexBoundError(
            f"case {case.id} cannot be played as {sex}: there are no rules for its language, {case.language!r}"
        )
    for place, words in _mentions_of_other_sex(case, sex):
        raise SexBoundError(f"case {case.id} cannot be played as {sex}: {place} mentions {words!r}")
    change = partial(_changed, sex=sex, language=case.language)
    histories = {name: change(getattr(case.patient, name), name) for name in (*HISTORIES, "occupation")}
    patient = case.patient.model_copy(update={**histories, "sex": sex})
    return with_texts(case, change).model_copy(
        update={"patient": patient, "provenance": case.provenance.of_changed_record()}
    )


def with_texts(case: Case, change: Callable[[str], str]) -> Case:
    """Return the case with ``change`` applied to each text of its examinations and key."""

    def changed(part: Model, texts: Iterable[str], by_name: Iterable[str]) -> Model:
        update: dict[str, Any] = {name: change(getattr(part, name)) for name in texts}
        update |= {name: {key: change(text) for key, text in getattr(part, name).items()} for name in by_name}
        return part.model_copy(update=update)

    examinations = changed(case.examinations, (), ("physical", "auxiliary", "unpictured"))
    key = changed(case.key, ("diagnosis_basis", "treatment_course"), ("imaging_reports", "picture_reports"))
    return case.model_copy(update={"examinations": examinations, "key": key})


def _mentions_of_other_sex(case: Case, sex: Sex) -> Iterator[tuple[str, str]]:
    """Yield place and words where the case mentions what the sex does not have; the family history does not count."""
    language = case.language
    grown = case.patient.age_years is None or case.patient.age_years >= _CHILD
    of_women = _pattern(("female", "birth") if grown else ("female",), language)
    of_men = _pattern(("male",), language)
    other_sex, own_sex = (of_women, of_men) if sex == "male" else (of_men, of_women)
    spouses = re.compile(
        "|".join(word for pair in word_list("sexes")["pairs"]["spouse"][language] for word in pair[:2])
    )
    for place, text in _texts(case):
        for found in other_sex.finditer(text):
            yield place, found[0]
        for sentence in pieces(text):  # a pregnant wife would become a pregnant husband
            if spouses.search(sentence) and (own := own_sex.search(sentence)):
                yield place, own[0]
    if sex == "male" and (breast := _pattern(("female_disease",), language).search("; ".join(case.key.diagnosis))):
        yield "diagnosis", breast[0]


@lru_cache(maxsize=1 << 12)  # hundreds of memory cases are compared with each patient
def bound_to_sex(diagnosis: str, sex: Sex, language: Language) -> bool:
    """Whether a diagnosis is impossible for a patient of this sex; False in a language without rules."""
    groups = ("male",) if sex == "female" else ("female", "birth", "female_disease")
    return language in LANGUAGES and _pattern(groups, language).search(diagnosis) is not None


def _texts(case: Case) -> Iterator[tuple[str, str]]:
    patient, key = case.patient, case.key
    yield from ((name, getattr(patient, name)) for name in HISTORIES if name != "family_history")
    yield "occupation", patient.occupation
    yield from case.examinations.results.items()
    yield from ((f"report of {item}", text) for item, text in {**key.imaging_reports, **key.picture_reports}.items())
    yield from ((name, getattr(key, name)) for name in ("diagnosis_basis", "treatment_course"))
    yield "diagnosis", "; ".join(key.diagnosis)
    yield "department", "; ".join([key.department or "", *key.sub_departments])


def _changed(text: str, section: str = "", *, sex: Sex, language: Language) -> str:
    """Return a text with the patient's sex changed."""
    words = _replacements(("own", "spouse"), sex, language)
    children = _replacements(("child",), sex, language) if section == "chief_complaint" else {}
    if language == "zh":
        if section != "family_history":
            text = text.replace("她", "他") if sex == "male" else _HE_ZH.sub("她", text)
        return replaced(text, {**words, **children}, language)
    spouses = _replacements(("spouse",), sex, language)
    text = "".join(replaced(_pronouns(part, sex, section, spouses), words, "en") for part in pieces(text))
    return _MY_CHILD.sub(lambda found: replaced(found[0], children, "en"), text) if children else text


def _replacements(groups: Iterable[str], sex: Sex, language: Language) -> dict[str, str]:
    """Return the words to replace for a patient of that sex; a spouse has the other sex."""
    words: dict[str, str] = {}
    for group in groups:
        for woman, man, _ in word_list("sexes")["pairs"][group][language]:
            old, new = (woman, man) if (sex == "male") != (group == "spouse") else (man, woman)
            words.setdefault(old, new)
    return words


def replaced(text: str, words: Mapping[str, str], language: Language) -> str:
    """Return a text with words replaced, in any case, the longest first; a capital stays one."""
    edge = r"\b" if language == "en" else ""
    pattern = re.compile(f"{edge}(?a:{'|'.join(sorted(words, key=len, reverse=True))}){edge}", re.IGNORECASE)
    folded = {old.casefold(): new for old, new in words.items()}
    return pattern.sub(lambda found: like(found[0], folded[found[0].casefold()]), text)


def _pronouns(sentence: str, sex: Sex, section: str, spouses: Iterable[str]) -> str:
    """Change the patient's pronouns in an English sentence, and a spouse's after the spouse is named."""
    other: Sex = "male" if sex == "female" else "female"
    relatives = re.compile(rf"\b(?:{word_list('sexes')['relatives'][other]})s?\b", re.IGNORECASE)
    spouse = re.search(rf"\b(?:{'|'.join(spouses)})\b", sentence)

    def change(found: re.Match[str]) -> str:
        before, after = sentence[: found.start()], sentence[found.end() :]
        if found["others"]:
            return _pronoun(found[0], before, after, other) if spouse and spouse.end() <= found.start() else found[0]
        if section == "family_history" and relatives.search(before) and not _PATTERNS["kin"].match(after):
            return found[0]
        return _pronoun(found[0], before, after, sex)

    both = rf"\b(?:(?P<own>{PRONOUNS[other]})|(?P<others>{PRONOUNS[sex]}))\b"
    return re.sub(both, change, sentence, flags=re.IGNORECASE)


def _pronoun(word: str, before: str, after: str, sex: Sex) -> str:
    """Change a pronoun of the other sex to one of this sex."""
    old = word.casefold()
    if sex == "female":
        alone = before.endswith("of ") and re.match(r"[^\w\s]|$", after)
        new = {"he": "she", "himself": "herself", "him": "her", "his": "hers" if alone else "her"}[old]
    elif old == "her":
        new = "him" if is_object(before, after) else "his"
    else:
        new = {"she": "he", "herself": "himself", "hers": "his"}[old]
    return like(word, new)


def is_object(before: str, after: str) -> bool:
    """Whether "her" between these words corresponds to "him" rather than "his"."""
    return bool(_PATTERNS["him_before"].match(after) or _PATTERNS["him_after"].search(before))


def like(model: str, word: str) -> str:
    """Capitalise the word if the model word is capitalised."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


@cache
def _pattern(groups: tuple[str, ...], language: Language) -> re.Pattern[str]:
    source = "|".join(word_list("sexes")[group][language] for group in groups).replace("\n", "")
    return re.compile(source if language == "zh" else rf"(?<![a-z])(?:{source})", re.IGNORECASE)
