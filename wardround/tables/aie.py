"""AIE's tables of doctors: Tables 2 and 3 beside the printed cells, actions and coverage by round (Figures 6c, 6d)."""

from collections.abc import Mapping, Sequence
from typing import Any

from cases.vocabulary import Language
from scoring.aie.action_tables import action_shares
from scoring.aie.metrics import METRICS, data_set_language, score_aie
from scoring.aie.transcripts import ACTIONS, AieTranscript
from scoring.metrics.comparison import holm, paired_difference
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, by_case, estimates
from scoring.metrics.statistics import Estimate
from wardround.analysis.published import published
from wardround.analysis.simulator_tests import tests_of_run
from wardround.analysis.transcripts import read_transcripts
from wardround.commands.printing import counted
from wardround.store.recorded_run import RecordedRun
from wardround.tables.figures import draw_actions, draw_formats, draw_rounds
from wardround.tables.simulators import simulators_table
from wardround.tables.table import Column, DoesNotFitError, Table, measured, stars

_LENGTHS = ("AVG_TURN", "AVG_LEN")
UNCHOSEN = "DIAGNOSIS: no option was chosen; use `wardround score aie RUNS --diagnose SPEC` to have a model choose."
STARS = (
    "*, **: differs from {} with p < 0.05, p < 0.01 (paired permutation test over cases, Holm-corrected over all "
    "columns)."
)
_DENOMINATOR_NOTES = {"sound": "; ACC and SPECIFIC over those with such an action", "paper": ""}
Doctors = Mapping[str, Sequence[AieTranscript]]


def build_paper(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Table 2 or 3, with one column per run."""
    doctors = _doctors(runs)
    scores = {name: score_aie(records) for name, records in doctors.items()}
    if not any(one.diagnosis for records in doctors.values() for one in records):
        scores = {name: {**samples, "DIAGNOSIS": []} for name, samples in scores.items()}
    return [paper_table(scores, language_of_all(doctors))]


def build_actions(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Figure 6c."""
    return [actions_table(_doctors(runs))]


def build_simulators(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Figure 3a for the patients in the runs' dialogues; the rules find the actions in the doctor's words."""
    played = {run.name: tests for run in runs if (tests := tests_of_run(run))}
    return [simulators_table(played, "sound", beside=True)] if played else []


def paper_table(scores: Mapping[str, Samples], language: Language, definition: Definition = "sound") -> Table:
    """Return the ten metrics as AIE prints them, a row per metric and a column per doctor, and the printed cells.

    DIAGNOSIS is empty if nobody chose an option. Chinese records are compared with Table 2 (HospitalCases), English
    ones with Table 3.
    """
    printed = published("aie")
    table = [key for key in printed if key.startswith("Table")][language == "en"]
    found = {
        doctor: estimates(samples, clustered=definition == "sound", ends=PERCENT, neither=_LENGTHS)
        for doctor, samples in scores.items()
    }
    p_values = _p_values(scores)
    rows = []
    for metric in METRICS:
        row: dict[str, Any] = {"metric": metric}
        for doctor, metrics in found.items():
            one, p = metrics.get(metric, Estimate(n=0)), p_values.get((doctor, metric))
            parts = {"mean": one.mean, "se": one.se, "n": one.n, "p": p}
            row |= {doctor: _cell(one.mean, one.se, stars(p)), **{f"{doctor} {part}": parts[part] for part in parts}}
        for name, (mean, se) in zip(printed["doctors"], printed[table][metric], strict=True):
            row |= {f"[{name}]": _cell(mean, se), f"[{name}] mean": mean, f"[{name}] se": se}
        rows.append(row)
    number, cases = table.removeprefix("Table ").split(", ")
    columns = [
        Column("metric", "Metric", key=True),
        *(Column(doctor, doctor, f"Ours, {definition}") for doctor in scores),
        *(Column(f"[{name}]", name, f"AIE, Table {number}") for name in printed["doctors"]),
    ]
    notes = [
        "Mean ± standard error; percent, except turns and length. Over "
        f"{_cases(scores)}{_DENOMINATOR_NOTES[definition]}.",
        f"AIE, Table {number}: printed values of the paper's doctors on {cases}.",
        *([] if any(metrics["DIAGNOSIS"].n for metrics in found.values() if "DIAGNOSIS" in metrics) else [UNCHOSEN]),
        *([STARS.format(next(iter(scores)))] if len(scores) > 1 else []),
    ]
    return Table(f"aie-table-{number}", f"Doctors in dialogue (AIE, Table {number})", columns, rows, notes)


def _cases(scores: Mapping[str, Samples]) -> str:
    """Describe how many cases each doctor's column covers."""
    cases = {doctor: len(by_case(samples["AVG_TURN"])) for doctor, samples in scores.items()}
    if len({*cases.values()}) == 1:
        return counted(next(iter(cases.values())), "case")
    return ", ".join(f"{counted(n, 'case')} ({doctor})" for doctor, n in cases.items())


def _p_values(scores: Mapping[str, Samples]) -> dict[tuple[str, str], float | None]:
    """Return the p value of each doctor's metric against the first doctor's: paired by case, Holm over all of them."""
    cases = {
        doctor: {name: by_case(samples_of_metric) for name, samples_of_metric in samples.items()}
        for doctor, samples in scores.items()
    }
    (_, first), *others = cases.items()
    return holm(
        {
            (doctor, metric): paired_difference(values, first[metric]).permutation_p
            for doctor, samples in others
            for metric, values in samples.items()
        }
    )


def actions_table(doctors: Doctors) -> Table:
    """Return the share of each action at each turn, by doctor (AIE, Figure 6c)."""
    rows: list[dict[str, Any]] = []
    for doctor, transcripts in doctors.items():
        for one in action_shares(transcripts):
            shares = {code: one.shares.get(code, 0.0) for code in ACTIONS}
            rows.append({"run": doctor, "turn": one.turn, "dialogues": one.dialogues, **shares})
    columns = [
        Column("run", "Doctor", key=True),
        Column("turn", "Turn", key=True),
        Column("dialogues", "Dialogues"),
        *(
            Column(code, f"{code} {action}", form=".3f")
            for code, action in ACTIONS.items()
            if any(row[code] for row in rows)
        ),
    ]
    title, pictures = "Share of actions by turn (AIE, Figure 6c)", {"aie-figure-6c": draw_actions}
    return Table("aie-figure-6c", title, columns, rows, pictures=pictures)


def rounds_row(doctor: str, turn: int, coverage: Samples, asked: int) -> dict[str, Any]:
    """Return the row of a doctor's dialogues up to a round: coverage, quartiles, and the share of right diagnoses."""
    from statistics import quantiles

    values = sorted(value for _, value in coverage["COVERAGE"])
    cuts = quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    spread = dict(zip(("lowest", "q1", "median", "q3", "highest"), (values[0], *cuts, values[-1]), strict=True))
    found = estimates({name: coverage[name] for name in ("COVERAGE", "DIAGNOSIS")}, clustered=True, ends=PERCENT)
    return {"doctor": doctor, "round": turn, "dialogues": len(values), "asked": asked, **measured(found), **spread}


def rounds_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return coverage and diagnosis up to each round (AIE, Figure 6d)."""
    columns = [
        Column("doctor", "Doctor", key=True),
        Column("round", "Round", key=True),
        Column("dialogues", "Dialogues"),
        Column("COVERAGE", "Coverage", mean=True, ends=PERCENT),
        *(Column(name, name.capitalize(), "Coverage") for name in ("q1", "median", "q3")),
        Column("DIAGNOSIS", "Diagnosis", mean=True, ends=PERCENT),
        Column("asked", "Asked"),
    ]
    notes = ["A dialogue that has ended keeps its last values; only dialogues that continue are asked again."]
    title, pictures = "Coverage and diagnosis by round (AIE, Figure 6d)", {"aie-figure-6d": draw_rounds}
    return Table("aie-figure-6d", title, columns, rows, notes, pictures=pictures)


def _doctors(runs: Sequence[RecordedRun]) -> dict[str, list[AieTranscript]]:
    fitting = [run for run in runs if run.suite.name == "aie" and run.scored]
    if not fitting:
        raise DoesNotFitError("no run with dialogues was scored by suite aie")
    return {run.name: read_transcripts(run.path, "aie").records for run in fitting}


def formats_table(
    mcq: Sequence[Sample], interactive: Sequence[Sample], of_case: Mapping[str, str], subsets: Sequence[str]
) -> Table:
    """Return the right diagnoses from the whole record and from the dialogue, by examination and in total (Figure 6b).

    Each value is 100 or 0; ``of_case`` gives the examination that a case is from.
    """
    rows: list[dict[str, Any]] = []
    for subset in (*subsets, None):
        asked, dialogue_values = (
            [one for one in values if subset in (None, of_case[one.case])] for values in (mcq, interactive)
        )
        found = estimates({"mcq": asked, "talked": dialogue_values}, clustered=True, ends=PERCENT)
        paired = paired_difference(by_case(asked), by_case(dialogue_values))
        differs = measured({"difference": paired.difference}, p={"difference": paired.permutation_p})
        rows.append({"examination": subset or "all", **measured(found), **differs, "n": paired.difference.n})
    columns = [
        Column("examination", "Examination", key=True),
        Column("mcq", "Multiple choice", mean=True, ends=PERCENT),
        Column("talked", "Interactive", mean=True, ends=PERCENT),
        Column("difference", "Difference", form="+.2f", mean=True),
        Column("n", "Cases"),
    ]
    note = "Percent of right diagnoses. Difference: multiple choice minus interactive, over the cases that have both."
    name, title = "aie-figure-6b", "Right diagnoses in both formats, by examination (AIE, Figure 6b)"
    return Table(name, title, columns, rows, [note], pictures={name: draw_formats})


def language_of_all(doctors: Doctors) -> Language:
    """Return the language of the records, which distinguishes HospitalCases (Chinese) from MedicalExam."""
    return data_set_language(one for transcripts in doctors.values() for one in transcripts)


def _cell(mean: float | None, se: float | None, marked: str = "") -> str | None:
    if mean is None:
        return None
    return (f"{mean:.2f}" if se is None else f"{mean:.2f} ± {se:.2f}") + marked
