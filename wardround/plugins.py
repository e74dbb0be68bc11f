"""Other people's code: found by name, loaded once, hashed. The only place of ours that imports by name.

A plug-in is a Python file, a folder with an ``__init__.py``, or an installed module. Being imported, it registers what
it brings (a metric, a strategy, a patient, an importer, prompts) and is refused if that is nothing.
"""

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from cases.registry import RegistryError, nearest, registering
from cases.validation import in_a_line, line_in
from prompts import prompt_folders
from wardround.waiting import tell_what_is_waited_for

GROUP = "wardround.plugins"  # the entry points of installed plug-ins
_MISSPELT = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
VARIABLE = "WARDROUND_PLUGINS"  # names the plug-ins of a process that we start, with a path separator between them


class PluginError(ValueError):
    """A plug-in that cannot be used: which one, and why."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in."""

    name: str  # its module
    source: str  # what loads it again from anywhere: the path of its file, or the name of its module
    sha256: str  # of its file; of a package, of all its Python files
    version: str | None  # of the distribution that it was installed by, if any
    adds: tuple[str, ...]  # what it registered, such as ``metric urgency``


_loaded: dict[str, Plugin] = {}
_under_way: list[str] = []  # being imported, they may ask for what would load them


def load_plugin(name: str | Path, folder: Path | None = None) -> Plugin:
    """Load a plug-in, if it has not been loaded.

    Args:
        name: a file, a folder, or a module: one that lies beside goes before one that is installed.
        folder: where files are looked for; the working directory if None.

    Raises:
        PluginError: it cannot be found or imported, registers nothing, or was changed after it was loaded.
    """
    source = locate(name, folder)
    if (known := _loaded.get(source)) is not None:
        if _sha256(_files(sys.modules[known.name])) != known.sha256:
            raise PluginError(f"plug-in {name}: it was changed after it was loaded; start Python anew")
        return known
    _take_our_names()
    tell_what_is_waited_for(is_theirs)
    modules, folders = set(sys.modules), prompt_folders()
    with registering(f"plug-in {name}") as additions, _importing(source):
        module = _imported(source, str(name))
        added = [*additions(), *(f"prompts {new.name}" for new in prompt_folders() if new not in folders)]
        if not added and module.__name__ not in modules:
            del sys.modules[module.__name__]
            raise PluginError(f"plug-in {name}: it registers nothing; see docs/extending.md for what it can bring")
    installed = None if Path(source).is_absolute() else _version_of(module)
    plugin = Plugin(module.__name__, source, _sha256(_files(module)), installed, tuple(added))
    return _loaded.setdefault(source, plugin)


def load_plugins(names: Iterable[str | Path], folder: Path | None = None) -> list[Plugin]:
    """Load the plug-ins that are installed, and then those that are named.

    Raises:
        PluginError: one of them cannot be used.
    """
    for point in _installed(tuple(sys.path)):
        if point.module not in _under_way:
            _load_installed(point)
    return [load_plugin(name, folder) for name in names]


def load_plugins_of_environment() -> None:
    """Load the plug-ins of a process that one of ours has started."""
    load_plugins(filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))


def record_plugins() -> dict[str, Any] | None:
    """What a manifest keeps of the plug-ins: a result may rest on each that was loaded; None if none was."""
    return {
        plugin.name: {"sha256": plugin.sha256, "version": plugin.version, "adds": list(plugin.adds)}
        for plugin in sorted(_loaded.values(), key=lambda plugin: plugin.name)
    } or None


def plugin_of(error: BaseException) -> str | None:
    """The line of somebody else's code that an error came through last; None if it came through ours alone.

    What a script registers itself, without a plug-in, counts like one.
    """
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if is_theirs(frame) or frame.f_globals.get("__name__") == "__main__":
            return f"plug-in {frame.f_globals['__name__']}, line {line}"
    return None


def is_theirs(frame: FrameType) -> bool:
    """Whether it is the code of a plug-in, or of one that is being imported, that runs in a frame."""
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in {_top_module(source) for source in (*_loaded, *_under_way)}


def locate(name: str | Path, folder: Path | None = None) -> str:
    """What loads a plug-in from anywhere: the whole path of a file, or the name of a module.

    Raises:
        PluginError: there is no such file.
    """
    path = (folder or Path.cwd()) / Path(name).expanduser()
    a_path = isinstance(name, Path) or "/" in str(name) or os.sep in str(name) or path.suffix == ".py"
    for file in (*([path] if a_path else []), path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if file.is_file():
            return str(file.resolve())
    if a_path:
        raise PluginError(f"plug-in {name}: there is no file {path}{' with an __init__.py' if path.is_dir() else ''}")
    return str(name)


def _take_our_names() -> None:
    """Register what is ours before anybody else can take its name."""
    import cases.importers  # noqa: F401
    import graphs  # noqa: F401
    import scoring.suite  # noqa: F401


@contextmanager
def _importing(source: str) -> Iterator[None]:
    _under_way.append(source)
    try:
        yield
    finally:
        _under_way.remove(source)


@lru_cache(maxsize=4)
def _installed(_path: tuple[str, ...]) -> list[EntryPoint]:
    """The plug-ins on ``sys.path``: hundreds of files are read to find them, and each experiment asks."""
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _load_installed(point: EntryPoint) -> None:
    try:
        load_plugin(point.module)
    except PluginError as error:
        by = f" (installed by {point.dist.name} {point.dist.version})" if point.dist else ""
        raise PluginError(f"{error}{by}") from error


def _imported(source: str, name: str) -> ModuleType:
    file = Path(source)
    try:
        return _of_a_file(file, name) if file.is_absolute() else importlib.import_module(source)
    except PluginError:
        raise
    except SyntaxError as error:
        where = f"{Path(error.filename or source).name}, line {error.lineno}"
        raise PluginError(f"plug-in {name}: it is not Python: {error.msg} ({where})") from error
    except ModuleNotFoundError as error:
        if error.name is not None and f"{source}.".startswith(f"{error.name}."):
            raise PluginError(f"plug-in {name}: there is no such file here and no such module installed") from error
        raise PluginError(f"plug-in {name}: it cannot be imported: {_told(error, file)}") from error
    except (Exception, SystemExit) as error:  # of a stranger's code
        raise PluginError(f"plug-in {name}: it cannot be imported: {_told(error, file)}") from error


def _of_a_file(file: Path, given: str) -> ModuleType:
    """Import a file under its own name, or its folder's, as if it lay on the path: what is pickled finds it."""
    package, name = file.name == "__init__.py", _top_module(str(file))
    there = sys.modules.get(name) or importlib.util.find_spec(name)
    if there is not None and _origin(there) != file:
        raise PluginError(f"plug-in {given}: there is another module {name!r}; give yours another name")
    if isinstance(there, ModuleType):
        return there
    inside = [str(file.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise PluginError(f"plug-in {given}: it is no Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _top_module(source: str) -> str:
    """The module that a plug-in is, or the package that it lies in."""
    file = Path(source)
    if not file.is_absolute():
        return source.partition(".")[0]
    return re.sub(r"\W", "_", file.parent.name if file.name == "__init__.py" else file.stem)


def _origin(there: Any) -> Path | None:
    """The file of a module, or of the spec of one that is not imported yet."""
    origin = getattr(there, "__file__", None) or getattr(there, "origin", None)
    return Path(origin).resolve() if origin else None


def _told(error: BaseException, file: Path) -> str:
    """An error in one sentence, with the line of the plug-in that it came from: of its file, or its package's."""
    message = in_a_line(error) or "no reason is given"
    kind = "" if isinstance(error, RegistryError | ImportError) else f"{type(error).__name__}: "
    if not file.is_absolute():
        found = importlib.util.find_spec(str(file).partition(".")[0])
        file = Path(found.origin) if found and found.origin else file
    return f"{kind}{message}{_meant(message)}{line_in(error, file.parent if file.name == '__init__.py' else file)}"


def _meant(message: str) -> str:
    """Of a misspelt argument of one of our doors, the one that was meant; newer Pythons say it themselves."""
    misspelt = _MISSPELT.fullmatch(message)
    door = misspelt and getattr(sys.modules.get("wardround"), misspelt[1], None)
    return f": {nearest(misspelt[2], inspect.signature(door).parameters)}" if misspelt and door else ""


def _files(module: ModuleType) -> list[Path]:
    """The Python files of a plug-in: its own, or all of the package that it is or belongs to."""
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    if folders := getattr(top, "__path__", None):
        return sorted(file for folder in folders for file in Path(folder).rglob("*.py"))
    return [Path(module.__file__)] if module.__file__ else []


def _sha256(files: list[Path]) -> str:
    """The hash of a file, as other tools give it; of several, of their hashes."""
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _version_of(module: ModuleType) -> str | None:
    """The version of the distribution that brought an installed module."""
    names = packages_distributions().get(module.__name__.partition(".")[0])
    return version(names[0]) if names else None
