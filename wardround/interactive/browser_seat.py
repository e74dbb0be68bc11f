"""A browser interface for one session: local pages without scripts.

A submitted form names the question that it answers (``at``), so that a second click, another tab or an old page has no
effect.
"""

import asyncio
import hashlib
import threading
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs

from cases.vocabulary import label
from llm import AskError
from llm.ask import LONGEST_TYPED
from prompts import mark
from scoring.clini_eval.points import LEAVES
from scoring.consultation import report_parts
from wardround.interactive import seat
from wardround.interactive.consultation_session import Session
from wardround.interactive.feedback import Feedback, feedback_on
from wardround.printing import echo
from wardround.report.pages import environment, policy
from wardround.run.faults import why_unanswered
from wardround.serving.loopback import GuardedHandler, LoopbackServer, as_data
from wardround.store.durable_lines import TO_RESUME, RunStoppedError, writing
from wardround.store.provenance import write_whole

FEEDBACK = "feedback.json"
_MAX_BYTES = 400_000  # bytes per form, as a browser encodes it
_MAX_FIELDS = 20
_PATIENCE = 1.5  # seconds; a page request that waits longer, because agents are working, gets a waiting page
_MAX_PIXELS = 1_200  # pixels of a picture's longer side

Done = TypeVar("Done")


class Refused(Exception):
    """A submission that is refused; the message is for the person."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class BrowserSeat(LoopbackServer):
    """A server for one session."""

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.busy = threading.Lock()
        self._failed = ""
        self._feedback: Feedback | None = None
        self._template = environment(Path(__file__).parent).get_template("consult.html.jinja")
        super().__init__(_Handler, port)

    def page(self, wrong: str = "", given: Mapping[str, str] | None = None) -> str:
        """Render the page for the session's state, after letting the agents work as far as they can.

        ``wrong`` says why the last submission was refused, and ``given`` refills the form with it.
        """
        session = self.session
        if not self._failed:
            self._try(session.go_on)
        question, feedback = session.question(), None
        if session.finished and not self._failed:
            feedback = self._try(self._load_feedback)
        state = session.state
        return self._render(
            opening=seat.opening(session) if {"presentation", "patient_record"} & state.keys() else [],
            turns=[(turn, seat.speaker_of(turn, session), self._pictures(turn)) for turn in session.heard()],
            help=seat.help_for(session),
            question=question,
            at=self.at(question),
            talks=bool(question and seat.asks_to_speak(question)),
            may_end=bool(question and seat.allows(question, "finished")),
            may_ask=bool(question and seat.allows(question, "addressee")),
            refused=bool(question and question.get("wrong")),
            wrong=wrong,
            given=given or {},
            failed=self._failed,
            report=state.get("report"),
            feedback=feedback,
            reference=seat.reference_of(session.case, session.language) if feedback else None,
            written=report_parts(state["report"]) if feedback else None,
        )

    def waiting(self) -> str:
        """Render the waiting page, which reloads itself."""
        return self._render(waits=True)

    def take(self, at: str, given: Mapping[str, str]) -> None:
        """Continue the session with what the person has submitted.

        Raises:
            Refused: it is not a valid answer, or does not answer the current question.
        """
        session, page = self.session, seat.words_of(self.session)["page"]
        question = session.question()
        if given.get("do") == "again":
            self._failed = ""
            return
        if question is None or at != self.at(question):
            if self._is_repeated(given):
                return
            raise Refused(HTTPStatus.CONFLICT, page["answered"])
        if any(len(text) > LONGEST_TYPED for text in given.values()):
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, page["too_long"].format(most=LONGEST_TYPED))
        answer = self._words(question, given) if seat.asks_to_speak(question) else self._form(question, given)
        self._failed = ""
        self._try(lambda: session.answer(answer))

    def at(self, question: Mapping[str, Any] | None) -> str:
        """Return a hash that identifies the question; a repeated question after an invalid answer has another one."""
        asked_state = (len(self.session.heard()), question)
        return hashlib.sha256(repr(asked_state).encode()).hexdigest()[:12]

    def _words(self, question: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
        text, action = given.get("text", "").strip(), given.get("do", "")
        ends = action == "end" and seat.allows(question, "finished")
        if not text and not ends:
            raise Refused(HTTPStatus.BAD_REQUEST, seat.words_of(self.session)["page"]["empty"])
        extra: dict[str, Any] = {"finished": True} if ends else {}
        if action == "examiner" and seat.allows(question, "addressee"):
            extra["addressee"] = "examiner"
        return seat.typed_answer(text, question, self.session, **extra)

    def _form(self, question: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
        fields: Mapping[str, Mapping[str, Any]] = question["schema"]["properties"]
        answer: dict[str, Any] = {}
        for name, field in fields.items():
            text = given.get(name, "").strip()
            answer[name] = seat.entries(text) if field.get("type") == "array" else text
        words = seat.words_of(self.session)
        required = [name for name, field in fields.items() if field.get("minItems") or field.get("minLength")]
        if missing := [words["report"].get(name, name) for name in required if not answer[name]]:
            parts = mark("listed", self.session.language).join(missing)
            raise Refused(HTTPStatus.BAD_REQUEST, words["page"]["lacking"].format(parts=parts))
        return answer

    def _is_repeated(self, given: Mapping[str, str]) -> bool:
        """Whether the same submission was accepted before, as with the second of two clicks."""
        text = given.get("text", "").strip()
        own_turns = [turn.text for turn in self.session.heard() if turn.speaker == self.session.seat]
        report = self.session.state.get("report")
        is_report = report is not None and given.get("basis", "").strip() == report.basis and "diagnosis" in given
        return is_report or bool(text and text in own_turns[-1:]) or (not text and given.get("do") == "end")

    def _load_feedback(self) -> Feedback:
        """Return the feedback, computed once, as judging models may cost money."""
        file = self.session.directory / FEEDBACK
        if self._feedback is None and file.is_file():
            try:
                self._feedback = Feedback.model_validate_json(file.read_text("utf-8"))
            except ValueError:  # written by another version, or damaged
                file.unlink()
        if self._feedback is None:
            session = self.session
            self._feedback = asyncio.run(feedback_on(session.case, session.state, session.context))
        if not file.is_file():  # also after a disk was full
            with writing(file):
                write_whole(file, self._feedback.model_dump_json(indent=1))
        return self._feedback

    def _try(self, work: Callable[[], Done]) -> Done | None:
        """Do work in which a model call or the disk may fail; that is shown on the page, with a button to retry."""
        try:
            return work()
        except AskError as error:
            self._failed = why_unanswered(error)
        except RunStoppedError as error:
            self._failed = str(error).removesuffix(f"; {TO_RESUME}")
        return None

    def _pictures(self, turn: Any) -> list[tuple[str, str, str]]:
        """Return each picture's name, and its data URL or why there is none."""
        language = self.session.language
        return [(label(one.item, language), *as_data(one.file, _MAX_PIXELS)) for one in turn.pictures]

    def _render(self, **shown: Any) -> str:
        session, language = self.session, self.session.language
        return self._template.render(
            words=seat.words_of(session),
            language=language,
            seat=session.seat,
            name_of=lambda item: label(item, language),
            ordered=lambda items, feedback: seat.names_ordered(items, feedback, language),
            leaves=LEAVES,
            results=session.case.examinations.results,
            **shown,
        )


class _Handler(GuardedHandler):
    server: BrowserSeat

    def do_POST(self) -> None:
        """Process a submission, and redirect to the page."""
        body = self.posted("", "application/x-www-form-urlencoded", _MAX_BYTES, "the page's form")
        if body is None:
            return
        try:
            fields = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
        except ValueError:
            self.answer(HTTPStatus.BAD_REQUEST, "expected the page's form")
            return
        given = {name: "\n".join(values[0].splitlines()) for name, values in fields.items()}
        try:
            with self.server.busy:
                self.server.take(given.pop("at", ""), given)
        except Refused as refused:
            self.show(refused, given)
        except Exception as error:
            self._fail(error)
        else:
            self.redirect()

    def show(self, refused: Refused | None = None, given: Mapping[str, str] | None = None) -> None:
        """Send the page for the session's state."""
        if not self.server.busy.acquire(timeout=_PATIENCE if refused is None else -1):
            self.answer(HTTPStatus.OK, self.server.waiting(), "text/html", policy(served=True))
            return
        try:
            page = self.server.page(str(refused or ""), given)
        except Exception as error:
            self._fail(error)
        else:
            self.answer(refused.status if refused else HTTPStatus.OK, page, "text/html", policy(served=True))
        finally:
            self.server.busy.release()

    def _fail(self, error: Exception) -> None:
        """Report a bug of ours, with its traceback on the terminal; the saved session is unaffected."""
        echo(traceback.format_exc(), err=True)
        message = f"this failed ({type(error).__name__}: {error}); the session is kept; please report the error"
        self.answer(HTTPStatus.INTERNAL_SERVER_ERROR, message)
