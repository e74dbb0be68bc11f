"""The rating page: a server for this machine only, for those who have the address with its token."""

import secrets
from functools import partial
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qs, quote, urlsplit

from pydantic import AfterValidator, Field, ValidationError

from cases.strict import Strict
from cases.validation import in_a_line
from prompts import load_words
from wardround.rating.items import Item, order_for
from wardround.rating.marks import Mark, Marks, clean_name
from wardround.rating.scales import Name, scale_of
from wardround.report.pages import environment
from wardround.serving.loopback import GuardedHandler, LoopbackServer, as_data

_MAX_BYTES = 10_000  # bytes of one rating
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; "
    "img-src data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def _one_line(name: str) -> str:
    if name != clean_name(name):
        raise ValueError("a name must be one line without surrounding blanks or invisible characters")
    return name


class Given(Strict):
    """A rating as the page sends it."""

    rater: Annotated[str, AfterValidator(_one_line)] = Field(min_length=1, max_length=80)
    place: int = Field(ge=0, description="Position of the item in the rater's order.")
    question: str
    value: int


class Rating(LoopbackServer):
    """A server on the loopback interface for the items of one scale."""

    def __init__(self, items: list[Item], scale: Name, marks: Marks, port: int = 0) -> None:
        self.items, self.scale, self.marks = items, scale, marks
        self._scales = {language: scale_of(scale, language) for language in {item.case.language for item in items}}
        super().__init__(_Handler, port)

    def first_open(self, rater: str) -> int:
        """Return the place of the first item that a rater has not rated in full; after all, the place of the end."""
        order = order_for(rater, self.items)
        return next((place for place, item in enumerate(order) if not self._is_judged(rater, item)), len(order))

    def page(self, nonce: str, rater: str, place: int) -> str | None:
        """Render the page of an item in a rater's order, or of its end; None if there is none."""
        template = environment().get_template("rating.html.jinja")
        if not rater:
            # Nobody knows yet which of the items' languages the rater reads.
            languages = dict.fromkeys(item.case.language for item in self.items)
            pages = [load_words("rating/words", language)["page"] for language in languages]
            words = {key: " · ".join(page[key] for page in pages) for key in ("title", "notice", "who", "begin")}
            return template.render(words=words, language=next(iter(languages)))
        order = order_for(rater, self.items)
        left = sum(not self._is_judged(rater, item) for item in order)
        if place > len(order):
            return None
        texts = load_words("rating/words", order[min(place, len(order) - 1)].case.language)
        words = texts["page"]
        shared = {"words": words, "nonce": nonce, "rater": rater, "place": place, "all": len(order)}
        shared["link"] = partial(_link, rater)
        shared["left"] = words["left"].format(left=left, all=len(order))
        if place == len(order):
            return template.render(**shared, language=order[-1].case.language, item=None, done=not left)
        item = order[place]
        swapped = item.stands_turned(rater)
        given = self.marks.of(rater, self.scale, item.key)
        scale = self._scales[item.case.language]
        return template.render(
            **shared,
            language=item.case.language,
            item=item,
            done=False,
            consultations=item.consultations[::-1] if swapped else item.consultations,
            scale=scale,
            given={key: -value if swapped else value for key, value in given.items()},
            note=item.note,
            pictures=[(name, "".join(as_data(file))) for name, file in item.pictures],  # or why it is missing
            key=item.key_parts,
            speakers=load_words("judges/words", item.case.language),
            names=texts["scales"]["mvme"]["questions"] | texts["parts"],
        )

    def judge(self, given: Given) -> str | None:
        """Store a rating; return what is wrong with it, if it is invalid."""
        order = order_for(given.rater, self.items)
        if given.place >= len(order):
            return "there is no such item"
        item = order[given.place]
        if not self._scales[item.case.language].accepts(given.question, given.value):
            return "the scale has no such answer"
        run, against, case_id, epoch = item.key
        value, first = (-given.value, against) if item.stands_turned(given.rater) else (given.value, run)
        answer_fields = {"rater": given.rater, "scale": self.scale, "question": given.question, "value": value}
        item_fields = {"run": run, "against": against, "case_id": case_id, "epoch": epoch, "run_ids": item.run_ids}
        self.marks.add(Mark.model_validate({**answer_fields, **item_fields, "shown_first": first if against else ""}))
        return None

    def _is_judged(self, rater: str, item: Item) -> bool:
        needed = {question.key for question in self._scales[item.case.language].questions}
        if not item.pictures:
            needed -= {"MMA"}  # there are no pictures to interpret
        return needed <= self.marks.of(rater, self.scale, item.key).keys()


class _Handler(GuardedHandler):
    server: Rating

    def show(self) -> None:
        """Send a page; without an item, redirect to the first open one, so that Back returns to what was shown."""
        nonce, query = secrets.token_urlsafe(16), parse_qs(urlsplit(self.path).query)
        rater = clean_name(query.get("rater", [""])[0])[:80].strip()
        place = query.get("item", [""])[0]
        if rater and not place.isdecimal():
            self.redirect(_link(rater, self.server.first_open(rater)))
            return
        page = self.server.page(nonce, rater, int(place[:9]) if place.isdecimal() else 0)
        if page is None:
            self.answer(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self.answer(HTTPStatus.OK, page, "text/html", _POLICY.format(nonce=nonce))

    def do_POST(self) -> None:
        """Store a rating."""
        body = self.posted("judge", "application/json", _MAX_BYTES, "a judgement as JSON")
        if body is None:
            return
        try:
            fault = self.server.judge(Given.model_validate_json(body))
        except ValidationError as error:
            fault = in_a_line(error, "the judgement")
        except OSError as error:
            message = f"{self.server.marks.file} cannot be written: {error.strerror or error}"
            self.answer(HTTPStatus.INSUFFICIENT_STORAGE, message)
            return
        if fault:
            self.answer(HTTPStatus.BAD_REQUEST, fault)
        else:
            self.answer(HTTPStatus.NO_CONTENT, "")


def _link(rater: str, place: int | None) -> str:
    return f"?rater={quote(rater)}" + ("" if place is None else f"&item={place}")
