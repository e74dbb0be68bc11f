"""``wardround dev``: the LangGraph development server, for Studio."""

from pathlib import Path
from typing import Annotated

import typer

from wardround.commands.doors import PluginOption, PromptsOption
from wardround.commands.exits import refuse

# What the server and its command line would send by themselves: usage statistics, a look for newer versions on PyPI,
# and, where a key of LangSmith is set for tracing, the number of runs every five minutes.
SILENT = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_CONTROL_PLANE_API_KEY": "",
    "LANGGRAPH_CLOUD_LICENSE_KEY": "",
}
UNTRACED = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}  # unless switched on


def dev(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on the loopback interface; 0: any free one.")
    ] = 2024,
    browser: Annotated[bool, typer.Option(help="Open Studio in a browser; its page is hosted by LangChain.")] = False,
    plugin: PluginOption = None,
    prompts: PromptsOption = None,
) -> None:
    """Serve the graphs to LangGraph Studio, on the loopback interface only; Ctrl-C stops the server.

    Finished and waiting runs are kept in .langgraph_api/ of the current directory.
    """
    import os
    import sys
    from importlib.util import find_spec

    if any(find_spec(package) is None for package in ("langgraph_cli", "langgraph_api")):
        refuse("the development server is not installed: pip install 'wardround[studio]'")
    os.environ.update(_doors(plugin or [], prompts))
    free = _free(port)
    config = _configuration()
    os.environ.update({**UNTRACED, **os.environ, **SILENT})
    # The server looks for modules in the current directory too: ours come first, whatever folders are there.
    ours = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
    arguments = ["--config", str(config), "--host", "127.0.0.1", "--port", str(free), "--no-reload"]
    if not browser:
        arguments.append("--no-browser")
    typer.echo(
        "Research software: not for care. This server sends nothing anywhere by itself; Studio's page is hosted by "
        "LangChain and talks to it from your browser.",
        err=True,
    )
    os.execv(sys.executable, [sys.executable, "-P", "-m", "langgraph_cli", "dev", *arguments])


def served() -> dict[str, object]:
    """What tells the server which graphs there are: what ``langgraph.json`` says in a checkout."""
    from graphs.catalogue import SERVED

    return {"dependencies": ["."], "graphs": {name: f"wardround.served:{name}" for name in SERVED}}


def _doors(plugins: list[str], prompts: str | None) -> dict[str, str]:
    """What hands plug-ins and prompts on to the server's process."""
    import os

    from prompts import PromptError
    from wardround.config.overlay import check_overlay
    from wardround.plugins import VARIABLE, locate

    try:
        laid = {"WARDROUND_PROMPTS": check_overlay(prompts)} if prompts else {}
    except PromptError as error:
        refuse(str(error))
    return {**laid, **({VARIABLE: os.pathsep.join(map(locate, plugins))} if plugins else {})}


def _configuration() -> Path:
    """A file of the user's cache that holds it, for an installation brings no ``langgraph.json``."""
    import json

    from retrieval.vector_cache import cache_folder
    from wardround.store.provenance import write_whole

    file = cache_folder() / "langgraph.json"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(served(), indent=2))
    except OSError as error:
        refuse(f"{file} cannot be written ({error.strerror}); name another folder in WARDROUND_CACHE")
    return file


def _free(port: int) -> int:
    """The port, if nobody listens there: the server itself would quietly take another."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            refuse(f"port {port} cannot be used ({error.strerror}); name another with --port")
        bound: int = probe.getsockname()[1]
        return bound
