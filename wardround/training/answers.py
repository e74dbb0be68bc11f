"""Train which recorded sentences answer a question without a model: ``python -m wardround.training.answers``.

Learned from ``nodes/offline/asked_of_cases.toml``, the development items of the tracker's test set, and, as what may
be answers, from what the sentences of the labelled cases tell of each subject; run this again when one of them, a list
that the features read, or what `wardround.training.meaning` learns from changes (a test says when).
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cases import Case, load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.vocabulary import data_file
from nodes.offline.meaning import features, heard, kind_named, shared, subjects, told_features
from nodes.offline.pairs import WEIGHTS, meanings, tells_where
from nodes.offline.pairs import features as pair_features
from retrieval import MULTILINGUAL_MODEL, embed
from scoring.aie.simulator_set import read_items, shipped_files
from wardround.training.fitting import LANGUAGES, keep, scored
from wardround.training.labelled import FIELDS, labelled_cases, told_to_learn
from wardround.training.meaning import fingerprint as of_meaning
from wardround.training.meaning import questions_seen, subject_head, subjects_to_learn, told_head

_FOLDS = 5  # a question's subject, and what a sentence tells, are judged by heads that have not learned from it
_STEP = 7  # cases from one question's to the next one's
_BY_SUBJECT = 0.25  # how much a question counts whose answers are only what tells of its subject
_AXES, _RANK, _SPREAD = 128, 16, 3.0  # of meanings: the axes along which they are learned, the products, the scale
# Of the fit: how often all is gone through, the pairs at once and the questions that these are of, the first step.
_ROUNDS, _AT_ONCE, _QUESTIONS, _RATE = 8, 1024, 64, 5e-3
_SELDOM = -2.0  # the score from which is begun: few sentences answer
_DECAY = {"answers": 0.02, "answers_by_matter": 0.4, "answers_asked": 1.0, "answers_told": 1.0}


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
    of_both = [(pair, language) for language in LANGUAGES for pair in subjects_to_learn(language)]
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
    letters = {field: letter for letter, field in (*FIELDS.items(), ("F", "family_history"))}
    counted = Counter[str]()
    found = []
    for fact in facts:
        counted[fact.section] += 1
        found.append(f"{letters.get(fact.section)}{counted[fact.section]}")
    return found


def fingerprint() -> str:
    """SHA-256 of all that is learned from."""
    learned = [(each.words, each.case.id, each.answers, each.weight) for each in answers_to_learn()]
    return hashlib.sha256(repr((of_meaning(), learned)).encode()).hexdigest()


def train() -> dict[str, NDArray[np.generic]]:
    """The weights of whether a sentence answers a question, as `nodes/offline/pairs.py` reads them."""
    told = [(language, *pair) for language, pairs in told_to_learn().items() for pair in pairs]
    rows, named = questions_seen()
    fold = {case.id: at % _FOLDS for at, (case, _) in enumerate(labelled_cases())}
    held: dict[int | None, set[str]] = {
        at: {fact.text for case, facts in labelled_cases() if fold[case.id] == at for fact in facts}
        for at in range(_FOLDS)
    }
    of_told = {at: told_head([each for each in told if each[1] not in held.get(at, ())]) for at in (*held, None)}
    subject_folds = np.arange(len(rows)) % _FOLDS
    of_subject: dict[int | None, NDArray[np.float64]] = {None: subject_head(rows, named)}
    for at in range(_FOLDS):
        kept = subject_folds != at
        of_subject[at] = subject_head(rows[kept], [name for name, is_kept in zip(named, kept, strict=True) if is_kept])
    told_by_case: dict[str, NDArray[np.float64]] = {}
    weighed = []
    for asked in answers_to_learn():
        language = asked.case.language
        if asked.case.id not in told_by_case:
            of_facts = told_features([fact.text for fact in asked.facts], language)
            told_by_case[asked.case.id] = 1 / (1 + np.exp(-scored(of_facts, of_told[fold.get(asked.case.id)])))
        if asked.subject is None:
            about = shared(scored(features([asked.words], language), of_subject[None])[0])
        else:
            about = shared(scored(rows[asked.subject][None], of_subject[asked.subject % _FOLDS])[0])
        told_here = told_by_case[asked.case.id]
        seen = pair_features(asked.words, asked.facts, language, about, told_here)
        weighed.append(Weighed(asked, about, seen, tells_where(asked.facts, told_here)))
    return {"fingerprint": np.array(fingerprint()), **_fitted_together(weighed)}


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


if __name__ == "__main__":
    keep(WEIGHTS, train())
