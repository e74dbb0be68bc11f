"""What a chart shows by its words: how urgent the case is, the diseases that a result names, and reasons in words."""

import re

from cases.text.words import rules_of
from cases.vocabulary import data_file, normalise, patterns
from nodes.state.chart import Chart
from prompts import load_words

_PATTERNS = patterns("nodes.offline", "patterns")


def urgency(chart: Chart) -> str:
    """Urgency by the alarm words of the complaint."""
    text = chart.patients_words.casefold()
    if _PATTERNS["emergency"].search(text):
        return "emergency"
    return "urgent" if _PATTERNS["urgent"].search(text) else "routine"


def usual_pictures(chart: Chart) -> list[str]:
    """The imaging that is usual where the complaint sits; what is done most where no place is named."""
    data = data_file("nodes.offline", "imaging")
    complaint, language = chart.presentation.chief_complaint, chart.presentation.language
    start = "" if language == "zh" else r"(?<![a-z])"
    found = [
        item
        for region in data["region"]
        if re.search(f"{start}(?:{region[rules_of(language)]})", complaint, re.IGNORECASE)
        for item in region["items"]
    ]
    return list(dict.fromkeys(found)) or list(data["else"])


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
