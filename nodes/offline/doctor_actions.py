"""What kind of thing a doctor says, by rule: an order to move, a farewell, advice, small talk, or else a question."""

import re
from collections.abc import Sequence
from typing import Literal

from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.text.words import rules_of
from cases.vocabulary import Language
from nodes.offline.consultation_words import pattern
from nodes.offline.relevance import answering, is_specific, topic_of

Kind = Literal["inquiry", "advice", "demand", "other_topic", "conclusion"]

# Where an order can begin: at the start of a clause, after words of politeness.
_CLAUSE_START = {
    "en": re.compile(
        r"(?:(?:^|[,;:.!?]\s*|\b(?:and|then)\s)(?:(?:please|now|ok(?:ay)?|so|well|good|right|just|and|then|kindly)[\s,]+)*"
        r"(?:(?:could|can|would|will) you (?:please |kindly |just )?|i (?:need|want|would like|'d like) you to |"
        r"you (?:must|have to|need to) |try to )?(?:please )?)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:^|[，,。！？；：:\s])(?:(?:请|来|麻烦|现在|先|再|然后|劳驾|好|您|你|小朋友|大爷|大妈|爷爷|奶奶|叔叔|阿姨|帮我|给我|慢慢|试着)[，,]?)*"
    ),
}
# A question about nobody in English is not about the patient; Chinese leaves the person out.
_ADDRESS = {
    "en": re.compile(
        r"\b(?:you\w*|he|his|him|she|hers?|they|their|them|any(?:one|body|thing)|it|its)\b", re.IGNORECASE
    ),
    "zh": re.compile(""),
}
_POLITE_ORDER = re.compile(r"\b(?:could|can|would|will) you\b", re.IGNORECASE)
_ASKS_IN_CLAUSE = {"en": re.compile(r"\?"), "zh": re.compile(r"时候|的时|会不会|会.*吗|有没有|后.*吗|过.*吗|得动吗")}


def kind_of(words: str, language: Language, facts: Sequence[RecordSentence] = ()) -> Kind:
    """The kind of action, by its words; the facts tell small talk from a question about something unusual."""
    asks = _asks(words, language)
    if _demands(words, language):
        return "demand"
    if not asks and pattern("conclusion", "", language).search(words):
        proposes = pattern("advice", "", language).search(words) is not None
        if not (proposes and is_specific(words, language)):
            return "conclusion"
    if any(_advises(sentence, language) for sentence in sentences(words)):
        return "advice"
    if _is_small_talk(words, language, facts, asks):
        return "other_topic"
    return "inquiry"  # a farewell that was not heard as one does less harm than an end that was not meant


def is_vague(words: str, language: Language) -> bool:
    """Whether a question is about nothing in particular."""
    topic = topic_of(words, language)
    return topic.is_empty or (_is_open(words, language) and not (topic.clinical or topic.frames))


def _is_open(words: str, language: Language) -> bool:
    clinical = pattern("clinical", "", language).search(words)
    return not clinical and pattern("open", "", language).search(words) is not None


def names_nothing(words: str, language: Language) -> bool:
    """Whether advice names neither an examination nor a treatment."""
    return not is_specific(words, language)


def _asks(words: str, language: Language) -> bool:
    if re.search(r"[?？]", words):
        return True
    return language == "zh" and re.search(r"(?:吗|呢|没有|怎么样)[。！，]?$", words) is not None


def _demands(words: str, language: Language) -> bool:
    if pattern("demand", "anywhere", language).search(words):
        return True
    verbs = pattern("demand", "", language)
    for sentence in sentences(words):
        if language == "en" and sentence.endswith("?") and not _POLITE_ORDER.search(sentence):
            continue
        for start in _CLAUSE_START[rules_of(language)].finditer(sentence):
            clause = re.split(r"[，,。！？；;.!?]", sentence[start.end() :])[0]
            if verbs.match(clause) and not _ASKS_IN_CLAUSE[rules_of(language)].search(clause):
                return True
    return False


def _advises(sentence: str, language: Language) -> bool:
    if pattern("advice", "tell", language).search(sentence):
        return False
    proposes = pattern("advice", "proposal", language).search(sentence) is not None
    if _asks(sentence, language) and not proposes:
        return False
    return pattern("advice", "", language).search(sentence) is not None or is_specific(sentence, language)


def _is_small_talk(words: str, language: Language, facts: Sequence[RecordSentence], asks: bool) -> bool:
    """Whether the doctor talks of the world, or asks what has to do neither with health nor with what is on record."""
    topic = topic_of(words, language)
    leisure = len(pattern("other_topic", "", language).findall(words))
    clinical = topic.clinical
    if leisure:
        return leisure >= clinical
    if (
        not asks
        or clinical
        or any(frame.alone for frame in topic.frames)
        or not topic.words
        or pattern("clinical", "", language).search(words)
    ):
        return False
    if _is_open(words, language) or is_specific(words, language):
        return False
    if pattern("taste", "", language).search(words) or not _ADDRESS[rules_of(language)].search(words):
        return True
    return not answering(facts, words, language)
