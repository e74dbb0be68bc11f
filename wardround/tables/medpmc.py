"""Med-PMC's tables: doctors (Tables 2 and 3), information by round (Figure 4) and personas (section 3.2.3, Table 5)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cases import Case
from nodes.context import Context
from nodes.patients.medpmc.actor import actor
from nodes.patients.medpmc.personas import Persona, drawn, profession_of
from nodes.state.chart import Turn
from nodes.workflow.admission import in_played_sex
from scoring.medpmc.information import Gathered, Shares, curves
from scoring.metrics.correlation import spearman
from scoring.metrics.samples import PERCENT, case_of, over_cases
from scoring.metrics.statistics import Estimate
from scoring.metrics.text_overlap import words
from wardround.analysis.notes import FAILED_AS_WRONG, average_notes
from wardround.analysis.summary import estimate_scores
from wardround.analysis.transcripts import read_transcripts
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result
from wardround.tables.figures import draw_information
from wardround.tables.published import published
from wardround.tables.scores import means_of, score_form, unscored_notes
from wardround.tables.table import IN_WORDS, Column, Table, alike, key_columns, measured

COLUMNS = {  # as printed
    "Inquiry": ("Inquiry", "Information gathering"),
    "Examination": ("Exam.", "Information gathering"),
    "MMA": ("MMA", "Information gathering"),
    "Avg. (gathering)": ("Avg.", "Information gathering"),
    "Diagnosis": ("Diagn.", "Decision-making"),
    "Treatment": ("Treat.", "Decision-making"),
    "Avg. (decision)": ("Avg.", "Decision-making"),
    "Lens": ("Lens", ""),
    "Turns": ("Turns", ""),
}
MODES = {"direct": "direct prompt", "zero_shot_cot": "zero-shot CoT", "one_shot_cot": "one-shot CoT"}
_NOTES = (
    f"Percent, except Lens (per turn: {IN_WORDS}) and Turns.",
    "In brackets: printed values of the paper's doctors on its 30 cases (Tables 2 and 3: RaTEScore, Table 8: ROUGE-1, "
    "but ROUGE-L for Diagnosis, and MMA read in the next turn alone). Ours: ROUGE-1 throughout, by the sound "
    "definitions; to compute them as Table 8's, use `wardround score medpmc RUN --mode paper`. For RaTEScore, use "
    "`wardround score medpmc RUN --recall ratescore`.",
)


def build_doctors(runs: Sequence[RecordedRun]) -> list[Table]:
    """Build Table 2 for runs with the standard patient, Table 3 for those with an actor: by mode, a row per run."""
    by_actor: dict[bool, list[RecordedRun]] = {False: [], True: []}
    for run in runs:
        if run.suite.name == "medpmc" and run.scored:
            context = run.experiment.context
            by_actor[context.patient == "medpmc" and context.actor].append(run)
    return [_doctors_table(actor, fitting) for actor, fitting in by_actor.items() if fitting]


def _doctors_table(actor: bool, runs: Sequence[RecordedRun]) -> Table:
    rows: list[dict[str, Any]] = []
    printed_rows: list[int] = []
    for mode, title in MODES.items():
        ours = [run for run in runs if run.experiment.context.doctor_mode == mode]
        rows += [_doctor_row(title, name, "ours", means) for run in ours for name, means in means_of(run)]
        for printed in published("medpmc")["beside"] if ours else ():
            if (printed["actor"], printed["mode"]) == (actor, mode):
                for doctor, cells in printed["doctors"].items():
                    printed_rows.append(len(rows))
                    means = {name: Estimate(n=0, mean=value) for name, value in zip(COLUMNS, cells, strict=False)}
                    rows.append(
                        _doctor_row(title, f"[{doctor}]", f"Table {printed['table']}, {printed['recall']}", means)
                    )
    columns = [
        *key_columns("mode", "by", "doctor"),
        *(Column(name, title, group, mean=True) for name, (title, group) in COLUMNS.items()),
    ]
    number, patient = (3, "an actor") if actor else (2, "the standard patient")
    suite = runs[0].suite
    notes = [
        *_NOTES,
        *([FAILED_AS_WRONG] if any(run.failed_as_wrong for run in runs) else []),
        *unscored_notes(runs, suite),
        *average_notes(suite, [{name: found.n for name, found in run.estimates.items()} for run in runs]),
    ]
    title = f"Doctors with {patient} (Med-PMC, Table {number})"
    return Table(f"medpmc-table-{number}", title, columns, rows, notes, beside=printed_rows)


def _doctor_row(mode: str, doctor: str, by: str, means: dict[str, Estimate]) -> dict[str, Any]:
    found = measured({name: means.get(name, Estimate(n=0)) for name in COLUMNS})
    return {"mode": mode, "by": by, "doctor": doctor, **found}


INFORMATION = {"general": "General", "examination": "Examination", "image": "Images"}
assert tuple(INFORMATION) == Gathered._fields[1:]
_INFO, _GATHERED = "Info", "Avg. (gathering)"


def build_information(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate the share of each kind of information known after each round, a row per run and round.

    All runs have as many rounds as the longest dialogue: a finished one keeps its last values.
    """
    found: dict[str, dict[str, list[Shares]]] = {}
    for run in runs:
        if any(result.scored for result, _ in run.each_dialogue()):
            found[run.name] = dict(curves(read_transcripts(run.path, "medpmc").records))
    longest = max((len(curve) for curves_by_case in found.values() for curve in curves_by_case.values()), default=0)
    rows: list[dict[str, Any]] = []
    for name, curves_by_case in found.items():
        cases = [case_of(case) for case in curves_by_case]
        for round_index in range(longest if curves_by_case else 0):
            shares = [curve[min(round_index, len(curve) - 1)] for curve in curves_by_case.values()]
            kinds = dict(zip(INFORMATION, zip(*shares, strict=True), strict=True))
            means = {kind: over_cases(zip(cases, values, strict=True), (0.0, 1.0)) for kind, values in kinds.items()}
            rows.append({"run": name, "round": round_index + 1, **measured(means)})
    columns = [
        *key_columns("run"),
        Column("round", "Round"),
        *alike(INFORMATION, form=".3f", mean=True, ends=(0.0, 1.0)),
    ]
    notes = [
        "Share of the information known after each round: ROUGE-1 recall of the record in everything told so far; for "
        "images, the share handed over (no value if no case has a picture that may be handed over). A consultation "
        "that has ended keeps its last values; the paper averages only over consultations that continue.",
        *_correlation_note(runs),
    ]
    title, pictures = "Information gathered by round", {"information": draw_information}
    return [Table("information", title, columns, rows, notes, "Information by round.", pictures=pictures)]


def _correlation_note(runs: Sequence[RecordedRun]) -> list[str]:
    """Describe the correlation, over runs, between what a reply tells and what is gathered in the end (Figure 4b)."""
    pairs = [
        (run.estimates[_INFO].mean, run.estimates[_GATHERED].mean)
        for run in runs
        if {_INFO, _GATHERED} <= run.estimates.keys()
    ]
    known = [(info, gathered) for info, gathered in pairs if info is not None and gathered is not None]
    found = spearman(known)
    if found.rho is None:
        return []
    return [f"Correlation of Info with the average of gathering over {found.n} runs: Spearman's rho {found.rho:.2f}."]


def build_personas(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate each persona that an actor played in a run."""
    return [_personas_of(run, len(runs) > 1) for run in runs]


def persona_of_case(case: Case, context: Context, epoch: int) -> Persona:
    """Return the persona of a case's patient in an epoch; each epoch has its own seed."""
    seeded = context.in_epoch(epoch)
    profession = context.patient_profession
    if profession == "drawn":
        profession = drawn(case.id, seeded.seed).profession
    elif profession == "record":
        profession = profession_of(case.patient.occupation, case.language)
    return Persona(sex=in_played_sex(case, seeded).patient.sex, profession=profession)


def _personas_of(run: RecordedRun, in_title: bool) -> Table:
    context, suite = run.experiment.context, run.suite
    played: dict[tuple[str, str], list[tuple[Result, list[tuple[str, Turn]]]]] = defaultdict(list)
    for result, answers in run.each_dialogue():
        if acted_turns := [(result.case_id, turn) for turn in answers.dialogue if turn.plain]:
            persona = persona_of_case(run.case_of(*result.key), context, result.epoch)
            played[persona.profession, persona.sex or "sex not recorded"].append((result, acted_turns))
    rows: list[dict[str, Any]] = []
    for (profession, sex), dialogues in sorted(played.items(), key=lambda one: one[0]):
        turns = [turn for _, acted_turns in dialogues for turn in acted_turns]
        ratios = [(case, len(words(turn.text)) / max(1, len(words(turn.plain)))) for case, turn in turns]
        unchanged = [(case, 100.0 * (turn.text == turn.plain)) for case, turn in turns]
        refused = [
            (result.case_id, 100.0 * (call.error is not None))
            for result, _ in dialogues
            for call in run.trace(result).calls
            if call.role == actor.name
        ]
        means = {"ratio": over_cases(ratios)}
        means |= {"plain": over_cases(unchanged, PERCENT), "refused": over_cases(refused, PERCENT)}
        means |= estimate_scores([result for result, _ in dialogues], suite)
        counts = {"dialogues": len(dialogues), "replies": len(turns)}
        rows.append({"persona": f"{profession.replace('_', ' ')}, {sex}", **counts, **measured(means)})
    columns = [
        Column("persona", "Persona", key=True),
        *alike({"dialogues": "Dialogues", "replies": "Replies"}),
        *alike({"ratio": "Length", "plain": "Left plain", "refused": "Refused"}, mean=True),
        *alike(suite.titles, form=score_form(suite), mean=True),
    ]
    notes = [
        "Length: words of the reply divided by words before rephrasing, mean over replies. Left plain: percent of "
        "replies said without rephrasing, because the rewriting was refused or changed nothing. Refused: percent of "
        "replies of which no rewriting could be taken (facts, length, or none in the form that was asked for)."
    ]
    title = f"Personas: {run.name}" if in_title else "Personas"
    name = f"personas-{run.name.replace('/', '-')}" if in_title else "personas"
    return Table(name, title, columns, rows, notes)
