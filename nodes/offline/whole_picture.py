"""The neighbours that an offline doctor compares: by the patient's words, the findings, and the names of clinics.

As in MedChain, the memory is searched by symptoms alone. The offline rules look further: at many remembered cases of
all departments, each compared as a whole, and for the first referral at the names of the clinics.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cases.text.symptoms import describe_symptoms
from cases.text.words import rules_of
from cases.vocabulary import DEPARTMENTS, SECOND_LEVEL, Language, label
from nodes.offline.chart_signs import known_findings
from nodes.offline.diagnoses import contradicts
from nodes.offline.record_answers import tells_diagnosis, wants_examination
from nodes.state.chart import Chart
from prompts import load_words
from retrieval import Neighbour, RememberedCase
from retrieval.embedding import embed
from retrieval.embedding_models import MULTILINGUAL_MODEL, unfit_languages
from retrieval.likeness import likeness

CANDIDATES = 200  # cases found by symptoms
KEPT = 16  # the most similar of them, which the state of a stage holds
FOUND = 2.0  # weight of findings; what the patient tells has 1
CLINIC = 0.25  # weight of a clinic's name, for a doctor who weighs words and findings alike


def seen_whole(
    chart: Chart,
    recalled: Sequence[Neighbour],
    search: Callable[..., list[Neighbour]],
    embedding: str,
    symptoms: str = "",
    with_clinics: bool = False,
) -> list[Neighbour]:
    """Return the recalled cases with their similarities, then the `KEPT` most similar further ones, then clinics.

    Args:
        chart: the present patient's.
        recalled: the cases that prompts show.
        search: finds cases in the memory, by department and number, without those that the patient must not meet.
        embedding: the memory's embedding model; used only for languages that it supports.
        symptoms: the description by which the memory is searched, if one case decides, as of a department or diagnosis.
            In a language that the memory's model does not support, it is then compared by the multilingual model. Where
            several vote, that would level their votes, since by that model all cases are rather similar.
        with_clinics: whether a department is sought, so that the symptoms are compared with the clinics' names too.
    """
    language = chart.presentation.language
    read = not unfit_languages(embedding, [language])
    shown = {each.case.id for each in recalled}
    further = [each for each in search(None, k=CANDIDATES) if each.case.id not in shown]
    by_id = sorted([*recalled, *further], key=lambda each: each.case.id)  # always the same order, to be cached
    meaning = [each.similarity for each in by_id] if read else _meaning(symptoms, by_id) if symptoms else None
    similarities = dict(zip((each.case.id for each in by_id), _similarities(chart, by_id, meaning), strict=True))

    def with_similarities(each: Neighbour, aside: Literal["", "case"] = "") -> Neighbour:
        return Neighbour(each.case, each.similarity, *similarities[each.case.id], aside)

    def total(each: Neighbour) -> float:
        told, found = similarities[each.case.id]
        return told + FOUND * found

    further.sort(key=total, reverse=True)
    fitting = (each for each in further if not contradicts(each.case, chart))
    others = (each for each in further if contradicts(each.case, chart))  # lazy: only reached if too few fit
    nearest = islice(chain(fitting, others), KEPT)
    named_clinics = clinics(symptoms, language, embedding if read else MULTILINGUAL_MODEL) if with_clinics else ()
    return [*map(with_similarities, recalled), *(with_similarities(each, "case") for each in nearest), *named_clinics]


def _meaning(symptoms: str, neighbours: Sequence[Neighbour]) -> list[float]:
    """Return the similarity of the symptoms to those of each case, by the multilingual model."""
    remembered = tuple(each.case.symptoms for each in neighbours)
    return _similar(symptoms, remembered, MULTILINGUAL_MODEL) if remembered else []


def _similarities(
    chart: Chart, neighbours: Sequence[Neighbour], meaning: Sequence[float] | None
) -> list[tuple[float, float]]:
    """Return the similarity of each case in what the patient tells, and in the findings.

    The first is of character n-grams, averaged with that of the embeddings (``meaning``) if there are any.
    """
    remembered = [f"{each.case.chief_complaint} {each.case.symptoms}" for each in neighbours]
    told = likeness(_complaint_and_replies(chart), remembered)
    if meaning is not None:
        told = [(letters + sense) / 2 for letters, sense in zip(told, meaning, strict=True)]
    return list(zip(told, _finding_similarities(neighbours, chart), strict=True))


def _complaint_and_replies(chart: Chart) -> str:
    """Return the complaint, the present illness and the replies to questions, as one text."""
    talk, _ = sorted_replies(chart)
    return " ".join([chart.presentation.chief_complaint, chart.presentation.present_illness, *talk])


def seen_now(neighbours: Sequence[Neighbour], chart: Chart) -> list[Neighbour]:
    """Return the neighbours with their similarities to what has been told and found by now.

    They may have been recalled by the complaint alone. Clinics, which have none, stay as they are.
    """
    language, compared = chart.presentation.language, [each for each in neighbours if each.told is not None]
    symptoms = describe_symptoms(_complaint_and_replies(chart), language=language) if rules_of(language) == "zh" else ""
    meaning = _meaning(symptoms, compared) if symptoms else [each.similarity for each in compared]
    pairs = zip(compared, _similarities(chart, compared, meaning), strict=True)
    now = {each.case.id: replace(each, told=told, found=found) for each, (told, found) in pairs}
    return [now.get(each.case.id, each) for each in neighbours]


def _finding_similarities(neighbours: Sequence[Neighbour], chart: Chart) -> list[float]:
    findings = known_findings(with_results_told(chart))
    if not findings:
        return [0.0] * len(neighbours)
    return likeness(" ".join(findings), [_findings(each.case) for each in neighbours])


def sorted_replies(chart: Chart) -> tuple[list[str], list[str]]:
    """Return the replies to questions, and the findings: the examiner's turns and replies to requested examinations.

    Replies after the doctor has told the diagnosis are left out, and so are stock phrases ("I do not know").
    """
    said_by_all = stock_phrases(chart.presentation.language)
    talk: list[str] = []
    found: list[str] = []
    replies = talk
    for turn in chart.dialogue:
        if turn.speaker == "doctor":
            if tells_diagnosis(turn.text):
                break
            replies = found if wants_examination(turn.text) else talk
        elif turn.text not in said_by_all:
            (found if turn.speaker == "examiner" else replies).append(turn.text)
    return talk, found


def with_results_told(chart: Chart) -> Chart:
    """Return the chart with the results that were told in the dialogue."""
    told = {f"reply {number}": line for number, line in enumerate(results_told(chart))}
    return replace(chart, results={**chart.results, **told})


def results_told(chart: Chart) -> list[str]:
    """Return the lines of results in the dialogue, each once, without questions and the stock phrases around them."""
    omitted = stock_phrases(chart.presentation.language)
    lines = dict.fromkeys(line for text in sorted_replies(chart)[1] for line in text.splitlines())
    return [line for line in lines if line and line not in omitted and not line.endswith(("?", "？"))]


def stock_phrases(language: Language) -> frozenset[str]:
    """Return what any patient says, whatever the record holds, and what introduces results."""
    introduction = load_words("ai_hospital/words", language)["patient"]["told"].format("").strip()
    phrases = [load_words(f"{system}/words", language)["patient"].values() for system in ("consultation", "clini_eval")]
    return frozenset((introduction, *load_words("saps/words", language).values(), *chain.from_iterable(phrases)))


def _findings(case: RememberedCase) -> str:
    kinds = (case.physical_examination, case.auxiliary_examination, case.imaging_report)
    return " ".join(text for results in kinds for text in results.values())


def clinic_names(language: Language) -> list[str]:
    """Return the names of all clinics, department by department."""
    return [label(name, language) for department in DEPARTMENTS.names for name in SECOND_LEVEL[department].names]


def clinics(complaint: str, language: Language, model: str) -> list[Neighbour]:
    """Return the clinics as neighbours, by the similarity of the complaint to their names."""
    similarities = _similar(complaint, tuple(clinic_names(language)), model)
    return [
        Neighbour(clinic, similarity, 0.0, CLINIC * similarity, "clinic")
        for clinic, similarity in zip(_clinics(), similarities, strict=True)
    ]


def _similar(text: str, others: tuple[str, ...], model: str) -> list[float]:
    similarities: list[float] = (_embeddings(others, model) @ embed([text], model)[0]).tolist()
    return similarities


@lru_cache(maxsize=64)  # hundreds of remembered cases are compared with each chart
def _embeddings(texts: tuple[str, ...], embedding: str) -> NDArray[np.float32]:
    return embed(texts, embedding)


@cache
def _clinics() -> list[RememberedCase]:
    """Return the clinics as cases with nothing but a department, in the order of their names."""
    return [
        RememberedCase(id=f"clinic: {name}", verified=True, department=department, sub_departments=[name])
        for department in DEPARTMENTS.names
        for name in SECOND_LEVEL[department].names
    ]
