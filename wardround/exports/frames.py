"""Runs as data frames, for notebooks and statistics of one's own, and the same as Parquet files."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from wardround.config.experiment import ConfigurationError
from wardround.exports.rows import COLUMNS, LEVELS, Level, Row
from wardround.store.recorded_run import RecordedRun, find_runs

if TYPE_CHECKING:
    import pandas

# A column's type as pandas and as Arrow call it; what may be missing in a row has the same one.
_TYPES: dict[Any, tuple[str, str]] = {
    int: ("Int64", "int64"),
    float: ("float64", "float64"),
    bool: ("boolean", "bool"),
    str: ("str", "string"),
}
_AT_ONCE = 5000  # rows that are in memory while Parquet is written


def to_dataframe(run: str | Path | Sequence[str | Path], level: Level = "cases") -> "pandas.DataFrame":
    """A run, or several, as a table: by default one row a case and epoch.

    Columns of ``cases``: ``case_id``, ``epoch``, ``termination``, each score under its name (missing where unscored),
    ``unscored.NAME`` (why), ``tokens``, ``cost``, ``seconds``, ``calls``, ``error``, ``rounds.PART``, ``stages.PART``
    (how it ended), ``answers.diagnosis``, one a line, and ``case.department``, by the answer key or, of a note, by who
    reconstructed it (missing where the cases are not those that were run). Several runs, or a sweep, have a first
    column ``run``; the other levels always have it. What those hold stands with their rows in ``exports/rows.py``.

    Args:
        run: a run directory, a sweep's, or a list of either; a run need not be finished.
        level: ``runs``, ``cases``, ``turns`` (of dialogues), ``calls`` or ``verdicts``.

    Raises:
        ConfigurationError: a directory holds no run, or there is no such level.
    """
    if level not in LEVELS:
        raise ConfigurationError(f"level: {level!r} is none of {', '.join(LEVELS)}")
    one = isinstance(run, str | Path)
    paths = [Path(run)] if isinstance(run, str | Path) else [Path(path) for path in run]
    runs = find_runs(paths)
    frame = _frame(runs, level)
    named = level != "cases" or not one or [found.path for found in runs] != paths
    return frame if named else frame.drop(columns="run", errors="ignore")


def write_parquet(runs: Sequence[RecordedRun], out: Path) -> list[Path]:
    """Write ``runs.parquet``, ``cases.parquet`` and so on into a folder, a file a level; gives them.

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
        if level not in COLUMNS:  # few rows, and columns of their own
            _frame(runs, level).to_parquet(files[-1], engine="pyarrow", index=False)
            continue
        schema = pyarrow.schema([(name, _type(told)[1]) for name, told in COLUMNS[level].items()])
        rows = _rows(runs, level)
        with parquet.ParquetWriter(files[-1], schema) as writer:
            while batch := list(islice(rows, _AT_ONCE)):
                writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
    return files


def _rows(runs: Sequence[RecordedRun], level: Level) -> Iterator[Row]:
    return chain.from_iterable(LEVELS[level](run) for run in runs)


def _type(told: Any) -> tuple[str, str]:
    """Of an annotation, such as ``int | None``."""
    return next(_TYPES[one] for one in (told, *get_args(told)) if one in _TYPES)


def _frame(runs: Sequence[RecordedRun], level: Level) -> "pandas.DataFrame":
    import pandas

    rows = list(_rows(runs, level))
    if level in COLUMNS:
        frame = pandas.DataFrame(rows, columns=list(COLUMNS[level]))
        return frame.astype({name: _type(told)[0] for name, told in COLUMNS[level].items()})
    frame = pandas.DataFrame(rows)
    if level == "cases":
        first = [name for name in _order(runs) if name in frame]
        frame = frame[[*first, *(name for name in frame.columns if name not in first)]]
    scores = {name for run in runs for name in run.suite.titles}
    unknown = [name for name in frame.columns if frame[name].dtype == object and frame[name].isna().all()]
    return frame.astype({name: "float64" if name in scores or name == "cost" else "str" for name in unknown})


def _order(runs: Sequence[RecordedRun]) -> list[str]:
    """The columns that stand first, whatever the first case has."""
    scores = dict.fromkeys(name for run in runs for name in run.suite.columns)
    first = ["run", "case_id", "epoch", "termination", *scores]
    return [*first, "tokens", "cost", "seconds", "calls", "error", "answers.diagnosis", "case.department"]
