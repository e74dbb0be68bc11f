"""Many notes through the reconstruction graph: each dialogue durable once, each failure with its reason."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph

from cases.dialogues import Dialogue
from cases.notes import Note
from graphs.reconstruction import builder
from llm import AskError
from llm.journal import journal
from nodes.context import Context
from nodes.reconstruction.gates import check_dialogue
from scoring.clini_eval.data_sheet import DataSheet, data_sheet
from wardround.config.experiment import Experiment
from wardround.config.preflight import check_servers
from wardround.run.checkpoints import forget_thread, open_sqlite, run_thread
from wardround.run.engines.work import some_at_once
from wardround.run.faults import fault, told
from wardround.run.reconstruction_record import GATES, Failure, ReconstructionRecord
from wardround.store.durable_lines import RunStoppedError

Graph = CompiledStateGraph[Any, Any, Any, Any]
OnOutcome = Callable[[Dialogue | Failure, int, int], None]


async def reconstruct_notes(
    experiment: Experiment, notes: Sequence[Note], output: Path, on_outcome: OnOutcome | None = None
) -> DataSheet:
    """Reconstruct what is left of the notes and count all of it.

    Args:
        experiment: models and settings; its cases are not read.
        notes: what to reconstruct.
        output: the file of dialogues; a reconstruction of the same notes there is taken up where it stopped.
        on_outcome: told each dialogue or failure, with the number done and the number of all.

    Returns:
        The data sheet, as it stands beside the output.

    Raises:
        ConfigurationError: the output holds other dialogues, or cannot be written (nothing was run).
        ModelSpecError: a model cannot be used.
        RunStoppedError: the output could no longer be written; run it again to go on.
    """
    context = experiment.context
    await check_servers(context)
    with ReconstructionRecord(output).opened(experiment, notes) as record:
        finished = record.take_up()
        left = [note for note in notes if note.id not in finished]
        done, total = len(notes) - len(left), len(notes)
        async with open_sqlite(record.checkpoints) as checkpointer:
            graph = builder.compile(name="Reconstruction", checkpointer=checkpointer)

            async def work(note: Note, slot: int) -> bool:
                nonlocal done
                seen = context.model_copy(update={"trace_file": str(record.trace_file(note.id))})
                outcome = await reconstruct_note(graph, note, seen)
                record.add(outcome)
                if isinstance(outcome, Dialogue) or outcome.final:  # one that is tried again goes on where it failed
                    await forget_thread(checkpointer, note.id)
                done += 1
                if on_outcome:
                    on_outcome(outcome, done, total)
                return True

            await some_at_once(left, experiment.run.concurrency, work)
        sheet = data_sheet(record.dialogues(), (failure.reason for failure in record.failures()))
        record.write_sheet(sheet)
    return sheet


async def reconstruct_note(graph: Graph, note: Note, context: Context) -> Dialogue | Failure:
    """One note to its end: a dialogue that passes the gates, or the reason why there is none."""
    try:
        with journal(context.trace_file):
            final, _ = await run_thread(graph, note.id, {"note": note}, context, "dialogue")
    except RunStoppedError:
        raise
    except AskError as error:
        return Failure(id=note.id, termination=error.reason, error=told(error))
    except Exception as error:
        return Failure(id=note.id, termination="internal_error", error=fault(error))
    used = {spec for specs in final["trace"].models.values() for spec in specs}
    dialogue: Dialogue = final["dialogue"].model_copy(update={"models": sorted(used)})
    problems = check_dialogue(dialogue)
    if not problems:
        return dialogue
    return Failure(
        id=note.id,
        termination=GATES,
        gates=list(dict.fromkeys(problem.gate for problem in problems)),
        problems=[str(problem) for problem in problems],
        dialogue=dialogue,
    )
