"""``wardround judges``: compare the judges of runs with people and with each other."""

from pathlib import Path
from typing import Annotated

from typer import Option

from wardround.commands.options import CsvFolder, JsonFile, Judgements, Runs
from wardround.printing import echo


def judges(
    runs: Runs,
    judge: Annotated[
        list[str] | None,
        Option(metavar="SPEC", help="Model that judges the answers again, or 'offline'; may be repeated."),
    ] = None,
    marks: Judgements = None,
    human: Annotated[
        Path | None,
        Option(
            metavar="CSV",
            help="People's scores from elsewhere: a column 'case' (RUN/CASE for several runs), then the scores.",
        ),
    ] = None,
    csv: CsvFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Compare judges with people and with each other.

    For each judged score of the runs, print its mean by judge, the rank correlation with people's marks and with
    length, the agreement of the judges, and the preference of a judge for models of its own family. No doctor is called
    again. For position bias, use `wardround score aie-pairwise`, which judges each pair in both orders.
    """
    from wardround.analysis.notes import used_notes
    from wardround.analysis.rescoring import judged_with
    from wardround.rating.judges import judged, marks_of, scores_of, tables_of
    from wardround.run.own_loop import run_alone
    from wardround.store.recorded_run import find_runs
    from wardround.tables.terminal import print_and_write

    found = find_runs(runs)
    judgements = run_alone(judged, found, [])
    people = scores_of(human, judgements, several=len(found) > 1) if human else marks_of(found, marks)
    if judge:  # only now, after everything that may be refused
        with judged_with() as meter:
            judgements = run_alone(judged, found, judge)
    print_and_write(tables_of(judgements, people), csv, json_file)
    for note in used_notes(meter.spent) if judge else ():
        echo(note)
