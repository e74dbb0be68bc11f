"""The sentences of a chart as the patient, or the family, would say them; for the rules that work without a model."""

import re

from cases.text.jargon import in_lay_words
from nodes.reconstruction.grammar import lowered, settled, with_marks
from nodes.reconstruction.voice import Voice, speech_data

_PERSON = (
    r"(?:man|woman|male|female|boy|girl|gentleman|lady|infant|child|newborn|baby|neonate|patient|teenager"
    r"|RHF|RHM|LHF|LHM)"
)
_AGED = r"\d+\+?(?:[- ]*(?:and[- ]a[- ]half)?[- ](?:year|month|week|day)s?|\s*y/?o)(?:[- ]old)?"
_OPENER = re.compile(
    rf"^(?:(?:the|this|our) patient is |@I is |(?:she|he|this|it) is |this |an? )*(?:an? |the )?(?:[\w ]{{0,30}}?)"
    rf"{_AGED}\b,?(?: [\w'-]+,?){{0,4}}? {_PERSON}\b(?: patient)?(?: infant| newborn)?,?\s*(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_PATIENT = re.compile(
    r"(?<![\w@])(?:(?i:the|this|our) (?i:patient|pt)|Patient|Pt|(?:(?<=^)|(?<=[.;,] ))(?:patient|pt))\b(?!['’]s)",
    re.MULTILINE,
)
_YOUNG = re.compile(
    r"(?<![\w@])(?:the|this|her|his|their) (?:patient|child|infant|baby|newborn|neonate|boy|girl|toddler|son"
    r"|daughter)\b",
    re.IGNORECASE,
)
_PARENT = r"(?:mother|father|mom|dad|parents?|grandmother|guardian|caregiver)"
_PARENT_SAYS = re.compile(
    rf"(?<!\w)(?:@my |the |his |her |their )?(?:(?:\w+|@I)['’]s )?{_PARENT}s? (?:has |have )?(?:also )?"
    r"(?:report(?:s|ed)?|states?|stated|says?|notes?|noted|mentions?|mentioned|believes?|describes?|explains?|indicated)"
    r"(?: that)? ",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|does|do|did|can|could|will|would|may|might|must|should|[a-z]+['’]s"
    r"|became|led|caused|brought|holds|shows?|showed|runs?|helped|made|gave|left|kept|remains?|began|came|went"
    r"|felt|took|got|fell|lost|said|told|noticed|started|died|developed|underwent|suffer(?:s|ed)?|passed|improved|resolved|worsened"
    r"|increased over|occurred|happened|persisted"
    r"|hurts?|comes?|goes|takes?|keeps?|feels?|lives?|works?|drinks?|smokes?|uses?|denies|reports?|needs?)\b",
    re.IGNORECASE,
)
# What the clinician thinks, does or plans, no patient says.
_CLINICIAN = re.compile(
    r"\b(?:concerning for|suspicious for|suggestive of|consistent with|differential|thank you for|in consultation"
    r"|(?:I|we) (?:have|had|will|did|do|discussed|think|believe|recommend|am|was|were|reviewed|would|agree|feel|plan)\b"
    r"|laboratory data|nursing notes|was counsel|review of systems|should (?:inquire|ask)|not provided)"
    r"|^(?:[Oo]n|[Pp]hysical) (?:physical )?exam|^exam(?:ination)?\b"
)
_CLAUSE = re.compile(r"(?:he|she|it|there|the|his|her|this|these|they|despite|when|@I|@my)\b", re.IGNORECASE)
_STATES = re.compile(
    r"^(?:currently |presently )?(?:being|married|retired|employed|divorced|single|widowed|unemployed|sexually active"
    r"|right-handed|left-handed|disabled|status post|allergic|able|unable|under)\b",
    re.IGNORECASE,
)
_STARTS_WITH_VERB = re.compile(
    r"^(?:does|is|has|was|had|denies|denied|reports?|states?|describes?|mentions?|complains?|notes?|works?|lives?|smokes?"
    r"|drinks?|takes|uses|dresses|attends|enjoys|admits|feels|underwent|quit|consumes|experiences|presents|exercises"
    r"|engages|eats|sleeps|occasionally (?:drinks|smokes))\b",
    re.IGNORECASE,
)
_LONGEST_FRAGMENT = 14  # words; longer ones have a verb that we do not know


def spoken(sentence: str, section: str, voice: Voice) -> str:
    """A sentence of a note in the speaker's words; empty if it says nothing."""
    text = re.sub(r"^\s*(?:\d+[.)]\s+|[-•*]\s*)", "", " ".join(sentence.split())).strip(' "“”')
    if (turn := {"en": _in_english, "zh": _in_chinese}.get(voice.language)) is None:
        return text  # as it is recorded
    text = turn(text, section, voice)
    text = in_lay_words(text, voice.language).strip()
    if not re.search(r"\w", text):
        return ""
    if voice.language == "zh":
        return text.rstrip("。；;,，.") + "。"
    text = re.sub(r"\b(?:an?|the|some) (?=an? )", "", text)
    text = re.sub(r"\ba (?=[aeio](?!ne\b|uro))", "an ", text)
    text = re.sub(r"\s+([,.;])", r"\1", re.sub(r"\s{2,}", " ", text)).strip(" ,;:")
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def _in_english(text: str, section: str, voice: Voice) -> str:
    text = text.rstrip(" .;").replace("’", "'")
    if section != "chief_complaint" and _CLINICIAN.search(text):
        return ""
    text = re.sub(
        r"^(?:briefly|in summary|basically|of note),? (?:so )?|(?<=\w{4})\s(?:reported|noted|provided)$",
        "",
        text,
        flags=re.I,
    )
    listed = re.match(r"(?:other|associated) symptoms?: (.*)", text, re.IGNORECASE)
    if listed:
        return _listed(listed[1], voice)
    text = re.sub(r"^(?:[A-Z][A-Za-z/&]*(?: (?:and )?[A-Za-z/&]+){0,3}):\s+(?=\S)", "", text)
    text = re.sub(r";\s*(?:[A-Z][A-Za-z/&]*(?: [A-Za-z/&]+){0,2}):\s+", "; ", text)
    text = _without_opener(text) if section != "person" else text
    text = _PATIENT.sub("@I", text)
    text = re.sub(r"(?:the|this) patient's|(?<!\w)patient's", "@my", text, flags=re.IGNORECASE)
    if not voice.itself:
        text = _PARENT_SAYS.sub(_parent_says, text)
        text = re.sub(r"which (?:she|he) describes as (?:being )?", "which I would call ", text)
        text = re.sub(rf"\b(by|with) (?:his|her|the|their|@my) {_PARENT}s?\b", r"\1 me", text)
        text = re.sub(r"\b(?:the|his|her|their) (?:parents|family) has\b", "we have", text, flags=re.IGNORECASE)
        text = re.sub(
            r"\b(?:the|his|her|their) (?:parents|family) (?=[a-z]+ed\b|have\b|gave\b|brought\b)",
            "we ",
            text,
            flags=re.IGNORECASE,
        )
        text = re.sub(r"(?:^|(?<=[,.] ))(?:the |his |her )?(?:mother|mom|father|dad) has\b", "I have", text, flags=re.I)
        text = (
            re.sub(r"\bshe (?:states|says|feels|thinks|believes)\b(?: that)?", "I think", text)
            if voice.kin == "son"
            else text
        )
        text = _YOUNG.sub("@I", text)
    if _STARTS_WITH_VERB.match(text):
        text = f"@I {text[0].lower()}{text[1:]}"
    if section == "person":
        return settled(_work(text), voice)
    text = with_marks(text, section, voice)
    for stock in speech_data()["stock"]:
        if section in stock.get("sections", (section,)) and re.fullmatch(stock["en"], text, re.IGNORECASE):
            return settled(stock["say"], voice)
    for turn in speech_data()["turn"]:
        if section in turn.get("sections", (section,)):
            text = re.sub(rf"(?<![\w@]){turn['en']}", turn["say"], text, flags=re.IGNORECASE)
    text = text.replace("us@e", "use").replace("tak@e", "take").replace("smok@e", "smoke").replace("drink@e", "drink")
    text = re.sub(r"\b(1|one) (hour|day|week|month|year)s now", r"\1 \2 now", text)
    return settled(_whole(text, section, voice), voice)


def _parent_says(match: re.Match[str]) -> str:
    """What the speaker says of the child needs no "mother says"; a symptom alone becomes a sentence."""
    clause = match[0].endswith("that ") or _CLAUSE.match(match.string[match.end() :])
    return "" if clause else "there has been "


def _work(text: str) -> str:
    """The occupation out of "35-year-old female, graphic designer"."""
    work = text.partition(",")[2].strip(" .")
    if not work:
        return ""
    if re.search(r"retired|unemployed|student|former", work, re.IGNORECASE):
        return f"@I is {'' if re.fullmatch('retired|unemployed', work, re.IGNORECASE) else 'a '}{lowered(work)}"
    return f"@I works as {'an' if work[0].lower() in 'aeiou' else 'a'} {lowered(work)}"


def _listed(items: str, voice: Voice) -> str:
    """A list of symptoms as a sentence: those that are there, then those that are not."""
    items = settled(with_marks(items, "present_illness", voice), voice)
    items = re.sub(r"\bthe patient\b", "me" if voice.itself else "the patient", items, flags=re.IGNORECASE)
    parts = [re.sub(r"^(?:patient|mother|child) \w+s (?:that )?", "", part.strip(" .")) for part in items.split(";")]
    parts = [part for part in parts if part]
    there = [lowered(part) for part in parts if not re.match(r"no\b|denies|absence|without", part, re.IGNORECASE)]
    absent = [part for part in parts if re.match(r"no\b", part, re.IGNORECASE)]
    told = (
        [f"{'I have' if voice.itself else 'There has'} also {'had' if voice.itself else 'been'} {_joined(there)}"]
        if there
        else []
    )
    return ". ".join([*told, *absent])


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _without_opener(text: str) -> str:
    """Age, sex and race go: the physician asks for them by themselves."""
    text = (
        re.sub(r",? who (presents?|presented|comes|came|returns|was|is|has|had) ", r" and @I \1 ", text)
        if " with " in text
        else text
    )
    match = _OPENER.match(text)
    if not match:
        return text
    rest = match["rest"].strip(" ,.")
    expecting = "pregnant " if "pregnant" in text[: match.start("rest")] else ""
    if state := re.match(r"((?:at|in) [^,.]*?) (presents?|presented|comes|came|is brought|complains|reports) ", rest):
        return f"@I is {expecting}{state[1]} and @I {rest[state.start(2) :]}"
    if not rest:
        return ""
    if which := re.match(r"(?:who|that|which) ", rest, re.IGNORECASE):
        return f"@I {rest[which.end() :]}"
    if re.match(r"with (?:an? )?\d+[- ]", rest):
        return f"@I presents {rest}"
    if re.match(r"with ", rest):
        return f"@I has {rest[5:]}"
    if re.match(r"here ", rest):
        return f"@I is {rest}"
    if re.match(r"(?:is|was|has|had|presents?|presented|comes?|came|arrives?|complains?|reports?|states?)\b", rest):
        return f"@I {rest}"
    if rest.startswith("presenting "):
        return f"@I presents {rest.removeprefix('presenting ')}"
    if re.fullmatch(r"[a-z]+(?: [a-z]+)?", rest) and not _STATES.match(rest):
        return f"@I is a {rest}"
    return f"@I is {rest}"


def _whole(text: str, section: str, voice: Voice) -> str:
    """A sentence with a subject and a verb, as far as the fragments of charts allow."""
    if (
        not text
        or "@I" in text
        or len(text.split()) > _LONGEST_FRAGMENT
        or _FINITE.search(text)
        or re.match(r"(?:no|not|yes|there)\b", text, re.IGNORECASE)
    ):
        return text
    if _STATES.match(text):
        return f"@I is {lowered(text)}"
    if re.match(r"previously |formerly ", text, re.IGNORECASE):
        return f"@I was {lowered(text)}"
    fragment = lowered(re.sub(r"^(?:history of|h/o|includes?) ", "", text, flags=re.IGNORECASE))
    match section:
        case "chief_complaint":
            return f"@I has {fragment}"
        case "past_history":
            return f"@I has had {fragment}"
        case "medications":
            return f"@I takes {fragment}"
        case "allergies":
            return f"@I is allergic to {fragment.removeprefix('to ')}"
        case "family_history" if re.match(r"two|three|four|several|both|parents|siblings", fragment):
            return text
        case "family_history":
            return f"There is {fragment} in the family"
        case "immunizations" | "personal_history" | "review_of_systems" | "present_illness":
            return text
    return text


def _in_chinese(text: str, section: str, voice: Voice) -> str:
    if section == "person":
        work = re.split(r"[，,]", text.strip("。"))[-1]
        return (
            ""
            if re.fullmatch(r".*岁|.*月|[男女]性?", work)
            else f"患者是{work}".replace("患者", "我" if voice.itself else "家人")
        )
    kin = "孩子" if voice.kin in ("son", "daughter", "child") else "家人"
    for rule in speech_data()["zh"]:
        text = re.sub(rule["from"], (rule["self"] if voice.itself else rule["family"]).replace("{kin}", kin), text)
    return text
