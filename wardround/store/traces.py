"""The trace file of a case: every call that was made for it, and what was filed; packed once the case has ended."""

import gzip
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path

from llm.limits import Limits, Meter
from llm.trace import Trace, kept_at, raw_lines, read_calls, trace_lines
from wardround.store.provenance import replacing


def read_trace(file: Path) -> Trace:
    """What is on record of a case so far, of a call asked again its last record; nothing if it was not begun."""
    return read_calls(trace_lines(file))


def traces_in(folder: Path) -> list[Path]:
    """The traces of a folder, each by the name under which it is written."""
    packed = (file.with_suffix("") for file in folder.glob("*.jsonl.gz"))
    return sorted({*folder.glob("*.jsonl"), *packed})


def run_meter(limits: Limits, traces: Iterable[Path]) -> Meter:
    """What the run has taken so far; looked up only where something limits it."""
    limited = limits != Limits()
    return Meter.of((read_trace(file) for file in traces) if limited else (), "run", limits)


def pack(file: Path) -> None:
    """Compress a trace that is no longer written, to a seventeenth; a kill leaves it as it is, or packed."""
    if file.is_file():
        with (
            replacing(file.with_name(f"{file.name}.gz")) as out,
            file.open("rb") as plain,
            gzip.GzipFile("", "wb", 6, out, mtime=0) as into,
        ):
            shutil.copyfileobj(plain, into)
        file.unlink()


def unpack(file: Path) -> None:
    """Let a trace be written on; of a damaged one the lines before the damage."""
    packed = file.with_name(f"{file.name}.gz")
    if kept_at(file) == packed:
        with replacing(file) as out:
            out.writelines(raw_lines(packed))
    packed.unlink(missing_ok=True)  # a kill may have left both


def packed_fault(file: Path) -> str | None:
    """Why a trace cannot be unpacked, if it is packed and cannot be."""
    where = kept_at(file)
    if where == file:
        return None
    try:
        with gzip.open(where) as lines:
            while lines.read(2**20):
                pass
    except (EOFError, OSError, zlib.error) as error:
        return f"{where}: cannot be unpacked: {error}"
    return None
