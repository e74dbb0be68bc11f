"""``wardround score aie``: AIE's doctor metrics."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from scoring.aie.action_tables import by_length, utterance_languages
from scoring.aie.mcq import METRIC
from scoring.aie.metrics import DISTINCT_BY_LENGTH, diagnosis_is_right, distinct_by_length, score_aie, unanswered
from scoring.aie.suite import suite
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import PERCENT, Definition, Sample, estimates
from wardround.commands.exit_codes import refuse
from wardround.commands.score.mcq import ask_again_as_mcq, by_round, coverage_and_diagnosis, diagnosed, formats_compared
from wardround.commands.score.output import (
    ExtraTable,
    ModeOption,
    Scores,
    asked_of_rules,
    of_each,
    writable,
    write_drawn,
)
from wardround.commands.score.transcripts import (
    Against,
    HumanScores,
    LeaveOut,
    Scored,
    Transcripts,
    by_either_name,
    cell,
    correlated,
    counts,
    each_doctor,
    read_played,
    without,
)
from wardround.tables.aie import actions_table, formats_table, language_of_all, paper_table
from wardround.tables.scores import offline_notes


def aie(
    transcripts: Transcripts,
    mode: ModeOption = "sound",
    language: Annotated[
        Literal["en", "zh"] | None,
        typer.Option(help="Language of the data set for paper mode.", show_default="that of the records"),
    ] = None,
    against: Against = None,
    human: HumanScores = None,
    mcq: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Also have this model answer each case as a multiple-choice question."),
    ] = None,
    diagnose: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Have this model choose a diagnosis among each case's options, from the dialogue alone.",
        ),
    ] = None,
    each_round: Annotated[
        bool, typer.Option("--each-round", help="With --diagnose: also choose from the dialogue up to each round.")
    ] = False,
    leave_out: LeaveOut = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write Table 2 or 3 and Figures 6b to 6d to this directory."),
    ] = None,
) -> Scores:
    """Score doctors by the ten metrics of AIE.

    All metrics are in percent, except turns and length. For runs, DIAGNOSIS needs --diagnose. Also printed: shares of
    actions by turn, coverage and diagnosis by length of the dialogue, and utterances by language. Several files, or the
    runs of a sweep, get a column each, as in the paper's tables.
    """
    if each_round and not diagnose:
        refuse("--each-round: needs a model that chooses; name one with --diagnose")
    writable(out)
    doctors, transcripts, runs = each_doctor(transcripts)
    if untracked := [run.path for run in runs if not run.experiment.tracks_actions]:
        refuse(
            f"{untracked[0]}: these metrics need tracked actions, but its patient tracks none; run it again with "
            "patient = 'saps'"
        )
    notes = [
        f"{run.name}: {failed} of {len(run.results)} cases failed, and are not scored."
        for run in runs
        if (failed := len(run.results) - len(run.scored))
    ]
    by_rules = [*offline_notes(runs), *asked_of_rules(("--diagnose", diagnose), ("--mcq", mcq))]

    def scored(paths: Sequence[Path]) -> Scored[AieTranscript]:
        read = read_played(paths, "aie", played=mcq is None)  # a choice from the record needs no dialogue
        files = without(read, leave_out, lambda one: one.case, by_either_name(read))
        if diagnose:
            files = [diagnosed(records, diagnose, notes) for records in files]
        parts = [score_aie(records, mode, language) for records in files]
        if not diagnose and not any(record.diagnosis for records in files for record in records):
            parts = [{name: values for name, values in part.items() if name != "DIAGNOSIS"} for part in parts]
        return Scored(files, parts)

    own = scored(transcripts)
    samples = own.samples
    by_doctor = dict(zip(doctors, own.files, strict=True))
    samples_by_doctor = dict(zip(doctors, own.parts, strict=True))
    tables = _tables(own.dialogues, mode)
    drawn = [paper_table(samples_by_doctor, language or language_of_all(by_doctor), mode)]
    if (actions := actions_table(by_doctor)).rows:  # not if only records were asked and no dialogue was played
        drawn.append(actions)
    if against:
        tables.append(own.minus(scored(against), notes))
    if human:
        tables.append(correlated(samples, human, by_either_name(own.files)))
    if each_round and diagnose:
        drawn.append(by_round(by_doctor, diagnose, mode))
    if "DIAGNOSIS" in samples:
        tables.append(coverage_and_diagnosis(samples_by_doctor))
    if mode == "sound":
        tables.append(_distinct_by_length_table(own.dialogues))
    estimate_all = partial(estimates, clustered=mode == "sound", ends=PERCENT, neither=suite.neither)
    metrics, files = estimate_all(samples), of_each(samples_by_doctor, estimate_all)
    notes += by_rules
    n, more = counts(own.dialogues)
    failed = diagnose is not None and bool(unanswered(own.dialogues))
    found = Scores("aie", mode, n, metrics, tables, notes, failed, drawn=drawn, files=files, more=more)
    if mcq:
        found = _with_mcq(found, own, mcq)
    if out is not None:
        write_drawn(found.drawn, out, by_rules)
    if len(doctors) == 1:
        found = replace(found, drawn=found.drawn[1:])
    return _with_silent_notes(found, own) if "DIAGNOSIS" in samples else found


def _with_mcq(found: Scores, own: Scored[AieTranscript], spec: str) -> Scores:
    """Add the cases asked as multiple-choice questions, and compare both formats."""
    samples, answered, notes = ask_again_as_mcq(own.dialogues, spec)
    has_failures = len(answered) < len(samples)
    tables, drawn = [*found.tables], [*found.drawn]
    if (interactive := own.samples.get("DIAGNOSIS")) is not None:
        tables.append(formats_compared(answered, interactive))
        dataset_of_case = {one.case: one.dataset or "" for one in own.dialogues}
        if len(subsets := list(dict.fromkeys(dataset_of_case.values()))) > 1:  # the examinations of MedicalExam
            drawn.append(formats_table(samples, interactive, dataset_of_case, subsets))
    return replace(
        found,
        metrics={**found.metrics, **estimates({METRIC: samples}, clustered=True, ends=PERCENT)},
        answered=estimates({METRIC: answered}, clustered=True, ends=PERCENT) if has_failures else {},
        failed=found.failed or has_failures,
        tables=tables,
        drawn=drawn,
        notes=[*found.notes, *notes],
    )


def _with_silent_notes(found: Scores, own: Scored[AieTranscript]) -> Scores:
    """Add notes to DIAGNOSIS: which dialogues had nothing to choose from, and which chose nothing."""
    dialogues, chosen = own.dialogues, own.samples["DIAGNOSIS"]
    notes, answered = [*found.notes], {**found.answered}
    if without_option := len(dialogues) - len(chosen):
        notes.append(
            f"{without_option} of {len(dialogues)} dialogues have no correct option to choose, and no DIAGNOSIS."
        )
    if found.mode == "sound" and (without_choice := unanswered(dialogues)):
        answered_dialogues = [one for one in dialogues if one.answer_idx and one not in without_choice]
        right = {"DIAGNOSIS": [Sample(one.case, 100.0 * (diagnosis_is_right(one) or 0)) for one in answered_dialogues]}
        answered |= estimates(right, clustered=True, ends=PERCENT)
        notes.append(
            f"{len(without_choice)} of {len(dialogues)} diagnoses choose no option, and count as wrong in DIAGNOSIS."
        )
    return replace(found, notes=notes, answered=answered)


def _distinct_by_length_table(transcripts: list[AieTranscript]) -> ExtraTable:
    found = estimates({DISTINCT_BY_LENGTH: distinct_by_length(transcripts)}, clustered=True, ends=PERCENT)
    low, high = found[DISTINCT_BY_LENGTH].ci95 or (None, None)
    row = [DISTINCT_BY_LENGTH, *map(cell, (found[DISTINCT_BY_LENGTH].mean, low, high)), str(len(transcripts))]
    title = "Our complement to DISTINCT: distinct bigrams in every 50, of words that patients or records use"
    return ExtraTable(title, ["metric", "mean", "from", "to", "n"], [row])


def _tables(transcripts: list[AieTranscript], definition: Definition) -> list[ExtraTable]:
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
