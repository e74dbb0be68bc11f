"""Everyday questions before imported records, which hold less of the story than the built-in cases do.

What their sentences tell is learned in both languages. Questions are asked of the English records alone: before the
Chinese ones, of a sentence or two, they made Chinese patients tell more that is not asked.

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
from cases.text.record_sentences import HISTORIES, RecordSentence, record_sentences
from cases.text.words import rules_of
from cases.vocabulary import Language, data_file
from wardround.training.fitting import LANGUAGES
from wardround.training.labelled import Asked, LabelledSentence, answers_by, matter_named, places, story_matters

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


def topic_wordings(language: Language) -> dict[str, list[str]]:
    """Return the questions by the matter that they ask for."""
    by_topic = data_file("nodes.offline", "asked_of_imported")["wordings"][rules_of(language)]
    return {matter_named(topic): lines.splitlines() for topic, lines in by_topic.items()}


def _labelled(
    datasets: Path, language: Language
) -> Iterator[tuple[str, tuple[RecordSentence, ...], dict[str, tuple[bool | None, ...]]]]:
    """Yield each record's id, its histories, and by matter the label of each sentence, as in `Asked`.

    Matters of which no sentence tells anything are left out.
    """
    for record, answered in data_file("nodes.offline", "asked_of_imported")["records"][language].items():
        facts = record_sentences(imported_patients(datasets)[record], ExaminationRecord(), language)
        place = dict(zip(facts, places(facts), strict=True))
        histories = tuple(fact for fact in facts if fact.section in HISTORIES)
        labels: dict[str, tuple[bool | None, ...]] = {}
        for topic, codes in (each.split(":") for each in answered.split()):
            labels[matter_named(topic)] = answers_by(codes, [place[fact] for fact in histories])
        yield record, histories, labels


def told_of_imported(datasets: Path) -> Iterator[LabelledSentence]:
    """Yield the sentences of the records; whether one tells what it may tell without answering it is not known."""
    for language in LANGUAGES:
        for record, histories, labels in _labelled(datasets, language):
            for at, fact in enumerate(histories):
                tells = {
                    matter: labels[matter][at] if matter in labels else False for matter in topic_wordings(language)
                }
                yield LabelledSentence(
                    record, language, fact.text, {name: told for name, told in tells.items() if told is not None}
                )


def asked_of_imported(datasets: Path) -> Iterator[Asked]:
    """Yield the questions before the English records of these data sets.

    Where a record answers a topic, two of its wordings are asked; where it does not, one, of the story always and else
    of one topic in six. Wordings take turns from record to record.
    """
    wordings = topic_wordings("en")
    story = story_matters()
    for number, (record, histories, labels) in enumerate(_labelled(datasets, "en")):
        for at, (matter, lines) in enumerate(wordings.items(), number):
            if matter in labels or matter in story or at % _EVERY == 0:
                answers = labels.get(matter, (False,) * len(histories))
                for step in range(_WORDINGS_ANSWERED if True in answers else 1):
                    yield Asked(lines[(at + step) % len(lines)], record, "en", histories, answers)
