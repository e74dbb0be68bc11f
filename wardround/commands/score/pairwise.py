"""``wardround score aie-pairwise``: two doctors on the same cases, compared by a judge in both orders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.score.output import ExtraTable, JsonOption, Mode, Scores, refuse, show
from wardround.commands.score.transcripts import cell, read_files

if TYPE_CHECKING:
    from scoring.aie.pairwise import Duel, View
    from scoring.aie.transcripts import AieTranscript

_AT_ONCE = 8  # pairs before the judge at a time


def aie_pairwise(
    one: Annotated[Path, typer.Argument(metavar="ONE", help="A doctor's transcripts.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another's, on the same cases.", show_default=False)],
    view: Annotated[Literal["doctor", "patient"], typer.Option(help="Whose view the judge takes.")] = "doctor",
    judge: Annotated[str, typer.Option(metavar="SPEC", help="The judge's model, or 'offline'.")] = "offline",
    json_file: JsonOption = None,
) -> None:
    """AIE's pairwise comparison: how often ONE wins, percent of what was decided (ties and failures aside)."""
    import anyio

    from llm import ModelSpecError
    from llm.specs import ModelSpec
    from scoring.aie.pairwise import ASPECTS, length_bias, position_bias, tally
    from scoring.aie.transcripts import read_aie
    from scoring.metrics.samples import Sample, estimates

    here, there = ({record.case: record for record in records} for records in read_files(read_aie, [one, other]))
    shared = [case for case in here if case in there]
    if not shared:
        refuse(f"{one} and {other} have no case in common")
    try:
        ModelSpec.parse(judge)
        duels = anyio.run(_duels, view, [(here[case], there[case]) for case in shared], judge)
    except ModelSpecError as error:
        refuse(f"--judge: {error}")
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
    metrics = estimates(samples, clustered=True)
    table = ExtraTable("Outcomes, and what should not matter (0.5 is unbiased)", header, rows)
    show(Scores("aie-pairwise", Mode.SOUND, len(shared), metrics, [table], failures), json_file)


async def _duels(view: "View", pairs: "list[tuple[AieTranscript, AieTranscript]]", judge: str) -> "list[Duel]":
    import anyio

    from cases.text.words import language_of
    from llm import ModelSettings
    from scoring.aie.pairwise import ROLES, compare
    from scoring.aie.pairwise_rules import Consultation

    settings = ModelSettings(models={ROLES[view]: judge})
    duels: dict[int, Duel] = {}
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one_pair(place: int, here: "AieTranscript", there: "AieTranscript") -> None:
        language = language_of(here.record)
        async with limit:
            duels[place] = await compare(
                view,
                Consultation.of(here, language),
                Consultation.of(there, language),
                settings,
                language=language,
                record=here.findings,
                answer=here.options.get(here.answer_idx) or here.answer_idx,
                place=here.case,
            )

    try:
        async with anyio.create_task_group() as group:
            for place, (here, there) in enumerate(pairs):
                group.start_soon(one_pair, place, here, there)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [duels[place] for place in range(len(pairs))]
