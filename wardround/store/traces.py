"""The trace file of a case: every call made for it, and its events; packed once the case is final."""

import gzip
import hashlib
import os
import re
import shutil
import unicodedata
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from cases.validation import InputError
from cases.whole_files import replacing
from llm.limits import Limits, Meter
from llm.trace import Trace, kept_at, raw_lines, read_calls, too_large, trace_lines

_LONGEST_NAME = 200  # bytes of a file name; systems allow 255, including our suffixes


def read_trace(file: Path) -> Trace:
    """Read the trace of a case so far; of a repeated call, its last record; empty if the case was not started."""
    return read_calls(trace_lines(file))


def traces_in(folder: Path, but: Collection[str] = ()) -> list[Path]:
    """Return the traces of a folder, each by its name when unpacked, except those with the names in ``but``."""
    listed = os.listdir(folder) if folder.is_dir() else ()
    names = {file.removesuffix(".gz") for file in listed}.difference(but)
    return [folder / name for name in sorted(names) if name.endswith(".jsonl")]


def run_meter(limits: Limits, folder: Path) -> Meter:
    """Return a meter of what a run has used, by the traces in a folder; they are read only if the run is limited."""
    limited = limits != Limits()
    return Meter.of((read_trace(file) for file in traces_in(folder)) if limited else (), "run", limits)


def pack(file: Path) -> None:
    """Compress a trace that is no longer written, to about 6% of its size; a kill leaves it either plain or packed."""
    if file.is_file():
        with (
            replacing(file.with_name(f"{file.name}.gz")) as out,
            file.open("rb") as source,
            gzip.GzipFile("", "wb", 6, out, mtime=0) as compressed,
        ):
            shutil.copyfileobj(source, compressed)
        file.unlink()


def unpack(file: Path) -> None:
    """Unpack a trace so that it can be appended to; of a damaged one, the lines before the damage.

    Of one that unpacks to more than any trace, nothing is kept.
    """
    packed = file.with_name(f"{file.name}.gz")
    if kept_at(file) == packed:
        with suppress(InputError), replacing(file) as out:
            out.writelines(raw_lines(packed))
    packed.unlink(missing_ok=True)  # a kill may have left both


def packed_fault(file: Path) -> str | None:
    """Return why a packed trace cannot be unpacked; None if it can, or is not packed."""
    packed = kept_at(file)
    if packed == file:
        return None
    if fault := too_large(packed):
        return fault
    if not packed.stat().st_size:  # gzip takes it for a whole file, but writes none without a header
        return f"{packed}: cannot be unpacked: is empty"
    try:
        with gzip.open(packed) as lines:
            while lines.read(2**20):
                pass
    except (EOFError, OSError, zlib.error) as error:
        return f"{packed}: cannot be unpacked: {error}"
    return None


def trace_name(case_id: str, epoch: int) -> str:
    """Return the name of a case's trace, unpacked: its id as far as a file system bears it, and made unique."""
    safe = re.sub(r"[^\w.-]", "_", case_id)[:80]
    safe = safe.encode("utf-8", "replace")[:_LONGEST_NAME].decode("utf-8", "ignore")
    if safe != case_id:
        safe += "-" + hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}-{epoch}.jsonl"


def differing_by_letter_case(ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the ids whose traces a file system that ignores letter case takes for that of an earlier id, with it.

    An id can also be spelt as the name of another's trace is (`a_b-c8687a08` and `a b`).
    """
    seen: dict[str, str] = {}
    for own in ids:
        if (other := seen.setdefault(_folded(trace_name(own, 0)), own)) != own:
            yield other, own


def _folded(name: str) -> str:
    """Return what a file system that ignores letter case, and how a letter is composed, takes a name for."""
    return unicodedata.normalize("NFC", name).casefold()
