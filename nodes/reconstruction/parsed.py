"""A dialogue parsed for the rules, and the words by which they read it."""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, wraps
from typing import NamedTuple

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.text.fact_preservation import terms_in
from cases.text.jargon import in_lay_words
from cases.text.sentences import last_sentence, sentences
from cases.text.statements import statements
from cases.text.words import rules_of, stem, stems_of, words
from cases.vocabulary import Language, data_file, patterns, word_list

_PATTERNS = patterns("nodes.reconstruction", "content")
_LISTS = data_file("nodes.reconstruction", "content")["list"]
SPOKEN = frozenset(_LISTS["spoken"].split(", "))
CLOSING = ("initial_diagnosis", "confirmatory_tests")  # sections of the dialogue


Finding = tuple[str, int | None]  # the problem, and its turn (from 1; None: the whole dialogue)


class NoteTerms(NamedTuple):
    """The terms of a note; those that it both affirms and denies, or perhaps denies, are only in the first."""

    every: set[str]
    affirmed: set[str]
    denied: set[str]


class PatientTerms(NamedTuple):
    """The terms that a patient affirms and denies, with the turn of the first time."""

    affirmed: dict[str, int]
    denied: dict[str, int]


@dataclass(frozen=True)
class ParsedDialogue:
    """A dialogue parsed for the rules: its statements and the terms that note and patient affirm or deny."""

    dialogue: Dialogue

    @property
    def language(self) -> Language:
        """The language whose rules apply."""
        return rules_of(self.dialogue.language)

    @property
    def findings_from(self) -> int | None:
        """How many turns come before the findings and the conclusions; None if sections are not recorded."""
        starts = self.dialogue.sections
        return min((starts[name] for name in ("physical_examination", *CLOSING) if name in starts), default=None)

    @cached_property
    def note(self) -> str:
        """The note, followed by a version in everyday words."""
        return f"{self.dialogue.note}\n{in_lay_words(self.dialogue.note, self.dialogue.language)}"

    @cached_property
    def text(self) -> str:
        """All that is spoken, as one text."""
        return " ".join(message.content for message in self.dialogue.spoken)

    @cached_property
    def replied(self) -> list[tuple[int, str, str]]:
        """All that the patient replies to the physician: the reply's turn number (from 1), what was said before, it."""
        return [
            (number, before.content, message.content)
            for number, (before, message) in enumerate(itertools.pairwise(self.dialogue.spoken), 2)
            if (before.role, message.role) == (PHYSICIAN, PATIENT)
        ]

    @cached_property
    def statements(self) -> list[tuple[int, str, str]]:
        """All sentences that are not questions: turn number (from 1), role, sentence."""
        return [
            (number, message.role, sentence)
            for number, message in enumerate(self.dialogue.spoken, 1)
            for sentence in sentences(message.content)
            if not sentence.rstrip("\"'”’)） ").endswith(("?", "？"))
        ]

    @cached_property
    def asserted(self) -> list[tuple[int, str]]:
        """All statements, and questions that the patient confirms with a yes, each with its turn number."""
        confirmed = [
            (number - 1, sentence)
            for number, asked, reply in self.replied
            if affirms(reply)
            for sentence in sentences(asked)[-1:]
        ]
        return [(number, sentence) for number, _, sentence in self.statements] + confirmed

    @cached_property
    def of_note(self) -> NoteTerms:
        """The note's terms; a denial may cover the other terms of its sentence too."""
        terms, affirmed, denied, uncertain = set[str](), set[str](), set[str](), set[str]()
        for sentence in statements(self.note) or [self.note]:
            found = terms_in(sentence, self.language)
            terms |= {name for name, _ in found}
            denied |= {name for name, negated in found if negated}
            open_list = denies_something(sentence)
            (uncertain if open_list else affirmed).update(name for name, negated in found if not negated)
        return NoteTerms(terms, affirmed - denied - uncertain, denied - affirmed - uncertain)

    @cached_property
    def of_patient(self) -> PatientTerms:
        """The terms of the patient's statements; a yes or no to a question counts."""
        affirmed: dict[str, int] = {}
        denied: dict[str, int] = {}
        asked: frozenset[tuple[str, bool]] = frozenset()
        for number, message in enumerate(self.dialogue.spoken, 1):
            if message.role == PHYSICIAN:
                last = last_sentence(message.content)
                asked = terms_in(last, self.language) if last.rstrip().endswith(("?", "？")) else frozenset()
                continue
            found = set[tuple[str, bool]]()
            for at, _, text in self.statements:
                if at == number:
                    open_list = denies_something(text)  # the denial may cover the following terms
                    found |= {one for one in terms_in(text, self.language) if one[1] or not open_list}
            if len(asked) <= 2 and not any(negated for _, negated in asked):
                if denies(message.content):
                    found |= {(name, True) for name, _ in asked}
                elif affirms(message.content):
                    found |= {(name, False) for name, _ in asked}
            for name, negated in sorted(found):
                (denied if negated else affirmed).setdefault(name, number)
        return PatientTerms(affirmed, denied)


Rule = Callable[[ParsedDialogue], Iterator[Finding]]


def only_where(holds: Callable[[ParsedDialogue], bool], rule: Rule) -> Rule:
    """Restrict a rule to dialogues for which ``holds`` is true; it reports nothing for others."""

    @wraps(rule)
    def gate(parsed: ParsedDialogue) -> Iterator[Finding]:
        return rule(parsed) if holds(parsed) else iter(())

    return gate


def is_english(parsed: ParsedDialogue) -> bool:
    """Whether the rules of English apply."""
    return parsed.language == "en"


@cache
def complaints() -> frozenset[str]:
    """Return the terms of complaints and diseases, without those that come up in every conversation."""
    terms = list(word_list("medical_terms")["terms"])
    return frozenset(terms[: terms.index("operation")]) - set(_LISTS["vague"].split(", "))


@cache
def illnesses(*, vague: bool = False) -> frozenset[str]:
    """Return the terms of diseases; those that come up in every conversation only if ``vague``."""
    terms = list(word_list("medical_terms")["terms"])
    found = frozenset(terms[terms.index("hypertension") : terms.index("operation")])
    return found if vague else found & complaints()


@lru_cache(maxsize=1 << 13)  # each section is checked with all before it, against the same note
def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the stems of a text's content words; for Chinese, pairs of adjacent characters."""
    if language == "zh":
        signs = re.findall(r"[\u4e00-\u9fff]|\d+", text)
        return frozenset(one + other for one, other in itertools.pairwise(signs))
    found = (word for word in words(text) if word not in common_words() and (len(word) > 2 or word.isdigit()))
    return frozenset(map(stem, found))


def denies(reply: str) -> bool:
    """Return whether a reply begins with a no."""
    return _PATTERNS["no"].match(reply) is not None


def denies_something(text: str) -> bool:
    """Return whether a text has a word of denial."""
    return _PATTERNS["denial"].search(text) is not None


def affirms(reply: str) -> bool:
    """Return whether a reply begins with a yes."""
    return _PATTERNS["yes"].match(reply) is not None


def courtesies() -> frozenset[str]:
    """Return the stems of words of courtesy, which carry no content."""
    return stems_of(_LISTS["courtesies"])


@cache
def common_words() -> frozenset[str]:
    """Return the words that are common to all conversations."""
    return frozenset(_LISTS["common"].split())


def length_of(text: str) -> int:
    """Return the number of a text's words; two Chinese characters count as one."""
    return len(re.findall(r"[\u4e00-\u9fff]{2}|[^\W\u4e00-\u9fff]+", text))
