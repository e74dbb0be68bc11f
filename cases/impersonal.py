"""Remove personal information from a case: age, sex, occupation and histories, also inside its texts.

For the ablation without personal information (MedChain, section 5.4). The rules match words: what implies a sex or age
by nature (a womb, neonatal jaundice, a parent who speaks) stays, as there would be no case without it.
"""

import re
from functools import lru_cache

from cases.case import Case, PatientRecord, Sex
from cases.sexes import LANGUAGES, PRONOUNS, SHE_HE_ZH, is_object, like, replaced, with_texts
from cases.text.demographics import without_ages
from cases.vocabulary import Language, patterns, word_list

_PATTERNS = patterns("cases", "vocabularies/impersonal")

_GAPS = [(re.compile(gap), left) for gap, left in word_list("impersonal")["gaps"]]


def impersonal(case: Case) -> Case:
    """Return the case without personal information: complaint, present illness, results and key remain.

    Raises:
        ValueError: there are no rules for the case's language, so its texts would still tell age and sex.
    """
    if case.language not in LANGUAGES:
        raise ValueError(
            f"case {case.id}: personalized = false cannot remove age and sex from texts in {case.language!r}; "
            f"there are rules for {' and '.join(LANGUAGES)} only"
        )
    patient = case.patient

    def anon(text: str) -> str:
        return impersonal_text(text, case.language, patient.sex, patient.age_years, patient.occupation)

    person = PatientRecord(chief_complaint=anon(patient.chief_complaint), present_illness=anon(patient.present_illness))
    return with_texts(case, anon).model_copy(update={"patient": person})


@lru_cache(maxsize=4096)  # texts of recalled cases recur
def impersonal_text(
    text: str, language: Language, sex: Sex | None = None, age_years: float | None = None, occupation: str = ""
) -> str:
    """Return a text that does not tell the patient's age, sex or occupation.

    Args:
        text: English or Chinese; other languages are returned unchanged.
        language: of the text.
        sex: as recorded; pronouns of the other sex then mean somebody else.
        age_years: as recorded; also removed where it is a bare number ("She is 47.").
        occupation: as recorded; removed where it appears verbatim.
    """
    if language not in LANGUAGES or not text:
        return text
    if occupation:
        edges = (r"(?<!\w)", r"(?!\w)") if language == "en" else ("", "")
        text = re.sub(re.escape(occupation).join(edges), "", text, flags=re.IGNORECASE)
    text = without_ages(text, age_years)
    if language == "zh":
        text = SHE_HE_ZH.sub("患者", _neutral_words(_PATTERNS["alone_zh"].sub("", text), "zh"))
    else:
        text = _neutral_words(_PATTERNS["alone_en"].sub("", _pronouns(text, sex)), "en")
    for gap, left in _GAPS:
        text = gap.sub(left, text)
    return text.strip()


def _neutral_words(text: str, language: Language) -> str:
    words: dict[str, str] = {}
    for pairs in word_list("sexes")["pairs"].values():
        for woman, man, neutral in pairs[language]:
            words |= {woman.casefold(): neutral, man.casefold(): neutral}
    return replaced(text, words, language)


def _pronouns(text: str, sex: Sex | None) -> str:
    """Replace the patient's English pronouns by "the patient", others by "they"."""
    patients = re.compile(PRONOUNS[sex] if sex else "|".join(PRONOUNS.values()), re.IGNORECASE)

    def change(found: re.Match[str]) -> str:
        own, word = patients.fullmatch(found[0]), found[0].casefold()
        if word in ("herself", "himself"):
            new = "themself"
        elif word in ("hers", "his") or (word == "her" and not is_object(text[: found.start()], text[found.end() :])):
            new = "the patient's" if own else "their"
        elif word in ("she", "he"):
            new = "the patient" if own else "they"
        else:
            new = "the patient" if own else "them"
        return like(found[0], new)

    return re.sub(rf"\b(?:{'|'.join(PRONOUNS.values())})\b", change, text, flags=re.IGNORECASE)
