"""MVME (AI Hospital, section 3.2): five parts of a report, each graded A to D by the medical director."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal

from scoring.metrics.samples import over_cases
from scoring.metrics.statistics import Estimate
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
_LETTER = r"([A-D])(?![A-Za-z])(?!(?<=A)[ ]+(?-i:[a-z]))"  # "A good plan" begins with an article
_OPTION = re.compile(
    rf"\W*(?:(?:the\W+)?(?:选项|选择|答案|等级|评级|评分|option|choice|grade|score|answer)(?:\W+is\b|[是为])?\W*)?{_LETTER}",
    re.IGNORECASE,
)
_ANOTHER = re.compile(rf"\W{{0,3}}(?:或者?|or|and|和|至|到|to)?\W{{0,3}}{_LETTER}", re.IGNORECASE)


def parse_option(text: str | None) -> Option | None:
    """Return the one option that a text begins with (``B``, ``(B) largely consistent``, ``选项：B``); None if unclear.

    ``Grade: B``, ``The option is B`` and 等级为B are read, too.
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
    """Return the first of A, B, C and D, in this order, that occurs anywhere in a text: AI Hospital's own rule.

    It finds A in ``D, not A`` and C in ``CT: B``.
    """
    return next((letter for letter in SCORES if letter in (text or "")), None)


def option_of_part(answer: str, part: Part, choice: str | None = None) -> Option | None:
    """Return the option in a part's section of the director's whole answer; None if unclear.

    ``choice`` is what the record states for the part; it counts where the answer has no such section, being cut off.
    """
    title = re.compile(rf"^[ \t]*#[ \t]*(?:{_TITLES[part]})[ \t]*$", re.IGNORECASE | re.MULTILINE)
    if (start := title.search(answer)) is None:
        return parse_option(choice)
    section = re.split(r"^[ \t]*#(?!#)", answer[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]
    options = re.split(
        r"^[ \t]*(?:##|\*\*)[ \t]*(?:选项|options?|choice)", section, maxsplit=1, flags=re.IGNORECASE | re.MULTILINE
    )
    return parse_option(options[1]) if len(options) == 2 else None


def released_grades(evaluation: Evaluation, published: bool = False) -> dict[Part, Option | None]:
    """Return the option of each graded part of a released evaluation; None if missing or unclear.

    The option is parsed strictly, from the part's own section if the director's whole answer was kept. With
    ``published``, it is the option that the authors' code found.
    """
    if published:
        return {part: published_option(choice) for part, choice in evaluation.choices.items()}
    if answer := evaluation.evaluation_result:
        options = {part: option_of_part(answer, part, evaluation.choices.get(part)) for part in PARTS}
        return {part: option for part, option in options.items() if option or part in evaluation.choices}
    return {part: parse_option(choice) for part, choice in evaluation.choices.items()}


def score_parts(
    grades: Sequence[Mapping[Part, Option | None]], published: bool = False, cases: Sequence[str] | None = None
) -> dict[Part, Estimate]:
    """Return the mean score of each part that was graded in any case, in [1, 4]; higher is better.

    A missing option is left out, which reduces ``n``; with ``published`` it counts 1 (AI Hospital's code). The paper's
    ± is half the width of the percentile bootstrap interval, as with ``published``. ``cases``: the case of each, if
    some have several (epochs). Source: AI Hospital, section 3.2 and table 2.
    """
    graded = {part for options in grades for part in options}
    clusters = range(len(grades)) if cases is None else cases
    missing = SCORES[LOWEST] if published else None
    found: dict[Part, Estimate] = {}
    for part in (part for part in PARTS if part in graded):
        scores = [SCORES[option] if (option := options.get(part)) else missing for options in grades]
        found[part] = over_cases(zip(clusters, scores, strict=True), ENDS, published=published)
    return found
