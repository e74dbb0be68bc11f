"""Split a written diagnosis into diseases, by rules or by a model."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import Field

from cases.strict import NonEmpty, Strict
from cases.vocabulary import INVISIBLE, Language, patterns
from llm import UNANSWERED, ModelSettings, Role, ask, side_by_side
from scoring.metrics.icd10 import standard_names
from scoring.metrics.icd10_terms import TermList

_PATTERNS = patterns("scoring.mvme", "patterns")
_WRITTEN = patterns("cases", "vocabularies/patterns")


def split_diseases(
    text: str, is_term: Callable[[str], bool] = lambda name: False, is_disease: Callable[[str], bool] | None = None
) -> list[str]:
    """Return the disease entities of a diagnosis, in order, without repetitions in any case; English and Chinese.

    The text is split at line ends, list numbers, semicolons, full stops, commas and enumeration commas; Chinese also at
    words that join two diseases (伴, 并, 合并, 及, 和 ...), and any text at slashes, English at "and" and the like
    between two of ``is_disease`` (by default ``is_term``). Of several kinds of one disease (*Hepatitis B and C*), each
    is one. Brackets (a grade, a side, an abbreviation, but no denial and no type: *Hepatitis (B)*),
    words of doubt, and fragments that are only a grade or risk are dropped. Whatever is itself a term stays whole at
    every step: *Pneumonia, unspecified organism*, 支气管扩张伴感染.
    """
    is_disease = is_disease or is_term
    folded = unicodedata.normalize("NFKC", _PATTERNS["circled"].sub("\n", text.translate(INVISIBLE)))
    found: dict[str, str] = {}
    folded = _PATTERNS["english_kinds"].sub(_each_kind, _PATTERNS["chinese_kinds"].sub(_each_chinese_kind, folded))
    for line in folded.split("\n"):
        for chunk in _PATTERNS["line"].split(_PATTERNS["numbering"].sub(_new_line, line.strip())):
            for name in _names(chunk, is_term, is_disease):
                found.setdefault(name.casefold(), name)
    return list(found.values())


def split_by_rule(text: str, terms: TermList, *, standard: bool = False) -> list[str]:
    """Return the disease entities of a diagnosis by rule, knowing the terms; ``standard``: as the nearest terms."""
    diseases = split_diseases(text, terms.__contains__, terms.has_nearly)
    return standard_names(diseases, terms) if standard else diseases


def _new_line(found: re.Match[str]) -> str:
    """Return a line end for the number of a list, and what stands in open brackets as it is: (type 1)."""
    before = found.string[: found.start()]
    return found[0] if before.rfind("(") > before.rfind(")") else "\n"


def _names(chunk: str, is_term: Callable[[str], bool], is_disease: Callable[[str], bool]) -> Iterator[str]:
    chunk = chunk.strip()
    if is_term(chunk):
        yield chunk
        return
    for item in _items(_PATTERNS["brackets"].sub(_kept_of_brackets, chunk)):
        for part in [item] if is_term(item) else _joined(item, is_disease):
            bare = _PATTERNS["chinese_kind"].sub(r"\2型\1", " ".join(part.strip(" \t:.*#\"'").split()))
            name = _WRITTEN["hedge"].sub("", bare).strip()
            if re.search(r"[^\W\d_]", name) and not _PATTERNS["only_a_grade"].fullmatch(name.replace(" ", "")):
                yield name


def _each_kind(found: re.Match[str]) -> str:
    return "; ".join(f"{found[1]} {kind}" for kind in _PATTERNS["each_kind"].findall(found[2]))


def _each_chinese_kind(found: re.Match[str]) -> str:
    return ";".join(f"{found[1]}{kind}型{found[3]}" for kind in found[2] if kind in "甲乙丙丁戊")


def _joined(item: str, is_disease: Callable[[str], bool]) -> list[str]:
    """Return the diseases that words join: in English only if all of them are diseases (not: head and neck cancer)."""
    parts = _PATTERNS["english_compound"].split(item.strip())
    if len(parts) > 1 and all(map(is_disease, parts)):
        return parts
    return _PATTERNS["chinese_compound"].split(item)


def _kept_of_brackets(found: re.Match[str]) -> str:
    """Return what brackets hold if it denies the name before them (ruled out) or says which kind it is (type 2)."""
    inside = f" {found[0][1:-1].strip()}"
    denied = _WRITTEN["absent"].search(found.string[: found.start()] + inside)
    return inside if denied or _PATTERNS["kind"].fullmatch(inside.strip()) else ""


def _items(chunk: str) -> Iterator[str]:
    """Yield the parts between commas, with an English qualifier kept on what it qualifies."""
    pending = ""
    for item in _PATTERNS["item"].split(chunk):
        if pending and _PATTERNS["english_qualifier"].match(item.strip()):
            pending = f"{pending},{item}"
        else:
            yield pending
            pending = item
    yield pending


class DiseaseEntities(Strict):
    """The diseases that a diagnosis names."""

    diseases: list[NonEmpty] = Field(
        description="One standard disease name each, as in the ICD-10; empty if no disease is named."
    )


@dataclass(frozen=True)
class WrittenDiagnosis:
    """What the splitter sees."""

    diagnosis: str


entity_splitter = Role(
    "entity_splitter",
    "evaluation",
    "judges/disease_entities",
    DiseaseEntities,
    offline=lambda view: DiseaseEntities(diseases=split_diseases(view.diagnosis)),
    whole=True,
)


async def split_case(
    said: Sequence[str], reference: Sequence[str], settings: ModelSettings, language: Language
) -> None:
    """Ask for the diseases of a report and its reference; the answers, or why there are none, are in the trace."""

    async def split(place: str, names: Sequence[str]) -> None:
        if names:
            with suppress(*UNANSWERED):
                await ask_for_diseases("\n".join(names), settings, language, place)

    await side_by_side([split("report", said), split("reference", reference)])


async def ask_for_diseases(text: str, settings: ModelSettings, language: Language, place: str = "") -> list[str]:
    """Return the disease entities of a diagnosis in standard terms as named by a model, as the authors did.

    Raises:
        AskError: no valid answer.
    """
    answer = await ask(entity_splitter, WrittenDiagnosis(text), settings, language=language, place=place)
    return list(dict.fromkeys(answer.diseases))
