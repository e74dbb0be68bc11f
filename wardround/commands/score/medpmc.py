"""``wardround score medpmc``."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.score.judged import Judged, judge_cases
from wardround.commands.score.output import ExtraTable, JsonOption, Mode, ModeOption, Scores, refuse, show
from wardround.commands.score.recorded import scores_of_run
from wardround.commands.score.transcripts import (
    Against,
    HumanScores,
    Transcripts,
    by_file,
    cell,
    compared,
    correlated,
    joined,
    read_files,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scoring.medpmc.transcripts import MedPmcTranscript
    from scoring.metrics.samples import Definition, Sample
    from scoring.metrics.statistics import Estimate

RecallOption = Annotated[
    Literal["rouge1", "rougeL", "bertscore", "ratescore", "rate_style"],
    typer.Option("--recall", help="How a text is recalled; bertscore and ratescore need models of the hub."),
]


def medpmc(
    transcripts: Transcripts,
    recall: RecallOption = "rouge1",
    mode: ModeOption = Mode.SOUND,
    json_file: JsonOption = None,
    entities: Annotated[
        Literal["rules", "spacy"], typer.Option(help="What finds the entities of the Examination column.")
    ] = "rules",
    model: Annotated[
        str | None, typer.Option(help="The embedding of rate_style, or the model of bertscore.", show_default=False)
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Also judge, by this model or 'offline'; several are a panel."),
    ] = None,
    judged: Annotated[Judged, typer.Option(help="What --judge judges.")] = "consultation",
    against: Against = None,
    human: HumanScores = None,
) -> None:
    """The columns of Med-PMC (percent, except Lens and Turns).

    Paper mode reproduces Table 8 (rouge1) and Table 9 (rougeL). Also printed: what is gathered by kind and round.
    """
    if transcripts[0].is_dir():
        if len(transcripts) > 1 or against or human or judge or recall != "rouge1" or entities != "rules":
            refuse("a run directory is scored alone, by rouge1 and rules; `wardround score simulator RUN` judges it")
        show(scores_of_run(transcripts[0], "medpmc", mode), json_file)
        return
    from scoring.medpmc.metrics import score_medpmc
    from scoring.medpmc.transcripts import read_medpmc
    from scoring.metrics.samples import MissingBackendError, estimates

    definition: Definition = mode.value

    def scored(paths: list[Path]) -> "tuple[list[list[MedPmcTranscript]], list[dict[str, list[Sample]]]]":
        files = read_files(read_medpmc, paths)
        try:
            return files, [score_medpmc(cases, recall, definition, find=entities, model=model) for cases in files]
        except MissingBackendError as error:
            refuse(str(error))

    files, parts = scored(transcripts)
    cases = [case for records in files for case in records]
    samples = joined(parts)
    tables = by_file(transcripts, parts)
    if against:
        tables.append(compared(samples, joined(scored(against)[1])))
    notes: list[str] = []
    if judge:
        verdicts = judge_cases(cases, judge, judged)
        samples |= verdicts.samples
        tables += verdicts.tables
        notes += verdicts.notes
    if human:
        tables.append(correlated(samples, human))
    metrics = estimates(samples, clustered=definition == "sound")
    tables.insert(0, _averages(metrics, definition))
    tables.append(_rounds(cases))
    if entities == "rules":
        notes.append("Examination counts entities found by rules; the paper's are spaCy's (--entities spacy).")
    show(Scores("medpmc", mode, len(cases), metrics, tables, notes), json_file)


def _averages(metrics: "Mapping[str, Estimate]", definition: "Definition") -> ExtraTable:
    """The row as the paper prints it, with its two averages; paper mode cuts to two decimals, as it does."""

    def average(*names: str) -> float | None:
        means = [metrics[name].mean for name in names]
        known = [mean for mean in means if mean is not None]
        return sum(known) / len(known) if len(known) == len(means) else None

    row: dict[str, float | None] = {name: metrics[name].mean for name in ("Inquiry", "Examination", "MMA")}
    row["Avg. (gathering)"] = average("Inquiry", "Examination", "MMA")
    row |= {name: metrics[name].mean for name in ("Diagnosis", "Treatment")}
    row["Avg. (decision)"] = average("Diagnosis", "Treatment")
    row |= {name: metrics[name].mean for name in ("Lens", "Turns")}
    title = "As printed, cut to two decimals" if definition == "paper" else "With averages"
    return ExtraTable(title, list(row), [[_printed(value, definition) for value in row.values()]])


def _printed(value: float | None, definition: "Definition") -> str:
    if value is None:
        return ""
    # The hundredth that the binary number falls short of by rounding alone is not cut off.
    return f"{math.floor(value * 100 + 1e-9) / 100:.2f}" if definition == "paper" else f"{value:.2f}"


def _rounds(cases: "Sequence[MedPmcTranscript]") -> ExtraTable:
    from scoring.medpmc.rounds import information_by_round

    rows = [
        [str(row.round), cell(row.general), cell(row.examination), cell(row.image)]
        for row in information_by_round(cases)
    ]
    return ExtraTable("Information gathered by round (ROUGE-1)", ["round", "general", "examination", "image"], rows)
