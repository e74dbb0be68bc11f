"""Read experiment files: what they extend, the runs they sweep over, and what is set over them."""

import difflib
import itertools
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases.files import BUILTIN, meant_builtin
from cases.grouping import repetitions
from cases.path_names import nameable
from cases.readable import unpiped, unreadable, wide_sign_in
from graphs.contexts import CONTEXTS
from llm import ModelSpecError
from llm.specs import OFFLINE, check_models
from wardround.config.experiment import NAME, ConfigurationError, Data, Experiment, judging_roles
from wardround.config.role_models import JUDGES, PATIENT, check_distinct, check_rows, model_keys_of, patients_side
from wardround.config.sections import leaves
from wardround.config.setting_places import (
    COMMAND_LINE,
    MODEL_MAPS,
    Place,
    Settings,
    block_at,
    given_models,
    laid_out,
    nested,
    origin_of,
    place_of,
    refusal,
    whole,
    within,
)
from wardround.config.sweeping import Sweeping
from wardround.library import library_files
from wardround.plugins import PluginError, locate

_RESERVED = (".", "..", "tables")  # names that a sweep's directory uses itself
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")


@dataclass(frozen=True)
class Sweep:
    """The runs that a file asks for, by name: one, or one per variant and combination of the grid."""

    name: str
    runs: dict[str, Experiment]
    tables: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether the file defines a single run."""
        return list(self.runs) == [""]

    @property
    def shared_seeds(self) -> list[int]:
        """The seeds that epochs of runs with different seeds share, as each epoch adds its number to the seed."""
        epochs: dict[int, int] = {}
        for one in self.runs.values():
            epochs[one.seed] = max(one.epochs, epochs.get(one.seed, 0))
        return sorted(repetitions(seed + epoch for seed, number in epochs.items() for epoch in range(number)))


def read_sweep(
    file: Path | None,
    overrides: Mapping[str, Any],
    models: Mapping[str, str] | None = None,
    plugins: Sequence[str] = (),
    origin: str = COMMAND_LINE,
) -> Sweep:
    """Read every run of an experiment file, with the command line's settings over each.

    ``extends`` names a file whose settings apply where this one has none. ``[variants.NAME]`` holds the settings of one
    named run; ``[grid]`` lists values by dotted key, and every combination of them is a run, of each variant.

    Args:
        file: a TOML file; the defaults (the built-in test cases, offline) if None.
        overrides: values by dotted key, such as ``data.limit`` or ``workflow.feedback``.
        models: entries that override the file's model map.
        plugins: loaded in addition to those that the file names.
        origin: where overrides, models and plugins were written, for errors.

    Raises:
        ConfigurationError: a file cannot be read, or a key or value is unknown; names file and key.
    """
    written = _read(file, ())
    base = {place: setting for place, setting in written.items() if place[0] not in Sweeping.model_fields}
    sweeping = _sweeping({place: setting for place, setting in written.items() if place not in base}, file)
    grid = laid_out(sweeping.grid)
    variants = {name: laid_out(settings) for name, settings in sweeping.variants.items()}
    for name in variants:
        _check_name(f"{file}: variants", name)
    swept = {*grid, *(place for settings in variants.values() for place in settings)}
    models = models or {}
    given = _command_line_settings(overrides, models, origin)
    if plugins and isinstance(listed := base.get(("plugins",), ([], origin))[0], list):
        base[("plugins",)] = ([*listed, *plugins], origin)
    _check_not_swept(given, base, swept, file)
    _check_not_in_grid(base, variants, grid, file)
    fixed = _fixed(sweeping, swept, file)
    blocks = {block for place in (*base, *given, *swept) if (block := block_at(place))}
    settings = _run_settings(base, given, list(_combinations(variants or {"": {}}, grid, file)), file)
    for run_settings in settings.values():
        if plugged := run_settings.get(("plugins",)):
            _validate({("plugins",): plugged}, file)  # loads them: their roles may have models
    _check_specs({origin: models, f"{file}: fixed": fixed}, blocks)
    with_fixed = _with_fixed(settings, sweeping.fixed, file)
    runs = {name: _validate(run_settings, file) for name, run_settings in with_fixed.items()}
    check_distinct(runs, str(file))
    _check_blocks_used(base, {*fixed.values()}.union(*map(given_models, (base, *settings.values()))), file)
    if sweeping.tables and not overrides.get("mixed", sweeping.mixed):
        check_rows(runs, str(file))
    title = overrides.get("name") or base.get(("name",), (None,))[0] or (file.stem if file else Experiment().name)
    _check_name(f"{origin_of(base, ('name',), file)}: name", str(title))
    return Sweep(str(title), runs, tuple(sweeping.tables))


def _check_name(where: str, name: str) -> None:
    if not re.fullmatch(NAME, name):
        raise ConfigurationError(f"{where}: {name!r} cannot be used as a directory name (expected {NAME})")


def read_experiment(
    file: Path | None,
    overrides: Mapping[str, Any],
    models: Mapping[str, str] | None = None,
    plugins: Sequence[str] = (),
) -> Experiment:
    """Read the only run of an experiment file; see :func:`read_sweep`.

    Raises:
        ConfigurationError: as there, or the file sweeps over several runs.
    """
    return only_run(read_sweep(file, overrides, models, plugins), file)


def only_run(sweep: Sweep, file: Path | None) -> Experiment:
    """Return the only run of a file.

    Raises:
        ConfigurationError: the file sweeps over several.
    """
    if not sweep.single:
        found = f"{file}: defines {len(sweep.runs)} runs"
        raise ConfigurationError(f"{found}; expected one (`wardround run {file}` and wr.run_sweep run them all)")
    return sweep.runs[""]


def check_experiment(sections: Mapping[str, Any]) -> Experiment:
    """Validate an experiment given as the sections of a file.

    Raises:
        ConfigurationError: a key or value is unknown; names it.
    """
    return _validate({place: (value, "experiment") for place, value in laid_out(sections).items()}, None)


def _read(file: Path | None, seen: tuple[Path, ...]) -> Settings:
    """Read a file's settings, over those of the file that it extends."""
    if file is None:
        return {}
    if file.suffix in (".json", ".jsonl"):
        raise ConfigurationError(f"{file}: is no experiment file (.toml); for a file of cases, give --cases {file}")
    text = ""
    try:
        text = unpiped(file).read_text("utf-8-sig")
        values = tomllib.loads(text)
    except (OSError, ValueError) as error:  # no UTF-8, no TOML, or no name of a file
        if not file.exists():
            here = file.parent.glob("*.toml") if file.parent.is_dir() else ()
            known = {name: name for name in library_files()} | {one.stem: str(one) for one in here}
            close = [known[stem] for stem in difflib.get_close_matches(file.stem, known, n=3)]
            listed = "`wardround experiments list` lists the built-in ones"
            hint = f"did you mean {' or '.join(close)}?" if close else listed
            raise ConfigurationError(
                f"{file}: file not found, and no built-in experiment has this name; {hint}"
            ) from error
        is_toml = isinstance(error, tomllib.TOMLDecodeError)
        why = f"invalid TOML: {error}{wide_sign_in(text, str(error))}" if is_toml else unreadable(error)
        raise ConfigurationError(f"{file}: {why}") from error
    _resolve_beside(values, file)
    own: Settings = {whole(place): (value, str(file)) for place, value in leaves(values)}
    extended = values.get("extends")
    if not isinstance(extended, str):
        return own  # what else is given is refused later, with the other faults of the sweep
    if file.resolve() in seen:
        raise ConfigurationError(f"{file}: extends: these files extend each other in a circle; remove one `extends`")
    shipped = library_files().get(extended.removesuffix(".toml"))
    try:
        beside = file.parent / os.path.expanduser(nameable(extended))
        base = _read(beside if beside.exists() or shipped is None else shipped, (*seen, file.resolve()))
    except ValueError as error:
        raise ConfigurationError(f"{file}: extends: {error}") from error
    # An empty section overrides nothing.
    own = {
        at: setting for at, setting in own.items() if setting[0] != {} or not any(within(place, at) for place in base)
    }
    return {**{at: setting for at, setting in base.items() if at not in own}, **own}


def _resolve_beside(settings: dict[str, Any], file: Path) -> None:
    """Resolve plug-ins and prompts relative to the file, not to the working directory."""
    if isinstance(plugins := settings.get("plugins"), list):
        try:
            settings["plugins"] = [locate(str(name), file.parent) for name in plugins]
        except PluginError as error:
            raise ConfigurationError(f"{file}: plugins: {error}") from error
    if isinstance(folder := settings.get("prompts"), str):
        settings["prompts"] = str(file.parent / os.path.expanduser(folder))
    elif isinstance(folder, list):  # in a grid
        settings["prompts"] = [str(file.parent / os.path.expanduser(str(name))) for name in folder]
    variants = settings.get("variants")
    for inner in (settings.get("grid"), *(variants.values() if isinstance(variants, dict) else ())):
        if isinstance(inner, dict):
            _resolve_beside(inner, file)


def _sweeping(settings: Settings, file: Path | None) -> Sweeping:
    """Parse what a file sweeps over."""
    try:
        found = Sweeping.model_validate(nested(settings))
    except ValidationError as error:
        raise refusal(error, settings, file) from error
    for place, values in laid_out(found.grid).items():
        if not isinstance(values, list) or not values:
            raise ConfigurationError(f"{file}: grid.{'.'.join(place)}: expected a list of values, not {values!r}")
    return found


def _command_line_settings(overrides: Mapping[str, Any], models: Mapping[str, str], origin: str) -> Settings:
    """Return the command line's settings by place; except `mixed`, it may set nothing that defines the sweep."""
    if "judges" in models:
        how = "`--set judges.default=SPEC`" if origin == COMMAND_LINE else "settings={'judges.default': SPEC}"
        raise ConfigurationError(f"{origin}: judges are set by {how}, not among the models")
    given: Settings = {place_of(key): (value, origin) for key, value in overrides.items() if key != "mixed"}
    given |= {("models", role): (spec, origin) for role, spec in models.items()}
    if hits := [place for place in given if place[0] in Sweeping.model_fields]:
        beside = "; --models ROLE=SPEC and --set judges.default=SPEC take precedence over it"
        other = beside if hits[0][0] == "fixed" else ""
        raise ConfigurationError(f"{origin}: {'.'.join(hits[0])}: can only be set in an experiment file{other}")
    return given


def _check_specs(models: Mapping[str, Mapping[str, str]], blocks: Collection[str]) -> None:
    """Refuse a spec that names no model, given the model maps by where they were written, and the names of blocks."""
    for where, model_map in models.items():
        try:
            check_models(model_map, blocks)
        except ModelSpecError as error:
            raise ConfigurationError(f"{where}: {error}") from error


def _check_blocks_used(base: Settings, models: Collection[str], file: Path | None) -> None:
    """Refuse a [model.NAME] block of the file that is among no models of a run."""
    for place, (_, written_in) in base.items():
        if (block := block_at(place)) and block not in models and written_in == str(file):
            raise ConfigurationError(
                f"{file}: model.{block}: not used in [models] or [judges]; use it for a role, or remove it"
            )


def _check_not_swept(given: Settings, base: Settings, swept: Collection[Place], file: Path | None) -> None:
    """Refuse command-line settings that the sweep varies."""
    for place, (_, origin) in given.items():
        if place in swept:
            named = sorted(filter(None, map(block_at, base))) if place[0] == "models" else []
            other_models = f"change its models with --set model.{named[0]}.spec=SPEC" if named else ""
            remedy = other_models or "remove it from the file"
            raise ConfigurationError(f"{origin}: {'.'.join(place)}: {file} varies this setting; {remedy}")


def _check_not_in_grid(
    base: Settings, variants: Mapping[str, Mapping[Place, Any]], grid: Collection[Place], file: Path | None
) -> None:
    """Refuse settings of the file or of a variant that have no effect, because the grid sets them for every run."""
    own = [place for place, (_, origin) in base.items() if origin == str(file)]
    settings = [("", own), *((f"variants.{name}.", given) for name, given in variants.items())]
    for within_variant, places in settings:
        if hit := next((place for place in places if place in grid), None):
            name = ".".join(hit)
            raise ConfigurationError(
                f"{file}: {within_variant}{name}: without effect, as grid.{name} sets it for every run; remove it, or "
                f"set grid.{name} to a list of what is wanted"
            )


def _fixed(sweeping: Sweeping, swept: Collection[Place], file: Path | None) -> dict[str, str]:
    """Return the models fixed for every run, by the key of a model map; refused if a run sets another."""
    for place in swept:
        role = place[-1].rpartition(".")[2]  # without its stage
        role = JUDGES if place[0] == JUDGES or role in judging_roles() else role
        if place[0] in MODEL_MAPS and role in sweeping.fixed:
            raise ConfigurationError(
                f"{file}: {'.'.join(place)}: [fixed] sets the same {role} for every run; remove one of the two"
            )
    return {"default" if role == JUDGES else role: spec for role, spec in sweeping.fixed.items()}


def _run_settings(
    base: Settings, given: Settings, combinations: Sequence[tuple[str, Settings]], file: Path | None
) -> dict[str, Settings]:
    """Return the settings of each run by name: command line over the run's own over the file's."""
    obeyed_by_any = set().union(*(_obeyed(base, run_settings) for _, run_settings in combinations))
    found: dict[str, Settings] = {}
    for name, run_settings in combinations:
        if name in _RESERVED:
            raise ConfigurationError(f"{file}: variants: {name!r} is a reserved name; choose another")
        if name in found:
            raise ConfigurationError(
                f"{file}: two runs would be named {name!r}; give them different names in [variants]"
            )
        over = {**run_settings, **given}
        if name:
            over[("name",)] = (name, str(file))
        ignored = obeyed_by_any - _obeyed(base, over)  # settings that only other runs' graphs have
        inherited = {
            place: setting
            for place, setting in base.items()
            if place not in over and (place[0] != "workflow" or place[-1] not in ignored)
        }
        found[name] = {**inherited, **over}
    return found


def _obeyed(base: Settings, run_settings: Settings) -> set[str]:
    """Return the settings that the graph of a run obeys."""
    graph = {**base, **run_settings}.get(("graph",), (Experiment().graph, ""))[0]
    return set(CONTEXTS[graph].model_fields) if isinstance(graph, str) and graph in CONTEXTS else set()


def _combinations(
    variants: Mapping[str, Mapping[Place, Any]], grid: Mapping[Place, Sequence[Any]], file: Path | None
) -> Iterator[tuple[str, dict[Place, tuple[Any, str]]]]:
    """Yield each run's name and its own settings: value and origin by place."""
    for variant, settings in variants.items():
        own = {place: (value, f"{file}: variants.{variant}") for place, value in settings.items()}
        for values in itertools.product(*(zip(each, _labels(each), strict=True) for each in grid.values())):
            parts = [variant] if variant else []
            parts += [f"{place[-1]}={label}" for place, (_, label) in zip(grid, values, strict=True)]
            chosen = {place: (value, f"{file}: grid") for place, (value, _) in zip(grid, values, strict=True)}
            yield ",".join(parts), {**own, **chosen}


def _labels(values: Sequence[Any]) -> list[str]:
    """Return labels of values for run names; models without their servers' addresses, where they stay distinct."""
    whole = [str(value) for value in values]
    models = [text.partition("@http")[0] for text in whole]
    return [_UNSAFE.sub("-", text) for text in (models if len({*models}) == len({*whole}) else whole)]


def _validate(settings: Settings, file: Path | None) -> Experiment:
    section = ""
    try:
        experiment = Experiment.model_validate(nested(settings))
        section = "workflow"
        _ = experiment.context
    except ValidationError as error:
        raise refusal(error, settings, file, section) from error
    if file is not None:
        _check_data(experiment.data, settings)
    given = {*experiment.models.values(), *experiment.judges.values()}
    return experiment.model_copy(
        update={"model": {name: block for name, block in experiment.model.items() if name in given}}
    )


def _check_data(data: Data, settings: Settings) -> None:
    """Refuse files of cases, notes or terms that are not there, by where they are named; an option names itself."""
    notes = data.notes if isinstance(data.notes, list) else filter(None, [data.notes])
    for key, names in {"cases": {data.cases} - {BUILTIN}, "notes": notes, "terms": filter(None, [data.terms])}.items():
        _, origin = settings.get(("data", key), (None, COMMAND_LINE))
        if origin != COMMAND_LINE and (missing := next((name for name in names if not Path(name).exists()), None)):
            hint = meant_builtin(missing) if key == "cases" else ""
            raise ConfigurationError(f"{origin}: data.{key}: {missing}: file not found{hint}")


def _with_fixed(runs: Mapping[str, Settings], fixed: Mapping[str, str], file: Path | None) -> dict[str, Settings]:
    """Add the fixed models to each run that uses models; a model goes only to runs that ask its role."""
    if not fixed and len(runs) == 1 and not any(("models", PATIENT) in run_settings for run_settings in runs.values()):
        return dict(runs)
    unfixed_runs = {
        name: _validate({at: setting for at, setting in run_settings.items() if at[0] not in MODEL_MAPS}, file)
        for name, run_settings in runs.items()
    }
    asked = {name: {*model_keys_of(run), *judging_roles()} for name, run in unfixed_runs.items()}
    asked_by_any = set().union(*asked.values())
    of_file: Settings = {
        (JUDGES, "default") if role == JUDGES else ("models", role): (spec, f"{file}: fixed")
        for role, spec in fixed.items()
    }
    found: dict[str, Settings] = {}
    for name, run_settings in runs.items():
        keys = asked[name] | {"default"}
        patient_roles = patients_side(unfixed_runs[name])
        chosen_models = {
            at: setting
            for at, setting in _with_patient_roles(run_settings, patient_roles).items()
            if at[0] != "models" or at[-1] in keys or at[-1] not in asked_by_any
        }
        if any(value != OFFLINE for (section, *_), (value, _) in chosen_models.items() if section == "models"):
            fixed_models = _with_patient_roles(of_file, patient_roles)
            chosen_models = {
                **{at: setting for at, setting in fixed_models.items() if at[0] == JUDGES or at[-1] in keys},
                **chosen_models,
            }
        found[name] = chosen_models
    return found


def _with_patient_roles(settings: Settings, patient_roles: Collection[str]) -> Settings:
    """Replace a model for `patient` by one for each role of the patient's side, if none of them has that name."""
    if not patient_roles or PATIENT in patient_roles or ("models", PATIENT) not in settings:
        return settings
    rest = {at: setting for at, setting in settings.items() if at != ("models", PATIENT)}
    return {**{("models", role): settings["models", PATIENT] for role in sorted(patient_roles)}, **rest}
