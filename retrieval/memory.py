"""The case memory (MedCase-RAG): search by department and cosine similarity, verified cases first."""

import copy
import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

from cases.validation import InputError, in_a_line
from cases.vocabulary import DEPARTMENTS, Language
from retrieval.chroma_collections import ALL_DEPARTMENTS, Shelves
from retrieval.embedding import embed, unit_rows
from retrieval.embedding_models import fingerprint
from retrieval.exact_search import Candidate, Nearest
from retrieval.features import RememberedCase
from retrieval.kinship import Kin
from retrieval.open_files import remedy
from retrieval.single_writer import SingleWriter

if TYPE_CHECKING:
    from chromadb.api.client import Client

Progress = Callable[[int, int], None]

_BATCH = 1_000  # cases; Chroma accepts at most 5,461 at once


class CaseMemoryError(InputError):
    """A case memory cannot be used; the message names its location and the remedy."""


@dataclass(frozen=True)
class Neighbour:
    """A remembered case and its cosine similarity (-1 to 1) to the given symptoms.

    Attributes:
        told, found: for the offline rules: the similarity of the patients' words, and of the findings.
        aside: set if only the offline rules use the neighbour and no prompt shows it: a further case, or a clinic that
            is found by its name.
    """

    case: RememberedCase
    similarity: float
    told: float | None = None
    found: float = 0.0
    aside: Literal["", "case", "clinic"] = ""


@dataclass(frozen=True)
class Count:
    """The number of cases of a department."""

    verified: int
    pseudo: int


class Memory:
    """Remembered cases, found by their symptom descriptions. Opened by ``open_memory``; thread-safe."""

    def __init__(
        self,
        client: "Client",
        *,
        location: str,
        embedding: str,
        prefix: str = "wardround",
        writer: SingleWriter | None = None,
        shared: bool = False,
    ) -> None:
        """Use the collections of a Chroma client whose names begin with ``prefix``; ``shared`` if others write too.

        Raises:
            CaseMemoryError: they have vectors of another embedding model, or cannot be read.
        """
        self.location = location
        self.embedding = embedding
        self.run = ""
        self._client = client
        self._writer = writer
        self._write_lock = threading.RLock()
        self._closed = threading.Event()
        self._embedded = lru_cache(maxsize=256)(lambda text: embed([text], embedding)[0])  # stages embed the same texts
        own = fingerprint(embedding)
        self._shelves = Shelves(client, prefix, embedding, fingerprint=own, shared=shared)
        with self._naming("read"):
            built_with = self._shelves.embeddings()
        # A folder is the same model under any path; memories of before have no fingerprint.
        foreign = sorted({name for name, state in built_with if (state != own if state else name != embedding)})
        if foreign:
            other = "other files of it" if foreign == [embedding] else embedding
            raise CaseMemoryError(
                f"case memory {location!r} was built with the embedding model {', '.join(foreign)}, not {other}; use "
                "that model, or build the memory again in another place"
            )

    def for_run(self, run: str) -> "Memory":
        """Return the same memory with the pseudo-cases of one run; runs share only the verified cases."""
        scoped = copy.copy(self)
        scoped.run = run
        return scoped

    def add(
        self, cases: Iterable[RememberedCase], embeddings: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> int:
        """Remember cases; return the number of different ones stored.

        A case replaces an earlier one with the same id, also in another department; of cases with one id in this call,
        the last is kept. Verified and pseudo-cases are separate: a pseudo-case never replaces a verified case. Add
        verified cases in large batches, because every call checks the indexes of their departments.

        Args:
            cases: the cases.
            embeddings: their vectors, (n, d), of any length; if None, their symptom descriptions are embedded.
            progress: called after each batch with the number of cases stored and the total.

        Raises:
            CaseMemoryError: the memory cannot be written, or another process is writing it.
            ValueError: the embeddings are not one finite vector per case.
            EmbeddingModelError: the embedding model cannot be loaded.
        """
        given = list(cases)
        vectors = None if embeddings is None else unit_rows(embeddings)
        if vectors is not None and (vectors.ndim != 2 or len(vectors) != len(given) or not np.isfinite(vectors).all()):
            raise ValueError(f"cases need finite embeddings of shape ({len(given)}, d), not {vectors.shape}")
        # Of rows with one id, the last is kept.
        rows = sorted({(case.verified, case.id): row for row, case in enumerate(given)}.values())
        with self._write_lock:
            for done in range(0, len(rows), _BATCH):
                indices = rows[done : done + _BATCH]
                batch, texts = [given[row] for row in indices], [given[row].symptoms for row in indices]
                self._put(batch, embed(texts, self.embedding) if vectors is None else vectors[indices])
                if progress:
                    progress(done + len(indices), len(rows))
            with self._writing():
                self._shelves.mend({given[row].department for row in rows if given[row].verified})
        return len(rows)

    def restore(self, courses: Iterable[RememberedCase]) -> None:
        """Have these pseudo-cases of this run and no others: what it wrote before a kill may not be in its record.

        Raises:
            CaseMemoryError, EmbeddingModelError: as for ``add``.
        """
        kept = list(courses)
        with self._writing():
            self._shelves.keep({course.id for course in kept}, self.run)
        self.add(kept)

    def recall(
        self,
        symptoms: str | ArrayLike,
        department: str | None,
        *,
        exclude: Collection[str] = (),
        kin: Kin | None = None,
        language: Language | None = None,
        before: int | None = None,
        k: int = 3,
    ) -> list[Neighbour]:
        """Return the k cases nearest to a symptom description: verified ones first, then by similarity, then by id.

        Args:
            symptoms: the symptom description, or its embedding (d,); blank text finds nothing.
            department: the first-level department to search; None searches all, "" the cases without a department.
            exclude: ids that are never returned, since a case must not retrieve itself.
            kin: of the searching case; its variants and near duplicates are not returned either.
            language: only cases in this language; None means any.
            before: only pseudo-cases whose order is less (0: none); None means all of this run.
            k: the number of cases; fewer are returned if there are no more.

        Raises:
            CaseMemoryError: the memory cannot be read.
            EmbeddingModelError: the embedding model cannot be loaded.
        """
        if isinstance(symptoms, str):
            if not symptoms.strip():
                return []
            symptoms = self._embedded(symptoms)
        query = unit_rows(symptoms).astype(np.float64)
        one = (DEPARTMENTS.require(department),) if department else (None,)
        departments = ALL_DEPARTMENTS if department is None else one
        with self._naming("read"):
            search = partial(self._shelves.nearest, query, departments)
            found = _nearest(search, exclude, kin, language, k)
            if len(found) < k and before != 0:
                hidden = {*exclude, *(neighbour.case.id for neighbour in found)}
                pseudo = partial(search, run=self.run, before=before)
                found += _nearest(pseudo, hidden, kin, language, k - len(found))
        return found

    def content_hash(self) -> str:
        """Return a hash of all verified cases, without their embeddings."""
        with self._naming("read"):
            cases = sorted(case for name in ALL_DEPARTMENTS for case in self._shelves.verified(name))
        return hashlib.sha256("\n".join(cases).encode()).hexdigest()[:32]

    def verified(self) -> Iterator[RememberedCase]:
        """Yield every verified case."""
        with self._naming("read"):
            for name in ALL_DEPARTMENTS:
                yield from map(_parsed, self._shelves.verified(name))

    def stats(self) -> dict[str, Count]:
        """Return the number of cases of each department that has any (``""``: none), with this run's pseudo-cases."""
        with self._naming("read"):
            count = self._shelves.count
            counts = {name or "": Count(count(name, None), count(name, self.run)) for name in ALL_DEPARTMENTS}
        return {name: counted for name, counted in counts.items() if counted.verified or counted.pseudo}

    def holds(self, ids: Sequence[str]) -> set[str]:
        """Return which of these ids are remembered as verified cases, in any department."""
        with self._naming("read"):
            return {case_id for name in ALL_DEPARTMENTS for case_id in self._shelves.among(ids, name)}

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed.is_set()

    def close(self) -> None:
        """Close Chroma and release the right to write. A closed memory cannot be used; open it again."""
        with self._write_lock:
            if not self._closed.is_set():
                self._closed.set()
                self._client.close()
                if self._writer:
                    self._writer.release()

    def _put(self, cases: Sequence[RememberedCase], vectors: NDArray[np.float32]) -> None:
        with self._writing():
            for run in (None, self.run):
                rows = [row for row, case in enumerate(cases) if case.verified == (run is None)]
                self._shelves.put([cases[row] for row in rows], vectors[rows], run)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the right to write, among threads and processes."""
        with self._write_lock, self._naming("written"):
            if self._writer:
                self._writer.acquire()
            try:
                yield
            finally:
                if self._writer:
                    self._writer.written()

    @contextmanager
    def _naming(self, done: str) -> Iterator[None]:
        """Add the location to any error of Chroma or the file system."""
        if self.closed:
            raise CaseMemoryError(f"case memory {self.location!r} was closed; open it again")
        try:
            yield
        except CaseMemoryError:
            raise
        except Exception as error:  # Chroma raises its own errors, httpx's, and plain Exception
            hint = remedy()
            if not hint and self._writer:
                hint = "; if it is damaged, build another (`wardround memory build`)"
            elif not hint and self.location.startswith(("http://", "https://")):
                hint = "; check its server, then repeat the command"
            raise CaseMemoryError(f"case memory {self.location!r} cannot be {done}: {error}{hint}") from error


def _nearest(
    search: Callable[[int], list[Nearest]], hidden: Collection[str], kin: Kin | None, language: Language | None, k: int
) -> list[Neighbour]:
    """Return the k nearest cases; search deeper until no shelf can have a nearer one left."""
    wanted = k + len(hidden)
    while True:
        shelves = search(wanted)
        found = _best((shelf.candidates for shelf in shelves), set(hidden), kin, language, k)
        farthest = found[-1].similarity if len(found) == k and found else -2.0
        if not any(shelf.others and min(shelf.candidates)[0] > farthest for shelf in shelves):
            return found
        wanted = 2 * wanted + 1


def _best(
    shelves: Iterable[list[Candidate]], hidden: set[str], kin: Kin | None, language: Language | None, k: int
) -> list[Neighbour]:
    """Return the k most similar candidates in the language, ties by id, without ``hidden`` ids and ``kin``."""
    neighbours: list[Neighbour] = []
    is_kin = _kin_test(kin) if kin else lambda _: False
    for candidate in sorted(chain.from_iterable(shelves), key=lambda found: (-found.similarity, found.case_id)):
        if len(neighbours) == k:
            break
        if candidate.case_id not in hidden:
            hidden.add(candidate.case_id)  # a case that is just moving is in two departments
            case = _parsed(candidate.as_json)
            if language in (None, case.language) and not is_kin(candidate.as_json):
                neighbours.append(Neighbour(case, candidate.similarity))
    return neighbours


@lru_cache(maxsize=64)  # for the cases that run in parallel
def _kin_test(kin: Kin) -> Callable[[str], bool]:
    """Return a cached test whether a remembered case, given as JSON, is of this kin."""
    return lru_cache(maxsize=1024)(lambda as_json: kin.includes(_parsed(as_json)))


@lru_cache(maxsize=2048)  # stages and doctors recall much the same cases
def _parsed(as_json: str) -> RememberedCase:
    try:
        return RememberedCase.model_validate_json(as_json)
    except ValidationError as error:
        raise ValueError(
            f"the remembered case {as_json[:40]!r}... is damaged or of another version ({in_a_line(error, most=1)}); "
            "build the memory again in another place"
        ) from error
