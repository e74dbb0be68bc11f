"""Kinds of spoiling whose words are a table: what contradicts the note, is added to it, or is no speech."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.text.fact_preservation import terms_in
from cases.text.sentences import sentences
from cases.vocabulary import data_file
from tests.nodes.reconstruction.spoiling import Spoil, added, said, turns, with_messages

_WORDS: dict[str, Any] = data_file("tests.nodes.reconstruction", "spoiling")


def _any_of(words: Sequence[str]) -> str:
    return rf"(?i)(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])"


def exchanged(groups: Sequence[Sequence[str]], by: str, dialogue: Dialogue) -> Dialogue | None:
    """A word of a statement, which the note has too, becomes its counterpart, which the note has not."""
    pairs = [pair for a, b in zip(groups[::2], groups[1::2], strict=True) for pair in ((a, b), (b, a))]
    for place, message in enumerate(dialogue.messages):
        for sentence in [] if by and message.role != by else sentences(message.content):
            for this, other in pairs:
                if (
                    not sentence.endswith("?")
                    and re.search(_any_of(this), sentence)
                    and re.search(_any_of(this), dialogue.note)
                    and not re.search(_any_of(other), dialogue.note)
                ):
                    changed = re.sub(_any_of(this), other[0], sentence, count=1)
                    return said(dialogue, place, message.content.replace(sentence, changed, 1))
    return None


def invented(choices: Sequence[Mapping[str, str]], dialogue: Dialogue) -> Dialogue | None:
    """Something is told of which the note knows nothing."""
    for choice in choices:
        if not re.search(choice["unless"], dialogue.note):
            return added(dialogue, choice["by"], choice["say"])
    return None


def affirmed(dialogue: Dialogue) -> Dialogue | None:
    """What the note denies is affirmed in other words."""
    read = terms_in(dialogue.note, "en")
    for name, text in _WORDS["affirmed"].items():
        if (name, True) in read and (name, False) not in read:
            return added(dialogue, PATIENT, text)
    return None


def habit(dialogue: Dialogue) -> Dialogue | None:
    """The patient has the habit that the note denies, or the other way round."""
    for words in _WORDS["habits"].values():
        if re.search(words["of"], dialogue.note):
            text = words["yes"] if re.search(words["denied"], dialogue.note) else words["no"]
            for place in turns(dialogue, PATIENT):
                if place and re.search(words["of"], dialogue.messages[place - 1].content):
                    return said(dialogue, place, text)
            return added(dialogue, PATIENT, text)
    return None


def spliced(dialogue: Dialogue) -> Dialogue | None:
    """An exchange with another patient stands in the middle."""
    fitting = [choice["say"] for choice in _WORDS["spliced"] if not re.search(choice["unless"], dialogue.note)]
    places = [place for place in turns(dialogue, PHYSICIAN) if place]
    if not fitting or not places:
        return None
    place, pair = places[len(places) // 2], fitting[len(dialogue.note) % len(fitting)]
    exchange = [Message(role=PHYSICIAN, content=pair[0]), Message(role=PATIENT, content=pair[1])]
    return with_messages(dialogue, [*dialogue.messages[:place], *exchange, *dialogue.messages[place:]])


def paraphrased(dialogue: Dialogue) -> Dialogue | None:
    """The physician tells the diagnosis early, in other words."""
    names = " ".join([dialogue.inferred, *dialogue.diseases])
    places = turns(dialogue, PHYSICIAN)
    for pattern, text in _WORDS["paraphrased"].items():
        if re.search(pattern, names) and len(places) > 3:
            return said(dialogue, places[1], f"{text} {dialogue.messages[places[1]].content}")
    return None


def heading(dialogue: Dialogue) -> Dialogue | None:
    """A turn begins with the heading of a section of the note."""
    places = turns(dialogue, PATIENT)
    texts = _WORDS["lines"]["headings"]
    text = texts[len(dialogue.note) % len(texts)]
    place = places[len(places) // 2] if places else 0
    return said(dialogue, place, f"{text} {dialogue.messages[place].content}") if places else None


def broken_off(dialogue: Dialogue) -> Dialogue | None:
    """The last sentence stops halfway."""
    last = dialogue.messages[-1].content
    words = sentences(last)[-1].split() if last.strip() else []
    if len(words) < 6:
        return None
    kept = " ".join(words[: len(words) // 2]).rstrip(".,;!?")
    return said(dialogue, len(dialogue.messages) - 1, last.replace(sentences(last)[-1], kept))


def foreign(dialogue: Dialogue) -> Dialogue | None:
    """One reply is in another language."""
    places, texts = turns(dialogue, PATIENT), _WORDS["lines"]["foreign"]
    return said(dialogue, places[len(places) // 2], texts[len(dialogue.note) % len(texts)]) if places else None


def took_back(dialogue: Dialogue) -> Dialogue | None:
    """At the end the patient says that nothing was true."""
    places = turns(dialogue, PATIENT)
    return said(dialogue, places[-1], _WORDS["lines"]["took_back"]) if places else None


def unwilling(dialogue: Dialogue) -> Dialogue | None:
    """From a third on the patient answers nothing."""
    places = turns(dialogue, PATIENT)
    if len(places) < 3:
        return None
    for place in places[len(places) // 3 :]:
        dialogue = said(dialogue, place, _WORDS["lines"]["unwilling"])
    return dialogue


BY_WORDS: Mapping[str, Spoil] = (
    {f"other_{kind}": partial(exchanged, words["groups"], words["by"]) for kind, words in _WORDS["exchanged"].items()}
    | {f"invented_{kind}": partial(invented, choices) for kind, choices in _WORDS["invented"].items()}
    | {
        spoil.__name__: spoil
        for spoil in (
            affirmed,
            habit,
            spliced,
            paraphrased,
            heading,
            broken_off,
            foreign,
            took_back,
            unwilling,
        )
    }
)
