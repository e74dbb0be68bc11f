"""The little grammar that turns "she takes" into "I take"; ``@I`` and ``@my`` mark the patient until the end."""

import re

from nodes.reconstruction.voice import Voice, speech_data

_KINSFOLK = {
    "female": r"\b(?:mother|mom|sister|daughter|wife|grandmother|aunt|girlfriend|niece|she had a sister)\b",
    "male": r"\b(?:father|dad|brother|son|husband|grandfather|uncle|boyfriend|nephew)\b",
}
_IRREGULAR = {
    "is": "am",
    "has": "have",
    "does": "do",
    "goes": "go",
    "isn't": "am not",
    "doesn't": "don't",
    "hasn't": "haven't",
}
_AFTER_AND = {"does not": "do not", "is": "am", "has": "have"}
_OF_PEOPLE = (
    r"retired|married|divorced|single|unable|able|concerned|worried|unsure|not sure|allergic|sexually|aware|otherwise"
)
# What follows "her" where it is no possessive.
_AFTER_OBJECT = (
    "@I|awake|asleep|because|alone|every|again|up|out|home|not|is|was|this|to|with|in|for|at|on|by|and|that|but|from"
    "|when|while|so|more|a|the"
)
_ADVERBS = (
    r"(?:(?:also|now|otherwise|still|often|never|usually|sometimes|just|then|only|always|not|(?!rely|apply)[a-z]+ly) )*"
)


def with_marks(text: str, section: str, voice: Voice) -> str:
    """The patient's pronouns; a relative of the same sex who was named before in the sentence keeps them."""
    if not voice.itself:
        return text
    sexes = [voice.sex] if voice.sex else ["female", "male"]
    for sex in sexes:
        kin = re.search(_KINSFOLK[sex], text, re.IGNORECASE)
        end = kin.start() if kin else len(text)
        if section == "family_history" and not kin:
            end = (
                len(text) if re.match(r"(?:she|he) (?:has|had|is|does|drinks|smokes|lives|denies)\b", text, re.I) else 0
            )
        text = _replaced(text[:end], sex) + text[end:]
    return text


def _replaced(text: str, sex: str) -> str:
    subject, possessive = ("she", "her") if sex == "female" else ("he", "his")
    text = re.sub(rf"(?<![\w@])(?:{subject})\b(?!')", "@I", text, flags=re.IGNORECASE)
    text = re.sub(rf"(?<![\w@]){subject}'s\b", "@I is", text, flags=re.IGNORECASE)
    if sex == "female":
        text = re.sub(
            rf"(?<![\w@])her(?=(?:[.,;]|$| (?:{_AFTER_OBJECT})\b))",
            "me",
            text,
        )
    else:
        text = re.sub(r"(?<![\w@])him\b", "me", text)
    text = re.sub(rf"(?<![\w@])(?:{'herself' if sex == 'female' else 'himself'})\b", "myself", text)
    text = re.sub(rf"(?<![\w@]){possessive}\b", "@my", text, flags=re.IGNORECASE)
    return re.sub(r"\b(for|to|of|by|with|from|about|on|place|questioning|told|gave) @I\b", r"\1 me", text)


def settled(text: str, voice: Voice) -> str:
    """Marks become words: "I" with its verbs, or the relative who is spoken of."""
    if not voice.itself:
        name = {"son": "my son", "daughter": "my daughter", "child": "my child", "relative": "my relative"}[voice.kin]
        pronoun = {"son": "he", "daughter": "she"}.get(
            voice.kin, {"female": "she", "male": "he"}.get(voice.sex or "", name)
        )
        their = {"he": "his", "she": "her"}.get(pronoun, f"{name}'s")
        text = re.sub(
            r"@I am\b|@I (?:have|do)\b(?! to)",
            lambda m: {"am": "@I is", "have": "@I has", "do": "@I does"}[m[0][3:]],
            text,
        )
        text = re.sub(r"@I['’]s", f"{name}'s", text)
        text = re.sub(r"@I", name, text, count=1)
        return re.sub(r"@my", their, re.sub(r"@I", pronoun, text))
    text = re.sub(r"@I['’]s", "my", text)
    text = re.sub(
        rf"@I ({_ADVERBS})([a-z]+(?:n't)?)\b", lambda m: f"I {m[1]}{_first_person(m[2])}", text, flags=re.IGNORECASE
    )
    text = text.replace("@I", "I").replace("@my", "my")
    if re.search(r"\bI\b", text) and not re.search(r"\b(?:that|which|who)\b", text):
        text = re.sub(
            rf"((?:,| and| but| or)+ )(does not|has|is(?= (?:{_OF_PEOPLE})\b)) ",
            lambda m: f"{m[1]}{_AFTER_AND[m[2]]} ",
            text,
        )
    if re.search(r"\bI\b", text):
        human = "|".join(speech_data()["human"]["verbs"].split())
        text = re.sub(
            rf"((?:, and|,| and| but| or) (?:[a-z]+ly )?)({human})\b", lambda m: m[1] + _first_person(m[2]), text
        )
    return text


def _first_person(verb: str) -> str:
    low = verb.casefold()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if not low.endswith("s") or low.endswith(("ss", "us", "as")) or len(low) < 4:
        return verb
    if low.endswith("ies"):
        return verb[:-3] + "y"
    return verb[:-2] if low.endswith(("sses", "shes", "ches", "xes", "zes", "oes")) else verb[:-1]


def lowered(text: str) -> str:
    """The first letter small, unless the word is a name or an abbreviation."""
    first = text.split(" ")[0] if text else ""
    return text if not text or sum(map(str.isupper, first)) > 1 or first == "I" else text[0].lower() + text[1:]
