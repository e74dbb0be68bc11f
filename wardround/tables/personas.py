"""In whose manner patients spoke: length, words left plain, and scores, by persona (Med-PMC, 3.2.3 and Table 5)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from cases import Case
from nodes.context import Context
from nodes.patients.medpmc.personas import Persona, drawn, profession_of
from nodes.state.chart import Turn
from nodes.workflow.admission import in_played_sex
from scoring.consultation import ConsultationAnswers
from scoring.metrics.statistics import estimate
from scoring.metrics.text_overlap import words
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result
from wardround.tables.scores import score_form
from wardround.tables.table import Column, DoesNotFitError, Table, measured


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """A row for each persona that an actor played in a run.

    Raises:
        DoesNotFitError: no run has an actor.
    """
    made = [table for run in runs if (table := _of_run(run, len(runs) > 1))]
    if not made:
        raise DoesNotFitError("no patient spoke as a persona (patient = 'medpmc', actor on)")
    return made


def persona_of_case(case: Case, context: Context, epoch: int) -> Persona:
    """Who the patient of a case was played as in an epoch, which has a seed of its own."""
    seeded = context.model_copy(update={"seed": (context.seed or 0) + epoch})
    profession = context.patient_profession
    if profession == "drawn":
        profession = drawn(case.id, seeded.seed).profession
    elif profession == "record":
        profession = profession_of(case.patient.occupation, case.language)
    return Persona(sex=in_played_sex(case, seeded).patient.sex, profession=profession)


def _of_run(run: RecordedRun, several: bool) -> Table | None:
    context, suite = run.experiment.context, run.suite
    played: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in run.each_answered():
        if isinstance(result.answers, ConsultationAnswers) and any(turn.plain for turn in result.answers.dialogue):
            persona = persona_of_case(run.cases[result.case_id], context, result.epoch)
            played[persona.profession, persona.sex or "sex not recorded"].append(result)
    rows: list[dict[str, Any]] = []
    for (profession, sex), results in sorted(played.items()):
        turns = [(result.case_id, turn) for result in results for turn in _coloured(result)]
        cases = [case for case, _ in turns]
        means = {
            "ratio": estimate([_ratio(turn) for _, turn in turns], cases),
            "plain": estimate([100.0 * (turn.text == turn.plain) for _, turn in turns], cases, ends=(0.0, 100.0)),
        }
        for name in suite.columns:
            known = [(value, one.case_id) for one in results if (value := one.scores.get(name)) is not None]
            means[name] = estimate([value for value, _ in known], [case for _, case in known], ends=suite.ends_of(name))
        rows.append(
            {
                "persona": f"{profession.replace('_', ' ')}, {sex}",
                "dialogues": len(results),
                "replies": len(turns),
                **measured(means),
            }
        )
    columns = [
        Column("persona", "Persona", key=True),
        Column("dialogues", "Dialogues"),
        Column("replies", "Replies"),
        Column("ratio", "Length", mean=True),
        Column("plain", "Left plain", mean=True),
        *(Column(name, title, form=score_form(suite), mean=True) for name, title in suite.columns.items()),
    ]
    notes = [
        "Length: words said over words meant, mean over replies. Left plain, percent: the words that were meant are "
        "said as they are, since a rewriting was refused (facts, length) or changed nothing."
    ]
    title = f"Personas: {run.name}" if several else "Personas"
    name = f"personas-{run.name.replace('/', '-')}" if several else "personas"
    return Table(name, title, columns, rows, notes) if rows else None


def _coloured(result: Result) -> list[Turn]:
    answers = result.answers
    return [turn for turn in answers.dialogue if turn.plain] if isinstance(answers, ConsultationAnswers) else []


def _ratio(turn: Turn) -> float:
    return len(words(turn.text)) / max(1, len(words(turn.plain)))
