"""``wardround consult``: play the doctor or the patient in a consultation, at a terminal or in a browser."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from wardround.commands.exit_codes import SOME_FAILED, refuse
from wardround.commands.options import Browser, Port
from wardround.printing import echo

if TYPE_CHECKING:
    from cases import Case
    from nodes.context import Context
    from wardround.interactive.consultation_session import Seat


def consult(
    case: Annotated[str, Argument(help="Id of the case, or its number in the case file (the first is 1).")],
    seat: Annotated[Literal["doctor", "patient"], Option("--as", help="Role that you play.")],
    cases: Annotated[str, Option(help="Case file, or 'builtin'.")] = "builtin",
    models: Annotated[
        list[str] | None,
        Option(metavar="ROLE=SPEC", help="Model for another role (offline rules if not given); may be repeated."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="KEY=VALUE", help="Set a setting, such as patient=saps; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Session directory to create or resume.", show_default="consults/<case>"),
    ] = None,
    web: Annotated[bool, Option("--web", help="Play in a browser, on a page that only this machine can open.")] = False,
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Play the doctor or the patient in a consultation.

    At the end, a trainer tells you what you missed, and shows the answer key. Press Ctrl-D or Ctrl-C to leave; run the
    same command again to resume.
    """
    from llm import AskError
    from wardround.run.faults import why_unanswered

    found = _case(case, cases, seat)
    context = _context(models or [], set_ or [], seat)
    directory = out or Path("consults") / _folder(case)
    if web:
        _serve(found, seat, context, directory, port, browser)
        return
    try:
        _run_in_terminal(found, seat, context, directory)
    except (EOFError, KeyboardInterrupt):
        echo("\nLeft. Run the same command again to resume.")
    except AskError as error:
        refuse(f"{why_unanswered(error)}\nRun the same command again to retry.", code=SOME_FAILED)


def _run_in_terminal(case: "Case", seat: "Seat", context: "Context", directory: Path) -> None:
    import asyncio

    from rich.console import Console

    from wardround.interactive.consultation_session import open_session
    from wardround.interactive.feedback import feedback_on
    from wardround.interactive.terminal_seat import TerminalSeat

    console = Console(highlight=False)
    with open_session(case, seat, context, directory) as session:
        person = TerminalSeat(session, console, _typed_line if console.is_terminal else _read_line)
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


def _serve(case: "Case", seat: "Seat", context: "Context", directory: Path, port: int, browser: bool) -> None:
    from wardround.interactive.browser_seat import BrowserSeat
    from wardround.interactive.consultation_session import open_session

    with open_session(case, seat, context, directory) as session:
        server = BrowserSeat(session, port)
        echo(
            f"Page: {server.address}\nSession directory: {directory}\n"
            "Press Ctrl-C to leave; run the same command again to resume.",
            err=True,
        )
        server.serve_until_interrupted(browser=browser)


def _typed_line(prompt: str) -> str:
    """Read a line at a terminal: of any length, editable, and with the line breaks of what is pasted.

    Without readline, the terminal itself cuts a line at 4,095 bytes without a word, and arrow keys are text.
    """
    with suppress(ImportError):  # Windows has no readline, and edits lines itself
        import readline  # noqa: F401
    return input(prompt)


def _read_line(prompt: str) -> str:
    """Read a line of piped input, and echo it."""
    echo(prompt, nl=False)
    line = input()
    echo(line)
    return line


def _case(wanted: str, source: str, seat: str) -> "Case":
    """Return a case by id or number. A doctor sees no other ids in the error, as an id may name the diagnosis."""
    from cases import load_cases
    from cases.validation import suggestion

    cases = load_cases(source)
    by_id = {case.id: case for case in cases}
    if wanted in by_id:
        return by_id[wanted]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(cases):
        return cases[int(wanted) - 1]
    numbered = f"the cases are numbered 1 to {len(cases)}"
    hint = suggestion(wanted, by_id, numbered) if seat == "patient" else numbered
    refuse(f"no case {wanted!r} in {source}; {hint}")


def _context(models: list[str], settings: list[str], seat: str) -> "Context":
    from cases.validation import nearest
    from graphs.asked_roles import keys_asked
    from nodes.patients.systems import PATIENTS
    from wardround.config.command_line import parse_models, parse_settings
    from wardround.config.experiment_file import read_experiment

    parsed = parse_models(models)
    if conflicting := [role for role in parsed if role.rpartition(".")[2] == seat]:
        refuse(f"--models {conflicting[0]}=...: you play this role yourself; leave it out")
    if "human" in parsed.values():
        refuse("--models: only the role given with --as can be played by a person; name a model for the others")
    # A person needs no retrieval; a model doctor gets similar cases.
    defaults = {"workflow.patient": "ai_hospital", "workflow.retrieval": seat != "doctor"}
    overrides = {**defaults, **parse_settings(settings)}
    if invalid := [key for key in overrides if not key.startswith("workflow.") and key != "seed"]:
        refuse(f"--set {invalid[0]}: not a setting of a consultation")
    context = read_experiment(None, {"graph": "consultation", **overrides}, {"default": "offline", **parsed}).context
    if seat == "doctor":
        return context.model_copy(update={"models": {**context.models, seat: "human"}})
    # The person speaks for the patient, whatever the patient system, and their words are not rephrased.
    speaker = PATIENTS[context.patient].speaker
    roles = {key.rpartition(".")[2] for key in keys_asked(PATIENTS[context.patient].graph, context)}
    if speaker not in roles:
        refuse(
            f"patient {context.patient!r} has no role {speaker!r} for a person to play "
            f"({nearest(speaker, roles) if roles else 'it calls no role'}); name one in its decorator: speaker='ROLE'"
        )
    return context.model_copy(update={"models": {**context.models, speaker: "human"}, "actor": False})


def _folder(case: str) -> str:
    """Turn the case, as the person named it, into a folder name."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in case).strip(".") or "_"
