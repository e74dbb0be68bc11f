"""The subjects of a doctor's questions, what a doctor may say of each, and what recorded sentences can tell."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from cases.strict import Strict
from cases.text.words import rules_of, stem
from cases.vocabulary import Language, data_file
from nodes.offline.consultation_words import matters_in
from nodes.offline.topics import topic_of

KINDS = ("inquiry", "ambiguous", "advice", "vague_advice", "demand", "other_topic", "conclusion", "remark")


class QuestionSubject(Strict):
    """A subject of questions, and where the record speaks of it.

    Attributes:
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


def kind_named(name: str) -> str:
    """Return the kind of action of a table of `wordings.toml`; an open question is ``ambiguous``."""
    return name if name in KINDS else "ambiguous" if name in ("opening", "other_symptoms") else "inquiry"


@cache
def subjects() -> dict[str, QuestionSubject]:
    """Return the subjects by name."""
    return {
        name: QuestionSubject(**{"tells": [one for one in about.get("record", ()) if one in matters_told()]} | about)
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


def _lines(tables: Mapping[str, Any], language: Language) -> dict[str, list[str]]:
    """Return the lines of each table in the language whose rules are used."""
    return {name: table[rules_of(language)].split("\n")[:-1] for name, table in tables.items()}


@cache
def _entries() -> dict[str, dict[str, Any]]:
    return data_file("nodes.offline", "wordings")
