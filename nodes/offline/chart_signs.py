"""Signs that the offline rules read from a chart: how urgent it is, what was told, found and named."""

import re
from functools import lru_cache
from itertools import chain

from cases.text.symptoms import affirmed
from cases.vocabulary import Language, compiled, normalise, patterns
from nodes.state.chart import Chart
from prompts import cached_with_prompts, load_words

_NEWBORN_UNTIL = 28 / 365  # years
CHILD_FROM, ADULT_FROM = 0.25, 14.0  # years
_CHILDREN_FROM = 12.0  # years, from which a woman may carry a child
_HARMS_THE_UNBORN = ("X-ray", "CT", "Nuclear Medicine Imaging", "Radiation Therapy", "Chemotherapy")
_PATTERNS = patterns("nodes.offline", "patterns")


def urgency(chart: Chart) -> str:
    """Return the urgency (emergency, urgent or routine) by the alarm words of what the patient does not deny.

    What has lasted for weeks, and has not changed just now, is no emergency. What a newborn has is urgent.
    """
    words = chart.patients_words
    told = words_affirmed(words, chart.presentation.language).casefold()
    lasts = _PATTERNS["long_lasting"].search(words) and not _PATTERNS["just_now"].search(words)
    alarming = _PATTERNS["emergency"].search(told)
    if alarming and not lasts:
        return "emergency"
    return "urgent" if alarming or _is_below(CHILD_FROM, chart) or _PATTERNS["urgent"].search(told) else "routine"


def is_newborn(chart: Chart) -> bool:
    """Whether the patient is known to be in the first four weeks of life."""
    return _is_below(_NEWBORN_UNTIL, chart)


def _is_below(years: float, chart: Chart) -> bool:
    age = chart.presentation.age_years
    return age is not None and age < years


def carries_a_child(chart: Chart) -> bool:
    """Whether a woman tells that she is pregnant."""
    patient = chart.presentation
    may_carry = patient.sex != "male" and (patient.age_years is None or patient.age_years >= _CHILDREN_FROM)
    return may_carry and _tells_of_pregnancy(chart.patients_words)


@lru_cache(maxsize=256)  # asked of each department and examination of each similar case
def _tells_of_pregnancy(words: str) -> bool:
    return _PATTERNS["carries_a_child"].search(words) is not None


def harms(item: str, chart: Chart) -> bool:
    """Whether an examination or treatment harms an unborn child, and the patient tells that she carries one."""
    return item in _HARMS_THE_UNBORN and carries_a_child(chart)


def came_just_now(chart: Chart) -> bool:
    """Whether the complaint says that it has come up just now."""
    return _PATTERNS["just_now"].search(chart.presentation.chief_complaint) is not None


def found_text(chart: Chart) -> str:
    """Return all results and reports as one text."""
    return " ".join((*chart.results.values(), *chart.reports.values()))


def told_and_found(chart: Chart) -> str:
    """Return what the patient told, with all results and reports."""
    return f"{chart.patients_words} {found_text(chart)}"


@lru_cache(maxsize=64)  # the urgency is asked for with each similar case
def words_affirmed(words: str, language: Language) -> str:
    """Return what words do not deny."""
    return " ".join(part for _, part in affirmed(words, language))


@lru_cache(maxsize=256)  # asked by each doctor of a group
def affirms(text: str, name: str) -> bool:
    """Whether a text has a pattern where it is not negated."""
    return any(not is_negated(text, match.start()) for match in _PATTERNS[name].finditer(text))


def is_negated(text: str, start: int) -> bool:
    """Whether what starts there is said not to be."""
    return _PATTERNS["negated"].search(text[:start][-50:]) is not None


def matches(wording: str, text: str) -> bool:
    """Whether a text has a wording of the tables, in capitals or not."""
    return compiled(wording, re.IGNORECASE).search(text) is not None


def known_findings(chart: Chart) -> list[str]:
    """Return the reports, then the results, each once, without those that tell of nothing found or described."""
    known = dict.fromkeys([*chart.reports.values(), *chart.results.values()])
    empty = _tells_nothing(chart.presentation.language)
    return [text for text in known if not empty.fullmatch(text.strip())]


@cached_with_prompts
def _tells_nothing(language: Language) -> re.Pattern[str]:
    """Return a pattern of what is said of an examination that is not on record, perhaps after its name."""
    examiners = (("ai_hospital/words", "examiner"), ("medpmc/words", "technician"))
    said = chain.from_iterable(load_words(words, language)[person].values() for words, person in examiners)
    nothing = [*said, load_words("medchain/words", language)["group"]["no_description"]]
    return re.compile(rf"(?:[^.;，。；:：]*[:：] ?)?(?:{'|'.join(map(re.escape, nothing))})")


def named_in_findings(chart: Chart) -> list[str]:
    """Return up to two diseases that a result or report names outright ("consistent with ..."), in order."""
    return _names(chart, "named")


def shown_in_findings(chart: Chart) -> list[str]:
    """Return up to two diseases that a report shows, in order: they may be the patient's lesser ones."""
    return _names(chart, "shown", "shown_in_english")


def _names(chart: Chart, *wordings: str) -> list[str]:
    names: dict[str, str] = {}
    for text in [*chart.results.values(), *chart.reports.values()]:
        for match in chain.from_iterable(_PATTERNS[wording].finditer(text) for wording in wordings):
            name = match["name"].strip()
            if not (is_negated(text, match.start()) or _PATTERNS["no_name"].search(name)):
                names.setdefault(normalise(name), name)
    whole = [name for key, name in names.items() if not any(key in other and key != other for other in names)]
    return whole[:2]
