"""A terminal interface for a person: shows questions, and turns typed text into typed answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cases.vocabulary import label
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Turn
from prompts import mark
from scoring.clini_eval.points import LEAVES, CliniEvalScores
from scoring.consultation import Orders
from wardround.interactive import seat
from wardround.interactive.consultation_session import Session
from wardround.interactive.feedback import Feedback
from wardround.printing import printable


class TerminalSeat:
    """Shows a session to a person and reads the answers."""

    def __init__(self, session: Session, console: Console, read: Callable[[str], str]) -> None:
        self._session = session
        self._console = console
        self._read = read
        self._shown: int | None = None
        self._words = seat.words_of(session)

    def welcome(self) -> None:
        """Show that this is no care, and the person's role with the information that belongs to it."""
        self._console.print(Text(self._words["page"]["notice"], style="dim"))
        for title, lines in seat.opening(self._session):
            lines_shown = [self._labelled(name, text) if name else text for name, text in lines]
            text = Text("\n".join(printable(line) for line in lines_shown))
            self._console.print(Panel(text, title=printable(title), title_align="left"))
        self._help()

    def show_news(self) -> None:
        """Show what was said since the last call: the first time everything, then without the person's own words."""
        heard = self._session.heard()
        for turn in heard[self._shown or 0 :]:
            if self._shown is None or turn.speaker != self._session.seat:
                self._show(turn)
        self._shown = len(heard)

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Read one typed answer, asking again until it is valid.

        Raises:
            EOFError: the person leaves.
        """
        if wrong := question.get("wrong"):
            refusal = self._words["page"]["refused"]
            self._console.print(Text(f"{refusal} ({printable(wrong)})", style="bold"))
        if seat.asks_to_speak(question):
            return self._speech(question)
        self._console.print(Text(f"\n{self._words['page']['report_intro']}", style="bold"))
        return {name: self._field(name, field) for name, field in question["schema"]["properties"].items()}

    def show_report(self, report: FinalReport) -> None:
        """Show the doctor's report in its five parts."""
        title = self._words["page"]["report" if self._session.seat == "doctor" else "report_of_doctor"]
        rows = [(name, "\n".join(value) if isinstance(value, list) else value) for name, value in report]
        self._table(title, [], [(self._words["report"][name], text) for name, text in rows])

    def show_feedback(self, feedback: Feedback) -> None:
        """Show the trainer's feedback, with the answer key, which may be revealed now."""
        words, is_doctor = self._words["trainer"], self._session.seat == "doctor"
        if grade := feedback.diagnosis:
            level = words["level"].format(level=grade.level, meaning=words["levels"][grade.level - 1])
            names = [(one.given, one.reference, words["relations"][one.relation]) for one in feedback.names]
            headings = [words["given"], words["reference"], words["how"]]
            self._table(self._labelled(words["diagnosis"], level), headings, names)
            judged = "diagnosis_judge" in feedback.judged
            self._print_dim(words["said"].format(analysis=grade.reason) if judged else words["by_names"])
        not_told = sum(len(one.facts) for one in feedback.missed) + len(feedback.withheld)
        self._console.print(Text(f"\n{words['told'].format(told=feedback.facts - not_told, all=feedback.facts)}"))
        missed = [(one.question or words["no_question"], "\n".join(one.facts)) for one in feedback.missed]
        self._table(words["missed" if is_doctor else "missed_of_doctor"], [], missed)
        withheld = [(fact,) for fact in feedback.withheld]
        self._table(words["withheld" if is_doctor else "withheld_by_you"], [], withheld)
        if feedback.orders:
            self._table(words["orders"], [], list(self._orders(feedback.orders, feedback)))
            self._print_dim(words["overlap"].format(overlap=f"{feedback.scores.examinations:.2f}"))
        if feedback.technique:
            self._technique(feedback.technique)
        key = seat.reference_of(self._session.case, self._session.language)
        grades = {part: one for part, one in feedback.scores.parts if one and "mvme_director" in feedback.judged}
        rows = [
            (title, key[part], *([f"{words['grades']['ABCD'.index(one.option)]}\n{one.analysis}"] if one else []))
            for part, title in self._words["report"].items()
            for one in [grades.get(part)]
        ]
        self._table(words["report"], [words["part"], words["reference"], *([words["grade"]] if grades else [])], rows)
        if not grades:
            self._print_dim(words["ungraded"])

    def _orders(self, orders: Orders, feedback: Feedback) -> Iterator[tuple[str, str]]:
        words, language = self._words["trainer"], self._session.language
        results = self._session.case.examinations.results
        yield words["wanted"], seat.names_ordered(orders.wanted, feedback, language)
        would_show = {
            item: f" {words['would_show'].format(result=results[item])}" for item in orders.missing if item in results
        }
        missing = [f"{label(item, language)}{would_show.get(item, '')}" for item in orders.missing]
        yield words["missing"], "\n".join(missing) or words["none"]
        yield words["needless"], seat.names_ordered(orders.needless, feedback, language)

    def _technique(self, technique: CliniEvalScores) -> None:
        words, language = self._words["trainer"], self._session.language
        points = words["points"].format(points=f"{technique.assessed:.3g}", most=f"{technique.assessable:g}")
        below_maximum = {key: got for key, got in technique.leaves.items() if got < LEAVES[key].maximum}
        rows = [
            (LEAVES[key].criterion(language), f"{got:.2g}/{LEAVES[key].maximum:g}")
            for key, got in below_maximum.items()
        ]
        self._table(self._labelled(words["technique"], points), [words["improvable"], words["score"]], rows)

    def _speech(self, question: Mapping[str, Any]) -> dict[str, Any]:
        while True:
            typed = self._read("> ").strip()
            if not typed:
                continue
            command, _, rest = typed.partition(" ")
            if not typed.startswith("/"):
                return seat.typed_answer(typed, question, self._session)
            if command == "/end" and seat.allows(question, "finished"):
                return seat.typed_answer(rest.strip(), question, self._session, finished=True)
            if command == "/examiner" and seat.allows(question, "addressee") and rest.strip():
                return seat.typed_answer(rest.strip(), question, self._session, addressee="examiner")
            self._help()

    def _field(self, name: str, field: Mapping[str, Any]) -> Any:
        is_list = field.get("type") == "array"
        title = self._words["report"].get(name, name)
        self._print_dim(f"{title} ({self._words['page']['separate']})" if is_list else title)
        while True:
            typed = self._read(f"{title}> ").strip()
            if not is_list and (typed or not field.get("minLength")):
                return typed
            if is_list and (given := seat.entries(typed)):
                return given

    def _show(self, turn: Turn) -> None:
        who = seat.speaker_of(turn, self._session)
        self._console.print(Text.assemble((self._labelled(who, ""), "bold"), printable(turn.text)))
        for picture in turn.pictures:
            caption = f"[{label(picture.item, self._session.language)}: {self._session.show(picture)}]"
            self._console.print(Text(printable(caption), style="dim"), soft_wrap=True)

    def _help(self) -> None:
        """Show what the person is to do, and the commands that the current question obeys."""
        words, question = self._words["terminal"], self._session.question()
        ways = {f"end_{self._session.seat}": "finished", "examiner": "addressee"}
        commands = [words[name] for name, field in ways.items() if question and seat.allows(question, field)]
        self._print_dim(seat.help_for(self._session))
        self._print_dim(mark("space", self._session.language).join([*commands, words["leave"]]))

    def _labelled(self, name: str, text: str) -> str:
        return f"{name}{mark('label', self._session.language)}{text}"

    def _print_dim(self, text: str) -> None:
        self._console.print(Text(printable(text), style="dim"))

    def _table(self, title: str, headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Print a table, if it has rows."""
        if not rows:
            return
        table = Table(title=Text(printable(title)), show_header=bool(headings), title_justify="left")
        for heading in headings:
            table.add_column(heading)
        for row in rows:
            # Chinese has no spaces to break at: an ellipsis would take the place of the rest of a sentence.
            table.add_row(*(Text(printable(cell), overflow="fold") for cell in row))
        self._console.print(table)
