"""The personas in which patients spoke: length, replies left unchanged, and scores (Med-PMC, 3.2.3 and Table 5)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cases import Case
from nodes.context import Context
from nodes.patients.medpmc.personas import Persona, drawn, profession_of
from nodes.state.chart import Turn
from nodes.workflow.admission import in_played_sex
from scoring.metrics.samples import PERCENT, over_cases
from scoring.metrics.text_overlap import words
from wardround.analysis.summary import estimate_scores
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.scores import score_form
from wardround.tables.table import Column, Table, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate each persona that an actor played in a run."""
    return [_run_table(run, len(runs) > 1) for run in runs]


def persona_of_case(case: Case, context: Context, epoch: int) -> Persona:
    """Return the persona of a case's patient in an epoch; each epoch has its own seed."""
    seeded = context.in_epoch(epoch)
    profession = context.patient_profession
    if profession == "drawn":
        profession = drawn(case.id, seeded.seed).profession
    elif profession == "record":
        profession = profession_of(case.patient.occupation, case.language)
    return Persona(sex=in_played_sex(case, seeded).patient.sex, profession=profession)


def _run_table(run: RecordedRun, in_title: bool) -> Table:
    context, suite = run.experiment.context, run.suite
    played: dict[tuple[str, str], list[tuple[Result, list[tuple[str, Turn]]]]] = defaultdict(list)
    for result, answers in run.each_dialogue():
        if acted_turns := [(result.case_id, turn) for turn in answers.dialogue if turn.plain]:
            persona = persona_of_case(run.cases[result.case_id], context, result.epoch)
            played[persona.profession, persona.sex or "sex not recorded"].append((result, acted_turns))
    rows: list[dict[str, Any]] = []
    for (profession, sex), dialogues in sorted(played.items(), key=lambda one: one[0]):
        turns = [turn for _, acted_turns in dialogues for turn in acted_turns]
        means = {
            "ratio": over_cases(
                [(case, len(words(turn.text)) / max(1, len(words(turn.plain)))) for case, turn in turns]
            ),
            "plain": over_cases([(case, 100.0 * (turn.text == turn.plain)) for case, turn in turns], PERCENT),
        }
        means |= estimate_scores([result for result, _ in dialogues], suite)
        counts = {"dialogues": len(dialogues), "replies": len(turns)}
        rows.append({"persona": f"{profession.replace('_', ' ')}, {sex}", **counts, **measured(means)})
    columns = [
        Column("persona", "Persona", key=True),
        Column("dialogues", "Dialogues"),
        Column("replies", "Replies"),
        Column("ratio", "Length", mean=True),
        Column("plain", "Left plain", mean=True),
        *(Column(name, title, form=score_form(suite), mean=True) for name, title in suite.titles.items()),
    ]
    notes = [
        "Length: words of the reply divided by words before rephrasing, mean over replies. Left plain: percent of "
        "replies said without rephrasing, because the rewriting was refused (facts, length) or changed nothing."
    ]
    title = f"Personas: {run.name}" if in_title else "Personas"
    name = f"personas-{run.name.replace('/', '-')}" if in_title else "personas"
    return Table(name, title, columns, rows, notes)
