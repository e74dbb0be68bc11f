"""The case memory (MedCase-RAG): by department, cosine similarity, verified cases first."""

import copy
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cases.vocabulary import DEPARTMENTS, Language
from retrieval.chroma_collections import ALL_DEPARTMENTS, Shelves
from retrieval.embedding import embed, unit_rows
from retrieval.exact_search import Candidate, Nearest
from retrieval.features import RememberedCase
from retrieval.kinship import Kin
from retrieval.single_writer import SingleWriter

if TYPE_CHECKING:
    from chromadb.api.client import Client

Progress = Callable[[int, int], None]

_BATCH = 1_000  # cases; Chroma takes at most 5,461 at once


class CaseMemoryError(ValueError):
    """A case memory that cannot be used; names its location and what would mend it."""


@dataclass(frozen=True)
class Neighbour:
    """A remembered case and its cosine similarity (-1 to 1) to the symptoms that were asked for.

    Attributes:
        told, found: for the rules without a model: how alike what the patients tell is, and what was found.
        aside: what only these rules look at, and no prompt shows: a further case, or a clinic by its name.
    """

    case: RememberedCase
    similarity: float
    told: float | None = None
    found: float = 0.0
    aside: Literal["", "case", "clinic"] = ""


@dataclass(frozen=True)
class Count:
    """How many cases a department has."""

    verified: int
    pseudo: int


class Memory:
    """Remembered cases, found by their symptom descriptions. Opened by ``open_memory``; safe for many threads."""

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
        """Use the collections of a Chroma client whose names begin with ``prefix``; ``shared``: others write them too.

        Raises:
            CaseMemoryError: they hold vectors of another embedding model, or cannot be read.
        """
        self.location = location
        self.embedding = embedding
        self.run = ""
        self._client = client
        self._writer = writer
        self._write_lock = threading.RLock()
        self._closed = threading.Event()
        self._embedded = lru_cache(maxsize=256)(lambda text: embed([text], embedding)[0])  # stages ask for the same
        self._shelves = Shelves(client, prefix, embedding, shared=shared)
        with self._naming("read"):
            foreign = self._shelves.embeddings() - {embedding}
        if foreign:
            raise CaseMemoryError(
                f"case memory {location!r} was built with the embedding model {', '.join(sorted(foreign))}, not "
                f"{embedding}; name that model, or build the memory again in another place"
            )

    def for_run(self, run: str) -> "Memory":
        """The same memory with pseudo-cases of its own: runs share the verified cases and never see each other's."""
        scoped = copy.copy(self)
        scoped.run = run
        return scoped

    def add(
        self, cases: Iterable[RememberedCase], embeddings: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> int:
        """Remember cases. A known id is replaced, also in another department; of an id given twice, the last counts.

        Verified and pseudo-cases are kept apart: a pseudo-case never replaces the verified one of the same id.
        Verified cases are best added many at once: each time, their departments' indexes are checked.

        Args:
            cases: the cases.
            embeddings: their vectors, (n, d), if known (of any length); else their symptom descriptions are embedded.
            progress: called with the number of cases stored and the number of all, after each batch.

        Returns the number of different cases stored.

        Raises:
            CaseMemoryError: the memory cannot be written, or another process is writing it.
            ValueError: the embeddings are not one finite vector for each case.
            EmbeddingModelError: the embedding model cannot be loaded.
        """
        given = list(cases)
        vectors = None if embeddings is None else unit_rows(embeddings)
        if vectors is not None and (vectors.ndim != 2 or len(vectors) != len(given) or not np.isfinite(vectors).all()):
            raise ValueError(f"cases need finite embeddings of shape ({len(given)}, d), not {vectors.shape}")
        # Of an id given twice, the later row takes the place of the earlier.
        rows = sorted({(case.verified, case.id): row for row, case in enumerate(given)}.values())
        with self._write_lock:
            for done in range(0, len(rows), _BATCH):
                some = rows[done : done + _BATCH]
                batch, texts = [given[row] for row in some], [given[row].symptoms for row in some]
                self._put(batch, embed(texts, self.embedding) if vectors is None else vectors[some])
                if progress:
                    progress(done + len(some), len(rows))
            with self._writing():
                self._shelves.mend({given[row].department for row in rows if given[row].verified})
        return len(rows)

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
        """The k cases nearest to a symptom description: verified ones first, each kind by similarity, ties by id.

        Args:
            symptoms: the symptom description, or its embedding (d,); blank text finds nothing.
            department: the first-level department to search; None searches all.
            exclude: ids never to be returned: a case must not retrieve itself.
            kin: of the case that asks: nor its variants and near duplicates.
            language: only cases in this language; None takes every one.
            before: only pseudo-cases whose order is less (0: none at all); None takes every one of this run.
            k: how many; fewer are returned if there are no more.

        Raises:
            CaseMemoryError: the memory cannot be read.
            EmbeddingModelError: the embedding model cannot be loaded.
        """
        if isinstance(symptoms, str):
            if not symptoms.strip():
                return []
            symptoms = self._embedded(symptoms)
        query = unit_rows(symptoms).astype(np.float64)
        departments = ALL_DEPARTMENTS if department is None else (DEPARTMENTS.require(department),)
        with self._naming("read"):
            look = partial(self._shelves.nearest, query, departments)
            found = _nearest(look, exclude, kin, language, k)
            if len(found) < k and before != 0:
                hidden = {*exclude, *(neighbour.case.id for neighbour in found)}
                pseudo = partial(look, run=self.run, before=before)
                found += _nearest(pseudo, hidden, kin, language, k - len(found))
        return found

    def verified(self) -> Iterator[RememberedCase]:
        """Every verified case."""
        with self._naming("read"):
            for name in ALL_DEPARTMENTS:
                yield from map(RememberedCase.model_validate_json, self._shelves.told(name))

    def stats(self) -> dict[str, Count]:
        """The number of cases of each department that has any (``""``: without one), pseudo-cases of this run."""
        with self._naming("read"):
            count = self._shelves.count
            counts = {name or "": Count(count(name, None), count(name, self.run)) for name in ALL_DEPARTMENTS}
        return {name: counted for name, counted in counts.items() if counted.verified or counted.pseudo}

    def holds(self, ids: Sequence[str]) -> set[str]:
        """Which of these ids are remembered as verified cases, in any department."""
        with self._naming("read"):
            return {case_id for name in ALL_DEPARTMENTS for case_id in self._shelves.among(ids, name)}

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed.is_set()

    def close(self) -> None:
        """Let go of Chroma and of the right to write. Afterwards the memory is of no use: open it again."""
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
        """Be the one writer, here and among processes."""
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
        """Name the location in whatever Chroma or the file system raises."""
        if self.closed:
            raise CaseMemoryError(f"case memory {self.location!r} was closed; open it again")
        try:
            yield
        except CaseMemoryError:
            raise
        except Exception as error:  # Chroma raises its own errors, httpx's, and bare Exception
            raise CaseMemoryError(f"case memory {self.location!r} cannot be {done}: {error}") from error


def _nearest(
    look: Callable[[int], list[Nearest]], hidden: Collection[str], kin: Kin | None, language: Language | None, k: int
) -> list[Neighbour]:
    """The k nearest cases; shelves are looked at further until none that is nearer can have been left on one."""
    wanted = k + len(hidden)
    while True:
        shelves = look(wanted)
        found = _best((shelf.candidates for shelf in shelves), set(hidden), kin, language, k)
        farthest = found[-1].similarity if len(found) == k and found else -2.0
        if not any(shelf.others and min(shelf.candidates)[0] > farthest for shelf in shelves):
            return found
        wanted = 2 * wanted + 1


def _best(
    shelves: Iterable[list[Candidate]], hidden: set[str], kin: Kin | None, language: Language | None, k: int
) -> list[Neighbour]:
    """The k most similar candidates in the language, ties by id, without those ``hidden`` and ``kin``."""
    neighbours: list[Neighbour] = []
    is_kin = _kinship(kin) if kin else lambda told: False
    for candidate in sorted(chain.from_iterable(shelves), key=lambda found: (-found.similarity, found.case_id)):
        if len(neighbours) == k:
            break
        if candidate.case_id not in hidden:
            hidden.add(candidate.case_id)  # a case that is just moving stands in two departments
            case = _read(candidate.told)
            if language in (None, case.language) and not is_kin(candidate.told):
                neighbours.append(Neighbour(case, candidate.similarity))
    return neighbours


@lru_cache(maxsize=64)  # of the cases that run side by side
def _kinship(kin: Kin) -> Callable[[str], bool]:
    """Whether a remembered case is of this kin, found out once."""
    return lru_cache(maxsize=1024)(lambda told: kin.includes(_read(told)))


@lru_cache(maxsize=2048)  # stages and doctors recall much the same cases
def _read(told: str) -> RememberedCase:
    return RememberedCase.model_validate_json(told)
