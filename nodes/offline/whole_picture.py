"""What an offline doctor compares: what the patients tell, what was found, and what the clinics are called.

The memory is asked with the symptoms alone, as MedChain has it. A rule looks further: at many remembered cases of all
departments, each by its whole picture, and at the first referral at the clinics by their names.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

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
    every = [*recalled, *further]
    by_id = sorted(every, key=lambda each: each.case.id)  # at each stage alike: what is reckoned of all texts is kept
    seen = {each.case.id: each for each in _compared(chart, by_id, read)}
    more = [seen[each.case.id] for each in further]
    more.sort(key=lambda each: (contradicts(each.case, chart), -((each.told or 0.0) + FOUND * each.found)))
    called = clinics(complaint, language, embedding, read) if complaint else ()
    return [*(seen[each.case.id] for each in recalled), *(replace(each, aside="case") for each in more[:KEPT]), *called]


def _compared(chart: Chart, neighbours: Sequence[Neighbour], read: bool) -> list[Neighbour]:
    """The cases with how alike they are; in words by their letters too, and by these alone in an unread language."""
    door, (talk, _) = chart.presentation, sorted_replies(chart)
    words = " ".join([door.chief_complaint, door.present_illness, *talk])
    told = likeness(words, [f"{each.case.chief_complaint} {each.case.symptoms}" for each in neighbours])
    return [
        Neighbour(each.case, each.similarity, (alike + each.similarity) / 2 if read else alike, found)
        for each, alike, found in zip(neighbours, told, _alike_in_findings(neighbours, chart), strict=True)
    ]


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
        vectors = embed([complaint, *names], embedding)
        near = [float(each) for each in vectors[1:] @ vectors[0]]
    else:
        near = likeness(complaint, names)
    return [
        Neighbour(clinic, each, 0.0, CLINIC * each, "clinic") for clinic, each in zip(_clinics(), near, strict=True)
    ]


@cache
def _clinics() -> list[RememberedCase]:
    """The clinics as cases that tell nothing but where they were treated, in the order of their names."""
    return [
        RememberedCase(id=f"clinic: {name}", verified=True, department=department, sub_departments=[name])
        for department in DEPARTMENTS.names
        for name in SECOND_LEVEL[department].names
    ]
