"""``wardround score mcq``: compare a run's interactive diagnoses with multiple-choice answers to the same cases."""

from collections.abc import Mapping
from typing import Annotated

import anyio
import typer

from cases.text.words import language_of
from llm.specs import HUMAN
from scoring.aie.mcq import METRIC, answer_questions, mcq_diagnosis, mcq_doctor, questions_of
from scoring.aie.metrics import score_aie
from scoring.aie.pairwise_rules import Consultation
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.comparison import spearman
from scoring.metrics.samples import PERCENT, Definition, Sample, Samples, case_means, estimates
from wardround.analysis.multiple_choice import compare_formats
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import ExtraTable, Scores
from wardround.commands.score.rescored import RunDirectory
from wardround.commands.score.transcripts import asking, cell, compared, interval_cell, p_cell
from wardround.config.experiment_file import parse_models
from wardround.tables.aie import rounds_row, rounds_table
from wardround.tables.table import Table


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
    found = anyio.run(compare_formats, run, parse_models(models or []))
    metrics, over_answered = (
        estimates(values, clustered=True, ends=PERCENT) for values in (found.samples, found.answered)
    )
    answered = {name: one for name, one in over_answered.items() if one.n < metrics[name].n}
    tables = [formats_compared(*found.answered.values())]
    return Scores("mcq", "sound", found.cases, metrics, tables, found.missing, bool(answered), answered)


def formats_compared(mcq: list[Sample], interactive: list[Sample]) -> ExtraTable:
    """Compare the two formats, over the cases that have an answer in both, paired by case."""
    title = "Multiple choice minus interactive, paired by case"
    return compared({"DIAGNOSIS": mcq}, {"DIAGNOSIS": interactive}, title)


def ask_again_as_mcq(transcripts: list[AieTranscript], spec: str) -> tuple[list[Sample], list[Sample], list[str]]:
    """Ask each case of the transcripts once as a multiple-choice question.

    Returns:
        MCQ_DIAGNOSIS with failures as wrong, the same without failures, and notes on failures.

    Raises:
        typer.Exit: with code 2 if the model cannot be used.
    """
    if spec == HUMAN:
        refuse("--mcq human: a person cannot answer here; name a model or 'offline'")
    questions, reasons = questions_of(transcripts)
    answered = anyio.run(answer_questions, questions, asking({mcq_doctor.name: spec}, "--mcq"))
    notes = [f"Case {case}: no {METRIC} ({reason})." for case, reason in (reasons | answered.failures).items()]
    answered_questions = [question for question in questions if question.case in answered.letters]
    samples, over_answered = (mcq_diagnosis(each, answered.letters) for each in (questions, answered_questions))
    return samples, over_answered, notes


def diagnosed(transcripts: list[AieTranscript], spec: str, notes: list[str]) -> list[AieTranscript]:
    """Return the transcripts with the letter that a model chooses from each dialogue, without seeing the record."""
    if spec == HUMAN:
        refuse("--diagnose human: a person cannot answer here; name a model or 'offline'")
    dialogue_records = []
    for one in transcripts:
        dialogue_text = Consultation.of(one, language_of(one.record)).text
        dialogue_records.append(one.model_copy(update={"record": dialogue_text, "question": one.asked}))
    questions, reasons = questions_of(dialogue_records)
    if not questions:
        refuse(
            "--diagnose: a file or run has no case with options; for each run, `wardround score mcq RUN` writes them"
        )
    answered = anyio.run(answer_questions, questions, asking({mcq_doctor.name: spec}, "--diagnose"))
    failures = reasons | answered.failures
    notes += [f"Case {case}: no option was chosen ({reason})." for case, reason in failures.items()]
    return [one.model_copy(update={"diagnosis": answered.letters.get(one.case)}) for one in transcripts]


def by_round(doctors: Mapping[str, list[AieTranscript]], spec: str, definition: Definition) -> Table:
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
            records |= {one.case: one for one in [*complete, *(diagnosed(cut, spec, []) if cut else ())]}
            rows.append(rounds_row(doctor, last, score_aie(records.values(), definition), len(going)))
    return rounds_table(rows)


def coverage_and_diagnosis(parts: Mapping[str, Samples]) -> ExtraTable:
    """Correlate coverage with right diagnoses over dialogues, by doctor (section 2.10)."""
    rows = []
    for doctor, samples in parts.items():
        covered, correct = (case_means(samples[name]) for name in ("COVERAGE", "DIAGNOSIS"))
        one = spearman([(covered[case], correct[case]) for case in covered if case in correct])
        rows.append([doctor, cell(one.rho), interval_cell(one.ci95), p_cell(one.p), str(one.n)])
    title = "Correlation of coverage and diagnosis over dialogues (Spearman)"
    return ExtraTable(title, ["doctor", "rho", "95 % interval", "p", "n"], rows)
