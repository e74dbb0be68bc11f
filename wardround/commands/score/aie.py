"""``wardround score aie``: AIE's doctor metrics, and the same cases as multiple-choice questions."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

from cases.grouping import grouped
from cases.vocabulary import Language
from llm import ModelSettings
from scoring.aie.courses import by_length, utterance_languages
from scoring.aie.mcq import METRIC
from scoring.aie.metrics import DISTINCT_BY_LENGTH, data_set_language, distinct_by_length, score_aie, unanswered
from scoring.aie.suite import suite
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.correlation import spearman_over
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, case_means, case_of, estimates, of_epoch
from scoring.metrics.statistics import Estimate
from wardround.commands.exit_codes import refuse
from wardround.commands.score.choices import (
    OWN,
    FromRecords,
    choosing_each,
    chosen_by,
    diagnosed,
    diagnosed_by_round,
    formats_compared,
    other_options,
    over_chosen,
    percentages,
)
from wardround.commands.score.compared import cell, correlated, interval_cell
from wardround.commands.score.output import (
    DrawnFolder,
    ExtraTable,
    ModeOption,
    Scores,
    as_wrong_table,
    asked_of_rules,
    of_each,
    write_drawn,
)
from wardround.commands.score.transcripts import (
    Against,
    Diagnose,
    HumanScores,
    LeaveOut,
    Scored,
    Transcripts,
    by_either_name,
    counts,
    each_doctor,
    failed_against,
    judgements_of,
    read_played,
    without,
)
from wardround.store.recorded_run import RecordedRun
from wardround.tables.aie import (
    Doctors,
    actions_table,
    failed_as_wrong,
    formats_table,
    paper_table,
    paper_tables,
    record_languages,
)
from wardround.tables.scores import failed_notes, offline_notes
from wardround.tables.table import P_VALUE, Table, as_text

_MIXED = (
    "AVG_LEN mixes words and characters, as there are English and Chinese records; the tables of --out and of several "
    "doctors give each language alone."
)


def coverage_and_diagnosis(parts: Mapping[str, Samples], doctors: Doctors) -> ExtraTable:
    """Correlate coverage with right diagnoses over cases, by doctor (section 2.10); epochs are averaged.

    The choice of each dialogue is written too; None if it chose nothing. A case that occurs again is a later epoch.
    """
    rows = []
    for doctor, samples in parts.items():
        one = spearman_over(*(case_means(samples[name]) for name in ("COVERAGE", "DIAGNOSIS")))
        rows.append([doctor, cell(one.rho), interval_cell(one.ci95), as_text(one.p, P_VALUE), str(one.n)])
    title = "Correlation of coverage and diagnosis over cases (Spearman)"
    chosen = {
        doctor: {
            of_epoch(case, epoch) if epoch else case: letter
            for case, letters in grouped((one.case, one.diagnosis) for one in records).items()
            for epoch, letter in enumerate(letters)
        }
        for doctor, records in doctors.items()
    }
    return ExtraTable(title, ["doctor", "rho", "95 % interval", "p", "n"], rows, {"chosen": chosen})


def aie(
    transcripts: Transcripts,
    mode: ModeOption = "sound",
    language: Annotated[
        Literal["en", "zh"] | None,
        Option(help="Language of the data set for paper mode.", show_default="that of the records"),
    ] = None,
    against: Against = None,
    human: HumanScores = None,
    mcq: Annotated[
        str | None, Option(metavar="SPEC", help="Also have this model answer each case as a multiple-choice question.")
    ] = None,
    diagnose: Diagnose = None,
    each_round: Annotated[
        bool, Option("--each-round", help="With --diagnose: also choose from the dialogue up to each round.")
    ] = False,
    leave_out: LeaveOut = None,
    out: Annotated[
        DrawnFolder, Option(metavar="DIR", help="Write Table 2 or 3 and Figures 6b to 6d to this directory.")
    ] = None,
) -> Scores:
    """Score doctors by the ten metrics of AIE.

    All metrics are in percent, except turns and length. For runs, DIAGNOSIS needs --diagnose; there and for --mcq,
    'doctor' instead of a SPEC has each run's own doctor choose, as in the paper. Also printed: shares of actions by
    turn, coverage and diagnosis by length of the dialogue, and utterances by language. Several files, or the runs of a
    sweep, get a column each, as in the paper's tables.
    """
    if each_round and not diagnose:
        refuse("--each-round: needs a model that chooses; name one with --diagnose")
    if against and diagnose == OWN:
        refuse(f"--diagnose {OWN}: the transcripts of --against have no doctor's model; name a model")
    path_of, runs = each_doctor(transcripts)
    diagnosing, answering = (
        choosing_each(spec, option, path_of, runs) for spec, option in ((diagnose, "--diagnose"), (mcq, "--mcq"))
    )
    notes = [*_not_scored(runs), *failed_against(against)]
    asked = *chosen_by("--diagnose", diagnosing), *chosen_by("--mcq", answering)
    by_rules = [*offline_notes(runs), *asked_of_rules(*asked)]
    played = mcq is None  # a choice from the record needs no dialogue
    ours = read_kept([*path_of.values()], leave_out, played=played)
    theirs = read_kept(against, leave_out, played=played) if against else []
    people = judgements_of(human, ours)

    # Models are asked only from here on, after everything that may be refused.
    own = _scored(ours, mode, language, [*diagnosing.values()], notes)
    same = [*diagnosing.values()][:1] * len(theirs)
    difference = [own.minus(_scored(theirs, mode, language, same, notes), notes)] if against else []
    dialogues, samples = own.dialogues, own.samples
    by_doctor = dict(zip(path_of, own.files, strict=True))
    samples_by_doctor = dict(zip(path_of, own.parts, strict=True))
    rounds = [diagnosed_by_round(by_doctor, diagnosing, mode)] if each_round and diagnosing else []
    answers, from_records = _from_records(by_doctor, answering, each_its_own=mcq == OWN)
    notes += [*by_rules, *from_records.notes, *(other_options(by_doctor) if diagnosing else ())]

    estimate_all = partial(estimates, clustered=mode == "sound", ends=PERCENT, neither=suite.neither)
    metrics, files = estimate_all(samples), of_each(samples_by_doctor, estimate_all)
    answered: dict[str, Estimate] = {}
    if answering:
        metrics |= percentages({METRIC: from_records.samples})
    if from_records.incomplete:
        answered |= percentages({METRIC: from_records.answered})
    if "DIAGNOSIS" in samples:
        answered |= over_chosen(own, mode, notes)
    failed = bool(diagnosing and unanswered(dialogues)) or from_records.incomplete

    tables = [*_by_length_and_language(dialogues, mode), *difference]
    if human:
        tables.append(correlated(samples, people))
    if "DIAGNOSIS" in samples:
        tables.append(coverage_and_diagnosis(samples_by_doctor, by_doctor))
    if mode == "sound":
        tables.append(_distinct_by_length_table(dialogues))
    if answering and "DIAGNOSIS" in samples:
        tables.append(formats_compared(from_records.samples, samples["DIAGNOSIS"]))

    bounds = _bounds(path_of, runs, samples_by_doctor)
    as_wrong = {name: estimate_all(bound) for name, bound in bounds.items()}
    if language or mode == "paper":
        papers = [paper_table(samples_by_doctor, language or data_set_language(dialogues), mode, bounds)]
    else:
        papers = paper_tables(samples_by_doctor, record_languages(by_doctor, runs), bounds)
        notes += [_MIXED] * (len(papers) > 1)
    drawn = [*papers]
    if (actions := actions_table(by_doctor)).rows:  # not if only records were asked and no dialogue was played
        drawn.append(actions)
    drawn += rounds
    if answering and "DIAGNOSIS" in samples:
        drawn += _formats(by_doctor, answers, samples_by_doctor)
    write = partial(write_drawn, drawn, out, by_rules)
    if len(path_of) == 1:  # what the paper's table would show is in the list, and in one of failed cases as wrong
        tables = [*(each for bound in as_wrong.values() for each in as_wrong_table(bound)), *tables]
        drawn, as_wrong = drawn[len(papers) :], {}
    n, more = counts([one.case for one in dialogues])
    chosen = {name: answers[name].chosen_in({case_of(one.case) for one in by_doctor[name]}) for name in answering}
    return Scores(
        "aie",
        mode,
        n,
        metrics,
        tables,
        notes,
        failed,
        answered,
        drawn,
        files,
        as_wrong,
        more=more,
        write=write,
        mcq_chosen=chosen,
    )


def _scored(
    files: list[list[AieTranscript]],
    mode: Definition,
    language: Language | None,
    diagnosing: Sequence[ModelSettings],
    notes: list[str],
) -> Scored[AieTranscript]:
    """Score the dialogues of each file, whose diagnoses a model may choose first; without any there is no DIAGNOSIS."""
    if diagnosing:
        files = [diagnosed(records, one, notes) for records, one in zip(files, diagnosing, strict=True)]
    parts = [score_aie(records, mode, language) for records in files]
    if not diagnosing and not any(record.diagnosis for records in files for record in records):
        parts = [{name: values for name, values in part.items() if name != "DIAGNOSIS"} for part in parts]
    return Scored(files, parts)


def _from_records(
    doctors: Doctors, answering: Mapping[str, ModelSettings], *, each_its_own: bool
) -> tuple[dict[str, FromRecords], FromRecords]:
    """Have the cases answered as multiple-choice questions, by each doctor's own model or once for all by one model.

    Returns:
        The answers of each doctor, and all of them.
    """
    if each_its_own:
        answers = {name: FromRecords.asked(doctors[name], settings) for name, settings in answering.items()}
        return answers, FromRecords.joined([*answers.values()])
    dialogues = [one for records in doctors.values() for one in records]
    settings = next(iter(answering.values()), None)
    of_all = FromRecords.asked(dialogues, settings) if settings else FromRecords()
    return dict.fromkeys(doctors, of_all), of_all


def _formats(doctors: Doctors, answers: Mapping[str, FromRecords], samples: Mapping[str, Samples]) -> list[Table]:
    """Return Figure 6b if the cases are from several examinations, as those of MedicalExam; otherwise nothing."""
    dialogues = [one for records in doctors.values() for one in records]
    subset_of = {name: one.dataset or "" for one in dialogues for name in (one.case, case_of(one.case))}
    subsets = list(dict.fromkeys(subset_of.values()))
    if len(subsets) < 2:
        return []
    formats = {
        name: (answers[name].of({case_of(one.case) for one in records}), samples[name]["DIAGNOSIS"])
        for name, records in doctors.items()
    }
    return [formats_table(formats, subset_of, subsets)]


def _bounds(
    doctors: Mapping[str, Path], runs: Sequence[RecordedRun], samples: Mapping[str, Samples]
) -> dict[str, dict[str, list[Sample]]]:
    """Return the values of each doctor whose run has failed cases, with these counted as wrong."""
    run_of = {run.path: run for run in runs}
    found = {name: failed_as_wrong(run_of[path], samples[name]) for name, path in doctors.items() if path in run_of}
    return {name: bound for name, bound in found.items() if bound}


def read_kept(
    paths: Sequence[Path], leave_out: Sequence[str] | None, *, played: bool = True
) -> list[list[AieTranscript]]:
    """Read the dialogues of each file or run without the cases left out, which may be named by either name."""
    read = read_played(paths, "aie", played=played)
    return without(read, leave_out, lambda one: one.case, by_either_name(read))


def _not_scored(runs: Sequence[RecordedRun]) -> list[str]:
    """Note how many cases of each run failed; exits if a run's patient tracks no actions."""
    if untracked := [run.path for run in runs if not run.experiment.tracks_actions]:
        refuse(
            f"{untracked[0]}: these metrics need tracked actions, but its patient tracks none; run it again with "
            "patient = 'saps'"
        )
    return failed_notes(runs)


def _distinct_by_length_table(transcripts: list[AieTranscript]) -> ExtraTable:
    found = percentages({DISTINCT_BY_LENGTH: distinct_by_length(transcripts)})[DISTINCT_BY_LENGTH]
    row = [DISTINCT_BY_LENGTH, *map(cell, (found.mean, *(found.ci95 or (None, None)))), str(len(transcripts))]
    title = "Our complement to DISTINCT: distinct bigrams in every 50, of words that patients or records use"
    return ExtraTable(title, ["metric", "mean", "from", "to", "n"], [row])


def _by_length_and_language(transcripts: list[AieTranscript], definition: Definition) -> list[ExtraTable]:
    lengths = by_length(transcripts, definition)
    chosen = any(row.diagnosis is not None for row in lengths)
    return [
        ExtraTable(
            "By length of the dialogue, percent",
            ["turns", "dialogues", "coverage", *(["diagnosis"] if chosen else [])],
            [
                [str(row.turns), str(row.dialogues), _percent(row.coverage), *[_percent(row.diagnosis)] * chosen]
                for row in lengths
            ],
        ),
        ExtraTable(
            "Utterances by language",
            ["side", "language", "utterances"],
            [[side, code, str(count)] for (side, code), count in sorted(utterance_languages(transcripts).items())],
        ),
    ]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"
