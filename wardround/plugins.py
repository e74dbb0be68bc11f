"""Load plug-ins: found by name, loaded once, hashed. The only place that imports modules by name.

A plug-in is a Python file, a folder with an ``__init__.py``, or an installed module. On import it registers what it
adds (a metric, a strategy, a patient, an importer, prompts); it is refused if it registers nothing.
"""

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cases.registry import RegistryError, code_outside_plugins, registering
from cases.validation import InputError, in_a_line, line_in, nearest
from prompts import prompt_folders
from wardround.noted_plugins import note, noted
from wardround.script_code import module_of, text_of

if TYPE_CHECKING:
    from llm import Role

GROUP = "wardround.plugins"  # entry points of installed plug-ins
_MISSPELT = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
_OURS = frozenset({"cases", "nodes", "scoring", "graphs", "wardround"})  # packages that register our own
_ALIKE, _DIGITS = 0.8, re.compile(r"\d")  # how alike a misspelt stage and the one meant are
VARIABLE = "WARDROUND_PLUGINS"  # plug-ins for a process that we start, one a line, as a folder may have a colon


class PluginError(InputError):
    """A plug-in that cannot be used; the message names it and the reason."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in."""

    name: str  # its module
    source: str  # loads it again from anywhere: the path of its file, or the name of its module
    sha256: str  # of its file; for a package, of all its Python files
    version: str | None  # of the installed distribution it belongs to, if any
    adds: tuple[str, ...]  # what it registered, such as ``metric urgency``


_loaded: dict[str, Plugin] = {}
_importing_now: list[str] = []  # during import, a plug-in may itself ask to load plug-ins


def load_plugin(name: str | Path, folder: Path | None = None) -> Plugin:
    """Load a plug-in, unless it is loaded already.

    Args:
        name: a file, a folder, or a module; a file beside it takes precedence over an installed module.
        folder: where to look for files; the working directory if None.

    Raises:
        PluginError: it cannot be found or imported, registers nothing, or was changed after it was loaded.
    """
    source = locate(name, folder)
    if (known := _loaded.get(source)) is not None:
        if _sha256(_files(sys.modules[known.name])) != known.sha256:
            raise PluginError(f"plug-in {name}: its files have changed since it was loaded; restart Python")
        return known
    _register_builtins()
    from llm.role import declared_roles

    modules, folders, roles = set(sys.modules), prompt_folders(), declared_roles()
    with registering(f"plug-in {name}") as additions, ExitStack() as at_end:
        _importing_now.append(source)
        at_end.callback(_importing_now.remove, source)
        module = _import(source, str(name))
        added = [*additions(), *(f"prompts {new.name}" for new in prompt_folders() if new not in folders)]
        try:
            if not added and module.__name__ not in modules:
                raise PluginError(
                    f"plug-in {name}: it registers nothing; docs/extending.md describes what a plug-in can add"
                )
            _check_stages(str(name), roles, declared_roles())
        except PluginError:
            sys.modules.pop(module.__name__, None)
            raise
    installed = None if Path(source).is_absolute() else _version_of(module)
    plugin = Plugin(module.__name__, source, _sha256(_files(module)), installed, tuple(added))
    note(source)
    return _loaded.setdefault(source, plugin)


def load_plugins(names: Iterable[str | Path]) -> list[Plugin]:
    """Load the installed plug-ins, then the named ones.

    Raises:
        PluginError: one of them cannot be used.
    """
    for point in _installed(tuple(sys.path)):
        if point.module not in _importing_now:
            _load_installed(point)
    return [load_plugin(name) for name in names]


def is_own(name: str) -> bool:
    """Whether the user has loaded a plug-in on this machine before, or it cannot be loaded at all.

    A run directory received from somebody names plug-ins too, and importing them would run that person's code. A
    module that is not installed here has no code to run, so it is not called foreign.
    """
    try:
        load_plugins(())
        source = locate(name)
    except PluginError:
        return True
    if source in _loaded or source in noted():
        return True
    try:
        return not Path(source).is_absolute() and importlib.util.find_spec(_top_module(source)) is None
    except (ImportError, ValueError):  # not the name of a module
        return True


def record_plugins(used: Collection[str] = ()) -> dict[str, Any] | None:
    """Return the manifest's record of the loaded plug-ins, all of which may affect results; None if there are none.

    What a script or a notebook has registered itself is recorded under the name of its module if it is ``used`` (such
    as ``metric urgency``), since other cells may have been run before the same run goes on.
    """
    plugins = [*_loaded.values(), *_of_scripts(used)]
    return {
        plugin.name: {"sha256": plugin.sha256, "version": plugin.version, "adds": list(plugin.adds)}
        for plugin in sorted(plugins, key=lambda plugin: plugin.name)
    } or None


def _of_scripts(used: Collection[str]) -> Iterator[Plugin]:
    """Yield what the modules of a script or notebook have registered, as if each were a plug-in."""
    by_module: dict[str, dict[str, Callable[..., Any]]] = {}
    for what, code in code_outside_plugins().items():
        module = module_of(code)
        if what in used and _top_module(module) not in _OURS:
            by_module.setdefault(module, {})[what] = code
    for module, added in by_module.items():
        source = "\n".join(f"{what}\n{text_of(added[what])}" for what in sorted(added))
        yield Plugin(module, module, hashlib.sha256(source.encode()).hexdigest(), None, tuple(sorted(added)))


def plugin_of(error: BaseException) -> str | None:
    """Return the innermost line of plug-in code that an error passed through; None if it passed through our code only.

    Code that a script registers itself, without a plug-in, counts as a plug-in.
    """
    theirs = {"__main__", *map(_top_module, _loaded)}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in theirs:
            return f"plug-in {module}, line {line}"
    return None


def locate(name: str | Path, folder: Path | None = None) -> str:
    """Return what loads a plug-in from anywhere: the absolute path of a file, or the name of a module.

    Raises:
        PluginError: there is no such file, or there can be none of this name.
    """
    try:
        path = (folder or Path.cwd()) / Path(os.path.expanduser(name))
        a_path = isinstance(name, Path) or "/" in str(name) or os.sep in str(name) or path.suffix == ".py"
        for file in (*([path] if a_path else []), path.with_name(f"{path.name}.py"), path / "__init__.py"):
            if file.is_file():
                return str(file.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # no such user, or a name that is too long
        raise PluginError(f"plug-in {name!s:.80}: {getattr(error, 'strerror', None) or error}") from error
    if a_path:
        where = "" if str(path) == str(name) else f"{path}: "
        raise PluginError(
            f"plug-in {name}: {where}{'folder has no __init__.py' if path.is_dir() else 'file not found'}"
        )
    return str(name)


def _register_builtins() -> None:
    """Register our own names before a plug-in can take them."""
    import cases.importers  # noqa: F401
    import graphs  # noqa: F401
    import scoring.suite  # noqa: F401


def _check_stages(name: str, before: Mapping[Any, "Role[Any]"], after: Mapping[Any, "Role[Any]"]) -> None:
    """Refuse a new role whose stage is a misspelt one of ours: a model map would not find it.

    Raises:
        PluginError: names the role, its stage, and the one that was meant.
    """
    known = {stage for one in before.values() for stage in one.stages or (one.stage,)}
    new = [(one, stage) for key, one in after.items() if key not in before for stage in one.stages or (one.stage,)]
    for role, stage in new:
        (meant,) = difflib.get_close_matches(stage, known, 1, _ALIKE) or [""]
        if meant and _DIGITS.sub("", stage) != _DIGITS.sub("", meant):  # not a further one, such as level3
            raise PluginError(f"plug-in {name}: role {role.name!r}: unknown stage {stage!r}: did you mean {meant!r}?")


@lru_cache(maxsize=4)
def _installed(_path: tuple[str, ...]) -> list[EntryPoint]:
    """Return the plug-ins installed on ``sys.path``; cached, as finding them reads hundreds of files."""
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _load_installed(point: EntryPoint) -> None:
    try:
        if point.attr:
            raise PluginError(
                f"plug-in {point.name}: its entry point is {point.value!r}; expected a module, {point.module!r}, which "
                "registers what it adds when it is imported"
            )
        load_plugin(point.module)
    except PluginError as error:
        by = f" (installed by {point.dist.name} {point.dist.version})" if point.dist and point.dist.name else ""
        raise PluginError(f"{error}{by}") from error


def _import(source: str, name: str) -> ModuleType:
    file = Path(source)
    try:
        with redirect_stdout(sys.stderr):  # standard output is for what the command prints, and may be read by a script
            return _import_file(file, name) if file.is_absolute() else importlib.import_module(source)
    except PluginError:
        raise
    except SyntaxError as error:
        where = f"{Path(error.filename or source).name}, line {error.lineno}"
        raise PluginError(f"plug-in {name}: syntax error: {error.msg} ({where})") from error
    except ModuleNotFoundError as error:
        if error.name is not None and f"{source}.".startswith(f"{error.name}."):
            raise PluginError(
                f"plug-in {name}: no such file in this folder, and no such module is installed"
            ) from error
        raise PluginError(f"plug-in {name}: import failed: {_error_text(error, file)}{_beside(error, file)}") from error
    except (Exception, SystemExit) as error:  # third-party code may raise anything
        raise PluginError(f"plug-in {name}: import failed: {_error_text(error, file)}") from error


def _import_file(file: Path, given: str) -> ModuleType:
    """Import a file under its own name (or its folder's) as if it were on the path, so that pickles can find it."""
    package, name = file.name == "__init__.py", _top_module(str(file))
    there = sys.modules.get(name) or importlib.util.find_spec(name)
    if there is not None and _origin(there) != file:
        raise PluginError(f"plug-in {given}: another module is already named {name!r}; rename the plug-in")
    if isinstance(there, ModuleType):
        return there
    inside = [str(file.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise PluginError(f"plug-in {given}: not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _top_module(source: str) -> str:
    """Return the top-level module or package of a plug-in."""
    file = Path(source)
    if not file.is_absolute():
        return source.partition(".")[0]
    return re.sub(r"\W", "_", file.parent.name if file.name == "__init__.py" else file.stem)


def _origin(there: Any) -> Path | None:
    """Return the file of a module, or of the spec of a module that is not imported yet."""
    origin = getattr(there, "__file__", None) or getattr(there, "origin", None)
    return Path(origin).resolve() if origin else None


def _error_text(error: BaseException, file: Path) -> str:
    """Describe an error in one sentence, with the line of the plug-in (its file or package) that raised it."""
    message = in_a_line(error) or "no reason given"
    kind = "" if isinstance(error, RegistryError | ImportError) else f"{type(error).__name__}: "
    if not file.is_absolute():
        found = importlib.util.find_spec(str(file).partition(".")[0])
        file = Path(found.origin) if found and found.origin else file
    where = line_in(error, file.parent if file.name == "__init__.py" else file)
    return f"{kind}{message}{_suggestion(message)}{_moved(error)}{where}"


def _beside(error: ModuleNotFoundError, file: Path) -> str:
    """Return the remedy if the module that is not found lies beside the plug-in, where Python does not look."""
    top = str(error.name).partition(".")[0]
    if not any((file.parent / part).exists() for part in (f"{top}.py", top)):
        return ""
    return (
        f"; it lies beside the plug-in: put both into a folder with an __init__.py, which imports it as .{top}, or set "
        f"PYTHONPATH={file.parent}"
    )


def _suggestion(message: str) -> str:
    """Suggest the argument that was meant if a decorator of ours got a misspelt one; newer Pythons do so themselves."""
    misspelt = _MISSPELT.fullmatch(message)
    door = misspelt and getattr(sys.modules.get("wardround"), misspelt[1], None)
    return f": {nearest(misspelt[2], inspect.signature(door).parameters)}" if misspelt and door else ""


def _moved(error: BaseException) -> str:
    """Say where to look for a name that an earlier version of ours had."""
    is_ours = isinstance(error, ImportError) and str(error.name).partition(".")[0] in {*_OURS, "llm", "retrieval"}
    return '; if an earlier version had it, see "Renamed or removed" in CHANGELOG.md' if is_ours else ""


def _files(module: ModuleType) -> list[Path]:
    """Return the Python files of a plug-in: its own, or all of its package."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    if folders := getattr(top, "__path__", None):
        return sorted(file for folder in folders for file in Path(folder).rglob("*.py"))
    return [Path(module.__file__)] if module.__file__ else []


def _sha256(files: list[Path]) -> str:
    """Return the SHA-256 of a file as other tools give it; for several files, the hash of their hashes."""
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _version_of(module: ModuleType) -> str | None:
    """Return the version of the distribution that installed a module."""
    names = packages_distributions().get(module.__name__.partition(".")[0])
    return version(names[0]) if names else None
