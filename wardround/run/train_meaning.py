"""Train what hears the meaning of a doctor's words without a model: ``python -m wardround.run.train_meaning``.

Learned from the wordings of ``nodes/offline/wordings.toml``, for the subject the questions of ``questions.toml`` too,
for the kind of action the development items of the tracker's test set, for what recorded sentences tell from
``told.toml``, and for which of them answers a question from ``asked_of_cases.toml`` too; run this again when one of
them, or a list that the features read, changes (a test says when).
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cases import Case, load_cases
from cases.case import ExaminationRecord
from cases.text.ordered_tests import ordered_tests
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import Language, data_file, normalise
from nodes.offline.consultation_words import concepts, pattern
from nodes.offline.hearing import NO_ORDER, WEIGHTS, named_orders, order_wordings, weighed_sentences
from nodes.offline.meaning import (
    KINDS,
    features,
    heard,
    idioms,
    kind_named,
    matters_told,
    questions,
    shared,
    subjects,
    told_features,
    wordings,
)
from nodes.offline.pairs import features as pair_features
from nodes.offline.pairs import meanings, tells_where
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
_FOLDS = 5  # a question's subject, and what a sentence tells, are judged by heads that have not learned from it
_STEP = 7  # cases from one question's to the next one's
_BY_SUBJECT = 0.25  # how much a question counts whose answers are only what tells of its subject
_AXES, _RANK, _SPREAD = 128, 16, 3.0  # of meanings: the axes along which they are learned, the products, the scale
# Of the fit: how often all is gone through, the pairs at once and the questions that these are of, the first step.
_ROUNDS, _AT_ONCE, _QUESTIONS, _RATE = 8, 1024, 64, 5e-3
_SELDOM = -2.0  # the score from which is begun: few sentences answer
_DECAY = {"answers": 0.02, "answers_by_matter": 0.4, "answers_asked": 1.0, "answers_told": 1.0}
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
    learned: dict[Language, list[tuple[str, frozenset[str]]]] = {language: [] for language in _LANGUAGES}
    for case, labels in labelled_cases():
        learned[case.language] += [(fact.text, names) for fact, names in labels.items()]
    for language in _LANGUAGES:
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
            texts = sentences(getattr(cases[case_id].patient, _FIELDS[section]))
            for text, code in zip(texts, codes.split(), strict=True):
                told[RecordSentence(_FIELDS[section], text)] = _matters(code)
        yield cases[case_id], told


def _matters(code: str) -> frozenset[str]:
    names = data_file("nodes.offline", "told")["names"]
    return frozenset(names[each] for each in code.split("+") if each != "-")


@dataclass(frozen=True)
class Asked:
    """A question before a case.

    Attributes:
        subject: its place among the questions of `subjects_to_learn`, of both languages, if it is one of them.
        answers: whether each of the facts of the case answers it; None where that is left open.
        weight: how much each counts.
    """

    words: str
    case: Case
    facts: tuple[RecordSentence, ...]
    answers: tuple[bool | None, ...]
    subject: int | None = None
    weight: float = 1


@dataclass(frozen=True)
class Weighed:
    """A question before a case as the classifier sees it: itself, what it is about, and each fact's rows."""

    asked: Asked
    about: NDArray[np.float64]
    features: NDArray[np.float64]
    tells: NDArray[np.float64]


def answers_to_learn() -> Iterator[Asked]:
    """Questions before cases: labelled ones, those of the tracker's test set, and those that tell of what they ask.

    Of these, each before one of the labelled cases, every sentence is an answer that tells of their subject.
    """
    cases = {case.id: case for case in load_cases()}
    facts = {name: tuple(_histories(case)) for name, case in cases.items()}
    for name, lines in data_file("nodes.offline", "asked_of_cases")["asked"].items():
        for words, due in (line.split(" | ") for line in lines.splitlines()):
            if due not in ("H*", "O"):
                named = [place in due.strip("-~").split(",") for place in places(facts[name])]
                answers = tuple(None if due[0] == "~" and each else each for each in named)
                yield Asked(words, cases[name], facts[name], answers)
    for item in (item for path in shipped_files() for item in read_items(path).records):
        if item.part == "development" and item.action in ("Effective Inquiry", "Ineffective Inquiry"):
            answers = tuple(fact.text in item.expected for fact in facts[item.case_id])
            if any(answers) or not item.expected:  # no result of an examination
                yield Asked(item.doctor, cases[item.case_id], facts[item.case_id], answers)
    labelled = list(labelled_cases())
    of_both = [(pair, language) for language in _LANGUAGES for pair in subjects_to_learn(language)]
    for place, ((words, name), language) in enumerate(of_both):
        if kind_named(name) != "ambiguous" and (subjects()[name].tells or name == "family"):
            own = [each for each in labelled if each[0].language == language]
            case, told = own[place * _STEP % len(own)]
            answers = tuple(_tells(fact, told.get(fact, frozenset()), name) for fact in facts[case.id])
            yield Asked(words, case, facts[case.id], answers, place, _BY_SUBJECT)


def _histories(case: Case) -> list[RecordSentence]:
    facts = record_sentences(case.patient, ExaminationRecord(), case.language)
    return [fact for fact in facts if fact.section in HISTORIES]


def _tells(fact: RecordSentence, told: frozenset[str], subject: str) -> bool | None:
    """Whether a fact tells of a subject; None where it may be among what else there was."""
    if fact.section == "family_history":
        return subject == "family"
    about = subjects()[subject]
    if about.rest and fact.section in about.sections and not told & {*about.tells}:
        return None
    return bool(told & {*about.tells}) and fact.section in (*(about.sections or (fact.section,)), "chief_complaint")


def places(facts: Sequence[RecordSentence]) -> list[str]:
    """The place of each sentence in its section, as ``asked_of_cases.toml`` has it."""
    letters = {field: letter for letter, field in (*_FIELDS.items(), ("F", "family_history"))}
    counted = Counter[str]()
    found = []
    for fact in facts:
        counted[fact.section] += 1
        found.append(f"{letters.get(fact.section)}{counted[fact.section]}")
    return found


def fingerprint() -> str:
    """SHA-256 of all that is learned from: the texts with their labels, and the lists that the signs are read from."""
    learned: list[object] = [[(text, sorted(told)) for text, told in each] for each in told_to_learn().values()]
    learned += [(each.words, each.case.id, each.answers, each.weight) for each in answers_to_learn()]
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
    told = [(language, *pair) for language, pairs in told_to_learn().items() for pair in pairs]
    stored["told_labels"] = np.array(matters_told())
    stored["told"] = _told_head(told).astype(np.float16)
    stored |= _answers_head(told, np.vstack(rows), named)
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


def _told_head(told: Sequence[tuple[Language, str, frozenset[str]]]) -> NDArray[np.float64]:
    """The weights (d + 1, matters) of what recorded sentences tell."""
    recorded = np.vstack([told_features([text], language) for language, text, _ in told])
    return np.hstack(
        [_fitted(recorded, [name in names for *_, names in told], [False, True], rare=True) for name in matters_told()]
    )


def _answers_head(
    told: Sequence[tuple[Language, str, frozenset[str]]], rows: NDArray[np.float32], named: Sequence[str]
) -> dict[str, NDArray[np.generic]]:
    """The weights of whether a sentence answers a question, as `pairs.py` reads them.

    Args:
        told: recorded sentences with what they tell.
        rows: what is seen of the questions of `subjects_to_learn` (n, d).
        named: what each of these is about.
    """
    fold = {case.id: at % _FOLDS for at, (case, _) in enumerate(labelled_cases())}
    held: dict[int | None, set[str]] = {
        at: {fact.text for case, facts in labelled_cases() if fold[case.id] == at for fact in facts}
        for at in range(_FOLDS)
    }
    of_told = {at: _told_head([each for each in told if each[1] not in held.get(at, ())]) for at in (*held, None)}
    subject_folds = np.arange(len(rows)) % _FOLDS
    labels = list(subjects())
    of_subject: dict[int | None, NDArray[np.float64]] = {
        at: _fitted(
            rows[subject_folds != at],
            [name for name, own in zip(named, subject_folds, strict=True) if own != at],
            labels,
            True,
        )
        for at in range(_FOLDS)
    }
    of_subject[None] = _fitted(rows, named, labels, True)
    told_by_case: dict[str, NDArray[np.float64]] = {}
    weighed = []
    for asked in answers_to_learn():
        language = asked.case.language
        if asked.case.id not in told_by_case:
            of_facts = told_features([fact.text for fact in asked.facts], language)
            told_by_case[asked.case.id] = 1 / (1 + np.exp(-_scored(of_facts, of_told[fold.get(asked.case.id)])))
        if asked.subject is None:
            about = shared(_scored(features([asked.words], language), of_subject[None])[0])
        else:
            about = shared(_scored(rows[asked.subject][None], of_subject[asked.subject % _FOLDS])[0])
        told_here = told_by_case[asked.case.id]
        seen = pair_features(asked.words, asked.facts, language, about, told_here)
        weighed.append(Weighed(asked, about, seen, tells_where(asked.facts, told_here)))
    return _fitted_together(weighed)


def _fitted_together(weighed: Sequence[Weighed]) -> dict[str, NDArray[np.generic]]:
    """The weights of the features, of subjects with matters, and of meanings, of which the likeliest clause counts.

    What is meant is learned along the axes on which meanings differ most.
    """
    import torch
    from sklearn.decomposition import PCA
    from torch.nn.functional import binary_cross_entropy_with_logits, dropout

    torch.manual_seed(0)
    parts = {fact.text: meanings(fact.text) for each in weighed for fact in each.asked.facts}
    words = embed([heard(each.asked.words) for each in weighed], MULTILINGUAL_MODEL)
    axes = PCA(_AXES, random_state=0).fit(np.vstack([words, *parts.values()]))
    most = max(map(len, parts.values()))
    clauses = [axes.transform(np.vstack([part, *[part[:1]] * (most - len(part))])) for part in parts.values()]
    place = {text: at for at, text in enumerate(parts)}
    pairs = [
        (at, place[fact.text], each.features[row], each.tells[row], answer, each.asked.weight)
        for at, each in enumerate(weighed)
        for row, (fact, answer) in enumerate(zip(each.asked.facts, each.asked.answers, strict=True))
        if answer is not None
    ]
    asked, told, *columns = (torch.tensor(np.array(column)) for column in zip(*pairs, strict=True))
    seen, tells, answers, weight = (column.float() for column in columns)
    about = torch.tensor(np.array([each.about for each in weighed])).float()
    said, meant = (_SPREAD * torch.tensor(np.array(rows)).float() for rows in (clauses, axes.transform(words)))
    mean, spread = seen.mean(0), seen.std(0) + 1e-6
    of = {
        "answers": torch.tensor([0.0] * len(mean) + [_SELDOM]),
        "answers_by_matter": torch.zeros(about.shape[1], tells.shape[1]),
        "answers_asked": torch.randn(_AXES, _RANK) / 10,
        "answers_told": torch.randn(_AXES, _RANK) / 10,
    }
    held = [{"params": [of[name].requires_grad_()], "weight_decay": decay} for name, decay in _DECAY.items()]
    steps = torch.optim.AdamW(held, lr=_RATE)
    slower = torch.optim.lr_scheduler.LinearLR(steps, 1, 1 / _ROUNDS, _ROUNDS - 1)
    for _ in range(_ROUNDS):
        for own in torch.randperm(len(answers)).split(_AT_ONCE):  # type: ignore[no-untyped-call]
            one, fact = asked[own], told[own]
            together = dropout(meant[one] @ of["answers_asked"], 0.3) @ of["answers_told"].T
            scores = (seen[own] - mean) / spread @ of["answers"][:-1] + of["answers"][-1]
            scores += _SPREAD * (about[one] @ of["answers_by_matter"] * tells[own]).sum(1)
            scores += (said[fact] @ together[:, :, None]).amax((1, 2))
            loss = binary_cross_entropy_with_logits(scores, answers[own], weight[own], reduction="sum") / _QUESTIONS
            steps.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            steps.step()
        slower.step()
    learned = {name: each.detach().double().numpy() for name, each in of.items()}
    linear = learned["answers"][:-1] / spread.double().numpy()
    turned = _SPREAD * np.vstack([axes.components_.T, -axes.mean_ @ axes.components_.T])
    return {
        "answers": np.append(linear, learned["answers"][-1] - linear @ mean.double().numpy()),
        "answers_by_matter": (_SPREAD * learned["answers_by_matter"]).astype(np.float16),
        **{name: (turned @ learned[name]).astype(np.float16) for name in ("answers_asked", "answers_told")},
    }


def _scored(rows: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    scores: NDArray[np.float64] = rows @ weights[:-1] + weights[-1]
    return scores


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
