"""Ask a finished run's cases as multiple-choice questions, with their own options or distractors stored in the run."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from pydantic import Field, ValidationError

from cases import Case
from cases.strict import Strict
from cases.text.record_sentences import facts_of
from cases.text.sentences import entries
from cases.validation import in_a_line
from cases.vocabulary import label
from llm import AnswerError, ModelSettings
from llm.specs import model_of
from prompts import mark
from retrieval import kin_of, open_memory, remember
from scoring.aie.distractors import DistractorView, distractor_writer, options, write_distractors
from scoring.aie.mcq import METRIC, McqView, Question, answer_questions, interactive_diagnosis, mcq_diagnosis
from scoring.asking import ask_each
from scoring.metrics.diagnosis_grade import DIFFERENT, SAME, name_agreement
from scoring.metrics.samples import Sample
from wardround.analysis.rescoring import context_for
from wardround.config.experiment import ConfigurationError
from wardround.run.sweep import run_order
from wardround.store.manifest import is_run
from wardround.store.recorded_run import find_run
from wardround.store.run_directory import RunDirectory

_NEIGHBOURS = 500  # more than the cases in the built-in memory


class KeptOptions(Strict):
    """One line of ``options.jsonl``: a case's options by letter, the right one, and who wrote the distractors."""

    case_id: str
    options: dict[str, str]
    right: str = Field(description="Letter of the key's principal diagnosis.")
    writer: str = Field(description="Model that wrote the distractors.")


@dataclass(frozen=True)
class Formats:
    """A run's diagnoses in both formats."""

    # MCQ_DIAGNOSIS, and the run's own DIAGNOSIS with the same options; in percent, a doctor's failures counted as wrong
    samples: dict[str, list[Sample]]
    answered: dict[str, list[Sample]]  # the same without failures
    cases: int  # number of cases in the run
    unwritten: int  # number of these in neither score, as the writer of their options failed
    missing: list[str]  # what failed or cannot be asked, and why, one sentence each
    chosen: dict[str, dict[str, str | None]]  # by the run and the case, the option chosen from its record, if any was


async def compare_formats(path: Path, models: Mapping[str, str]) -> Formats:
    """Ask the multiple-choice doctor about every case of a run, and score the run's diagnoses by the same options.

    ``models`` gives those of ``distractor_writer`` and ``mcq_doctor``, or ``default``. In the run directory, only
    ``options.jsonl`` is written or extended; options that another run of its sweep has are taken from there. A case
    whose options could not be written says nothing of a doctor: it is in neither score, and its options are written
    when it is asked again.

    Raises:
        ConfigurationError: no run, its cases have changed, another process writes in it, or ``options.jsonl`` is
            damaged.
        RunStoppedError: ``options.jsonl`` cannot be written.
        ModelSpecError: a model cannot be used.
        CaseMemoryError: the built-in cases cannot be searched.
        EmbeddingModelError: the embedding model cannot be loaded.
    """
    run = find_run(path)
    context = await context_for(run, models)
    results = list(run.each_answered())
    asked = {result.case_id: run.case_of(*result.key) for result in run.results}
    options_by_case, unwritten = await _options_of(RunDirectory(run.path), list(asked.values()), context)
    questions = {
        case_id: Question(case_id, case.language, McqView(whole_record(case), found.options), found.right)
        for case_id, case in asked.items()
        if (found := options_by_case.get(case_id))
    }
    answered = await answer_questions(list(questions.values()), context)
    missing = [f"Case {case.id}: no options (no diagnosis in the answer key)." for case in _without_key(asked.values())]
    missing += [
        f"Case {case}: no options ({reason}); it is in neither score, and the same command writes them again."
        for case, reason in unwritten.items()
    ]
    missing += [f"Case {case}: no {METRIC} ({reason})." for case, reason in answered.failures.items()]
    chosen = [questions[case] for case in answered.letters]
    given = {METRIC: mcq_diagnosis(chosen, answered.letters), "DIAGNOSIS": list[Sample]()}
    wrong = {METRIC: [case for case in asked if case not in answered.letters], "DIAGNOSIS": list[str]()}
    for result in results:
        if not (result.scored and result.answers):
            missing.append(f"Case {result.case_id}, epoch {result.epoch}: no DIAGNOSIS ({result.termination}).")
            wrong["DIAGNOSIS"].append(result.case_id)
        elif question := questions.get(result.case_id):
            given["DIAGNOSIS"].append(interactive_diagnosis(question, result.answers.diagnosis))
    samples = {
        name: [*given[name], *(Sample(case, 0.0) for case in failed if case in questions)]
        for name, failed in wrong.items()
    }
    chosen_by_case = {case: answered.letters.get(case) for case in questions}
    return Formats(samples, given, len(asked), len(unwritten), missing, {run.name: chosen_by_case})


def whole_record(case: Case) -> str:
    """Return all that is on record of a case, one section per line: the person, the histories, the results by item."""
    space, colon = mark("space", case.language), mark("label", case.language)
    lines = []
    for section, facts in groupby(facts_of(case), attrgetter("section")):
        sentences = list(facts)
        text = space.join(fact.text for fact in sentences)
        lines.append(f"{label(section, case.language)}{colon}{text}" if sentences[0].is_result else text)
    return "\n".join(lines)


def other_diagnoses(case: Case) -> list[str]:
    """Return principal diagnoses of built-in cases in the case's language: first its department's, nearest first.

    The built-in memory (train and validation cases) is searched. Names that agree, in whole or in part, with a
    diagnosis of the case's own key are left out.
    """
    symptoms = remember(case).symptoms or case.patient.chief_complaint
    memory = open_memory()
    departments = dict.fromkeys([case.key.department, None])
    found = (
        neighbour.case
        for department in departments
        for neighbour in memory.recall(
            symptoms, department, exclude={case.id}, kin=kin_of(case), before=0, k=_NEIGHBOURS
        )
    )
    names = [other.diagnosis[0] for other in found if other.diagnosis and other.language == case.language]
    return [
        name
        for name in dict.fromkeys(names)
        if all(name_agreement(name, own) == DIFFERENT for own in case.key.diagnosis)
    ]


async def _options_of(
    directory: RunDirectory, cases: list[Case], settings: ModelSettings
) -> tuple[dict[str, KeptOptions], dict[str, str]]:
    """Return the options of the cases (their own, stored or newly written ones), and why none could be written."""
    keyless = {case.id for case in _without_key(cases)}
    own = {case.id: found for case in cases if (found := own_options(case))}
    by_case = kept_options(directory) | own
    if by_case.keys() | keyless >= {case.id for case in cases}:
        return by_case, {}
    with directory.adding_options() as add:
        by_case = kept_options(directory) | own
        in_sweep = _options_in_sweep(directory)

        async def write(case: Case) -> None:
            found = in_sweep.get(case.id)
            same = found is not None and found.options[found.right] == case.key.diagnosis[0]
            by_case[case.id] = found if found and same else await _write(case, settings)
            add(by_case[case.id])

        left = [case for case in cases if case.id not in by_case.keys() | keyless]
        failures = (await ask_each(left, write)).failures
    return by_case, {case.id: reason for case, reason in failures}


def _options_in_sweep(directory: RunDirectory) -> dict[str, KeptOptions]:
    """Return the options written for the other runs of a sweep: all its doctors are asked the same questions."""
    sweep = directory.path.resolve().parent
    others = [RunDirectory(sweep / name) for name in run_order(sweep) if is_run(sweep / name)]
    return {case: found for other in reversed(others) for case, found in kept_options(other).items()}


def _without_key(cases: Iterable[Case]) -> list[Case]:
    return [case for case in cases if not case.key.diagnosis]


def own_options(case: Case) -> KeptOptions | None:
    """Return the options that the case itself brings, if the right one is its diagnosis."""
    right = case.key.options.get(case.key.option, "")
    principal = entries(right)[0]  # an option may be a numbered list, whose names are in the key
    if not (right and case.key.diagnosis and name_agreement(principal, case.key.diagnosis[0]) == SAME):
        return None
    return KeptOptions(case_id=case.id, options=case.key.options, right=case.key.option, writer=case.provenance.source)


def with_kept_options(case: Case, kept: Mapping[str, KeptOptions]) -> Case:
    """Return the case with the options written for it in a run; unchanged if it has its own, or none were written."""
    if case.key.options or not (found := kept.get(case.id)):
        return case
    key = case.key.model_copy(update={"options": found.options, "option": found.right})
    return case.model_copy(update={"key": key})


def kept_options(directory: RunDirectory) -> dict[str, KeptOptions]:
    """Return the options written for the cases of a run, by case.

    Raises:
        ConfigurationError: a line of ``options.jsonl`` cannot be read.
    """
    try:
        by_case = [KeptOptions.model_validate_json(line) for line in directory.options()]
    except ValidationError as error:
        raise ConfigurationError(
            f"{directory.path}: a line of options.jsonl has no valid options: {in_a_line(error)}"
        ) from error
    return {found.case_id: found for found in by_case}


async def _write(case: Case, settings: ModelSettings) -> KeptOptions:
    candidates = await asyncio.to_thread(other_diagnoses, case)
    principal, *others = case.key.diagnosis
    department = case.key.department and label(case.key.department, case.language)
    view = DistractorView(whole_record(case), principal, department, candidates)
    names = (await write_distractors(view, settings, case.language)).names
    for name in names:
        if any(name_agreement(name, other) == SAME for other in others):
            raise AnswerError(f"the distractor {name!r} is another diagnosis of the case")
    by_letter, right = options(case.id, principal, names)
    writer = model_of(distractor_writer.name, distractor_writer.stage, settings.models)
    return KeptOptions(case_id=case.id, options=by_letter, right=right, writer=writer)
