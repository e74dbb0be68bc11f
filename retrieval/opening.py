"""Open and build case memories: built in, in a directory, or on a Chroma server."""

import logging
import os
import re
import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cases import Case, load_cases
from cases.files import BUILTIN
from retrieval.embedding import embed
from retrieval.embedding_models import DEFAULT_MODEL
from retrieval.features import remember
from retrieval.memory import CaseMemoryError, Memory, Progress
from retrieval.open_files import allow_many
from retrieval.single_writer import SingleWriter

if TYPE_CHECKING:
    from chromadb.config import Settings

_BUILTIN_SPLITS = {BUILTIN: ("train", "validation"), f"{BUILTIN}:validation": ("validation",)}
_TELEMETRY = "ANONYMIZED_TELEMETRY"  # Chroma's environment variable

_log = logging.getLogger(__name__)
_open: dict[tuple[str, str], Memory] = {}
_opening = threading.Lock()


def open_memory(location: str | Path = BUILTIN, embedding: str = DEFAULT_MODEL) -> Memory:
    """Open a case memory; the same location and embedding return the same memory until it is closed.

    Args:
        location: ``"builtin"`` (the built-in train and validation cases, in memory), ``"builtin:validation"`` (smaller:
            only the validation cases), the directory of a built memory, or a Chroma server, ``http://host:port`` or
            ``http://host:port/prefix`` (the prefix of its collections' names).
        embedding: the embedding model, see ``embed``.

    Raises:
        CaseMemoryError: there is no such memory, the server does not answer, or another model built it.
        EmbeddingModelError: the embedding model cannot be loaded (built-in memory only).
    """
    return _opened(str(location), embedding, create=False)


def builtin_counts(location: str) -> dict[str, int] | None:
    """Count the cases of a built-in memory by department (``""``: none) without opening it; None if it is another."""
    if location not in _BUILTIN_SPLITS:
        return None
    departments = (case.key.department or "" for case in load_cases() if case.split in _BUILTIN_SPLITS[location])
    return dict(sorted(Counter(departments).items()))


def warn_of_other_languages(location: str, languages: Collection[str]) -> None:
    """Log a warning if a built-in memory holds no case in a language of the cases: doctors are shown those it has."""
    held = {case.language for case in load_cases() if case.split in _BUILTIN_SPLITS.get(location, ())}
    if held and (other := sorted({*languages} - held)):
        _log.warning(
            "memory: the built-in cases are in %s, none in %s, and doctors are shown these; build a memory of your own "
            "(`wardround memory build`), or set retrieval = false",
            " and ".join(map(repr, sorted(held))),
            ", ".join(map(repr, other)),
        )


def build_memory(
    cases: Iterable[Case],
    location: str | Path,
    embedding: str = DEFAULT_MODEL,
    progress: Progress | None = None,
    symptoms: Mapping[str, str] | None = None,
) -> Memory:
    """Add verified cases to a memory in a directory (created if missing) or on a server.

    Args:
        cases: cases with their answer keys.
        location: a directory or a server's address, as for ``open_memory``.
        embedding: the embedding model, see ``embed``.
        progress: called with the number of cases done and the total.
        symptoms: symptom descriptions by case id; for other cases they are derived by rule.

    Raises:
        CaseMemoryError: the memory cannot be opened or written.
        EmbeddingModelError: the embedding model cannot be loaded.
    """
    if str(location) in _BUILTIN_SPLITS:
        raise CaseMemoryError(
            f"case memory {str(location)!r} is built automatically when it is opened; name a directory or a server"
        )
    described = symptoms or {}
    remembered = [remember(case, described.get(case.id)) for case in cases]
    embed([case.symptoms for case in remembered[:1]], embedding)  # fails before a directory is created in vain
    memory = _opened(str(location), embedding, create=True)
    memory.add(remembered, progress=progress)
    return memory


def _opened(location: str, embedding: str, *, create: bool) -> Memory:
    is_server = location.startswith(("http://", "https://"))
    place = location if is_server or location in _BUILTIN_SPLITS else str(Path(os.path.expanduser(location)).resolve())
    with _opening:
        memory = _open.get((place, embedding))
        if memory is None or memory.closed:
            allow_many()
            if is_server:
                memory = _on_server(place, embedding)
            elif location in _BUILTIN_SPLITS:
                memory = _built_in(location, embedding)
            else:
                memory = _in_directory(Path(place), embedding, create=create)
            _open[place, embedding] = memory
    return memory


def _built_in(location: str, embedding: str) -> Memory:
    import chromadb
    from chromadb.config import Settings

    # All in-process clients are one, and need equal settings: ours are Chroma's default ones, with which the program
    # around opens its own.
    before = os.environ.get(_TELEMETRY, "True")
    os.environ[_TELEMETRY] = "False"
    try:
        client: Any = chromadb.EphemeralClient(Settings(_env_file=None))
    except ValueError:  # the program was first
        os.environ[_TELEMETRY] = before
        client = chromadb.EphemeralClient()
    memory = Memory(client, location=location, embedding=embedding, prefix=f"wardround-{uuid.uuid4().hex}")
    memory.add(remember(case) for case in load_cases() if case.split in _BUILTIN_SPLITS[location])
    return memory


def _in_directory(folder: Path, embedding: str, *, create: bool) -> Memory:
    import chromadb

    if not create and not (folder / "chroma.sqlite3").is_file():
        state = "contains no case memory" if folder.exists() else "does not exist"
        raise CaseMemoryError(f"case memory {str(folder)!r} {state}; build it first (`wardround memory build`)")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CaseMemoryError(
            f"case memory {str(folder)!r} cannot be a directory ({error.strerror}); use a new one, or that of a memory"
        ) from error
    with ExitStack() as on_failure:
        try:
            writer = SingleWriter(folder)
            on_failure.callback(writer.release)
            if create:
                writer.acquire()
            client: Any = chromadb.PersistentClient(folder, _settings())
            on_failure.callback(client.close)
        except Exception as error:  # errors of the file system, SQLite, and Chroma
            raise CaseMemoryError(
                f"case memory {str(folder)!r} cannot be opened: {error}; see that it is whole and yours to write (or "
                "copy it), or build another (`wardround memory build`)"
            ) from error
        memory = Memory(client, location=str(folder), embedding=embedding, writer=writer)
        on_failure.pop_all()
    return memory


def _on_server(url: str, embedding: str) -> Memory:
    import chromadb

    from retrieval.chroma_server import bounded

    if re.search("[@?#]", url):  # the address is in every record of a run
        raise CaseMemoryError(
            "the address of a case memory must not contain a user, password or query; write http://host:port/prefix"
        )
    try:
        address = urlsplit(url)
        encrypted = address.scheme == "https"
        port = address.port or (443 if encrypted else 8000)
        host = f"[{address.hostname}]" if ":" in (address.hostname or "") else address.hostname
        prefix = address.path.strip("/") or "wardround"
        if not host or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", prefix):
            raise ValueError("the host or the prefix is missing or has an invalid character")
    except ValueError as error:
        raise CaseMemoryError(
            f"case memory {url!r} is not a valid address ({error}); write http://host:port or http://host:port/prefix"
        ) from error
    try:
        with bounded():
            client: Any = chromadb.HttpClient(host, port, encrypted, settings=_settings())
    except Exception as error:  # Chroma's errors, httpx's, plain ValueError
        raise CaseMemoryError(
            f"case memory {url!r} does not answer ({error}); start a server (`chroma run --path DIRECTORY "
            "--port PORT`) or correct the address"
        ) from error
    return Memory(client, location=url, embedding=embedding, prefix=prefix, shared=True)


def _settings() -> "Settings":
    from chromadb.config import Settings

    # A `.env` of the working directory could name another server, or a class to import.
    return Settings(_env_file=None, anonymized_telemetry=False)
