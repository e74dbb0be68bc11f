"""A person's seat at a terminal: what is asked is shown readably, what is typed becomes the typed answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cases.case import PatientRecord
from cases.text.record_sentences import age_in_words
from cases.vocabulary import Language, label
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Presentation, Turn
from prompts import load_words
from scoring.consultation import ConsultationScores
from wardround.commands.printing import printable
from wardround.interactive.consultation_session import Session

_HELP = {
    "doctor": "Type what you say to the patient; name the examinations that you want. /end closes the conversation, "
    "/end WORDS with these words. Ctrl-D leaves; the same command goes on.",
    "patient": "Type what you say to the doctor. /examiner WORDS speaks to the examiner, /end WORDS says goodbye. "
    "Ctrl-D leaves; the same command goes on.",
}
_SECTIONS = ("chief_complaint", "present_illness", "past_history", "personal_history", "family_history")


class TerminalSeat:
    """Shows a session to a person and reads the answers."""

    def __init__(self, session: Session, console: Console, read: Callable[[str], str]) -> None:
        self._session = session
        self._console = console
        self._read = read
        self._shown = 0

    def welcome(self) -> None:
        """The part that the person plays, with all that belongs to it."""
        session = self._session
        state = session.state
        if session.seat == "patient":
            record: PatientRecord = state["patient_record"]
            self._panel("You are this patient", _record_lines(record))
            if profile := state.get("profile"):
                self._panel("Your manner", [profile.personality])
        else:
            door: Presentation = state["presentation"]
            about = ", ".join(part for part in (_age(door.age_years), door.sex or "", door.occupation) if part)
            self._panel("A patient is at the door", [about, door.chief_complaint])
        turns = session.context.max_turns
        limit = f"You may speak {turns} times. " if session.seat == "doctor" else ""
        self._console.print(limit + _HELP[session.seat], style="dim")

    def show_news(self) -> None:
        """What was said since the last time; at first all of it, then without what the person has just typed."""
        heard = self._session.heard()
        for turn in heard[self._shown :]:
            if not self._shown or turn.speaker != self._session.seat:
                self._show(turn)
        self._shown = len(heard)

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """One typed answer; asked again until it is one.

        Raises:
            EOFError: the person leaves.
        """
        schema = question["schema"]
        if wrong := question.get("wrong"):
            self._console.print(Text(f"That is no answer yet: {printable(wrong)}", style="bold"))
        if "text" in schema["properties"]:
            return self._words(schema)
        self._console.print(Text(f"\n{schema.get('description', '').strip()}", style="bold"))
        return {name: self._field(name, field) for name, field in schema["properties"].items()}

    def show_report(self, report: FinalReport, title: str) -> None:
        """The doctor's report in its five parts."""
        table = Table(title=Text(printable(title)), show_header=False, title_justify="left")
        for name, value in report:
            shown = "\n".join(value) if isinstance(value, list) else value
            table.add_row(name, Text(printable(shown)))
        self._console.print(table)

    def show_scores(self, scores: ConsultationScores, language: Language) -> None:
        """How the report compares with the answer key, which may be seen now."""
        key = self._session.case.key
        table = Table(title="The report against the answer key", title_justify="left")
        for heading in ("part", "score", "reference"):
            table.add_column(heading)
        if scores.diagnosis:
            shown = f"{scores.diagnosis.reason}\n{'; '.join(key.diagnosis)}"
            table.add_row("diagnosis, by names (1 to 5)", str(scores.diagnosis.level), Text(printable(shown)))
        if scores.examinations is not None:
            items = ", ".join(label(item, language) for item in key.examination_items)
            table.add_row(
                "examinations asked for (overlap, 0 to 1)", f"{scores.examinations:.2f}", Text(printable(items))
            )
        for part, grade in scores.parts:
            if grade is not None:
                table.add_row(f"{part} (A to D)", grade.option, Text(printable(grade.analysis)))
        self._console.print(table)

    def _words(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        fields = schema["properties"]
        while True:
            typed = self._read("you> ").strip()
            if not typed:
                continue
            command, _, rest = typed.partition(" ")
            answer = {**_unsaid(fields), "text": typed}
            if not typed.startswith("/"):
                return answer
            if command == "/end" and "finished" in fields:
                words = load_words("consultation/words", self._session.case.language)
                return {**answer, "text": rest.strip() or words["doctor"]["farewell"], "finished": True}
            if command == "/examiner" and "addressee" in fields and rest.strip():
                return {**answer, "text": rest.strip(), "addressee": "examiner"}
            self._console.print(_HELP[self._session.seat], style="dim")

    def _field(self, name: str, field: Mapping[str, Any]) -> Any:
        many = field.get("type") == "array"
        hint = " (separate several with ;)" if many else ""
        self._console.print(Text(f"{name}: {field.get('description', '')}{hint}", style="dim"))
        while True:
            typed = self._read(f"{name}> ").strip()
            if not many and (typed or not field.get("minLength")):
                return typed
            if entries := [entry.strip() for entry in typed.replace("；", ";").split(";") if entry.strip()]:
                return entries

    def _show(self, turn: Turn) -> None:
        whom = {"doctor": "Doctor", "patient": "Patient", "examiner": "Examiner"}
        you = turn.speaker == self._session.seat
        name = "You" if you else whom[turn.speaker]
        if you and turn.addressee == "examiner":
            name = "You, to the examiner"
        self._console.print(Text.assemble((f"{name}: ", "bold"), printable(turn.text)))
        for picture in turn.pictures:
            shown = self._session.show(picture)
            self._console.print(Text(printable(f"[{picture.item}: {shown}]"), style="dim"), soft_wrap=True)

    def _panel(self, title: str, lines: Sequence[str]) -> None:
        shown = "\n".join(printable(line) for line in lines if line)
        self._console.print(Panel(Text(shown), title=title, title_align="left"))


def _unsaid(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What typed words leave open of a typed answer: they are for the doctor, end nothing and explain nothing."""
    empty = {"boolean": False, "string": "", "array": []}
    return {
        name: "doctor" if name == "addressee" else field.get("default", empty.get(field.get("type", "string")))
        for name, field in fields.items()
    }


def _record_lines(record: PatientRecord) -> list[str]:
    person = ", ".join(part for part in (_age(record.age_years), record.sex or "", record.occupation) if part)
    histories = [(section, getattr(record, section)) for section in _SECTIONS]
    return [person, *(f"{section.replace('_', ' ').capitalize()}: {text}" for section, text in histories if text)]


def _age(years: float | None) -> str:
    return "" if years is None else age_in_words(years, "en")
