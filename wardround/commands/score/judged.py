"""Med-PMC's judges put to every transcript: one model, ``offline``, or a panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wardround.commands.score.output import ExtraTable, refuse
from wardround.commands.score.transcripts import cell

if TYPE_CHECKING:
    from scoring.medpmc.transcripts import MedPmcTranscript
    from scoring.metrics.samples import Sample
    from scoring.panel import Verdict

Judged = Literal["consultation", "patient", "persona"]
_AT_ONCE = 8  # transcripts before the judges at a time


@dataclass(frozen=True)
class Judgements:
    """The scores by aspect, each judge's own means with the agreement, and what went wrong."""

    samples: "dict[str, list[Sample]]"
    tables: list[ExtraTable]
    notes: list[str]


def judge_cases(cases: "Sequence[MedPmcTranscript]", judges: Sequence[str], judged: Judged) -> Judgements:
    """Have the panel judge every case; an aspect's score is the mean over the judges that answered.

    Raises:
        typer.Exit: with code 2 if a model spec cannot be used.
    """
    import anyio

    from llm import ModelSpecError
    from llm.specs import ModelSpec
    from scoring.medpmc.judges import consultation_judge, patient_judge, persona_judge
    from scoring.metrics.samples import Sample

    role: Any = {"consultation": consultation_judge, "patient": patient_judge, "persona": persona_judge}[judged]
    try:
        for spec in judges:
            ModelSpec.parse(spec)
        verdicts = anyio.run(_judge, cases, judges, role)
    except ModelSpecError as error:
        refuse(f"--judge: {error}")
    samples: dict[str, list[Sample]] = {}
    for aspect in role.answer.model_fields:
        values = [(case.id, verdict.mean(aspect)) for case, verdict in zip(cases, verdicts, strict=True) if verdict]
        samples[f"Judge: {aspect}"] = [Sample(case, value) for case, value in values if value is not None]
    return Judgements(samples, [_table(role.answer.model_fields, verdicts)], _notes(cases, verdicts))


async def _judge(cases: "Sequence[MedPmcTranscript]", judges: Sequence[str], role: Any) -> "list[Verdict[Any] | None]":
    """A verdict for each case; None where there is nothing to judge (no persona's words)."""
    import anyio

    from cases.text.words import language_of
    from llm import ModelSettings
    from scoring.medpmc.judges import persona_judge, view
    from scoring.panel import ask_panel

    verdicts: list[Verdict[Any] | None] = [None] * len(cases)
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def one(place: int, case: "MedPmcTranscript") -> None:
        language = language_of(case.present_illness, case.report)
        seen = view(case, language)
        if role is persona_judge and not seen.replies:
            return
        async with limit:
            verdicts[place] = await ask_panel(role, seen, judges, ModelSettings(), language=language, place=case.id)

    try:
        async with anyio.create_task_group() as group:
            for place, case in enumerate(cases):
                group.start_soon(one, place, case)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return verdicts


def _table(aspects: Any, verdicts: "Sequence[Verdict[Any] | None]") -> ExtraTable:
    from scoring.metrics.samples import mean
    from scoring.panel import agreement

    given = [verdict for verdict in verdicts if verdict]
    seats = sorted({seat for verdict in given for seat in verdict.answers})
    rows = []
    for aspect in aspects:
        votes = [verdict.votes(aspect) for verdict in given]
        own = [mean([float(vote[seat]) for vote in votes if vote.get(seat) is not None]) for seat in seats]
        rows.append([aspect, *map(cell, own), cell(agreement(given, aspect))])
    return ExtraTable("Each judge's means, and Krippendorff's alpha", ["", *seats, "alpha"], rows)


def _notes(cases: "Sequence[MedPmcTranscript]", verdicts: "Sequence[Verdict[Any] | None]") -> list[str]:
    return [
        f"Case {case.id}: no judgement by {seat}: {reason}"
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict
        for seat, reason in verdict.failures.items()
    ]
