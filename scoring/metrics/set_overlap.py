"""Overlap of sets of items: referral, history-taking and treatment."""

from collections.abc import Collection, Iterable

from cases.vocabulary import Vocabulary, canonical_sub_department, normalise


def exact_match(predicted: str | None, reference: str | None) -> float | None:
    """Return 1 if a case's single canonical answer is the reference, else 0; higher is better.

    None (unscored) without a reference; 0 without a prediction. Source: MedChain, section 5.2 (referral, level 1); the
    published score is the mean over cases.
    """
    return float(predicted == reference) if reference else None


def intersection_over_union(predicted: Collection[str], reference: Collection[str]) -> float | None:
    """Return the overlap of two sets of canonical items, ``|P ∩ R| / |P ∪ R|``, in [0, 1]; higher is better.

    None (unscored) if the reference is empty; 0 if only the prediction is. Duplicates count once. Source: MedChain,
    section 5.2 (referral level 2, history-taking, treatment). The authors compare strings as the model spelt them; here
    both sides are made canonical first (:func:`canonical_items`, :func:`canonical_sub_departments`).
    """
    wanted, given = set(reference), set(predicted)
    if not wanted:
        return None
    return len(given & wanted) / len(given | wanted)


def canonical_items(items: Iterable[str], vocabulary: Vocabulary) -> frozenset[str]:
    """Return the canonical names of items; an unknown item stays, normalised, and counts as wrong.

    Blank items are dropped.
    """
    return frozenset(vocabulary.canonical(item) or normalise(item) for item in items if normalise(item))


def canonical_sub_departments(names: Iterable[str]) -> frozenset[str]:
    """Return second-level departments with all spellings, aliases and languages mapped to one form.

    The list is open (a data set may bring its own): an unknown name is compared by its normalised spelling. Blank names
    are dropped.
    """
    return frozenset(normalise(canonical_sub_department(name)) for name in names if normalise(name))
