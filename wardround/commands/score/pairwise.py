"""``wardround score aie-pairwise``: two doctors on the same cases, compared by a judge in both orders."""

from pathlib import Path
from typing import Annotated

import anyio
import typer

from cases.text.words import language_of
from llm.specs import HUMAN
from scoring.aie.pairwise import ASPECTS, ROLES, Duel, View, compare, length_bias, position_bias, tally
from scoring.aie.pairwise_rules import Consultation
from scoring.aie.transcripts import read_aie
from scoring.asking import ask_each
from scoring.metrics.samples import PERCENT, Sample, estimates
from wardround.analysis.transcripts import reading_runs
from wardround.commands.exits import refuse
from wardround.commands.score.output import ExtraTable, Mode, Scores
from wardround.commands.score.transcripts import asking, cell, read_files


def aie_pairwise(
    one: Annotated[Path, typer.Argument(metavar="ONE", help="A doctor's transcripts, or a run.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another's, on the same cases.", show_default=False)],
    view: Annotated[View, typer.Option(help="Whose view the judge takes.")] = "doctor",
    judge: Annotated[str, typer.Option(metavar="SPEC", help="The judge's model, or 'offline'.")] = "offline",
) -> Scores:
    """AIE's pairwise comparison: how often ONE wins, percent of what was decided (ties and failures aside)."""
    if judge == HUMAN:
        refuse("--judge: a person cannot be asked here; name a model or 'offline'")
    read = read_files(reading_runs(read_aie, "aie"), [one, other])
    here, there = ({record.case: record for record in records} for records in read)
    shared = [case for case in here if case in there]
    if not shared:
        refuse(f"{one} and {other} have no case in common")
    settings = asking({ROLES[view]: judge})

    async def both_orders(case: str) -> Duel:
        record = here[case]
        language = language_of(record.record)
        return await compare(
            view,
            Consultation.of(record, language),
            Consultation.of(there[case], language),
            settings,
            language=language,
            record=record.findings,
            answer=record.options.get(record.answer_idx) or record.answer_idx,
            place=case,
        )

    duels = [found for _, found in anyio.run(ask_each, shared, both_orders).answers]
    samples = {
        aspect: [
            Sample(case, 100.0 * (outcome == "one"))
            for case, duel in zip(shared, duels, strict=True)
            if (outcome := duel.outcome(aspect)) not in (None, "tie")
        ]
        for aspect in ASPECTS[view]
    }
    rows = []
    for aspect in ASPECTS[view]:
        counted, position, length = tally(duels, aspect), position_bias(duels, aspect), length_bias(duels, aspect)
        biases = [cell(position.share), cell(position.p), cell(length.share), cell(length.p)]
        rows.append([aspect, *map(str, counted), *biases])
    header = ["aspect", "won", "lost", "tied", "missing", "first shown wins", "p", "longer wins", "p"]
    failures = [f"Case {case}: {duel.failure}" for case, duel in zip(shared, duels, strict=True) if duel.failure]
    metrics = estimates(samples, clustered=True, ends=PERCENT)
    table = ExtraTable("Outcomes, and what should not matter (0.5 is unbiased)", header, rows)
    return Scores("aie-pairwise", Mode.SOUND, len(shared), metrics, [table], failures)
