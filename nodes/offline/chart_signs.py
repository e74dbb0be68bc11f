"""What a chart shows by its words: how urgent the case is, the diseases that a result names, and reasons in words."""

import re

from cases.vocabulary import normalise
from nodes.state.chart import Chart
from prompts import load_words

_EMERGENCY = (
    "unconscious|loss of consciousness|collapse|seizure|convuls|chest pain|short(ness)? of breath|cannot breathe|"
    "massive|vomiting blood|overdose|poison|stab|crash|fell from|traffic|sudden(ly)? severe|"
    "昏迷|意识|抽搐|胸痛|呼吸困难|大出血|呕血|中毒|车祸|坠落|外伤"
)
_URGENT = (
    "severe|acute|sudden|fever|bleed|worsen|hours?\\b|today|yesterday|剧烈|急性|突发|发热|出血|加重|小时|今天|昨天"
)
# Phrases with which a result names a disease.
_NAMED = re.compile(
    r"(?:consistent with|suggestive of|indicative of|diagnostic of|characteristic of|compatible with|typical of|"
    r"confirms?|suggest(?:s|ing)|indicat(?:es|ing)|印象[:：]|提示|考虑(?:为)?|符合|诊断为)\s*(?:an? |the )?"
    r"(?P<name>[^.;,，。；()（）\n]{3,60})",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(no|not|without|nor|rule out|excludes?)\b[^.;]{0,40}$|[无未非不]\S{0,6}$", re.IGNORECASE)


def urgency(chart: Chart) -> str:
    """Urgency by the alarm words of the complaint."""
    text = chart.patients_words.casefold()
    if re.search(_EMERGENCY, text):
        return "emergency"
    return "urgent" if re.search(_URGENT, text) else "routine"


def named_in_findings(chart: Chart) -> list[str]:
    """Diseases that a result or report names outright ("consistent with ..."), in order."""
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in _NAMED.finditer(text):
            if not _NEGATED.search(text[: match.start()][-50:]):
                name = match["name"].strip()
                names.setdefault(normalise(name), name)
    return list(names.values())[:2]


def reason(name: str, chart: Chart, *what: str) -> str:
    """What somebody gives as the reason who weighs similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(each, each) for each in what)))
