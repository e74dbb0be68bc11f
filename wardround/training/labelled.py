"""What people have labelled: the tracker's test set, and the built-in cases whose sentences say what they tell."""

import re
from collections.abc import Iterator

from cases import Case, load_cases
from cases.text.record_sentences import RecordSentence
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file
from scoring.aie.simulator_set import read_items, shipped_files
from wardround.training.fitting import LANGUAGES

FIELDS = {"C": "chief_complaint", "H": "present_illness", "P": "past_history", "S": "personal_history"}
_OF_ACTIONS = {
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


def labelled_turns(language: Language) -> list[tuple[str, str]]:
    """Doctors' turns of the tracker's test set, of its part for development, with the kind of action that each is."""
    items = [item for path in shipped_files() for item in read_items(path).records]
    return [
        (item.doctor, _OF_ACTIONS[item.action])
        for item in items
        if item.language == language and item.part == "development" and item.action in _OF_ACTIONS
    ]


def told_to_learn() -> dict[Language, list[tuple[str, frozenset[str]]]]:
    """Recorded sentences with what each tells: of the labelled cases, and further ones."""
    told = data_file("nodes.offline", "told")
    learned: dict[Language, list[tuple[str, frozenset[str]]]] = {language: [] for language in LANGUAGES}
    for case, labels in labelled_cases():
        learned[case.language] += [(fact.text, names) for fact, names in labels.items()]
    for language in LANGUAGES:
        for line in told["sentences"][language].splitlines():
            code, text = line.split(" | ")
            learned[language].append((text, _matters(code)))
    return learned


def labelled_cases() -> Iterator[tuple[Case, dict[RecordSentence, frozenset[str]]]]:
    """The cases of ``told.toml``, each with what its sentences tell."""
    cases = {case.id: case for case in load_cases()}
    for case_id, labels in data_file("nodes.offline", "told")["cases"].items():
        told: dict[RecordSentence, frozenset[str]] = {}
        for section, codes in re.findall(r"(\S)((?: (?![CHPS]\b)\S+)+)", labels):
            texts = sentences(getattr(cases[case_id].patient, FIELDS[section]))
            for text, code in zip(texts, codes.split(), strict=True):
                told[RecordSentence(FIELDS[section], text)] = _matters(code)
        yield cases[case_id], told


def _matters(code: str) -> frozenset[str]:
    names = data_file("nodes.offline", "told")["names"]
    return frozenset(names[each] for each in code.split("+") if each != "-")
