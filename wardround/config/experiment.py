"""The sections of an experiment and their checks; ``experiment_file.py`` reads them from a file."""

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

import graphs.roles  # noqa: F401  declares the roles that a model map is checked against
from cases import Case
from cases.case import Split
from cases.files import BUILTIN
from cases.path_names import HomePathName, PathName, home_path
from cases.registry import NameIn
from cases.strict import OwnNumbers, Strict
from cases.validation import InputError
from graphs.contexts import CONTEXTS
from llm.blocks import ModelBlocks
from llm.limits import Limits
from llm.model_objects import OBJECT, with_specs
from llm.role import is_judging, known_roles
from llm.specs import HUMAN, check_models
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.strategies.registry import STRATEGIES
from prompts import laid_over
from scoring.case_scores import Part
from scoring.suite import SUITES
from wardround.config.overlay import check_overlay
from wardround.config.sections import leaves
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
    "models": "set models in [models]",
    "model": "set parameters of a model in [model.NAME]",
    "seed": "set the seed at the top of the file, or with `--set seed=N`",
    "epoch": "the runner sets it",
    "scope": "the graphs set it",
    "cache": "set it in [run], or with `--set run.cache=FILE`",
    "max_connections": "set it in [run], or with `--set run.max_connections=N`",
    "run": "the runner sets it",
    "position": "the runner sets it",
    "trace_file": "the runner sets it",
    "case_source": "set the case file in data.cases",
}


class ConfigurationError(InputError):
    """An experiment that cannot be run as written; the message says where, and the remedy."""


class Data(OwnNumbers, Strict):
    """The cases to run."""

    cases: HomePathName = Field(default=BUILTIN, description="JSON-lines file of cases, or `builtin`.")
    notes: str | list[str] | None = Field(
        default=None,
        description="Notes to run instead of cases, for the graph `reconstruction`: one source, or a list of sources.",
    )
    split: Split | None = Field(
        default=None,
        description="Run only cases of this split. If not set: test for the built-in cases, otherwise all cases.",
    )
    limit: int | None = Field(default=None, ge=1, description="Run only this many cases, from the start.")
    shuffle: int | None = Field(
        default=None, description="Seed for shuffling the cases; if not set, they keep the order of the file."
    )
    sufficient: bool = Field(
        default=False,
        description="Of these, run only those with a complaint, a history and results (CliniChat, section 4.3).",
    )
    case_ids: list[str] = Field(default_factory=list, description="Run only the cases with these ids.")
    terms: HomePathName | None = Field(
        default=None,
        description="File of ICD-10 names in the cases' language (.xls or .csv). If not set, ICD-10-CM (English).",
    )
    splitter: Literal["rule", "standard", "model"] = Field(
        default="rule",
        description="How the diseases of a report are found for ICD-10: by rule; by rule, under the name of the "
        "nearest term (standard); or by the judge `entity_splitter` (model).",
    )

    @field_validator("cases", mode="before")
    @classmethod
    def _named(cls, cases: Any) -> Any:
        if isinstance(cases, Iterable) and not isinstance(cases, str | os.PathLike):
            raise ValueError("expected the name of a file; from Python, wr.save_cases(CASES, FILE) writes one")
        return cases

    @field_validator("notes")
    @classmethod
    def _without_tilde(cls, notes: str | list[str] | None) -> str | list[str] | None:
        if isinstance(notes, list):
            return [home_path(name) for name in notes]
        return None if notes is None else home_path(notes)

    @property
    def source(self) -> str:
        """Where the cases or notes are from, for people."""
        notes = [self.notes] if isinstance(self.notes, str) else self.notes
        return ", ".join(notes or [self.cases])


class AllLimits(Strict):
    """Limits on what may be spent. A case that reaches a limit is scored with what it has, and marked.

    The turns of a dialogue are limited by ``workflow.max_turns``; reaching that limit is an ordinary end.
    """

    case: Limits = Field(default_factory=Limits, description="Limits for one case in one epoch, without its judges.")
    roles: dict[str, Limits] = Field(default_factory=dict, description="Limits for one role in one case, by role.")
    run: Limits = Field(
        default_factory=Limits,
        description="Limits for the whole run, which stops when it reaches one. Raise the limit to resume.",
    )

    @field_validator("roles")
    @classmethod
    def _check_known(cls, roles: dict[str, Limits]) -> dict[str, Limits]:
        if unknown := set(roles) - set(known_roles()):
            raise ValueError(
                f"unknown role {', '.join(sorted(unknown))}; expected one of {', '.join(sorted(known_roles()))}"
            )
        if judges := set(roles) & set(judging_roles()):
            raise ValueError(
                f"{', '.join(sorted(judges))}: judges do not count towards the limits of a case; set limits.run instead"
            )
        if seats := [role for role in sorted(roles) if role[-1].isdigit()]:
            raise ValueError(f"{seats[0]}: each seat has the limits of its role; use {seats[0].rstrip('0123456789')!r}")
        return roles


class Run(OwnNumbers, Strict):
    """How the cases are run. These settings do not change results."""

    concurrency: int = Field(default=4, ge=1, description="Number of cases to run at the same time.")
    max_connections: int = Field(
        default=64, ge=1, description="Maximum number of simultaneous requests to one provider."
    )
    cache: PathName | None = Field(
        default=None, description="File of cached answers, shared by runs; if not set, no cache is used."
    )
    checkpoints: str | None = Field(
        default=None,
        description="PostgreSQL address for checkpoints (`postgresql://...`); if not set, SQLite in the run directory.",
    )
    engine: Literal["local", "ray"] = Field(
        default="local", description="Run the cases on this machine (local) or on a Ray cluster (ray)."
    )
    fail_on_error: bool = Field(default=False, description="Stop at the first case that fails.")
    retry_failed: bool = Field(
        default=False, description="Rerun cases that failed permanently, such as those with unreadable answers."
    )
    address: str | None = Field(
        default=None,
        description="Address of a Ray cluster (HOST:PORT, or auto); if not set, one is started on this machine.",
    )


def _load(names: list[str]) -> list[str]:
    return list(dict.fromkeys(plugin.source for plugin in load_plugins(names)))


class Experiment(OwnNumbers, Strict):
    """One experiment: a graph over cases, with a model for each role, scored by one suite."""

    # These two are validated first: later fields may name what they register.
    plugins: Annotated[list[str], AfterValidator(_load)] = Field(
        default_factory=list, validate_default=True, description="Plug-ins to load, as files or modules, in this order."
    )
    prompts: Annotated[PathName, AfterValidator(check_overlay)] | None = Field(
        default=None, description="Folder of prompts (LANGUAGE/NAME.md) that replace built-in ones of the same name."
    )
    name: str = Field(
        default="clinical-workflow",
        pattern=f"^{NAME}$",
        description="Name of the experiment, used for its run directory.",
    )
    graph: GraphName = Field(default="clinical_workflow", description="Graph that runs each case.")
    suite: Annotated[str, NameIn(SUITES)] | None = Field(
        default=None, description="Suite that scores the run; if not set, the default suite of the graph."
    )
    data: Data = Field(default_factory=Data)
    model: ModelBlocks = Field(default_factory=dict, description="Models with their own parameters, by name.")
    models: dict[str, str] = Field(
        default_factory=lambda: {"default": "offline"}, description="Model of each role; `default` is for all others."
    )
    judges: dict[str, str] = Field(
        default_factory=dict, description="Model of each judging role; `default` is for all others."
    )
    workflow: dict[str, Any] = Field(default_factory=dict, description="Settings of the graph.")
    limits: AllLimits = Field(default_factory=AllLimits)
    inferred_keys: bool = Field(
        default=False,
        description="Also score items of answer keys that an importer inferred and the source does not state.",
    )
    alternative_plans: bool = Field(
        default=False,
        description="Score a treatment against the best-matching plan of the answer key; if off, against the first.",
    )
    published_reference: bool = Field(
        default=False,
        description="For suite mvme, grade symptoms only against the chief complaint, and examinations only against "
        "the auxiliary ones, as AI Hospital does. If off, present illness and physical examinations are included.",
    )
    epochs: int = Field(default=1, ge=1, description="Number of times to run each case.")
    seed: int = Field(
        default=0, description="Seed for random draws, and for models that accept one; each epoch adds its number."
    )
    run: Run = Field(default_factory=Run)

    @field_validator("models", "judges", mode="before")
    @classmethod
    def _roles_at_stages(cls, models: Any, info: ValidationInfo) -> Any:
        """Flatten: TOML reads a dotted role that is not in quotes as nested tables."""
        if not isinstance(models, dict):
            return models
        doctors = info.data.get("models", {}).values()  # known once the judges are validated
        return with_specs(flat(models), field=str(info.field_name), beside=doctors)

    @field_validator("judges")
    @classmethod
    def _judges_judge(cls, judges: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "model" in info.data:  # otherwise that fault is reported
            check_models(judges, info.data["model"])
        if doctors := set(judges) - {"default", *judging_roles()}:
            raise ValueError(
                f"{', '.join(sorted(doctors))}: not a judging role; set its model in [models]. "
                f"The judging roles are {', '.join(judging_roles())}"
            )
        return judges

    @field_validator("models", "judges")
    @classmethod
    def _nobody_waits(cls, models: dict[str, str]) -> dict[str, str]:
        if HUMAN in models.values():
            raise ValueError(
                "a run of many cases cannot wait for a person; use `wardround consult`, or the graph from Python"
            )
        return models

    @field_validator("workflow")
    @classmethod
    def _of_the_workflow(cls, workflow: dict[str, Any]) -> dict[str, Any]:
        for key, place in NOT_OF_THE_WORKFLOW.items():
            if key in workflow:
                raise ValueError(f"{key!r} cannot be set in [workflow]: {place}")
        return workflow

    @model_validator(mode="after")
    def _suite_fits(self) -> Self:
        fitting = suites_of(self.graph)
        if self.suite not in (None, *fitting):
            raise ValueError(
                f"suite {self.suite!r} cannot score graph {self.graph!r}; expected one of {', '.join(fitting)}"
            )
        if self.published_reference and self.scored_by != "mvme":
            raise ValueError(f"published_reference needs suite 'mvme'; this run has suite {self.scored_by!r}")
        if "actions" in SUITES[self.scored_by].needs and not self.tracks_actions:
            patients = " or ".join(repr(system.name) for system in PATIENTS.values() if system.tracks)
            needed = f"workflow.patient = {patients}, with its tracker on"
            raise ValueError(f"suite {self.scored_by!r} counts tracked actions; it needs {needed}")
        return self

    @model_validator(mode="after")
    def _notes_are_reconstructed(self) -> Self:
        if self.data.notes is not None and self.graph != "reconstruction":
            raise ValueError(
                f"data.notes: graph {self.graph!r} runs cases, not notes; set data.cases, or graph = 'reconstruction'"
            )
        return self

    @model_validator(mode="after")
    def _objects_stay_in_this_process(self) -> Self:
        for field, models in {"models": self.models, "judges": self.judges}.items():
            for role, spec in models.items() if self.run.engine == "ray" else ():
                if spec.startswith(f"{OBJECT}:"):
                    raise ValueError(
                        f"{field}.{role}: a model object cannot be sent to the workers of a cluster; name the model by "
                        "its spec, PROVIDER:MODEL[@URL], or run with the engine 'local'"
                    )
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
    def known_names(self) -> set[str]:
        """Which metrics, suite, patient and strategy of the run this process knows, such as ``metric urgency``."""
        context = self.context
        patient, strategy = getattr(context, "patient", ""), getattr(context, "strategy", "")
        chosen = [f"patient {patient}"] * (patient in PATIENTS) + [f"strategy {strategy}"] * (strategy in STRATEGIES)
        return {*chosen, f"suite {self.scored_by}", *(f"metric {name}" for name in SUITES[self.scored_by].metrics)}

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


def flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested settings to dotted names; in a model map, stages given as tables become dotted roles."""
    return {".".join(map(str, place)): value for place, value in leaves(settings) if value != {}}
