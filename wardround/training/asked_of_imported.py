"""Everyday questions before imported records, which hold less of the story than the built-in cases do.

The labels are in ``nodes/offline/asked_of_imported.toml``; the records are read where the data sets lie.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cases.case import ExaminationRecord, PatientRecord
from cases.importers.agentclinic import import_agentclinic
from cases.importers.ai_hospital import import_ai_hospital
from cases.importers.source import Source
from cases.note_files import read_notes
from cases.text.record_sentences import HISTORIES, record_sentences
from cases.vocabulary import data_file
from wardround.training.labelled import Asked, places

_WORDINGS_ANSWERED = 2  # of a topic that a record answers, asked of that record
_EVERY = 6  # of the other topics outside the story, one is asked of a record


@cache
def imported_patients(datasets: Path) -> dict[str, PatientRecord]:
    """Return the patients of the data sets by id; of a note of MTS-Dialog the first sentence is the complaint."""
    cases = [
        case for path in sorted((datasets / "agentclinic").glob("*.jsonl")) for case in import_agentclinic(Source(path))
    ]
    cases += import_ai_hospital(Source(datasets / "ai_hospital" / "evaluation_iiyi_gpt4_onestep.jsonl"))
    patients = {case.id: case.patient for case in cases}
    for note in read_notes(datasets / "mts_dialog" / "MTS-Dialog-TestSet-1.csv"):
        if story := note.sections.get("present_illness", ()):
            complaint, *rest = story
            patients[note.id] = PatientRecord(chief_complaint=complaint, present_illness=" ".join(rest))
    return patients


def asked_of_imported(datasets: Path) -> Iterator[Asked]:
    """Yield the questions before the records of these data sets.

    Where a record answers a topic, two of its wordings are asked; where it does not, one, of the story always and else
    of one topic in six. Wordings take turns from record to record.
    """
    entries = data_file("nodes.offline", "asked_of_imported")
    wordings = {topic: lines.splitlines() for topic, lines in entries["wordings"].items()}
    for number, (record, answered) in enumerate(entries["records"].items()):
        facts = record_sentences(imported_patients(datasets)[record], ExaminationRecord(), "en")
        place = dict(zip(facts, places(facts), strict=True))
        histories = tuple(fact for fact in facts if fact.section in HISTORIES)
        labels = dict(each.split(":") for each in answered.split())
        for at, (topic, lines) in enumerate(wordings.items(), number):
            due, _, tolerable = labels.get(topic, "").partition("~")
            if topic in labels or topic in entries["story"] or at % _EVERY == 0:
                answers = tuple(
                    None if place[fact] in tolerable.split(",") else place[fact] in due.split(",") for fact in histories
                )
                for step in range(_WORDINGS_ANSWERED if True in answers else 1):
                    yield Asked(lines[(at + step) % len(lines)], record, "en", histories, answers)
