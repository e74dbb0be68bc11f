"""Floor and ceiling scores for the cases of a run: from answers made from the keys, and from the offline baseline."""

import math
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from cases import Case, CaseFileError, load_cases
from cases.validation import in_a_line
from llm import ModelSettings
from nodes.patients.systems import PATIENTS
from prompts import PromptError
from scoring.case_scores import Suite
from scoring.consultation import ConsultationAnswers
from scoring.floors import DIALOGUE_FLOORS, FLOORS, answerable, answers_of_floors, dialogues_of_floors
from scoring.metrics.statistics import Estimate
from scoring.suite import SUITES
from wardround.analysis.summary import estimate_scores
from wardround.config.experiment import GRAPHS, ConfigurationError, Experiment, suites_of
from wardround.config.experiment_file import check_experiment
from wardround.run.own_loop import in_own_loop
from wardround.store.provenance import write_json
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result

OFFLINE = "offline baseline"
KINDS: Mapping[str, str] = {
    **{str(name): what for name, what in FLOORS.items()},
    **{str(name): what for name, what in DIALOGUE_FLOORS.items()},
    OFFLINE: "the same graph and settings, with every role answered by its offline rule",
}
FILE = "floors.json"  # in the run directory
_MAX_CASES = 200  # a table computes floors itself for at most this many cases
Floors = dict[str, dict[str, Estimate]]
_FLOORS = TypeAdapter(Floors)
_computed: dict[tuple[Hashable, ...], Floors] = {}  # by data and suite, as many runs share them


def floors_of(run: RecordedRun) -> tuple[Floors, str]:
    """Return each floor's scores on the cases of a run, judged by rules, with a note for the reader.

    They are read from what ``wardround floors RUN`` has written; otherwise, for few cases, computed from the keys.
    """
    if (file := run.path / FILE).is_file():
        try:
            floors = _FLOORS.validate_json(file.read_bytes())
            estimates = [estimate for scores in floors.values() for estimate in scores.values()]
            if any(each.n > run.planned for each in estimates):
                raise ValueError("is of more cases than the run has")
            if not all(math.isfinite(number) for each in estimates for number in (each.mean or 0, *(each.ci95 or ()))):
                raise ValueError("has a score that is not a number")
            return floors, ""
        except (OSError, ValueError) as error:
            remedy = "run `wardround floors` to write it anew"
            return {}, f"No floors and ceiling: {file} cannot be read ({in_a_line(error)}); {remedy}."
    if not answerable(run.suite):
        return {}, ""
    if run.planned > _MAX_CASES:
        return {}, f"Run `wardround floors {run.path}` to compute the floors and the ceiling."
    key = (
        run.manifest["data"]["fingerprint"],
        run.suite.name,
        *run.suite.metrics,
        run.experiment.inferred_keys,
        run.experiment.alternative_plans,
        run.experiment.published_reference,
    )
    try:
        if key not in _computed:
            with run.in_its_words():
                _computed[key] = floors_from_keys(run.experiment, list(run.cases.values()))
    except (CaseFileError, ConfigurationError, PromptError) as error:
        return {}, f"No floors and ceiling: {error}."
    return dict(_computed[key]), ""


def write_floors(file: Path, floors: Floors) -> None:
    """Write the floors; as ``FILE`` in a run directory, they are found by tables and the report.

    Raises:
        OSError: they cannot be written.
    """
    write_json(file, _FLOORS.dump_python(floors, mode="json"))


def floors_from_keys(experiment: Experiment, cases: Sequence[Case]) -> Floors:
    """Compute the floors that are made from answer keys; the constant answer comes from cases of split `train`.

    Raises:
        CaseFileError: the case file cannot be read.
    """
    suite = SUITES[experiment.scored_by]
    if not answerable(suite):
        return {}
    scored_cases = [experiment.to_score(case) for case in cases]
    ids = {case.id for case in cases}
    train = [
        experiment.to_score(case) for case in load_cases(experiment.data.cases, split="train") if case.id not in ids
    ]
    answered = answers_of_floors(scored_cases, train, suite)
    return {name: _scored(suite, scored_cases, answers) for name, answers in answered.items()}


def floors_from_dialogues(experiment: Experiment, cases: Sequence[Case], baseline: RecordedRun) -> Floors:
    """Compute the floors of a dialogue suite, which cannot be made from keys, from the offline baseline's dialogues."""
    suite = SUITES[experiment.scored_by]
    answered = {
        each.case_id: each.answers
        for each in baseline.each_answered()
        if each.epoch == 0 and isinstance(each.answers, ConsultationAnswers)
    }
    with_dialogue = [case for case in cases if case.id in answered]
    if answerable(suite) or not with_dialogue:
        return {}
    scored_cases = [experiment.to_score(case) for case in with_dialogue]
    floors = dialogues_of_floors(scored_cases, [answered[case.id] for case in with_dialogue])
    return {name: _scored(suite, scored_cases, answers) for name, answers in floors.items()}


def experiment_for(cases: str, suite: str | None, split: str | None) -> Experiment:
    """Return the experiment that a case file and a suite imply.

    Raises:
        ConfigurationError: there is no such suite or split.
    """
    graph = next((name for name in GRAPHS if suite in (None, *suites_of(name))), "clinical_workflow")
    data = {"cases": cases, **({"split": split} if split else {})}
    content: dict[str, Any] = {"graph": graph, "data": data, **({"suite": suite} if suite else {})}
    # Actions are counted only with a patient that tracks them.
    if suite is not None and suite in SUITES and "actions" in SUITES[suite].needs:
        content["workflow"] = {"patient": next(system.name for system in PATIENTS.values() if system.tracks)}
    return check_experiment(content)


def _scored(suite: Suite, cases: Sequence[Case], answers: Sequence[object]) -> dict[str, Estimate]:
    async def score_all() -> list[Result]:
        judged = [await suite.score(case, answer, ModelSettings()) for case, answer in zip(cases, answers, strict=True)]
        return [
            Result(case_id=case.id, epoch=0, termination="completed", scores=dict(scores.values))
            for case, scores in zip(cases, judged, strict=True)
        ]

    return estimate_scores(in_own_loop(score_all()), suite)
