"""Rules that check how a dialogue is told: once, by two people in their roles, and in sentences of its language."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from cases.dialogues import PATIENT, PHYSICIAN
from cases.text.numbers import NUMBER_WORDS
from cases.text.sentences import sentences
from cases.text.words import has_chinese, stem, stems_of, words
from cases.vocabulary import Language, data_file, patterns, word_list
from nodes.reconstruction.parsed import (
    Finding,
    ParsedDialogue,
    Rule,
    common_words,
    content_words,
    courtesies,
    length_of,
)

_PATTERNS = patterns("nodes.reconstruction", "content")
_LISTS = data_file("nodes.reconstruction", "content")["list"]
_ENGLISH = frozenset((*word_list("function_words")["between_phrases"].split(), *NUMBER_WORDS))
KNOWN = 0.2  # minimum share of a turn's words that are common, in the note or in another turn, from FEWEST words on
FEWEST = 5
MISPLACED = 0.05  # maximum share of misplaced words in a turn, from two on
SIGNS, SINGLE = 12, 0.7  # minimum Chinese characters of a turn; maximum share that are words by themselves
SAID_AGAIN = 5  # minimum words of a repeated sentence: people say "yes, I do" twice
ECHOED = 0.5  # share of the other speaker's content words, from which a turn without others is an echo
ECHOES, LONG_ECHO = 2, 4  # echoes that are too many; content words of one that is enough
_GREETINGS = 4  # first turns, in which people may greet each other
FOREIGN = 3  # words of another script that reject a turn


def repeated(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a sentence or an exchange that is repeated word for word, and turns that only echo the other speaker.

    A sentence that is short or says nothing may come again ("Anything else?", "Not that I know of."), but not with the
    same answer; nor may a question come again in other words of courtesy, with an answer that says no more than the
    first ("So, how old are you?").
    """
    seen: dict[tuple[str, str], int] = {}
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        for sentence in sentences(message.content):
            key = (message.role, " ".join(words(sentence)))
            says = content_words(sentence, parsed.language) - courtesies()
            if says and length_of(sentence) >= SAID_AGAIN and key in seen:
                yield f"{sentence!r}: said before in turn {seen[key]}", number
            seen.setdefault(key, number)
    exchanges, matters = set[tuple[str, ...]](), list[tuple[frozenset[str], frozenset[str]]]()
    for number, (asked, answered) in enumerate(itertools.pairwise(parsed.dialogue.spoken), 2):
        if asked.role == PATIENT or not content_words(answered.content, parsed.language):
            continue
        question, answer = (
            content_words(message.content, parsed.language) - courtesies() - stems_of(_LISTS["restating"])
            for message in (asked, answered)
        )
        if len(question) > 1 and answer and any(question == one and answer <= other for one, other in matters):
            yield f"{asked.content!r} and its answer: said before in other words", number
        matters.append((question, answer))
        exchange = tuple(" ".join(words(message.content)) for message in (asked, answered))
        if exchange in exchanges:
            yield f"{asked.content!r} and its answer: said before", number
        exchanges.add(exchange)
    echoes = dict(_echoes(parsed))
    if len(echoes) >= ECHOES or any(length >= LONG_ECHO for length in echoes.values()):
        yield "the turn only repeats what the other speaker has just said", min(echoes)


def _echoes(parsed: ParsedDialogue) -> Iterator[tuple[int, int]]:
    """Yield the turns without any content word beyond the other speaker's last turn: number, content words."""
    content = [content_words(message.content, parsed.language) for message in parsed.dialogue.spoken]
    for number, (heard, said) in enumerate(itertools.pairwise(content), 2):
        if len(said) > 1 and said <= heard and len(said) >= ECHOED * len(heard):
            yield number, len(said)


def roles_swapped(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a patient who asks while the physician is asked, or who speaks like a case report."""
    asked = {PATIENT: 0, PHYSICIAN: 0}
    for message in parsed.dialogue.spoken:
        asked[message.role] += message.content.rstrip().endswith(("?", "？"))
    own = Counter(role for _, role, sentence in parsed.statements if _PATTERNS["of_oneself"].search(sentence))
    most = 1 if own[PHYSICIAN] > own[PATIENT] else max(3, len(parsed.dialogue.spoken) // 6)
    if asked[PATIENT] > asked[PHYSICIAN] + most:
        yield f"the patient asks {asked[PATIENT]} questions, the physician only {asked[PHYSICIAN]}", None
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        if message.role == PATIENT and (found := _PATTERNS["of_a_patient"].search(message.content)):
            yield f"the patient says {found[0]!r}, as somebody writing about a patient would", number


def begun_again(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a greeting in the middle: the turns are out of order, or two dialogues are joined."""
    for number, message in enumerate(parsed.dialogue.spoken, 1):
        if _GREETINGS < number < len(parsed.dialogue.spoken) and _PATTERNS["greets"].search(message.content):
            yield "the conversation starts again", number


def no_language(parsed: ParsedDialogue) -> Iterator[Finding]:
    """Report a dialogue, or a turn, that is not in the note's language or has its words in no order."""
    if parsed.dialogue.language not in ("en", "zh"):
        return
    english = parsed.language == "en"
    turns = [{stem(word) for word in words(message.content)} for message in parsed.dialogue.spoken]
    said_in = Counter(itertools.chain.from_iterable(turns))
    known = {stem(word) for word in (*words(parsed.note), *common_words(), *_ENGLISH)} | {
        word for word, n in said_in.items() if n > 1
    }
    for number, (turn, message) in enumerate(zip(turns, parsed.dialogue.spoken, strict=True), 1):
        foreign = _PATTERNS["foreign_to_english" if english else "foreign_to_chinese"].findall(message.content)
        unknown = sum(word in known or "'" in word for word in turn) < KNOWN * len(turn)
        # Nor have a chart's findings the order of sentences: "Mother's blood group O, baby's A", 腹软.
        new = (clause for clause in re.split("[，。；,;]|[.] ", message.content) if clause not in parsed.dialogue.note)
        if scrambled(", ".join(new), parsed.language):
            yield "the words make no sentence", number
        if len(foreign) >= FOREIGN or (english and len(turn) >= FEWEST and unknown):
            yield "not written in the language of the note", number


def scrambled(text: str, language: Language) -> bool:
    """Return whether a text's words are in random order; random Chinese has hardly any two-character words."""
    if language == "en":
        found = len(_PATTERNS["scrambled"].findall(text))
        return found >= 2 and found > MISPLACED * len(text.split())
    cut = [word for word in words(text) if has_chinese(word)]
    signs = sum(map(len, cut))
    return signs >= SIGNS and sum(len(word) == 1 for word in cut) > SINGLE * signs


RULES: Mapping[str, Rule] = {
    "not_repeated": repeated,
    "begins_once": begun_again,
    "roles_kept": roles_swapped,
    "in_the_language": no_language,
}
