"""The tables of `docs/simulators.md` that say how offline patients answer: ``python -m tests.docs.patient_tables``.

The questions and their labels are the files of `tests/nodes/offline`; imported records and physicians' turns are read
from the data sets. It takes minutes.
"""

import csv
import json
import random
from collections import Counter
from collections.abc import Iterable

from cases import load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import record_sentences
from cases.vocabulary import Language
from nodes.offline.doctor_actions import kind_label
from nodes.offline.record_answers import denial, facts_for
from nodes.offline.subjects import kind_named
from prompts import load_words
from tests.docs.simulator_tables import PAGE, with_region
from tests.nodes.offline.test_everyday_wordings import (
    CASES,
    DUE,
    HELD_OUT,
    are_subjects_heard,
    histories,
    outcomes_before_cases,
    two_questions_are_heard,
)
from tests.nodes.offline.test_imported_records import (
    DATASETS,
    EVERYDAY,
    QUESTIONS_OF,
    SET,
    Asked,
    asked,
    everyday,
    outcomes,
    patients,
)
from wardround.tables.table import as_markdown
from wardround.training.fitting import LANGUAGES

NAMES = {"en": "English", "zh": "Chinese"}
BUILT_IN = {case.id for case in load_cases()}
OUTCOMES = ["told", "another fact", "denied", "not recorded, and something told", "n"]
_TURNS = 600


def main() -> None:
    page = PAGE.read_text("utf-8")
    for name, table in (
        ("held-out wordings", held_out()),
        ("farewells", farewells()),
        ("stock questions", stock_questions()),
        ("two questions", two_questions()),
        ("questions before cases", before_cases()),
        ("everyday wordings", everyday_wordings()),
        ("remarks", remarks()),
        ("imported records", imported_records()),
    ):
        page = with_region(page, name, table)
    PAGE.write_text(page, "utf-8")


def held_out() -> str:
    """How many held-out wordings have their kind of action recognised, and the percent of subjects."""
    kinds = list(dict.fromkeys(map(kind_named, HELD_OUT)))
    rows = []
    for language in LANGUAGES:
        said = [(text, kind_named(name)) for name, by in HELD_OUT.items() for text in by[language].strip().splitlines()]
        of, right = Counter(kind for _, kind in said), Counter[str]()
        right.update(kind for text, kind in said if kind_label(text, language) == kind)
        cells = [f"{right[kind]} of {of[kind]}" for kind in kinds]
        subjects_heard = are_subjects_heard(language)
        shares = [right.total() / of.total(), sum(subjects_heard) / len(subjects_heard)]
        rows.append([NAMES[language], *cells, *(f"{100 * share:.0f}" for share in shares)])
    return as_markdown(["", *(kind.replace("_", " ") for kind in kinds), "all, %", "subjects, %"], rows)


def farewells() -> str:
    """How many turns of a physician before the last are heard as a farewell."""
    english = DATASETS / "mts_dialog" / "MTS-Dialog-TestSet-1.csv"
    notes = csv.DictReader(english.read_text("utf-8-sig").splitlines(keepends=True))
    said = [
        [line[7:].strip() for line in note["dialogue"].splitlines() if line.startswith("Doctor:")] for note in notes
    ]
    before_last = [turn for turns in said for turn in turns[:-1]]
    after_first = [turn for turns in said for turn in turns[1:-1]]
    chinese = (DATASETS / "ai_hospital" / "dialog_history_gpt4.jsonl").read_text("utf-8").splitlines()
    of_gpt4 = []
    for line in chinese:
        turns = [turn["content"] for turn in json.loads(line)["dialog_history"] if turn["role"].lower() == "doctor"]
        of_gpt4 += turns[:-1]
    random.Random(0).shuffle(of_gpt4)
    sets: list[tuple[str, list[str], Language]] = [
        ("physicians' turns before their last (MTS-Dialog, first test set)", before_last, "en"),
        ("those of these after the first", after_first, "en"),
        ("such turns of GPT-4 in Chinese (AI Hospital's released dialogues)", of_gpt4[:_TURNS], "zh"),
    ]
    rows = []
    for name, turns, language in sets:
        heard = sum(kind_label(turn, language) == "conclusion" for turn in turns)
        rows.append([name, f"{len(turns)}", f"{heard}"])
    return as_markdown(["turns", "n", "heard as a farewell"], rows)


def stock_questions() -> str:
    """How many stock questions for parts of the record get an answer before built-in cases, and how many a denial."""
    rows = []
    for language in LANGUAGES:
        files = {"medchain/words": "doctor", "clini_eval/words": "physician"}
        doctors = [load_words(file, language)[role]["questions"] for file, role in files.items()]
        answered = Counter[str]()
        for question in dict.fromkeys([*DUE[language], *(each for questions in doctors for each in questions)]):
            for facts in map(histories, CASES[language]):
                told = facts_for(question, facts, language)
                denied = not told and denial(question, language, facts) == "nothing"
                answered["told" if told else "denied" if denied else "silent"] += 1
        share = f"{100 * answered['told'] / answered.total():.1f} %"
        rows.append([NAMES[language], share, f"{answered['denied']}", f"{answered.total()}"])
    return as_markdown(["stock questions", "answered", "denied", "n"], rows)


def two_questions() -> str:
    """How many turns of two questions have both heard."""
    rows = []
    for language in LANGUAGES:
        both = two_questions_are_heard(language)
        rows.append([NAMES[language], f"{100 * sum(both) / len(both):.0f} %", f"{len(both)}"])
    return as_markdown(["two questions in a turn", "both heard", "n"], rows)


def before_cases() -> str:
    """What becomes of the questions before built-in cases that nothing is learned from."""
    return _outcomes("questions", [(NAMES[language], outcomes_before_cases(language)) for language in LANGUAGES])


def everyday_wordings() -> str:
    """What becomes of everyday wordings, by set and by whether the records are built in."""
    rows = []
    for language in LANGUAGES:
        for is_built_in in (False, True):
            for name in EVERYDAY["asked"]:
                questions = _before(everyday(name, language), is_built_in)
                records = "built-in" if is_built_in else "imported"
                rows.append((f"{NAMES[language]}, {records}, {name} set", outcomes(questions, language)))
    return _outcomes("wordings", rows)


def remarks() -> str:
    """How often words that ask for nothing get a fact told, before all records of the questions labelled."""
    rows = []
    for language in LANGUAGES:
        lines = [line.split(" | ") for by in EVERYDAY["asked"].values() for line in by[language].splitlines()]
        said = [words for words, topics in lines if topics == "-"]
        records = [patients()[record] for part in QUESTIONS_OF for record in SET[part][language]]
        told = [
            bool(facts_for(words, record_sentences(record, ExaminationRecord(), language), language))
            for words in said
            for record in records
        ]
        rows.append([f"{NAMES[language]}, {len(said)} wordings", f"{sum(told)}", f"{len(told)}"])
    return as_markdown(["words that ask for nothing", "a fact is told", "n"], rows)


def imported_records() -> str:
    """What becomes of the questions that were labelled before records, by part."""
    rows = []
    for language in LANGUAGES:
        together = Counter[str]()
        for part in QUESTIONS_OF:
            for is_built_in in (False, True):
                if counted := outcomes(_before(asked(part, language), is_built_in), language):
                    where = " before built-in cases" if is_built_in else ""
                    rows.append((f"{NAMES[language]}: {part.replace('_', ' ')}{where}", counted))
                    together += counted
        rows.append((f"{NAMES[language]} together", together))
    return _outcomes("part", rows)


def _before(questions: Iterable[Asked], is_built_in: bool) -> Iterable[Asked]:
    return (each for each in questions if (each[0] in BUILT_IN) == is_built_in)


def _outcomes(what: str, rows: Iterable[tuple[str, Counter[str]]]) -> str:
    cells = []
    for name, counted in rows:
        recorded = sum(counted[each] for each in ("told", "another", "denied", "silent"))
        unrecorded = counted["told of nothing"] + counted["nothing"]
        told, another = (f"{100 * counted[each] / recorded:.1f} %" for each in ("told", "another"))
        unasked = f"{100 * counted['told of nothing'] / unrecorded:.1f} %"
        cells.append([name, told, another, f"{counted['denied']}", unasked, f"{recorded}, {unrecorded}"])
    return as_markdown([what, *OUTCOMES], cells)


if __name__ == "__main__":
    main()
