"""The offline rules of the doctors: decisions by the vote of similar cases and by what the findings name.

Each rule reads the chart and the recalled cases, of which it has more than a model is shown (`whole_picture.py`).
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from cases.registry import GivenError
from cases.validation import in_a_line
from cases.vocabulary import PHYSICAL_ITEMS, normalise
from nodes.offline.chart_signs import contradicts, sites, usual_pictures
from nodes.offline.whole_picture import FOUND
from nodes.state.chart import Chart
from nodes.state.decisions import AuxiliaryOrders, Decision, Diagnosis, PhysicalOrders, Report
from nodes.workflow.stages import Stage
from retrieval import Neighbour

NEAREST = 5  # cases that are counted
HELD = 0.4  # share of them that must hold a choice, of several that may be made
SITE = 0.2  # what the place of the complaint adds for a picture; twice for its examination, less for others'
REFERRED = 0.1  # until something is found: how much a case counts for that is of the department referred to


@dataclass(frozen=True)
class Eye:
    """How one doctor looks at a patient.

    Attributes:
        name: in the words of the group (``prompts/*/medchain/words.toml``).
        told, found: how much each counts of a similar case.
        nearest: how many cases are counted.
        routine, place: what is ordered without a similar case, and whether what the complaint's place asks for is.
    """

    name: str
    told: float
    found: float
    nearest: int = NEAREST
    routine: tuple[str, ...] = ("General Examination", "Blood Test")
    place: bool = True


_WHOLE_BODY = ("General Examination", "Chest Examination", "Abdominal Examination", "Blood Test", "Urine Test")
EYES = (
    Eye("findings", 1.0, FOUND),
    Eye("complaint", FOUND, 1.0, routine=_WHOLE_BODY, place=False),
    Eye("nearest", 1.0, 1.0, nearest=1, routine=()),
    Eye("findings_alone", 0.0, 1.0, routine=("General Examination",)),
    Eye("complaint_alone", 1.0, 0.0, routine=_WHOLE_BODY),
)


def eye_of(seat: int) -> Eye:
    """How the doctor of a seat looks, the first seat being 1; who has none looks as the first does."""
    return EYES[(seat - 1) % len(EYES)] if seat else EYES[0]


def _considered(stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], eye: Eye) -> list[tuple[float, Neighbour]]:
    """What speaks for a choice, by how alike it is: cases whose diagnosis the chart contradicts don't."""
    contradicted = contradicts if stage.decision is Diagnosis else lambda case, chart: False
    alike = [(_alike(each, chart, eye), each) for each in neighbours if not contradicted(each.case, chart)]
    return sorted(alike, key=lambda pair: -pair[0])


def _alike(neighbour: Neighbour, chart: Chart, eye: Eye) -> float:
    if neighbour.told is None:
        return neighbour.similarity
    here = REFERRED * (neighbour.case.department is not None and neighbour.case.department == chart.department)
    return eye.told * neighbour.told + eye.found * (neighbour.found or here)


def _by_site(stage: Stage, chart: Chart) -> dict[str, float]:
    """What the place of the complaint speaks for, and against, where examinations are ordered."""
    places = sites(chart)
    if stage.decision is AuxiliaryOrders:
        return {item: SITE for site in places for item in site["pictures"]}
    here = {site["examination"] for site in places if "examination" in site}
    if stage.decision is not PhysicalOrders or not here:
        return {}
    elsewhere = PHYSICAL_ITEMS.names[1:]  # the first, the general examination, is of no place
    return {item: 2 * SITE if item in here else -SITE for item in elsewhere}


def weights(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], image_class: str | None = None, seat: int = 0
) -> dict[str, float]:
    """How much the most similar cases speak for each choice, as shares of the whole; the most likely first.

    Where one thing is to be chosen, the most similar case and the nearest clinic speak for it; else all that count, and
    for examinations the place of the complaint too.
    """
    eye = eye_of(seat)
    speaking = [
        (max(alike, 1e-6), each.aside == "clinic", choices)
        for alike, each in _considered(stage, chart, neighbours, eye)
        if (choices := stage.precedent(each.case, image_class))
    ]
    total = sum(alike for alike, *_ in speaking[: eye.nearest])
    votes: dict[str, float] = {}
    spelling: dict[str, str] = {}
    heard: set[tuple[bool, str]] = set()
    for alike, clinic, choices in speaking if stage.single else speaking[: eye.nearest]:
        for choice in choices:
            key = spelling.setdefault(normalise(choice), choice)
            if not stage.single or (clinic, key) not in heard:
                heard.add((clinic, key))
                votes[key] = votes.get(key, 0.0) + alike / total
    for choice, more in _by_site(stage, chart).items() if votes else ():
        key = spelling.setdefault(normalise(choice), choice)
        if more > 0 or key in votes:
            votes[key] = max(votes.get(key, 0.0) + more, 0.0)
    return dict(sorted(votes.items(), key=lambda item: -round(item[1], 9)))


def majority(
    stage: Stage,
    chart: Chart,
    neighbours: Sequence[Neighbour],
    options: Sequence[str],
    image_class: str | None,
    seat: int = 0,
) -> Decision:
    """What two in five of the (weighted) similar cases hold; the strongest single choice if nothing reaches that."""
    share = weights(stage, chart, neighbours, image_class, seat)
    most = [] if stage.single else [choice for choice, weight in share.items() if weight >= HELD]
    chosen = _described(stage, chart) or most or list(share)[:1]
    return decision_of(stage, chosen, chart, options)


def _described(stage: Stage, chart: Chart) -> list[str]:
    """What is to be reported, where it was handed over in words: it is reported as it is described."""
    return list(chart.results.values()) if stage.decision is Report else []


def orders(
    stage: Stage, chart: Chart, neighbours: Sequence[Neighbour], options: Sequence[str], seat: int = 0
) -> list[str]:
    """What is ordered, in the order of the list: as similar cases had it, or without any by routine and by place."""
    if neighbours:
        chosen = set(majority(stage, chart, neighbours, options, None, seat).choices())
    else:
        eye, looks = eye_of(seat), [site["examination"] for site in sites(chart) if "examination" in site]
        here = usual_pictures(chart) if stage.decision is AuxiliaryOrders else looks
        chosen = {*eye.routine, *(here if eye.place else ())}
    return [item for item in options if item in chosen] or [item for item in options if item in EYES[0].routine]


def decision_of(stage: Stage, chosen: Sequence[str], chart: Chart, options: Sequence[str]) -> Decision:
    """The choices as a decision of the stage's type; without any, the answer a clinic gives when it knows nothing."""
    if options:
        chosen = [choice for choice in chosen if choice in options]
    try:
        return stage.decision.model_validate(stage.without_model(chosen, chart, options))
    except ValidationError as error:
        raise GivenError(f"stage {stage.name!r}: without_model gives {in_a_line(error)}") from error


def most(count: int, of: int) -> bool:
    """More than half."""
    return count * 2 > of


def half(count: int, of: int) -> bool:
    """At least half."""
    return count * 2 >= of


def every(count: int, of: int) -> bool:
    """All of them."""
    return count == of


def some(count: int, of: int) -> bool:
    """Anybody."""
    return count > 0


def held(answers: Collection[Iterable[str]], share: Callable[[int, int], bool]) -> list[str]:
    """What so many of the answers name, in the order in which it was first said.

    Args:
        answers: what each of them names.
        share: whether so many holders out of so many are enough.
    """
    holders: dict[str, int] = {}
    spelling: dict[str, str] = {}
    for answer in answers:
        for key, claim in {normalise(claim): claim for claim in answer}.items():
            spelling.setdefault(key, claim)
            holders[key] = holders.get(key, 0) + 1
    return [spelling[key] for key, count in holders.items() if share(count, len(answers))]


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """How much two lists name alike, in [0, 1]; two empty ones agree."""
    left, right = {normalise(choice) for choice in one}, {normalise(choice) for choice in other}
    return len(left & right) / len(left | right) if left | right else 1.0


def agreement(decision: Decision, other: Decision) -> float:
    """Overlap of two decisions of one kind, in [0, 1]; two empty ones agree."""
    return overlap(decision.choices(), other.choices())
