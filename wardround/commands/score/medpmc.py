"""``wardround score medpmc``: score consultations by Med-PMC's recalls and judgements."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from cases.grouping import grouped
from cases.text.words import language_of
from llm import Role
from scoring.asking import ask_each
from scoring.medpmc.information import information_by_round
from scoring.medpmc.judges import consultation_judge, patient_judge, persona_judge, view, with_images_only
from scoring.medpmc.metrics import AVERAGES, SUPPORT, EntityRule, Window, score_medpmc, support
from scoring.medpmc.suite import suite
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.recall import RecallName
from scoring.metrics.samples import PERCENT, Sample, Samples, case_of, estimates, known, mean, of_epoch
from scoring.metrics.statistics import Ends, Estimate, estimate_columns
from scoring.panel import Verdict, agreement, ask_panel
from wardround.commands.exit_codes import refuse
from wardround.commands.score.compared import by_file, cell, correlated
from wardround.commands.score.output import ExtraTable, ModeOption, Scores, as_wrong_table, asked_of_rules, of_each
from wardround.commands.score.rescored import KeysOption, scores_of_run
from wardround.commands.score.transcripts import (
    Against,
    HumanScores,
    Scored,
    Transcripts,
    checked_models,
    counts,
    each_doctor,
    failed_against,
    failed_results,
    judgements_of,
    read_played,
)
from wardround.run.own_loop import run_alone
from wardround.store.manifest import is_run
from wardround.store.recorded_run import RecordedRun
from wardround.tables.scores import AS_WRONG, failed_notes

Judged = Literal["consultation", "patient", "persona"]
_JUDGES: Mapping[Judged, tuple[Role[Any], Ends]] = {  # with the lowest and highest score
    "consultation": (consultation_judge, (1.0, 5.0)),
    "patient": (patient_judge, (0.0, 2.0)),
    "persona": (persona_judge, (0.0, 5.0)),
}
Verdicts = Sequence[tuple[MedPmcTranscript, Verdict[Any]]]
_OF_IMAGES = "Judge: multimodal_analysis"
Lost = tuple[str, Collection[str]]  # a case that has no values, and the columns in which it does not count
RecallOption = Annotated[
    RecallName, Option(help="Measure of recall; bertscore and ratescore need models from the Hugging Face Hub.")
]


def medpmc(
    transcripts: Transcripts,
    recall: RecallOption = "rouge1",
    mode: ModeOption = "sound",
    entities: Annotated[
        EntityRule, Option(help="Find the entities of the Examination column by rules or with spaCy.")
    ] = "rules",
    model: Annotated[
        str | None,
        Option(help="Embedding for rate_style, model for bertscore, or folder with both models for ratescore."),
    ] = None,
    mma: Annotated[
        Window,
        Option(
            help="Where MMA looks for picture reports: in everything after a picture (all), or only in the next turn."
        ),
    ] = "all",
    judge: Annotated[
        list[str] | None,
        Option(metavar="SPEC", help="Also have this model, or 'offline' rules, judge; repeat for a panel of judges."),
    ] = None,
    judged: Annotated[
        Judged, Option(help="What --judge judges: the consultation, the patient or the persona.")
    ] = "consultation",
    against: Against = None,
    human: HumanScores = None,
    cases: KeysOption = None,
) -> Scores:
    """Score consultations by the columns of Med-PMC.

    Scores are in percent, except Lens and Turns. Paper mode reproduces Table 8 (rouge1) and Table 9 (rougeL). Also
    printed: the information gathered, by kind and round.
    """
    if mma != "all" and mode == "paper":
        refuse("--mma: paper mode uses the windows of Tables 8 and 9; leave --mma out, or use --mode sound")
    if model and recall in ("rouge1", "rougeL"):
        refuse(f"--model {model}: {recall} needs none; add --recall rate_style, bertscore or ratescore")
    if judged != "consultation" and not judge:
        refuse(f"--judged {judged}: nobody would be asked; add --judge SPEC")
    options = transcripts[1:] or against or human or judge or (recall, entities, mma) != ("rouge1", "rules", "all")
    if is_run(transcripts[0]) and mode == "sound" and not options:
        found = scores_of_run(transcripts[0], "medpmc", mode, cases=cases)
        return replace(found, how={"recall": recall, "entities": entities})
    if cases:
        refuse(f"--cases {cases}: scores one run alone, in sound mode and without other options; leave them out")
    path_of, runs = each_doctor(transcripts)

    def scored(paths: Sequence[Path]) -> Scored[MedPmcTranscript]:
        files = read_played(paths, "medpmc")
        parts = [score_medpmc(cases, recall, mode, find=entities, model=model, window=mma) for cases in files]
        if mode == "sound":
            parts = [
                {**part, SUPPORT: known(((case.case, support(case)) for case in cases), 100)}
                for part, cases in zip(parts, files, strict=True)
            ]
        return Scored(files, parts)

    own = scored([*path_of.values()])
    people = judgements_of(human, own.files)
    played, samples = own.dialogues, own.samples
    tables: list[ExtraTable] = []
    notes = [*failed_notes(runs), *failed_against(against)]
    if against:
        tables.append(own.minus(scored(against), notes))
    if mode == "sound":
        notes.append(
            "Support is our addition: the share of the report that the case supports. A recall alone rewards length."
        )
    role, ends = _JUDGES[judged]
    judged_columns = {f"Judge: {aspect}": aspect for aspect in role.answer.model_fields}
    verdicts = _judge(played, judge, role) if judge else []
    if judge:
        for column, aspect in judged_columns.items():
            samples[column] = known((case.case, verdict.mean(aspect)) for case, verdict in verdicts)
        tables += _each_judge(role, [verdict for _, verdict in verdicts])
        notes += [*_not_judged(played, verdicts), *asked_of_rules(*(("--judge", spec) for spec in judge))]
    if human:
        tables.append(correlated(samples, people))
    estimate_all = partial(_columns, judged=dict.fromkeys(judged_columns, ends), clustered=mode == "sound")
    parts = dict(zip(path_of, own.parts, strict=True))
    metrics, files = estimate_all(samples), of_each(parts, estimate_all)
    run_of = {run.path: run for run in runs if mode == "sound"}
    lost = {name: _failed(run_of[path]) for name, path in path_of.items() if path in run_of}
    unjudged = [(case.case, suite.published) for case, verdict in verdicts if mode == "sound" and not verdict.answers]
    worst = {name: PERCENT[0] for name in suite.published if name not in suite.neither}
    bounds = partial(_bounds, worst=worst | dict.fromkeys(judged_columns, ends[0]), estimated=estimate_all)
    as_wrong = bounds(samples, [*chain.from_iterable(lost.values()), *unjudged])
    of_files = {name: bound for name in files if (bound := bounds(parts[name], lost.get(name, ())))}
    bound_rows = {f"{name}{AS_WRONG}": bound for name, bound in of_files.items()}
    tables = [*by_file(files | bound_rows), *as_wrong_table(as_wrong), *tables]
    if mode == "paper":
        tables.insert(0, _as_printed(metrics))
    tables += _rounds(dict(zip(path_of.values(), own.files, strict=True)))
    notes += _unscored(played, metrics, judged_columns)
    if entities == "rules":
        notes.append("Examination counts entities found by rules; the paper uses spaCy's (--entities spacy).")
    n, more = counts([one.case for one in played])
    choices = {"recall": recall, **({"model": model} if model else {}), "entities": entities}
    choices |= {"mma": mma} if mma != "all" else {}
    failed = any(verdict.failures for _, verdict in verdicts)
    return Scores(
        "medpmc", mode, n, metrics, tables, notes, failed, files=files, files_failed_as_wrong=of_files, more=more,
        how=choices,
    )  # fmt: skip


def _columns(samples: Samples, judged: Mapping[str, Ends], *, clustered: bool) -> dict[str, Estimate]:
    """Return the columns in the paper's order, with the averages; ``judged`` are the ends of a judge's scores."""
    ends = {**dict.fromkeys(samples, PERCENT), **judged}
    columns = estimates(samples, clustered=clustered, ends=ends, neither=suite.neither)
    columns |= {name: _average(samples, parts, clustered=clustered) for name, (_, parts) in AVERAGES.items()}
    return {name: columns[name] for name in dict.fromkeys([*suite.titles, *columns]) if name in columns}


def _failed(run: RecordedRun) -> list[Lost]:
    """Return the failed cases of a run, each with the columns for which it has no reference."""
    found: list[Lost] = []
    for result in failed_results(run):
        spared = {*suite.without_reference(run.experiment.to_score(run.case_of(*result.key)))}
        found.append((of_epoch(*result.key), spared | {_OF_IMAGES} if "MMA" in spared else spared))
    return found


def _bounds(
    samples: Samples,
    lost: Sequence[Lost],
    worst: Mapping[str, float],
    estimated: Callable[[Samples], dict[str, Estimate]],
) -> dict[str, Estimate]:
    """Return the columns with the worst value for each lost case where it counts; empty if none was lost."""
    if not lost:
        return {}
    as_wrong = {
        name: [*samples[name], *(Sample(case, value) for case, spared in lost if name not in spared)]
        for name, value in worst.items()
        if samples.get(name)
    }
    return {name: one for name, one in estimated(as_wrong).items() if one.n}


def _judge(cases: Sequence[MedPmcTranscript], judges: Sequence[str], role: Role[Any]) -> Verdicts:
    """Have a panel judge each case; persona judges only see cases in which a persona spoke."""
    for spec in judges:  # each is checked; whoever is asked, ask_panel names the model
        settings = checked_models({role.name: spec})
    views = [(case, language := language_of(case.present_illness, case.report), view(case, language)) for case in cases]

    async def ask_about_case(item: tuple[MedPmcTranscript, Any, Any]) -> Verdict[Any]:
        case, language, seen = item
        verdict = await ask_panel(role, seen, judges, settings, language=language, place=case.case)
        if role is not consultation_judge:
            return verdict
        return replace(verdict, answers={seat: with_images_only(seen, one) for seat, one in verdict.answers.items()})

    judged = [item for item in views if role is not persona_judge or item[2].replies]
    return [(case, verdict) for (case, _, _), verdict in run_alone(ask_each, judged, ask_about_case).answers]


def _not_judged(cases: Sequence[MedPmcTranscript], verdicts: Verdicts) -> Iterator[str]:
    """Yield which cases nobody judged, and where a single judge failed."""
    if not_asked := len(cases) - len(verdicts):
        yield f"{not_asked} of {len(cases)} not judged: no reply was spoken by a persona (no actor was used)."
    for case, verdict in verdicts:
        for seat, reason in verdict.failures.items():
            yield f"Case {case.case}: not judged by {seat}: {reason}"


def _each_judge(role: Role[Any], verdicts: Sequence[Verdict[Any]]) -> Iterator[ExtraTable]:
    """Tabulate each judge's own means, and their agreement; none if nothing was judged."""
    if not verdicts:
        return
    seats = sorted({seat for verdict in verdicts for seat in verdict.answers})
    rows = []
    for aspect in role.answer.model_fields:
        votes = [verdict.votes(aspect) for verdict in verdicts]
        own_means = [mean([float(vote[seat]) for vote in votes if vote.get(seat) is not None]) for seat in seats]
        rows.append([aspect, *map(cell, own_means), *([cell(agreement(verdicts, aspect))] if seats[1:] else [])])
    if seats[1:]:
        yield ExtraTable("Means by judge, and Krippendorff's alpha", ["", *seats, "alpha"], rows)
    else:
        yield ExtraTable("Means by judge", ["", *seats], rows)


def _average(samples: Mapping[str, Sequence[Sample]], columns: Sequence[str], *, clustered: bool) -> Estimate:
    """Return the mean of the columns' means; unscored if one of them is."""
    if not all(samples.get(name) for name in columns):
        return Estimate(n=0)
    values: dict[tuple[str, int], dict[str, float]] = {}  # by dialogue: a case may occur several times
    for name in columns:
        for case, found in grouped(samples[name]).items():
            for index, value in enumerate(found):
                values.setdefault((case, index), {})[name] = value
    rows = {name: [row.get(name) for row in values.values()] for name in columns}
    cases = [case_of(case) for case, _ in values] if clustered else None
    return estimate_columns(rows, cases, dict.fromkeys(columns, PERCENT)).average


def _as_printed(metrics: Mapping[str, Estimate]) -> ExtraTable:
    """Return the row of Tables 8 and 9, where numbers are truncated to two decimals."""
    columns = [name for name in suite.titles if name in metrics and name not in ("Info", *suite.metrics)]
    return ExtraTable(
        "As in the paper, truncated to two decimals", columns, [[_cut(metrics[name].mean) for name in columns]]
    )


def _cut(value: float | None) -> str:
    # Do not lose a hundredth to binary rounding alone.
    return "-" if value is None else f"{math.floor(value * 100 + 1e-9) / 100:.2f}"


def _rounds(files: Mapping[Path, Sequence[MedPmcTranscript]]) -> Iterator[ExtraTable]:
    """Tabulate what is gathered in each file; files share cases."""
    for path, cases in files.items():
        title = "Information gathered by round (ROUGE-1)" + (f", {path.name}" if len(files) > 1 else "")
        rows = [[str(number), *map(cell, shares)] for number, *shares in information_by_round(cases)]
        yield ExtraTable(title, ["round", "general", "examination", "image"], rows)


def _unscored(
    cases: Sequence[MedPmcTranscript], metrics: Mapping[str, Estimate], judged: Collection[str]
) -> Iterator[str]:
    """Yield why a column has no value, or fewer than there are consultations."""
    bare = sum(not case.images for case in cases)
    withheld = sum(case.withheld and bool(case.images) for case in cases)
    why = [f"{bare} without a picture"] * bool(bare) + [f"{withheld} whose pictures are withheld"] * bool(withheld)
    if why:
        yield f"MMA and image are unscored for {' and '.join(why)}, of {len(cases)}; averages need all their columns."
    if empty := [name for name, one in metrics.items() if one.mean is None and name not in {"MMA", *AVERAGES, *judged}]:
        yield f"{', '.join(empty)}: unscored, because a text is missing on one side, or there is no consultation."
