"""``--plugin``, ``--prompts`` and ``--no-egress``: options of every command, and names listed in its help."""

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

from typer import Context, Option, Typer
from typer.core import TyperCommand


def _load(ctx: Context, names: list[str] | None) -> list[str] | None:
    """Load plug-ins before the rest of the command line is parsed; a command also has those of its group."""
    from wardround.plugins import load_plugins

    load_plugins(names or ())
    of_group = ctx.parent.params.get("plugin") if ctx.parent else None
    return [*(of_group or ()), *(names or ())] or None


PluginOption = Annotated[
    list[str] | None,
    Option(metavar="FILE|MODULE", help="Load this plug-in first; may be repeated.", callback=_load, is_eager=True),
]
PromptsOption = Annotated[
    str | None,
    Option(metavar="DIR", help="Folder of prompts (LANGUAGE/NAME.md) that replace built-in ones of the same name."),
]
NO_EGRESS = "--no-egress"


def _close_network(wanted: bool | None) -> None:
    """Refuse connections to other machines."""
    if wanted:
        from llm.egress import close_egress

        close_egress()


NoEgressOption = Annotated[
    bool | None,
    Option(NO_EGRESS, help="Refuse all connections to other machines.", callback=_close_network, is_eager=True),
]


_OPTIONS = {"no_egress": NoEgressOption, "plugin": PluginOption, "prompts": PromptsOption}


class WithPlugins:
    """A command or group whose help lists what plug-ins add, also if ``--plugin`` follows ``--help``."""

    names: Callable[[], Mapping[str, Iterable[str]]] = dict  # listed at the end of its help, by title
    epilog: str | None
    light = False  # whether the names are listed without a plug-in too; others take a second to import

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, loading plug-ins first: ``--help`` would otherwise be printed before."""
        if any(each.startswith("--plugin") for each in args):
            given, _, _ = self.make_parser(ctx).parse_args([*args])  # type: ignore[attr-defined]
            _load(ctx, given.get("plugin"))
        parsed: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return parsed

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """List the names, and what each plug-in adds."""
        if entry_points(group="wardround.plugins"):
            from wardround.plugins import PluginError, load_plugins

            with contextlib.suppress(PluginError):  # the command itself will report it
                load_plugins(())
        plugins = sys.modules.get("wardround.plugins")
        added = plugins.record_plugins() if plugins else None
        listed = {**(self.names() if self.light or added else {})}
        listed |= {f"Plug-in {name} adds": plugin["adds"] for name, plugin in (added or {}).items()}
        self.epilog = ". ".join(f"{title}: {', '.join(known)}" for title, known in listed.items())
        super().format_epilog(ctx, formatter)  # type: ignore[misc]


class CommandWithPlugins(WithPlugins, TyperCommand):
    """A command with these options."""


def names_in_help(names: Callable[[], Mapping[str, Iterable[str]]], *, light: bool = False) -> type[TyperCommand]:
    """Return a command class whose help lists names by title: always if `light`, otherwise only with a plug-in."""
    return type("WithNames", (CommandWithPlugins,), {"names": staticmethod(names), "light": light})


def add_shared_options(app: Typer) -> None:
    """Add the options to every command of an application that lacks them, and ``--plugin`` to its groups.

    A group's plug-ins also apply to the command named after it.
    """
    callback = app.registered_callback.callback if app.registered_callback else None
    app.callback()(_with_options(callback or (lambda: None), "plugin"))
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_options(command.callback, *_OPTIONS)
        command.cls = CommandWithPlugins if command.cls in (None, TyperCommand) else command.cls
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_shared_options(group.typer_instance)


_ITSELF = "rewritten"  # an output that may be the input, as of `cases split`
# The options that name what is written.
_OUTPUTS = ("out", _ITSELF, "csv", "latex", "json_file", "html", "markdown", "details", "replies", "sheet")


def _spare_inputs(options: Mapping[str, Any]) -> None:
    """Refuse to write over what is read, or over a file of a run.

    Raises:
        ConfigurationError: an output is a file that another option names, or that a run has written in its directory.
    """
    given = [value for name, value in options.items() if name not in _OUTPUTS]
    inputs = [str(each) for value in given for each in (value if isinstance(value, list) else [value])]
    for name in _OUTPUTS:
        file = Path(str(options.get(name) or ""))
        if os.path.isfile(file):  # false, not an error, of what can be no path
            from wardround.config.experiment import ConfigurationError
            from wardround.store.run_directory import is_of_run

            what = "a file of a run" if is_of_run(file) else ""
            is_file = name != _ITSELF and isinstance(options[name], Path)  # a memory's place is no file
            if is_file and any(os.path.isfile(one) and os.path.samefile(one, file) for one in inputs):
                what = "an input file"
            if what:
                raise ConfigurationError(f"{file}: is {what} and would be overwritten; name another file")


def _with_options(command: Callable[..., Any], *names: str) -> Callable[..., Any]:
    added = {name: _OPTIONS[name] for name in names if name not in inspect.signature(command).parameters}

    @functools.wraps(command)
    def with_options(**options: Any) -> Any:
        given = {name: options.pop(name, None) for name in added}
        _spare_inputs(options)
        if not given.get("prompts"):
            return command(**options)

        from prompts import laid_over
        from wardround.config.overlay import check_overlay

        with laid_over(check_overlay(given["prompts"])):
            return command(**options)

    declare(with_options, command, added)
    return with_options


def declare(wrapper: Callable[..., Any], command: Callable[..., Any], more: Mapping[str, Any]) -> None:
    """Give a wrapper the parameters of the command that it wraps, and more options by name, None unless given."""
    signature = inspect.signature(command)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in more.items()
    ]
    wrapper.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *options])  # type: ignore[attr-defined]
    wrapper.__annotations__ = {**command.__annotations__, **more}
