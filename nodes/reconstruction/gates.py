"""The gates that a reconstructed dialogue must pass: pure functions that report problems.

Each gate takes a dialogue with its note and yields its problems; a dialogue without any has passed. Gates are strict
where the paper's rules are (CliniChat, Figures 4 to 6 and 11): nothing beyond the note, no omniscient patient, plain
words, and at most two questions at a time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.text.jargon import jargon_in
from cases.text.note_sections import read_sections
from cases.vocabulary import patterns
from nodes.reconstruction import answers, content, form, kinds, learned, particulars, verbatim
from nodes.reconstruction.naming import names_disease, suspects_disease
from nodes.reconstruction.parsed import CLOSING, SPOKEN, Finding, ParsedDialogue, Rule, only_where
from nodes.reconstruction.vectors import one_thread

MOST_QUESTIONS = 2
TOLERATED = 1  # technical terms: real speakers use one
ENDED = 0.8  # minimum share of the other turns that end like a sentence
SENTENCE = 5  # words from which a turn needs a full stop
ALIKE = 3  # turns that end like sentences, from which the only other one must, too
_GREETING = 60  # characters of a mere greeting
_FINDINGS = ("physical_examination", "test_results")  # sections of a note
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]{2,}")
_PATTERNS = patterns("nodes.reconstruction", "patterns")


@dataclass(frozen=True)
class GateProblem:
    """A problem of a dialogue: the gate that found it, and the spoken turn."""

    gate: str
    message: str
    turn: int | None = None

    def __str__(self) -> str:
        where = "" if self.turn is None else f" (turn {self.turn})"
        return f"{self.gate}{where}: {self.message}"


def check_dialogue(dialogue: Dialogue) -> list[GateProblem]:
    """Return the problems that all gates find in a dialogue, in the order of the gates."""
    parsed = ParsedDialogue(dialogue)
    with one_thread():
        return [GateProblem(name, message, turn) for name, gate in GATES.items() for message, turn in gate(parsed)]


def not_empty(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that both speak, that the patient answers the physician, and that no turn is blank."""
    dialogue = parsed.dialogue
    for role in (PATIENT, PHYSICIAN):
        if not any(message.role == role for message in dialogue.spoken):
            yield f"the {_speaker(role)} has no turn", None
    answered = any(turn.role == PHYSICIAN and reply.role == PATIENT for turn, reply in pairwise(dialogue.spoken))
    size = sum(len(message.content) for message in dialogue.spoken)
    if not answered and (dialogue.strategy or size < _GREETING):  # ours begin with a greeting
        yield "the patient never answers", None
    for number, message in enumerate(dialogue.spoken, 1):
        if not message.content.strip():
            yield "the turn is blank", number


def roles_alternate(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that patient (user) and physician (assistant) alternate, with system messages only at the start."""
    dialogue = parsed.dialogue
    for number, (before, message) in enumerate(pairwise(dialogue.spoken), 2):
        if message.role == before.role:
            expected = PATIENT if message.role == PHYSICIAN else PHYSICIAN
            yield f"expected the {_speaker(expected)}, found the {_speaker(message.role)}", number
            return
    if any(message.role == "system" for message in dialogue.messages[1:]):
        yield "there is a system message inside the dialogue", None


def not_cut_off(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that no turn stops within a sentence, and that the dialogue does not end with a question.

    A turn of a few words needs no full stop, except the last, or if it is the only turn without one.
    """
    last = parsed.dialogue.spoken[-1:]
    if last and last[0].role == PHYSICIAN and last[0].content.rstrip().endswith(("?", "？")):
        yield "nobody answers the last question", len(parsed.dialogue.spoken)
    ends = [bool(_PATTERNS["end"].search(message.content)) for message in parsed.dialogue.spoken]
    for number, (message, ended) in enumerate(zip(parsed.dialogue.spoken, ends, strict=True), 1):
        alone = sum(ends) == len(ends) - 1 >= ALIKE and len(message.content.split()) > 1
        needs_end = number == len(ends) or len(message.content.split()) >= SENTENCE or alone
        if needs_end and not ended and sum(ends) >= ENDED * (len(ends) - 1):
            yield "the last sentence is incomplete", number


def diagnosis_not_leaked(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that the physician names the disease first, and only in the closing sections.

    If a finding of the note names it, the physician may also name it with the findings. Without recorded sections, it
    may come after the first third of the dialogue.
    """
    dialogue = parsed.dialogue
    known = [*dialogue.diseases[:1], dialogue.inferred]
    sections = read_sections(dialogue.note, dialogue.language)
    found = any(names_disease(line, known) for name in _FINDINGS for line in sections.get(name, ()))
    named_in = ("physical_examination", *CLOSING) if found else CLOSING
    starts = [dialogue.sections[name] for name in named_in if name in dialogue.sections]
    closing = min(starts, default=len(dialogue.spoken) // 3)
    for number, message in enumerate(dialogue.spoken):
        if not names_disease(message.content, known) and not suspects_disease(
            message.content, known, dialogue.language
        ):
            continue
        if message.role == PATIENT:
            yield "the patient names the diagnosis before the physician", number + 1
        elif number < closing:
            yield "the physician names the diagnosis before the end", number + 1
        if message.role == PHYSICIAN:
            return


def plain_words(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require plain words: at most ``TOLERATED`` terms of the jargon list.

    A term counts for the patient unless heard before or common in speech, and for the physician until the findings are
    told.
    """
    dialogue = parsed.dialogue
    findings = len(dialogue.spoken) // 2 if parsed.findings_from is None else parsed.findings_from
    found: list[Finding] = []
    for number, message in enumerate(dialogue.spoken):
        if message.role == PHYSICIAN and number >= findings:
            continue
        for term in jargon_in(message.content, dialogue.language):
            heard = any(term.casefold() in earlier.content.casefold() for earlier in dialogue.spoken[:number])
            if not (message.role == PATIENT and (heard or term.casefold() in SPOKEN)):
                found.append((f"the {_speaker(message.role)} says {term!r}", number + 1))
    if len(found) > TOLERATED:
        yield from found


def few_questions(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require at most two questions in a turn of the physician (CliniChat, Figure 6)."""
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        count = questions_in(message.content)
        if message.role == PHYSICIAN and count > MOST_QUESTIONS:
            yield f"{count} questions at once; at most {MOST_QUESTIONS} are allowed", number


def no_placeholders(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that no syntax of plan or prompt is left over, and nothing that people write but do not say."""
    dialogue = parsed.dialogue
    instructions = [(None, message) for message in dialogue.messages if message.role == "system"]
    for number, message in [*instructions, *enumerate(dialogue.spoken, 1)]:
        leftovers = [*_PATTERNS["placeholder"].findall(message.content), *_PATTERNS["sign"].findall(message.content)]
        leftovers += filter(_is_garbled, _BEYOND_ASCII.findall(message.content))
        leftovers = [found for found in dict.fromkeys(leftovers) if found not in dialogue.note]
        if message.role == PATIENT:
            leftovers += _PATTERNS["heading"].findall(message.content)
        for found in leftovers + _PATTERNS["not_said"].findall(message.content):
            yield f"{found.strip()!r} was left in the text", number


def _is_garbled(signs: str) -> bool:
    """Return whether characters are UTF-8 bytes decoded as Windows-1252: "Â°" for "°"."""
    try:
        data = b"".join(sign.encode("latin-1" if "\x80" <= sign <= "\x9f" else "cp1252") for sign in signs)
        return len(data.decode("utf-8")) < len(signs)
    except UnicodeError:
        return False


def entailed_by_the_note(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Require that the reader who compared the dialogue with its note, if any, has no objections."""
    for objection in parsed.dialogue.objections or ():
        yield f"{objection.kind}: {objection.reason}", objection.turn


_MODULES = (content, form, particulars, kinds, answers, verbatim, learned)
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
    # These compare a dialogue with its note, so they skip one without a note.
    **{name: only_where(lambda parsed: bool(parsed.dialogue.note.strip()), rule) for name, rule in _RULES.items()},
}


def questions_in(text: str) -> int:
    """Count the questions of a turn: each run of question marks, and each asking clause before one."""
    asked = [part for part in text.replace("？", "?").split("?")[:-1] if re.search(r"\w", part)]
    return sum(max(1, len(_PATTERNS["asks"].findall(re.split(r"[.!。！]", part)[-1]))) for part in asked)


def _speaker(role: str) -> str:
    return {PATIENT: "patient", PHYSICIAN: "physician"}.get(role, role)
