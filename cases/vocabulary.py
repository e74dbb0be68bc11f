"""The closed vocabularies: departments, examination items, treatment items (MedChain, Appendix A, Figure 9).

English names are canonical; names in other languages and aliases map to them. The terms themselves are data, in
``cases/vocabularies/*.toml``: a key per language.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, ValidationInfo, WithJsonSchema

# Of a case: any that the prompts have a folder of, which is checked where they are loaded.
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")]

_BESIDE_CHINESE = re.compile(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])")


@lru_cache(maxsize=1 << 14)
def normalise(text: str) -> str:
    """Fold width, case, white space and surrounding punctuation, so that spellings of one term compare equal.

    Chinese is written with or without a space beside other signs (B 超, B超): none is kept there.
    """
    folded = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).casefold())
    return _BESIDE_CHINESE.sub("", folded).strip(" \t\r\n'\"“”‘’.,;:!?。，；：、！？-–·•*[](){}<>`")


@dataclass(frozen=True)
class Term:
    """One entry of a vocabulary: its canonical English name, its names in other languages and other spellings."""

    en: str
    others: Mapping[Language, str] = field(default_factory=dict, hash=False)
    aliases: tuple[str, ...] = ()

    def label(self, language: Language) -> str:
        """The name to show in a prompt of that language; the English one where the language has none."""
        return self.others.get(language, self.en)

    @property
    def names(self) -> tuple[str, ...]:
        """Its name in every language, the canonical one first."""
        return (self.en, *self.others.values())

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling that means this term, the canonical one first."""
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
        """What there is to choose from, for messages: ``one of A, B``."""
        return f"one of {', '.join(self.names)}"

    @cached_property
    def _by_name(self) -> dict[str, Term]:
        return {term.en: term for term in self.terms}

    @cached_property
    def _by_spelling(self) -> dict[str, str]:
        return {normalise(spelling): term.en for term in self.terms for spelling in term.spellings}

    def canonical(self, text: str) -> str | None:
        """The canonical name that ``text`` spells, or None if it is not a term of this vocabulary."""
        return text if text in self._by_name else self._by_spelling.get(normalise(text))

    def require(self, text: str) -> str:
        """Like :meth:`canonical`, but an unknown term raises ValueError naming the vocabulary."""
        if (name := self.canonical(text)) is None:
            raise ValueError(f"{text!r} is not in the vocabulary of {self.name}: {self.choices}")
        return name

    def label(self, name: str, language: Language) -> str:
        """The name to show for a canonical term; a name outside the vocabulary is shown as it is."""
        term = self._by_name.get(name)
        return term.label(language) if term else name

    def labels(self, language: Language) -> tuple[str, ...]:
        """All names in one language, in order."""
        return tuple(term.label(language) for term in self.terms)

    def mentioned_in(self, text: str) -> list[str]:
        """The terms that ``text`` names under any spelling, in vocabulary order."""
        folded = normalise(text)
        return [term.en for term in self.terms if any(spelled(normalise(s)).search(folded) for s in term.spellings)]


@lru_cache(maxsize=4096)
def spelled(spelling: str) -> re.Pattern[str]:
    """A folded spelling as it stands in a folded text as a word of its own; Chinese has no word boundaries."""
    before = r"(?<![a-z0-9])" if spelling[:1].isascii() else ""
    after = r"(?![a-z0-9])" if spelling[-1:].isascii() else ""
    return re.compile(before + re.escape(spelling) + after)


@cache
def data_file(package: str, name: str) -> dict[str, Any]:
    """What stands in ``NAME.toml`` beside the code of a package."""
    return tomllib.loads((files(package) / f"{name}.toml").read_text("utf-8"))


class Patterns(Mapping[str, re.Pattern[str]]):
    """Patterns by their names, each compiled when it is first asked for; a line that ends within one is no part of it.

    Args:
        texts: the patterns as they are written.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """The pattern of a name."""
        if (found := self._compiled.get(name)) is None:
            found = self._compiled[name] = re.compile(self._texts[name].replace("\n", ""))
        return found

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._texts)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._texts)


@cache
def patterns(package: str, name: str) -> Patterns:
    """The patterns of such a file."""
    return Patterns(data_file(package, name)["pattern"])


def word_list(name: str) -> dict[str, Any]:
    """A list of clinical words as it stands in ``cases/vocabularies/NAME.toml``."""
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


def label(name: str, language: Language) -> str:
    """The name of any vocabulary's term in a language; other names are shown as they are."""
    for vocabulary in (DEPARTMENTS, SUB_DEPARTMENTS, EXAMINATION_ITEMS, TREATMENT_ITEMS):
        if name in vocabulary.names:
            return vocabulary.label(name, language)
    return name


def labels(names: Sequence[str], language: Language) -> list[str]:
    """Several terms of one vocabulary in a language: `Surgery` is a department, and among treatments an operation."""
    for vocabulary in (TREATMENT_ITEMS, DEPARTMENTS):
        if set(names) <= set(vocabulary.names):
            return [vocabulary.label(name, language) for name in names]
    return [label(name, language) for name in names]


def canonical_sub_department(text: str) -> str:
    """A second-level department's canonical name; one outside our list keeps its own (trimmed) spelling."""
    return SUB_DEPARTMENTS.canonical(text) or text.strip()


def _enumerated(vocabulary: Vocabulary) -> tuple[AfterValidator, WithJsonSchema]:
    return AfterValidator(vocabulary.require), WithJsonSchema({"type": "string", "enum": list(vocabulary.names)})


# Pydantic types: any known spelling is accepted and stored under its canonical name; the JSON schema
# shown to a model lists the names.
Department = Annotated[str, *_enumerated(DEPARTMENTS)]
PhysicalItem = Annotated[str, *_enumerated(PHYSICAL_ITEMS)]
AuxiliaryItem = Annotated[str, *_enumerated(AUXILIARY_ITEMS)]
ExaminationItem = Annotated[str, *_enumerated(EXAMINATION_ITEMS)]
TreatmentItem = Annotated[str, *_enumerated(TREATMENT_ITEMS)]
SubDepartment = Annotated[str, AfterValidator(canonical_sub_department)]


def given(require: Callable[[str], str], names: Iterable[str]) -> tuple[AfterValidator, WithJsonSchema]:
    """What makes a text the answer from a closed list.

    Another name is kept as it stands, so that it counts as wrong and costs nothing else; where ``closed`` is set in the
    context of the validation it is refused, so that who answers can be asked again.

    Args:
        require: the canonical name of what a text means; a ValueError if it is not in the list.
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

# The same lists as the types of answers.
GivenUrgency = Annotated[str, *given(URGENCIES.require, URGENCIES.names)]
GivenDepartment = Annotated[str, *given(DEPARTMENTS.require, DEPARTMENTS.names)]
GivenClinichatDepartment = Annotated[str, *given(CLINICHAT_DEPARTMENTS.require, CLINICHAT_DEPARTMENTS.names)]
GivenPhysicalItem = Annotated[str, *given(PHYSICAL_ITEMS.require, PHYSICAL_ITEMS.names)]
GivenAuxiliaryItem = Annotated[str, *given(AUXILIARY_ITEMS.require, AUXILIARY_ITEMS.names)]
GivenExaminationItem = Annotated[str, *given(EXAMINATION_ITEMS.require, EXAMINATION_ITEMS.names)]
GivenTreatmentItem = Annotated[str, *given(TREATMENT_ITEMS.require, TREATMENT_ITEMS.names)]


def _given_sub_department(text: str, info: ValidationInfo) -> str:
    name, context = canonical_sub_department(text), info.context or {}
    if context.get("closed") and (terms := context.get("terms")) and name not in terms:
        raise ValueError(f"{name!r} is none of the options")
    return name


OPTION = "option"  # format, in a schema, of what may be chosen where the question is put: who asks says what
GivenSubDepartment = Annotated[
    str, AfterValidator(_given_sub_department), WithJsonSchema({"type": "string", "format": OPTION})
]
