"""Export runs as data frames, for notebooks and your own statistics, and as Parquet files."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from wardround.config.experiment import ConfigurationError
from wardround.exports.rows import COLUMNS, LEVELS, Level, Row
from wardround.store.recorded_run import RecordedRun, find_runs

if TYPE_CHECKING:
    import pandas

# A column's type in pandas and in Arrow; both allow missing values.
_TYPES: dict[Any, tuple[str, str]] = {
    int: ("Int64", "int64"),
    float: ("float64", "float64"),
    bool: ("boolean", "bool"),
    str: ("str", "string"),
}
_BATCH_ROWS = 5000  # rows held in memory while Parquet is written


def to_dataframe(run: str | Path | Sequence[str | Path], level: Level = "cases") -> "pandas.DataFrame":
    """Return one or several runs as a data frame, by default with one row per case and epoch.

    Columns of ``cases``: ``case_id``, ``epoch``, ``termination``, each score under its name (missing where unscored),
    ``unscored.NAME`` (the reason), ``tokens``, ``cost``, ``seconds``, ``calls``, ``error``, ``rounds.PART``,
    ``stages.PART`` (how it ended), ``answers.diagnosis`` (one per line), and ``case.department``, from the answer key
    or, for a note, from its reconstruction (missing if the cases have changed since the run). With several runs or a
    sweep, the first column is ``run``; the other levels always have it. Their columns are described in
    ``exports/rows.py``.

    Args:
        run: a run directory, a sweep's, or a list of either; runs may be unfinished.
        level: ``runs``, ``cases``, ``turns`` (of dialogues), ``calls`` or ``verdicts``.

    Raises:
        ConfigurationError: a directory holds no run, or there is no such level.
    """
    if level not in LEVELS:
        raise ConfigurationError(f"level: {level!r} is not one of {', '.join(LEVELS)}")
    single = isinstance(run, str | Path)
    paths = [Path(run)] if isinstance(run, str | Path) else [Path(path) for path in run]
    runs = find_runs(paths)
    frame = _frame(runs, level)
    with_run_column = level != "cases" or not single or [found.path for found in runs] != paths
    return frame if with_run_column else frame.drop(columns="run", errors="ignore")


def write_parquet(runs: Sequence[RecordedRun], out: Path) -> list[Path]:
    """Write ``runs.parquet``, ``cases.parquet`` and so on into a folder, one file per level; return the files.

    Raises:
        ImportError: pyarrow is not installed.
        OSError: a file cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    out.mkdir(parents=True, exist_ok=True)
    files = []
    for level in LEVELS:
        files.append(out / f"{level}.parquet")
        if level not in COLUMNS:  # few rows, with columns that depend on the runs
            _frame(runs, level).to_parquet(files[-1], engine="pyarrow", index=False)
            continue
        schema = pyarrow.schema([(name, _type(annotation)[1]) for name, annotation in COLUMNS[level].items()])
        rows = _rows(runs, level)
        with parquet.ParquetWriter(files[-1], schema) as writer:
            while batch := list(islice(rows, _BATCH_ROWS)):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
    return files


def _rows(runs: Sequence[RecordedRun], level: Level) -> Iterator[Row]:
    return chain.from_iterable(LEVELS[level](run) for run in runs)


def _type(annotation: Any) -> tuple[str, str]:
    """Return the column types of an annotation such as ``int | None``."""
    return next(_TYPES[single] for single in (annotation, *get_args(annotation)) if single in _TYPES)


def _frame(runs: Sequence[RecordedRun], level: Level) -> "pandas.DataFrame":
    import pandas

    rows = list(_rows(runs, level))
    if level in COLUMNS:
        frame = pandas.DataFrame(rows, columns=list(COLUMNS[level]))
        return frame.astype({name: _type(annotation)[0] for name, annotation in COLUMNS[level].items()})
    frame = pandas.DataFrame(rows)
    if level == "cases":
        first = [name for name in _order(runs) if name in frame]
        frame = frame[[*first, *(name for name in frame.columns if name not in first)]]
    scores = {name for run in runs for name in run.suite.titles}
    unknown = [name for name in frame.columns if frame[name].dtype == object and frame[name].isna().all()]
    return frame.astype({name: "float64" if name in scores or name == "cost" else "str" for name in unknown})


def _order(runs: Sequence[RecordedRun]) -> list[str]:
    """Return the columns that come first, whichever the first case has."""
    scores = dict.fromkeys(name for run in runs for name in run.suite.columns)
    first = ["run", "case_id", "epoch", "termination", *scores]
    return [*first, "tokens", "cost", "seconds", "calls", "error", "answers.diagnosis", "case.department"]
