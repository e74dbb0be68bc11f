"""The questions of a turn, one by one."""

import re
from collections.abc import Sequence

from cases.text.sentences import sentences
from cases.text.words import rules_of
from cases.vocabulary import Language
from nodes.offline.meaning import ASKS, is_likely_of_history, is_likely_of_the_story, subject_of
from nodes.offline.topics import topic_of

_BOUNDARY = {
    "en": re.compile(
        r", (?:and |or )?(?=(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would|what|when|since|where"
        r"|which|who|whom|how|why|any|tell|please)\b)"
    ),
    "zh": re.compile("(?<=[？?。！])|[，,；](?!或)|(?<=[^、，,；]{5})、(?=[^、，,；]{5})"),
}
# A part that asks more of what was named before it: "When was your last period, and are they regular?"
_OF_THE_SAME = re.compile(r"(?:and |or )?(?:is|are|was|were|did|do|does) (?:it|they|that|those)\b", re.IGNORECASE)
# A part that is a question of its own: "Does it come and go, and have you noticed what makes it worse?"
_OF_ITS_OWN = re.compile(
    r"(?!.*\bwith (?:it|that|this|them)\b)"
    r"(?:and |or )?(?:do|does|did|is|are|was|were|have|has|had|what|when|since when|where|which|how)\b(?:\W+\w+){3}",
    re.IGNORECASE,
)
# A part that only says when, or besides what: 在过去几周里，您有没有发热？
_ALONE = re.compile(r"(?:在|从)?(?:过去|最近|近|这)[^，；]{0,6}[里内来中间]|.{0,6}(?:之外|以外)")
# A question that asks more of the one before it, without naming what.
_OF_THE_FIRST = re.compile(
    r"(?:(?:and|but|or) )?(?:why|what for|anything else|any others?|when was (?:the|your) last (?:one|time))\W*"
    r"|是?(?:因?为什么|为啥|什么原因)[呢啊]?\W*"
    r"|(?:上|最近|最后)一?[次回]是?在?(?:哪[天日]|几号|多久以?前|(?:什么|啥)时候)来?的?[呢啊呀]?\W*"
    r"|那?(?:别的|其[他它]的?|旁的)(?:呢|有吗|有没有)\W*",
    re.IGNORECASE,
)
# 眼睛红不红，痒不痒: what it asks of, and the parts that ask the same of it.
_ASKED_OF_THE_SAME = re.compile(r"(?<!\w)(\w{1,4})(\w)不\2((?:[，,；](\w)不\4(?!\w))+)")


def clauses(words: str, language: Language) -> list[str]:
    """Return the questions of a turn: "Which medicines do you take, and have you any allergies?" has two.

    They are its sentences, those with a question mark if there are any. A sentence whose parts name several subjects is
    returned in parts, each with the mark at its end. After another question "And why?", "Anything else?" and
    上次是哪天？ are left out.
    """
    said = sentences(words)
    first, *more = [each for each in said if ASKS.search(each)] or said or [words]
    questions = []
    for sentence in (first, *(each for each in more if not _OF_THE_FIRST.fullmatch(each))):
        parts = [part for part in split([sentence], language) if _asks_of_a_subject(part, language)]
        mark = sentence[-1:] if ASKS.match(sentence[-1:]) else ""
        is_of_several = len({subject_of(part, language) for part in parts}) > 1
        questions += [part.removesuffix(mark) + mark for part in parts] if is_of_several else [sentence]
    return questions


def _asks_of_a_subject(part: str, language: Language) -> bool:
    if topic_of(part, language).clinical:
        return True
    if _OF_THE_SAME.match(part) or _ALONE.fullmatch(part):
        return False
    is_of_the_story = _OF_ITS_OWN.match(part) is not None and is_likely_of_the_story(part, language)
    return is_of_the_story or is_likely_of_history(part, language)


def split(told: Sequence[str], language: Language) -> list[str]:
    """Return the parts of sentences, each of which may be a question; 眼睛红不红，痒不痒 asks both of the eyes."""
    whole = [_ASKED_OF_THE_SAME.sub(_with_what_is_asked_of, sentence) for sentence in told]
    return [part.strip() for sentence in whole for part in _BOUNDARY[rules_of(language)].split(sentence)]


def _with_what_is_asked_of(found: re.Match[str]) -> str:
    asked_of, first, others = found[1], found[2], found[3]
    return f"{asked_of}{first}不{first}" + re.sub("([，,；])", rf"\1{asked_of}", others)
