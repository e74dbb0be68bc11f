"""What an experiment file says, checked; and the options of the command line laid over it."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cases import Case, load_cases
from cases.case import Split
from cases.files import BUILTIN
from nodes.context import Context


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
    origin = str(file) if file else "command line"
    try:
        written = tomllib.loads(file.read_text("utf-8")) if file else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{origin}: cannot be read as TOML: {error}") from error
    for key, value in overrides.items():
        _lay(written, key, value)
    if models:
        written["models"] = {**written.get("models", {}), **models}
    try:
        experiment = Experiment.model_validate(written)
        _ = experiment.context
    except ValidationError as error:
        raise ConfigurationError("\n".join(f"{origin}: {_told(detail)}" for detail in error.errors())) from error
    if "human" in experiment.models.values():
        raise ConfigurationError(
            f"{origin}: models: a run of many cases cannot wait for a person; use the graph from Python"
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
    if data.case_ids:
        by_id = {case.id: case for case in cases}
        if unknown := [case_id for case_id in data.case_ids if case_id not in by_id]:
            raise ConfigurationError(
                f"data.case_ids: {', '.join(unknown)} not in {data.cases}; `wardround cases check` lists them"
            )
        cases = [by_id[case_id] for case_id in data.case_ids]
    if not cases:
        raise ConfigurationError(f"data: {data.cases} has no case of split {split!r}")
    return cases[: data.limit]


def _lay(tree: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        tree = tree.setdefault(section, {})
    tree[last] = value


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _told(detail: Any) -> str:
    key = ".".join(str(part) for part in detail["loc"])
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        message = f"unknown key; known are {', '.join(sorted({*Experiment.model_fields, *Context.model_fields}))}"
    return f"{key}: {message}" if key else message
