"""AIE: ten metrics of a doctor's consultation (AIE, sections 2.5 and 4.4.2).

Every metric is a pure function of one transcript. ``sound`` definitions use the language of each utterance and exclude
what cannot be judged; ``paper`` definitions reproduce the published tables, with one language per data set.
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

COLUMNS = {  # of a dialogue without options
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
_WINDOW = 50  # bigrams, about three turns

Kind = Literal["inquiry", "advice"]
_ACTIONS: dict[Kind, tuple[str, ...]] = {"inquiry": INQUIRIES, "advice": ADVICE}


def data_set_language(transcripts: Iterable[AieTranscript]) -> Language:
    """Return the language that the published computation assumes for a data set: that of its records."""
    return language_of(*(transcript.record for transcript in transcripts))


def diagnosis_is_right(transcript: AieTranscript, definition: Definition = "sound") -> bool | None:
    """Whether the chosen option is right; DIAGNOSIS is the share of right ones; higher is better.

    None (unscored) if the case has no right option; in sound mode also if the right letter is none of the options, as
    nobody can choose it. Sound: the option chosen by the doctor's words (:func:`scoring.aie.letters.chosen_letter`);
    choosing none is wrong, so that silence never pays. Published: the field equals ``answer_idx``. Source: AIE,
    equation 13.
    """
    if not (transcript.answer_idx if definition == "paper" else transcript.has_right_option):
        return None
    if definition == "paper":
        return (transcript.diagnosis or "") == (transcript.written_idx or transcript.answer_idx)
    return chosen_letter(transcript.diagnosis, transcript.options) == transcript.answer_idx


def collected_text(transcript: AieTranscript) -> str:
    """Return the patient's replies at the opening and after effective inquiries and advice, joined without spaces."""
    return "".join(turn.patient or "" for turn in transcript.history if turn.state in TELLING)


def collected_words(transcript: AieTranscript) -> list[str]:
    """Return the words of the collected replies, each tokenised by its own language."""
    return [word for turn in transcript.history if turn.state in TELLING for word in words(turn.patient or "")]


def coverage(transcript: AieTranscript, definition: Definition = "sound", language: Language = "en") -> float | None:
    """Return how much of the record the doctor obtained: ROUGE-1 recall, in [0, 1]; higher is better.

    ``shared words / words of the record``, over the replies at turns with action O, EI or EA; 0 if there are none. The
    paper's text (equations 14 and 15) leaves out O, but its numbers do not, and neither do we: the record holds the
    chief complaint. Sound: counted words, tokenised by each utterance's language, with the closing question removed
    from the record; None (unscored) if no turn names an action. A reply in another language than the record shares no
    words with it: translate first, or check the count of turns by language. Published: the whole question; Chinese by
    sets of jieba's tokens (rouge-chinese), English by rouge-score's stemmed tokens.
    """
    if definition == "sound":
        if transcript.untracked:
            return None
        return rouge_1(collected_words(transcript), words(transcript.findings)).recall
    cut = rouge_chinese_words if language == "zh" else rouge_words
    return rouge_1(cut(collected_text(transcript)), cut(transcript.record)).recall


def inquiry_logic(
    transcript: AieTranscript, definition: Definition = "sound", language: Language = "en"
) -> float | None:
    """Return how closely what was told follows the record's order: ``2 LCS / (m + n)``, in [0, 1]; higher is better.

    A doctor who asks for everything in the order of the record gets 1; 0 if nothing was told. Source: AIE, equation 18,
    whose "Levenshtein distance" is the ratio by insertions and deletions. Sound: over words, tokenised by each
    utterance's language; None (unscored) if no turn names an action. Published: over characters, in Chinese those of
    jieba's words joined by spaces; chance level is then about a quarter.
    """
    if definition == "sound":
        if transcript.untracked:
            return None
        collected = collected_words(transcript)
        return levenshtein_ratio(collected, words(transcript.findings)) if collected else 0.0
    collected_chars, record = collected_text(transcript), transcript.record
    if language == "zh":
        collected_chars, record = " ".join(jieba_words(collected_chars)), " ".join(jieba_words(record))
    return levenshtein_ratio(collected_chars, record)


def accuracy(transcript: AieTranscript, kind: Kind) -> list[float]:
    """Return 1 for each effective inquiry (or advice), 0 for each other; higher is better. See :func:`share`."""
    effective, *_ = _ACTIONS[kind]
    return _flags(transcript, kind, {effective})


def specificity(transcript: AieTranscript, kind: Kind) -> list[float]:
    """Return 1 for each specific inquiry or advice (effective or ineffective), 0 if ambiguous; higher is better.

    See :func:`share`.
    """
    effective, ineffective, _ = _ACTIONS[kind]
    return _flags(transcript, kind, {effective, ineffective})


def share(flags: Sequence[float], definition: Definition = "sound") -> list[float]:
    """Return a case's values for INQUIRY_ACC, INQUIRY_SPECIFIC, ADVICE_ACC or ADVICE_SPECIFIC, all in [0, 1].

    Sound: every action has the same weight, ``sum over cases of hits / sum over cases of actions`` (AIE, equations 16
    and 17; the actions of a case are one cluster); a case without such actions adds nothing. Published: each case's
    share, averaged over cases; a case without such actions scores 0.
    """
    return list(flags) if definition == "sound" else [mean(flags) or 0.0]


def distinct(transcript: AieTranscript, definition: Definition = "sound", language: Language = "en") -> float | None:
    """Return how little the dialogue repeats itself: distinct bigrams, in [0, 1]; higher is better.

    Sound: ``distinct bigrams / bigrams`` of both sides' words, each utterance tokenised by its language; None
    (unscored) under two words. Published: ``distinct bigrams / tokens``, which never reaches 1; the two texts of a turn
    are joined without a space, with a line end after the patient's; the tokens are jieba's words, cut with the
    punctuation in place, or separated by white space; then everything but word characters is removed from them, and
    empty ones are left out; 0 without tokens. Source: AIE, section 4.4.2, after Li et al. 2016.
    """
    if definition == "sound":
        tokens = _words_said(transcript)
        return distinct_bigrams(tokens) / (len(tokens) - 1) if len(tokens) > 1 else None
    dialogue = "".join(turn.doctor + _patient_line(turn) for turn in transcript.history)
    spaced = " ".join(jieba_words(dialogue)) if language == "zh" else dialogue
    tokens = without_punctuation(spaced).split()
    return distinct_bigrams(tokens) / len(tokens) if tokens else 0.0


def distinct_by_length(transcripts: Collection[AieTranscript]) -> list[Sample]:
    """Return DISTINCT_50, our complement to DISTINCT: distinct bigrams in every 50, of words in use; percent.

    DISTINCT falls with length and is maximal for nonsense. Here each 50 bigrams of a dialogue are counted separately;
    in a shorter dialogue, the missing ones count as repetitions. A bigram counts only if the patients or records of
    these transcripts use both of its words. Higher is better, but good doctors have words of their own: compare doctors
    on the same cases.
    """
    used_texts = (text for one in transcripts for text in (one.findings, *(turn.patient or "" for turn in one.history)))
    known = {word for text in used_texts for word in words(text)}

    def share(transcript: AieTranscript) -> float:
        pairs = list(pairwise(_words_said(transcript)))
        windows = [pairs[start : start + _WINDOW] for start in range(0, max(1, len(pairs) - _WINDOW + 1), _WINDOW)]
        used = [len({pair for pair in window if known.issuperset(pair)}) for window in windows]
        return sum(used) / (_WINDOW * len(windows))

    return [Sample(transcript.case, 100 * share(transcript)) for transcript in transcripts]


def doctor_lengths(transcript: AieTranscript, definition: Definition = "sound") -> list[float]:
    """Return the length of each of the doctor's turns, O and E included; AVG_LEN is the mean over all turns.

    No direction. Sound: characters without white space if the utterance is Chinese, else words separated by white
    space; the turns of a case are one cluster. Published: all characters if any is Chinese, else the parts between
    single spaces; turns are independent.
    """
    texts = [turn.doctor for turn in transcript.history]
    if definition == "paper":
        return [float(len(text) if has_chinese(text) else len(text.split(" "))) for text in texts]
    return [spoken_length(text) for text in texts]


def score_aie(
    transcripts: Iterable[AieTranscript], definition: Definition = "sound", language: Language | None = None
) -> dict[str, list[Sample]]:
    """Return the values of the ten metrics of one data set, in percent except turns and length.

    Several runs of a case count as its epochs. The published computation assumes one language, by default the records'.
    """
    transcripts = list(transcripts)
    language = language or data_set_language(transcripts)
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for transcript in transcripts:
        for name, values in _values(transcript, definition, language).items():
            samples[name].extend(Sample(transcript.case, value) for value in values)
    return samples


def unanswered(transcripts: Iterable[AieTranscript]) -> list[AieTranscript]:
    """Return the transcripts whose diagnosis chooses no option: wrong in DIAGNOSIS."""
    return [one for one in transcripts if one.has_right_option and chosen_letter(one.diagnosis, one.options) is None]


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
    # A turn that collects text ends its line even without a patient's reply.
    return (turn.patient or "") + "\n" if turn.patient is not None or turn.state in TELLING else ""


def _words_said(transcript: AieTranscript) -> list[str]:
    utterances = (text for turn in transcript.history for text in (turn.doctor, turn.patient or ""))
    return [word for text in utterances for word in words(text)]
