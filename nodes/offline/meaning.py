"""What a doctor's words mean, by a small linear classifier: which kind of action, and what a question is about.

A sentence is read by its multilingual embedding (`retrieval.embed`), so that what is learned in one language serves the
other, and by what of the lists of clinical words occurs. The weights are trained on the wordings of `wordings.toml` and
on the development items of the tracker's test set (`python -m wardround.training.meaning`), and come with the package.
"""

import re
from collections.abc import Sequence
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
from cases.vocabulary import Language, data_file
from nodes.offline.consultation_words import concepts, matters_in, pattern
from nodes.offline.hearing import heard_tests, is_for_the_patient_to_do, is_order
from nodes.offline.orders import is_specific, names_examination
from nodes.offline.topics import topic_of
from retrieval import MULTILINGUAL_MODEL, embed

WEIGHTS = Path(str(files("nodes.offline") / "meaning.npz"))
KINDS = ("inquiry", "ambiguous", "advice", "vague_advice", "demand", "other_topic", "conclusion", "remark")
_PHRASE = 6  # characters; what is shorter and names nothing ("Hello") is no question of its own
_BETWEEN = {
    "en": re.compile(
        r", (?:and |or )?(?=(?:do|does|did|is|are|was|were|have|has|had|can|could|will|would|what|when|since|where"
        r"|which|who|whom|how|why|any|tell|please)\b)"
    ),
    "zh": re.compile("(?<=[？?。！])|[，,；]|(?<=[^、，,；]{5})、(?=[^、，,；]{5})"),
}
_FAR = 1.4  # how much likelier, as a logarithm, what is likely must be than the whole to be asked for in its place
_MUCH_LIKELIER = 3  # than a question for the whole one for something must be, all in all, to be heard in its place
_LIKELY = 0.4  # how likely what a question is about must be to be more than a guess
_CLOSE = 0.5  # of the likeliest subject's share, and as likely another is one that a question may be about too
_HEARD = 0.4  # how likely what it may be about must be, all in all, to be answered by it, unless it names that
_HEARD_ALL_THE_SAME = 0.6  # the same where it names something else
_SILENT = 0.1  # how likely the likeliest is at most where the record is silent
_SURE = 0.8  # how likely before it is denied, unless it names that
_OTHER = 0.6  # how likely small talk must be to be heard as such
_SIGNS = 0.15  # how much the lists count beside the words as a whole
_TOLD_SIGNS = 0.3  # the same of recorded sentences
_ASKS = re.compile("[?？]")
_DECIMALS = 3  # scores closer than this are equal, whatever the machine; the first label then wins


@dataclass(frozen=True)
class Subject:
    """What a question can be about, and where the record speaks of it.

    Attributes:
        names: its own; several where a question may be about more than one.
        sections: of the patient record, the likeliest first; none of a particular symptom, which may stand
            in any, of results, and of what is vague.
        record: the concepts that a question for it names.
        tells: what the recorded sentences tell that answer it, as `told.toml` names it.
        story: whether it is how the complaint is, which nobody who has come for it denies.
        rest: whether it has those sentences of its sections too that are no other subject's.
        given: whether everybody has one (work, a home), so that no is no answer.
        whole_with: concepts with any of which beside it ("habits and work") it is a question for all of its sections.
        whole_but: concepts whose sentences are not asked for even then.
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
    """What a doctor may say, by what is meant."""
    return {name: entry[rules_of(language)].split("\n")[:-1] for name, entry in _entries().items()}


@cache
def idioms(language: Language) -> dict[str, list[str]]:
    """Idioms for what a question is about, by subject; they teach no kind of action, which is heard worse with them."""
    key = f"{rules_of(language)}_idioms"
    return {name: entry.get(key, "").split("\n")[:-1] for name, entry in _entries().items()}


@cache
def questions(language: Language) -> dict[str, list[str]]:
    """Questions in other people's words by what they are about; they too teach the subject alone."""
    told = data_file("nodes.offline", "questions")
    return {name: by_language[rules_of(language)].split("\n")[:-1] for name, by_language in told.items()}


def kind_named(name: str) -> str:
    """The kind of action that a table of the wordings is of; a question for the whole is an ambiguous one."""
    return name if name in KINDS else "ambiguous" if name in ("opening", "other_symptoms") else "inquiry"


@cache
def subjects() -> dict[str, Subject]:
    """What a question can be about, by name."""
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
    """The words of its wordings, and the names of the concepts in them: they name nothing in particular of it."""
    asked = [*wordings(language)[subject], *idioms(language)[subject]]
    topics = [topic_of(text, language) for text in asked]
    named = (about.name for topic in topics for about in (*topic.sections, *topic.matters, *topic.places))
    return frozenset((*named, *(stem(word) for text in asked for word in matters_in(text, language))))


@cache
def matters_told() -> tuple[str, ...]:
    """What recorded sentences can tell."""
    return tuple(data_file("nodes.offline", "told")["names"].values())


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return data_file("nodes.offline", "wordings")


@lru_cache(maxsize=4096)
def kind_label(words: str, language: Language) -> str:
    """Which of ``KINDS`` the words are; a ``remark`` asks nothing.

    It is heard by the table of wordings: what asks is less one thing than many, which count together beside a question
    for the whole. A farewell comes last: an end that nobody meant does more harm than one that was not heard.
    """
    words = without_told_back(words)
    tables, scores = _scores("kind", words, language)
    label = kind_named(tables[int(np.argmax(scores))])
    if label == "other_topic" and _likelihood(scores) < _OTHER:
        label = "inquiry"  # "Still on the fags?"
    if label == "ambiguous" and _share_of("inquiry", tables, scores) > _MUCH_LIKELIER * _share_of(
        "ambiguous", tables, scores
    ):
        label = "inquiry"
    if label == "inquiry" and kind_named(subject_of(words, language)) == "ambiguous" and not _names(words, language):
        label = "ambiguous"  # "Where shall we begin?"
    told = sentences(words)
    if label == "conclusion" and len(told) > 1:
        return kind_label(told[-1], language)
    if label == "advice" or not heard_tests(words):
        return label
    if label == "demand":
        return "demand" if is_for_the_patient_to_do(words) else "advice"
    return "advice" if label == "conclusion" or is_order(words) else label  # a name may stand in a question


@lru_cache(maxsize=4096)
def subject_of(words: str, language: Language) -> str:
    """What a question is about: a table of `wordings.toml`; ``complaint`` is any particular symptom."""
    return _best("subject", words, language)


@lru_cache(maxsize=4096)
def is_understood(words: str, language: Language) -> bool:
    """Whether it is clear what a question is about: its meaning is likely, or it has a clinical word."""
    return pattern("clinical", "", language).search(words) is not None or is_likely(words, language)


@lru_cache(maxsize=4096)
def subjects_heard(words: str, language: Language) -> tuple[str, ...]:
    """What a question may be about: the likeliest subject and those nearly as likely, of these the ones that it names.

    None if these are of several parts of the record, or not likely enough together: so much is only guessed.
    """
    labels, scores = _scores("subject", words, language)
    shares = np.exp(scores - scores.max())
    near = [labels[at] for at in np.argsort(-shares, kind="stable") if shares[at] >= _CLOSE]
    kept = [name for name in near if _is_named(name, words, language)] or near
    sections = {name: subjects()[name].sections for name in labels}

    def likely(name: str) -> float:
        alike = [share for each, share in zip(labels, shares, strict=True) if sections[each] == sections[name]]
        return float(sum(alike) / shares.sum())

    best = max(kept, key=likely)
    if not _is_named(best, words, language):
        topic = topic_of(words, language)
        if likely(best) < (_HEARD_ALL_THE_SAME if topic.matters or topic.sections else _HEARD):
            return ()
    return tuple(name for name in kept if sections[name] == sections[best]) if sections[best] else (best,)


@lru_cache(maxsize=4096)
def is_surely_heard(words: str, language: Language) -> bool:
    """Whether what a question is about is clear enough to be denied: it is named too, or nearly certain."""
    heard_as = subjects_heard(words, language)
    clinical = pattern("clinical", "", language).search(words) is not None
    return bool(heard_as) and (
        clinical
        or _is_named(heard_as[0], words, language)
        or _likelihood(_scores("subject", words, language)[1]) >= _SURE
    )


def is_silent(texts: Sequence[str], names: Sequence[str], language: Language) -> bool:
    """Whether no recorded sentence may well tell one of these, as `told.toml` names them."""
    if not (texts and names):
        return True
    return float(told_shares(texts, language)[:, [matters_told().index(name) for name in names]].max()) < _SILENT


def told_shares(texts: Sequence[str], language: Language) -> NDArray[np.float64]:
    """How likely each recorded sentence is to tell each matter (n, matters)."""
    scores = np.array([_told_scores(text, language) for text in texts])
    likely: NDArray[np.float64] = 1 / (1 + np.exp(-scores))
    return likely


@lru_cache(maxsize=4096)
def shares(words: str, language: Language) -> NDArray[np.float64]:
    """How likely a question is about each subject (subjects,)."""
    return shared(_scores("subject", words, language)[1].astype(np.float64))


def shared(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the scores of labels make of each, all together 1; of the last axis."""
    likely = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = likely / likely.sum(axis=-1, keepdims=True)
    return shares


def _is_named(subject: str, words: str, language: Language) -> bool:
    """Whether a question names something of a subject; any symptom is one of ``complaint``."""
    topic, about = topic_of(words, language), subjects()[subject]
    if subject == "complaint" and topic.matters:
        return True
    if subject == "family":
        return bool(topic.sections)
    return any(each.name in about.record for each in (*topic.matters, *topic.frames))


def _names(words: str, language: Language) -> bool:
    """Whether a symptom, a part of the body or of the record is named."""
    topic = topic_of(words, language)
    return bool(topic.matters or topic.places or topic.sections)


def is_likely(words: str, language: Language) -> bool:
    """Whether what a question is heard to be about (`subject_of`) is more than a guess."""
    _, scores = _scores("subject", words, language)
    return _likelihood(scores) >= _LIKELY


def _likelihood(scores: NDArray[np.float32]) -> float:
    """How likely the best of the labels is."""
    return float(1 / np.exp(scores - scores.max()).sum())


def clauses(words: str, language: Language) -> list[str]:
    """The questions of which a turn is made: "Which medicines do you take, and have you any allergies?" is two.

    What names nothing beside something that does ("Do you smoke, how many a day?") says more of it, and what asks for
    nothing in particular beside a question ("Before all this, were you healthy?") belongs to it.
    """
    told = sentences(words)
    if any(_ASKS.search(sentence) for sentence in told):
        told = [each for each in told if _ASKS.search(each) or kind_label(each, language) != "remark"]
    parts = [part for part in split(told, language) if not topic_of(part, language).is_empty or len(part) >= _PHRASE]
    naming = [
        part
        for part in parts
        if topic_of(part, language).clinical
        or ((part in told or is_likely(part, language)) and _is_of_history(part, language))
    ]
    return naming or [part for part in parts if is_understood(part, language)] or [words]


def is_rather_of_a_subject(words: str, language: Language) -> bool:
    """Whether something in particular as its subject is likelier than what kind it is: 您在哪儿高就？ is not vague.

    How the complaint is need be likely alone, and much likelier than all of it: 怎么样好受.
    """
    kind, (labels, scores) = _likelihood(_scores("kind", words, language)[1]), _scores("subject", words, language)
    name = labels[int(np.argmax(scores))]
    if kind_named(name) != "inquiry":
        return False
    whole = max(float(score) for each, score in zip(labels, scores, strict=True) if kind_named(each) == "ambiguous")
    of_the_story = subjects()[name].story and float(scores.max()) - whole > _FAR
    return _likelihood(scores) > (_LIKELY if of_the_story else kind)


def _is_of_history(words: str, language: Language) -> bool:
    """Whether it is heard to ask for a part of the record other than the story."""
    about = subjects()[subject_of(words, language)]
    return bool(about.sections) and not about.story


def split(told: Sequence[str], language: Language) -> list[str]:
    """The parts of sentences, each of which may be a question."""
    return [part.strip() for sentence in told for part in _BETWEEN[rules_of(language)].split(sentence)]


def features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """What the classifier sees of each text (n, d)."""
    signs = _SIGNS * np.array([_signs(text, language) for text in texts], np.float32)
    seen = embed([heard(text) for text in texts], MULTILINGUAL_MODEL)
    rows: NDArray[np.float32] = np.hstack([seen, signs]).astype(np.float32)
    return rows


def told_features(texts: Sequence[str], language: Language) -> NDArray[np.float32]:
    """What the classifier of recorded sentences sees of each text (n, d)."""
    signs = [
        [float(each.search(text) is not None) for about in concepts(language) for each in (about.recorded, about.asked)]
        for text in texts
    ]
    seen = embed(texts, MULTILINGUAL_MODEL)
    rows: NDArray[np.float32] = np.hstack([seen, _TOLD_SIGNS * np.array(signs, np.float32)]).astype(np.float32)
    return rows


def heard(text: str) -> str:
    """What is embedded: without a list of examinations ("Please have these done: ..."), which the signs read."""
    said, colon, listed = text.partition(": ")
    return said if colon and names_examination(listed) else text


def _signs(text: str, language: Language) -> tuple[float, ...]:
    """What of the lists occurs: each concept, then whether anything clinical is named at all."""
    topic = topic_of(text, language)
    clinical = topic.clinical > 0 or pattern("clinical", "", language).search(text) is not None
    asks = re.search(r"[?？吗呢]", text) is not None
    named = is_specific(text, language)
    unknown = not clinical and not topic.frames and bool(topic.words)
    said = [concept.asked.search(text) is not None for concept in concepts(language)]
    return tuple(float(sign) for sign in (*said, clinical, asks, named, unknown, topic.is_empty, not topic.words))


def _share_of(kind: str, tables: Sequence[str], scores: NDArray[np.float32]) -> float:
    """How likely a kind is in all its tables, up to a factor."""
    return round(
        sum(float(np.exp(scores[at])) for at, table in enumerate(tables) if kind_named(table) == kind), _DECIMALS
    )


def _best(head: str, words: str, language: Language) -> str:
    labels, scores = _scores(head, words, language)
    return labels[int(np.argmax(scores))]


def _scores(head: str, words: str, language: Language) -> tuple[list[str], NDArray[np.float32]]:
    """The labels of a head, and the score of each for these words (labels,)."""
    labels, weights = _weights(head)
    return labels, np.round(_row(words, language) @ weights, _DECIMALS)


@lru_cache(maxsize=2048)  # each of the heads is asked about the same words
def _row(words: str, language: Language) -> NDArray[np.float64]:
    """What the classifier sees of a text, and the one of the constant (d + 1)."""
    return np.append(features([words], language)[0], 1)


@lru_cache(maxsize=4096)  # each question of the same record
def _told_scores(text: str, language: Language) -> NDArray[np.float64]:
    """The score of each matter for a recorded sentence (matters,)."""
    return np.round(np.append(told_features([text], language)[0], 1) @ _weights("told")[1], _DECIMALS)


@cache
def _weights(head: str) -> tuple[list[str], NDArray[np.float32]]:
    """The labels, and the weights (d + 1, labels; the last row is the constant)."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return stored[f"{head}_labels"].tolist(), stored[head].astype(np.float32)
