"""AIE: what a doctor's consultation is worth, by ten metrics (AIE, sections 2.5 and 4.4.2).

Every metric is a pure function of one transcript. ``sound`` definitions look at the language of each utterance and
exclude what cannot be judged; ``paper`` definitions reproduce the published tables, with one language for a data set.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from cases.text.words import has_chinese, language_of
from cases.vocabulary import Language
from scoring.aie.letters import chosen_letter
from scoring.aie.transcripts import ADVICE, INQUIRIES, TELLING, AieTranscript, AieTurn
from scoring.metrics.samples import Definition, Sample, mean
from scoring.metrics.text_overlap import (
    distinct_bigrams,
    jieba_words,
    levenshtein_ratio,
    rouge_1,
    rouge_chinese_words,
    rouge_words,
    spoken_length,
    without_punctuation,
    words,
)

COLUMNS = {  # of a dialogue without options to choose from
    "COVERAGE": "Coverage",
    "INQUIRY_ACC": "Inquiry accuracy",
    "INQUIRY_SPECIFIC": "Inquiry specificity",
    "INQUIRY_LOGIC": "Inquiry logic",
    "ADVICE_ACC": "Advice accuracy",
    "ADVICE_SPECIFIC": "Advice specificity",
    "DISTINCT": "Distinct",
    "AVG_TURN": "Turns",
    "AVG_LEN": "Length of a turn",
}
METRICS = ("DIAGNOSIS", *COLUMNS)
DISTINCT_BY_LENGTH = "DISTINCT_50"
_WINDOW = 50  # bigrams, about as much as is said in three turns

Kind = Literal["inquiry", "advice"]
_ACTIONS: dict[Kind, tuple[str, ...]] = {"inquiry": INQUIRIES, "advice": ADVICE}


def data_set_language(transcripts: Iterable[AieTranscript]) -> Language:
    """The one language that the published computation takes a data set for: that of its records."""
    return language_of(*(transcript.record for transcript in transcripts))


def diagnosis_is_right(transcript: AieTranscript, definition: Definition = "sound") -> bool | None:
    """Whether the chosen option is the right one; DIAGNOSIS is the share of right ones; higher is better.

    None (unscored) of a case that names no right option: there is nothing to choose. Sound: the option that the
    doctor's words choose (:func:`scoring.aie.letters.chosen_letter`); who chooses none is wrong, so that silence never
    pays. Published: the field equals ``answer_idx``. Source: AIE, equation 13.
    """
    if not transcript.answer_idx:
        return None
    if definition == "paper":
        return (transcript.diagnosis or "") == transcript.answer_idx
    return chosen_letter(transcript.diagnosis, transcript.options) == transcript.answer_idx


def collected_text(transcript: AieTranscript) -> str:
    """What the patient told at the opening and after effective inquiries and advice, joined without a space."""
    return "".join(turn.patient or "" for turn in transcript.history if turn.state in TELLING)


def collected_words(transcript: AieTranscript) -> list[str]:
    """The words of the collected replies, each cut by its own language."""
    return [word for turn in transcript.history if turn.state in TELLING for word in words(turn.patient or "")]


def coverage(transcript: AieTranscript, definition: Definition = "sound", language: Language = "en") -> float:
    """How much of the patient's record the doctor got told: ROUGE-1 recall, in [0, 1]; higher is better.

    ``shared words / words of the record``, of the replies at turns with action O, EI or EA; 0 if nothing was told. The
    paper's text (equations 14 and 15) leaves O out; its numbers do not, and neither do we: the record holds the chief
    complaint. Sound: counted words, cut by each utterance's language, the examination's closing question left out of
    the record. A reply in another language than the record shares no words with it: translate first, or read the count
    of turns by language. Published: the whole question; Chinese by sets of jieba's tokens (rouge-chinese), English by
    rouge-score's stemmed tokens.
    """
    if definition == "sound":
        return rouge_1(collected_words(transcript), words(transcript.findings)).recall
    cut = rouge_chinese_words if language == "zh" else rouge_words
    return rouge_1(cut(collected_text(transcript)), cut(transcript.record)).recall


def inquiry_logic(transcript: AieTranscript, definition: Definition = "sound", language: Language = "en") -> float:
    """How near the order of what was told is to that of the record: ``2 LCS / (m + n)``, in [0, 1]; higher is better.

    A doctor who asks in the order in which records are written, and for all of it, gets 1; 0 if nothing was told.
    Source: AIE, equation 18, whose "Levenshtein distance" is the ratio by insertions and deletions. Sound: over words,
    cut by each utterance's language. Published: over characters, in Chinese those of jieba's words joined by spaces;
    chance alone then gives a quarter or so.
    """
    if definition == "sound":
        collected = collected_words(transcript)
        return levenshtein_ratio(collected, words(transcript.findings)) if collected else 0.0
    told, record = collected_text(transcript), transcript.record
    if language == "zh":
        told, record = " ".join(jieba_words(told)), " ".join(jieba_words(record))
    return levenshtein_ratio(told, record)


def accuracy(transcript: AieTranscript, kind: Kind) -> list[float]:
    """For each inquiry (or advice), 1 if it was effective, else 0; higher is better. See :func:`share`."""
    effective, *_ = _ACTIONS[kind]
    return _flags(transcript, kind, {effective})


def specificity(transcript: AieTranscript, kind: Kind) -> list[float]:
    """For each inquiry (or advice), 1 if it was specific (effective or ineffective), 0 if ambiguous; higher is better.

    See :func:`share`.
    """
    effective, ineffective, _ = _ACTIONS[kind]
    return _flags(transcript, kind, {effective, ineffective})


def share(flags: Sequence[float], definition: Definition = "sound") -> list[float]:
    """A case's part of INQUIRY_ACC, INQUIRY_SPECIFIC, ADVICE_ACC or ADVICE_SPECIFIC, all in [0, 1].

    Sound: every action counts alike, ``sum over cases of hits / sum over cases of actions`` (AIE, equations 16 and 17;
    the actions of a case are one cluster); a case without such an action adds nothing. Published: each case's own
    share, averaged over cases; a case without such an action scores 0.
    """
    return list(flags) if definition == "sound" else [mean(flags) or 0.0]


def distinct(transcript: AieTranscript, definition: Definition = "sound", language: Language = "en") -> float | None:
    """How little the dialogue repeats itself: distinct bigrams, in [0, 1]; higher is better.

    Sound: ``distinct bigrams / bigrams`` of both sides' words, each utterance cut by its language; None (unscored)
    under two words. Published: ``distinct bigrams / tokens``, which never reaches 1; the two texts of a turn are joined
    without a space, a line ends after the patient's; all outside word characters and white space is removed; jieba's
    words, or those between white space; 0 without a token. Source: AIE, section 4.4.2, after Li et al. 2016.
    """
    if definition == "sound":
        said = (text for turn in transcript.history for text in (turn.doctor, turn.patient or ""))
        tokens = [word for text in said for word in words(text)]
        return distinct_bigrams(tokens) / (len(tokens) - 1) if len(tokens) > 1 else None
    dialogue = "".join(turn.doctor + _patient_line(turn) for turn in transcript.history)
    spaced = " ".join(jieba_words(dialogue)) if language == "zh" else dialogue
    tokens = without_punctuation(spaced).split()
    return distinct_bigrams(tokens) / len(tokens) if tokens else 0.0


def distinct_by_length(transcripts: Collection[AieTranscript]) -> list[Sample]:
    """DISTINCT_50, our partner to DISTINCT: distinct bigrams in every 50, of words that are used here; percent.

    DISTINCT falls with length, and nonsense has all of it. Here each 50 bigrams of a dialogue count by themselves, a
    shorter dialogue as if what it lacks of 50 were said before; and a bigram counts only if the patients or records of
    these transcripts use both of its words. Higher is better, but good doctors have words of their own: compare doctors
    on the same cases.
    """
    told = (text for one in transcripts for text in (one.findings, *(turn.patient or "" for turn in one.history)))
    known = {word for text in told for word in words(text)}

    def share(transcript: AieTranscript) -> float:
        said = (text for turn in transcript.history for text in (turn.doctor, turn.patient or ""))
        pairs = list(pairwise(word for text in said for word in words(text)))
        windows = [pairs[start : start + _WINDOW] for start in range(0, max(1, len(pairs) - _WINDOW + 1), _WINDOW)]
        used = [len({pair for pair in window if known.issuperset(pair)}) for window in windows]
        return sum(used) / (_WINDOW * len(windows))

    return [Sample(transcript.case, 100 * share(transcript)) for transcript in transcripts]


def doctor_lengths(transcript: AieTranscript, definition: Definition = "sound") -> list[float]:
    """The length of each of the doctor's turns, O and E included; no direction. AVG_LEN is their mean over all turns.

    Sound: characters without white space if the utterance is Chinese, else words between white space; the turns of a
    case are one cluster. Published: all characters if any is Chinese, else the parts between single spaces; every turn
    counts as independent.
    """
    if definition == "paper":
        return [float(len(text) if has_chinese(text) else len(text.split(" "))) for text in _doctor(transcript)]
    return [spoken_length(text) for text in _doctor(transcript)]


def score_aie(
    transcripts: Iterable[AieTranscript], definition: Definition = "sound", language: Language | None = None
) -> dict[str, list[Sample]]:
    """The values of the ten metrics, percent except turns and length.

    Args:
        transcripts: one data set; several runs of a case count as its epochs.
        definition: ``sound``, or ``paper`` for the published computation.
        language: what the published computation takes the data set for; that of its records if None.
    """
    transcripts = list(transcripts)
    language = language or data_set_language(transcripts)
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for transcript in transcripts:
        for name, values in _values(transcript, definition, language).items():
            samples[name].extend(Sample(transcript.case, value) for value in values)
    return samples


def unanswered(transcripts: Iterable[AieTranscript]) -> list[AieTranscript]:
    """The transcripts whose diagnosis chooses no option: wrong in DIAGNOSIS, and left out of what was answered."""
    return [one for one in transcripts if one.answer_idx and chosen_letter(one.diagnosis, one.options) is None]


def _values(transcript: AieTranscript, definition: Definition, language: Language) -> dict[str, list[float]]:
    def percent(value: float | None) -> list[float]:
        return [] if value is None else [100 * value]

    def shares(flags: Callable[[AieTranscript, Kind], list[float]], kind: Kind) -> list[float]:
        return [100 * value for value in share(flags(transcript, kind), definition)]

    return {
        "DIAGNOSIS": percent(diagnosis_is_right(transcript, definition)),
        "COVERAGE": percent(coverage(transcript, definition, language)),
        "INQUIRY_ACC": shares(accuracy, "inquiry"),
        "INQUIRY_SPECIFIC": shares(specificity, "inquiry"),
        "INQUIRY_LOGIC": percent(inquiry_logic(transcript, definition, language)),
        "ADVICE_ACC": shares(accuracy, "advice"),
        "ADVICE_SPECIFIC": shares(specificity, "advice"),
        "DISTINCT": percent(distinct(transcript, definition, language)),
        "AVG_TURN": [float(len(transcript.history))],
        "AVG_LEN": doctor_lengths(transcript, definition),
    }


def _flags(transcript: AieTranscript, kind: Kind, hits: Collection[str]) -> list[float]:
    return [float(turn.state in hits) for turn in transcript.history if turn.state in _ACTIONS[kind]]


def _patient_line(turn: AieTurn) -> str:
    # A turn that collects text ends its line even if the patient's words are absent.
    return (turn.patient or "") + "\n" if turn.patient is not None or turn.state in TELLING else ""


def _doctor(transcript: AieTranscript) -> list[str]:
    return [turn.doctor for turn in transcript.history]
