"""What an offline doctor compares: what the patients tell, what was found, and what the clinics are called.

The memory is asked with the symptoms alone, as MedChain has it. A rule looks further: at many remembered cases of all
departments, each by its whole picture, and at the first referral at the clinics by their names.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cases.vocabulary import DEPARTMENTS, SECOND_LEVEL, Language, label
from nodes.offline.chart_signs import contradicts
from nodes.offline.record_answers import tells_diagnosis, wants_examination
from nodes.state.chart import Chart
from retrieval import Neighbour, RememberedCase
from retrieval.embedding import embed, unfit_languages
from retrieval.likeness import likeness

CANDIDATES = 200  # cases with the nearest symptoms
KEPT = 16  # of them, those that are most alike; the state of a stage holds them
FOUND = 2.0  # what was found counts twice what is told
CLINIC = 0.25  # a clinic's name against a case's words, of an eye for which both count the same


def seen_whole(
    chart: Chart,
    recalled: Sequence[Neighbour],
    search: Callable[..., list[Neighbour]],
    embedding: str,
    complaint: str = "",
) -> list[Neighbour]:
    """The recalled cases with how alike they are in what is told and found, then further ones that are most alike.

    Args:
        chart: what is known of the patient.
        recalled: the cases that prompts show.
        search: finds cases in the memory, by department and number; leaves out whatever the patient must not meet.
        embedding: the embedding model, for the languages that it reads.
        complaint: the symptoms, where a department is sought and clinics stand among what is found; else nothing.
    """
    language = chart.presentation.language
    read = not unfit_languages(embedding, [language])
    shown = {each.case.id for each in recalled}
    further = [each for each in search(None, k=CANDIDATES) if each.case.id not in shown]
    by_id = sorted(
        [*recalled, *further], key=lambda each: each.case.id
    )  # alike at each stage: what texts share is kept
    alike = dict(zip((each.case.id for each in by_id), _compared(chart, by_id, read), strict=True))

    def seen(each: Neighbour, aside: Literal["", "case"] = "") -> Neighbour:
        return Neighbour(each.case, each.similarity, *alike[each.case.id], aside)

    def picture(each: Neighbour) -> float:
        told, found = alike[each.case.id]
        return told + FOUND * found

    further.sort(key=picture, reverse=True)
    fitting = (each for each in further if not contradicts(each.case, chart))
    others = (each for each in further if contradicts(each.case, chart))  # looked for where too few fit
    kept = islice(chain(fitting, others), KEPT)
    called = clinics(complaint, language, embedding, read) if complaint else ()
    return [*map(seen, recalled), *(seen(each, "case") for each in kept), *called]


def _compared(chart: Chart, neighbours: Sequence[Neighbour], read: bool) -> list[tuple[float, float]]:
    """How alike is what is told and what was found; in words by their letters too, and by these alone if unread."""
    door, (talk, _) = chart.presentation, sorted_replies(chart)
    words = " ".join([door.chief_complaint, door.present_illness, *talk])
    told = likeness(words, [f"{each.case.chief_complaint} {each.case.symptoms}" for each in neighbours])
    if read:
        told = [(alike + each.similarity) / 2 for each, alike in zip(neighbours, told, strict=True)]
    return list(zip(told, _alike_in_findings(neighbours, chart), strict=True))


def with_findings(neighbours: Sequence[Neighbour], chart: Chart) -> list[Neighbour]:
    """The cases with how alike is what was found by now; a clinic has no findings."""
    return [
        each if each.told is None else replace(each, found=found)
        for each, found in zip(neighbours, _alike_in_findings(neighbours, chart), strict=True)
    ]


def _alike_in_findings(neighbours: Sequence[Neighbour], chart: Chart) -> list[float]:
    read_out = dict.fromkeys([*chart.results.values(), *chart.reports.values(), *sorted_replies(chart)[1]])
    return (
        likeness(" ".join(read_out), [_found(each.case) for each in neighbours])
        if read_out
        else [0.0] * len(neighbours)
    )


def sorted_replies(chart: Chart) -> tuple[list[str], list[str]]:
    """What the patient's side said, until it was told: on questions, and on the examinations that were asked for."""
    talk: list[str] = []
    found: list[str] = []
    replies = talk
    for turn in chart.dialogue:
        if turn.speaker == "doctor":
            if tells_diagnosis(turn.text):
                break
            replies = found if wants_examination(turn.text) else talk
        else:
            (found if turn.speaker == "examiner" else replies).append(turn.text)
    return talk, found


def _found(case: RememberedCase) -> str:
    kinds = (case.physical_examination, case.auxiliary_examination, case.imaging_report)
    return " ".join(text for results in kinds for text in results.values())


def clinic_names(language: Language) -> list[str]:
    """The names of all clinics, department by department."""
    return [label(name, language) for department in DEPARTMENTS.names for name in SECOND_LEVEL[department].names]


def clinics(complaint: str, language: Language, embedding: str, read: bool) -> list[Neighbour]:
    """The clinics, as what else speaks for a department: how near the complaint is to what each is called."""
    names = clinic_names(language)
    if read:
        near = (_embedded(tuple(names), embedding) @ embed([complaint], embedding)[0]).tolist()
    else:
        near = likeness(complaint, names)
    return [
        Neighbour(clinic, each, 0.0, CLINIC * each, "clinic") for clinic, each in zip(_clinics(), near, strict=True)
    ]


@lru_cache(maxsize=8)
def _embedded(names: tuple[str, ...], embedding: str) -> NDArray[np.float32]:
    return embed(names, embedding)


@cache
def _clinics() -> list[RememberedCase]:
    """The clinics as cases that tell nothing but where they were treated, in the order of their names."""
    return [
        RememberedCase(id=f"clinic: {name}", verified=True, department=department, sub_departments=[name])
        for department in DEPARTMENTS.names
        for name in SECOND_LEVEL[department].names
    ]
