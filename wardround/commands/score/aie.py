"""``wardround score aie`` and ``mcq``: AIE's doctor metrics, and the same cases as multiple-choice questions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from cases.text.words import language_of
from llm import ModelSettings
from scoring.aie.mcq import METRIC, answer_questions, mcq_diagnosis, mcq_doctor, questions_of
from scoring.aie.metrics import (
    DISTINCT_BY_LENGTH,
    by_length,
    diagnosis_is_right,
    distinct_by_length,
    score_aie,
    unanswered,
    utterance_languages,
)
from scoring.aie.pairwise import Consultation
from scoring.aie.suite import suite
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.comparison import spearman
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, case_means, estimates
from scoring.metrics.statistics import Estimate
from wardround.analysis.multiple_choice import compare_formats
from wardround.commands.exit_codes import refuse
from wardround.commands.options import a_folder
from wardround.commands.score.output import (
    ExtraTable,
    ModeOption,
    Scores,
    as_wrong_table,
    asked_of_rules,
    of_each,
    write_drawn,
)
from wardround.commands.score.rescored import RunDirectory
from wardround.commands.score.transcripts import (
    Against,
    Diagnose,
    HumanScores,
    LeaveOut,
    Scored,
    Transcripts,
    asking,
    by_either_name,
    cell,
    compared,
    correlated,
    counts,
    each_doctor,
    interval_cell,
    judgements_of,
    read_played,
    without,
)
from wardround.config.experiment_file import parse_models
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import RecordedRun
from wardround.tables.aie import (
    actions_table,
    failed_as_wrong,
    formats_table,
    language_of_all,
    paper_table,
    rounds_row,
    rounds_table,
)
from wardround.tables.scores import failed_notes, offline_notes
from wardround.tables.table import P_VALUE, Table, as_text


def mcq(
    run: RunDirectory,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="Model for mcq_doctor or distractor_writer; may be repeated."),
    ] = None,
) -> Scores:
    """Compare multiple-choice with interactive diagnoses.

    Scores are in percent, on the cases of a finished run. A case's own options are used if the correct one is its
    diagnosis. Every other case gets four distractors, written once and saved as options.jsonl in the run directory. To
    ask questions about anything other than the diagnosis, use `score aie RUN --mcq`.
    """
    found = run_alone(compare_formats, run, parse_models(models or []))
    metrics, over_answered = (_percentages(values) for values in (found.samples, found.answered))
    answered = {name: one for name, one in over_answered.items() if one.n < metrics[name].n}
    tables = [formats_compared(*found.answered.values())]
    return Scores("mcq", "sound", found.cases, metrics, tables, found.missing, bool(answered), answered)


def formats_compared(mcq: list[Sample], interactive: list[Sample]) -> ExtraTable:
    """Compare the two formats, over the cases that have an answer in both, paired by case."""
    title = "Multiple choice minus interactive, paired by case"
    return compared({"DIAGNOSIS": mcq}, {"DIAGNOSIS": interactive}, title)


def choosing(spec: str | None, option: str) -> ModelSettings | None:
    """Return the settings in which a model chooses among options, None without one; exits if it cannot be used."""
    return asking({mcq_doctor.name: spec}, option) if spec else None


def ask_again_as_mcq(
    transcripts: list[AieTranscript], settings: ModelSettings
) -> tuple[list[Sample], list[Sample], list[str]]:
    """Ask each case of the transcripts once as a multiple-choice question.

    Returns:
        MCQ_DIAGNOSIS with failures as wrong, the same without failures, and notes on failures.
    """
    questions, reasons = questions_of(transcripts)
    answered = run_alone(answer_questions, questions, settings)
    notes = [f"Case {case}: no {METRIC} ({reason})." for case, reason in (reasons | answered.failures).items()]
    samples = mcq_diagnosis(questions, answered.letters)
    return samples, [one for one in samples if one.case in answered.letters], notes


def diagnosed(transcripts: list[AieTranscript], settings: ModelSettings, notes: list[str]) -> list[AieTranscript]:
    """Return the transcripts with the letter that a model chooses from each dialogue, without seeing the record."""
    texts = [Consultation.of(one, language_of(one.record)).text for one in transcripts]
    questions, reasons = questions_of(
        one.model_copy(update={"record": text, "question": one.asked})
        for one, text in zip(transcripts, texts, strict=True)
    )
    if not questions:
        refuse(
            "--diagnose: a file or run has no case with options; for each run, `wardround score mcq RUN` writes them"
        )
    languages = {one.case: language_of(one.record) for one in transcripts}  # whatever language the dialogue is in
    questions = [replace(question, language=languages[question.case]) for question in questions]
    answered = run_alone(answer_questions, questions, settings)
    failures = reasons | answered.failures
    notes += [f"Case {case}: no option was chosen ({reason})." for case, reason in failures.items()]
    return [one.model_copy(update={"diagnosis": answered.letters.get(one.case)}) for one in transcripts]


def by_round(doctors: Mapping[str, list[AieTranscript]], settings: ModelSettings, definition: Definition) -> Table:
    """Tabulate the diagnosis chosen from each doctor's dialogues up to each round, with the coverage (Figure 6d).

    A choice already made from a whole dialogue is not asked for again.
    """
    rows = []
    for doctor, transcripts in doctors.items():
        records: dict[str, AieTranscript] = {}
        for last in range(1, max((len(one.history) for one in transcripts), default=0) + 1):
            going = [one for one in transcripts if len(one.history) >= last]
            complete = [one for one in going if len(one.history) == last]
            cut = [one.model_copy(update={"history": one.history[:last]}) for one in going if len(one.history) > last]
            records |= {one.case: one for one in [*complete, *(diagnosed(cut, settings, []) if cut else ())]}
            rows.append(rounds_row(doctor, last, score_aie(records.values(), definition), len(going)))
    return rounds_table(rows)


def coverage_and_diagnosis(parts: Mapping[str, Samples]) -> ExtraTable:
    """Correlate coverage with right diagnoses over dialogues, by doctor (section 2.10)."""
    rows = []
    for doctor, samples in parts.items():
        covered, correct = (case_means(samples[name]) for name in ("COVERAGE", "DIAGNOSIS"))
        one = spearman([(covered[case], correct[case]) for case in covered if case in correct])
        rows.append([doctor, cell(one.rho), interval_cell(one.ci95), as_text(one.p, P_VALUE), str(one.n)])
    title = "Correlation of coverage and diagnosis over dialogues (Spearman)"
    return ExtraTable(title, ["doctor", "rho", "95 % interval", "p", "n"], rows)


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
    diagnose: Diagnose = None,
    each_round: Annotated[
        bool, typer.Option("--each-round", help="With --diagnose: also choose from the dialogue up to each round.")
    ] = False,
    leave_out: LeaveOut = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write Table 2 or 3 and Figures 6b to 6d to this directory.",
            callback=a_folder,
        ),
    ] = None,
) -> Scores:
    """Score doctors by the ten metrics of AIE.

    All metrics are in percent, except turns and length. For runs, DIAGNOSIS needs --diagnose. Also printed: shares of
    actions by turn, coverage and diagnosis by length of the dialogue, and utterances by language. Several files, or the
    runs of a sweep, get a column each, as in the paper's tables.
    """
    if each_round and not diagnose:
        refuse("--each-round: needs a model that chooses; name one with --diagnose")
    diagnosing, answering = choosing(diagnose, "--diagnose"), choosing(mcq, "--mcq")
    doctors, transcripts, runs = each_doctor(transcripts)
    notes = _not_scored(runs)
    by_rules = [*offline_notes(runs), *asked_of_rules(("--diagnose", diagnose), ("--mcq", mcq))]

    def scored(files: list[list[AieTranscript]]) -> Scored[AieTranscript]:
        if diagnosing:
            files = [diagnosed(records, diagnosing, notes) for records in files]
        parts = [score_aie(records, mode, language) for records in files]
        if not diagnose and not any(record.diagnosis for records in files for record in records):
            parts = [{name: values for name, values in part.items() if name != "DIAGNOSIS"} for part in parts]
        return Scored(files, parts)

    played = mcq is None  # a choice from the record needs no dialogue
    ours = read_kept(transcripts, leave_out, played=played)
    theirs = read_kept(against, leave_out, played=played) if against else []
    people = judgements_of(human, ours)
    own = scored(ours)
    dialogues, samples = own.dialogues, own.samples
    by_doctor = dict(zip(doctors, own.files, strict=True))
    samples_by_doctor = dict(zip(doctors, own.parts, strict=True))
    tables = _by_length_and_language(dialogues, mode)
    if against:
        tables.append(own.minus(scored(theirs), notes))
    if human:
        tables.append(correlated(samples, people))
    if "DIAGNOSIS" in samples:
        tables.append(coverage_and_diagnosis(samples_by_doctor))
    if mode == "sound":
        tables.append(_distinct_by_length_table(dialogues))
    run_of = {run.path: run for run in runs}
    bounds = {
        doctor: bound
        for doctor, path in zip(doctors, transcripts, strict=True)
        if path in run_of and (bound := failed_as_wrong(run_of[path], samples_by_doctor[doctor]))
    }
    drawn = [paper_table(samples_by_doctor, language or language_of_all(by_doctor), mode, bounds)]
    if (actions := actions_table(by_doctor)).rows:  # not if only records were asked and no dialogue was played
        drawn.append(actions)
    if each_round and diagnosing:
        drawn.append(by_round(by_doctor, diagnosing, mode))
    estimate_all = partial(estimates, clustered=mode == "sound", ends=PERCENT, neither=suite.neither)
    metrics, files = estimate_all(samples), of_each(samples_by_doctor, estimate_all)
    answered: dict[str, Estimate] = {}
    notes += by_rules
    failed = diagnose is not None and bool(unanswered(dialogues))
    if answering:
        asked, letters, why = ask_again_as_mcq(dialogues, answering)
        metrics |= _percentages({METRIC: asked})
        if len(letters) < len(asked):
            answered, failed = _percentages({METRIC: letters}), True
        notes += why
        if "DIAGNOSIS" in samples:
            tables.append(formats_compared(letters, samples["DIAGNOSIS"]))
            dataset_of_case = {one.case: one.dataset or "" for one in dialogues}
            if len(subsets := list(dict.fromkeys(dataset_of_case.values()))) > 1:  # the examinations of MedicalExam
                drawn.append(formats_table(asked, samples["DIAGNOSIS"], dataset_of_case, subsets))
    write_drawn(drawn, out, by_rules)
    if len(doctors) == 1:  # what the table would show is in the list, and in one of failed cases as wrong
        tables = [*(each for bound in bounds.values() for each in as_wrong_table(estimate_all(bound))), *tables]
        drawn = drawn[1:]
    if "DIAGNOSIS" in samples:
        answered |= _over_chosen(own, mode, notes)
    n, more = counts([one.case for one in dialogues])
    return Scores("aie", mode, n, metrics, tables, notes, failed, answered, drawn, files, more=more)


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


def _over_chosen(own: Scored[AieTranscript], mode: Definition, notes: list[str]) -> dict[str, Estimate]:
    """Return DIAGNOSIS over the dialogues that chose an option, if some did not, and count as wrong in sound mode.

    Notes which dialogues had nothing to choose from, and which chose nothing.
    """
    dialogues, chosen = own.dialogues, own.samples["DIAGNOSIS"]
    if without_option := len(dialogues) - len(chosen):
        notes.append(
            f"{without_option} of {len(dialogues)} dialogues have no correct option to choose, and no DIAGNOSIS."
        )
    without_choice = unanswered(dialogues)
    if mode == "paper" or not without_choice:
        return {}
    notes.append(
        f"{len(without_choice)} of {len(dialogues)} diagnoses choose no option, and count as wrong in DIAGNOSIS."
    )
    answered = [one for one in dialogues if one.answer_idx and one not in without_choice]
    return _percentages({"DIAGNOSIS": [Sample(one.case, 100.0 * (diagnosis_is_right(one) or 0)) for one in answered]})


def _distinct_by_length_table(transcripts: list[AieTranscript]) -> ExtraTable:
    found = _percentages({DISTINCT_BY_LENGTH: distinct_by_length(transcripts)})[DISTINCT_BY_LENGTH]
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


def _percentages(samples: Samples) -> dict[str, Estimate]:
    return estimates(samples, clustered=True, ends=PERCENT)
