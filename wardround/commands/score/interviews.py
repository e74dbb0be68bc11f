"""The dialogues that Clini-Eval scores: read from files and runs, with warnings of what their ids or roles hide."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cases import Problem
from cases.dialogue_files import is_place, read_dialogues
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from scoring.clini_eval.demonstration import why_not
from scoring.clini_eval.dialogue import ReconstructionAnswers, dialogue_of_consultation
from scoring.consultation import ConsultationAnswers
from scoring.metrics.samples import of_epoch
from wardround.commands.exit_codes import refuse
from wardround.commands.score.output import refuse_records
from wardround.config.experiment import GIVES
from wardround.printing import echo, first_of
from wardround.store.recorded_run import RecordedRun

_ASKS = re.compile("[?？吗呢]")


def read_interviews(sources: Sequence[Path], runs: Sequence[RecordedRun]) -> list[Dialogue]:
    """Read the dialogues; exits if a line cannot be used or has nothing to score."""
    dialogues: list[Dialogue] = []
    problems: list[Problem] = []
    of_files: list[Dialogue] = []  # a run's settings may change the note of a case
    places: dict[str, dict[str, str]] = {}  # the names of dialogues without ids, by place and note
    for source in sources:
        if source.is_dir():
            read = _read_runs(source, runs)
            lacking = [why_not(one) for one in read]
        else:
            read, faults = read_dialogues(source)
            read = [_called_apart(one, source, places) for one in read]
            lacking = [why_not(one) or _silent(one) for one in read]
            problems += faults
            of_files += read
            if exchanged := _perhaps_exchanged(read):
                echo(f"warning: {source}: {exchanged}", err=True)
        found = zip(read, lacking, strict=True)
        problems += [Problem(str(source), f"dialogue {one.id}", "", why) for one, why in found if why]
        dialogues += read
    if several := _of_several_notes(of_files):
        echo(f"warning: {several}", err=True)
    refuse_records(problems)
    return _with_departments(dialogues)


def _called_apart(dialogue: Dialogue, source: Path, called: dict[str, dict[str, str]]) -> Dialogue:
    """Return a dialogue without an id under its file's name, if another note has its place in an earlier file.

    Args:
        dialogue: any dialogue.
        source: its file.
        called: extended by the name of each place and note.
    """
    if not is_place(dialogue.id):
        return dialogue
    by_note = called.setdefault(dialogue.id, {})
    name = f"{source.name}, {dialogue.id}" if by_note else dialogue.id
    return dialogue.model_copy(update={"id": by_note.setdefault(dialogue.note, name)})


def _silent(dialogue: Dialogue) -> str:
    """Return that nobody speaks as the patient, as if all turns had one role; empty if somebody does."""
    spoke = any(one.role == PATIENT and one.content.strip() for one in dialogue.messages)
    return "" if spoke else f"has no turn of the patient (role '{PATIENT}')"


def _of_several_notes(dialogues: Sequence[Dialogue]) -> str:
    """Return the warning that an id belongs to several notes of the files, which count as one case; empty if none."""
    notes: dict[str, set[str]] = {}
    for one in dialogues:
        notes.setdefault(one.id, set()).add(" ".join(one.note.split()))
    several = [name for name, found in notes.items() if len(found) > 1]
    return (
        f"several notes have the same id ({first_of(several)}): their dialogues count as one case per id; "
        "give each note an id of its own"
        if several
        else ""
    )


def _perhaps_exchanged(dialogues: Sequence[Dialogue]) -> str:
    """Return the warning that the patient of a file asks more often than its physician; empty if not so."""
    asking_turns = Counter(one.role for each in dialogues for one in each.spoken if _ASKS.search(one.content))
    physician, patient = asking_turns[PHYSICIAN], asking_turns[PATIENT]
    return (
        f"the patient (role '{PATIENT}') asks in {patient} turns, the physician (role '{PHYSICIAN}') in {physician}; "
        "if the file has the roles the other way round, exchange them"
        if patient > physician
        else ""
    )


def _with_departments(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Give a dialogue without a department, as role-plays are, that of another one of its note."""
    departments = {dialogue.note: dialogue.department for dialogue in dialogues if dialogue.department}
    return [one.model_copy(update={"department": one.department or departments.get(one.note)}) for one in dialogues]


def _read_runs(directory: Path, runs: Sequence[RecordedRun]) -> list[Dialogue]:
    """Return the dialogues of the runs in the directory of a run or a sweep, with each run as a strategy."""
    found: list[Dialogue] = []
    for run in (run for run in runs if directory in (run.path, run.path.parent)):
        if "dialogue" not in GIVES[run.experiment.graph]:
            refuse(f"{run.path}: graph {run.experiment.graph!r} produces no dialogue to score")
        for result in run.each_answered():
            answers = result.answers
            if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
                dialogue = answers.reconstructed
            elif isinstance(answers, ConsultationAnswers) and answers.dialogue:
                dialogue = dialogue_of_consultation(run.case_of(*result.key), {"dialogue": answers.dialogue})
            else:
                continue
            own = {"id": of_epoch(dialogue.id, result.epoch), "strategy": run.name}
            found.append(dialogue.model_copy(update=own))
    if not found:
        refuse(f"{directory}: has no dialogue yet; run it first")
    return found
