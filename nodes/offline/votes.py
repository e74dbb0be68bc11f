"""The offline rules of the doctors: decisions by the votes of similar cases and by named findings.

Each rule reads the chart and the recalled cases, including those that no prompt shows (`whole_picture.py`).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pydantic import ValidationError

from cases.registry import GivenError
from cases.text.disease_names import folded_name
from cases.text.statements import statements
from cases.validation import in_a_line
from cases.vocabulary import EXAMINATION_ITEMS, labels, normalise
from nodes.offline.agreement import overlap
from nodes.offline.chart_signs import found_text, harms, named_in_findings, shown_in_findings, urgency
from nodes.offline.departments import admits, without_a_reason
from nodes.offline.diagnoses import contradicts, is_founded
from nodes.offline.group_words import diseases_of, reason
from nodes.offline.places import is_called_for, sites, usual_pictures, usually_needed
from nodes.offline.site_weights import added_by_site
from nodes.offline.treatments import called_for_by_signs, untreated_without_a_diagnosis, without_a_finding
from nodes.offline.whole_picture import FOUND
from nodes.state.chart import Chart
from nodes.state.decisions import AuxiliaryOrders, Decision, Diagnosis, Report, SubDepartments, Treatment, Triage
from nodes.workflow.stages import STAGES, Stage
from prompts import mark
from retrieval import Neighbour, RememberedCase

NEAREST = 5  # number of cases that vote
MAJORITY_SHARE = 0.4  # minimum weight of a choice, where several may be made
SECTIONS = ("MRI", "CT")  # of which a doctor orders one
# A diagnosis is taken of a case that is among the first by words and by findings, and has these similarities in both,
# the more in one the less in the other.
AMONG = 3
NEAR = (0.36, 0.24)
ALONE = 1.1  # how much more is wanted by a doctor who looks at one of them alone
REFERRAL = 0.1  # similarity of findings, before there are any, to a case of the same department


@dataclass(frozen=True)
class Eye:
    """How one doctor weighs similar cases, so that the doctors of a group differ.

    Attributes:
        name: key of the reason in the group's words (``prompts/*/medchain/words.toml``).
        told, found: weights of the similarity of the patient's words, and of the findings.
        nearest: number of cases that vote.
        routine: what is ordered without a similar case.
        place: whether the examinations of the complaint's site are ordered then too.
    """

    name: str
    told: float
    found: float
    nearest: int = NEAREST
    routine: tuple[str, ...] = ("General Examination", "Blood Test")
    place: bool = True


_BROAD_ROUTINE = ("General Examination", "Chest Examination", "Abdominal Examination", "Blood Test", "Urine Test")
EYES = (
    Eye("findings", 1.0, FOUND),
    Eye("complaint", FOUND, 1.0, routine=_BROAD_ROUTINE, place=False),
    Eye("nearest", 1.0, 1.0, nearest=1, routine=()),
    Eye("findings_alone", 0.0, 1.0, routine=("General Examination",)),
    Eye("complaint_alone", 1.0, 0.0, routine=_BROAD_ROUTINE),
)


@dataclass(frozen=True)
class Evidence:
    """What a decision without a model rests on, and whose it is.

    Attributes:
        stage: what is decided.
        chart: the patient's.
        neighbours: the recalled cases.
        options: the allowed choices, by canonical name; empty if the answer is free.
        image_class: of the report to write, if any.
        seat: of the doctor, from 1; 0 (none) weighs as the first.
    """

    stage: Stage
    chart: Chart
    neighbours: Sequence[Neighbour]
    options: Sequence[str] = ()
    image_class: str | None = None
    seat: int = 0

    @property
    def eye(self) -> Eye:
        """How the doctor of the seat weighs cases."""
        return EYES[(self.seat - 1) % len(EYES)] if self.seat else EYES[0]

    def precedent(self, case: RememberedCase) -> Sequence[str]:
        """Return what a remembered case has decided here."""
        return self.stage.precedent(case, self.image_class)


def _ranked(evidence: Evidence) -> list[tuple[float, Neighbour]]:
    """Return the neighbours by descending similarity, without departments and diagnoses that cannot be the patient's.

    Diagnoses in other languages count only if there are none in the patient's; distant ones do not count. Treatments
    are those of cases with the patient's disease, if there are any.
    """
    stage, chart, neighbours, eye = evidence.stage, evidence.chart, evidence.neighbours, evidence.eye
    if stage.decision is Triage:
        named = {each.case.department for each in neighbours} - without_a_reason(chart)
        admitting = {department for department in named if admits(department, chart)}
        neighbours = [each for each in neighbours if each.case.department in admitting]
    if stage.decision is Diagnosis:
        fitting = [each for each in neighbours if not contradicts(each.case, chart)]
        own = [each for each in fitting if each.case.language == chart.presentation.language]
        near = _near(own or fitting, chart, eye)
        neighbours = [each for each in near if is_founded("; ".join(each.case.diagnosis[:1]), chart)]
    if stage.decision is Treatment:
        neighbours = _of_the_disease(evidence) or neighbours
    return sorted(((_similarity(each, chart, eye), each) for each in neighbours), key=lambda pair: -pair[0])


def _of_the_disease(evidence: Evidence) -> list[Neighbour]:
    """Return the cases that have the patient's disease."""
    diagnosis = evidence.chart.diagnosis
    named = set(map(normalise, diagnosis.names)) if diagnosis else set()
    return [each for each in evidence.neighbours if named & set(map(normalise, each.case.diagnosis))]


def _near(neighbours: Sequence[Neighbour], chart: Chart, eye: Eye) -> list[Neighbour]:
    """Return the cases that are near enough in what this eye looks at.

    They are among the nearest by words, if words count for the eye, and among those by findings, if there are any and
    they count no less. Those without such similarities are all returned.
    """
    is_examined = bool(chart.results or chart.reports)
    told, found = NEAR
    least = eye.told * told + (eye.found if is_examined else eye.told) * found  # words alone have to say more
    least *= 1 if eye.told and eye.found else ALONE
    compared = [each for each in neighbours if each.told is not None]
    by_words = sorted(compared, key=lambda each: -(each.told or 0.0))[: AMONG if eye.told else None]
    looks_at_findings = is_examined and eye.found >= eye.told
    by_findings = sorted(compared, key=lambda each: -each.found)[: AMONG if looks_at_findings else None]
    near = [each for each in by_words if each in by_findings and _similarity(each, chart, eye) >= least]
    return [each for each in neighbours if each.told is None or each in near]


def _similarity(neighbour: Neighbour, chart: Chart, eye: Eye) -> float:
    if neighbour.told is None:
        return neighbour.similarity
    referral = REFERRAL * (neighbour.case.department is not None and neighbour.case.department == chart.department)
    return eye.told * neighbour.told + eye.found * (neighbour.found or referral)


def weights(evidence: Evidence) -> dict[str, float]:
    """Return the weight of each choice in the vote of similar cases, the highest first.

    For a single choice, the most similar case and the nearest clinic with that choice count. Otherwise the nearest
    cases vote, with shares of their total similarity, and for examinations the site of the complaint counts too.
    """
    stage, chart, nearest = evidence.stage, evidence.chart, evidence.eye.nearest
    is_referral = stage.decision in (Triage, SubDepartments)
    rule = admits if is_referral else _may_be_ordered
    barred = _barred(evidence)

    @cache  # most cases name the same few
    def fits(name: str) -> bool:
        return name not in barred and rule(name, chart)

    precedents = [
        (max(similarity, 1e-6), each.aside == "clinic", choices)
        for similarity, each in _ranked(evidence)
        if (choices := [name for name in evidence.precedent(each.case) if fits(name)])
    ]
    total = sum(similarity for similarity, *_ in precedents[:nearest])
    votes: dict[str, float] = {}
    spelling: dict[str, str] = {}
    counted: set[tuple[bool, str]] = set()
    for similarity, clinic, choices in precedents if stage.single else precedents[:nearest]:
        for choice in choices:
            key = spelling.setdefault(normalise(choice), choice)
            if not stage.single or (clinic, key) not in counted:
                counted.add((clinic, key))
                votes[key] = votes.get(key, 0.0) + similarity / total
    by_site = added_by_site(stage, chart) if votes or is_referral else {}  # else see `orders`
    for choice, bonus in by_site.items():
        key = spelling.setdefault(normalise(choice), choice)
        if key in votes or (bonus > 0 and fits(choice)):
            votes[key] = max(votes.get(key, 0.0) + bonus, 0.0)
    if stage.decision is AuxiliaryOrders:
        _keep_one_section(votes, chart)
    return dict(sorted(votes.items(), key=lambda item: -round(item[1], 9)))


def _keep_one_section(votes: dict[str, float], chart: Chart) -> None:
    """Leave one of `SECTIONS` in a vote, as one shows enough at first: what is needed soonest, or else likeliest."""
    if not all(item in votes for item in SECTIONS):
        return
    quick = ["CT"] if urgency(chart) == "emergency" else []
    wanted = [*usually_needed(chart), *quick, *usual_pictures(chart)]
    one = max(SECTIONS, key=lambda item: (-wanted.index(item) if item in wanted else -len(wanted), votes[item]))
    votes[one] = max(votes.pop(item) for item in SECTIONS)


def _barred(evidence: Evidence) -> Sequence[str]:
    """Return the treatments for which there is no reason in this patient's findings or in a case of the disease."""
    chart = evidence.chart
    if evidence.stage.decision is not Treatment:
        return ()
    barred = without_a_finding(chart)
    if chart.diagnosis and not _of_the_disease(evidence):
        barred += untreated_without_a_diagnosis(chart)
    return barred


def _may_be_ordered(item: str, chart: Chart) -> bool:
    """Whether an examination or treatment of a similar case fits this patient."""
    return not harms(item, chart) and (item not in EXAMINATION_ITEMS.names or is_called_for(item, chart))


def majority(evidence: Evidence) -> Decision:
    """Return the choices whose weight is at least `MAJORITY_SHARE`, or else the strongest one, as a decision.

    Without similar cases, a treatment goes by the signs that the doctor of the seat looks at.
    """
    shares = weights(evidence)
    if evidence.stage.decision is Treatment and not evidence.neighbours:
        signs = called_for_by_signs(_looked_at(evidence), evidence.chart.language)
        shares = dict.fromkeys(("Medication", *signs), 1.0)
    return strongest(evidence, shares)


def _looked_at(evidence: Evidence) -> str:
    """Return what the doctor of a seat looks at without similar cases: what was found, or else what is told."""
    chart, eye = evidence.chart, evidence.eye
    if eye.told == eye.found:
        return ""
    found = [*chart.results.values(), *chart.reports.values()] if eye.found > eye.told else []
    return "\n".join(found) or chart.patients_words


def grounds(evidence: Evidence, decision: Decision) -> str:
    """Return why the doctor of the seat decides so: how similar cases were weighed, and the nearest that had it.

    A diagnosis that a result names rests on that result, and one is undetermined where no case is near enough.
    """
    chart, eye, chosen = evidence.chart, evidence.eye, decision.listed()
    is_diagnosis = evidence.stage.decision is Diagnosis
    if is_diagnosis and (told := _result_that_names(chosen, chart)):
        return reason("by_the_facts", chart, told)
    if not evidence.neighbours:
        return reason("no_similar_case", chart)
    sees_findings = chart.results or chart.reports or not eye.name.startswith("findings")
    weighed = reason("similar_cases", chart, eye.name if sees_findings else "complaint")
    if is_diagnosis and not diseases_of(chosen, chart.language):
        return weighed + reason("none_near", chart)
    return weighed + _case_that_had(evidence, chosen)


def _result_that_names(diagnosis: Collection[str], chart: Chart) -> str:
    """Return the statement of a result or report that concludes or shows one of these diseases; empty if none does."""
    names = {*named_in_findings(chart), *shown_in_findings(chart)} & {*diagnosis}
    texts = (text for text in statements(found_text(chart)) if any(name in text for name in names))
    return next(texts, "")


def _case_that_had(evidence: Evidence, names: Collection[str], part: str = "") -> str:
    """Return the complaint of the nearest case that had any of this, in the patient's language if there is one.

    For the physician of a later part of the course, also what that case had there.
    """
    chart, wanted = evidence.chart, {*map(normalise, names)}
    ranked = (each.case for _, each in _ranked(evidence) if each.case.chief_complaint)
    had = [case for case in ranked if wanted & {*map(normalise, evidence.precedent(case))}]
    had.sort(key=lambda case: case.language != chart.presentation.language)
    if not had:
        return ""
    complaint = had[0].chief_complaint.rstrip(".。")
    there = [name for stage in STAGES.values() if stage.part == part for name in stage.precedent(had[0], None)]
    if not there:
        return reason("as_in", chart, complaint)
    return reason("as_in_with", chart, complaint, mark("listed", chart.language).join(labels(there, chart.language)))


def strongest(evidence: Evidence, shares: Mapping[str, float]) -> Decision:
    """Return the `majority` of a vote that is counted."""
    stage, options = evidence.stage, evidence.options
    shares = {choice: weight for choice, weight in shares.items() if not options or choice in options}
    most = [] if stage.single else [choice for choice, weight in shares.items() if weight >= MAJORITY_SHARE]
    described = list(evidence.chart.results.values()) if stage.decision is Report else []  # which a report repeats
    return decision_of(evidence, described or most or list(shares)[:1])


def orders(evidence: Evidence) -> list[str]:
    """Return the orders, in the order of the options: by similar cases, or without any by routine and site."""
    chart, eye, options = evidence.chart, evidence.eye, evidence.options
    if evidence.neighbours:
        chosen = set(majority(evidence).choices())
    else:
        by_site = [site["examination"] for site in sites(chart) if "examination" in site]
        pictures = dict.fromkeys(usual_pictures(chart), 1.0)
        _keep_one_section(pictures, chart)
        site_items = pictures if evidence.stage.decision is AuxiliaryOrders else by_site
        chosen = {*eye.routine, *(site_items if eye.place else ())}
    return [item for item in options if item in chosen] or [item for item in options if item in EYES[0].routine]


def objection(evidence: Evidence, decided: Collection[str], wanted: Decision, judge: str = "") -> str:
    """Return what a decision lacks of what similar cases had, the nearest that had it, and what few of them had.

    That a diagnosis is undetermined is neither missed nor objected to. The physician of a later part, who judges, names
    of the nearest case also what it had there.
    """
    stage, chart = evidence.stage, evidence.chart
    named = {normalise(name) for name in decided}
    lacking = [name for name in diseases_of(wanted.listed(), chart.language) if normalise(name) not in named]
    wanted_names = set(map(normalise, wanted.listed()))
    unusual = [name for name in diseases_of(decided, chart.language) if normalise(name) not in wanted_names]

    def told(key: str, names: Sequence[str]) -> str:
        return reason(key, chart, mark("listed", chart.language).join(stage.labelled(names, chart.language)))

    parts = [told("lacking", lacking) + _case_that_had(evidence, lacking, judge)] if lacking else []
    return mark("series", chart.language).join([*parts, *([told("unusual", unusual)] if unusual else [])])


def nearest_with(proposals: Sequence[Decision], chosen: Sequence[str]) -> Decision:
    """Return the proposal nearest to these choices, with them instead of its own, where it has a list of them."""
    nearest = max(proposals, key=lambda proposal: overlap(proposal.choices(), chosen))
    lists = (name for name in ("names", "items", "sub_departments") if hasattr(nearest, name))
    return nearest.model_copy(update={name: list(chosen) for name in lists})


def changed(chart: Chart, own: Sequence[str], now: Sequence[str], why: str, stage: Stage | None = None) -> str:
    """Return what a doctor takes up and gives up in a discussion, or keeps if that is nothing, and why.

    That a diagnosis is undetermined is neither taken up nor given up.
    """
    before, after = {*map(folded_name, own)}, {*map(folded_name, now)}
    moves = {
        "taken_up": [name for name in diseases_of(now, chart.language) if folded_name(name) not in before],
        "given_up": [name for name in diseases_of(own, chart.language) if folded_name(name) not in after],
    }
    moves = {key: names for key, names in moves.items() if names} or {"kept": list(now)}
    listed = mark("listed", chart.language)
    told = (
        reason(key, chart, listed.join(stage.labelled(names, chart.language) if stage else names))
        for key, names in moves.items()
    )
    return mark("series", chart.language).join([*told, why])


def decision_of(evidence: Evidence, chosen: Sequence[str]) -> Decision:
    """Return the choices as a decision of the stage's type; without any, its answer for want of knowledge.

    Raises GivenError if the stage's ``without_model`` gives no valid decision.
    """
    stage, options = evidence.stage, evidence.options
    if options:
        chosen = [choice for choice in chosen if choice in options]
    try:
        return stage.decision.model_validate(stage.without_model(chosen, evidence.chart, options))
    except ValidationError as error:
        raise GivenError(
            f"stage {stage.name!r}: without_model returned an invalid decision: {in_a_line(error)}"
        ) from error
