"""Who plays whom in the runs of a table: what is the same in every row, and that no row goes by rules by accident."""

from collections.abc import Iterator, Mapping

from graphs.asked_roles import keys_asked
from graphs.contexts import CONTEXTS
from llm.specs import OFFLINE, model_of
from nodes.patients.systems import PATIENTS
from wardround.config.experiment import ConfigurationError, Experiment

JUDGES = "judges"  # all who judge, among those who are fixed
PATIENT = "patient"  # all who answer for the patient, where none of them is called so


def keys_of(experiment: Experiment) -> set[str]:
    """The keys of the model map that can have an effect in a run."""
    asks = CONTEXTS[experiment.graph].asks
    return set(asks(experiment.context)) if asks else set()


def check_rows(runs: Mapping[str, Experiment], where: str, swept: set[tuple[str, ...]]) -> None:
    """See that the rows of a table differ in what was swept over, and not in who plays the patient or judges.

    What is ``swept`` over differs on purpose.

    Raises:
        ConfigurationError: some roles go by offline rules beside models, or patient or judges change with `default`.
    """
    cast = {name: dict(_cast(run)) for name, run in runs.items()}
    if all(spec == OFFLINE for specs in cast.values() for spec in specs.values()):
        return
    for name, specs in cast.items():
        if rules := sorted({key.rpartition(".")[2] for key, spec in specs.items() if spec == OFFLINE}):
            of_run = f" of run {name!r}" if name else ""
            raise ConfigurationError(
                f"{where}: tables: {', '.join(rules)}{of_run} would go by offline rules beside models in one table; "
                "name their models (`--models ROLE=SPEC`; SPEC alone is for all), or set `mixed = true`"
            )
    seen: dict[str, str] = {}
    for name, run in runs.items():
        cast_of_run = {**patients_side(run), JUDGES: run.judges.get("default") or run.models.get("default", OFFLINE)}
        changed = [role for role, spec in cast_of_run.items() if seen.setdefault(role, spec) != spec]
        if by_accident := [role for role in changed if not _on_purpose(role, swept)]:
            raise ConfigurationError(
                f"{where}: tables: {', '.join(by_accident)} would change with the doctors' model "
                f"(in run {name!r}: {cast_of_run[by_accident[0]]}); fix for all rows, under [fixed]: "
                + ", ".join(f"{role} = 'SPEC'" for role in by_accident)
                + "; or set `mixed = true`"
            )


def _on_purpose(role: str, swept: set[tuple[str, ...]]) -> bool:
    named = {("models", role), ("models", PATIENT)}
    return any(place[0] == JUDGES if role == JUDGES else place in named for place in swept)


def _cast(experiment: Experiment) -> Iterator[tuple[str, str]]:
    keys = keys_of(experiment)
    for key in keys:
        stage, _, role = key.rpartition(".")
        if stage and role.rstrip("0123456789") not in {other.rpartition(".")[2] for other in keys} - {role}:
            yield key, model_of(role, stage, experiment.models)
    if experiment.judges.get("default") == OFFLINE:
        yield JUDGES, OFFLINE


def patients_side(experiment: Experiment) -> dict[str, str]:
    """Who plays the patient and what stands behind it: the model of each role."""
    context = experiment.context
    if "patient" not in CONTEXTS[experiment.graph].model_fields:
        return {}
    asked = [key.rpartition(".") for key in keys_asked(PATIENTS[context.patient].graph, context)]
    return {role: model_of(role, stage, experiment.models) for stage, _, role in asked if stage}
