"""Linear classifiers of a doctor's words: kind of action (intent), subject, and what a question asks for or small talk.

The features are a multilingual sentence embedding (`retrieval.embed`), so that training data in one language serve the
other, and which entries of the lists of clinical words occur; for what a question asks for also its n-grams. A fourth
classifier predicts what a recorded sentence tells. The weights come with the package. Those of kind and subject are
trained on `wordings.toml`, `questions.toml` and the development items of the tracker's test set
(`python -m wardround.training.meaning`); those of what is asked for and what is told, which have the matters of
`told.toml` as labels, with the scores of `pairs.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.text.ordered_tests import without_told_back
from cases.text.sentences import sentences
from cases.text.words import rules_of, stem
from cases.vocabulary import Language, data_file, patterns
from nodes.offline.consultation_words import concepts, matters_in, pattern
from nodes.offline.grams import BUCKETS, hashed_grams
from nodes.offline.hearing import heard_tests, is_for_the_patient_to_do, is_order
from nodes.offline.orders import is_specific, names_examination
from nodes.offline.topics import topic_of
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "meaning.npz"))
PAIR_WEIGHTS = Path(str(files("nodes.offline") / "pairs.npz"))
KINDS = ("inquiry", "ambiguous", "advice", "vague_advice", "demand", "other_topic", "conclusion", "remark")
_PATTERNS = patterns("nodes.offline", "patterns")
_BOUNDARY = {
    "en": re.compile(
        r", (?:and |or )?(?=(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would|what|when|since|where"
        r"|which|who|whom|how|why|any|tell|please)\b)"
    ),
    "zh": re.compile("(?<=[？?。！])|[，,；]|(?<=[^、，,；]{5})、(?=[^、，,；]{5})"),
}
# A part that asks more of what was named before it: "When was your last period, and are they regular?"
_OF_THE_SAME = re.compile(r"(?:and |or )?(?:is|are|was|were|did|do|does) (?:it|they|that|those)\b", re.IGNORECASE)
# A question that asks more of the one before it, without naming what.
_OF_THE_FIRST = re.compile(
    r"(?:(?:and|but) )?(?:why|what for|when was (?:the|your) last (?:one|time))\W*"
    r"|是?(?:因?为什么|为啥|什么原因)[呢啊]?\W*"
    r"|(?:上|最近|最后)一?[次回]是?在?(?:哪[天日]|几号|多久以?前|(?:什么|啥)时候)来?的?[呢啊呀]?\W*",
    re.IGNORECASE,
)
# 眼睛红不红，痒不痒: what it asks of, and the parts that ask the same of it.
_ASKED_OF_THE_SAME = re.compile(r"(?<!\w)(\w{1,4})(\w)不\2((?:[，,；](\w)不\4(?!\w))+)")
_LOGIT_MARGIN = 1.4  # of a subject of the story over open questions, to be preferred to them
_MIN_ODDS = 3  # of all inquiries to open questions, to be preferred to them
_MIN_PROBABILITY = 0.4  # of a subject that is more than a guess
_NEAR_BEST = 0.5  # minimum ratio to the best subject's probability of a further candidate
_MIN_UNNAMED = 0.4  # total probability of the candidates, unless the question names one
_MIN_UNNAMED_BESIDE_NAMED = 0.6  # the same if it names something else
_MAX_SILENT = 0.12  # highest probability of any sentence where the record is silent
_MIN_SURE = 0.8  # probability of a subject that may be denied, unless it is named
_MIN_SURELY_ASKED = 0.6  # probability of what is asked for, to be understood
_MIN_OF_THE_STORY = 0.5  # total probability of the matters of the story
_MIN_ASKING, _MIN_ASKING_UNMARKED = 0.075, 0.4  # probability that words with a question mark, and without, ask
_MIN_FAREWELL = 0.8  # probability of a turn that is a farewell as a whole
_MIN_OTHER_TOPIC = 0.5  # probability of small talk, to be taken as such
_MIN_TALK = 0.4  # probability of small talk, beside all questions, to ask for nothing on record
_LIST_SCALE = 0.15  # scale of the list features beside the embedding
_TOLD_LIST_SCALE = 0.3  # the same for recorded sentences
_GRAM_SCALE = 2.0  # length of a question's n-grams beside the embedding
_TOLD_GRAM_SCALE = 1.5  # the same for recorded sentences, which often list many matters in a word each
ASKS = re.compile("[?？]")
_ASKING = ("inquiry", "ambiguous")
_DECIMALS = 3  # of logits, so that ties do not depend on the machine; the first label then wins


@dataclass(frozen=True)
class Subject:
    """A subject of questions, and where the record speaks of it.

    Attributes:
        names: its own name.
        sections: of the patient record, the most likely first; empty for a particular symptom, which may be in any,
            for results, and for open questions.
        record: the concepts that a question about it names.
        tells: the matters (as in `told.toml`) of the recorded sentences that answer it.
        story: whether it is part of the story of the complaint, which no patient denies.
        rest: whether sentences of its sections that belong to no other subject answer it too.
        given: whether everybody has one (work, a home), so that a denial is no answer.
        whole_with: concepts beside which ("habits and work") the question is about all of its sections.
        whole_but: concepts whose sentences are left out even then.
    """

    names: tuple[str, ...]
    sections: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    story: bool = False
    rest: bool = False
    given: bool = False
    whole_with: tuple[str, ...] = ()
    whole_but: tuple[str, ...] = ()


@cache
def wordings(language: Language) -> dict[str, list[str]]:
    """Return what a doctor may say, by kind of action or subject."""
    return _lines(_entries(), language)


@cache
def idioms(language: Language) -> dict[str, list[str]]:
    """Return idioms by subject; they are no training data for the kind of action, which they make worse."""
    key = f"{rules_of(language)}_idioms"
    return {name: entry.get(key, "").split("\n")[:-1] for name, entry in _entries().items()}


@cache
def questions(language: Language) -> dict[str, list[str]]:
    """Return questions worded by other people, by subject; they too are training data for the subject alone."""
    return _lines(data_file("nodes.offline", "questions"), language)


@cache
def further_questions(language: Language) -> dict[str, list[str]]:
    """Return further questions by what they ask for (a subject or a matter), to learn that alone, and small talk."""
    return _lines(data_file("nodes.offline", "further_questions"), language)


def _lines(tables: Mapping[str, Any], language: Language) -> dict[str, list[str]]:
    """Return the lines of each table in the language whose rules are used."""
    return {name: table[rules_of(language)].split("\n")[:-1] for name, table in tables.items()}


def kind_named(name: str) -> str:
    """Return the kind of action of a table of `wordings.toml`; an open question is ``ambiguous``."""
    return name if name in KINDS else "ambiguous" if name in ("opening", "other_symptoms") else "inquiry"


@cache
def subjects() -> dict[str, Subject]:
    """Return the subjects by name."""
    return {
        name: Subject(
            (name,),
            tuple(about.get("sections", ())),
            tuple(about.get("record", ())),
            tuple(about.get("tells", [name for name in about.get("record", ()) if name in matters_told()])),
            about.get("story", False),
            about.get("rest", False),
            about.get("given", False),
            tuple(about.get("whole_with", ())),
            tuple(about.get("whole_but", ())),
        )
        for name, entry in _entries().items()
        if (about := entry.get("about")) is not None
    }


@cache
def words_of(subject: str, language: Language) -> frozenset[str]:
    """Return the stems and concept names in a subject's wordings, which say no more than the subject itself."""
    texts = [*wordings(language)[subject], *idioms(language)[subject]]
    topics = [topic_of(text, language) for text in texts]
    names = (about.name for topic in topics for about in (*topic.sections, *topic.matters, *topic.places))
    return frozenset((*names, *(stem(word) for text in texts for word in matters_in(text, language))))


@cache
def matters_told() -> tuple[str, ...]:
    """Return the labels of what recorded sentences can tell, and questions ask for."""
    told = data_file("nodes.offline", "told")
    return (*told["names"].values(), *told["further_names"])


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return data_file("nodes.offline", "wordings")


@lru_cache(maxsize=4096)
def kind_label(words: str, language: Language) -> str:
    """Return which of ``KINDS`` the words are; a ``remark`` asks nothing.

    The classifier predicts a table of wordings. Since inquiries have many tables, and open questions three, their
    probabilities are added before they are compared; open questions have to be likelier than any other table. A
    farewell counts only as the last sentence, or if it is surely one and asks nothing, because a wrong end does more
    harm than a missed one.
    """
    words = without_told_back(words)
    if _asks_nothing(words):
        return "remark"
    tables, scores = _logits("kind", words, language)
    label = kind_named(tables[int(np.argmax(scores))])
    if label == "other_topic" and _top_probability(scores) < _MIN_OTHER_TOPIC:
        label = "inquiry"  # "Still on the fags?"
    if label in _ASKING:
        asked, open_asked = (_kind_weight(kind, tables, scores) for kind in _ASKING)
        best = round(float(np.exp(scores.max())), _DECIMALS)
        label = "ambiguous" if open_asked >= max(best, asked / _MIN_ODDS) else "inquiry"
    is_open = kind_named(subject_of(words, language)) == "ambiguous"
    is_of_before = _PATTERNS["before_this"].search(words) and _is_likely_of_history(words, language)
    if label == "ambiguous" and is_of_before and is_asking(words, language):
        label = "inquiry"  # 以前身体怎么样？
    if label == "inquiry" and is_open and not topic_of(words, language).clinical:
        label = "ambiguous"  # "Where shall we begin?"
    if label in _ASKING and _is_talk(words, language):
        label = "other_topic"
    is_no_request = ASKS.search(words) and not _PATTERNS["requests"].search(words)
    if (label == "demand" and is_no_request) or (label not in _ASKING and _PATTERNS["asks_to_tell"].search(words)):
        label = "inquiry"  # "And lying on your back?"
    if label == "vague_advice" and _PATTERNS["supposes"].search(words):
        label = "remark"
    parts = sentences(words)
    is_farewell = label == "conclusion" and not ASKS.search(words) and _top_probability(scores) >= _MIN_FAREWELL
    is_of_last = label == "conclusion" and not is_farewell
    if len(parts) > 1 and (is_of_last or (label in _ASKING and _asks_nowhere(parts, language))):
        return kind_label(parts[-1], language)
    if label == "advice" or not heard_tests(words):
        return label
    if label == "demand":
        return "demand" if is_for_the_patient_to_do(words) else "advice"
    return "advice" if label == "conclusion" or is_order(words) else label  # a question may name a test


@lru_cache(maxsize=4096)
def is_asking(words: str, language: Language) -> bool:
    """Whether the words probably ask for something on record: the total probability of the tables that do is enough.

    Nor may they be small talk, which is learned beside all questions.
    """
    if _asks_nothing(words) or _is_talk(words, language):
        return False
    tables, scores = _logits("kind", words, language)
    probabilities = shared(scores.astype(np.float64))
    asks = [kind_named(table) in _ASKING and table != "results" for table in tables]
    is_marked = ASKS.search(words) or _PATTERNS["asks_to_tell"].search(words)
    return float(probabilities[asks].sum()) >= (_MIN_ASKING if is_marked else _MIN_ASKING_UNMARKED)


def _is_talk(words: str, language: Language) -> bool:
    """Whether words are small talk, beside all questions."""
    return bool(_asked_shares(words, language)[-1] >= _MIN_TALK)


def _asks_nothing(words: str) -> bool:
    """Whether each sentence says who is speaking, what somebody else says, or that something is usual.

    Of a turn with question marks, whether each question is for the patient's own.
    """
    said = sentences(words)
    asked = [each for each in said if ASKS.search(each)]
    name = "invites_questions" if asked else "asks_nothing"
    return bool(said) and all(_PATTERNS[name].search(part) for part in asked or said)


def _asks_nowhere(parts: Sequence[str], language: Language) -> bool:
    """Whether no sentence of a turn asks, by mark or by itself: "You have pneumonia. Take these tablets."."""
    return not any(ASKS.search(part) or kind_label(part, language) in _ASKING for part in parts)


@lru_cache(maxsize=4096)
def subject_of(words: str, language: Language) -> str:
    """Return the most probable subject of a question, a table of `wordings.toml`; ``complaint`` is any symptom."""
    labels, scores = _logits("subject", words, language)
    return labels[int(np.argmax(scores))]


@lru_cache(maxsize=4096)
def subjects_heard(words: str, language: Language) -> tuple[str, ...]:
    """Return the subjects that a question may have: those nearly as probable as the best, preferably named ones.

    Only those with the sections of the best are returned, only the best if it has no sections, and none if they are too
    improbable together.
    """
    labels, scores = _logits("subject", words, language)
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
        or _top_probability(_logits("subject", words, language)[1]) >= _MIN_SURE
    )


def is_understood(words: str, language: Language) -> bool:
    """Whether it is certain enough what a question is about, or what it asks for, to say that one cannot tell."""
    return is_surely_heard(words, language) or float(shares(words, language).max()) >= _MIN_SURELY_ASKED


def asks_of_the_story(words: str, language: Language) -> bool:
    """Whether a question probably asks for the story of the complaint: "Is the pain worse at night?"."""
    of_the_story = {name for about in subjects().values() if about.story for name in about.tells}
    asked = zip(matters_told(), shares(words, language), strict=True)
    return float(sum(share for name, share in asked if name in of_the_story)) >= _MIN_OF_THE_STORY


def _of_the_part_of(subject: str) -> list[str]:
    """Return the subjects that the record has in the same sections, the subject among them."""
    sections = subjects()[subject].sections
    return [each for each, about in subjects().items() if each == subject or (sections and about.sections == sections)]


def is_silent(texts: Sequence[str], names: Sequence[str], language: Language) -> bool:
    """Whether no recorded sentence is likely to tell one of these matters, named as in `told.toml`."""
    if not (texts and names):
        return True
    return float(told_shares(texts, language)[:, [matters_told().index(name) for name in names]].max()) < _MAX_SILENT


def told_shares(texts: Sequence[str], language: Language) -> NDArray[np.float64]:
    """Return the probability that each recorded sentence tells each matter (n, matters)."""
    scores = np.array([_told_logits(text, language) for text in texts])
    probabilities: NDArray[np.float64] = 1 / (1 + np.exp(-scores))
    return probabilities


def shares(words: str, language: Language) -> NDArray[np.float64]:
    """Return the probability of each matter that a question may ask for (matters,); the rest to 1 is small talk."""
    return _asked_shares(words, language)[:-1]


@lru_cache(maxsize=4096)
def _asked_shares(words: str, language: Language) -> NDArray[np.float64]:
    """Return the probability of each matter that words may ask for, and of small talk (matters + 1,)."""
    grams = _grams(heard(words), language, _GRAM_SCALE)
    return shared(_matter_logits("asked", np.append(grams, _input(words, language))))


def shared(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of logits over the last axis."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def _is_named(subject: str, words: str, language: Language) -> bool:
    """Whether a question names a concept of a subject; any symptom is one of ``complaint``."""
    topic, about = topic_of(words, language), subjects()[subject]
    if subject == "complaint" and topic.matters:
        return True
    if subject == "family":
        return bool(topic.sections)
    return any(each.name in about.record for each in (*topic.matters, *topic.frames))


def _top_probability(scores: NDArray[np.float32]) -> float:
    """Return the softmax probability of the best label."""
    return float(1 / np.exp(scores - scores.max()).sum())


def clauses(words: str, language: Language) -> list[str]:
    """Return the questions of a turn: "Which medicines do you take, and have you any allergies?" has two.

    They are its sentences, those with a question mark if there are any. A sentence whose parts name several subjects is
    returned in parts, each with the mark at its end. After another question "And why?" and 上次是哪天？ are left
    out.
    """
    said = sentences(words)
    first, *more = [each for each in said if ASKS.search(each)] or said or [words]
    questions = []
    for sentence in (first, *(each for each in more if not _OF_THE_FIRST.fullmatch(each))):
        parts = [
            part
            for part in split([sentence], language)
            if topic_of(part, language).clinical
            or (_is_likely_of_history(part, language) and not _OF_THE_SAME.match(part))
        ]
        mark = sentence[-1:] if ASKS.match(sentence[-1:]) else ""
        is_of_several = len({subject_of(part, language) for part in parts}) > 1
        questions += [part.removesuffix(mark) + mark for part in parts] if is_of_several else [sentence]
    return questions


def is_rather_of_a_subject(words: str, language: Language) -> bool:
    """Whether a question is more probably about a particular subject than of its kind: 您在哪儿高就？ is not open.

    A subject of the story need only be probable itself if its logit exceeds that of open questions by `_LOGIT_MARGIN`:
    怎么样好受.
    """
    top_kind, (labels, scores) = (
        _top_probability(_logits("kind", words, language)[1]),
        _logits("subject", words, language),
    )
    name = labels[int(np.argmax(scores))]
    if kind_named(name) != "inquiry":
        return False
    vague = max(float(score) for each, score in zip(labels, scores, strict=True) if kind_named(each) == "ambiguous")
    is_clearly_story = subjects()[name].story and float(scores.max()) - vague > _LOGIT_MARGIN
    return _top_probability(scores) > (_MIN_PROBABILITY if is_clearly_story else top_kind)


def _is_likely_of_history(words: str, language: Language) -> bool:
    """Whether the subject of the words is, as more than a guess, a part of the record other than the story."""
    about = subjects()[subject_of(words, language)]
    is_likely = _top_probability(_logits("subject", words, language)[1]) >= _MIN_PROBABILITY
    return is_likely and bool(about.sections) and not about.story


def split(told: Sequence[str], language: Language) -> list[str]:
    """Return the parts of sentences, each of which may be a question; 眼睛红不红，痒不痒 asks both of the eyes."""
    whole = [_ASKED_OF_THE_SAME.sub(_with_what_is_asked_of, sentence) for sentence in told]
    return [part.strip() for sentence in whole for part in _BOUNDARY[rules_of(language)].split(sentence)]


def _with_what_is_asked_of(found: re.Match[str]) -> str:
    asked_of, first, others = found[1], found[2], found[3]
    return f"{asked_of}{first}不{first}" + re.sub("([，,；])", rf"\1{asked_of}", others)


def features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each text for kind and subject (n, d)."""
    listed = _LIST_SCALE * np.array([list_features(text, language) for text in texts], np.float32)
    embedded = embed([heard(text) for text in texts], MULTILINGUAL_MODEL)
    rows: NDArray[np.float32] = np.hstack([embedded, listed]).astype(np.float32)
    return rows


def asked_features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each text for what it asks for: its n-grams, then `features` (n, `BUCKETS` + d)."""
    grams = [_grams(heard(text), language, _GRAM_SCALE) for text in texts]
    return np.hstack([grams, features(texts, language)])


def _grams(text: str, language: Language, scale: float) -> NDArray[np.float32]:
    """Return the scaled n-grams of a text; none in a language that nothing was learned in, where they mean nothing."""
    is_learned = rules_of(language) == language
    return np.float32(scale) * (hashed_grams(text) if is_learned else np.zeros(BUCKETS, np.float32))


def told_features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """Return the features of each recorded sentence for what it tells: its n-grams, then others (n, `BUCKETS` + d)."""
    grams = [_grams(text, language, _TOLD_GRAM_SCALE) for text in texts]
    occurs = [
        [float(each.search(text) is not None) for about in concepts(language) for each in (about.recorded, about.asked)]
        for text in texts
    ]
    listed = np.float32(_TOLD_LIST_SCALE) * np.array(occurs, np.float32)
    return np.hstack([grams, embed(texts, MULTILINGUAL_MODEL), listed])


def heard(text: str) -> str:
    """Return the text to embed, without a list of examinations ("Please have these done: ...").

    Such a list counts in the list features only.
    """
    said, colon, listed = text.partition(": ")
    return said if colon and names_examination(listed) else text


def list_features(text: str, language: Language) -> tuple[float, ...]:
    """Return which concepts occur in the text, then six features of the text as a whole."""
    topic = topic_of(text, language)
    clinical = topic.clinical > 0 or pattern("clinical", language).search(text) is not None
    asks = re.search(r"[?？吗呢]", text) is not None
    specific = is_specific(text, language)
    unknown = not clinical and not topic.frames and bool(topic.words)
    named = topic.names
    occurs = [concept.name in named for concept in concepts(language)]
    return tuple(float(sign) for sign in (*occurs, clinical, asks, specific, unknown, topic.is_empty, not topic.words))


def _kind_weight(kind: str, tables: Sequence[str], scores: NDArray[np.float32]) -> float:
    """Return the unnormalised probability of a kind, added over its tables."""
    return round(
        sum(float(np.exp(scores[at])) for at, table in enumerate(tables) if kind_named(table) == kind), _DECIMALS
    )


def _logits(head: str, words: str, language: Language) -> tuple[list[str], NDArray[np.float32]]:
    """Return the labels of a head, and their logits for these words (labels,)."""
    labels, weights = _weights(head)
    return labels, np.round(_input(words, language) @ weights, _DECIMALS)


@lru_cache(maxsize=2048)  # shared by the heads
def _input(words: str, language: Language) -> NDArray[np.float64]:
    """Return the features of a text with a final 1 for the bias (d + 1,)."""
    return np.append(features([words], language)[0], 1)


@lru_cache(maxsize=4096)  # every question about a record needs them
def _told_logits(text: str, language: Language) -> NDArray[np.float64]:
    """Return the logit of each matter for a recorded sentence (matters,)."""
    return _matter_logits("told", np.append(told_features([text], language)[0], 1))


def _matter_logits(head: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logit of each matter (matters,) for features with a final 1 for the bias."""
    given = np.flatnonzero(inputs)  # few of the n-grams
    return np.round(inputs[given] @ _matter_weights(head)[given], _DECIMALS)


@cache
def _weights(head: str) -> tuple[list[str], NDArray[np.float32]]:
    """Return the labels and weights of a head; the weights are (d + 1, labels), the last row is the bias."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return stored[f"{head}_labels"].tolist(), stored[head].astype(np.float32)


@cache
def _matter_weights(head: str) -> NDArray[np.float64]:
    """Return the weights of what is ``asked`` for or ``told`` (d + 1, matters); the last row is the bias."""
    with np.load(PAIR_WEIGHTS, allow_pickle=False) as stored:
        weights: NDArray[np.float64] = stored[head].astype(np.float64)
        return weights
