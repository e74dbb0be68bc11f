"""What an offline doctor rests a diagnosis on: the complaint, then the findings, the telling ones first."""

import re
from collections.abc import Collection, Iterable, Sequence

from cases.text.named_tests import named_tests
from cases.text.sentences import sentences
from cases.text.statements import Mention, clauses
from cases.vocabulary import EXAMINATION_ITEMS, IMAGE_CLASSES, PHYSICAL_ITEMS, Language, compiled, patterns
from nodes.offline.chart_signs import known_findings
from nodes.offline.diagnoses import NORMAL, with_normal_words
from nodes.offline.places import sites
from nodes.reconstruction.lay_speech import capitalised
from nodes.state.chart import Chart
from prompts import mark, with_full_stop

_LONGEST = 500  # characters
_TISSUE, _GENERAL = "Pathological Examination", PHYSICAL_ITEMS.names[0]
_ALONE = re.compile(r"((?:^|[.;] )[A-Za-z-]+);(?= )")
_PART_END = re.compile(r";(?![^()]*\))")  # not within "(hemoglobin 8 g/dL; platelets normal)"
_HEADINGS = re.compile(r"^(?:[^:：;.。,，(（]{1,60}[:：](?!\d))+\s*")
_PATTERNS = patterns("nodes.offline", "patterns")


def basis_of(names: Sequence[str], chart: Chart) -> str:
    """Return the complaint and as many parts of the findings as there is room for, each as a whole.

    A part is a sentence, or what semicolons part in one: reports have "Platelets: normal; hemoglobin: 8 g/dL (low)".

    First what names one of the diagnoses, then tissue, pictures, the examination of the complaint's place, tests, other
    examinations by hand, and the general one; what finds nothing comes last.
    """
    language = chart.presentation.language
    found = [
        (not any(name in part for name in names), finds_nothing(part), rank, capitalised(part))
        for text, rank in _findings(chart)
        for part in _parts(text)
    ]
    found.sort(key=lambda each: each[:3])
    told = _ended([chart.presentation.chief_complaint, *(part for *_, part in found)], language)
    space = mark("space", language)
    basis, *more = told or [""]
    for part in more:
        if len(basis) + len(space) + len(part) <= _LONGEST:
            basis += space + part
    return basis[:_LONGEST]


def _parts(text: str) -> list[str]:
    """Return the parts of a report; a word alone ("Soft; spleen at 4 cm") is none, and goes with the next."""
    parts = (part.strip() for sentence in sentences(_ALONE.sub(r"\1,", text)) for part in _PART_END.split(sentence))
    return [part for part in parts if part]


def _ended(texts: Iterable[str], language: Language) -> list[str]:
    return list(dict.fromkeys(with_full_stop(text, language) for text in texts if text))


def finds_nothing(part: str) -> bool:
    """Whether all that a part of a report says is that something is normal, negative or not there.

    The lack of what everybody has, such as a pulse, is a finding.
    """
    if _PATTERNS["lacks"].search(part):
        return False
    told = _PATTERNS["reference_range"].sub("", _HEADINGS.sub("", part))
    told = with_normal_words(_PATTERNS["negative_result"].sub(" normal ", told))
    said = [clause for each in _PATTERNS["adds_a_finding"].split(told) for clause in clauses(each) if clause]
    return bool(said) and all(map(_is_normal, said))


def _is_normal(clause: Sequence[Mention]) -> bool:
    normal = [not each.negated for each in clause if each.word in NORMAL]
    is_measured = any(each.exact for each in clause)
    return any(normal) and not is_measured if normal else all(each.negated for each in clause)


def _findings(chart: Chart) -> list[tuple[str, int]]:
    """Return the known findings without the names of their examinations, each with the rank of its examination."""
    filed = {text: item for item, text in [*chart.results.items(), *chart.reports.items()]}
    heading = compiled(f"([^.;，。；\\n]{{1,60}}?)(?:{re.escape(mark('label', chart.language).strip())})\\s*")
    of_the_place = {site["examination"] for site in sites(chart) if "examination" in site}
    found = []
    for text in known_findings(chart):
        item, told = filed[text], text
        if item not in EXAMINATION_ITEMS.names and (named := heading.match(text)):  # a result told in the dialogue
            item = _examination(named[1]) or item
            is_value = EXAMINATION_ITEMS.canonical(named[1]) is None and item not in (*IMAGE_CLASSES, _TISSUE)
            told = text if is_value else text[named.end() :]  # "Temperature: 36.8 °C", and not "X-ray of the chest:"
        found.append((told, _rank(item, of_the_place)))
    return found


def _examination(name: str) -> str | None:
    """Return the examination that a heading names; a list of tests is none."""
    item, tests = EXAMINATION_ITEMS.canonical(name), [] if "," in name else named_tests(name)
    return item or next((test.item for test in tests), None)


def _rank(item: str, of_the_place: Collection[str]) -> int:
    """Return the rank of an examination; what names none ranks as a test without pictures."""
    if item in PHYSICAL_ITEMS.names:
        return 2 if item in of_the_place else 5 if item == _GENERAL else 4
    return 0 if item == _TISSUE else 1 if item in IMAGE_CLASSES else 3
