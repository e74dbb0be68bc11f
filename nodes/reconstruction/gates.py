"""What a reconstructed dialogue must satisfy before it is kept: pure functions that name what is wrong.

Each gate takes a dialogue, with its note, and returns its problems; none means passed. They are strict where the
paper's rules are (CliniChat, Figures 4 to 6 and 11): nothing beyond the note, no omniscient patient, plain words, at
most two questions at a time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.text.jargon import jargon_in
from cases.text.note_sections import read_sections
from cases.vocabulary import normalise, patterns, spelled, word_list
from nodes.reconstruction import answers, content, contradictions, kinds, learned, particulars, verbatim
from nodes.reconstruction.content import Finding, Rule, Told, only_where

MOST_QUESTIONS = 2
TOLERATED = 1  # technical terms: people use one
ENDED = 0.8  # of the other turns, at least, end as sentences do
SENTENCE = 5  # words; what is shorter may stand without a full stop
_GREETING = 60  # characters: no more than a greeting
_CLOSING = ("initial_diagnosis", "confirmatory_tests")
_FINDINGS = ("physical_examination", "test_results")  # of a note
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]{2,}")
_IN_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z])")
_PATTERNS = patterns("nodes.reconstruction", "patterns")


@dataclass(frozen=True)
class GateProblem:
    """What is wrong with a dialogue, found by which gate, at which of its spoken turns."""

    gate: str
    message: str
    turn: int | None = None

    def __str__(self) -> str:
        where = "" if self.turn is None else f" (turn {self.turn})"
        return f"{self.gate}{where}: {self.message}"


def check_dialogue(dialogue: Dialogue) -> list[GateProblem]:
    """The problems of a dialogue under every gate, in their order."""
    told = Told(dialogue)
    return [GateProblem(name, message, turn) for name, gate in GATES.items() for message, turn in gate(told)]


def not_empty(told: Told) -> Iterator[Finding]:
    """Both speak, the patient in answer to the physician, and no turn is blank."""
    dialogue = told.dialogue
    for role in (PATIENT, PHYSICIAN):
        if not any(message.role == role for message in dialogue.spoken):
            yield f"there is no turn of the {_who(role)}", None
    answered = any(before.role == PHYSICIAN and said.role == PATIENT for before, said in pairwise(dialogue.spoken))
    size = sum(len(message.content) for message in dialogue.spoken)
    if not answered and (dialogue.strategy or size < _GREETING):  # ours opens with a greeting and ends with a farewell
        yield "the patient answers nothing", None
    for number, message in enumerate(dialogue.spoken, 1):
        if not message.content.strip():
            yield "the turn is blank", number


def roles_alternate(told: Told) -> Iterator[Finding]:
    """The patient (user) and the physician (assistant) speak strictly in turns; instructions stand before them."""
    dialogue = told.dialogue
    for number, (before, message) in enumerate(pairwise(dialogue.spoken), 2):
        if message.role == before.role:
            expected = PATIENT if message.role == PHYSICIAN else PHYSICIAN
            yield f"expected the {_who(expected)}, found the {_who(message.role)}", number
            return
    if any(message.role == "system" for message in dialogue.messages[1:]):
        yield "a system message stands inside the dialogue", None


def not_cut_off(told: Told) -> Iterator[Finding]:
    """Every turn ends as the others do, not within a sentence; a few words before the last turn need no full stop.

    Nor does the physician ask something last, which nobody answers.
    """
    last = told.dialogue.spoken[-1:]
    if last and last[0].role == PHYSICIAN and last[0].content.rstrip().endswith(("?", "？")):
        yield "nobody answers the last question", len(told.dialogue.spoken)
    ends = [bool(_PATTERNS["end"].search(message.content)) for message in told.dialogue.spoken]
    for number, (message, ended) in enumerate(zip(told.dialogue.spoken, ends, strict=True), 1):
        begun = number == len(ends) or len(message.content.split()) >= SENTENCE
        if begun and not ended and sum(ends) >= ENDED * (len(ends) - 1):
            yield "the last sentence has no end", number


def diagnosis_not_leaked(told: Told) -> Iterator[Finding]:
    """Nobody names the disease before the physician does, and the physician only in the closing sections.

    A result that names it in the note may be told with the findings before them.

    Where the sections are not recorded, the physician may name it after the first third of the dialogue.
    """
    dialogue = told.dialogue
    known = [*dialogue.diseases[:1], dialogue.inferred]
    sections = read_sections(dialogue.note, dialogue.language)
    found = any(names_disease(line, known) for name in _FINDINGS for line in sections.get(name, ()))
    named_in = ("physical_examination", *_CLOSING) if found else _CLOSING
    starts = [dialogue.sections[name] for name in named_in if name in dialogue.sections]
    closing = min(starts, default=len(dialogue.spoken) // 3)
    for number, message in enumerate(dialogue.spoken):
        if not names_disease(message.content, known) and not content.supposes(
            message.content, known, dialogue.language
        ):
            continue
        if message.role == PATIENT:
            yield "the patient names the diagnosis before the physician", number + 1
        elif number < closing:
            yield "the physician names the diagnosis before the end", number + 1
        if message.role == PHYSICIAN:
            return


def plain_words(told: Told) -> Iterator[Finding]:
    """No jargon of the list: in the patient's words unless heard before, in the physician's until findings are told."""
    dialogue = told.dialogue
    starts = [dialogue.sections[name] for name in ("physical_examination", *_CLOSING) if name in dialogue.sections]
    findings = min(starts, default=len(dialogue.spoken) // 2)
    found: list[Finding] = []
    for number, message in enumerate(dialogue.spoken):
        if message.role == PHYSICIAN and number >= findings:
            continue
        for term in jargon_in(message.content, dialogue.language):
            heard = any(term.casefold() in earlier.content.casefold() for earlier in dialogue.spoken[:number])
            if not (message.role == PATIENT and (heard or term.casefold() in content.SPOKEN)):
                found.append((f"the {_who(message.role)} says {term!r}", number + 1))
    if len(found) > TOLERATED:
        yield from found


def few_questions(told: Told) -> Iterator[Finding]:
    """At most two questions in a turn of the physician (CliniChat, Figure 6)."""
    for number, message in enumerate(told.dialogue.spoken, 1):
        count = questions_in(message.content)
        if message.role == PHYSICIAN and count > MOST_QUESTIONS:
            yield f"{count} questions at once; at most {MOST_QUESTIONS}", number


def no_placeholders(told: Told) -> Iterator[Finding]:
    """Nothing of the plan's or a prompt's syntax is left over, and nothing is written that nobody would say."""
    dialogue = told.dialogue
    for number, message in enumerate(dialogue.messages, 1):
        left = [*_PATTERNS["placeholder"].findall(message.content), *_PATTERNS["sign"].findall(message.content)]
        left += filter(_is_garbled, _BEYOND_ASCII.findall(message.content))
        left = [found for found in dict.fromkeys(left) if found not in dialogue.note]
        if message.role == PATIENT:
            left += _PATTERNS["heading"].findall(message.content)
        for found in left + _PATTERNS["not_said"].findall(message.content):
            yield f"{found.strip()!r} is left over", number


def _is_garbled(signs: str) -> bool:
    """Whether signs are the bytes of others, read in the encoding of Western Windows: "Â°" for "°"."""
    try:
        data = b"".join(sign.encode("latin-1" if "\x80" <= sign <= "\x9f" else "cp1252") for sign in signs)
        return len(data.decode("utf-8")) < len(signs)
    except UnicodeError:
        return False


def entailed_by_the_note(told: Told) -> Iterator[Finding]:
    """A reader who held it against the note, if one did, objects to nothing."""
    for objection in told.dialogue.objections or ():
        yield f"{objection.kind}: {objection.reason}", objection.turn


_MODULES = (content, particulars, kinds, answers, contradictions, verbatim, learned)
_RULES = {name: rule for module in _MODULES for name, rule in module.RULES.items()}
GATES: dict[str, Rule] = {
    "not_empty": not_empty,
    "roles_alternate": roles_alternate,
    "few_questions": few_questions,
    "no_placeholders": no_placeholders,
    "not_cut_off": not_cut_off,
    "diagnosis_not_leaked": diagnosis_not_leaked,
    "plain_words": plain_words,
    "entailed_by_the_note": entailed_by_the_note,
    # Of a dialogue without a note there is nothing to hold against what is said.
    **{name: only_where(lambda told: bool(told.dialogue.note.strip()), rule) for name, rule in _RULES.items()},
}


def questions_in(text: str) -> int:
    """How many questions a turn asks: a run of question marks is one, and so is each clause of a row that asks."""
    asked = [part for part in text.replace("？", "?").split("?")[:-1] if re.search(r"\w", part)]
    return sum(max(1, len(_PATTERNS["asks"].findall(re.split(r"[.!。！]", part)[-1]))) for part in asked)


def names_disease(text: str, diseases: Sequence[str]) -> bool:
    """Whether a text names one of the diseases, by its name or the abbreviation beside it."""
    folded, capitals = normalise(text), set(_IN_CAPITALS.findall(text))
    return any(
        _initials(disease) in capitals or any(spelled(name).search(folded) for name in _spellings(disease) if name)
        for disease in diseases
    )


@lru_cache(maxsize=4096)
def _spellings(disease: str) -> tuple[str, ...]:
    whole = _without_brackets(disease)
    found = [whole]
    for other, name in word_list("diagnoses")["same_as"].items():
        for one, another in ((name, other), (other, name)):
            if len(one) > 3 and spelled(one).search(whole):
                found.append(spelled(one).sub(another, whole))
    found += [normalise(part) for part in re.findall(r"[(（]([A-Z][\w-]{2,}|[\u4e00-\u9fff]{3,})[)）]", disease)]
    return tuple(found)


def _initials(disease: str) -> str:
    """In capitals, as they are written: acute lymphoblastic leukaemia is no "all"."""
    return "".join(word[0] for word in _without_brackets(disease).split()).upper()


def _without_brackets(disease: str) -> str:
    return normalise(re.sub(r"\s*[(（][^()（）]*[)）]", "", disease))


def _who(role: str) -> str:
    return {PATIENT: "patient", PHYSICIAN: "physician"}.get(role, role)
