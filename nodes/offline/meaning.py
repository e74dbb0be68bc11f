"""What a doctor's words are about: the subject of a question, and whether it is certain enough for an answer."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from cases.vocabulary import Language
from nodes.offline.classifiers import logits, shares, told_shares, top_probability
from nodes.offline.consultation_words import pattern
from nodes.offline.subjects import kind_named, matters_told, subjects
from nodes.offline.topics import topic_of

ASKS = re.compile("[?？]")
_LOGIT_MARGIN = 1.4  # of a subject of the story over open questions, to be preferred to them
_MIN_PROBABILITY = 0.4  # of a subject that is more than a guess
_NEAR_BEST = 0.5  # minimum ratio to the best subject's probability of a further candidate
_MIN_UNNAMED = 0.4  # total probability of the candidates, unless the question names one
_MIN_UNNAMED_BESIDE_NAMED = 0.6  # the same if it names something else
_MAX_SILENT = 0.12  # highest probability of any sentence where the record is silent
_MIN_SURE = 0.8  # probability of a subject that may be denied, unless it is named
_MIN_SURELY_ASKED = 0.6  # probability of what is asked for, to be understood
_MIN_OF_THE_STORY = 0.5  # total probability of the matters of the story


@lru_cache(maxsize=4096)
def subject_of(words: str, language: Language) -> str:
    """Return the most probable subject of a question, a table of `wordings.toml`; ``complaint`` is any symptom."""
    labels, scores = logits("subject", words, language)
    return labels[int(np.argmax(scores))]


@lru_cache(maxsize=4096)
def subjects_heard(words: str, language: Language) -> tuple[str, ...]:
    """Return the subjects that a question may have: those nearly as probable as the best, preferably named ones.

    Only those with the sections of the best are returned, only the best if it has no sections, and none if they are too
    improbable together.
    """
    labels, scores = logits("subject", words, language)
    ratios = np.exp(scores - scores.max())
    candidates = [labels[at] for at in np.argsort(-ratios, kind="stable") if ratios[at] >= _NEAR_BEST]
    preferred = [name for name in candidates if _is_named(name, words, language)] or candidates
    sections = {name: subjects()[name].sections for name in labels}

    def probability(name: str) -> float:
        same_sections = [ratio for each, ratio in zip(labels, ratios, strict=True) if sections[each] == sections[name]]
        return float(sum(same_sections) / ratios.sum())

    best = max(preferred, key=probability)
    if not _is_named(best, words, language):
        topic = topic_of(words, language)
        if probability(best) < (_MIN_UNNAMED_BESIDE_NAMED if topic.matters or topic.sections else _MIN_UNNAMED):
            return ()
    return tuple(name for name in preferred if sections[name] == sections[best]) if sections[best] else (best,)


@lru_cache(maxsize=4096)
def is_surely_heard(words: str, language: Language) -> bool:
    """Whether the subject is certain enough for a denial: named, nearly certain, or beside a clinical word.

    In a question, a subject of the same part of the record may be named in its place ("How do you live and work?").
    """
    heard_as = subjects_heard(words, language)
    may_name = _of_the_part_of(heard_as[0]) if heard_as and ASKS.search(words) else heard_as[:1]
    is_clinical = pattern("clinical", language).search(words) is not None
    return bool(heard_as) and (
        is_clinical
        or any(_is_named(each, words, language) for each in may_name)
        or top_probability(logits("subject", words, language)[1]) >= _MIN_SURE
    )


def is_understood(words: str, language: Language) -> bool:
    """Whether a question names several matters, or is about something certain enough, to say that one cannot tell."""
    is_certain = is_surely_heard(words, language) or float(shares(words, language).max()) >= _MIN_SURELY_ASKED
    return is_certain or len(topic_of(words, language).matters) > 1


def is_rather_of_a_subject(words: str, language: Language) -> bool:
    """Whether a question is more probably about a particular subject than of its kind: 您在哪儿高就？ is not open.

    A subject of the story need only be probable itself if its logit exceeds that of open questions by `_LOGIT_MARGIN`:
    怎么样好受.
    """
    top_kind = top_probability(logits("kind", words, language)[1])
    labels, scores = logits("subject", words, language)
    name = labels[int(np.argmax(scores))]
    if kind_named(name) != "inquiry":
        return False
    vague = max(float(score) for each, score in zip(labels, scores, strict=True) if kind_named(each) == "ambiguous")
    is_clearly_story = subjects()[name].story and float(scores.max()) - vague > _LOGIT_MARGIN
    return top_probability(scores) > (_MIN_PROBABILITY if is_clearly_story else top_kind)


def is_likely_of_history(words: str, language: Language) -> bool:
    """Whether the subject of the words is, as more than a guess, a part of the record other than the story."""
    about = subjects()[subject_of(words, language)]
    return bool(about.sections) and not about.story and _is_likely(words, language)


def is_likely_of_the_story(words: str, language: Language) -> bool:
    """Whether the subject of the words is, as more than a guess, of the story of the complaint."""
    return subjects()[subject_of(words, language)].story and _is_likely(words, language)


def _is_likely(words: str, language: Language) -> bool:
    return top_probability(logits("subject", words, language)[1]) >= _MIN_PROBABILITY


def asks_of_the_story(words: str, language: Language) -> bool:
    """Whether a question probably asks for the story of the complaint: "Is the pain worse at night?"."""
    of_the_story = {name for about in subjects().values() if about.story for name in about.tells}
    asked = zip(matters_told(), shares(words, language), strict=True)
    return float(sum(share for name, share in asked if name in of_the_story)) >= _MIN_OF_THE_STORY


def is_silent(texts: Sequence[str], names: Sequence[str], language: Language) -> bool:
    """Whether no recorded sentence is likely to tell one of these matters, named as in `told.toml`."""
    if not (texts and names):
        return True
    return float(told_shares(texts, language)[:, [matters_told().index(name) for name in names]].max()) < _MAX_SILENT


def _of_the_part_of(subject: str) -> list[str]:
    """Return the subjects that the record has in the same sections, the subject among them."""
    sections = subjects()[subject].sections
    return [each for each, about in subjects().items() if each == subject or (sections and about.sections == sections)]


def _is_named(subject: str, words: str, language: Language) -> bool:
    """Whether a question names a concept of a subject; any symptom is one of ``complaint``."""
    topic, about = topic_of(words, language), subjects()[subject]
    if subject == "complaint" and topic.matters:
        return True
    if subject == "family":
        return bool(topic.sections)
    return any(each.name in about.record for each in (*topic.matters, *topic.frames))
