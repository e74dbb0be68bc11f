"""Clini-Eval's rules: the scores that can be counted without a model.

Rules match words: that a subject was asked about does not mean that it was asked about well, so these points are a
baseline for testing pipelines and for ranking similar systems. What needs judgement is not assessed: the order, leading
questions, empathy, the diagnosis with its differentials, reasons and tests, and questions specific to this patient.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.text.jargon import jargon_in
from cases.text.note_sections import read_sections
from cases.text.sentences import sentences
from cases.text.words import count_words, has_chinese, rules_of, stem
from cases.vocabulary import AS_TYPED, Language, normalise
from scoring.clini_eval.declined import declines
from scoring.clini_eval.points import LEAVES, Points, clini_eval_file
from scoring.metrics.samples import share
from scoring.metrics.stated_share import mostly_stated
from scoring.metrics.text_overlap import levenshtein_ratio, words

BRIEF = {"en": 40, "zh": 80}  # words, or Chinese characters, of a brief turn at most; the paper's mean is 18.5
MOST_QUESTIONS = 2
_MOST_THINGS = 4  # items that one question can list; a longer list counts as too many questions
_SAME = 0.85  # similarity from which two questions count as one
_EMPHASIS = re.compile(r"(?<!\d)\*+|\*+(?!\d)|(?<![^\W_])_+|_+(?![^\W_])|`+")  # not the asterisk of 5*10
_QUESTION = re.compile(r"[?？]\W*\Z")  # quotes, brackets, "?!" or a smiling face may follow
_BLANKS = re.compile(r"[^\S\r\n]+")
_JUDGEMENT = "needs judgement; rules cannot count it"
_COMPLAINT, _REPORTED = "chief_complaint", ("physical_examination", "test_results")


class CountedPoints(Points):
    """The points of the leaves that rules can count, and why there are none of the others."""

    counted: dict[str, float]
    unscored: dict[str, str]

    @property
    def by_leaf(self) -> dict[str, float]:
        """The points of each counted leaf."""
        return dict(self.counted)


class Turn(NamedTuple):
    """A turn of the physician as the rules read it."""

    text: str
    questions: list[str]  # sentences that ask, except those that only say "go on", or what they decline to ask
    told: list[str]  # the other sentences
    before: str  # the patient's previous words
    after: str  # the patient's next words


class Interview(NamedTuple):
    """A dialogue as the rules read it."""

    language: Language
    note: str
    diseases: Sequence[str]
    turns: list[Turn]

    @property
    def asking(self) -> list[Turn]:
        """The turns with questions."""
        return [turn for turn in self.turns if turn.questions]


def read_interview(dialogue: Dialogue) -> Interview:
    """Prepare a dialogue for the rules; as for its statistics, a message without a word is no turn."""
    told = [message.model_copy(update={"content": _as_typed(message.content)}) for message in dialogue.spoken]
    silence = Message(role=PATIENT, content="")
    spoken = [silence, *(message for message in told if count_words(message.content)), silence]
    turns = [
        _turn(message.content, dialogue.language, *("" if one.role == PHYSICIAN else one.content for one in neighbours))
        for message, *neighbours in zip(spoken[1:], spoken, spoken[2:], strict=False)
        if message.role == PHYSICIAN
    ]
    return Interview(dialogue.language, _as_typed(dialogue.note), [*dialogue.diseases, dialogue.inferred], turns)


def _as_typed(text: str) -> str:
    """Return a text with usual letters, apostrophes and single blanks, without the marks of bold or slanted type."""
    return _BLANKS.sub(" ", _EMPHASIS.sub("", text.translate(AS_TYPED)))


def _turn(text: str, language: Language, before: str, after: str) -> Turn:
    parts = sentences(text)
    asking = [sentence for sentence in parts if _asks(sentence, language)]
    more = _word("go_on", language)
    return Turn(
        text,
        [asked for sentence in asking if not more.fullmatch(sentence) and (asked := _not_declined(sentence, language))],
        [sentence for sentence in parts if sentence not in asking],
        before,
        after,
    )


def _not_declined(sentence: str, language: Language) -> str:
    """Return what a sentence asks: if it declines to ask something, the question after that, or nothing."""
    first, *others = map(str.strip, _word("instead", language).split(sentence))
    if not (declines(sentence) or (others and declines(first))):
        return sentence
    asks, may_one = _word("part_asks", language), _word("may_one", language)
    asking = others and asks.search(others[-1]) and not may_one.search(others[-1])
    return ", ".join(part for part in others if not declines(part)) if asking else ""


def count_points(dialogue: Dialogue) -> CountedPoints:
    """Count the points of the leaves that rules can count.

    A leaf of the history gets the share of its subjects that the physician asked about; a leaf of the techniques, the
    share of turns or questions that follow the rule, and 0 if nothing is asked; the examinations, the share of the
    note's findings that the physician told or asked for. A leaf that does not apply to the note is not assessed.
    """
    interview, language = read_interview(dialogue), rules_of(dialogue.language)
    asked = "\n".join(question for turn in interview.turns for question in turn.questions)
    counted: dict[str, float] = {}
    unscored: dict[str, str] = {}
    for leaf in LEAVES.values():
        if leaf.asked:
            found: float | str = share(bool(re.search(each[language], asked, re.IGNORECASE)) for each in leaf.asked)
        else:
            found = _RULES[leaf.key](interview) if leaf.key in _RULES else _JUDGEMENT
        if isinstance(found, str):
            unscored[leaf.key] = found
        else:
            counted[leaf.key] = leaf.maximum * found
    return CountedPoints(counted=counted, unscored=unscored)


def findings_of(note: str, language: Language) -> list[str]:
    """Return the sentences of a note that report examinations, without the note's headings, which nobody says."""
    reports = _word("findings", language)
    return [
        line
        for section, lines in read_sections(note, language).items()
        for line in lines
        if section in _REPORTED or reports.search(line)
    ]


def is_urgent(note: str, language: Language) -> bool:
    """Whether a note's complaint affirms an alarm sign, or an illness of a few hours.

    The present illness counts too, unless the complaint has lasted for weeks, as its alarm signs are then mostly past.
    """
    denied, alarm = _word("denied", language), _word("alarm", language)
    sections = read_sections(note, language)

    def alarming(names: Sequence[str]) -> bool:
        lines = (sentence for name in names for sentence in sections.get(name, ()))
        parts = (part for sentence in lines for part in re.split("[,;，；]", sentence))
        return any(alarm.search(part) and not denied.search(part) for part in parts)

    lasting = _word("lasting", language).search(" ".join(sections.get(_COMPLAINT, ())))
    return alarming(("person", _COMPLAINT)) or (lasting is None and alarming(("present_illness",)))


def questions_at_once(sentence: str, language: Language) -> int:
    """Count the questions in a sentence, which commas and conjunctions may join; too long a list counts as three."""
    parts = [part.strip() for part in _word("joint", language).split(sentence) if part and part.strip()]
    asks = _word("part_asks", language)
    asked = [place for place, part in enumerate(parts) if asks.search(part)]
    things = len(parts) - asked[0] if asked else len(parts)
    return max(1, len(asked), MOST_QUESTIONS + 1 if things > _MOST_THINGS else 0)


def _not_repeated(interview: Interview) -> float:
    """Return the share of questions unlike all earlier ones; after the patient asks back, one may be repeated."""
    earlier: list[tuple[list[str], set[str]]] = []  # their words, and the stems of these
    again: list[bool] = []
    last = 0  # questions of the previous turn
    for turn in interview.turns:
        if _QUESTION.search(turn.before):
            earlier = earlier[: len(earlier) - last]
        last = len(turn.questions)
        for question in turn.questions:
            asked = [word for word in words(question) if not _word("empty", interview.language).fullmatch(word)]
            known = asked, {stem(word) for word in asked}
            again.append(any(_same(known, one) for one in earlier))
            earlier.append(known)
    return 1 - sum(again) / len(again) if again else 0.0


def _same(one: tuple[list[str], set[str]], other: tuple[list[str], set[str]]) -> bool:
    (words_of_one, stems), (words_of_other, other_stems) = one, other
    if not (words_of_one and words_of_other):
        return False
    return stems == other_stems or levenshtein_ratio(words_of_one, words_of_other) >= _SAME


def _at_most_two(interview: Interview) -> float:
    language = interview.language
    counts = [sum(questions_at_once(question, language) for question in turn.questions) for turn in interview.asking]
    return share(count <= MOST_QUESTIONS for count in counts)


def _plain(interview: Interview) -> float:
    """Return the share of turns without unexplained jargon, if anything is asked; names of the diseases are allowed."""
    return share(not _unexplained(turn.text, interview) for turn in interview.turns if interview.asking)


def _unexplained(text: str, interview: Interview) -> list[str]:
    """Return the terms of a text that are not explained in their sentence or the next."""
    lines, language = sentences(text), interview.language
    named = normalise("; ".join(interview.diseases))
    supposes, explained = _word("supposes", language), _word("explained", language)
    return [
        term
        for sentence, after in zip(lines, [*lines[1:], ""], strict=False)  # empty if nothing is said
        if not (supposes.search(sentence) or explained.search(sentence) or explained.match(after))
        for term in [*jargon_in(sentence, language), *_word("technical", language).findall(sentence)]
        if normalise(term) not in named
    ]


def _brief(interview: Interview) -> float:
    """Return the share of brief turns, if anything is asked."""
    return share(
        (len("".join(text.split())) if has_chinese(text) else len(text.split()))
        <= BRIEF["zh" if has_chinese(text) else "en"]
        for text in (turn.text for turn in interview.turns if interview.asking)
    )


def _urges_care(interview: Interview) -> float | str:
    """Return whether a statement sends the patient into care now, without "if", provided that the note is urgent."""
    if not is_urgent(interview.note, interview.language):
        return "the rules recognise nothing urgent in the note"
    urgent, care, reserved = (_word(name, interview.language) for name in ("urgent", "care", "reserved"))
    statements = [sentence for turn in interview.turns for sentence in turn.told]
    return float(any(urgent.search(one) and care.search(one) and not reserved.search(one) for one in statements))


def _findings_told(interview: Interview) -> float | str:
    """Return the share of the note's findings that the physician states, or was told upon asking for results."""
    findings = findings_of(interview.note, interview.language)
    results = _word("results", interview.language)
    texts = [turn.text for turn in interview.turns]
    texts += [turn.after for turn in interview.turns if any(map(results.search, turn.questions))]
    known = mostly_stated(findings, "\n".join(texts))
    return sum(known) / len(known) if known else "the rules recognise no examination in the note"


_RULES: Mapping[str, Callable[[Interview], float | str]] = {
    "rarely_repetitive": _not_repeated,
    "no_jargon": _plain,
    "two_questions": _at_most_two,
    "brief_responses": _brief,
    "urgent_care": _urges_care,
    "examination_consistency": _findings_told,
}


def _asks(sentence: str, language: Language) -> bool:
    return (_QUESTION.search(sentence) or _word("request", language).search(sentence)) is not None


@cache
def _word(name: str, language: Language) -> re.Pattern[str]:
    return re.compile(clini_eval_file()["words"][f"{name}_{rules_of(language)}"], re.IGNORECASE)
