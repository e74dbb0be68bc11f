"""The labelled data of the offline rules.

These are the tracker's test set, the sentences of built-in cases labelled with what they tell, and the form of
questions labelled with what answers them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cases import Case, load_cases
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file
from nodes.offline.subjects import matters_told
from scoring.aie.simulator_set import read_items, shipped_files
from wardround.training.fitting import LANGUAGES

FIELDS = {"C": "chief_complaint", "H": "present_illness", "P": "past_history", "S": "personal_history"}
_KIND_OF_ACTION = {
    "Effective Inquiry": "inquiry",
    "Ineffective Inquiry": "inquiry",
    "Ambiguous Inquiry": "ambiguous",
    "Effective Advice": "advice",
    "Ineffective Advice": "advice",
    "Ambiguous Advice": "vague_advice",
    "Demand": "demand",
    "Other Topic": "other_topic",
    "Conclusion": "conclusion",
}


@dataclass(frozen=True)
class Asked:
    """A question about a record."""

    words: str
    record: str  # its id
    language: Language  # of the question and the record
    facts: tuple[RecordSentence, ...]  # the sentences of the record's histories
    answers: tuple[bool | None, ...]  # whether each fact answers; None if it may be told although it does not


@dataclass(frozen=True)
class LabelledSentence:
    """A recorded sentence."""

    record: str  # the id of its record; empty if it is of none
    language: Language  # of the record
    text: str
    tells: Mapping[str, bool]  # whether it tells each matter of which this is known


def labelled_turns(language: Language) -> list[tuple[str, str]]:
    """Return the doctors' turns in the development part of the tracker's test set, with their kinds of action."""
    items = [item for path in shipped_files() for item in read_items(path).records]
    return [
        (item.doctor, _KIND_OF_ACTION[item.action])
        for item in items
        if item.language == language and item.part == "development" and item.action in _KIND_OF_ACTION
    ]


def told_to_learn() -> Iterator[LabelledSentence]:
    """Yield recorded sentences with the matters that they tell: of the labelled cases, and further ones."""
    names = data_file("nodes.offline", "told")["names"].values()

    def labelled(record: str, language: Language, text: str, matters: frozenset[str]) -> LabelledSentence:
        return LabelledSentence(record, language, text, {name: name in matters for name in names})

    for case, labels in labelled_cases():
        yield from (labelled(case.id, case.language, fact.text, matters) for fact, matters in labels.items())
    for language in LANGUAGES:
        for line in data_file("nodes.offline", "told")["sentences"][language].splitlines():
            code, text = line.split(" | ")
            yield labelled("", language, text, _matters(code))
        for line in data_file("nodes.offline", "further_told")[language].splitlines():
            told, text = line.split(" | ")
            yield LabelledSentence("", language, text, _outside_the_story(told.split("+")))


def labelled_cases() -> Iterator[tuple[Case, dict[RecordSentence, frozenset[str]]]]:
    """Yield the cases of ``told.toml``, each with the matters that its sentences tell."""
    cases = {case.id: case for case in load_cases()}
    for case_id, labels in data_file("nodes.offline", "told")["cases"].items():
        labelled: dict[RecordSentence, frozenset[str]] = {}
        for section, codes in re.findall(r"(\S)((?: (?![CHPS]\b)\S+)+)", labels):
            texts = sentences(getattr(cases[case_id].patient, FIELDS[section]))
            for text, code in zip(texts, codes.split(), strict=True):
                labelled[RecordSentence(FIELDS[section], text)] = _matters(code)
        yield cases[case_id], labelled


def _matters(code: str) -> frozenset[str]:
    names = data_file("nodes.offline", "told")["names"]
    return frozenset(names[part] for part in code.split("+") if part != "-")


def answers_by(codes: str, places: Iterable[str]) -> tuple[bool | None, ...]:
    """Return whether each place is among the codes, such as ``H1,H2~C1``; None for one after ``~``."""
    due, tolerable = (part.split(",") for part in f"{codes}~".split("~")[:2])
    return tuple(None if place in tolerable else place in due for place in places)


def matter_named(topic: str) -> str:
    """Return the matter that a key of our files names."""
    return topic.replace("_", " ")


def story_matters() -> set[str]:
    """Return the matters of the story of the complaint."""
    return {*map(matter_named, data_file("nodes.offline", "asked_of_imported")["story"])}


def _outside_the_story(told: Sequence[str]) -> dict[str, bool]:
    """Return whether each matter outside the story is told; of one after ``~`` this is not known."""
    not_known = story_matters() | {name[1:] for name in told if name.startswith("~")}
    return {name: name in told for name in matters_told() if name not in not_known}


def places(facts: Sequence[RecordSentence]) -> list[str]:
    """Return the code of each sentence in the labels of questions: a letter for its section, and its number in it."""
    letters = {field: letter for letter, field in (*FIELDS.items(), ("F", "family_history"))}
    counts = Counter[str]()
    codes = []
    for fact in facts:
        counts[fact.section] += 1
        codes.append(f"{letters.get(fact.section)}{counts[fact.section]}")
    return codes
