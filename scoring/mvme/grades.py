"""MVME (AI Hospital, section 3.2): five parts of a report, each graded A to D by the medical director."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from scoring.metrics.statistics import Estimate, estimate
from scoring.mvme.transcripts import PARTS, Evaluation, Part

Option = Literal["A", "B", "C", "D"]
SCORES: Mapping[Option, int] = {"A": 4, "B": 3, "C": 2, "D": 1}  # AI Hospital, section 3.2; higher is better
LOWEST: Option = "D"
ENDS = (1.0, 4.0)

_TITLES: Mapping[Part, str] = {
    "symptoms": "症状|symptoms?",
    "examinations": "医学检查项目|medical examination items|medical examinations?",
    "diagnosis": "诊断结果|diagnos(?:is|tic) results?",
    "basis": "诊断依据|diagnos(?:is|tic) (?:basis|rationale)",
    "treatment": "治疗方案|treatment plan",
}
_OPTION = re.compile(r"\W*(?:(?:选项|选择|答案|option|choice)\W*)?([A-D])(?![A-Za-z])", re.IGNORECASE)
_ANOTHER = re.compile(r"\W{0,3}(?:或者?|or|and|和|至|to)?\W{0,3}([A-D])(?![A-Za-z])", re.IGNORECASE)


def parse_option(text: str | None) -> Option | None:
    """The one option that a text opens with (``B``, ``(B) largely consistent``, ``选项：B``); None if it is not clear.

    The published computation takes a letter found anywhere instead (:func:`published_option`).
    """
    folded = unicodedata.normalize("NFKC", text or "").strip()
    found = _OPTION.match(folded)
    if found is None:
        return None
    another = _ANOTHER.match(folded, found.end())
    if another and another[1].upper() != found[1].upper():
        return None
    return next(letter for letter in SCORES if letter == found[1].upper())


def published_option(text: str | None) -> Option | None:
    """The first of A, B, C and D, in this order, that occurs anywhere in a text: AI Hospital's own rule.

    It finds A in ``D, not A`` and in ``CT: B``, C.
    """
    return next((letter for letter in SCORES if letter in (text or "")), None)


def option_of_part(answer: str, part: Part) -> Option | None:
    """The option that a director's whole answer gives a part, in the section of that part; None if it is not clear."""
    title = re.compile(rf"^[ \t]*#[ \t]*(?:{_TITLES[part]})[ \t]*$", re.IGNORECASE | re.MULTILINE)
    if (start := title.search(answer)) is None:
        return None
    section = re.split(r"^[ \t]*#(?!#)", answer[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    options = re.split(
        r"^[ \t]*##[ \t]*(?:选项|options?|choice)", section, maxsplit=1, flags=re.IGNORECASE | re.MULTILINE
    )
    return parse_option(options[1]) if len(options) == 2 else None


def released_grades(evaluation: Evaluation, published: bool = False) -> dict[Part, Option | None]:
    """The option of each part that a released evaluation graded; None if it is missing or not clear.

    It is read strictly, and from the part's own section where the director's whole answer was kept. Published: the
    option as the authors' code found it.
    """
    if published:
        return {part: published_option(choice) for part, choice in evaluation.choices.items()}
    if answer := evaluation.evaluation_result:
        options = {part: option_of_part(answer, part) for part in PARTS}
        return {part: option for part, option in options.items() if option or part in evaluation.choices}
    return {part: parse_option(choice) for part, choice in evaluation.choices.items()}


def score_parts(grades: Sequence[Mapping[Part, Option | None]], published: bool = False) -> dict[Part, Estimate]:
    """The mean score of each part that was graded in any case, in [1, 4]; higher is better.

    A missing option is left out and makes ``n`` smaller. Published: it counts 1 (AI Hospital's code). The ± of the
    paper is half the width of the percentile bootstrap interval, as published makes it. Source: AI Hospital, section
    3.2 and table 2.
    """
    graded = {part for options in grades for part in options}
    columns = {part: [options.get(part) for options in grades] for part in PARTS if part in graded}
    missing = SCORES[LOWEST] if published else None
    scored = {part: [SCORES[option] if option else missing for option in options] for part, options in columns.items()}
    return {
        part: estimate((float(score) for score in scores if score is not None), ends=ENDS, published=published)
        for part, scores in scored.items()
    }
