"""A case of nobody in particular: without age, sex, occupation and histories, also inside its texts.

For the ablation without personal information (MedChain, section 5.4). The rules know words, not people: what belongs
to one sex or age by nature (a womb, a newborn's jaundice, a parent who speaks) stays, as without it there is no case.
"""

import re
from functools import lru_cache

from cases.case import Case, PatientRecord, Sex
from cases.sexes import LANGUAGES, PRONOUNS, SHE_HE_ZH, is_object, like, with_texts
from cases.text.demographics import without_ages
from cases.vocabulary import Language, patterns, word_list

_PATTERNS = patterns("cases", "vocabularies/impersonal")

_GAPS = [(re.compile(gap), left) for gap, left in word_list("impersonal")["gaps"]]


def impersonal(case: Case) -> Case:
    """The case of nobody in particular: the complaint and the course of the illness, the results, and the key's texts.

    Raises:
        ValueError: the case's language has no rules, so that its texts would tell what its fields no longer do.
    """
    if case.language not in LANGUAGES:
        raise ValueError(
            f"case {case.id}: personalized = false cannot take age and sex out of texts in {case.language!r}; "
            f"it has rules for {' and '.join(LANGUAGES)}"
        )
    patient = case.patient

    def told(text: str) -> str:
        return impersonal_text(text, case.language, patient.sex, patient.age_years, patient.occupation)

    nobody = PatientRecord(chief_complaint=told(patient.chief_complaint), present_illness=told(patient.present_illness))
    return with_texts(case, told).model_copy(update={"patient": nobody})


@lru_cache(maxsize=4096)  # texts of remembered cases come up again and again
def impersonal_text(
    text: str, language: Language, sex: Sex | None = None, age_years: float | None = None, occupation: str = ""
) -> str:
    """A text that doesn't tell the patient's age, sex or occupation.

    Args:
        text: in English or Chinese; of another language it is given back as it is.
        language: of the text.
        sex: as recorded; pronouns of the other sex then mean somebody else.
        age_years: as recorded; it is taken out where it stands as a bare number too ("She is 47.").
        occupation: as recorded; taken out where the text has it word by word.
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
    edge = r"\b" if language == "en" else ""
    longest_first = "|".join(sorted(words, key=len, reverse=True))
    return re.sub(
        f"{edge}(?:{longest_first}){edge}", lambda found: like(found[0], words[found[0].casefold()]), text, flags=re.I
    )


def _pronouns(text: str, sex: Sex | None) -> str:
    """English pronouns of the patient as "the patient", of others as "they"."""
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
