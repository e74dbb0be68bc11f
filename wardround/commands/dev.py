"""``wardround dev``: start the LangGraph development server, for Studio."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wardround.commands.exit_codes import refuse
from wardround.commands.options import Port
from wardround.commands.plugin_options import PluginOption, PromptsOption
from wardround.printing import echo, reason

if TYPE_CHECKING:
    from wardround.config.experiment import Experiment
    from wardround.serving.allowed import Allowed

# Off, as the server and its command line would send: usage statistics, a check for newer versions on PyPI and, if a
# LangSmith key is set for tracing, the number of runs every five minutes.
SILENT = {
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "LANGSMITH_CONTROL_PLANE_API_KEY": "",
    "LANGGRAPH_CLOUD_LICENSE_KEY": "",
}
# Tracing is only switched on with `run --tracing`, never by an environment variable.
UNTRACED = {f"{brand}_TRACING{version}": "false" for brand in ("LANGSMITH", "LANGCHAIN") for version in ("", "_V2")}


# Runs LangGraph's command without its banner, whose address lacks the token, and with a path of modules to which it
# cannot append the working directory: a file of a stranger's there would be run in place of a package that is absent.
# What it logs holds words of cases and models, of which a terminal gets no control character. The end of the session
# stops it like SIGTERM, which has it keep its runs.
_START = """import logging, signal, sys
if getattr(signal, "SIGHUP", None) and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
    signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
from wardround.printing import printable
for stream in (sys.stdout, sys.stderr):
    stream.write = lambda text, write=stream.write: write(printable(text))
class Fixed(list):
    def append(self, folder): pass
sys.path = Fixed(sys.path)
from langgraph_cli.cli import cli
logging.getLogger("langgraph_api.cli").setLevel(logging.WARNING)
cli()"""


def dev(
    port: Port = 2024,
    browser: Annotated[bool, Option(help="Open Studio in a browser; the page is hosted by LangChain.")] = False,
    allow: Annotated[
        list[str] | None,
        Option(
            metavar="SETTING=VALUE",
            help="Allow runs to use this model or file, such as models=openai:gpt-4o-mini, "
            "models=openai:*@http://localhost:8000/v1 or case_source=my.jsonl. The settings are models, case_source, "
            "memory, embedding, cache and example; may be repeated.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        Option(metavar="ORIGIN", help="Also allow web pages from this origin to call the server; may be repeated."),
    ] = None,
    experiment: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Allow runs to use the models of this experiment file, with its [model.NAME] blocks, and load its "
            "plug-ins and prompts.",
        ),
    ] = None,
    plugin: PluginOption = None,
    prompts: PromptsOption = None,
) -> None:
    """Serve the graphs to LangGraph Studio, on this machine only.

    Ctrl-C stops the server. Its addresses begin with a token, which is new at each start unless WARDROUND_TOKEN is set.
    Runs may use what is built in, the values given with --allow, and the models of --experiment. Once it is stopped,
    finished and waiting runs are kept in .langgraph_api/ in the current directory.
    """
    import os
    import sys
    from importlib.util import find_spec

    from llm.egress import is_closed

    if sys.platform == "win32":
        refuse("the development server does not start on Windows, where no process can become another; use WSL")
    if any(find_spec(package) is None for package in ("langgraph_cli", "langgraph_api")):
        refuse("the development server is not installed; run: pip install 'wardround[studio]'")
    if browser and is_closed():
        refuse("--browser opens a page of another machine, Studio's; leave it out with --no-egress")
    from wardround.serving.allowed import VARIABLE as SERVER

    allowed = _allowed(allow or [], allow_origin or [], browser)
    plugins = plugin or []
    if experiment is not None:
        from wardround.config.experiment_file import read_sweep
        from wardround.library import find_file

        runs = [*read_sweep(find_file(experiment), {}, {}, plugins).runs.values()]
        allowed = _with_models_of(runs, allowed)
        plugins = list(dict.fromkeys(name for run in runs for name in run.plugins))
        own_prompts = {run.prompts for run in runs}
        prompts = prompts or (own_prompts.pop() if len(own_prompts) == 1 else None)
    os.environ.update(_variables_of(plugins, prompts))
    _check_state()
    free = _check_port(port)
    config = _configuration(list(allowed.origins))
    os.environ.update({**UNTRACED, **SILENT, SERVER: allowed.model_dump_json()})
    os.environ["LOG_COLOR"] = "false"
    os.environ.setdefault("LOG_LEVEL", "WARNING")  # or the addresses stand amid a page of what the server did to start
    ours = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
    echo(
        "Research software: not for care. This server itself sends no data anywhere. Studio's page is hosted by "
        "LangChain, and connects to this server from your browser.",
        err=True,
    )
    arguments = ["--config", str(config), "--host", "127.0.0.1", "--port", str(free), "--no-reload", "--no-browser"]
    arguments += ["--n-jobs-per-worker", str(_JOBS)]
    os.execv(sys.executable, [sys.executable, "-P", "-c", _START, "dev", *arguments])


_JOBS = 8  # runs at once; LangGraph's default of one lets a slow run block all others


def served(origins: list[str]) -> dict[str, object]:
    """Return the server's configuration (graphs and access control), as in ``langgraph.json``."""
    from graphs import catalogue

    return {
        "dependencies": ["."],
        "graphs": {
            name: {"path": f"wardround.served:{name}", "description": one.description}
            for name, one in catalogue.served().items()
        },
        "env": {**UNTRACED, **SILENT},  # also for LangGraph's own command in a clone
        "http": {
            "app": "wardround.serving.guard:app",
            "cors": {"allow_origins": origins, "allow_methods": ["*"], "allow_headers": ["*"], "expose_headers": ["*"]},
            "disable_mcp": True,
            "disable_a2a": True,
            "disable_ui": True,
            "disable_webhooks": True,
        },
    }


def _allowed(allow: list[str], origins: list[str], browser: bool) -> "Allowed":
    """Return what the server allows runs and pages, after checking each entry."""
    from pydantic import ValidationError

    from llm.errors import ModelSpecError
    from wardround.serving.allowed import ALLOWABLE, STUDIO, Allowed

    values: dict[str, list[str]] = {}
    for entry in allow:
        setting, _, value = entry.partition("=")
        if setting not in ALLOWABLE or not value:
            refuse(f"--allow {entry}: expected SETTING=VALUE, where SETTING is one of {', '.join(ALLOWABLE)}")
        try:
            values.setdefault(setting, []).extend(_spellings(setting, value))
        except (ModelSpecError, OSError) as error:
            refuse(f"--allow {entry}: {reason(error)}")
    for origin in origins:
        if not re.fullmatch(r"https?://[^/\s*]+", origin):
            refuse(f"--allow-origin {origin}: expected SCHEME://HOST[:PORT], such as https://studio.example.org")
    try:
        return Allowed.model_validate({"origins": (STUDIO, *origins), "values": values, "open_page": browser})
    except ValidationError:
        refuse("WARDROUND_TOKEN: expected at least 16 characters (letters, digits, - or _)")


def _spellings(setting: str, value: str) -> list[str]:
    """Return how a run may write an allowed value: a file also by its place in the user's folder, or in full.

    Raises:
        ModelSpecError: it names no model, or a folder that holds none.
        OSError: there is no such file.
    """
    from llm.specs import IN_PROCESS, ModelSpec
    from wardround.serving.allowed import ANY_NAME

    if setting == "models":
        spec = ModelSpec.parse(value)
        if spec.provider == IN_PROCESS and spec.name != ANY_NAME:
            from llm.model_folders import check_folder

            check_folder(spec.name)
    if setting not in ("case_source", "example"):
        return [value]
    file = Path(value).expanduser()
    return [str(file), *([str(file.resolve(strict=True))] if setting == "case_source" else []), value]


def _with_models_of(runs: "list[Experiment]", allowed: "Allowed") -> "Allowed":
    """Allow the models of an experiment file too; their keys stay in this process's environment."""
    blocks = {name: block for run in runs for name, block in run.context.model.items()}
    specs = {spec for run in runs for spec in {**run.models, **run.judges}.values()} - blocks.keys()
    models = [*allowed.values.get("models", ()), *sorted(specs)]
    return allowed.model_copy(update={"blocks": blocks, "values": {**allowed.values, "models": tuple(models)}})


def _variables_of(plugins: list[str], prompts: str | None) -> dict[str, str]:
    """Return the environment variables that pass plug-ins and prompts on to the server's process."""
    from wardround.config.overlay import check_overlay
    from wardround.plugins import VARIABLE, locate

    prompt_variables = {"WARDROUND_PROMPTS": check_overlay(prompts)} if prompts else {}
    return {**prompt_variables, **({VARIABLE: "\n".join(map(locate, plugins))} if plugins else {})}


def _configuration(origins: list[str]) -> Path:
    """Write the server's configuration into the user's cache, as an installation has no ``langgraph.json``."""
    import json

    from filelock import FileLock

    from cases.user_cache import cache_folder
    from wardround.store.provenance import write_whole

    file = cache_folder() / "langgraph.json"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.lock"):  # two servers may be started at the same moment
            write_whole(file, json.dumps(served(origins), indent=2))
    except OSError as error:
        refuse(f"{file}: cannot be written ({reason(error)}); set WARDROUND_CACHE to another folder")
    return file


def _check_state() -> None:
    """Refuse foreign runs in this folder: the server would unpickle them, which can execute code."""
    from cases.user_cache import cache_folder

    here, known = str(Path.cwd()), cache_folder() / "served_folders.txt"
    folders = known.read_text("utf-8").splitlines() if known.is_file() else []
    if here in folders:
        return
    if any(Path(".langgraph_api").glob("*.pckl")):
        refuse(
            ".langgraph_api/ holds pickled runs that no server of yours has written here, and loading them could "
            "execute code; delete the folder"
        )
    try:
        known.parent.mkdir(parents=True, exist_ok=True)
        with known.open("a", encoding="utf-8") as out:
            out.write(f"{here}\n")
    except OSError as error:
        refuse(f"{known}: cannot be written ({reason(error)}); set WARDROUND_CACHE to another folder")


def _check_port(port: int) -> int:
    """Return the port if it is free; the server itself would silently take another."""
    import socket

    from wardround.serving.loopback import binding

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with binding(port):
            probe.bind(("127.0.0.1", port))
        bound: int = probe.getsockname()[1]
        return bound
