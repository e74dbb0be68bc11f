"""The viewer: a server for people at this machine, and its pages, by the query of their address."""

import math
import re
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from cases.notes import note_of
from llm.trace import Call
from wardround.analysis.summary import most_frequent_failures
from wardround.printing import echo
from wardround.report.case_sections import CaseSection
from wardround.report.pages import environment, outcome_of, policy, roles_of, scores_table
from wardround.serving.loopback import GuardedHandler, LoopbackServer, as_data
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result
from wardround.store.run_index import Key
from wardround.view.run_library import Shelf, ViewedRun

_PAGE_SIZE = 200  # cases
_REFRESH_SECONDS = 3  # between two refreshes of a page on an unfinished run
Query = Mapping[str, str]


class NoSuchPageError(LookupError):
    """There is no page for an address; the message says why."""


@dataclass(frozen=True)
class Picked:
    """The cases of a run that a page lists."""

    shown: Sequence[Result]  # those on this page
    found: int  # number of cases that match
    page: int  # page number, from 1
    pages: int  # number of pages
    unsearched: int  # cases that the search did not reach in time


class Viewer(LoopbackServer):
    """A server for the runs on a shelf, with their pages."""

    def __init__(self, shelf: Shelf, *, follow: bool = False, port: int = 0) -> None:
        self._shelf = shelf
        self._follow = follow
        super().__init__(_Handler, port)

    def stamp(self, query: Query) -> str:
        """Return a stamp that changes when the page would; empty if the page may change at any time."""
        if "run" not in query:
            self._shelf.look()
            return ",".join(f"{name}:{run.stamp()}" for name, run in self._shelf.runs.items())
        if query.get("part") == "calls":
            return ""
        runs = [self._run(query[name]) for name in ("run", "with") if name in query]
        return ",".join(run.stamp(_key(query) if "case" in query else None) for run in runs)

    def page(self, query: Query) -> str:
        """Render the page of an address.

        Raises:
            NoSuchPageError: there is none.
            OSError: a run cannot be read.
            ValueError: a run cannot be read.
        """
        stamp = self.stamp(query)
        if "run" not in query:
            rows = [(viewed, viewed.run, _main_score(viewed.run)) for viewed in self._shelf.runs.values()]
            return self._draw("runs.html.jinja", stamp, rows=rows, not_runs=self._shelf.not_runs)
        viewed = self._run(query["run"])
        if "case" in query and "with" in query:
            return self._pair(viewed, self._run(query["with"]), _key(query), stamp)
        if "case" in query:
            return self._case(viewed, _key(query), stamp)
        if "with" in query:
            return self._differences(viewed, self._run(query["with"]), stamp)
        if query.get("part") == "calls":
            return self._calls(viewed)
        return self._one_run(viewed, query, stamp)

    def trouble(self, why: str) -> str:
        """Render a page that gives the reason of an error."""
        return self._draw("trouble.html.jinja", "", why=why)

    def _draw(self, template: str, stamp: str, *, unfinished: bool = False, **given: Any) -> str:
        refresh = _REFRESH_SECONDS if unfinished or self._follow else 0
        templates = environment(Path(__file__).parent)
        return templates.get_template(template).render(**given, link=_link, stamp=stamp, again=refresh)

    def _run(self, name: str) -> ViewedRun:
        if name not in self._shelf.runs:
            self._shelf.look()
        if name not in self._shelf.runs:
            raise NoSuchPageError(self._shelf.not_runs.get(name) or f"There is no run {name} here.")
        return self._shelf.runs[name]

    def _others(self, viewed: ViewedRun, fits: Callable[[RecordedRun], bool]) -> list[str]:
        return [name for name, other in self._shelf.runs.items() if name != viewed.name and fits(other.run)]

    def _one_run(self, viewed: ViewedRun, query: Query, stamp: str) -> str:
        run = viewed.run
        picked = _pick_cases(viewed, run, query)
        return self._draw(
            "one_run.html.jinja",
            stamp,
            viewed=viewed,
            run=run,
            **outcome_of(run),
            failures=most_frequent_failures(run.results),
            ends=sorted({result.termination for result in run.results}),
            titles={name: title for name, title in run.suite.titles.items() if name in run.suite.columns},
            picked=picked,
            query=dict.fromkeys(("q", "calls", "end", "score", "most", "sort"), "") | dict(query),
            others=self._others(viewed, lambda other: other.suite.name == run.suite.name),
            to=lambda **asked: _link(**{**query, **asked}),
        )

    def _calls(self, viewed: ViewedRun) -> str:
        left = viewed.go_on()
        run, findings = viewed.run, viewed.findings
        files = {run.trace_file(*result.key).stem: result.key for result in run.results} if findings.flagged else {}
        return self._draw(
            "calls.html.jinja",
            f"{findings.begun}",
            unfinished=left > 0,
            viewed=viewed,
            left=left,
            findings=findings,
            files=files,
            roles=roles_of(viewed.name, findings),
        )

    def _case(self, viewed: ViewedRun, key: Key, stamp: str) -> str:
        section, run = self._section(viewed, key), viewed.run
        results = [None, *run.results, None]
        at = next((place for place, result in enumerate(results) if result and result.key == key), 0)
        case = section.case
        return self._draw(
            "one_case.html.jinja",
            stamp,
            viewed=viewed,
            section=section,
            result=section.result,
            note=note_of(case) if case else None,
            pictures=_pictures(section),
            problem=viewed.cases()[1],
            around=[results[at - 1], results[at + 1]] if at else [None, None],
            others=self._others(viewed, lambda other: any(result.key == key for result in other.results)),
            timeline=_timeline(section),
        )

    def _pair(self, viewed: ViewedRun, other: ViewedRun, key: Key, stamp: str) -> str:
        sections = [self._section(one, key) for one in (viewed, other)]
        parts: list[tuple[str, Marked, Marked]] = []
        judged = [{title: answer for title, answer, *_ in section.judged if answer} for section in sections]
        for title in judged[0] | judged[1]:
            parts.append((title, *differing(judged[0].get(title, ""), judged[1].get(title, ""))))
        dialogues = ["\n".join(f"{turn.speaker}: {turn.text}" for turn in section.dialogue) for section in sections]
        if any(dialogues):
            parts.append(("Dialogue", *differing(*dialogues)))
        return self._draw(
            "pair.html.jinja",
            stamp,
            names=(viewed.name, other.name),
            sections=sections,
            parts=parts,
            titles=viewed.run.suite.titles | other.run.suite.titles,
            suites=_suites_of(viewed.run, other.run),
        )

    def _differences(self, viewed: ViewedRun, other: ViewedRun, stamp: str) -> str:
        runs = viewed.run, other.run
        suites = _suites_of(*runs)
        alike = runs[0].suite.columns if len(suites) == 1 else {}
        titles = {name: title for name, title in alike.items() if name in runs[1].suite.columns}
        other_results = {result.key: result for result in runs[1].results}
        pairs = [(one, other_results[one.key]) for one in runs[0].results if one.key in other_results]
        rows = [(one, two, {name: _difference(one, two, name) for name in titles}) for one, two in pairs]
        rows.sort(key=lambda row: (-sum(abs(value or 0) for value in row[2].values()), row[0].key))
        return self._draw(
            "differences.html.jinja",
            stamp,
            names=(viewed.name, other.name),
            rows=rows[:_PAGE_SIZE],
            compared=len(rows),
            titles=titles,
            suites=suites,
            unranked=runs[0].suite.unranked,
            tables=[scores_table(run) for run in runs],
        )

    def _section(self, viewed: ViewedRun, key: Key) -> CaseSection:
        try:
            return viewed.section(key)
        except KeyError:
            raise NoSuchPageError(f"{viewed.name} has no result for case {key[0]}, epoch {key[1]}, yet.") from None


def _suites_of(*runs: RecordedRun) -> list[str]:
    """Return the names of the suites that scored runs; scores of several are not subtracted, even if named alike."""
    return list(dict.fromkeys(run.suite.name for run in runs))


def _main_score(run: RecordedRun) -> str | None:
    """Return the main score of a run: its average, or else its first score."""
    titles = run.suite.titles
    return "average" if "average" in titles else next(iter(titles), None)


def _pick_cases(viewed: ViewedRun, run: RecordedRun, query: Query) -> Picked:
    """Return the cases that match a query, in its order."""
    words = query.get("q", "").lower().split()
    matching, unsearched = viewed.search(words, in_calls="calls" in query) if words else (None, 0)
    end, score = query.get("end", ""), query.get("score", "")
    highest = _number(query.get("most", ""))
    fitting = [
        result
        for result in run.results
        if (matching is None or result.key in matching)
        and (not end or result.termination == end)
        and (not score or highest is None or ((value := result.scores.get(score)) is not None and value <= highest))
    ]
    sort = query.get("sort", "")
    name, reverse = sort.removeprefix("-"), sort.startswith("-")
    if name in ("case", "end"):
        fitting.sort(key=lambda result: result.case_id if name == "case" else result.termination, reverse=reverse)
    elif name:
        sign = -1.0 if reverse else 1.0  # what has no value is last in both orders
        fitting.sort(key=lambda result: math.inf if (value := _value(result, name)) is None else sign * value)
    pages = max(1, -(-len(fitting) // _PAGE_SIZE))
    page = min(max(1, int(_number(query.get("page", "")) or 1)), pages)
    return Picked(fitting[(page - 1) * _PAGE_SIZE : page * _PAGE_SIZE], len(fitting), page, pages, unsearched)


def _value(result: Result, name: str) -> float | None:
    if name in ("calls", "tokens", "seconds", "cost", "epoch"):
        value: float | None = getattr(result, name)
        return value
    return result.scores.get(name)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if abs(found) < 1e9 else None


def _difference(one: Result, two: Result, name: str) -> float | None:
    left, right = one.scores.get(name), two.scores.get(name)
    return None if left is None or right is None else right - left


def _pictures(section: CaseSection) -> list[tuple[str, str, str]]:
    """Return the pictures of a case: the examination, and a data URL or why there is none."""
    case = section.case
    images = case.examinations.images if case else ()
    return [(image.item, *as_data(Path(case.folder if case else "") / image.file)) for image in images]


def _timeline(section: CaseSection) -> dict[str, Any] | None:
    """Return when each call was made, in thousandths of the whole duration, a row per part of the workflow."""
    calls = section.trace.calls
    if not calls:
        return None
    first_start = min(call.started for call in calls)
    duration = max(call.ended for call in calls) - first_start or 1.0
    numbers = {call.id: number for number, call in enumerate(calls, start=1)}

    def bar(call: Call) -> tuple[int, Call, float, float]:
        left, width = (1000 * seconds / duration for seconds in (call.started - first_start, call.seconds))
        return numbers[call.id], call, left, max(1.5, width)

    rows = [(passage.title, [bar(call) for call in passage.calls]) for passage in section.passages]
    return {"rows": rows, "seconds": duration}


def _key(query: Query) -> Key:
    return query["case"], int(_number(query.get("epoch", "0")) or 0)


def _link(**asked: object) -> str:
    return "?" + urlencode({name: str(value) for name, value in asked.items() if value not in (None, "")})


# Scripts without spaces are compared character by character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+|\s+|[^\w\s]")
_MOST_PAIRS = 20_000_000  # of equal words of two texts, each of which is looked at; with more, lines are compared

Marked = list[tuple[str, bool]]


def differing(one: str, other: str) -> tuple[Marked, Marked]:
    """Split both texts into pieces, each with whether the other text lacks it."""
    by_lines = ([*one.splitlines(keepends=True)], [*other.splitlines(keepends=True)])
    cuts = ((_WORD.findall(one), _WORD.findall(other)), by_lines)
    left, right = next((cut for cut in cuts if _equal_pairs(*cut) <= _MOST_PAIRS), ([one], [other]))
    marked: tuple[Marked, Marked] = [], []
    for operation, *ends in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for pieces, words, (start, end) in zip(marked, (left, right), (ends[:2], ends[2:]), strict=True):
            if text := "".join(words[start:end]):
                pieces.append((text, operation != "equal" and bool(text.strip())))
    return marked


def _equal_pairs(left: Sequence[str], right: Sequence[str]) -> int:
    counts = Counter(right)
    return sum(count * counts[piece] for piece, count in Counter(left).items())


_MAX_ADDRESS = 4_000  # characters


class _Handler(GuardedHandler):
    server: Viewer

    def show(self) -> None:
        """Send a page, or an empty response if it has not changed."""
        if len(self.path) > _MAX_ADDRESS:
            self.answer(HTTPStatus.NOT_FOUND, "there is no such page")
            return
        query = {name: value for name, value in parse_qsl(urlsplit(self.path).query) if value}
        viewer = self.server
        try:
            known = self.headers.get("if-none-match")
            if known and known == viewer.stamp(query):
                self.answer(HTTPStatus.NO_CONTENT, "")
                return
            status, page = HTTPStatus.OK, viewer.page(query)
        except NoSuchPageError as error:
            status, page = HTTPStatus.NOT_FOUND, viewer.trouble(str(error))
        except (OSError, ValueError) as error:
            status, page = HTTPStatus.INTERNAL_SERVER_ERROR, viewer.trouble(str(error))
        except Exception as error:  # a bug of ours is reported on the page, with its traceback on the terminal
            echo(traceback.format_exc(), err=True)
            message = f"this page cannot be rendered ({type(error).__name__}: {error}); please report it"
            status, page = HTTPStatus.INTERNAL_SERVER_ERROR, viewer.trouble(message)
        self.answer(status, page, "text/html", policy(served=True))
