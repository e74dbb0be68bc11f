"""The closed vocabularies: departments, examination items, treatment items (MedChain, Appendix A, Figure 9).

English names are canonical; names in other languages and aliases map to them. The terms are data in
``cases/vocabularies/*.toml``, with a key per language.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import AfterValidator, ValidationInfo, WithJsonSchema

_SIMPLIFIED = {"zh-cn", "zh-sg", "zh-hans", "zh-hans-cn", "zh-hans-sg"}  # what our Chinese prompts are written in
_TAG = r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$"


def _checked_tag(language: str) -> str:
    if not re.fullmatch(_TAG, language):
        raise ValueError(f"expected the tag of a language, such as en, zh or pt-BR, not {language!r:.40}")
    return language


def one_tag(language: str) -> str:
    """Return the tag under which a language has its prompts: ``zh`` for those of Chinese in simplified characters."""
    return "zh" if language.lower() in _SIMPLIFIED else language


# Of a case: any language with a prompt folder, which is checked when prompts are loaded.
Language = Annotated[
    str, AfterValidator(_checked_tag), AfterValidator(one_tag), WithJsonSchema({"type": "string", "pattern": _TAG})
]

# Soft hyphens and zero-width characters, which come along with text of web pages.
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
# Wide letters and digits, and spaces that do not break, as usual ones.
USUAL_SIGNS = (
    INVISIBLE
    | {full: full - 0xFEE0 for full in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
    | dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
)
AS_TYPED = USUAL_SIGNS | {ord("’"): "'"}  # an apostrophe too
_BESIDE_CHINESE = re.compile(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])")


@lru_cache(maxsize=1 << 14)
def normalise(text: str) -> str:
    """Fold width, case, white space and surrounding punctuation, so that spellings of one term compare equal.

    Invisible characters, and spaces beside Chinese ones (B 超, B超), are removed.
    """
    folded = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text.translate(INVISIBLE)).casefold())
    return _BESIDE_CHINESE.sub("", folded).strip(" \t\r\n'\"“”‘’.,;:!?。，；：、！？-–·•*[](){}<>`")


@dataclass(frozen=True)
class Term:
    """A vocabulary entry: its canonical English name, its names in other languages, and other spellings."""

    en: str
    others: Mapping[Language, str] = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()

    def label(self, language: Language) -> str:
        """Return the name for prompts in a language; the English one if the language has none."""
        return self.others.get(language, self.en)

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in all languages, the canonical one first."""
        return (self.en, *self.others.values())

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings of this term, the canonical one first."""
        return (*self.names, *self.aliases)


@dataclass(frozen=True)
class Vocabulary:
    """A closed, ordered list of terms."""

    name: str
    terms: tuple[Term, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The canonical names, in the order of the source."""
        return tuple(term.en for term in self.terms)

    @property
    def choices(self) -> str:
        """The options for messages: ``one of A, B``."""
        return f"one of {', '.join(self.names)}"

    @cached_property
    def _by_name(self) -> dict[str, Term]:
        return {term.en: term for term in self.terms}

    @cached_property
    def _by_spelling(self) -> dict[str, str]:
        return {normalise(spelling): term.en for term in self.terms for spelling in term.spellings}

    def canonical(self, text: str) -> str | None:
        """Return the canonical name that ``text`` spells; None if it is not a term of this vocabulary."""
        return text if text in self._by_name else self._by_spelling.get(normalise(text))

    def require(self, text: str) -> str:
        """Like :meth:`canonical`, but raise ValueError for an unknown term."""
        if (name := self.canonical(text)) is None:
            raise ValueError(f"{text!r} is not in the vocabulary of {self.name}; expected {self.choices}")
        return name

    def label(self, name: str, language: Language) -> str:
        """Return the name to show for a canonical term; other names are returned unchanged."""
        term = self._by_name.get(name)
        return term.label(language) if term else name

    def labels(self, language: Language) -> tuple[str, ...]:
        """Return all names in one language, in order."""
        return tuple(term.label(language) for term in self.terms)

    def mentioned_in(self, text: str) -> list[str]:
        """Return the terms that ``text`` names in any spelling, in vocabulary order."""
        folded = normalise(text)
        return [term.en for term in self.terms if any(spelled(normalise(s)).search(folded) for s in term.spellings)]


@lru_cache(maxsize=4096)
def spelled(spelling: str) -> re.Pattern[str]:
    """Return a pattern for a folded spelling as a separate word of a folded text; Chinese has no word boundaries."""
    before = r"(?<![a-z0-9])" if spelling[:1].isascii() else ""
    after = r"(?![a-z0-9])" if spelling[-1:].isascii() else ""
    return re.compile(before + re.escape(spelling) + after)


def longest_spelled(spellings: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for the longest of these spellings, each as `spelled`: of words, boundaries are sought once."""
    ordered = sorted(spellings, key=len, reverse=True)
    words = [each for each in ordered if each.isascii()]
    others = [spelled(each).pattern for each in ordered if not each.isascii()]  # first: graves眼病
    return re.compile("|".join([*others, rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, words))})(?![a-z0-9])"]))


@cache  # the tables have more patterns than the 512 that `re` keeps
def compiled(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern of a table's text, compiled once."""
    return re.compile(source, flags)


@cache
def data_file(package: str, name: str) -> dict[str, Any]:
    """Return the content of ``NAME.toml`` in a package."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text("utf-8"))


class Patterns(dict[str, re.Pattern[str]]):
    """Regular expressions by name, compiled on first use; line feeds within them are removed.

    Args:
        texts: the sources of the patterns.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, name: str) -> re.Pattern[str]:
        """Compile the pattern of a name and store it."""
        found = self[name] = re.compile(self._texts[name].replace("\n", ""))
        return found


@cache
def patterns(package: str, name: str) -> Patterns:
    """Return the patterns of a package's ``NAME.toml``."""
    return Patterns(data_file(package, name)["pattern"])


def word_list(name: str) -> dict[str, Any]:
    """Return a list of clinical words from ``cases/vocabularies/NAME.toml``."""
    return data_file("cases", f"vocabularies/{name}")


def _terms(entries: Iterable[Mapping[str, Any]]) -> tuple[Term, ...]:
    return tuple(
        Term(
            entry["en"],
            {key: name for key, name in entry.items() if len(key) == 2 and key != "en"},
            tuple(entry.get("aliases", ())),
        )
        for entry in entries
    )


_departments = word_list("departments")["department"]
_examinations = word_list("examinations")

DEPARTMENTS = Vocabulary("first-level departments", _terms(_departments))
CLINICHAT_DEPARTMENTS = Vocabulary("CliniChat's departments", _terms(word_list("departments")["clinichat"]))
SECOND_LEVEL = {
    entry["en"]: Vocabulary(
        f"second-level departments of {entry['en']}", tuple(Term(en, {"zh": zh}) for en, zh in entry["second_level"])
    )
    for entry in _departments
}
SUB_DEPARTMENTS = Vocabulary(
    "second-level departments", tuple(term for vocabulary in SECOND_LEVEL.values() for term in vocabulary.terms)
)
PHYSICAL_ITEMS = Vocabulary("physical examination items", _terms(_examinations["physical"]))
AUXILIARY_ITEMS = Vocabulary("auxiliary examination items", _terms(_examinations["auxiliary"]))
EXAMINATION_ITEMS = Vocabulary("examination items", PHYSICAL_ITEMS.terms + AUXILIARY_ITEMS.terms)
IMAGE_CLASSES = tuple(entry["en"] for entry in _examinations["auxiliary"] if entry.get("imaging"))
TREATMENT_ITEMS = Vocabulary("treatment items", _terms(word_list("treatments")["treatment"]))
# Whose terms models are shown, and answer with, in the language of the prompt.
CLOSED_LISTS = (
    DEPARTMENTS,
    CLINICHAT_DEPARTMENTS,
    PHYSICAL_ITEMS,
    AUXILIARY_ITEMS,
    EXAMINATION_ITEMS,
    TREATMENT_ITEMS,
)


def label(name: str, language: Language) -> str:
    """Return the name of a term of any vocabulary in a language; other names are returned unchanged."""
    for vocabulary in (DEPARTMENTS, SUB_DEPARTMENTS, EXAMINATION_ITEMS, TREATMENT_ITEMS, URGENCIES):
        if name in vocabulary.names:
            return vocabulary.label(name, language)
    return name


@cache
def spellings_of(name: str) -> frozenset[str]:
    """Return all spellings of the terms that have this name in some language, in any vocabulary."""
    return frozenset(
        spelling
        for vocabulary in (DEPARTMENTS, CLINICHAT_DEPARTMENTS, SUB_DEPARTMENTS, EXAMINATION_ITEMS, TREATMENT_ITEMS)
        for term in vocabulary.terms
        if name in term.names
        for spelling in term.spellings
    )


def labels(names: Sequence[str], language: Language) -> list[str]:
    """Return terms of one vocabulary in a language: `Surgery` is a department, but among treatments an operation."""
    for vocabulary in (TREATMENT_ITEMS, DEPARTMENTS):
        if set(names) <= set(vocabulary.names):
            return [vocabulary.label(name, language) for name in names]
    return [label(name, language) for name in names]


def canonical_sub_department(text: str) -> str:
    """Return the canonical name of a second-level department; an unknown one keeps its (trimmed) spelling."""
    return SUB_DEPARTMENTS.canonical(text) or text.strip()


def _enumerated(vocabulary: Vocabulary) -> tuple[AfterValidator, WithJsonSchema]:
    return AfterValidator(vocabulary.require), WithJsonSchema({"type": "string", "enum": list(vocabulary.names)})


def _first_level(text: str) -> str:
    """Return the canonical name of a first-level department; a second-level one is refused with the one it is of."""
    if (name := DEPARTMENTS.canonical(text)) is not None:
        return name
    if of := " or ".join(first for first, second in SECOND_LEVEL.items() if second.canonical(text)):
        raise ValueError(f"{text!r} is a second-level department: write {of} here, and it into sub_departments")
    return DEPARTMENTS.require(text)


# Pydantic types: any known spelling is accepted and stored under its canonical name; the JSON schema shown to a model
# lists the names.
Department = Annotated[str, AfterValidator(_first_level), _enumerated(DEPARTMENTS)[1]]
PhysicalItem = Annotated[str, *_enumerated(PHYSICAL_ITEMS)]
AuxiliaryItem = Annotated[str, *_enumerated(AUXILIARY_ITEMS)]
ExaminationItem = Annotated[str, *_enumerated(EXAMINATION_ITEMS)]
TreatmentItem = Annotated[str, *_enumerated(TREATMENT_ITEMS)]
SubDepartment = Annotated[str, AfterValidator(canonical_sub_department)]


def given(require: Callable[[str], str], names: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """Make the annotations of an answer from a closed list.

    An unknown name is kept as it is, so that only this answer counts as wrong; with ``closed`` in the validation
    context it is an error, so that the answer can be asked for again.

    Args:
        require: returns the canonical name of a text; ValueError if it is not in the list.
        names: the list.
    """

    def read(text: str, info: ValidationInfo) -> str:
        try:
            return require(text)
        except ValueError:
            if not text.strip() or (info.context or {}).get("closed"):
                raise
            return text.strip()

    return AfterValidator(read), WithJsonSchema({"type": "string", "enum": list(names)})


URGENCIES = Vocabulary(
    "urgencies",
    (
        Term("routine", {"zh": "普通"}, ("常规", "非紧急", "non-urgent")),
        Term("urgent", {"zh": "紧急"}, ("加急",)),
        Term("emergency", {"zh": "急诊"}, ("危急", "emergent")),
    ),
)

# The same lists for answer types.
GivenUrgency = Annotated[str, *given(URGENCIES.require, URGENCIES.names)]
GivenDepartment = Annotated[str, *given(DEPARTMENTS.require, DEPARTMENTS.names)]
GivenClinichatDepartment = Annotated[str, *given(CLINICHAT_DEPARTMENTS.require, CLINICHAT_DEPARTMENTS.names)]
GivenPhysicalItem = Annotated[str, *given(PHYSICAL_ITEMS.require, PHYSICAL_ITEMS.names)]
GivenAuxiliaryItem = Annotated[str, *given(AUXILIARY_ITEMS.require, AUXILIARY_ITEMS.names)]
GivenExaminationItem = Annotated[str, *given(EXAMINATION_ITEMS.require, EXAMINATION_ITEMS.names)]
GivenTreatmentItem = Annotated[str, *given(TREATMENT_ITEMS.require, TREATMENT_ITEMS.names)]


def _given_sub_department(text: str, info: ValidationInfo) -> str:
    name, context = canonical_sub_department(text), info.context or {}
    terms = context.get("terms") if context.get("closed") else None
    if not name or (terms and name not in terms):
        raise ValueError(f"{name!r} is not one of the options")
    return name


OPTION = "option"  # schema format of a choice whose options depend on the question
GivenSubDepartment = Annotated[
    str, AfterValidator(_given_sub_department), WithJsonSchema({"type": "string", "format": OPTION})
]
