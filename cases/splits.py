"""Split cases into train, validation and test by department; records of one patient stay together (MedChain, 5.1)."""

import random
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from cases.case import Case, Split
from cases.grouping import grouped
from cases.vocabulary import normalise

SPLITS: tuple[Split, ...] = get_args(Split)
_SHINGLE = 5  # characters
_MIN_SIMILARITY = 0.7  # Jaccard index of the shingles from which two records count as one patient's
_BANDS, _ROWS = 32, 4  # of the MinHash signature: a pair at 0.7 is missed once in 6,000
_PRIME = (1 << 31) - 1


def parse_ratio(text: str) -> dict[Split, float]:
    """Parse ``7:1:2`` (train, validation, test) or ``7:3`` (train, test) into shares.

    Raises:
        ValueError: it is neither.
    """
    match = re.fullmatch(r"(\d{1,6}):(?:(\d{1,6}):)?(\d{1,6})", text.strip())
    parts = [int(part or 0) for part in match.groups()] if match else []
    if not parts or not (parts[0] and parts[2]):
        raise ValueError(f"ratio {text!r}: expected train:validation:test or train:test, such as 7:1:2 or 7:3")
    return {split: part / sum(parts) for split, part in zip(SPLITS, parts, strict=True)}


def split_cases(cases: Sequence[Case], ratio: str = "7:1:2", seed: int = 0) -> list[Case]:
    """Return the cases in their order, each with a split; deterministic for the same cases, ratio and seed.

    Every department is divided in this ratio, as far as whole cases allow; similar records go into one split.

    Raises:
        ValueError: the ratio is invalid.
    """
    shares = parse_ratio(ratio)
    firsts = ((cases[group[0]], group) for group in duplicates(cases))
    by_department = grouped((f"{first.key.department or ''}/{first.language}", group) for first, group in firsts)
    chance = random.Random(seed)
    assigned: dict[int, Split] = {}
    sizes = dict.fromkeys(shares, 0)
    departments = [groups for _, groups in sorted(by_department.items())]
    chance.shuffle(departments)  # in one order, a small department would come into the same splits by every seed
    for groups in departments:
        chance.shuffle(groups)
        for group in groups:  # remainders of one department are balanced by the next
            total = len(assigned) + len(group)
            neediest = max(shares, key=lambda split: shares[split] * total - sizes[split])
            sizes[neediest] += len(group)
            assigned |= dict.fromkeys(group, neediest)
    return [case.model_copy(update={"split": assigned[place]}) for place, case in enumerate(cases)]


def duplicates(cases: Sequence[Case]) -> list[list[int]]:
    """Return the indices of the cases grouped by patient: variants, and records with nearly the same history."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not cases:
        return []
    shingles = [_shingles(case) for case in cases]
    places = {case.id: place for place, case in enumerate(cases)}
    # Each case with its parent, or with the first variant of an absent one.
    alike = [(place, places.setdefault(case.parent_id or case.id, place)) for place, case in enumerate(cases)]
    for one, other in _candidates(shingles):
        both = len(np.intersect1d(shingles[one], shingles[other], assume_unique=True))
        if both >= _MIN_SIMILARITY * (len(shingles[one]) + len(shingles[other]) - both):
            alike.append((one, other))
    links = coo_array((np.ones(len(alike)), np.array(alike).T), shape=(len(cases), len(cases)))
    groups = connected_components(links, directed=False)[1]
    return list(grouped((group, place) for place, group in enumerate(groups)).values())


def _shingles(case: Case) -> NDArray[np.uint32]:
    """Return the different hashes of a history's pieces, sorted: four bytes each, as a file may hold 50,000 cases."""
    text = normalise(f"{case.patient.chief_complaint} {case.patient.present_illness}")
    pieces = {text[at : at + _SHINGLE] for at in range(max(1, len(text) - _SHINGLE + 1))}
    return np.unique(np.fromiter((zlib.crc32(piece.encode()) for piece in pieces), np.uint32, len(pieces)))


def _candidates(shingles: Sequence[NDArray[np.uint32]]) -> Iterator[tuple[int, int]]:
    """Yield candidate pairs once: those that share a band of their MinHash signatures, with the first that has it."""
    draw = np.random.default_rng(0)  # draws the hash functions; independent of the split's seed
    factors = draw.integers(1, _PRIME, (_BANDS * _ROWS, 1), dtype=np.int64)
    offsets = draw.integers(0, _PRIME, (_BANDS * _ROWS, 1), dtype=np.int64)
    first: dict[tuple[int, bytes], int] = {}
    for place, found in enumerate(shingles):
        signs = found.astype(np.int64) % _PRIME
        signature = ((factors * signs + offsets) % _PRIME).min(axis=1).reshape(_BANDS, _ROWS)
        known = {first.setdefault((band, rows.tobytes()), place) for band, rows in enumerate(signature)}
        yield from ((one, place) for one in known - {place})
