"""What of Clini-Eval can be counted without a model: whether something was asked, how, and what came up.

A rule sees words. That a subject was asked for is not that it was asked for well, so these points are a baseline for
plumbing and for ranking like with like. What needs judgement (the order, leading questions, empathy, the diagnosis with
its differentials, its grounds and the tests for it, what this patient in particular had to be asked) is not assessed.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from cases.dialogues import PHYSICIAN, Dialogue
from cases.text.jargon import jargon_in
from cases.text.sentences import sentences
from cases.text.words import has_chinese, rules_of
from cases.vocabulary import Language
from scoring.clini_eval.points import LEAVES, Points, clini_eval_file
from scoring.metrics.text_overlap import levenshtein_ratio, rouge_1, words

BRIEF = {"en": 40, "zh": 80}  # words, or Chinese characters, up to which a turn is brief; the paper's mean is 18.5
_SAME = 0.85  # similarity from which two questions are one
_CAME_UP = 0.6  # share of a finding's words in one turn from which it came up
_JUDGEMENT = "needs judgement; a rule cannot count it"


class CountedPoints(Points):
    """The points of the leaves that rules can count, and why there are none of the others."""

    counted: dict[str, float]
    unscored: dict[str, str]

    @property
    def by_leaf(self) -> dict[str, float]:
        """The points of each leaf that was counted."""
        return dict(self.counted)


class Interview(NamedTuple):
    """A dialogue as the rules read it: the physician's turns and what of them asks something, and all turns."""

    language: Language
    note: str
    turns: list[str]
    asking: list[list[str]]  # by turn, the sentences that ask
    everything: list[str]

    @property
    def questions(self) -> list[str]:
        """All that was asked."""
        return [question for asked in self.asking for question in asked]


def read_interview(dialogue: Dialogue) -> Interview:
    """A dialogue for the rules."""
    turns = [message.content for message in dialogue.spoken if message.role == PHYSICIAN]
    asking = [[sentence for sentence in sentences(turn) if _asks(sentence, dialogue.language)] for turn in turns]
    return Interview(dialogue.language, dialogue.note, turns, asking, [message.content for message in dialogue.spoken])


def count_points(dialogue: Dialogue) -> CountedPoints:
    """The points of the leaves that can be counted.

    A leaf of the history has the share of its subjects for which the physician asked; one of the techniques has the
    share of turns or questions that keep the rule; the examinations have the share of the note's findings that came up.
    A leaf with nothing to count over is not assessed.
    """
    interview = read_interview(dialogue)
    counted: dict[str, float] = {}
    unscored: dict[str, str] = {}
    for leaf in LEAVES.values():
        if leaf.asked:
            share: float | str = _asked_for([aspect[rules_of(dialogue.language)] for aspect in leaf.asked], interview)
        else:
            share = _RULES[leaf.key](interview) if leaf.key in _RULES else _JUDGEMENT
        if isinstance(share, str):
            unscored[leaf.key] = share
        else:
            counted[leaf.key] = leaf.maximum * share
    return CountedPoints(counted=counted, unscored=unscored)


def findings_of(note: str, language: Language) -> list[str]:
    """The sentences of a note that tell what was examined."""
    return [sentence for sentence in sentences(note) if _word("findings", language).search(sentence)]


def _asked_for(patterns: Sequence[str], interview: Interview) -> float:
    asked = "\n".join(interview.questions)
    return sum(re.search(pattern, asked, re.IGNORECASE) is not None for pattern in patterns) / len(patterns)


def _not_repeated(interview: Interview) -> float | str:
    asked = [words(question) for question in interview.questions]
    again = [
        any(levenshtein_ratio(question, earlier) >= _SAME for earlier in asked[:place])
        for place, question in enumerate(asked)
    ]
    return 1 - sum(again) / len(again) if again else "the physician asked nothing"


def _at_most_two(interview: Interview) -> float | str:
    asking = [asked for asked in interview.asking if asked]
    return sum(len(asked) <= 2 for asked in asking) / len(asking) if asking else "the physician asked nothing"


def _plain(interview: Interview) -> float | str:
    """The share of the asking turns without an unexplained term; the diagnosis has to be called by its name."""
    explained = _word("explained", interview.language)
    asking = [turn for turn, asked in zip(interview.turns, interview.asking, strict=True) if asked]
    plain = [not jargon_in(turn, interview.language) or explained.search(turn) is not None for turn in asking]
    return sum(plain) / len(plain) if plain else "the physician asked nothing"


def _brief(interview: Interview) -> float | str:
    lengths = [len("".join(turn.split())) if has_chinese(turn) else len(turn.split()) for turn in interview.turns]
    limits = [BRIEF["zh" if has_chinese(turn) else "en"] for turn in interview.turns]
    short = [length <= limit for length, limit in zip(lengths, limits, strict=True)]
    return sum(short) / len(short) if short else "the physician said nothing"


def _urges(interview: Interview) -> float | str:
    """Whether any sentence that asks nothing calls for haste."""
    asked = set(interview.questions)
    told = [sentence for turn in interview.turns for sentence in sentences(turn) if sentence not in asked]
    return float(any(_word("urgent", interview.language).search(sentence) for sentence in told))


def _came_up(interview: Interview) -> float | str:
    findings = [words(sentence) for sentence in findings_of(interview.note, interview.language)]
    said = [words(text) for text in interview.everything]
    known = [any(rouge_1(turn, finding).recall >= _CAME_UP for turn in said) for finding in findings if finding]
    return sum(known) / len(known) if known else "the note tells of no examination that a rule recognises"


_RULES: Mapping[str, Callable[[Interview], float | str]] = {
    "rarely_repetitive": _not_repeated,
    "no_jargon": _plain,
    "two_questions": _at_most_two,
    "brief_responses": _brief,
    "urgent_care": _urges,
    "examination_consistency": _came_up,
}
COUNTABLE = frozenset(leaf.key for leaf in LEAVES.values() if leaf.asked or leaf.key in _RULES)


def _asks(sentence: str, language: Language) -> bool:
    return sentence.rstrip("\"'”’)） ").endswith(("?", "？")) or _word("request", language).search(sentence) is not None


@cache
def _word(name: str, language: Language) -> re.Pattern[str]:
    return re.compile(clini_eval_file()["words"][f"{name}_{rules_of(language)}"], re.IGNORECASE)
