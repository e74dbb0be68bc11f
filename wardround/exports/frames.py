"""Export runs as data frames and Parquet files: the rows of five levels (runs, cases, turns, calls, verdicts)."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import pandas

from cases import Case
from cases.whole_files import replacing
from llm.trace import Call, Trace, summed
from scoring.clini_eval.dialogue import ReconstructionAnswers
from wardround.analysis.notes import is_usage_known
from wardround.config.experiment import ConfigurationError
from wardround.report.course import said_in
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result

Level = Literal["runs", "cases", "turns", "calls", "verdicts"]
Row = Mapping[str, Any]
_TEXTS_OF_RUNS = {"version", "commit"}  # that a run may lack; other columns that a run lacks are numbers
# Columns of a case, as in its result.
_FACTS = {"termination", "seconds", "calls", "error"}
_ROUND = re.compile(r"/round(\d+)(?:/|$)")

_PLACE: Mapping[str, Any] = {"run": str, "case_id": str, "epoch": int}
_USAGE = ("input_tokens", "output_tokens", "cost")
_OF_A_CALL = (
    *("role", "stage", "model", "prompt", "prompt_hash", "started", "seconds", "attempts", "form", "repaired"),
    *("shortened", "cached", *_USAGE),
)
# The columns, with types, of the levels whose columns are the same in every run.
COLUMNS: Mapping[Level, Mapping[str, Any]] = {
    "turns": {  # one utterance, with what the patient's side recorded for it; facts and pictures are one per line
        **_PLACE,
        "number": int,
        **dict.fromkeys(("speaker", "text", "action", "plain", "facts", "pictures"), str),
    },
    "calls": {  # one call of a role; the answer is JSON
        **_PLACE,
        "call": str,
        **{name: Call.model_fields[name].annotation for name in _OF_A_CALL},
        **dict.fromkeys(("answer", "error"), str),
    },
    "verdicts": {  # one judgement: a physician's on a decision (`feedback`), or a judge's on a case's answers (`score`)
        **_PLACE,
        **dict.fromkeys(("call", "kind", "stage"), str),
        "round": int,
        **dict.fromkeys(("judge", "model"), str),
        "accepted": bool,
        **dict.fromkeys(("reason", "answer"), str),
    },
}


def runs_of(run: RecordedRun) -> Iterator[Row]:
    """Yield the run's row: what was run, how many cases, and each mean with error, interval, number and lower bound."""
    results = run.results
    means: dict[str, float | None] = {}
    for name, found in run.estimates.items():
        low, high = found.ci95 or (None, None)
        means |= {name: found.mean, f"{name}.se": found.se, f"{name}.low": low, f"{name}.high": high}
        means[f"{name}.n"] = found.n
    means |= {f"{name}.failed_as_wrong": bound.mean for name, bound in run.failed_as_wrong.items()}
    yield {
        "run": run.name,
        "graph": run.experiment.graph,
        "suite": run.suite.name,
        "seed": run.experiment.seed,
        "data": str(run.experiment.data.notes or run.experiment.data.cases),
        "planned": run.planned,
        "attempted": len(results),
        "scored": len(run.scored),
        "failed": run.failed,
        **_used(results),
        "seconds": sum(result.seconds for result in results),
        "calls": sum(result.calls for result in results),
        "models": _json(run.models),
        "configuration": _json(run.manifest["configuration"]),
        "version": run.versions.get("wardround"),
        "commit": (run.manifest.get("git") or {}).get("commit"),
        **means,
    }


def cases_of(run: RecordedRun) -> Iterator[Row]:
    """Yield one row per case and epoch, in order."""
    known, _ = run.known_cases()
    for result in run.each_answered():
        yield {
            **_place(run, result),
            "suite": run.suite.name,
            **result.model_dump(include=_FACTS),
            **_used([result]),
            **result.scores,
            "answers.diagnosis": "\n".join(result.answers.diagnosis) if result.answers else None,
            **{f"rounds.{part}": rounds for part, rounds in result.rounds.items()},
            **{f"stages.{part}": end for part, end in result.stages.items()},
            **{f"unscored.{name}": reason for name, reason in result.unscored.items()},
            "case.department": _department(result, known.get(result.case_id)),
        }


def _used(results: Sequence[Result]) -> Row:
    """Return tokens and cost, missing if no server reported any, and the number of calls without a report."""
    tokens, uncounted = sum(result.tokens for result in results), sum(result.uncounted for result in results)
    known = {"tokens": tokens, "cost": summed(result.cost for result in results)}
    return {**(known if is_usage_known(tokens, uncounted) else dict.fromkeys(known)), "uncounted": uncounted}


Traced = Callable[[], Trace]  # the trace of a result, read when it is called


def turns_of(result: Result, trace: Traced) -> Iterator[Row]:
    """Yield every utterance of a dialogue; with several doctors, of the first one's."""
    for number, turn in enumerate(said_in(result.answers, trace), start=1):
        yield {
            "number": number,
            "speaker": turn.speaker,
            "text": turn.text,
            "action": turn.action or None,
            "plain": turn.plain or None,
            "facts": "\n".join(turn.facts) or None,
            "pictures": "\n".join(picture.item for picture in turn.pictures) or None,
        }


def calls_of(_: Result, trace: Traced) -> Iterator[Row]:
    """Yield every call of a case that has ended, without the messages, which are the bulk of it.

    Tokens and cost are missing if a server reported no usage.
    """
    for call in trace().calls:
        answer = None if call.answer is None else _json(call.answer)
        usage = dict.fromkeys(_USAGE) if call.is_uncounted else {}
        yield {"call": call.id, **call.model_dump(include={*_OF_A_CALL, "error"}), **usage, "answer": answer}


def verdicts_of(_: Result, trace: Traced) -> Iterator[Row]:
    """Yield every judgement that was given."""
    for call in trace().calls:
        answer = call.answer
        if not isinstance(answer, dict) or not (call.stage == "evaluation" or "accepted" in answer):
            continue
        found = _ROUND.search(call.id)
        last = call.id.rpartition("/")[2]
        reason = answer.get("reason")
        yield {
            "call": call.id,
            "kind": "score" if call.stage == "evaluation" else "feedback",
            "stage": call.stage,
            "round": int(found[1]) if found else None,
            "judge": call.role if call.stage == "evaluation" or last.startswith("round") else last,
            "model": call.model,
            "accepted": answer.get("accepted"),
            "reason": reason if isinstance(reason, str) else None,
            "answer": _json(answer),
        }


_OF_RUNS: Mapping[Level, Callable[[RecordedRun], Iterator[Row]]] = {"runs": runs_of, "cases": cases_of}
_OF_CASES: Mapping[Level, Callable[[Result, Traced], Iterator[Row]]] = {
    "turns": turns_of,
    "calls": calls_of,
    "verdicts": verdicts_of,
}


def _each_case(runs: Sequence[RecordedRun], levels: Collection[Level]) -> Iterator[tuple[Level, Row]]:
    """Yield the rows of these levels of every case that has ended; its trace is read once, if at all."""
    for run in runs:
        for result in run.each_answered() if "turns" in levels else run.results:
            trace = cache(partial(run.trace, result))
            for level in levels:
                yield from ((level, {**_place(run, result), **row}) for row in _OF_CASES[level](result, trace))


def _place(run: RecordedRun, result: Result) -> Row:
    return {"run": run.name, "case_id": result.case_id, "epoch": result.epoch}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _department(result: Result, case: Case | None) -> str | None:
    answers = result.answers
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        return answers.reconstructed.department
    return case.key.department if case else None


# A column's type in pandas and in Arrow; both allow missing values.
_TYPES: dict[Any, tuple[str, str]] = {
    int: ("Int64", "int64"),
    float: ("float64", "float64"),
    bool: ("boolean", "bool"),
    str: ("str", "string"),
}
_BATCH_ROWS = 5000  # rows held in memory while a frame is made, or Parquet is written


def to_dataframe(run: str | Path | Iterable[str | Path], level: Level = "cases") -> pandas.DataFrame:
    """Return one or several runs as a data frame, by default with one row per case and epoch.

    Columns of ``cases``: ``case_id``, ``epoch``, ``termination``, each score under its name (missing where unscored),
    ``unscored.NAME`` (the reason), ``tokens`` and ``cost`` (too low, or missing, if servers reported no usage),
    ``seconds``, ``calls``, ``uncounted`` (calls whose servers reported no tokens), ``error``, ``rounds.PART``,
    ``stages.PART`` (how it ended), ``answers.diagnosis`` (one per line), and ``case.department``, from the answer key
    or, for a note, from its reconstruction (missing if the cases have changed since the run). With several runs or a
    sweep, the first column is ``run``; if their suites differ, ``suite`` follows, since scores of one name may then
    have different scales. The other levels always have ``run``, and the columns of ``COLUMNS``.

    Args:
        run: a run directory, a sweep's, or a list of either; runs may be unfinished.
        level: ``runs``, ``cases``, ``turns`` (of dialogues), ``calls`` or ``verdicts``.

    Raises:
        ConfigurationError: a directory holds no run, the list is empty, or there is no such level.
    """
    if level not in get_args(Level):
        raise ConfigurationError(f"level: {level!r} is not one of {', '.join(get_args(Level))}")
    single = isinstance(run, str | Path)
    paths = [Path(run)] if isinstance(run, str | Path) else [Path(path) for path in run]
    if not paths:  # of a pattern that no directory fits, perhaps
        raise ConfigurationError("run: the list is empty; expected run directories")
    runs = find_runs(paths)
    frame = _frame(runs, level)
    with_run_column = level != "cases" or not single or [found.path for found in runs] != paths
    return frame if with_run_column else frame.drop(columns="run", errors="ignore")


def write_parquet(runs: Sequence[RecordedRun], out: Path) -> list[Path]:
    """Write ``runs.parquet``, ``cases.parquet`` and so on into a folder, one file per level; return the files.

    Each file is whole, or as it was before.

    Raises:
        ImportError: pyarrow is not installed.
        OSError: a file cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    out.mkdir(parents=True, exist_ok=True)
    files: dict[Level, Path] = {level: out / f"{level}.parquet" for level in get_args(Level)}
    for level in _OF_RUNS:  # few rows, with columns that depend on the runs
        with replacing(files[level]) as file:
            _frame(runs, level).to_parquet(file, engine="pyarrow", index=False)
    with ExitStack() as stack:
        opened = {level: stack.enter_context(replacing(files[level])) for level in _OF_CASES}
        schemas = {
            level: pyarrow.schema([(name, _type(annotation)[1]) for name, annotation in COLUMNS[level].items()])
            for level in _OF_CASES
        }
        writers = {
            level: stack.enter_context(parquet.ParquetWriter(file, schemas[level])) for level, file in opened.items()
        }
        waiting: dict[Level, list[Row]] = {level: [] for level in writers}

        def write(level: Level) -> None:
            rows, waiting[level] = waiting[level], []
            writers[level].write_table(pyarrow.Table.from_pylist(rows, schema=schemas[level]))

        for level, row in _each_case(runs, [*writers]):
            waiting[level].append(row)
            if len(waiting[level]) == _BATCH_ROWS:
                write(level)
        for level in [level for level, rows in waiting.items() if rows]:
            write(level)
    return list(files.values())


def _type(annotation: Any) -> tuple[str, str]:
    """Return the column types of an annotation such as ``int | None``."""
    return next(_TYPES[single] for single in (annotation, *get_args(annotation)) if single in _TYPES)


def _frame(runs: Sequence[RecordedRun], level: Level) -> pandas.DataFrame:
    if level in _OF_CASES:
        types = {name: _type(annotation)[0] for name, annotation in COLUMNS[level].items()}
        rows = (row for _, row in _each_case(runs, [level]))
        parts = [pandas.DataFrame(columns=list(types)).astype(types)]  # typed, a quarter of the memory of rows
        while batch := list(islice(rows, _BATCH_ROWS)):
            parts.append(pandas.DataFrame(batch, columns=list(types)).astype(types))
        return pandas.concat(parts, ignore_index=True)
    frame = pandas.DataFrame([row for run in runs for row in _OF_RUNS[level](run)])
    if level == "cases":
        if len({run.suite.name for run in runs}) == 1:
            frame = frame.drop(columns="suite", errors="ignore")
        first = [name for name in _order(runs) if name in frame]
        frame = frame[[*first, *(name for name in frame.columns if name not in first)]]
    scores = {name for run in runs for name in run.suite.titles}
    numbers = {"cost", *scores, *({*frame.columns} - _TEXTS_OF_RUNS if level == "runs" else ())}
    unknown = [name for name in frame.columns if frame[name].dtype == object and frame[name].isna().all()]
    frame = frame.astype({name: "float64" if name in numbers else "str" for name in unknown})
    counts = [name for name in frame.columns if _is_count(name) and name not in scores]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _is_count(name: str) -> bool:
    """Whether a column counts something, so that its numbers stay whole beside missing ones."""
    return name in ("tokens", "calls", "uncounted") or name.startswith("rounds.") or name.endswith(".n")


def _order(runs: Sequence[RecordedRun]) -> list[str]:
    """Return the columns that come first, whichever the first case has."""
    scores = dict.fromkeys(name for run in runs for name in run.suite.columns)
    first = ["run", "suite", "case_id", "epoch", "termination", *scores]
    return [*first, "tokens", "cost", "seconds", "calls", "uncounted", "error", "answers.diagnosis", "case.department"]
