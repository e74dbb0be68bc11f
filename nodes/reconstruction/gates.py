"""What a reconstructed dialogue must satisfy before it is kept: pure functions that name what is wrong.

Each gate takes a dialogue, with its note, and returns its problems; none means passed. They are strict where the
paper's rules are (CliniChat, Figures 4 to 6 and 11): nothing beyond the note, no omniscient patient, plain words, at
most two questions at a time.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.text.jargon import jargon_in
from cases.text.numbers import known_numbers, stated_numbers
from cases.vocabulary import normalise, patterns, spelled

MOST_QUESTIONS = 2
_CLOSING = ("initial_diagnosis", "confirmatory_tests")
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
    return [problem for gate in GATES.values() for problem in gate(dialogue)]


def not_empty(dialogue: Dialogue) -> Iterator[GateProblem]:
    """Both speak, no turn is blank, and the patient tells something beyond yes, no and not sure."""
    words = {role: [m.content for m in dialogue.spoken if m.role == role] for role in (PATIENT, PHYSICIAN)}
    for role, said in words.items():
        if not said:
            yield GateProblem("not_empty", f"there is no turn of the {_who(role)}")
    for number, message in enumerate(dialogue.spoken, 1):
        if not message.content.strip():
            yield GateProblem("not_empty", "the turn is blank", number)
    if words[PATIENT] and all(_PATTERNS["says_nothing"].fullmatch(text.strip()) for text in words[PATIENT]):
        yield GateProblem("not_empty", "the patient tells nothing of the note")


def roles_alternate(dialogue: Dialogue) -> Iterator[GateProblem]:
    """The patient (user) speaks first, then both strictly in turns, and the physician (assistant) last."""
    for number, message in enumerate(dialogue.spoken, 1):
        expected = PATIENT if number % 2 else PHYSICIAN
        if message.role != expected:
            yield GateProblem(
                "roles_alternate", f"expected the {_who(expected)}, found the {_who(message.role)}", number
            )
            return
    if dialogue.spoken and dialogue.spoken[-1].role != PHYSICIAN:
        yield GateProblem("roles_alternate", "the last turn is the patient's; expected the physician's")
    if any(message.role == "system" for message in dialogue.messages[1:]):
        yield GateProblem("roles_alternate", "a system message stands inside the dialogue")


def numbers_of_the_note(dialogue: Dialogue) -> Iterator[GateProblem]:
    """Every number that the patient states, and every measured value that the physician reports, is in the note."""
    known = known_numbers(dialogue.note)
    for number, message in enumerate(dialogue.spoken, 1):
        if message.role == PATIENT:
            stated = stated_numbers(message.content, dialogue.language)
        else:
            values = [value for found in _PATTERNS["measured"].findall(message.content) for value in found if value]
            stated = {float(value): value for value in values}
        for value, said in stated.items():
            if value not in known:
                yield GateProblem("numbers_of_the_note", f"{said!r} is not in the note", number)


def diagnosis_not_leaked(dialogue: Dialogue) -> Iterator[GateProblem]:
    """Nobody names the disease before the physician does, and the physician only in the closing sections.

    Where the sections are not recorded, the physician may name it after the first third of the dialogue.
    """
    starts = [dialogue.sections[name] for name in _CLOSING if name in dialogue.sections]
    closing = min(starts, default=len(dialogue.spoken) // 3)
    known = [*dialogue.diseases[:1], dialogue.inferred]
    for number, message in enumerate(dialogue.spoken):
        if not names_disease(message.content, known):
            continue
        if message.role == PATIENT:
            yield GateProblem(
                "diagnosis_not_leaked", "the patient names the diagnosis before the physician", number + 1
            )
        elif number < closing:
            yield GateProblem("diagnosis_not_leaked", "the physician names the diagnosis before the end", number + 1)
        if message.role == PHYSICIAN:
            return


def plain_words(dialogue: Dialogue) -> Iterator[GateProblem]:
    """No jargon of the list: in the patient's words anywhere, in the physician's until findings are reported."""
    starts = [dialogue.sections[name] for name in ("physical_examination", *_CLOSING) if name in dialogue.sections]
    findings = min(starts, default=len(dialogue.spoken) // 2)
    for number, message in enumerate(dialogue.spoken):
        if message.role == PHYSICIAN and number >= findings:
            continue
        for term in jargon_in(message.content, dialogue.language):
            yield GateProblem("plain_words", f"the {_who(message.role)} says {term!r}", number + 1)


def few_questions(dialogue: Dialogue) -> Iterator[GateProblem]:
    """At most two questions in a turn of the physician (CliniChat, Figure 6)."""
    for number, message in enumerate(dialogue.spoken, 1):
        count = questions_in(message.content)
        if message.role == PHYSICIAN and count > MOST_QUESTIONS:
            yield GateProblem("few_questions", f"{count} questions at once; at most {MOST_QUESTIONS}", number)


def no_placeholders(dialogue: Dialogue) -> Iterator[GateProblem]:
    """Nothing of the plan's or a prompt's syntax is left over."""
    for number, message in enumerate(dialogue.messages, 1):
        for found in _PATTERNS["placeholder"].findall(message.content):
            if found not in dialogue.note:
                yield GateProblem("no_placeholders", f"{found!r} is left over", number)


GATES: dict[str, Callable[[Dialogue], Iterator[GateProblem]]] = {
    gate.__name__: gate
    for gate in (
        not_empty,
        roles_alternate,
        few_questions,
        no_placeholders,
        numbers_of_the_note,
        diagnosis_not_leaked,
        plain_words,
    )
}


def questions_in(text: str) -> int:
    """How many questions a turn asks: a run of question marks is one."""
    return len([part for part in text.replace("？", "?").split("?")[:-1] if re.search(r"\w", part)])


def names_disease(text: str, diseases: Sequence[str]) -> bool:
    """Whether a text names one of the diseases, by its name or the abbreviation beside it."""
    folded = normalise(text)
    return any(spelled(name).search(folded) for disease in diseases for name in _spellings(disease) if name)


def _spellings(disease: str) -> Iterator[str]:
    whole = re.sub(r"\s*[(（][^()（）]*[)）]", "", disease)
    yield normalise(whole)
    yield from (normalise(part) for part in re.findall(r"[(（]([A-Z][\w-]{2,}|[\u4e00-\u9fff]{3,})[)）]", disease))


def _who(role: str) -> str:
    return {PATIENT: "patient", PHYSICIAN: "physician"}.get(role, role)
