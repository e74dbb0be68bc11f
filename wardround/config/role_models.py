"""The model of each role in a run, and the checks that the runs of a table can be compared."""

from collections.abc import Iterator, Mapping

from graphs.asked_roles import keys_asked
from graphs.contexts import CONTEXTS
from llm.specs import OFFLINE, model_of
from nodes.patients.systems import PATIENTS
from wardround.config.experiment import ConfigurationError, Experiment

JUDGES = "judges"  # all judging roles, in [fixed]
PATIENT = "patient"  # all roles of the patient's side, where none of them has this name


def model_keys_of(experiment: Experiment) -> set[str]:
    """Return the keys of the model map that have an effect in a run."""
    asks = CONTEXTS[experiment.graph].asks
    return set(asks(experiment.context)) if asks else set()


def check_distinct(runs: Mapping[str, Experiment], where: str) -> None:
    """Check that any two runs of a sweep differ in more than their names.

    Raises:
        ConfigurationError: two runs differ only in their names.
    """
    first: dict[str, str] = {}
    for name, run in runs.items():
        same = first.setdefault(run.model_dump_json(exclude={"name"}), name)
        if same != name:
            raise ConfigurationError(
                f"{where}: {same} and {name} are the same run; remove one of the two, or for repetitions set epochs"
            )


def check_rows(runs: Mapping[str, Experiment], where: str) -> None:
    """Check that no row of a table mixes rules with models, and that patient and judges do not change with the doctors.

    Raises:
        ConfigurationError: some roles use offline rules beside models, or patient or judges change with `default`.
    """
    models_by_run = {name: dict(_role_models(run)) for name, run in runs.items()}
    if all(spec == OFFLINE for specs in models_by_run.values() for spec in specs.values()):
        return
    for name, specs in models_by_run.items():
        if rules := sorted({key.rpartition(".")[2] for key, spec in specs.items() if spec == OFFLINE}):
            in_run = f" of run {name!r}" if name else ""
            raise ConfigurationError(
                f"{where}: tables: {', '.join(rules)}{in_run} would use offline rules in a table with models; name "
                "their models (`--models ROLE=SPEC`, or SPEC alone for all roles), or set `mixed = true`"
            )
    seen: dict[str, str] = {}
    for name, run in runs.items():
        default = run.models.get("default", OFFLINE)
        if unintended := [role for role in _left_to_default(run) if seen.setdefault(role, default) != default]:
            raise ConfigurationError(
                f"{where}: tables: {', '.join(unintended)} would change with the doctors' model "
                f"(in run {name!r}: {default}); set the same model for all rows in [fixed]: "
                + ", ".join(f"{role} = 'SPEC'" for role in unintended)
                + " (in [models], or as judges.default, where other rows change it); or set `mixed = true`"
            )


def _left_to_default(run: Experiment) -> list[str]:
    """Return the roles of the patient's side, and the judges, for which a run names no model of their own."""
    named = {role: spec for role, spec in run.models.items() if role != "default"}
    side = patients_side(run.model_copy(update={"models": named}))
    return sorted(role for role, spec in side.items() if spec == OFFLINE) + [JUDGES] * ("default" not in run.judges)


def _role_models(experiment: Experiment) -> Iterator[tuple[str, str]]:
    keys = model_keys_of(experiment)
    for key in keys:
        stage, _, role = key.rpartition(".")
        if stage and role.rstrip("0123456789") not in {other.rpartition(".")[2] for other in keys} - {role}:
            yield key, model_of(role, stage, experiment.models)
    if experiment.judges.get("default") == OFFLINE:
        yield JUDGES, OFFLINE


def patients_side(experiment: Experiment) -> dict[str, str]:
    """Return the model of each role on the patient's side."""
    context = experiment.context
    if "patient" not in CONTEXTS[experiment.graph].model_fields:
        return {}
    asked = [key.rpartition(".") for key in keys_asked(PATIENTS[context.patient].graph, context)]
    return {role: model_of(role, stage, experiment.models) for stage, _, role in asked if stage}
