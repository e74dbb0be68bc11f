"""What an experiment file says, checked; and the options of the command line laid over it."""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

import nodes.cast  # noqa: F401  declares the roles that a model map is checked against
from cases import Case, load_cases
from cases.case import Split
from cases.files import BUILTIN
from cases.vocabulary import SUB_DEPARTMENTS
from models import ModelSpecError
from models.spec import HUMAN, check_models
from nodes.context import Context

# Fields of the context that have their place elsewhere in an experiment, or belong to the runner.
_NOT_OF_THE_WORKFLOW = {
    "models": "models have a section of their own, [models]",
    "seed": "the seed stands at the top of the file, or is `--set seed=N`",
    "run": "set by the runner",
    "position": "set by the runner",
    "trace_file": "set by the runner",
    "case_source": "the cases are named by data.cases",
}


class ConfigurationError(ValueError):
    """An experiment that cannot be run as it is written; says where and what would mend it."""


class Section(BaseModel):
    """Base of the sections: strict about their keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Data(Section):
    """Which cases are run."""

    cases: str = Field(BUILTIN, description="`builtin`, or a JSON-lines file of cases.")
    split: Split | None = Field(None, description="Only that split; of the built-in cases, test if not set.")
    limit: int | None = Field(None, ge=1, description="The first so many.")
    case_ids: list[str] = Field(default_factory=list, description="Only these.")


class Run(Section):
    """How the cases are run; nothing here changes a result."""

    concurrency: int = Field(4, ge=1, description="Cases at once.")
    engine: Literal["local"] = "local"


class Experiment(Section):
    """One experiment: a graph over cases, with a model for each role."""

    name: str = Field("clinical-workflow", pattern=r"^[A-Za-z0-9._-]+$")
    graph: Literal["clinical_workflow"] = "clinical_workflow"
    data: Data = Field(default_factory=Data)
    models: dict[str, str] = Field(default_factory=lambda: {"default": "offline"})
    workflow: dict[str, Any] = Field(default_factory=dict, description="Fields of the graph's context.")
    epochs: int = Field(1, ge=1, description="How often each case is run.")
    seed: int = 0
    run: Run = Field(default_factory=Run)

    @field_validator("models", mode="before")
    @classmethod
    def _roles_at_stages(cls, models: Any) -> Any:
        """TOML reads a dotted role that is not in quotes as a table in a table."""
        return _flat(models) if isinstance(models, dict) else models

    @field_validator("workflow")
    @classmethod
    def _of_the_workflow(cls, workflow: dict[str, Any]) -> dict[str, Any]:
        for key, place in _NOT_OF_THE_WORKFLOW.items():
            if key in workflow:
                raise ValueError(f"{key!r} is no setting of the workflow: {place}")
        return workflow

    @property
    def context(self) -> Context:
        """The context of the graph, as far as it is the same for all cases."""
        return Context.model_validate({"seed": self.seed, **self.workflow, "models": self.models})

    @property
    def identity(self) -> dict[str, Any]:
        """What a result depends on: the configuration without the way it is run."""
        return self.model_dump(mode="json", exclude={"run"})


def read_experiment(
    file: Path | None, overrides: Mapping[str, Any], models: Mapping[str, str] | None = None
) -> Experiment:
    """An experiment file with the command line's options laid over it.

    Args:
        file: a TOML file; the defaults (the built-in test cases, offline) if None.
        overrides: values by dotted key, such as ``data.limit`` or ``workflow.feedback``.
        models: entries laid over the file's model map.

    Raises:
        ConfigurationError: the file cannot be read, or a key or value is not known; names file and key.
    """
    try:
        written = tomllib.loads(file.read_text("utf-8")) if file else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read as TOML: {error}") from error
    try:
        check_models(models or {})
    except ModelSpecError as error:
        raise ConfigurationError(f"command line: {error}") from error
    laid = {**overrides, **({"models": {**_flat(_section(written, "models", file)), **models}} if models else {})}
    for key, value in laid.items():
        _lay(written, key, value, file)
    try:
        experiment = Experiment.model_validate(written)
    except ValidationError as error:
        raise _refusal(error, file, overrides) from error
    try:
        _ = experiment.context
    except ValidationError as error:
        raise _refusal(error, file, overrides, "workflow") from error
    if HUMAN in experiment.models.values():
        raise ConfigurationError(
            f"{file or 'command line'}: models: a run of many cases cannot wait for a person; use the graph from Python"
        )
    return experiment


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` options: the key dotted (a bare one is a workflow setting), the value as in TOML or plain text.

    Raises:
        ConfigurationError: no ``=`` in an option.
    """
    known = {name for name in Experiment.model_fields if name not in ("models", "workflow", "data", "run")}
    parsed: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--set {setting}: expected KEY=VALUE, for example --set feedback=off")
        parsed[key if "." in key or key in known else f"workflow.{key}"] = _toml_value(value)
    return parsed


def parse_models(models: Sequence[str]) -> dict[str, str]:
    """``ROLE=SPEC`` options; a spec alone is the default.

    Raises:
        ConfigurationError: an empty role or spec.
    """
    parsed: dict[str, str] = {}
    for entry in models:
        role, equals, spec = entry.partition("=")
        if not equals:
            role, spec = "default", entry
        if not role or not spec:
            raise ConfigurationError(f"--models {entry}: expected ROLE=SPEC, for example --models patient=offline")
        parsed[role] = spec
    return parsed


def select_cases(data: Data) -> list[Case]:
    """The cases of an experiment, in the order of the file.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
        ConfigurationError: nothing is left, or an id is not among the cases.
    """
    split = data.split or ("test" if data.cases == BUILTIN and not data.case_ids else None)
    cases = load_cases(data.cases, split=split)
    of_split = f" of split {split!r}" if split else ""
    if data.case_ids:
        by_id = {case.id: case for case in cases}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            close = difflib.get_close_matches(unknown[0], by_id, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ConfigurationError(f"data.case_ids: {', '.join(unknown)} not in {data.cases}{of_split}{hint}")
        cases = [by_id[case_id] for case_id in dict.fromkeys(data.case_ids)]
    if not cases:
        raise ConfigurationError(f"data: {data.cases} has no case{of_split}")
    return cases[: data.limit]


def own_sub_departments(data: Data) -> dict[str, list[str]] | None:
    """The second-level departments of a data set that has its own, by department; None if all of them are ours.

    MedChain's list is printed nowhere: it is what the answer keys of the whole file name.

    Raises:
        CaseFileError: the file cannot be read or is faulty.
    """
    named: dict[str, set[str]] = {}
    for case in load_cases(data.cases):
        if case.key.department:
            named.setdefault(case.key.department, set()).update(case.key.sub_departments)
    if all(name in SUB_DEPARTMENTS.names for names in named.values() for name in names):
        return None
    return {department: sorted(names) for department, names in sorted(named.items()) if names}


def _section(tree: dict[str, Any], name: str, file: Path | None) -> dict[str, Any]:
    section = tree.setdefault(name, {})
    if not isinstance(section, dict):
        raise ConfigurationError(f"{file or 'command line'}: {name}: expected a section, not {section!r}")
    return section


def _lay(tree: dict[str, Any], key: str, value: Any, file: Path | None) -> None:
    *sections, last = key.split(".")
    for section in sections:
        tree = _section(tree, section, file)
    tree[last] = value


def _flat(models: dict[str, Any], stage: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in models.items():
        flat |= _flat(value, f"{stage}{key}.") if isinstance(value, dict) else {f"{stage}{key}": value}
    return flat


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _refusal(
    error: ValidationError, file: Path | None, overrides: Mapping[str, Any], section: str = ""
) -> ConfigurationError:
    """Each fault with where it was written (the file or the command line) and its key."""
    told = []
    for detail in error.errors():
        place = [str(part) for part in detail["loc"]]
        if section and place[:1] != ["models"]:
            place.insert(0, section)
        key = ".".join(place)
        laid = any(f"{key}.".startswith(f"{override}.") for override in overrides)
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            message = f"unknown key; known are {', '.join(_known_keys(place[:-1]))}"
        origin = "command line" if laid or file is None else str(file)
        told.append(f"{origin}: {message}" if message.startswith("models") else f"{origin}: {key}: {message}")
    return ConfigurationError("\n".join(told))


def _known_keys(section: Sequence[str]) -> list[str]:
    """The keys of a section of the file."""
    if list(section) == ["workflow"]:
        return sorted(set(Context.model_fields) - set(_NOT_OF_THE_WORKFLOW))
    sections: dict[str, type[Section]] = {"data": Data, "run": Run}
    return sorted(sections[section[0]].model_fields if section else Experiment.model_fields)
