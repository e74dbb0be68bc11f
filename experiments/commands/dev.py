"""``wardround dev``: the LangGraph development server, for Studio."""

from pathlib import Path
from typing import Annotated

import typer

BAD_INPUT = 2


def dev(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback interface.")] = 2024,
    browser: Annotated[bool, typer.Option(help="Open Studio in a browser; its page is hosted by LangChain.")] = False,
) -> None:
    """Serve the graphs to LangGraph Studio, on the loopback interface only."""
    import os
    import shutil
    import sys

    config = Path(__file__).resolve().parents[2] / "langgraph.json"
    if not config.is_file():
        typer.echo(f"error: {config} is missing; run from a checkout of the repository", err=True)
        raise typer.Exit(BAD_INPUT)
    beside = Path(sys.executable).with_name("langgraph")
    command = str(beside) if beside.exists() else shutil.which("langgraph")
    if command is None:
        typer.echo("error: the development server is not installed: pip install 'wardround[studio]'", err=True)
        raise typer.Exit(BAD_INPUT)
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ.setdefault(name, "false")
    os.environ.setdefault("LANGGRAPH_CLI_NO_ANALYTICS", "1")
    arguments = ["dev", "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--no-reload"]
    os.execv(command, [command, *arguments, *([] if browser else ["--no-browser"])])
