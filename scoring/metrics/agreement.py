"""Agreement of raters beyond chance: Krippendorff's alpha of many, Cohen's kappa of two."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal

Level = Literal["nominal", "interval"]


def alpha(rated: Sequence[Mapping[str, Any]], level: Level | None = None) -> float | None:
    """Return Krippendorff's alpha: 1 is agreement, 0 chance, below 0 worse than chance.

    ``1 - observed disagreement / disagreement expected by chance``, of one mapping per item, from judge or person to
    answer; missing answers are allowed. Unless given, the level is ``interval`` for numbers, ``nominal`` for words and
    booleans. None if undefined: no item has two answers, or all answers are equal. Source: Krippendorff 2011.
    """
    return alpha_of_drawn([[votes] for votes in rated], level)(range(len(rated)))


def alpha_of_drawn(
    groups: Sequence[Sequence[Mapping[str, Any]]], level: Level | None = None
) -> Callable[[Sequence[int]], float | None]:
    """Return a function from places of groups of items, each as often as it is drawn, to the alpha of all their items.

    What an item adds is computed once, so that hundreds of draws of thousands of items take seconds.
    """
    shared = [[[*votes.values()] for votes in group if len(votes) > 1] for group in groups]
    values = list(dict.fromkeys(value for group in shared for answers in group for value in answers))
    if len(values) < 2:
        return lambda _: None
    import numpy as np

    if level is None:
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        level = "interval" if numbers else "nominal"
    # The squared distance of two vectors is that of the answers, but for a factor: for any two words the same.
    middle = round(fmean(values)) if level == "interval" else 0  # whole numbers stay whole, and so exact
    vectors = np.array([[value - middle] for value in values], float) if level == "interval" else np.eye(len(values))
    number = {value: place for place, value in enumerate(values)}
    sums = np.zeros((len(groups), 3 + vectors.shape[1]))  # answers, disagreement, squares, and the vectors themselves
    ends = np.array([[len(values), -1]] * len(groups))  # lowest and highest number of an answer
    for place, group in enumerate(shared):
        for answers in group:
            numbers_of = [number[value] for value in answers]
            of_item, count = vectors[numbers_of], len(answers)
            squares, whole = (of_item**2).sum(), of_item.sum(axis=0)
            apart = (count * squares - (whole**2).sum()) / (count * (count - 1))
            sums[place] += [count, apart * count, squares, *whole]
            ends[place] = min(ends[place][0], *numbers_of), max(ends[place][1], *numbers_of)

    def alpha_of(places: Sequence[int]) -> float | None:
        times = np.bincount(places, minlength=len(groups))
        if ends[times > 0, 0].min() >= ends[times > 0, 1].max():  # all answers are equal, or there are none
            return None
        count, observed, squares, *whole = times @ sums
        expected = (count * squares - np.square(whole).sum()) / (count * (count - 1))
        return float(1 - observed / count / expected)

    return alpha_of


def cohen_kappa(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return Cohen's kappa of two raters of the same items: 1 is agreement, 0 chance, below 0 worse than chance.

    ``(observed - chance) / (1 - chance)``, with chance from how often each rater gives each answer. None if undefined:
    no pairs, or both raters gave one answer throughout. Source: Cohen 1960.
    """
    if not pairs:
        return None
    one, other = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(one[value] * other[value] for value in one) / len(pairs) ** 2
    observed = sum(first == second for first, second in pairs) / len(pairs)
    return None if chance == 1 else (observed - chance) / (1 - chance)
