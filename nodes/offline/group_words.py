"""What offline doctors say in a group: reasons, and that no disease can be named."""

from collections.abc import Iterable, Sequence

from cases.vocabulary import Language
from nodes.state.chart import Chart
from prompts import load_words


def reason(name: str, chart: Chart, *what: str) -> str:
    """Return the reason that a group member gives for weighing similar cases, in the language of the prompts."""
    words = load_words("medchain/words", chart.language)["group"]
    return str(words[name].format(*(words.get(word, word) for word in what)))


def undetermined(chart: Chart) -> str:
    """Return what an offline doctor writes who can name no disease: the complaint, as the patient's words."""
    return reason("undetermined", chart, chart.presentation.chief_complaint.rstrip(".。"))


def determined(names: Sequence[str], language: Language) -> list[str]:
    """Return the names of diseases, without "undetermined" beside them; all if there are none."""
    return diseases_of(names, language) or list(names)


def diseases_of(names: Iterable[str], language: Language) -> list[str]:
    """Return the names without those that say that no disease can be named."""
    return [name for name in names if not is_undetermined(name, language)]


def is_undetermined(name: str, language: Language) -> bool:
    """Whether an offline doctor's wording names no disease."""
    return name.startswith(load_words("medchain/words", language)["group"]["undetermined"].partition("{")[0])
