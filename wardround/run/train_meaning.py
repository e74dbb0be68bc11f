"""Train what hears the meaning of a doctor's words without a model: ``python -m wardround.run.train_meaning``.

Learned from the wordings of ``nodes/offline/wordings.toml``, for the subject the questions of ``questions.toml`` too,
for the kind of action the development items of the tracker's test set, and for what recorded sentences tell from
``told.toml``; run this again when one of them, or a list that the features read, changes (a test says when).
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cases import load_cases
from cases.text.ordered_tests import ordered_tests
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file, normalise
from nodes.offline.consultation_words import concepts, pattern
from nodes.offline.hearing import NO_ORDER, WEIGHTS, named_orders, order_wordings, weighed_sentences
from nodes.offline.meaning import KINDS, features, idioms, matters_told, questions, subjects, told_features, wordings
from prompts import mark
from retrieval import MULTILINGUAL_MODEL, embed
from scoring.aie.simulator_set import read_items, shipped_files

_LANGUAGES: tuple[Language, ...] = ("en", "zh")
# What is said only once of two orders: "I'd like to draw some blood and dip your water".
_SUBJECT = re.compile(
    r"(?:(?:I'd|I would|we'd) like to|I want to|I need to|I'm going to|(?:I|we|they|you)'ll(?: need to)?|we need to"
    r"|we should|let's|please|could you|would you mind|can you) ",
    re.IGNORECASE,
)
_RARE = 4  # times as much as its absence counts that a recorded sentence tells something
_FIELDS = {"C": "chief_complaint", "H": "present_illness", "P": "past_history", "S": "personal_history"}
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


def kinds_to_learn(language: Language) -> list[tuple[str, str]]:
    """Doctors' words with the kind of action that they are: wordings by their table, and the items for development."""
    labelled = _labelled(language)
    told = [(text, name) for name, texts in wordings(language).items() for text in texts]
    return _after_remarks([*told, *labelled], language)


def _labelled(language: Language) -> list[tuple[str, str]]:
    """Doctors' turns of the tracker's test set, of its part for development, with the kind of action that each is."""
    items = [item for path in shipped_files() for item in read_items(path).records]
    return [
        (item.doctor, _OF_ACTIONS[item.action])
        for item in items
        if item.language == language and item.part == "development" and item.action in _OF_ACTIONS
    ]


def orders_by_name_to_learn(language: Language) -> list[tuple[str, bool]]:
    """Folded sentences that name a test, and whether they order it: told ones, and those of labelled advice."""
    turns = [text for text, kind in _labelled(language) if kind == "advice"]
    said = [sentence for text in turns for sentence in sentences(text) if ordered_tests(sentence)]
    return [*named_orders(language), *((normalise(sentence), True) for sentence in said)]


def _after_remarks(pairs: Sequence[tuple[str, str]], language: Language) -> list[tuple[str, str]]:
    """The pairs, and each again after a remark: doctors say something of their own before they ask."""
    remarks, space = wordings(language)["remark"], mark("space", language)
    after = [
        (remarks[place % len(remarks)] + space + text, label)
        for place, (text, label) in enumerate(pairs)
        if label != "remark"
    ]
    return [*pairs, *after]


def subjects_to_learn(language: Language) -> list[tuple[str, str]]:
    """Questions, idioms and other people's among them, with what they are about."""
    return [
        (text, name)
        for name, texts in wordings(language).items()
        if name in subjects()
        for text in (*texts, *idioms(language)[name], *questions(language)[name])
    ]


def orders_to_learn(language: Language) -> list[tuple[str, str]]:
    """Folded words with the test that they order, or with ``NO_ORDER``: all else that may be weighed and names none."""
    ordered = [(text, test) for text, test in order_wordings(language)]
    others = [
        (text, NO_ORDER)
        for name, texts in wordings(language).items()
        for text in texts
        if name != "demand" and not (name == "advice" and ordered_tests(text)) and [*weighed_sentences(text)]
    ]
    beside = [(_SUBJECT.sub("", text), test) for text, test in ordered if _SUBJECT.match(text)]
    return [(normalise(text), test) for text, test in (*ordered, *beside, *others)]


def told_to_learn() -> dict[Language, list[tuple[str, frozenset[str]]]]:
    """Recorded sentences with what each tells: of the labelled cases, and further ones."""
    told = data_file("nodes.offline", "told")
    names, cases = told["names"], {case.id: case for case in load_cases()}
    learned: dict[Language, list[tuple[str, frozenset[str]]]] = {language: [] for language in _LANGUAGES}
    for case_id, labels in told["cases"].items():
        case = cases[case_id]
        for section, codes in re.findall(r"(\S)((?: (?![CHPS]\b)\S+)+)", labels):
            texts = sentences(getattr(case.patient, _FIELDS[section]))
            for text, code in zip(texts, codes.split(), strict=True):
                learned[case.language].append((text, frozenset(names[each] for each in code.split("+") if each != "-")))
    for language in _LANGUAGES:
        for line in told["sentences"][language].splitlines():
            code, text = line.split(" | ")
            learned[language].append((text, frozenset(names[each] for each in code.split("+") if each != "-")))
    return learned


def fingerprint() -> str:
    """SHA-256 of all that is learned from: the texts with their labels, and the lists that the signs are read from."""
    learned: list[object] = [[(text, sorted(told)) for text, told in each] for each in told_to_learn().values()]
    for language in _LANGUAGES:
        learned += [kinds_to_learn(language), subjects_to_learn(language), orders_to_learn(language)]
        learned += [orders_by_name_to_learn(language)]
        learned += [(concept.asked.pattern, concept.recorded.pattern) for concept in concepts(language)]
        learned += [pattern(group, "", language).pattern for group in ("clinical", "treatment")]
    return hashlib.sha256(repr(learned).encode()).hexdigest()


def train() -> dict[str, NDArray[np.generic]]:
    """The weights of all tasks, in half precision; both languages are learned together."""
    stored: dict[str, NDArray[np.generic]] = {"fingerprint": np.array(fingerprint())}
    asked: dict[str, dict[Language, list[tuple[str, str]]]] = {
        "kind": {language: kinds_to_learn(language) for language in _LANGUAGES},
        "subject": {language: subjects_to_learn(language) for language in _LANGUAGES},
    }
    for task, labels in (("kind", list(dict.fromkeys([*wordings("en"), *KINDS]))), ("subject", list(subjects()))):
        rows = [features([text for text, _ in pairs], language) for language, pairs in asked[task].items()]
        named = [label for pairs in asked[task].values() for _, label in pairs]
        stored[f"{task}_labels"] = np.array(labels)
        stored[task] = _fitted(np.vstack(rows), named, labels, task == "subject").astype(np.float16)
    told = told_to_learn()
    recorded = np.vstack([told_features([text for text, _ in pairs], language) for language, pairs in told.items()])
    tells = [names for pairs in told.values() for _, names in pairs]
    stored["told_labels"] = np.array(matters_told())
    fitted = [
        _fitted(recorded, [name in names for names in tells], [False, True], rare=True) for name in matters_told()
    ]
    stored["told"] = np.hstack(fitted).astype(np.float16)
    pairs = [pair for language in _LANGUAGES for pair in orders_to_learn(language)]
    heard = embed([text for text, _ in pairs], MULTILINGUAL_MODEL)
    tests = list(dict.fromkeys(test for _, test in pairs if test != NO_ORDER))
    of_orders = [test != NO_ORDER for _, test in pairs]
    stored["order"] = _fitted(heard, of_orders, [False, True]).astype(np.float16)
    by_name = [pair for language in _LANGUAGES for pair in orders_by_name_to_learn(language)]
    heard_by_name = np.vstack([heard, embed([text for text, _ in by_name], MULTILINGUAL_MODEL)])
    ordered = [*of_orders, *(is_order for _, is_order in by_name)]
    stored["named_order"] = _fitted(heard_by_name, ordered, [False, True], strength=30).astype(np.float16)
    stored["test_labels"] = np.array(tests)
    named = [test for _, test in pairs if test != NO_ORDER]
    stored["test"] = _fitted(heard[np.array(of_orders)], named, tests, strength=30).astype(np.float16)
    return stored


def _fitted(
    rows: NDArray[np.float32],
    named: Sequence[object],
    labels: Sequence[object],
    balanced: bool = False,
    strength: float = 10,
    rare: bool = False,
) -> NDArray[np.float64]:
    """The weights (d + 1, labels; of two labels the second's alone) of a logistic regression.

    Each label counts alike if ``balanced``, the second of two ``_RARE`` times if ``rare``; the greater the
    ``strength``, the closer to what is learned from.
    """
    from sklearn.linear_model import LogisticRegression  # comes with sentence-transformers

    weight = "balanced" if balanced else {0: 1, 1: _RARE} if rare else None
    model = LogisticRegression(C=strength, max_iter=1000, class_weight=weight)
    model.fit(rows, [labels.index(name) for name in named])
    weights: NDArray[np.float64] = np.vstack([model.coef_.T, model.intercept_])
    return weights


if __name__ == "__main__":
    np.savez_compressed(WEIGHTS, **train())  # type: ignore[arg-type]
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size // 1024} KB")
