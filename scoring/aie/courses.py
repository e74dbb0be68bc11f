"""The course of consultations: actions by turn, scores by length, and the languages spoken (AIE, Figures 6c and 6d)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cases.grouping import grouped
from cases.text.words import language_of
from cases.vocabulary import Language
from scoring.aie.metrics import coverage, data_set_language, diagnosis_is_right
from scoring.aie.transcripts import AieTranscript
from scoring.metrics.samples import Definition, mean


class TurnShares(NamedTuple):
    """The frequency of each action at one turn, over the dialogues that get so far; the shares sum to 1."""

    turn: int
    dialogues: int
    shares: dict[str, float]


class LengthScores(NamedTuple):
    """The dialogues of one length: mean coverage and share of right diagnoses, in [0, 1]; None if none is scored."""

    turns: int
    dialogues: int
    coverage: float | None
    diagnosis: float | None


def action_shares(transcripts: Iterable[AieTranscript]) -> list[TurnShares]:
    """Return the share of each action at each turn of dialogues that name any, the opening first (AIE, figure 6c)."""
    tracked = (transcript for transcript in transcripts if not transcript.untracked)
    by_turn = grouped((number, turn.state) for one in tracked for number, turn in enumerate(one.history, 1))
    return [
        TurnShares(number, len(states), {action: count / len(states) for action, count in Counter(states).items()})
        for number, states in by_turn.items()
    ]


def by_length(transcripts: Sequence[AieTranscript], definition: Definition = "sound") -> list[LengthScores]:
    """Return coverage and diagnosis by number of turns (AIE, figure 6d); no diagnosis if none was asked for."""
    asked = any(transcript.diagnosis for transcript in transcripts)
    language = data_set_language(transcripts)
    groups = grouped((len(transcript.history), transcript) for transcript in transcripts)
    return [
        LengthScores(
            turns,
            len(group),
            mean(coverage(one, definition, language) for one in group),
            mean(diagnosis_is_right(one, definition) for one in group) if asked else None,
        )
        for turns, group in sorted(groups.items())
    ]


def utterance_languages(transcripts: Iterable[AieTranscript]) -> dict[tuple[str, Language], int]:
    """Count the utterances of each side by language, without blank ones."""
    return Counter(
        (side, language_of(text))
        for transcript in transcripts
        for turn in transcript.history
        for side, text in (("doctor", turn.doctor), ("patient", turn.patient or ""))
        if text.strip()
    )
