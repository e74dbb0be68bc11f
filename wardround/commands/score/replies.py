"""``wardround score replies``: score replies of patient and examiner in runs' dialogues (AI Hospital, Table 4)."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from cases import Case
from cases.text.record_sentences import facts_of
from scoring.consultation import Exchange
from scoring.metrics.samples import PERCENT, Samples, estimates, of_epoch
from scoring.metrics.statistics import Estimate
from scoring.mvme.replies import KEY, QUESTIONS, Key, agreement, exchanges, human_scores, labelled, read_marks, settle
from scoring.mvme.reply_judges import consistency_judge, examination_judge, relevance_judge
from wardround.analysis.rescoring import context_for
from wardround.analysis.simulators import Trial, judge_played
from wardround.commands.exit_codes import refuse
from wardround.commands.options import RoleModels
from wardround.commands.score.output import ExtraTable, Scores, judged_by_rules, refuse_records, unanswered
from wardround.commands.score.transcripts import counts
from wardround.config.command_line import parse_models
from wardround.printing import counted, reason
from wardround.run.own_loop import run_alone
from wardround.store.provenance import write_whole
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.tables.scores import failed_notes
from wardround.tables.table import Table, as_text

Rounds = Mapping[Key, Exchange]


def replies(
    runs: Annotated[list[Path], Argument(metavar="RUN", help="Run directories with dialogues, or sweep directories.")],
    sample: Annotated[int, Option(min=1, metavar="N", help="Draw N dialogues of each run.")] = 50,
    seed: Annotated[int, Option(help="Seed of the draw.")] = 0,
    models: RoleModels = None,
    sheet: Annotated[
        Path | None,
        Option(metavar="FILE.csv", help="Write a sheet for people to mark instead, without calling a judge."),
    ] = None,
    marks: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE.csv",
            help="Marked sheets of two annotators, and of a third who decides; give the option for each.",
        ),
    ] = None,
) -> Scores:
    """Score replies by relevance, consistency and accuracy.

    Each run gets a row, with #QA and #Test. The judges are models, offline rules (only for testing a setup), or people:
    --sheet writes the four questions of each round, and --marks reads two or three marked sheets.
    """
    if sheet is not None and marks:
        refuse("--sheet and --marks: either writes a sheet or reads marked ones; leave one of them out")
    if models and (sheet is not None or marks):
        refuse(f"--models {models[0]}: nobody would be asked, as people judge; leave it out, or --sheet and --marks")
    found = find_runs(runs)
    rounds_by_run = {run.name: draw(run, sample, seed) for run in found}
    if not any(rounds_by_run.values()):
        refuse("these runs have no dialogues; expected runs of graph consultation or dispute_resolution")
    if sheet is not None:
        rows = [row for run in found for row in _sheet(run, rounds_by_run[run.name])]
        write_whole(sheet, Table("replies", "", [], rows).csv)
        n, more = _cases_and_dialogues(rounds_by_run)
        return Scores("replies", "sound", n, {}, notes=[f"{counted(len(rows), 'round')} to mark: {sheet}"], more=more)
    if marks:
        return _marked(rounds_by_run, marks)
    samples: dict[str, Samples] = {}
    failures: dict[str, str] = {}
    notes = failed_notes(found)
    for run in found:
        context = run_alone(context_for, run, parse_models(models or []))
        cases = {key: _case_of(run, key) for key in rounds_by_run[run.name]}
        trial = Trial({case.id: case for case in cases.values()}, context)
        played = [labelled(one, cases[key], "/".join(key)) for key, one in rounds_by_run[run.name].items()]
        run_alone(judge_played, trial, played)
        samples[run.name] = trial.samples
        failures |= trial.failures
        heard = [trial.cases[case_id] for _, case_id, *_ in rounds_by_run[run.name]]
        notes += judged_by_rules((relevance_judge, consistency_judge, examination_judge), context, heard)
    notes = [*dict.fromkeys(notes), *unanswered([*failures.values()])]
    return _scores(rounds_by_run, samples, notes, failed=bool(failures))


def draw(run: RecordedRun, size: int, seed: int) -> dict[Key, Exchange]:
    """Draw the rounds of ``size`` dialogues of a run at random; all dialogues if there are no more."""
    dialogues = {
        (run.name, result.case_id, str(result.epoch)): exchanges(answers.dialogue)
        for result, answers in run.each_dialogue()
    }
    chosen = random.Random(seed).sample(sorted(dialogues), min(size, len(dialogues)))
    return {(*key, str(one.number)): one for key in sorted(chosen) for one in dialogues[key]}


def _case_of(run: RecordedRun, key: Key) -> Case:
    _, case_id, epoch, _ = key
    return run.case_of(case_id, int(epoch))


def _sheet(run: RecordedRun, rounds: Rounds) -> list[dict[str, Any]]:
    return [
        {
            **dict(zip(KEY, key, strict=True)),
            **dict.fromkeys(QUESTIONS, ""),
            "conversation": "\n".join(f"{turn.speaker}: {turn.text}" for turn in [one.doctor, *one.reply]),
            "record": "\n".join(fact.text for fact in facts_of(_case_of(run, key))),
        }
        for key, one in rounds.items()
    ]


def _marked(rounds_by_run: Mapping[str, Rounds], files: Sequence[Path]) -> Scores:
    """Score people's marks: the final ones, and how often the first two annotators agree on each question."""
    if len(files) not in (2, 3):
        refuse(f"--marks: {counted(len(files), 'sheet')}; expected those of two annotators, and of a third who decides")
    read = []
    for number, file in enumerate(files, 1):
        try:
            read.append(read_marks(file, some_blank=number == 3))
        except (OSError, UnicodeDecodeError) as error:
            refuse(f"--marks {file}: {reason(error)}")
    refuse_records([problem for _, problems in read for problem in problems])
    sheets = [marks for marks, _ in read]
    rounds = {key: one for of_run in rounds_by_run.values() for key, one in of_run.items()}
    if unknown := [key for key in sheets[0] if key not in rounds]:
        refuse(
            f"{files[0]}: {'/'.join(unknown[0])} is not a round of these runs; repeat the "
            "runs, --sample and --seed that the sheet was written with"
        )
    final, undecided = settle(*sheets)
    if undecided:
        refuse(
            f"--marks: the first two sheets differ on {counted(len(undecided), 'round')} ({'/'.join(undecided[0])})"
            + ("; add a third sheet, which decides" if len(files) == 2 else ", which the third does not decide")
        )
    marked = {key[:3] for key in sheets[0]}  # dialogues: a larger sample may have others
    rounds_by_run = {
        name: {key: one for key, one in of_run.items() if key[:3] in marked} for name, of_run in rounds_by_run.items()
    }
    agreed = estimates(agreement(sheets[0], sheets[1]), clustered=True, ends=PERCENT)
    table = ExtraTable(
        "Agreement of the first two annotators, percent",
        ["question", "agreed", "rounds"],
        [[name, as_text(one.mean, ".1f"), str(one.n)] for name, one in agreed.items()],
    )
    by_run = {name: human_scores({key: one for key, one in final.items() if key[0] == name}) for name in rounds_by_run}
    metrics = {f"agreement: {name}": one for name, one in agreed.items()}
    found = _scores(rounds_by_run, by_run, [f"Marked by {len(files)} people."])
    return replace(found, metrics={**found.metrics, **metrics}, tables=[*found.tables, table])


def _scores(
    rounds_by_run: Mapping[str, Rounds], samples: Mapping[str, Samples], notes: Sequence[str], failed: bool = False
) -> Scores:
    """Return Table 4, with a row per run (that is, per doctor)."""
    metrics: dict[str, Estimate] = {}
    rows = []
    for name, of_run in samples.items():
        found = estimates(of_run, clustered=True, ends=PERCENT)
        metrics |= {f"{name}: {metric}" if len(samples) > 1 else metric: one for metric, one in found.items()}
        means = [found.get(metric, Estimate(n=0)).mean for metric in ("Rel", "Con", "Acc")]
        relevant, consistent, accurate = (as_text(mean, ".1f") for mean in means)
        rounds = rounds_by_run[name]
        sizes = [len(_dialogues(rounds)), len(rounds)]
        tests = sum(one.examined for one in rounds.values())
        rows.append([name, *map(str, sizes), relevant, consistent, str(tests), accurate])
    table = ExtraTable("AI Hospital, Table 4", ["run", "dialogues", "#QA", "Rel", "Con", "#Test", "Acc"], rows)
    n, more = _cases_and_dialogues(rounds_by_run)
    return Scores("replies", "sound", n, metrics, [table], notes, failed, more=more)


def _cases_and_dialogues(rounds_by_run: Mapping[str, Rounds]) -> tuple[int, list[str]]:
    """Return the number of cases, and that of dialogues in words if it differs, as of several runs or epochs."""
    dialogues = [one for rounds in rounds_by_run.values() for one in _dialogues(rounds)]
    return counts([of_epoch(case_id, int(epoch)) for _, case_id, epoch in dialogues])


def _dialogues(rounds: Rounds) -> set[tuple[str, str, str]]:
    """Return the run, case and epoch of each dialogue."""
    return {(run, case_id, epoch) for run, case_id, epoch, _ in rounds}
