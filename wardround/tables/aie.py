"""AIE's tables of doctors: their metrics (Tables 2 and 3), formats, actions and rounds (Figures 6b to 6d)."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil
from statistics import quantiles
from types import MappingProxyType
from typing import Any

from cases.text.words import language_of
from cases.vocabulary import Language
from scoring.aie.courses import action_shares
from scoring.aie.metrics import METRICS, score_aie
from scoring.aie.suite import suite
from scoring.aie.transcripts import ACTIONS, AieTranscript
from scoring.metrics.comparison import case_differences, holm, p_in_direction, paired_difference
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, by_case, estimates, of_epoch
from scoring.metrics.statistics import Estimate
from wardround.analysis.paired import scored_or_wrong
from wardround.analysis.transcripts import read_transcripts
from wardround.printing import counted
from wardround.store.recorded_run import RecordedRun
from wardround.tables import figures
from wardround.tables.published import published
from wardround.tables.scores import AS_WRONG
from wardround.tables.table import IN_WORDS, Column, DoesNotFitError, Table, alike, key_columns, measured, stars

UNCHOSEN = "DIAGNOSIS: no option was chosen; use `wardround score aie RUNS --diagnose SPEC` to have a model choose."
STARS = (
    "*, **: differs from {} with p < 0.05, p < 0.01 (paired permutation test of the cases' means, Holm-corrected over "
    "all columns)."
)
_BOUND = (
    "Failed as wrong: each case that failed counts as wrong (a lower bound), in shares of actions with as many wrong "
    "ones as the other cases have on average"
)
_MARKED = "; the stars are those of the larger p without and with them"
_OF_THE_PRINTED = (
    "The printed cells follow other definitions (a doctor without such an action has 0 in ACC and SPECIFIC); for ours "
    "by these, use `wardround score aie RUNS --mode paper`."
)
_DENOMINATOR_NOTES = {"sound": "; ACC and SPECIFIC over all their actions of that kind", "paper": ""}
Doctors = Mapping[str, Sequence[AieTranscript]]


def build_paper(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Table 2 for Chinese cases, Table 3 for others, with one column per run."""
    doctors = _doctors(runs)
    scores = {name: score_aie(records) for name, records in doctors.items()}
    if not any(one.diagnosis for records in doctors.values() for one in records):
        scores = {name: {**samples, "DIAGNOSIS": []} for name, samples in scores.items()}
    bounds = {run.name: failed_as_wrong(run, scores[run.name]) for run in runs if run.name in scores}
    bounds = {name: one for name, one in bounds.items() if one}
    return paper_tables(scores, record_languages(doctors, runs), bounds=bounds)


def record_languages(doctors: Doctors, runs: Sequence[RecordedRun] = ()) -> dict[str, Language]:
    """Return the language of each dialogue's record, by its name; of runs also those of failed cases."""
    planned: dict[str, Language] = {
        of_epoch(one.case_id, one.epoch): "zh" if run.cases[one.case_id].language == "zh" else "en"
        for run in runs
        for one in run.results
    }
    return planned | {one.case: language_of(one.record) for records in doctors.values() for one in records}


def failed_as_wrong(run: RecordedRun, samples: Samples) -> dict[str, list[Sample]]:
    """Return a run's values with each failed case as wrong; empty if none failed.

    To a pooled metric, a failed case adds as many wrong actions as a scored case has on average.
    """
    failed = [one for one in scored_or_wrong(run) if not one.scored]
    names, dialogues = [of_epoch(one.case_id, one.epoch) for one in failed], len(samples["AVG_TURN"])
    return {
        name: [*values, *(Sample(case, 0.0) for case in names for _ in range(ceil(len(values) / dialogues)))]
        for name, values in samples.items()
        if names and name not in suite.neither
    }


def paper_tables(
    scores: Mapping[str, Samples],
    languages: Mapping[str, Language],
    bounds: Mapping[str, Samples] = MappingProxyType({}),
) -> list[Table]:
    """Return Table 2 of the Chinese records and Table 3 of the others, by our definitions; see `paper_table`.

    Each paper's table is of one language, and words cannot be averaged with characters. ``languages``: of the records,
    by dialogue. A doctor who was given no record in a language is not in its table.
    """
    tables = []
    for language in sorted({*languages.values()}, reverse=True):
        own = {case for case, found in languages.items() if found == language}
        kept, failed = (
            {
                doctor: {name: [one for one in values if one.case in own] for name, values in samples.items()}
                for doctor, samples in given.items()
            }
            for given in (scores, bounds)
        )
        failed = {
            doctor: samples
            for doctor, samples in failed.items()
            if any(len(samples[name]) > len(kept[doctor][name]) for name in samples)
        }
        kept = {doctor: samples for doctor, samples in kept.items() if samples["AVG_TURN"] or doctor in failed}
        if kept:
            tables.append(paper_table(kept, language, bounds=failed))
    return tables


def build_actions(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Figure 6c."""
    return [actions_table(_doctors(runs))]


def paper_table(
    scores: Mapping[str, Samples],
    language: Language,
    definition: Definition = "sound",
    bounds: Mapping[str, Samples] = MappingProxyType({}),
) -> Table:
    """Return the ten metrics as AIE prints them, a row per metric and a column per doctor, and the printed cells.

    DIAGNOSIS is empty if nobody chose an option. Chinese records are compared with Table 2 (HospitalCases), English
    ones with Table 3. ``bounds``: the values of doctors with failed cases, these counted as wrong; what is marked must
    differ with them, too.
    """
    printed = published("aie")
    table = [key for key in printed if key.startswith("Table")][language == "en"]
    both = {
        name: values
        for doctor, samples in scores.items()
        for name, values in ((doctor, samples), (f"{doctor}{AS_WRONG}", bounds.get(doctor)))
        if values
    }
    found = {
        doctor: estimates(samples, clustered=definition == "sound", ends=PERCENT, neither=("AVG_TURN", "AVG_LEN"))
        for doctor, samples in both.items()
    }
    p_values = _p_values(scores)
    if bounds:
        as_wrong = {doctor: {**samples, **bounds.get(doctor, {})} for doctor, samples in scores.items()}
        with_failures = _p_values(as_wrong, scores)
        p_values = {key: None if p is None else max(p, with_failures[key] or p) for key, p in p_values.items()}
    rows = []
    for metric in METRICS:
        row: dict[str, Any] = {"metric": metric}
        for doctor, metrics in found.items():
            one, p = metrics.get(metric, Estimate(n=0)), p_values.get((doctor, metric))
            parts = {"mean": one.mean, "se": one.se, "n": one.n, "p": p}
            row |= {doctor: _cell(one.mean, one.se, stars(p)), **{f"{doctor} {part}": parts[part] for part in parts}}
        for name, pair in zip(printed["doctors"], printed[table][metric], strict=True):
            row |= {f"[{name}]": _cell(*pair), f"[{name}] mean": pair[0], f"[{name}] se": pair[1]}
        rows.append(row)
    number, cases = table.removeprefix("Table ").split(", ")
    columns = [
        Column("metric", "Metric", key=True),
        *(Column(doctor, doctor, f"Ours, {definition}") for doctor in found),
        *(Column(f"[{name}]", name, f"AIE, Table {number}") for name in printed["doctors"]),
    ]
    notes = [
        f"Mean ± standard error; percent, except turns and length ({IN_WORDS}). Over "
        f"{_cases(scores)}{_DENOMINATOR_NOTES[definition]}.",
        f"AIE, Table {number}: printed values of the paper's doctors on {cases}. Chinese records are compared "
        "with Table 2, others with Table 3.",
        *([_OF_THE_PRINTED] if definition == "sound" else []),
        *([] if any(metrics["DIAGNOSIS"].n for metrics in found.values() if "DIAGNOSIS" in metrics) else [UNCHOSEN]),
        *([STARS.format(next(iter(scores)))] if len(scores) > 1 else []),
        *([f"{_BOUND}{_MARKED * (len(scores) > 1)}."] if bounds else []),
    ]
    return Table(f"aie-table-{number}", f"Doctors in dialogue (AIE, Table {number})", columns, rows, notes)


def _cases(scores: Mapping[str, Samples]) -> str:
    """Describe how many cases each doctor's column covers."""
    cases = {doctor: len(by_case(samples["AVG_TURN"])) for doctor, samples in scores.items()}
    if len({*cases.values()}) == 1:
        return counted(next(iter(cases.values())), "case")
    return ", ".join(f"{counted(n, 'case')} ({doctor})" for doctor, n in cases.items())


def _p_values(
    scores: Mapping[str, Samples], direction: Mapping[str, Samples] | None = None
) -> dict[tuple[str, str], float | None]:
    """Return the p value of each doctor's metric against the first doctor's: paired by case, Holm over all of them.

    ``direction``: the scores by which the difference must have the same sign, else p is 1.
    """
    found, others = _differences(scores), _differences(direction or scores)
    return holm({key: p_in_direction(each, others[key]) for key, each in found.items()})


def _differences(scores: Mapping[str, Samples]) -> dict[tuple[str, str], list[float]]:
    (_, first), *others = scores.items()
    return {
        (doctor, metric): case_differences(by_case(values), by_case(first.get(metric, ())))
        for doctor, samples in others
        for metric, values in samples.items()
    }


def actions_table(doctors: Doctors) -> Table:
    """Return the share of each action at each turn, by doctor (AIE, Figure 6c)."""
    rows: list[dict[str, Any]] = [
        {"run": doctor, "turn": one.turn, "dialogues": one.dialogues, **dict.fromkeys(ACTIONS, 0.0), **one.shares}
        for doctor, transcripts in doctors.items()
        for one in action_shares(transcripts)
    ]
    shown = [code for code in ACTIONS if any(row[code] for row in rows)]
    columns = [
        *alike({"run": "Doctor", "turn": "Turn"}, key=True),
        Column("dialogues", "Dialogues"),
        *(Column(code, f"{code} {ACTIONS[code]}", form=".3f") for code in shown),
    ]
    title, pictures = "Share of actions by turn (AIE, Figure 6c)", {"aie-figure-6c": figures.draw_actions}
    return Table("aie-figure-6c", title, columns, rows, pictures=pictures)


def rounds_row(doctor: str, turn: int, coverage: Samples, asked: int) -> dict[str, Any]:
    """Return the row of a doctor's dialogues up to a round: coverage, quartiles, and the share of right diagnoses."""
    values = sorted(value for _, value in coverage["COVERAGE"])  # none if no dialogue names an action
    cuts = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    whole = (values[0], *cuts, values[-1]) if values else (None,) * 5
    spread = dict(zip(("lowest", "q1", "median", "q3", "highest"), whole, strict=True))
    found = estimates({name: coverage[name] for name in ("COVERAGE", "DIAGNOSIS")}, clustered=True, ends=PERCENT)
    counts = {"dialogues": len(coverage["AVG_TURN"]), "asked": asked}
    return {"doctor": doctor, "round": turn, **counts, **measured(found), **spread}


def rounds_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return coverage and diagnosis up to each round (AIE, Figure 6d)."""
    columns = [
        *key_columns("doctor", "round"),
        Column("dialogues", "Dialogues"),
        Column("COVERAGE", "Coverage", mean=True, ends=PERCENT),
        *(Column(name, name.capitalize(), "Coverage") for name in ("q1", "median", "q3")),
        Column("DIAGNOSIS", "Diagnosis", mean=True, ends=PERCENT),
        Column("asked", "Asked"),
    ]
    notes = ["A dialogue that has ended keeps its last values; only dialogues that continue are asked again."]
    title, pictures = "Coverage and diagnosis by round (AIE, Figure 6d)", {"aie-figure-6d": figures.draw_rounds}
    return Table("aie-figure-6d", title, columns, rows, notes, pictures=pictures)


def _doctors(runs: Sequence[RecordedRun]) -> dict[str, list[AieTranscript]]:
    fitting = [run for run in runs if run.suite.name == "aie" and run.scored]
    if not fitting:
        raise DoesNotFitError("no run with dialogues was scored by suite aie")
    return {run.name: read_transcripts(run.path, "aie").records for run in fitting}


def formats_table(
    formats: Mapping[str, tuple[Sequence[Sample], Sequence[Sample]]], of_case: Mapping[str, str], subsets: Sequence[str]
) -> Table:
    """Return each doctor's right diagnoses from the whole record and from the dialogue (Figure 6b).

    ``formats`` has both, by doctor, each value 100 or 0; ``of_case`` gives the examination that a case is from,
    empty for a hospital's case. The rows of a doctor are the examinations and all of them.
    """
    rows: list[dict[str, Any]] = []
    found_p: dict[tuple[str, str | None], float | None] = {}
    for (doctor, values_by_format), subset in product(formats.items(), (*subsets, None)):
        asked, dialogue_values = (
            [one for one in values if subset in (None, of_case[one.case])] for values in values_by_format
        )
        found = estimates({"mcq": asked, "talked": dialogue_values}, clustered=True, ends=PERCENT)
        paired = paired_difference(by_case(asked), by_case(dialogue_values))
        found_p[doctor, subset] = paired.permutation_p
        differs = {**measured({"difference": paired.difference}), "difference_p": None}
        examination = "all" if subset is None else subset or "no examination"
        row = {"doctor": doctor, "examination": examination, **measured(found), **differs}
        rows.append({**row, "n": paired.difference.n})
    of_all, of_each = ({key: p for key, p in found_p.items() if (key[1] is None) is whole} for whole in (True, False))
    for row, p in zip(rows, ({**holm(of_all), **holm(of_each)}[key] for key in found_p), strict=True):
        row["difference_p"] = p
    columns = [
        *key_columns(*["doctor"] * (len(formats) > 1), "examination"),
        *alike({"mcq": "Multiple choice", "talked": "Interactive"}, mean=True, ends=PERCENT),
        Column("difference", "Difference", form="+.2f", mean=True),
        Column("n", "Cases"),
    ]
    notes = [
        "Percent of right diagnoses. Difference: multiple choice minus interactive, over the cases that have both.",
        "*, **: p < 0.05, p < 0.01 (paired permutation test of the cases' means, Holm-corrected over the examinations "
        "of all doctors; the rows of all examinations are corrected among themselves).",
    ]
    name, title = "aie-figure-6b", "Right diagnoses in both formats, by examination (AIE, Figure 6b)"
    return Table(name, title, columns, rows, notes, pictures={name: figures.draw_formats})


def _cell(mean: float | None, se: float | None, marked: str = "") -> str | None:
    if mean is None:
        return None
    return (f"{mean:.2f}" if se is None else f"{mean:.2f} ± {se:.2f}") + marked
