"""What a chart shows by its words: how urgent the case is, the diseases that a result names, and reasons in words."""

from cases.vocabulary import normalise, patterns
from nodes.state.chart import Chart
from prompts import load_words

_PATTERNS = patterns("nodes.offline", "patterns")


def urgency(chart: Chart) -> str:
    """Urgency by the alarm words of the complaint."""
    text = chart.patients_words.casefold()
    if _PATTERNS["emergency"].search(text):
        return "emergency"
    return "urgent" if _PATTERNS["urgent"].search(text) else "routine"


def named_in_findings(chart: Chart) -> list[str]:
    """Diseases that a result or report names outright ("consistent with ..."), in order."""
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in _PATTERNS["named"].finditer(text):
            if not _PATTERNS["negated"].search(text[: match.start()][-50:]):
                name = match["name"].strip()
                names.setdefault(normalise(name), name)
    return list(names.values())[:2]


def reason(name: str, chart: Chart, *what: str) -> str:
    """What somebody gives as the reason who weighs similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(each, each) for each in what)))
