"""What questions ask for and what recorded sentences tell: two of the heads of `nodes/offline/classifiers.py`.

Each is fitted to all of its training data, and once without each fold: the classifier of answers
(`wardround.training.answers`) learns from what they predict of data that they have not seen.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import Language
from nodes.offline.classifiers import asked_features, shared, told_features
from nodes.offline.grams import BUCKETS
from nodes.offline.subjects import further_questions, matters_told, subjects, wordings
from wardround.training.asked_of_imported import topic_wordings
from wardround.training.fitting import LANGUAGES, fitted_to_known, fitted_to_shares, scored
from wardround.training.labelled import Asked, LabelledSentence, matter_named
from wardround.training.meaning import TALK, questions_to_learn

_FOLDS = 5
_ROUNDS = 2  # of reading from its answers what a question asks for
_MIN_TOLD = 0.02  # the probability that a sentence tells a matter is clipped to [0.02, 0.98] before its logarithm
_MIN_ASKED = 1e-4  # least probability of a matter before the answers are read


def wordings_to_learn() -> Iterator[tuple[Language, str, tuple[str, ...]]]:
    """Yield questions and small talk with their language and the matters that each asks for, which small talk does not.

    The questions are those before imported records, and those of subjects; one that is no matter asks for all that it
    tells.
    """
    for language in LANGUAGES:
        for matter, texts in topic_wordings(language).items():
            yield from ((language, text, (matter,)) for text in texts)
        for text, name in questions_to_learn(language):
            own = matter_named(name)
            if matters := (own,) if own in matters_told() else subjects()[name].tells:
                yield language, text, matters
        yield from ((language, text, ()) for by in (wordings, further_questions) for text in by(language)[TALK])


def told_heads(
    asked: Sequence[Asked], told: Sequence[LabelledSentence]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return the weights (d + 1, matters) of what recorded sentences tell, and what the facts of each record tell.

    The latter are probabilities (facts, matters), for a labelled record without its sentences.
    """
    rows = np.vstack([told_features([each.text], each.language) for each in told])
    fold = {record: at % _FOLDS for at, record in enumerate(dict.fromkeys(each.record for each in told if each.record))}
    folds = np.array([fold.get(each.record, -1) for each in told])
    whole = _told_head(rows, told)
    without = [
        _told_head(rows[folds != at], [each for each, of in zip(told, folds, strict=True) if of != at])
        for at in range(_FOLDS)
    ]
    facts = {each.record: each for each in asked}
    tells: dict[str, NDArray[np.float64]] = {}
    for record, each in facts.items():
        head = without[fold[record]] if record in fold else whole
        logits = scored(told_features([fact.text for fact in each.facts], each.language), head)
        tells[record] = 1 / (1 + np.exp(-logits))
    return whole, tells


def _told_head(rows: NDArray[np.float32], told: Sequence[LabelledSentence]) -> NDArray[np.float64]:
    labels = np.array([[each.tells.get(matter, np.nan) for matter in matters_told()] for each in told], float)
    return fitted_to_known(rows, labels, BUCKETS)


def asked_heads(
    asked: Sequence[Asked], tells: Mapping[str, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights (d + 1, matters + 1) of what words ask for, or small talk, and what each question asks for.

    The latter are probabilities (questions, matters), each without the same words. The first head is fitted to wordings
    whose matter is known. It predicts what the other questions ask for; what answers them makes that more certain; and
    the next head is fitted to both.
    """
    learned = list(wordings_to_learn())
    known = {text for _, text, _ in learned}
    others = [at for at, each in enumerate(asked) if each.words not in known]
    rows = _rows([(language, text) for language, text, _ in learned])
    asked_rows = _rows([(each.language, each.words) for each in asked])
    labels = np.array(
        [[*((name in asks) / max(1, len(asks)) for name in matters_told()), not asks] for *_, asks in learned], float
    )
    answers = np.array([_log_likelihood(asked[at], tells[asked[at].record]) for at in others])
    all_rows, all_labels, head = np.vstack([rows, asked_rows[others]]), labels, fitted_to_shares(rows, labels, BUCKETS)
    for _ in range(_ROUNDS):
        expected = shared(scored(asked_rows[others], head))[:, :-1]
        of_matters = shared(np.log(expected + _MIN_ASKED) + answers)
        all_labels = np.vstack([labels, np.hstack([of_matters, np.zeros((len(others), 1))])])
        head = fitted_to_shares(all_rows, all_labels, BUCKETS)
    texts = [*(text for _, text, _ in learned), *(asked[at].words for at in others)]
    fold = {text: at % _FOLDS for at, text in enumerate(dict.fromkeys(chain(texts, (each.words for each in asked))))}
    folds, asked_folds = (
        np.array([fold[text] for text in each]) for each in (texts, [question.words for question in asked])
    )
    about = np.zeros((len(asked), len(matters_told())))
    for at in range(_FOLDS):
        without = fitted_to_shares(all_rows[folds != at], all_labels[folds != at], BUCKETS)
        about[asked_folds == at] = shared(scored(asked_rows[asked_folds == at], without))[:, :-1]
    return head, about


def _log_likelihood(asked: Asked, tells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log probability, for each matter, that these and no other facts tell it (matters,)."""
    clipped = np.clip(tells, _MIN_TOLD, 1 - _MIN_TOLD)
    answering = [answer is True for answer in asked.answers]
    others = [answer is False for answer in asked.answers]
    likelihood: NDArray[np.float64] = np.log(clipped[answering]).sum(0) + np.log(1 - clipped[others]).sum(0)
    return likelihood


def _rows(texts: Sequence[tuple[Language, str]]) -> NDArray[np.float32]:
    """Return the features of questions (n, d)."""
    rows = {
        (language, text): row
        for language in LANGUAGES
        if (own := list(dict.fromkeys(text for each, text in texts if each == language)))
        for text, row in zip(own, asked_features(own, language), strict=True)
    }
    return np.array([rows[each] for each in texts])
