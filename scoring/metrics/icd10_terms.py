"""Lists of ICD-10 terms, and the search for the terms nearest to a written disease."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable
from contextlib import suppress
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from cases.grouping import grouped
from cases.readable import state_of
from cases.sheets import TOO_LONG, SheetError, is_too_long, sheet_rows
from cases.text.disease_names import other_names
from cases.user_cache import cache_folder
from cases.validation import InputError
from cases.whole_files import replacing

if TYPE_CHECKING:
    import numpy as np

    Rows = np.ndarray[tuple[int], np.dtype[np.int32]]

Key = TypeVar("Key", bound=Hashable)

ICD10CM = "icd10cm"
LIMIT, CUTOFF = 10, 50.0
_A_PART = 90.0  # the highest score of a name that is only part of a term: "neck" of "Fracture of neck"
_CODE = re.compile(r"[A-Z]\d[\dA-Z]")
_AT_ONCE = 256  # terms compared in the first block; each further block is twice as large

# How ICD-10-CM calls a disease of which nothing more is said.
_UNSPECIFIED = (
    "{}",
    "{}, unspecified",
    "Unspecified {}",
    "{} NOS",
    "{}, unspecified organism",
    "Essential (primary) {}",
)


class TermListError(InputError):
    """A list of terms cannot be read; the message names file, row and what was expected."""


class Candidate(NamedTuple):
    """A term near an entity: its name and code in the list, and the score (0 to 100)."""

    name: str
    code: str
    score: float


class TermList:
    """Names with their codes, searched by RapidFuzz's WRatio.

    A repeated name has its last code, as in the published computation. Names are compared with width and case folded
    and punctuation as blanks, as in the authors' library.
    """

    def __init__(self, terms: Iterable[tuple[str, str]]) -> None:
        """Store (code, name) pairs."""
        from rapidfuzz.utils import default_process

        self._process = default_process
        self.codes = {name: code for code, name in terms}
        self.names = list(self.codes)
        self._folded = [self.fold(name) for name in self.names]
        self._known = set(self._folded)
        self._found: dict[str, tuple[Candidate, ...]] = {}

    def __len__(self) -> int:
        """Return the number of distinct names."""
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        """Whether a name is a term, ignoring width, case and punctuation."""
        return isinstance(name, str) and self.fold(name) in self._known

    def candidates(self, entity: str) -> tuple[Candidate, ...]:
        """Return the ten nearest terms with a score of at least 50, best first; ties in the order of the list.

        Equals ``rapidfuzz.process.extract(entity, names, limit=10, score_cutoff=50)`` in a fraction of the time: the
        common characters bound a score, and few Chinese terms have enough of them. English terms share letters and
        words with all others, so nearly all are searched. Cached by entity.
        """
        folded = self.fold(entity)
        if folded not in self._found:
            self._found[folded] = self._search(folded)
        return self._found[folded]

    def nearest(self, entity: str) -> Candidate | None:
        """Return the best candidate; among equal scores, the one with the most similar whole name, then the first.

        WRatio gives every name that contains the entity the same score, so that its own order means little.
        """
        from rapidfuzz import fuzz

        folded = self.fold(entity)
        return max(
            self.candidates(entity),
            key=lambda candidate: (candidate.score, fuzz.ratio(folded, self.fold(candidate.name))),
            default=None,
        )

    def listed(self, disease: str) -> str | None:
        """Return a disease's name as the list has it: itself, unspecified, or another name of it; None if it has none.

        The nearest term of an unlisted name is often another disease: "Supragingival dental calculus" of a ureteral
        calculus, "Ocular hypertension" of hypertension.
        """
        names = dict.fromkeys((disease, *other_names(disease)))
        forms = (form.format(name) for form in _UNSPECIFIED for name in names)
        return next((form for form in forms if form in self), None)

    def has_nearly(self, disease: str) -> bool:
        """Whether the list has a disease by one of its names, or by nearly its words ("Essential (primary) ...")."""
        return self.listed(disease) is not None or any(each.score > _A_PART for each in self.candidates(disease))

    def fold(self, text: str) -> str:
        """Return a text as it is compared: width and case folded, punctuation as single blanks."""
        return " ".join(self._process(unicodedata.normalize("NFKC", text)).split())

    @cached_property
    def _rows_with(self) -> dict[tuple[str, int], "Rows"]:
        """The rows whose name has a character at least that many times."""
        return _postings(
            ((letter, times) for letter, count in Counter(name).items() for times in range(1, count + 1))
            for name in self._folded
        )

    @cached_property
    def _rows_with_word(self) -> dict[str, "Rows"]:
        return _postings(set(name.split()) for name in self._folded)

    @cached_property
    def _lengths(self) -> "tuple[Rows, Rows]":
        """The length of every name, and its length with each word once."""
        import numpy as np

        once = [len(" ".join(set(name.split()))) for name in self._folded]
        return np.array([len(name) for name in self._folded], np.int32), np.array(once, np.int32)

    def _search(self, folded: str) -> tuple[Candidate, ...]:
        import numpy as np
        from rapidfuzz import fuzz, process

        bound = self._bounds(folded)
        if bound is None:
            return ()
        rows = np.flatnonzero(bound >= CUTOFF)
        rows = rows[np.argsort(-bound[rows], kind="stable")]
        found: list[tuple[float, int]] = []
        least, start, size = CUTOFF, 0, _AT_ONCE
        while start < len(rows) and bound[rows[start]] >= least:
            block = rows[start : start + size].tolist()
            names = [self._folded[row] for row in block]
            cutoff = least - 0.001  # cdist rounds it to float32; the order of the list decides between equal scores
            scores = process.cdist([folded], names, scorer=fuzz.WRatio, score_cutoff=cutoff, dtype=np.float64)[0]
            found += [(-score, row) for score, row in zip(scores.tolist(), block, strict=True) if score >= CUTOFF]
            found = sorted(found)[:LIMIT]
            least = -found[-1][0] if len(found) == LIMIT else CUTOFF
            start, size = start + size, size * 2
        return tuple(Candidate(self.names[row], self.codes[self.names[row]], -negative) for negative, row in found)

    def _bounds(self, folded: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
        """Return an upper bound of WRatio for every name.

        With k common characters and m in the shorter text, no partial alignment is better than 2k / (m + k); WRatio
        scales it by 90 % if one text is 1.5 times as long as the other, by 60 % from 8 times. A common word can make it
        100 whatever the rest.
        """
        import numpy as np

        counts = Counter(folded)
        postings = [
            self._rows_with[letter, times]
            for letter, count in counts.items()
            for times in range(1, count + 1)
            if (letter, times) in self._rows_with
        ]
        if not postings:
            return None
        common = np.bincount(np.concatenate(postings), minlength=len(self.names))
        lengths, lengths_once = self._lengths
        shorter = np.minimum(lengths_once, len(" ".join(set(folded.split()))))
        disparity = np.maximum(lengths, len(folded)) / np.maximum(1, np.minimum(lengths, len(folded)))
        scale = np.where(disparity < 1.5, 100.0, np.where(disparity <= 8, 90.0, 60.0))
        bound = np.where(common > 0, scale * 2 * common / np.maximum(1, shorter + common), 0.0) + 1e-6
        for word in folded.split():
            if word in self._rows_with_word:
                bound[self._rows_with_word[word]] = 101.0
        return bound


def _postings(keys_of_rows: Iterable[Iterable[Key]]) -> "dict[Key, Rows]":
    import numpy as np

    rows = grouped((key, row) for row, keys in enumerate(keys_of_rows) for key in keys)
    return {key: np.array(places, np.int32) for key, places in rows.items()}


def load_terms(source: str | Path) -> TermList:
    """Load a list of terms: ``icd10cm`` (English, from the package simple-icd-10-cm), or a file of codes and names.

    An ``.xls`` or ``.csv`` file has codes in the first column and names in the second; a heading is skipped. The list
    is cached until the file changes.

    Raises:
        TermListError: the file cannot be read, a row has no code or no name, or no row begins with a code.
    """
    return _terms(str(source), state_of(Path(source)))


@lru_cache(maxsize=4)
def _terms(source: str, state: tuple[int, int] | None) -> TermList:
    if source == ICD10CM:
        return TermList(_icd10cm())
    path = Path(source)
    readers = {".xls": _xls_rows, ".csv": _csv_rows}
    if path.suffix.lower() not in readers:
        raise TermListError(f"{path}: expected {ICD10CM!r}, an .xls or a .csv file of codes and names")
    if not path.is_file():
        raise TermListError(f"{path}: file not found; expected an .xls or .csv file of ICD-10 names")
    cells = ((number, [cell.strip() for cell in row]) for number, row in readers[path.suffix.lower()](path))
    rows = [(number, row) for number, row in cells if any(row)]
    heading: list[str] = []
    if rows and not _CODE.match(rows[0][1][0]):
        (_, heading), *rows = rows
    if len(heading) > 1 and (long := next((number for number, row in rows if is_too_long(row, heading)), None)):
        raise TermListError(f"{path}: row {long}: {TOO_LONG}")
    if faulty := next((number for number, row in rows if len(row) < 2 or not (row[0] and row[1])), None):
        raise TermListError(f"{path}: row {faulty}: expected a code in the first column and a name in the second")
    if not rows:
        raise TermListError(f"{path}: contains no terms; expected a code and a name in each row")
    if not any(_CODE.match(row[0]) for _, row in rows):
        raise TermListError(f"{path}: has no ICD-10 code in its first column (found {rows[0][1][0]!r}, ...)")
    return TermList((row[0], row[1]) for _, row in rows)


def _xls_rows(path: Path) -> list[tuple[int, list[str]]]:
    import xlrd
    from xlrd.biffh import XLRDError

    try:
        sheet = xlrd.open_workbook(str(path)).sheet_by_index(0)
    except (OSError, XLRDError, ValueError, AssertionError, IndexError) as error:
        raise TermListError(f"{path}: cannot be read as .xls ({error})") from error
    return [(row + 1, [str(cell) for cell in sheet.row_values(row)]) for row in range(sheet.nrows)]


def _csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    try:
        return sheet_rows(path)
    except SheetError as error:
        raise TermListError(f"{path}: {error}") from error


def _icd10cm() -> list[tuple[str, str]]:
    """Return descriptions and inclusion terms of all categories and subcategories, without seventh characters.

    The package parses its XML for 1.7 CPU seconds wherever it is imported, so its terms are kept in the user's cache.
    """
    path = cache_folder() / f"icd10cm-{version('simple-icd-10-cm')}.json"
    with suppress(OSError, TypeError, ValueError):  # missing, or damaged
        return [(code, term) for code, term in json.loads(path.read_bytes())]
    import simple_icd_10_cm as icd

    terms = [
        (code, term)
        for code in icd.get_all_codes()
        if icd.is_category_or_subcategory(code) and not icd.is_extended_subcategory(code)
        for term in (*icd.get_inclusion_term(code), icd.get_description(code))
    ]
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(json.dumps(terms).encode())
    return terms
