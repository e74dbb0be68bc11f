"""``--plugin``, ``--prompts`` and ``--no-egress``: the options that every command has, and the names in its help."""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand


def _load(names: list[str] | None) -> list[str] | None:
    """Load plug-ins before anything else on the command line is looked at."""
    from wardround.plugins import load_plugins

    load_plugins(names or ())
    return names


PluginOption = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin", metavar="FILE|MODULE", help="Load a plug-in first; may be repeated.", callback=_load, is_eager=True
    ),
]
PromptsOption = Annotated[
    str | None, typer.Option("--prompts", metavar="DIR", help="Prompts to lay over ours, LANGUAGE/NAME.md, by name.")
]
NO_EGRESS = "--no-egress"


def _close(wanted: bool) -> None:
    """Shut the one door that leads out."""
    if wanted:
        from llm.egress import close_egress

        close_egress()


NoEgressOption = Annotated[
    bool, typer.Option(NO_EGRESS, help="Refuse every connection beyond this machine.", callback=_close, is_eager=True)
]


def open_doors(app: typer.Typer) -> None:
    """Give the options to every command of an application that does not take them itself."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_doors(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            open_doors(group.typer_instance)


def names_in_help(names: Callable[[], Mapping[str, Iterable[str]]], *, light: bool = False) -> type[TyperCommand]:
    """A kind of command whose help ends with names, by title: always if that is `light`, else with a plug-in."""

    class WithNames(TyperCommand):
        def format_epilog(self, ctx: Any, formatter: Any) -> None:
            if entry_points(group="wardround.plugins"):
                from wardround.plugins import PluginError, load_plugins

                with contextlib.suppress(PluginError):  # the command itself will say it
                    load_plugins(())
            if not light and "graphs" not in sys.modules:  # no plug-in has been loaded, and help answers at once
                return
            self.epilog = ". ".join(f"{title}: {', '.join(known)}" for title, known in names().items())
            super().format_epilog(ctx, formatter)

    return WithNames


def _with_doors(command: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(command)
    taken = signature.parameters.keys()
    options = {"no_egress": NoEgressOption, "plugin": PluginOption, "prompts": PromptsOption}
    added = {name: option for name, option in options.items() if name not in taken}

    @functools.wraps(command)
    def opened(*arguments: Any, **options: Any) -> Any:
        given = {name: options.pop(name, None) for name in added}
        if not given.get("prompts"):
            return command(*arguments, **options)

        from prompts import laid_over
        from wardround.config.overlay import check_overlay

        with laid_over(check_overlay(given["prompts"])):
            return command(*arguments, **options)

    more = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=False if option is NoEgressOption else None, annotation=option
        )
        for name, option in added.items()
    ]
    opened.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])  # type: ignore[attr-defined]
    opened.__annotations__ = {**command.__annotations__, **added}
    return opened
