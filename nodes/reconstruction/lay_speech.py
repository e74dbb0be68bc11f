"""Offline rules that reword the sentences of a chart as the patient, or the family, would say them."""

import re
from functools import lru_cache

from cases.text.jargon import in_lay_words
from cases.vocabulary import compiled
from nodes.reconstruction.grammar import PATTERNS, SPEECH, lowered, rewritings, rewritten, settled, with_marks
from nodes.reconstruction.voice import Voice
from prompts import mark

_LONGEST_FRAGMENT = 14  # words; a longer one has an unknown verb
_PRONOUN = {"male": "he", "female": "she"}
_ELSEWHERE = {"habit": "personal_history", "earlier": "past_history"}  # what stands in a list of symptoms: its section


@lru_cache(maxsize=4096)  # questions repeat the same sentences
def spoken(sentence: str, section: str, voice: Voice) -> str:
    """Reword a sentence of a note for the speaker; empty if it has nothing that the speaker would say."""
    text = re.sub(
        r"^\s*(?:\d+[.)]\s+|\d{1,2}[.、．](?=[\u4e00-\u9fff])|[-•*]\s*)", "", " ".join(sentence.split())
    ).strip(' "“”')
    if (reword := {"en": _in_english, "zh": _in_chinese}.get(voice.language)) is None:
        return text  # other languages keep the note's words
    text = reword(text, section, voice)
    text = in_lay_words(text, voice.language).strip()
    if not re.search(r"\w", text):
        return ""
    if voice.language == "zh":
        return text.rstrip("。；;,，.") + "。"
    text = rewritten(text, "finish").strip(" ,;:")
    text = capitalised(text)
    return text if text.endswith((".", "!", "?")) else text + "."


def told_to(sentence: str, voice: Voice) -> str:
    """Reword a finding as the physician says it to the patient ("you"), without list numbers and capitals."""
    text = re.sub(r"^\s*(?:\d+[.)]\s+|[-•*]\s+)", "", " ".join(sentence.split()))
    if not re.search(r"[.!?:,…。！？：，][\"”’)）]*$", text):
        text = text.rstrip(";；") + mark("stop", voice.language)
    if voice.language != "en":
        return text
    text = re.sub(r"\b[A-Z]{4,}(?=:)", lambda match: match[0].capitalize(), rewritten(text, "examined"))
    if not voice.itself or PATTERNS["clinician_self"].search(text):
        return text
    marked = with_marks(rewritten(text, "patient"), "", voice)
    text = rewritten(settled(marked, voice), "to_patient") if marked != text else text
    return capitalised(text)


def capitalised(text: str) -> str:
    """Capitalise the first letter, except of a word with a later capital, such as pH."""
    return text if re.match(r"[a-z]+[A-Z]", text) else text[:1].upper() + text[1:]


def _in_english(text: str, section: str, voice: Voice) -> str:
    text = text.rstrip(" .;").replace("’", "'")
    if section != "chief_complaint" and PATTERNS["clinician"].search(text):
        return ""
    text = rewritten(text, "begin")
    if PATTERNS["third_person"].search(text) and not PATTERNS["quoted"].search(text):
        text = rewritten(text, "clinician")
    if heading := PATTERNS["list_of_symptoms"].match(text):
        return _listed(text[heading.end() :], voice)
    if PATTERNS["by_system"].search(text):
        return _by_system(text, voice)
    if medicines := PATTERNS["medications"].match(text):
        section, text = "medications", text[medicines.end() :]
    text = rewritten(text, "headings")
    text = rewritten(_without_opener(text) if section != "person" else text, "patient")
    text = _led_by_subject(text if voice.itself else _by_family(text, voice), section)
    if section == "person":
        return settled(_occupation(text), voice)
    text = with_marks(text, section, voice)
    if (voice.itself and PATTERNS["seen"].match(text)) or PATTERNS["unsaid"].search(text):
        return ""
    if section == "family_history":
        text = _of_kin(text)
    stock = _stock_phrase(text, section)
    return settled(_in_turns(text, section) if stock is None else stock, voice)


def _by_family(text: str, voice: Voice) -> str:
    """Reword what the family tells of the patient, without saying that it does."""
    text = rewritten(PATTERNS["parent_says"].sub(_parent_says, text), "family")
    if (tells := PATTERNS["tells"].match(text)) and tells["who"].casefold() == _PRONOUN.get(voice.sex or ""):
        text = f"@I {text[tells.end() :]}"
    return rewritten(text, *{"son": ("son", "child"), "relative": ("relative",)}.get(voice.kin, ("child",)))


def _led_by_subject(text: str, section: str) -> str:
    """Put the patient, or the symptom, before a verb that has no subject; in the family history it is a relative's."""
    if PATTERNS["starts_with_verb"].match(text):
        text = f"@I {text[0].lower()}{text[1:]}"
    elif section != "family_history" and (led := PATTERNS["time_before_verb"].match(text)):
        text = f"{led['time']}, @I {text[led.end() :]}"
    if section in ("chief_complaint", "present_illness") and PATTERNS["of_symptom"].match(text):
        text = f"it {lowered(text)}"
    return text


def _of_kin(text: str) -> str:
    """Say whose relatives they are, and what they have or had."""
    if not PATTERNS["kin_first"].match(text):
        return text
    text = f"@my {lowered(text)}"
    if PATTERNS["finite"].search(text):
        return text
    return PATTERNS["kin_so"].sub(_are_or_is, PATTERNS["kin_with_illness"].sub(r"\1 had ", text))


def _stock_phrase(text: str, section: str) -> str | None:
    """Return what is said for a chart's stock phrase, which may be nothing; None if the text is no such phrase."""
    for stock in SPEECH["stock"]:
        if section in stock.get("sections", (section,)) and compiled(stock["en"], re.IGNORECASE).fullmatch(text):
            return str(stock["say"])
    return None


def _in_turns(text: str, section: str) -> str:
    """Return the text in a speaker's turns of phrase, as a whole sentence."""
    for turn in SPEECH["turn"]:
        if section in turn.get("sections", (section,)):
            text = compiled(rf"(?<![\w@]){turn['en']}", re.IGNORECASE).sub(turn["say"], text)
    return _completed(rewritten(text, "verbs"), section)


def _parent_says(match: re.Match[str]) -> str:
    """Drop "mother says" before a clause about the child; make a sentence of a mere symptom."""
    if match.string[: match.start()].rstrip()[-1:] not in ("", ".", ";"):
        return match[0]
    clause = match[0].endswith("that ") or PATTERNS["clause"].match(match.string[match.end() :])
    return "" if clause else "there has been "


def _occupation(text: str) -> str:
    """Extract the occupation from "35-year-old female, graphic designer"; empty if none."""
    work = text.partition(",")[2].strip(" .")
    if not work or PATTERNS["no_work"].search(work):
        return ""
    article = "" if re.fullmatch("retired|unemployed", work, re.IGNORECASE) else f"{article_of(work)} "
    return f"@I {'is' if PATTERNS['no_trade'].search(work) else 'works as'} {article}{lowered(work)}"


def article_of(words: str) -> str:
    """Return the indefinite article by the sound of the first word: an engineer, a university student."""
    return "an" if re.match(r"(?!uni(?!n)|eu|us[eu]|one)[aeiou]|(?:8\d?|1[18])\b", words, re.IGNORECASE) else "a"


def _listed(items: str, voice: Voice) -> str:
    """Turn a list of symptoms into sentences: first those present, then those absent."""
    items = settled(with_marks(items, "present_illness", voice), voice)
    items = re.sub(r"\bthe patient\b", "me" if voice.itself else "the patient", items, flags=re.IGNORECASE)
    symptoms, acts, clauses, absent = list[str](), list[str](), list[str](), list[str]()
    for item in items.split(";"):
        part = PATTERNS["reported"].sub("", item.strip(" ."))
        if not part or _is_found(part):
            continue
        part = re.sub(r"^history of ", "a history of ", part, flags=re.IGNORECASE)
        if section := next((name for kind, name in _ELSEWHERE.items() if PATTERNS[kind].match(part)), ""):
            absent.append(spoken(part, section, voice).rstrip("."))
        elif PATTERNS["looks"].match(part):
            acts += [] if voice.itself else [settled(f"@I {lowered(part)}", voice)]
        elif re.match(r"not?\b", part, re.IGNORECASE):
            absent.append(part)
        elif PATTERNS["did"].match(part):
            acts.append(settled(f"@I {lowered(part)}", voice))
        elif PATTERNS["clause_of_list"].match(part):
            clauses.append(part if PATTERNS["clause"].match(part) else f"The {lowered(part)}")  # "The lesion has grown"
        elif not re.match(r"denies|absence|without", part, re.IGNORECASE):
            symptoms.append(PATTERNS["one_of_many"].sub(r"a \1", lowered(part)))
    present = [_also_had(symptoms, voice)] if symptoms else []
    return ". ".join(part[:1].upper() + part[1:] for part in [*present, *acts, *clauses, *absent])


def _also_had(symptoms: list[str], voice: Voice) -> str:
    """Tell symptoms in one sentence, which agrees with the first: "bluish macules on the skin" are several."""
    *others, last = symptoms
    have_or_has = "have" if PATTERNS["several"].match(in_lay_words(symptoms[0], "en")) else "has"
    has_had = "I have also had" if voice.itself else f"There {have_or_has} also been"
    return f"{has_had} {', '.join(others)} and {last}" if others else f"{has_had} {last}"


def _are_or_is(kin: re.Match[str]) -> str:
    """Join relatives and what they are: "my mother is", "my parents are"."""
    return f"{kin[1]} {'are' if kin['who'].endswith(('s', 'children')) else 'is'} "


def _by_system(systems: str, voice: Voice) -> str:
    """Tell a review of systems without their names: symptoms as a list, what is denied or reported as sentences."""
    parts = [part.strip(" .") for part in re.split(r";|\. ", PATTERNS["by_system"].sub(";", systems))]
    parts = [part for part in parts if part and not PATTERNS["nothing_there"].search(part)]
    told = [each for each in parts if not PATTERNS["of_system"].match(each)]
    present = [", ".join(kept) for each in told if (kept := [one for one in each.split(", ") if not _is_found(one)])]
    sentences = (spoken(each, "present_illness", voice) for each in parts if each not in told)
    return ". ".join(filter(None, [_listed("; ".join(present), voice), *(each.rstrip(".") for each in sentences)]))


def _is_found(part: str) -> bool:
    """Whether a symptom of a list is one that an examiner finds."""
    return PATTERNS["found"].search(part) is not None


def _with_subject(trade: re.Match[str]) -> str:
    """Say who is of a trade: "I am a retired teacher", "..., and I am a teacher"."""
    what = re.sub(r"^(?:currently )?(?:an? )?", "", lowered(trade["trade"]))
    return f"{', and ' if trade['before'] else ''}@I is {article_of(what)} {what}{trade['after']}"


def _without_opener(text: str) -> str:
    """Drop age, sex and race, which the physician asks for separately."""
    match = PATTERNS["opener"].match(text)
    if not match:
        return PATTERNS["trade_opener"].sub(_with_trade, text, count=1)
    rest = match["rest"].strip(" ,.")
    expecting = "pregnant " if "pregnant" in text[: match.start("rest")] else ""
    if state := re.match(r"((?:at|in) [^,.]*?) (presents?|presented|comes|came|is brought|complains|reports) ", rest):
        return f"@I is {expecting}{state[1]} and @I {rest[state.start(2) :]}"
    rest = PATTERNS["comes"].sub(_and_comes, rest, count=1)
    return next(old.sub(new, rest, count=1) for old, new in rewritings("opening") if old.match(rest)) if rest else ""


def _with_trade(match: re.Match[str]) -> str:
    verb = "has" if match[2] == "with" else match[2]
    return f"@I is {article_of(match[1])} {match[1]} and @I {verb} "


def _and_comes(match: re.Match[str]) -> str:
    """Start a second clause with the patient as subject, unless a relative is the subject."""
    before = match.string[: match.start()]
    kin = any(PATTERNS[f"kin_{sex}"].search(before) for sex in ("female", "male"))
    return match[0] if kin else f" and @I {match[0].strip(' ,').removeprefix('who ')} "


def _completed(text: str, section: str) -> str:
    """Complete a chart's fragment to a sentence with subject and verb, as far as possible."""
    if section == "personal_history":
        text = PATTERNS["trade"].sub(_with_subject, text)
    if state := PATTERNS["state_first"].match(text):
        return f"@I is {lowered(state[1])} and {text[state.end() :]}"
    if _is_whole(text):
        return text
    if PATTERNS["states"].match(text):
        return f"@I is {lowered(text)}"
    if PATTERNS["stated"].match(text):
        return f"@I was {lowered(text)}"
    fragment = lowered(re.sub(r"^(?:history of|h/o|includes?) ", "", text, flags=re.IGNORECASE))
    if section == "family_history":
        fragment = re.sub(r"^(?:(?:strong|positive|significant) )?family history (?:of|for|includes?) ", "", fragment)
    if section == "medications":
        fragment = ", ".join(map(lowered, fragment.split("; ")))
    if section == "chief_complaint":
        if PATTERNS["goes_on"].fullmatch(fragment):
            return f"@I has been {fragment}"
        if PATTERNS["happened"].fullmatch(fragment):
            return f"@I has had {article_of(fragment)} {fragment}"
        fragment = PATTERNS["one_of_many"].sub(r"a \1", fragment)
    several = section == "family_history" and re.match(r"two|three|four|several|both|parents|siblings", fragment)
    if several or section not in SPEECH["fragment"]:
        return text
    return str(SPEECH["fragment"][section].format(fragment).replace("allergic to to ", "allergic to "))


def _is_whole(text: str) -> bool:
    """Whether a text is empty, a sentence, or too long to be a fragment."""
    return (
        not text
        or "@I" in text
        or text.startswith("@my")
        or len(text.split()) > _LONGEST_FRAGMENT
        or PATTERNS["finite"].search(text) is not None
        or re.match(r"(?:no|not|yes|there)\b", text, re.IGNORECASE) is not None
    )


def _in_chinese(text: str, section: str, voice: Voice) -> str:
    kin = (
        "孩子"
        if voice.kin in ("son", "daughter", "child")
        else {"female": "她", "male": "他"}.get(voice.sex or "", "家人")
    )
    if section == "person":
        about = re.split(r"[，,]", text.strip("。"))
        work = next((each for each in reversed(about) if not PATTERNS["no_work_zh"].fullmatch(each)), "")
        return f"{'我' if voice.itself else kin}是{work}" if work else ""
    if section == "family_history" and voice.kin == "relative":
        text = PATTERNS["kin_zh"].sub(kin, text)  # the speaker's own mother is somebody else
    for rule in SPEECH["zh"]:
        said = rule["self"] if voice.itself else rule.get("family", rule["self"])
        text = compiled(rule["from"]).sub(said.replace("{kin}", kin), text)
    return text
