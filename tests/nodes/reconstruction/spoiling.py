"""Sound dialogues spoiled in one way each, to see what the gates catch; every function takes any English dialogue.

A dialogue that cannot be spoiled so (no side is named in it, ...) gives None.
"""

import re
from collections.abc import Callable, Mapping

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.text.fact_preservation import terms_in
from cases.text.numbers import known_numbers
from cases.text.sentences import sentences
from cases.vocabulary import word_list

_LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore."
_INVENTED = (
    ("bleeding", "I have also been coughing up blood."),
    ("seizure", "And last month I had a seizure."),
    ("palpitations", "Besides, my heart is racing at night."),
)
_FOUND = (
    ("fracture", "The x-ray shows a fracture."),
    ("lump", "The scan shows a lump in the liver."),
    ("clot", "The ultrasound shows a blood clot."),
)
_PAIRED = (
    "side|arm|leg|knee|hip|hand|foot|ear|eye|shoulder|lung|chest|breast|kidney|ankle|wrist|lower|upper|thumb|heel|elbow"
)
_OTHER_SEX = {"female": "As you know, I am a 34-year-old man.", "male": "As you know, I am a 34-year-old woman."}
_DENIABLE = {
    "fever": "a fever",
    "cough": "a cough",
    "nausea": "any nausea",
    "vomiting": "any vomiting",
    "swelling": "any swelling",
    "clot": "a blood clot",
    "seizure": "a seizure",
    "rash": "a rash",
    "dizziness": "any dizziness",
    "numbness": "any numbness",
    "weakness": "any weakness",
    "breathlessness": "any shortness of breath",
    "asthma": "asthma",
    "stroke": "a stroke",
    "cancer": "cancer",
    "fracture": "a fracture",
    "bleeding": "any bleeding",
    "itch": "any itching",
    "diarrhoea": "any diarrhea",
}


def with_messages(dialogue: Dialogue, messages: list[Message]) -> Dialogue:
    """The dialogue with other messages."""
    return dialogue.model_copy(update={"messages": messages})


def said(dialogue: Dialogue, turn: int, text: str) -> Dialogue:
    """The dialogue with other words in one of its messages."""
    messages = list(dialogue.messages)
    messages[turn] = messages[turn].model_copy(update={"content": text})
    return with_messages(dialogue, messages)


def turns(dialogue: Dialogue, role: str) -> list[int]:
    """Where somebody speaks."""
    return [place for place, message in enumerate(dialogue.messages) if message.role == role]


def added(dialogue: Dialogue, role: str, text: str) -> Dialogue | None:
    """A sentence more in the middle turn of somebody."""
    if not (places := turns(dialogue, role)):
        return None
    place = places[len(places) // 2]
    return said(dialogue, place, f"{dialogue.messages[place].content} {text}")


def fake_replies(dialogue: Dialogue) -> Dialogue:
    """Every turn is what a test server says."""
    filled = [message.model_copy(update={"content": "A reply of the fake model."}) for message in dialogue.messages]
    return with_messages(dialogue, filled)


def lorem_ipsum(dialogue: Dialogue) -> Dialogue:
    """Every turn is filler."""
    words = _LOREM.split()
    return with_messages(
        dialogue,
        [
            message.model_copy(update={"content": " ".join(words[place % 9 :] + words[: place % 9])})
            for place, message in enumerate(dialogue.messages)
        ],
    )


def two_turns(dialogue: Dialogue) -> Dialogue | None:
    """A greeting and the answer to it are left."""
    if len(dialogue.spoken) < 4:
        return None
    return with_messages(
        dialogue,
        [Message(role=PATIENT, content="Hello, doctor."), Message(role=PHYSICIAN, content="Hello. How are you?")],
    )


def wrong_side(dialogue: Dialogue) -> Dialogue | None:
    """The one side of the note becomes the other wherever it is said."""
    sides = set(re.findall(r"\b(left|right)\b", dialogue.note, re.IGNORECASE))
    if len(sides) != 1 or (side := sides.pop()) not in ("left", "right"):
        return None
    body = rf"\b{side}(?= (?:{_PAIRED})\b)"
    other = {"left": "right", "right": "left"}[side]
    changed = [
        message.model_copy(update={"content": re.sub(body, other, message.content)}) for message in dialogue.messages
    ]
    stated = any(
        re.search(body, sentence) and not sentence.endswith("?")
        for message in dialogue.messages
        for sentence in sentences(message.content)
    )
    return with_messages(dialogue, changed) if stated else None


def invented_symptom(dialogue: Dialogue) -> Dialogue | None:
    """The patient adds a complaint that the note does not know."""
    known = {name for name, _ in terms_in(dialogue.note, "en")}
    text = next((text for term, text in _INVENTED if term not in known), None)
    return added(dialogue, PATIENT, text) if text else None


def false_finding(dialogue: Dialogue) -> Dialogue | None:
    """The physician reports what nobody found."""
    known = {name for name, _ in terms_in(dialogue.note, "en")}
    text = next((text for term, text in _FOUND if term not in known), None)
    return added(dialogue, PHYSICIAN, text) if text else None


def false_value(dialogue: Dialogue) -> Dialogue | None:
    """The physician reports a value that nobody measured."""
    return None if "211" in dialogue.note else added(dialogue, PHYSICIAN, "Your blood pressure is 211/133 mmHg.")


def denied_fact(dialogue: Dialogue) -> Dialogue | None:
    """The patient denies what the note records, in the turn that told it."""
    recorded = {name for name, negated in terms_in(dialogue.note, "en") if not negated}
    if re.search(r"(?i)\b(?:denies|denied|no|not|negative|without|never|none)\b", dialogue.note):
        return None
    for name in recorded & _DENIABLE.keys():
        for place in turns(dialogue, PATIENT):
            if (name, False) in terms_in(dialogue.messages[place].content, "en"):
                return said(dialogue, place, f"No, I have never had {_DENIABLE[name]}.")
    return None


def wrong_number(dialogue: Dialogue) -> Dialogue | None:
    """A number of the note that the patient states becomes another."""
    known = known_numbers(dialogue.note)
    for place in turns(dialogue, PATIENT):
        for found in re.finditer(r"\b\d{1,3}\b(?!\.\d)", dialogue.messages[place].content):
            value = int(found[0])
            other = next(number for number in range(value + 2, value + 90) if number not in known)
            if value in known:
                text = dialogue.messages[place].content
                return said(dialogue, place, f"{text[: found.start()]}{other}{text[found.end() :]}")
    return None


def other_sex(dialogue: Dialogue) -> Dialogue | None:
    """The patient is of the other sex."""
    sexes = {
        "female" if word in ("female", "woman") else "male"
        for word in re.findall(r"\b(?:fe)?male|\b(?:wo)?man\b", dialogue.note)
    }
    return added(dialogue, PATIENT, _OTHER_SEX[sexes.pop()]) if len(sexes) == 1 else None


def early_diagnosis(dialogue: Dialogue) -> Dialogue | None:
    """The patient knows the diagnosis from the beginning, by another name where there is one."""
    names = [dialogue.inferred, *dialogue.diseases]
    name = next((name for name in names if name), "")
    places = turns(dialogue, PATIENT)
    for other, meant in word_list("diagnoses")["same_as"].items():
        if name.casefold().startswith(meant):
            name = other
    return said(dialogue, places[0], f"Hello, doctor. I think it is {name}.") if name and places else None


def asked_again(dialogue: Dialogue) -> Dialogue | None:
    """An exchange comes twice, word for word."""
    places = [place for place in turns(dialogue, PHYSICIAN) if len(dialogue.messages[place].content.split()) >= 5]
    places = [place for place in places if place + 1 < len(dialogue.messages)]
    if not places:
        return None
    pair = dialogue.messages[places[0] : places[0] + 2]
    return with_messages(dialogue, [*dialogue.messages[: places[0] + 2], *pair, *dialogue.messages[places[0] + 2 :]])


def four_questions(dialogue: Dialogue) -> Dialogue | None:
    """Four questions at once."""
    return added(dialogue, PHYSICIAN, "Where is it? Since when? How bad is it? Do you have a fever?")


def questions_by_commas(dialogue: Dialogue) -> Dialogue | None:
    """Five questions in one sentence."""
    text = "Where is it, when did it begin, how bad is it, do you have a fever, and are you taking any medicine?"
    return added(dialogue, PHYSICIAN, text)


def swapped_roles(dialogue: Dialogue) -> Dialogue | None:
    """The patient says the physician's words, and the other way round."""
    asking = sum(dialogue.messages[place].content.rstrip().endswith("?") for place in turns(dialogue, PHYSICIAN))
    if asking < max(2, len(dialogue.spoken) // 3):
        return None
    other = {PATIENT: PHYSICIAN, PHYSICIAN: PATIENT}
    exchanged = [
        message.model_copy(update={"role": other[message.role]}) if message.role in other else message
        for message in dialogue.messages
    ]
    return with_messages(dialogue, exchanged)


def recited(dialogue: Dialogue) -> Dialogue | None:
    """The patient says the whole note at once."""
    if len(dialogue.note.split()) < 100 or not (places := turns(dialogue, PATIENT)):
        return None
    return said(dialogue, places[-1], dialogue.note)


def jargon(dialogue: Dialogue) -> Dialogue | None:
    """The patient speaks like a chart."""
    return added(dialogue, PATIENT, "I deny dyspnea, hematemesis and paroxysmal nocturnal dyspnea.")


def left_over(dialogue: Dialogue) -> Dialogue | None:
    """A placeholder is left."""
    return added(dialogue, PHYSICIAN, "Do you also have {symptom}?")


Spoil = Callable[[Dialogue], Dialogue | None]
SPOILED: Mapping[str, Spoil] = {
    spoil.__name__: spoil
    for spoil in (
        fake_replies,
        lorem_ipsum,
        two_turns,
        wrong_side,
        invented_symptom,
        false_finding,
        false_value,
        denied_fact,
        wrong_number,
        other_sex,
        early_diagnosis,
        asked_again,
        four_questions,
        questions_by_commas,
        swapped_roles,
        recited,
        jargon,
        left_over,
    )
}
