"""How far judges can be trusted: agreement with each other and with people, and biases by length and model family.

Every answer of the runs is scored by each judge. Position bias needs two consultations side by side and is measured in
:mod:`scoring.aie.pairwise`.
"""

import logging
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from llm.blocks import block_of
from scoring.human_scores import read_human_scores, unknown_cases
from scoring.metrics.comparison import paired_difference
from scoring.metrics.correlation import spearman_over
from scoring.metrics.samples import mean
from scoring.metrics.statistics import Ends, estimate
from wardround.analysis.rescoring import rescore
from wardround.config.experiment import ConfigurationError, judging_roles
from wardround.config.role_models import patients_side
from wardround.rating.agreement import agreement_table, left_out, people_of, repeated_notes, votes_of
from wardround.rating.items import Key
from wardround.rating.marks import FILE, read_marks
from wardround.rating.scales import Name
from wardround.report.case_sections import pairs_of
from wardround.report.course import dialogue_of
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result
from wardround.tables.scores import failed_notes, score_form
from wardround.tables.table import P_VALUE, Column, Table, key_columns, measured

_log = logging.getLogger(__name__)

AS_RUN, PEOPLE, PANEL = "as run", "people", "panel"
_AIDES = ("examiner", "extraction", "refiner")  # they read what was said and recorded; no judged answer is theirs
_NOT_FAMILIES = frozenset({"meta", "chat"})  # first words of model names that belong to different families
_FAMILIES = {"chatgpt": "gpt", "o": "gpt", "codellama": "llama", "qwq": "qwen"}

Marks = Mapping[str, Mapping[Key, float]]  # by score: people's rating of each answer


@dataclass
class JudgedAnswer:
    """One answer, and the score that each judge gives it."""

    key: Key  # run, empty, case and epoch
    families: frozenset[str]  # of the models that answered as doctors
    lengths: dict[str, int]  # by score: characters of the text judged
    scores: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))  # by score: each judge's


@dataclass(frozen=True)
class Judgements:
    """The answers of some runs with the scores of several judges."""

    titles: Mapping[str, str]  # of the judged scores, by name
    # by judge: the family of its model; None for rules, or if several models judged
    judges: Mapping[str, str | None]
    answers: Sequence[JudgedAnswer]  # all answers that were judged
    form: str  # number format of the scores
    # lowest and highest possible score, where known
    ends: Mapping[str, Ends | None] = field(default_factory=dict)
    failed: Sequence[str] = ()  # how many cases of each run have no answer to judge


async def judged(runs: Sequence[RecordedRun], judges: Sequence[str]) -> Judgements:
    """Have each of these models judge the answers of runs; the judgements made during the runs are included.

    Raises:
        ConfigurationError: the runs have several suites, or one without judges; or their cases have changed.
        ModelSpecError: a judge cannot be used.
    """
    suite = runs[0].suite
    if any(run.suite is not suite for run in runs):
        raise ConfigurationError(
            "only runs scored by the same suite can be compared: "
            f"{', '.join(f'{run.name}: {run.suite.name}' for run in runs)}"
        )
    titles = {name: suite.titles.get(name, name) for name in dict.fromkeys((*suite.judged, *suite.parts))}
    if not titles:
        raise ConfigurationError(f"suite {suite.name!r} asks no judge, because its scores are computed")
    answers: dict[Key, JudgedAnswer] = {}
    specs: set[str] = set()
    for run in runs:
        blocks = run.experiment.model
        answered = {role: [block_of(model, blocks).spec for model in models] for role, models in run.models.items()}
        specs |= {spec for role in judging_roles() for spec in answered.get(role, ())}
        others = {*judging_roles(), *patients_side(run.experiment), *_AIDES}
        doctors = [spec for role, models in answered.items() if role not in others for spec in models]
        families = frozenset(filter(None, map(family, doctors)))
        for result in run.each_answered():
            if result.scored:
                key = (run.name, "", *result.key)
                answers[key] = JudgedAnswer(key, families, _lengths(run, result, titles))
                _add_scores(answers[key], AS_RUN, result, titles)
        for judge in dict.fromkeys(judges):
            rescored, _ = await rescore(run.path, {"default": judge})
            for result in rescored:
                if result.scored:
                    _add_scores(answers[run.name, "", *result.key], judge, result, titles)
    own = {judge: family(block_of(judge, runs[0].experiment.model).spec) for judge in dict.fromkeys(judges)}
    judge_families: dict[str, str | None] = {AS_RUN: family(specs.pop()) if len(specs) == 1 else None, **own}
    ends = {name: suite.ends_of(name) for name in titles}
    return Judgements(titles, judge_families, list(answers.values()), score_form(suite), ends, failed_notes(runs))


def family(spec: str) -> str | None:
    """Return a model's family by the first word of its name (gpt, claude, qwen); None if there is no name."""
    name = spec.partition(":")[2].partition("@")[0].rstrip("/").rpartition("/")[2].lower()
    words = (_FAMILIES.get(word, word) for word in re.findall("[a-z]+", name) if word not in _NOT_FAMILIES)
    return next(words, None)


def tables_of(found: Judgements, people: Marks | None = None) -> list[Table]:
    """Return the tables: judges against people and text length, agreement among judges, and self-preference."""
    people_marks = people or {}
    votes = {
        title: {one.key: one.scores[name] for one in found.answers if one.scores[name]}
        for name, title in found.titles.items()
    }
    tables = [_judges_table(found, people_marks), agreement_table(votes, "judges_agree", "Agreement of the judges")]
    tables.append(_self_preference(found, people_marks))
    return [table for table in tables if table.rows]


def marks_of(runs: Sequence[RecordedRun], file: Path | None) -> Marks:
    """Read people's ratings on the scale of the runs' suite, by default from the first run's directory.

    Raises:
        ConfigurationError: there is no such file, a line in it is invalid, or the runs' suite has no scale for people.
    """
    if file and not file.exists():
        raise ConfigurationError(f"--marks {file}: file not found; `wardround rate` writes it")
    suite = runs[0].suite.name
    scale = next((name for name in get_args(Name) if suite in (name, f"{name}_paper")), None)
    if file and scale is None:
        raise ConfigurationError(
            f"--marks {file}: suite {suite} has no scale for people; name their scores with --human CSV"
        )
    marks_file = file or runs[0].path / FILE
    marks = read_marks(marks_file)
    if others := left_out(runs, marks_file, marks):
        _log.warning("%s", others)
    return people_of(scale, votes_of(runs, scale, marks)) if scale else {}


def scores_of(file: Path, found: Judgements, *, several: bool) -> Marks:
    """Read people's scores by the name of the score; each epoch of a case gets the same.

    Raises:
        ConfigurationError: the file cannot be used, or it has none of the scores or cases.
    """
    scores, problems = read_human_scores(file, found.ends)
    if foreign := sorted(scores.keys() - found.titles.keys()):
        raise ConfigurationError(f"{file}: {foreign[0]} is not a judged score; known scores: {', '.join(found.titles)}")
    if problems:
        raise ConfigurationError("; ".join(map(str, problems)))
    by_case = {one.key: f"{one.key[0]}/{one.key[2]}" if several else one.key[2] for one in found.answers}
    if not any(case in given for case in by_case.values() for given in scores.values()):
        raise ConfigurationError(
            f"{file}: none of its cases is in the runs, whose cases are {', '.join(by_case.values())}"
        )
    if unknown := unknown_cases(file, chain.from_iterable(scores.values()), {*by_case.values()}):
        _log.warning("%s", unknown)
    return {
        name: {key: given[case] for key, case in by_case.items() if case in given} for name, given in scores.items()
    }


def _add_scores(answer: JudgedAnswer, judge: str, result: Result, names: Mapping[str, str]) -> None:
    for name in names:
        if (score := result.scores.get(name)) is not None:
            answer.scores[name][judge] = score


def _lengths(run: RecordedRun, result: Result, names: Mapping[str, str]) -> dict[str, int]:
    parts = pairs_of(result.answers, None)
    dialogue_length = sum(len(one.text) for one in dialogue_of(run, result))
    return {name: len(parts[name][0]) if name in parts else dialogue_length for name in names}


# of a rank correlation: endings of the columns' names, titles and number formats
_RHO = (("", "rho", ".2f"), ("_low", "from", ".2f"), ("_high", "to", ".2f"), ("_p", "p", P_VALUE), ("_n", "n", ".2f"))


def _judges_table(found: Judgements, people: Marks) -> Table:
    rows: list[dict[str, Any]] = []
    for name, title in found.titles.items():
        by_judge = {
            judge: {one.key: one.scores[name][judge] for one in found.answers if judge in one.scores[name]}
            for judge in found.judges
        }
        if len(found.judges) > 1:
            shared = [one for one in found.answers if len(one.scores[name]) == len(found.judges)]
            by_judge[PANEL] = {one.key: mean(one.scores[name].values()) or 0.0 for one in shared}
        human = dict(people.get(name, {}))
        if human:
            by_judge[PEOPLE] = human
        lengths = {one.key: float(one.lengths[name]) for one in found.answers}
        for judge, scores in by_judge.items():
            average = estimate(scores.values(), [key[2] for key in scores], ends=found.ends.get(name))
            rows.append({"score": title, "judge": judge, **measured({"mean": average})})
            for part, others in (("people", human if judge != PEOPLE else {}), ("length", lengths)):
                one = spearman_over(scores, others)
                low, high = one.ci95 or (None, None)
                rows[-1] |= zip(
                    (f"{part}{ending}" for ending, *_ in _RHO), (one.rho, low, high, one.p, one.n), strict=True
                )
    columns = [
        *key_columns("score", "judge"),
        Column("mean", "Mean", form=found.form, mean=True),
        Column("mean_n", "Answers"),
    ]
    for part in ("people", "length") if people else ("length",):
        group = f"Rank correlation with {part}"
        columns += [Column(f"{part}{ending}", title, group, form) for ending, title, form in _RHO]
    notes = [
        "Mean: over the answers that each one scored. Where their numbers differ, means are not of the same answers.",
        "Length: number of characters judged. Better answers may be longer, so compare a judge's correlation with that "
        "of people or of other judges.",
        f"{AS_RUN}: the judge of the run itself. {PANEL}: the mean of all judges.",
        *repeated_notes(one.key for one in found.answers),
        *found.failed,
    ]
    if not people:
        notes.append(
            "There are no ratings by people on these scores: collect them with `wardround rate RUN` (for suites mvme "
            "and clini_eval), or name them with --human CSV."
        )
    return Table("judges", "Judges", columns, rows, notes)


def _self_preference(found: Judgements, people: Marks) -> Table:
    """Tabulate how much more a judge gives its own family than others do, minus the same for other families."""
    rows: list[dict[str, Any]] = []
    for judge, own_family in found.judges.items():
        for name, title in found.titles.items() if own_family else ():
            gains: dict[bool, dict[str, list[float]]] = {True: defaultdict(list), False: defaultdict(list)}
            for one in found.answers:
                # A judge of the doctor's family is no reference for another judge of that family.
                others = [
                    s for other, s in one.scores[name].items() if other != judge and found.judges[other] != own_family
                ]
                others += [people[name][one.key]] if one.key in people.get(name, {}) else []
                own_score = one.scores[name].get(judge)
                if own_score is not None and others and one.families:
                    gains[own_family in one.families][one.key[2]].append(own_score - sum(others) / len(others))
            paired = paired_difference(gains[True], gains[False])
            if paired.difference.n:
                gain = measured({"gain": paired.difference})
                rows.append({"judge": judge, "family": own_family, "score": title, **gain, "p": paired.permutation_p})
    columns = [
        *key_columns("judge", "family", "score"),
        Column("gain", "Own family's gain", form=f"+{found.form}", mean=True),
        Column("gain_n", "Cases"),
        Column("p", "p", form=P_VALUE),
    ]
    note = (
        "How much more a judge gives to doctors of its own family than people and judges of other families do, minus "
        "the same for other doctors, case by case. Above 0, it favours its own family. p: permutation test."
    )
    return Table("self_preference", "Self-preference", columns, rows, [note])
