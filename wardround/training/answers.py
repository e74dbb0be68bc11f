"""Train the classifier of answers to questions: ``python -m wardround.training.answers DATASETS``.

The training data are ``nodes/offline/asked_of_cases.toml``, the development items of the tracker's test set, questions
whose answers are the labelled sentences on their subject, and questions before imported records; for what questions ask
for and sentences tell also ``told.toml`` (`wardround.training.matters`). Run this again when one of them, a list that
the features read, or the training data of `wardround.training.meaning` change (a test says when).
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cases import Case, load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.vocabulary import data_file
from nodes.offline.classifiers import PAIR_WEIGHTS, list_features, without_listed_tests
from nodes.offline.consultation_words import concepts
from nodes.offline.grams import hashed_grams
from nodes.offline.pairs import features as pair_features
from nodes.offline.pairs import in_everyday_words, meanings, said_in, tells_where
from nodes.offline.subjects import kind_named, matters_told, subjects
from nodes.offline.topics import topic_of
from retrieval import MULTILINGUAL_MODEL, embed
from scoring.aie.simulator_set import read_items, shipped_files
from wardround.training.asked_of_imported import asked_of_imported, told_of_imported
from wardround.training.fitting import LANGUAGES, digest_of, keep
from wardround.training.labelled import Asked, answers_by, labelled_cases, places, told_to_learn
from wardround.training.matters import asked_heads, told_heads, wordings_to_learn
from wardround.training.meaning import fingerprint as of_meaning
from wardround.training.meaning import questions_to_learn

_CASE_STRIDE = 7  # from one question's case to the next one's
_COMPONENTS, _RANK, _SCALE = 128, 32, 3.0  # of the embeddings: PCA components, rank, scale
_EPOCHS, _BATCH, _LOSS_SCALE, _RATE = 8, 48, 64, 5e-3  # a batch of questions; its summed loss is divided by the scale
_NO_CHOICE = -1e4  # score of a sentence that is not among those to choose from
_INITIAL_BIAS = -2.0  # few sentences answer
_DECAY = {"answers": 0.02, "answers_by_matter": 0.4, "answers_asked": 0.5, "answers_told": 0.5}


@dataclass(frozen=True)
class PairInputs:
    """A question about a case with the inputs that `pairs.py` describes: what it asks for, and each fact's rows."""

    asked: Asked
    about: NDArray[np.float64]
    features: NDArray[np.float64]
    tells: NDArray[np.float64]


def answers_to_learn() -> Iterator[Asked]:
    """Yield questions about cases: those of the file, of the tracker's test set, and of `questions_to_learn`.

    Each of the last is asked of one labelled case, where every sentence on its subject is an answer. What offline
    doctors ask of the story, several things in one question, is asked of all of them.
    """
    cases = {case.id: case for case in load_cases()}
    facts = {name: tuple(_histories(case)) for name, case in cases.items()}
    entries = data_file("nodes.offline", "asked_of_cases")
    for name, lines in entries["asked"].items():
        for words, due in (line.split(" | ") for line in lines.splitlines()):
            if due not in ("H*", "O"):
                answers = answers_by(due, places(facts[name]))
                yield Asked(words, name, cases[name].language, facts[name], answers)
    for item in (item for path in shipped_files() for item in read_items(path).records):
        if item.part == "development" and item.action in ("Effective Inquiry", "Ineffective Inquiry"):
            answers = tuple(fact.text in item.expected for fact in facts[item.case_id])
            if any(answers) or not item.expected:  # no result of an examination
                yield Asked(item.doctor, item.case_id, cases[item.case_id].language, facts[item.case_id], answers)
    labelled = list(labelled_cases())
    for language in LANGUAGES:
        for words, names in (line.split(" | ") for line in entries["of_doctors"][language].splitlines()):
            for case, labels in (each for each in labelled if each[0].language == language):
                answers = tuple(any(_tells(fact, labels, name) for name in names.split(",")) for fact in facts[case.id])
                yield Asked(words, case.id, language, facts[case.id], answers)
    questions = [(pair, language) for language in LANGUAGES for pair in questions_to_learn(language)]
    for at, ((words, name), language) in enumerate(questions):
        if kind_named(name) != "ambiguous" and name in subjects() and (subjects()[name].tells or name == "family"):
            in_language = [each for each in labelled if each[0].language == language]
            case, labels = in_language[at * _CASE_STRIDE % len(in_language)]
            answers = tuple(_tells(fact, labels, name) for fact in facts[case.id])
            yield Asked(words, case.id, language, facts[case.id], answers)


def _histories(case: Case) -> list[RecordSentence]:
    facts = record_sentences(case.patient, ExaminationRecord(), case.language)
    return [fact for fact in facts if fact.section in HISTORIES]


def _tells(fact: RecordSentence, labels: Mapping[RecordSentence, frozenset[str]], subject: str) -> bool | None:
    """Whether a fact tells of a subject.

    None if it may: a section's sentence without a label of the subject, which covers the rest of that section.
    """
    if fact.section == "family_history":
        return subject == "family"
    about = subjects()[subject]
    tells = not labels.get(fact, frozenset()).isdisjoint(about.tells)
    if about.rest and fact.section in about.sections and not tells:
        return None
    return tells and fact.section in (*(about.sections or (fact.section,)), "chief_complaint")


def fingerprint() -> str:
    """Return the SHA-256 of the training data, without the imported records: the texts as the features read them."""
    asked, told = [*answers_to_learn()], [*told_to_learn()]
    questions = {(each.words, each.language) for each in asked}
    questions |= {(text, language) for language, text, _ in wordings_to_learn()}
    facts = {fact.text for each in asked for fact in each.facts}
    return digest_of(
        (
            of_meaning(),
            matters_told(),
            data_file("nodes.offline", "asked_of_imported"),
            [(each.words, each.record, each.facts, each.answers) for each in asked],
            [(each.text, each.tells) for each in told],
            [
                (*each, list_features(*each), topic_of(*each).words, np.flatnonzero(hashed_grams(each[0])).tolist())
                for each in sorted(questions)
            ],
            [(text, said_in(text), in_everyday_words(text)) for text in sorted(facts)],
            [
                (each.name, each.kind, each.asked.pattern, each.recorded.pattern, each.sections)
                for language in LANGUAGES
                for each in concepts(language)
            ],
        )
    )


def train(datasets: Path) -> dict[str, NDArray[np.generic]]:
    """Return the weights of `nodes/offline/pairs.py`; the folder of data sets holds the imported records."""
    asked = [*answers_to_learn(), *asked_of_imported(datasets)]
    told_head, tells = told_heads(asked, [*told_to_learn(), *told_of_imported(datasets)])
    asked_head, about = asked_heads(asked, tells)
    inputs = []
    for each, asks_for in zip(asked, about, strict=True):
        told = tells[each.record]
        seen = pair_features(each.words, each.facts, each.language, asks_for, told)
        inputs.append(PairInputs(each, asks_for, seen, tells_where(each.facts, told)))
    return {
        "fingerprint": np.array(fingerprint()),
        "matters": np.array(matters_told()),
        "asked": asked_head.astype(np.float16),
        "told": told_head.astype(np.float16),
        **_fitted(inputs),
    }


def _fitted(inputs: Sequence[PairInputs]) -> dict[str, NDArray[np.generic]]:
    """Fit the linear, the bilinear and the low-rank part together, and return their weights.

    The loss of a question is that of choosing each of its answers among the sentences that do not answer and no answer,
    whose score is 0. Embeddings are reduced by PCA, and the clause with the highest score counts. The weights are
    returned for inputs that are neither reduced nor standardised.
    """
    import torch
    from sklearn.decomposition import PCA
    from torch.nn.functional import dropout
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    embeddings = {fact.text: meanings(fact.text) for each in inputs for fact in each.asked.facts}
    words = embed([without_listed_tests(each.asked.words) for each in inputs], MULTILINGUAL_MODEL)
    pca = PCA(_COMPONENTS, random_state=0).fit(np.vstack([words, *embeddings.values()]))
    max_clauses = max(map(len, embeddings.values()))
    clauses = [
        pca.transform(np.vstack([part, *[part[:1]] * (max_clauses - len(part))])) for part in embeddings.values()
    ]
    clause_vectors, question_vectors = (
        _SCALE * torch.tensor(np.array(rows)).float() for rows in (clauses, pca.transform(words))
    )
    about = torch.tensor(np.array([each.about for each in inputs])).float()
    index_of = {text: at for at, text in enumerate(embeddings)}

    def padded(rows: Iterator[ArrayLike], filled_with: float = 0) -> torch.Tensor:
        return pad_sequence([torch.tensor(np.array(row)) for row in rows], True, filled_with)

    pair_rows = padded(each.features for each in inputs).float()
    matters = padded(each.tells for each in inputs).float()
    fact_index = padded([index_of[fact.text] for fact in each.asked.facts] for each in inputs)
    labels = padded(([-1 if answer is None else int(answer) for answer in each.asked.answers] for each in inputs), -1)
    all_rows = np.vstack([each.features for each in inputs])
    mean, spread = (torch.tensor(each).float() for each in (all_rows.mean(0), all_rows.std(0) + 1e-6))
    weights = {
        "answers": torch.tensor([0.0] * len(mean) + [_INITIAL_BIAS]),
        "answers_by_matter": torch.zeros(about.shape[1], matters.shape[2]),
        "answers_asked": torch.randn(_COMPONENTS, _RANK) / 10,
        "answers_told": torch.randn(_COMPONENTS, _RANK) / 10,
    }
    groups = [{"params": [weights[name].requires_grad_()], "weight_decay": decay} for name, decay in _DECAY.items()]
    optimizer = torch.optim.AdamW(groups, lr=_RATE)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 1 / _EPOCHS, _EPOCHS - 1)
    for _ in range(_EPOCHS):
        for batch in torch.randperm(len(inputs)).split(_BATCH):  # type: ignore[no-untyped-call]
            mapped = dropout(question_vectors[batch] @ weights["answers_asked"], 0.3) @ weights["answers_told"].T
            scores = (pair_rows[batch] - mean) / spread @ weights["answers"][:-1] + weights["answers"][-1]
            scores += _SCALE * torch.einsum("qm,qfm->qf", about[batch] @ weights["answers_by_matter"], matters[batch])
            scores += torch.einsum("qfcd,qd->qfc", clause_vectors[fact_index[batch]], mapped).amax(2)
            is_answer, is_none = labels[batch] == 1, labels[batch] == 0
            no_answer = scores.new_zeros(len(batch), 1)
            wrong = torch.cat([no_answer, scores.masked_fill(~is_none, _NO_CHOICE)], 1).logsumexp(1)
            of_answers = ((torch.logaddexp(wrong[:, None], scores) - scores) * is_answer).sum(1)
            answers = is_answer.sum(1)
            of_question = torch.where(answers > 0, of_answers / answers.clamp(min=1), wrong)
            loss = of_question.sum() / _LOSS_SCALE
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        scheduler.step()
    learned = {name: each.detach().double().numpy() for name, each in weights.items()}
    linear = learned["answers"][:-1] / spread.double().numpy()
    projection = _SCALE * np.vstack([pca.components_.T, -pca.mean_ @ pca.components_.T])
    return {
        "answers": np.append(linear, learned["answers"][-1] - linear @ mean.double().numpy()),
        "answers_by_matter": (_SCALE * learned["answers_by_matter"]).astype(np.float16),
        **{name: (projection @ learned[name]).astype(np.float16) for name in ("answers_asked", "answers_told")},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path, help="the folder with agentclinic, ai_hospital and mts_dialog")
    keep(PAIR_WEIGHTS, train(parser.parse_args().datasets))
