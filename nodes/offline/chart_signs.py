"""What a chart shows by its words: how urgent the case is, the diseases that a result names, and reasons in words."""

import re
from functools import cache, lru_cache
from typing import Any

from cases.sexes import bound_to_sex
from cases.text.statements import mentions, statements
from cases.text.words import has_chinese, rules_of
from cases.vocabulary import data_file, normalise, patterns, word_list
from nodes.state.chart import Chart
from prompts import load_words
from retrieval import RememberedCase

_NEWBORN, _GROWN = 0.25, 14.0  # years
_SIDES = {"left": re.compile(r"\bleft\b|左", re.IGNORECASE), "right": re.compile(r"\bright\b|右", re.IGNORECASE)}
_CLAUSE = re.compile(r"[,，]|\band (?=(?:the|there|no|left|right)\b)|\b(?:but|while)\b", re.IGNORECASE)
_NORMAL = ("normal", "正常")
_PATTERNS = patterns("nodes.offline", "patterns")


def urgency(chart: Chart) -> str:
    """Urgency by the alarm words of the complaint."""
    text = chart.patients_words.casefold()
    if _PATTERNS["emergency"].search(text):
        return "emergency"
    return "urgent" if _PATTERNS["urgent"].search(text) else "routine"


def sites(chart: Chart) -> list[dict[str, Any]]:
    """Where the complaint sits, with which examination looks there and which pictures are usual; the table's order."""
    return _sites(chart.presentation.chief_complaint, rules_of(chart.presentation.language))


@lru_cache(maxsize=64)  # each doctor of each stage asks
def _sites(complaint: str, language: str) -> list[dict[str, Any]]:
    start = "" if language == "zh" else r"(?<![a-z])"
    table = data_file("nodes.offline", "sites")["site"]
    return [site for site in table if re.search(f"{start}(?:{site[language]})", complaint, re.IGNORECASE)]


def usual_pictures(chart: Chart) -> list[str]:
    """The imaging that is usual where the complaint sits; what is done most where no place is named."""
    found = [item for site in sites(chart) for item in site["pictures"]]
    return list(dict.fromkeys(found)) or list(data_file("nodes.offline", "sites")["else"])


def named_in_findings(chart: Chart) -> list[str]:
    """Diseases that a result or report names outright ("consistent with ..."), in order."""
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in _PATTERNS["named"].finditer(text):
            if not _PATTERNS["negated"].search(text[: match.start()][-50:]):
                name = match["name"].strip()
                names.setdefault(normalise(name), name)
    return list(names.values())[:2]


def contradicts(case: RememberedCase, chart: Chart) -> bool:
    """Whether a case's diagnosis cannot be this patient's: by sex, by age, or as a result denies it or its side."""
    door = chart.presentation
    if case.sex != door.sex and door.sex and bound_to_sex("; ".join(case.diagnosis), door.sex, case.language):
        return True
    if case.age_years is not None and door.age_years is not None and _age(case.age_years) != _age(door.age_years):
        return True
    read_out = " ".join([*chart.results.values(), *chart.reports.values()])
    sides = _sides_in("; ".join(case.diagnosis[:1]))
    if sides and (found := _sides_found(read_out)) and not sides & found:
        return True
    if has_chinese("".join(case.diagnosis[:1])) and not has_chinese(read_out):
        return False  # whose words cannot be denied there; cutting them would load a dictionary
    named = {word for name in case.diagnosis[:1] for word in _words(name)}
    return bool(named) and named <= _only_denied(read_out)


@lru_cache(maxsize=64)  # hundreds of cases are held against one chart
def _only_denied(text: str) -> frozenset[str]:
    """The words that results deny and nowhere affirm."""
    said = [each for statement in statements(text) for each in mentions(statement)]
    return frozenset(each.word for each in said if each.negated) - {each.word for each in said if not each.negated}


@lru_cache(maxsize=64)
def _sides_found(text: str) -> frozenset[str]:
    """The sides on which results find something; where they find nothing on any, all that were looked at."""
    clauses = (clause for statement in statements(text) for clause in _CLAUSE.split(statement))
    return frozenset(side for clause in clauses for side in _side_of(clause)) or _sides_in(text)


def _side_of(clause: str) -> frozenset[str]:
    """The one side on which a clause finds something; none of a clause that finds things normal."""
    said = mentions(_normal().sub(" normal ", clause))
    if any(each.word in _NORMAL and not each.negated for each in said):
        return frozenset()
    found = [each.sides for each in said if each.negated == (each.word in _NORMAL)]
    return next((sides for sides in found if len(sides) == 1), frozenset())


@cache
def _normal() -> re.Pattern[str]:
    english, chinese = word_list("finding_terms")["findings"]["normal"]
    return re.compile(f"(?<![a-z])(?:{english})|{chinese}", re.IGNORECASE)


@lru_cache(maxsize=1 << 14)  # the diagnoses of the remembered cases come up again and again
def _words(name: str) -> frozenset[str]:
    return frozenset(each.word for each in mentions(name))


@lru_cache(maxsize=1 << 12)
def _sides_in(text: str) -> frozenset[str]:
    """Which sides a text names."""
    return frozenset(side for side, pattern in _SIDES.items() if pattern.search(text))


def _age(years: float) -> str:
    """Newborn, child or grown-up: what one has is hardly ever another's."""
    return "newborn" if years < _NEWBORN else "child" if years < _GROWN else "grown"


def reason(name: str, chart: Chart, *what: str) -> str:
    """What somebody gives as the reason who weighs similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(each, each) for each in what)))
