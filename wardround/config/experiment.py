"""The sections of an experiment and their checks; ``experiment_file.py`` reads them from a file."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

import graphs.roles  # noqa: F401  declares the roles that a model map is checked against
from cases import Case
from cases.case import Split
from cases.files import BUILTIN
from cases.registry import NameIn
from cases.strict import Strict
from graphs.contexts import CONTEXTS, is_judging
from llm.blocks import ModelBlocks
from llm.limits import Limits
from llm.model_objects import with_specs
from llm.role import known_roles
from llm.specs import HUMAN, check_models
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from prompts import laid_over
from scoring.case_scores import Part
from scoring.suite import SUITES
from wardround.config.overlay import check_overlay
from wardround.plugins import load_plugins

GraphName = Literal["clinical_workflow", "consultation", "one_step", "dispute_resolution", "reconstruction"]
GRAPHS: tuple[GraphName, ...] = get_args(GraphName)

# What each graph gives a suite to score; actions only if the patient tracks them.
GIVES: Mapping[GraphName, frozenset[Part]] = {
    "clinical_workflow": frozenset({"decisions"}),
    "consultation": frozenset({"dialogue", "actions", "patient", "report"}),
    "one_step": frozenset({"report"}),
    "dispute_resolution": frozenset({"report"}),
    "reconstruction": frozenset({"dialogue", "reconstruction"}),
}
NAME = "[A-Za-z0-9._=,-]+"

# Context fields that are set elsewhere in an experiment, or by the runner.
NOT_OF_THE_WORKFLOW = {
    "models": "models have a section of their own, [models]",
    "model": "a model has a section of its own, [model.NAME]",
    "seed": "the seed stands at the top of the file, or is `--set seed=N`",
    "epoch": "set by the runner",
    "scope": "set by the graphs",
    "cache": "stands in [run]",
    "max_connections": "stands in [run]",
    "run": "set by the runner",
    "position": "set by the runner",
    "trace_file": "set by the runner",
    "case_source": "the cases are named by data.cases",
}


class ConfigurationError(ValueError):
    """An experiment that cannot be run as written; the message says where, and the remedy."""


class Data(Strict):
    """Which cases are run."""

    cases: str = Field(BUILTIN, description="`builtin`, or a JSON-lines file of cases.")
    notes: str | list[str] | None = Field(
        None, description="Notes instead of cases, for the graph `reconstruction`: one source, or several as one."
    )
    split: Split | None = Field(None, description="Only that split; of the built-in cases, test if not set.")
    limit: int | None = Field(None, ge=1, description="The first so many.")
    shuffle: int | None = Field(None, description="Seed of the order of the cases; that of the file if not set.")
    sufficient: bool = Field(
        False, description="Of these, only what tells a complaint, a history and results (CliniChat, section 4.3)."
    )
    case_ids: list[str] = Field(default_factory=list, description="Only these.")
    terms: str | None = Field(
        None, description="ICD-10 names in the cases' language, .xls or .csv; for English cases ICD-10-CM if not set."
    )
    splitter: Literal["rule", "standard", "model"] = Field(
        "rule",
        description="Who finds the diseases of a report for ICD-10: a rule, the rule and the nearest term's name, or "
        "the judge `entity_splitter`.",
    )


class AllLimits(Strict):
    """What may be spent; a case that reaches a limit is scored with what it has, and marked.

    The turns of a dialogue are limited by ``workflow.max_turns``; to reach that is an ordinary end.
    """

    case: Limits = Field(default_factory=Limits, description="For one case in one epoch, without its judges.")
    roles: dict[str, Limits] = Field(default_factory=dict, description="For one role in one case.")
    run: Limits = Field(default_factory=Limits, description="For the whole run, which then stops; raise it to go on.")

    @field_validator("roles")
    @classmethod
    def _known(cls, roles: dict[str, Limits]) -> dict[str, Limits]:
        if unknown := set(roles) - set(known_roles()):
            raise ValueError(f"unknown role {', '.join(sorted(unknown))}; known are {', '.join(sorted(known_roles()))}")
        if judges := set(roles) & set(judging_roles()):
            raise ValueError(
                f"{', '.join(sorted(judges))}: judges are outside of a case's limits; limit the run instead"
            )
        if seats := [role for role in sorted(roles) if role[-1].isdigit()]:
            raise ValueError(f"{seats[0]}: a seat has the limits of its role; name {seats[0].rstrip('0123456789')!r}")
        return roles


class Run(Strict):
    """How the cases are run; nothing here changes a result."""

    concurrency: int = Field(4, ge=1, description="Cases at once.")
    max_connections: int = Field(64, ge=1, description="Requests at once to one provider, at most.")
    cache: str | None = Field(None, description="A file of answers that runs share; off if not set.")
    checkpoints: str | None = Field(
        None, description="`postgresql://...` to keep checkpoints there; SQLite in the run directory if not set."
    )
    engine: Literal["local", "ray"] = "local"
    fail_on_error: bool = Field(False, description="Stop at the first case that fails.")
    retry_failed: bool = Field(False, description="Run cases again that have failed for good, such as unreadable ones.")
    address: str | None = Field(None, description="Of a Ray cluster; one is started on this machine if not set.")


def _load(names: list[str]) -> list[str]:
    return list(dict.fromkeys(plugin.source for plugin in load_plugins(names)))


class Experiment(Strict):
    """One experiment: a graph over cases, with a model for each role, scored by one suite."""

    # These two are validated first: later fields may name what they register.
    plugins: Annotated[list[str], AfterValidator(_load)] = Field(
        default_factory=list, validate_default=True, description="Files or modules of plug-ins, loaded in this order."
    )
    prompts: Annotated[str, AfterValidator(check_overlay)] | None = Field(
        None, description="A folder of prompts, LANGUAGE/NAME.md, that is laid over ours name by name."
    )
    name: str = Field("clinical-workflow", pattern=f"^{NAME}$")
    graph: GraphName = Field("clinical_workflow", description="What a case goes through.")
    suite: Annotated[str, NameIn(SUITES)] | None = Field(
        None, description="How it is scored; the graph's own suite if not set."
    )
    data: Data = Field(default_factory=Data)
    model: ModelBlocks = Field(default_factory=dict, description="Models with parameters of their own, by name.")
    models: dict[str, str] = Field(default_factory=lambda: {"default": "offline"})
    judges: dict[str, str] = Field(default_factory=dict, description="Models of judges; `default` is all of them.")
    workflow: dict[str, Any] = Field(default_factory=dict, description="Fields of the graph's context.")
    limits: AllLimits = Field(default_factory=AllLimits)
    inferred_keys: bool = Field(
        False, description="Score also what an importer inferred of an answer key, and the source does not state."
    )
    alternative_plans: bool = Field(
        False, description="Score a treatment by the plan of the key that it agrees with best; otherwise by the first."
    )
    published_reference: bool = Field(
        False,
        description="Suite mvme: symptoms are graded by the chief complaint and examinations by the auxiliary ones "
        "alone, as AI Hospital's judge was given them; otherwise by present illness and physical examinations too.",
    )
    epochs: int = Field(1, ge=1, description="How often each case is run.")
    seed: int = 0
    run: Run = Field(default_factory=Run)

    @field_validator("models", "judges", mode="before")
    @classmethod
    def _roles_at_stages(cls, models: Any) -> Any:
        """Flatten: TOML reads a dotted role that is not in quotes as nested tables."""
        return with_specs(flat(models)) if isinstance(models, dict) else models

    @field_validator("judges")
    @classmethod
    def _judges_judge(cls, judges: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "model" in info.data:  # otherwise that fault is reported
            check_models(judges, info.data["model"])
        if doctors := set(judges) - {"default", *judging_roles()}:
            raise ValueError(
                f"{', '.join(sorted(doctors))}: judges nothing and belongs in [models]; "
                f"the judges are {', '.join(judging_roles())}"
            )
        return judges

    @field_validator("models", "judges")
    @classmethod
    def _nobody_waits(cls, models: dict[str, str]) -> dict[str, str]:
        if HUMAN in models.values():
            raise ValueError("a run of many cases cannot wait for a person; use the graph from Python")
        return models

    @field_validator("workflow")
    @classmethod
    def _of_the_workflow(cls, workflow: dict[str, Any]) -> dict[str, Any]:
        for key, place in NOT_OF_THE_WORKFLOW.items():
            if key in workflow:
                raise ValueError(f"{key!r} is no setting of the workflow: {place}")
        return workflow

    @model_validator(mode="after")
    def _suite_fits(self) -> Self:
        fitting = suites_of(self.graph)
        if self.suite not in (None, *fitting):
            raise ValueError(
                f"suite {self.suite!r} cannot score graph {self.graph!r}; it is scored by {', '.join(fitting)}"
            )
        if self.published_reference and self.scored_by != "mvme":
            raise ValueError(f"published_reference is AI Hospital's, of suite 'mvme'; this run has {self.scored_by!r}")
        if "actions" in SUITES[self.scored_by].needs and not self.tracks_actions:
            patients = " or ".join(repr(system.name) for system in PATIENTS.values() if system.tracks)
            needed = f"workflow.patient = {patients}, and its tracker"
            raise ValueError(f"suite {self.scored_by!r} counts tracked actions and needs {needed}")
        return self

    @model_validator(mode="after")
    def _notes_are_reconstructed(self) -> Self:
        if self.data.notes is not None and self.graph != "reconstruction":
            raise ValueError(f"data.notes: graph {self.graph!r} needs cases; notes are for graph 'reconstruction'")
        return self

    @property
    def tracks_actions(self) -> bool:
        """Whether the patient tracks what the doctor does, so that actions can be counted."""
        return PATIENTS[self.context.patient].tracks and self.context.tracker

    @property
    def limits_cost(self) -> bool:
        """Whether any limit is on cost."""
        limits = (self.limits.case, self.limits.run, *self.limits.roles.values())
        return any(limit.cost is not None for limit in limits)

    def to_score(self, item: Any) -> Any:
        """Return a case with the parts of its key and record that it is scored by; a note unchanged.

        Inferred parts of the key that are left out are still listed in ``key.inferred``.
        """
        if not isinstance(item, Case):
            return item
        if self.published_reference:
            without_illness = item.patient.model_copy(update={"present_illness": ""})
            without_physical = item.examinations.model_copy(update={"physical": {}})
            item = item.model_copy(update={"patient": without_illness, "examinations": without_physical})
        key = item.key
        if key.inferred and not self.inferred_keys:
            key = key.stated.model_copy(update={"inferred": key.inferred})
        if key.alternative_plans and not self.alternative_plans:
            key = key.model_copy(update={"alternative_plans": []})
        return item if key is item.key else item.model_copy(update={"key": key})

    @property
    def scored_by(self) -> str:
        """The suite that scores the run."""
        return self.suite or suites_of(self.graph)[0]

    @property
    def context(self) -> Context:
        """The context of the graph, as far as it is the same for all cases."""
        judges = {key: spec for key, spec in self.judges.items() if key != "default"}
        if "default" in self.judges and SUITES[self.scored_by].asks:  # a model that is never asked needs no API key
            judges = {role: self.models.get(role, self.judges["default"]) for role in judging_roles()} | judges
        with laid_over(self.prompts) if self.prompts else nullcontext():  # the folder may add the language that is set
            own = CONTEXTS[self.graph].model_validate(
                {
                    "seed": self.seed,
                    "cache": self.run.cache,
                    "max_connections": self.run.max_connections,
                    **self.workflow,
                    "model": self.model,
                    "models": {**self.models, **judges},
                }
            )
            return own.whole

    @property
    def identity(self) -> dict[str, Any]:
        """What a result depends on: the configuration without run settings and the run's limits.

        Time-outs and retries are left out too, so that they may be changed for a run that was started.
        """
        waiting = {"timeout", "max_attempts", "max_outage", "max_connections"}
        identity = self.model_dump(mode="json", exclude={"run": True, "limits": {"run"}, "workflow": waiting})
        unless_empty = ("plugins", "prompts", "model", "alternative_plans", "published_reference")
        return {key: value for key, value in identity.items() if value or key not in unless_empty}


def suites_of(graph: GraphName) -> list[str]:
    """Return the suites that can score a graph's answers; the first is the default."""
    return [name for name, suite in SUITES.items() if suite.needs <= GIVES[graph]]


def judging_roles() -> list[str]:
    """Return the roles that judge the answers of others."""
    return sorted(role for role, stages in known_roles().items() if all(map(is_judging, stages)))


def flat(settings: Mapping[str, Any], under: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names; in a model map, stages given as tables become dotted roles."""
    entries: dict[str, Any] = {}
    for key, value in settings.items():
        entries |= flat(value, f"{under}{key}.") if isinstance(value, Mapping) else {f"{under}{key}": value}
    return entries
