"""``wardround consult``: a person plays doctor or patient in a consultation, at a terminal or in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wardround.commands.exit_codes import SOME_FAILED
from wardround.commands.options import Browser, Port
from wardround.commands.printing import echo

if TYPE_CHECKING:
    from cases import Case
    from nodes.context import Context


def consult(
    case: Annotated[str, typer.Argument(help="Id of a case, or its number in the source (the first is 1).")],
    seat: Annotated[Literal["doctor", "patient"], typer.Option("--as", help="The seat that you take.")],
    cases: Annotated[str, typer.Option(help="A case file, or 'builtin'.")] = "builtin",
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=SPEC", help="The model of another seat; may be repeated. Offline if not named."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, such as patient=saps; may be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The session directory.", show_default="consults/<case>")] = None,
    web: Annotated[bool, typer.Option("--web", help="Sit in a browser, on a page for this machine alone.")] = False,
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Take a seat in a consultation, and hear a trainer at the end.

    The trainer says what was missed, beside the answer key. Ctrl-D or Ctrl-C leaves; the same command goes on where you
    left.
    """
    from llm import AskError
    from wardround.run.faults import described

    found = _case(case, cases, seat)
    context = _context(models or [], set_ or [], seat)
    directory = out or Path("consults") / _folder(case)
    if web:
        _serve(found, seat, context, directory, port, browser)
        return
    try:
        _run_in_terminal(found, seat, context, directory)
    except (EOFError, KeyboardInterrupt):
        echo("\nLeft. The same command goes on from here.")
    except AskError as error:
        echo(f"error: {described(error)}\nThe same command tries again.", err=True)
        raise typer.Exit(SOME_FAILED) from None


def _run_in_terminal(case: "Case", seat: Literal["doctor", "patient"], context: "Context", directory: Path) -> None:
    import asyncio

    from rich.console import Console

    from wardround.interactive.consultation_session import open_session
    from wardround.interactive.feedback import feedback_on
    from wardround.interactive.terminal_seat import TerminalSeat

    console = Console(highlight=False)
    with open_session(case, seat, context, directory) as session:
        person = TerminalSeat(session, console, console.input if console.is_terminal else _read_line)
        with console.status("..."):
            session.go_on()
        person.welcome()
        while (question := session.question()) is not None:
            person.show_news()
            answer = person.ask(question)
            with console.status("..."):
                session.answer(answer)
        person.show_news()
        state = session.state
        person.show_report(state["report"])
        with console.status("..."):
            feedback = asyncio.run(feedback_on(case, state, session.context))
        person.show_feedback(feedback)
        echo(f"Session directory: {directory}")


def _serve(
    case: "Case", seat: Literal["doctor", "patient"], context: "Context", directory: Path, port: int, browser: bool
) -> None:
    from wardround.interactive.browser_seat import BrowserSeat
    from wardround.interactive.consultation_session import open_session

    with open_session(case, seat, context, directory) as session:
        server = BrowserSeat(session, port)
        echo(
            f"Page: {server.address}\nSession directory: {directory}\nCtrl-C leaves; the same command goes on.",
            err=True,
        )
        server.serve_until_interrupted(browser=browser)


def _read_line(prompt: str) -> str:
    """Read a line of piped input, and echo it."""
    echo(prompt, nl=False)
    line = input()
    echo(line)
    return line


def _case(wanted: str, source: str, seat: str) -> "Case":
    """Return a case by id or number. A doctor sees no other ids in the error, as an id may name the diagnosis."""
    import difflib

    from cases import load_cases
    from wardround.config.experiment import ConfigurationError

    cases = load_cases(source)
    by_id = {case.id: case for case in cases}
    if wanted in by_id:
        return by_id[wanted]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(cases):
        return cases[int(wanted) - 1]
    similar = difflib.get_close_matches(wanted, by_id, n=3) if seat == "patient" else []
    hint = f"; close: {', '.join(similar)}" if similar else f"; by number, the cases are 1 to {len(cases)}"
    raise ConfigurationError(f"there is no case {wanted!r} in {source}{hint}")


def _context(models: list[str], settings: list[str], seat: str) -> "Context":
    from cases.registry import nearest
    from graphs.asked_roles import keys_asked
    from nodes.patients.systems import PATIENTS
    from wardround.config.experiment import ConfigurationError
    from wardround.config.experiment_file import parse_models, parse_settings, read_experiment

    parsed = parse_models(models)
    if conflicting := [role for role in parsed if role.rpartition(".")[2] == seat]:
        raise ConfigurationError(f"--models {conflicting[0]}=...: that seat is yours")
    if "human" in parsed.values():
        raise ConfigurationError("--models: one person sits here, at the seat of --as")
    # A person needs no retrieval; a model doctor gets similar cases.
    defaults = {"workflow.patient": "ai_hospital", "workflow.retrieval": seat != "doctor"}
    overrides = {**defaults, **parse_settings(settings)}
    if invalid := [key for key in overrides if not key.startswith("workflow.") and key != "seed"]:
        raise ConfigurationError(f"--set {invalid[0]}: no setting of a consultation")
    context = read_experiment(None, {"graph": "consultation", **overrides}, {"default": "offline", **parsed}).context
    if seat == "doctor":
        return context.model_copy(update={"models": {**context.models, seat: "human"}})
    # The person speaks for the patient, whatever the patient system, and their words are not rephrased.
    speaker = PATIENTS[context.patient].speaker
    roles = {key.rpartition(".")[2] for key in keys_asked(PATIENTS[context.patient].graph, context)}
    if speaker not in roles:
        raise ConfigurationError(
            f"patient {context.patient!r} asks no role {speaker!r} that a person could speak as "
            f"({nearest(speaker, roles) if roles else 'it asks none'}); its decorator says which, speaker='ROLE'"
        )
    return context.model_copy(update={"models": {**context.models, speaker: "human"}, "actor": False})


def _folder(case: str) -> str:
    """Turn the case, as the person named it, into a folder name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in case).strip(".") or "_"
