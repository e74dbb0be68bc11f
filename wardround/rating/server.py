"""The page on which people judge: served to this machine alone, to whoever has the address with its token."""

import base64
import json
import secrets
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from markupsafe import Markup
from pydantic import Field, ValidationError

from cases.notes import note_of
from cases.pictures import PictureError, read_picture
from cases.strict import Strict
from prompts import load_words
from scoring.consultation import reference_parts
from wardround.rating.items import Item, order_for
from wardround.rating.marks import Mark, Marks
from wardround.rating.scales import Name, scale_of
from wardround.report.pages import environment

_LARGEST = 10_000  # bytes of one judgement
_PICTURES = "data:{mime};base64,{content}"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; "
    "img-src data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}


class Given(Strict):
    """A judgement as the page sends it."""

    rater: str = Field(min_length=1, max_length=80)
    place: int = Field(ge=0, description="Of the item in the rater's order.")
    question: str
    value: int


class Rating(ThreadingHTTPServer):
    """A server on the loopback interface for the items of one scale."""

    daemon_threads = True

    def __init__(self, items: list[Item], scale: Name, marks: Marks, port: int = 0) -> None:
        """Bind it; port 0 takes any that is free.

        Raises:
            OSError: the port is taken.
        """
        self.items, self.scale, self.marks = items, scale, marks
        self._scales = {language: scale_of(scale, language) for language in {item.case.language for item in items}}
        self.token = secrets.token_urlsafe(16)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        """Where it is, for browsers."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def page(self, nonce: str, rater: str, place: int | None) -> str | None:
        """The page of an item in a rater's order, the first one that is not judged if none is named."""
        template = environment().get_template("rating.html.jinja")
        if not rater:
            language = self.items[0].case.language
            return template.render(words=load_words("rating/words", language)["page"], language=language)
        order = order_for(rater, self.items)
        open_places = [place for place, item in enumerate(order) if not self._is_judged(rater, item)]
        if place is None:
            place = open_places[0] if open_places else len(order)
        if not 0 <= place <= len(order):
            return None
        words = load_words("rating/words", order[min(place, len(order) - 1)].case.language)["page"]
        shared = {"words": words, "nonce": nonce, "rater": rater, "place": place, "all": len(order)}
        shared["link"] = partial(_link, rater)
        shared["left"] = words["left"].format(left=len(open_places), all=len(order))
        if place == len(order):
            return template.render(**shared, language=order[-1].case.language, item=None, done=not open_places)
        item = order[place]
        turned = item.stands_turned(rater)
        given = self.marks.of(rater, self.scale, item.key)
        scale, key = self._scales[item.case.language], reference_parts(item.case)
        return template.render(
            **shared,
            language=item.case.language,
            item=item,
            done=False,
            consultations=item.consultations[::-1] if turned else item.consultations,
            scale=scale,
            given={key: -value if turned else value for key, value in given.items()},
            note=note_of(item.case),
            pictures=[(image.item, _inline(item, image.file)) for image in item.case.examinations.images],
            key={"diagnosis": key.diagnosis, "basis": key.basis, "treatment": key.treatment},
            speakers=load_words("judges/words", item.case.language),
            names=load_words("rating/words", item.case.language)["scales"]["mvme"]["questions"],
        )

    def judge(self, given: Given) -> str | None:
        """Keep a judgement; what is wrong with it, if it cannot be."""
        order = order_for(given.rater, self.items)
        if given.place >= len(order):
            return "there is no such item"
        item = order[given.place]
        if not self._scales[item.case.language].accepts(given.question, given.value):
            return "the scale has no such answer"
        run, against, case_id, epoch = item.key
        turned = item.stands_turned(given.rater)
        self.marks.add(
            Mark(
                rater=given.rater,
                scale=self.scale,
                question=given.question,
                value=-given.value if turned else given.value,
                run=run,
                against=against,
                case_id=case_id,
                epoch=epoch,
                shown_first=(against if turned else run) if against else "",
            )
        )
        return None

    def _is_judged(self, rater: str, item: Item) -> bool:
        wanted = {question.key for question in self._scales[item.case.language].questions}
        if not item.case.examinations.images:
            wanted -= {"MMA"}  # no pictures to be read
        return wanted <= self.marks.of(rater, self.scale, item.key).keys()


class _Handler(BaseHTTPRequestHandler):
    server: Rating
    server_version, sys_version = "wardround", ""
    timeout = 30

    def do_GET(self) -> None:
        """Show a page."""
        if (path := self._path()) is None:
            return
        nonce, asked = secrets.token_urlsafe(16), parse_qs(urlsplit(self.path).query)
        rater = asked.get("rater", [""])[0].strip()[:80]
        place = asked.get("item", [""])[0]
        page = self.server.page(nonce, rater, int(place) if place.isdecimal() else None) if path == "" else None
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self._answer(HTTPStatus.OK, page, "text/html", nonce)

    def do_POST(self) -> None:
        """Keep a judgement."""
        if (path := self._path()) is None:
            return
        length = self.headers.get("content-length", "")
        if path != "judge" or self.headers.get_content_type() != "application/json" or not length.isdecimal():
            self._answer(HTTPStatus.BAD_REQUEST, "expected a judgement as JSON")
        elif int(length) > _LARGEST:
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "expected a judgement")
        else:
            self._judge(self.rfile.read(int(length)))

    def _judge(self, body: bytes) -> None:
        try:
            wrong = self.server.judge(Given.model_validate_json(body))
        except ValidationError as error:
            wrong = json.dumps(error.errors(include_url=False, include_input=False, include_context=False))
        except OSError as error:
            self._answer(HTTPStatus.INSUFFICIENT_STORAGE, f"{self.server.marks.file} cannot be written: {error}")
            return
        if wrong:
            self._answer(HTTPStatus.BAD_REQUEST, wrong)
        else:
            self._answer(HTTPStatus.NO_CONTENT, "")

    def _path(self) -> str | None:
        """What stands behind the token; None if the request was refused."""
        hosts = {f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")}
        origins = self.headers.get_all("origin") or []
        token, _, path = urlsplit(self.path).path.lstrip("/").partition("/")
        if [host.lower() for host in self.headers.get_all("host") or []] not in [[host] for host in hosts]:
            refusal = "this server answers to the loopback interface's own names alone"
        elif any(origin not in {f"http://{host}" for host in hosts} for origin in origins):
            refusal = "a page from there may not call this server"
        elif not secrets.compare_digest(token.encode(), self.server.token.encode()):
            refusal = "addresses begin with the token that was printed when this server started"
        else:
            return path
        self._answer(HTTPStatus.FORBIDDEN, f"refused: {refusal}")
        return None

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain", nonce: str = "") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        for name, value in _HEADERS.items():
            self.send_header(name, value.replace("{nonce}", nonce))
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != HTTPStatus.NO_CONTENT:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the address holds the token."""


def _link(rater: str, place: int | None) -> str:
    return f"?rater={quote(rater)}" + ("" if place is None else f"&item={place}")


def _inline(item: Item, file: str) -> Markup | str:
    """A picture of the case as part of the page, or why it is not there."""
    try:
        content, mime = read_picture(Path(item.case.folder) / file)
    except PictureError as error:
        return str(error)
    return Markup(_PICTURES.format(mime=mime, content=base64.b64encode(content).decode()))
