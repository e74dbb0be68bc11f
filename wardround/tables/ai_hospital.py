"""AI Hospital's tables: consensus (Figure 4), dialogues (Table 4), types of error (Table 5), ICD-10 terms (Table 3)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from cases.text.words import has_chinese
from cases.vocabulary import Language
from nodes.patients.clinichat import DIAGNOSING, Occasion, suspicion_in
from nodes.state.chart import Turn
from scoring.metrics.icd10 import DiseaseCase, Rule, agreement, predicted_entities
from scoring.metrics.icd10_terms import ICD10CM, TermList, load_terms
from scoring.metrics.samples import over_cases
from scoring.mvme.consensus import Discussion, End, share_in_consensus, share_of_end
from scoring.mvme.disease_entities import entity_splitter, split_by_rule
from scoring.mvme.grades import LOWEST, SCORES
from scoring.mvme.judges import ERROR_TYPES, misdiagnosis_judge
from scoring.mvme.replies import exchanges
from wardround.printing import counted
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result
from wardround.tables.figures import draw_consensus
from wardround.tables.table import Column, DoesNotFitError, Table, alike, key_columns, measured

NO_DISCUSSION = "no case had a discussion (graph dispute_resolution with two interns or more)"
_ENDS: Mapping[str, End] = {"agreed": "agreed", "rounds_used_up": "gave_up"}


def build_consensus(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the share of cases in consensus after each round; agreement and giving up are counted separately.

    The paper counts the cases that ended after a round, and mixes both ends at the last one.
    """
    discussions_by_run = [(run, discussions_of(run.scored)) for run in runs]
    discussed = [run for run, found in discussions_by_run if found]
    if not discussed:
        return []
    limit = max(run.experiment.context.max_rounds for run in discussed)
    columns = [
        *key_columns("run"),
        *(Column(f"after_{number}", str(number), "After round", ".3f", mean=True) for number in range(limit + 1)),
        *alike({"agreed": "Agreed", "gave_up": "Gave up"}, "In the end", form=".3f", mean=True),
        *alike({"discussed": "With discussion", "without": "Without"}, "Cases"),
    ]
    rows = [
        {
            "run": run.name,
            **measured({f"after_{number}": share_in_consensus(found, number) for number in range(limit + 1)}),
            **measured({"agreed": share_of_end(found, "agreed"), "gave_up": share_of_end(found, "gave_up")}),
            "discussed": len(found),
            "without": len(run.scored) - len(found),
        }
        for run, found in discussions_by_run
    ]
    notes = [
        "After round: share of the cases with a discussion that had reached consensus by then; 0 is before any "
        "discussion.",
        "Cases without a discussion (only one doctor, or stopped before it) are left out of the shares.",
    ]
    caption = "Share of cases in consensus after each round of discussion."
    pictures = {"consensus": draw_consensus}
    return [Table("consensus", "Consensus by round", columns, rows, notes, caption, pictures=pictures)]


def discussions_of(results: Iterable[Result]) -> list[Discussion]:
    """Return the finished discussions; a case with one doctor has none, nor one that never reached it."""
    return [
        Discussion(result.rounds["discussion"], _ENDS[end], result.case_id)
        for result in results
        if (end := result.stages.get("discussion", "")) in _ENDS
    ]


def build_dialogues(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the doctors' answered turns and their examination requests, in total and per dialogue.

    With CliniChat's patient, who labels each turn of the doctor, count also the turns before and after the diagnosis.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        found = [(result.case_id, exchanges(answers.dialogue)) for result, answers in run.each_dialogue()]
        pairs = [(case, len(each)) for case, each in found]
        tests = [(case, sum(one.examined for one in each)) for case, each in found]
        sums = {"pairs": sum(count for _, count in pairs), "tests": sum(count for _, count in tests)}
        means = {"pairs_each": over_cases(pairs), "tests_each": over_cases(tests)}
        rows += [{"run": run.name, "dialogues": len(found), **sums, **measured(means)}] if found else []
    columns = [
        *key_columns("run"),
        Column("dialogues", "Dialogues"),
        *alike({"pairs": "#QA", "tests": "#Test"}, "In total"),
        *alike({"pairs_each": "#QA", "tests_each": "#Test"}, "Per dialogue", mean=True),
    ]
    notes = [
        "#QA: turns of the doctor that got a reply. #Test: those of them in which examinations were asked for.",
        "With several doctors, the dialogue of the first one is counted. For the relevance, consistency and accuracy "
        "of the replies, use `wardround score replies RUN`.",
    ]
    table = Table("dialogues", "Dialogues", columns, rows, notes, "Questions answered and examinations asked for.")
    return [table, *_phases(runs)]


def _phases(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the doctor's turns of history taking, those before a disease is first named, and those from then on."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        found = [
            (result.case_id, _labelled([turn for turn in answers.dialogue if turn.speaker == "doctor"]))
            for result, answers in run.each_dialogue()
        ]
        if not any(action in get_args(Occasion) for _, turns in found for action in turns):
            continue
        parts = [(case, len(turns), _turns_before(DIAGNOSING, turns)) for case, turns in found]
        means = {
            "history": over_cases([(case, _turns_before(("results", *DIAGNOSING), turns)) for case, turns in found]),
            "before": over_cases([(case, before) for case, _, before in parts]),
            "after": over_cases([(case, turns - before) for case, turns, before in parts]),
            "first": over_cases([(case, before + 1) for case, turns, before in parts if before < turns]),
            "named": over_cases([(case, float(before < turns)) for case, turns, before in parts], (0.0, 1.0)),
        }
        rows.append({"run": run.name, "dialogues": len(found), **measured(means)})
    columns = [
        *key_columns("run"),
        Column("dialogues", "Dialogues"),
        *alike({"history": "History", "before": "Before", "after": "From then on"}, "Turns", mean=True),
        Column("first", "Turn", "Disease first named", mean=True),
        Column("named", "Dialogues", "Disease first named", form=".3f", mean=True),
    ]
    notes = [
        "Before: turns of the doctor before the first that names a suspected disease (all turns if none does). "
        "History: those of them before the first that asks for results. From then on: the turn that names the disease "
        "and those after it. The patient labels the turns that it answers; a last turn without a reply is read by rule."
    ]
    caption = "Turns of the doctor before and after a disease was first named."
    return [Table("phases", "Before and after the diagnosis", columns, rows, notes, caption)] if rows else []


def _labelled(turns: Sequence[Turn]) -> list[str | None]:
    """Return what the patient took each turn of the doctor for; a rule reads a last turn that got no reply."""
    actions = [turn.action for turn in turns]
    if turns and not actions[-1] and suspicion_in(turns[-1].text):
        actions[-1] = "suspected_disease"
    return actions


def _turns_before(occasions: Collection[str], actions: Sequence[str | None]) -> int:
    """Return the number of turns before the first on one of these occasions; all turns if there is none."""
    return next((place for place, action in enumerate(actions) if action in occasions), len(actions))


ERROR_TITLES: Mapping[str, str] = {
    "omitted_examination": "Omitted examination",
    "complication_only": "Complication only",
    "wrong_judgement": "Wrong judgement",
}
assert tuple(ERROR_TITLES) == ERROR_TYPES


def build_error_types(runs: Sequence[RecordedRun]) -> list[Table]:
    """Count the reports with the lowest diagnosis grade by type of error."""
    rows = []
    for run in runs:
        if run.suite.name != "mvme":
            continue
        lowest = [result for result in run.results if result.scores.get("diagnosis") == SCORES[LOWEST]]
        types = [(result.case_id, error_type(run, result)) for result in lowest]
        classified = [(case, found) for case, found in types if found]
        counts = Counter(found for _, found in classified)
        shares = {
            f"{name}_share": over_cases([(case, float(found == name)) for case, found in classified], (0.0, 1.0))
            for name in ERROR_TITLES
        }
        numbers = {**{name: counts[name] for name in ERROR_TITLES}, "not_sorted": len(lowest) - len(classified)}
        rows.append({"run": run.name, "lowest": len(lowest), **numbers, **measured(shares)})
    columns = [
        *key_columns("run"),
        Column("lowest", "Graded D"),
        *alike(ERROR_TITLES, "Number"),
        Column("not_sorted", "Not sorted", "Number"),
        *(Column(f"{name}_share", title, "Share", ".3f", mean=True) for name, title in ERROR_TITLES.items()),
    ]
    notes = [
        "Graded D: diagnoses that contain hardly anything of the reference.",
        "Not sorted: no report was written, or the judge gave no answer; the shares are of the sorted diagnoses.",
    ]
    if any(run.experiment.graph == "one_step" for run in runs):
        notes.append("One-step doctors have all results: what they omitted is missing from their reports alone.")
    return [Table("error_types", "Wrong diagnoses by type of error", columns, rows, notes, "Types of misdiagnosis.")]


def error_type(run: RecordedRun, result: Result) -> str | None:
    """Return the error type that the judge gave when the case was scored; None if not asked, or without an answer."""
    for call in reversed(run.trace(result).calls):
        if call.role == misdiagnosis_judge.name and isinstance(call.answer, dict):
            return str(call.answer["type"])
    return None


RULE_TITLES: Mapping[Rule, str] = {"published": "Published", "code": "Full code", "category": "Category"}
_PARTS = ("R", "P", "F1")
_SPLITTERS = {
    "rule": "split by rule",
    "standard": "split by rule and renamed to the nearest term",
    "model": "split by a model",
}


def build_icd10(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate recall, precision and F1 of the diseases in the reports, by the published rule and two sound ones.

    Raises:
        DoesNotFitError: no run wrote reports, or all cases are in languages for which no term list is included.
    """
    reporting = [run for run in runs if run.experiment.graph != "clinical_workflow"]
    if not reporting:
        raise DoesNotFitError("no run wrote reports (graphs consultation, one_step and dispute_resolution do)")
    rows: list[dict[str, Any]] = []
    unlisted: dict[str, int] = {}  # the cases of languages without a list
    unsplit = Counter[str]()
    lists: dict[str, set[str]] = {}  # by name, the languages of the diagnoses linked to it
    for run in reporting:
        for language in sorted({case.language for case in run.cases.values()}):
            cases = {each.id for each in run.cases.values() if each.language == language}
            name, source = language_name(language), terms_for(run, language)
            if source is None:
                unlisted[name] = max(unlisted.get(name, 0), len(cases))
                continue
            lists.setdefault("ICD-10-CM" if source == ICD10CM else Path(source).name, set()).add(name)
            terms = load_terms(source)
            diseases, without = diseases_of(run, terms, cases)
            unsplit[run.name] += without
            rows.append({"run": run.name, "language": name, "cases": len(diseases), **_agreements(diseases, terms)})
    if not rows:
        names = sorted({language_name(case.language) for run in reporting for case in run.cases.values()})
        raise DoesNotFitError(
            f"all cases are {' or '.join(names)}, and no {' or '.join(names)} list of terms is included; "
            "name one with --set data.terms=FILE, or use `wardround score icd10 RUN --terms FILE`"
        )
    has_languages = len({row["language"] for row in rows}) > 1
    columns = [
        *key_columns("run"),
        *([Column("language", "Cases in", key=True)] if has_languages else []),
        Column("cases", "Cases"),
        Column("entities", "#", mean=True),
        *(Column(f"{rule}_{part}", part, title, mean=True) for rule, title in RULE_TITLES.items() for part in _PARTS),
    ]
    linked = [one + f" ({', '.join(sorted(names))})" * has_languages for one, names in sorted(lists.items())]
    splitters = sorted({_SPLITTERS[run.experiment.data.splitter] for run in reporting})
    notes = [
        "#: diseases named in a report. Recall, precision and F1 in percent, over the diseases of all cases.",
        f"Diseases are {' or '.join(splitters)}, and linked to the names in {' and '.join(linked)}.",
        *(
            f"{counted(count, f'{name} case')} left out: no {name} list of terms is included; `--set data.terms=FILE` "
            "names one."
            for name, count in unlisted.items()
        ),
        *(
            f"{counted(count, 'case')} of {name} left out: the splitter gave no answer."
            for name, count in (+unsplit).items()
        ),
    ]
    title, caption = "Diagnoses linked to ICD-10", "Link-based evaluation of the diagnoses."
    return [Table("icd10", title, columns, rows, notes, caption)]


def language_name(language: Language) -> str:
    """Return the English name of a built-in language, or the tag of another."""
    return {"en": "English", "zh": "Chinese"}.get(language, language)


def _agreements(cases: Sequence[DiseaseCase], terms: TermList) -> dict[str, float | None]:
    found = {"entities": predicted_entities(cases)}
    for rule in RULE_TITLES:
        found |= {f"{rule}_{name}": one for name, one in agreement(cases, terms, rule).columns.items()}
    return measured(found)


def is_english(language: Language) -> bool:
    """Whether a language is English, of whatever country."""
    return language.partition("-")[0] == "en"


def terms_for(run: RecordedRun, language: Language) -> str | None:
    """Return the term list for a language: the run's own if it may be in it, else the built-in one, if any.

    It can be told of a list only whether it is Chinese (or Japanese). Any other is of the language of the run that has
    no list of its own, if there is one, and else English.
    """
    if own := run.experiment.data.terms:
        terms = load_terms(own)
        is_chinese = sum(map(has_chinese, terms.names)) * 2 > len(terms)
        languages = {case.language for case in run.cases.values()}
        if language == "zh":
            fits = is_chinese
        elif is_english(language):
            fits = not is_chinese and all(each == "zh" or is_english(each) for each in languages)
        else:
            fits = not (is_chinese and "zh" in languages)
        if fits:
            return own
    return ICD10CM if is_english(language) else None


def diseases_of(run: RecordedRun, terms: TermList, chosen: set[str]) -> tuple[list[DiseaseCase], int]:
    """Return the diseases of every scored case in ``chosen``, and the number of cases without the splitter's answer.

    A missing report names none.
    """
    splitter = run.experiment.data.splitter
    found: list[DiseaseCase] = []
    unsplit = 0
    for result in run.each_answered():
        if not (result.scored and result.case_id in chosen and (reference := run.cases[result.case_id].key.diagnosis)):
            continue
        named = {"report": result.answers.diagnosis if result.answers else [], "reference": reference}
        if splitter == "model":
            split = _split_by_model(run, result) | ({} if named["report"] else {"report": []})
        else:
            as_standard = splitter == "standard"
            split = {at: split_by_rule("\n".join(names), terms, standard=as_standard) for at, names in named.items()}
        if named.keys() <= split.keys():
            found.append(DiseaseCase(result.case_id, split["report"], split["reference"]))
        else:
            unsplit += 1
    return found, unsplit


def _split_by_model(run: RecordedRun, result: Result) -> dict[str, list[str]]:
    """Return the splitter's answers from when the case was scored, for the report and the reference."""
    calls = run.trace(result).calls
    return {
        call.id.rpartition("/")[2]: list(dict.fromkeys(call.answer["diseases"]))
        for call in calls
        if call.role == entity_splitter.name and isinstance(call.answer, dict)
    }
