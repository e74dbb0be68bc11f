"""Med-PMC: what a doctor found out and decided, by the final report (Med-PMC, section 4.2 and appendix B).

Columns are recalls of the case in the doctor's report, in percent, except lengths and turns; higher is better except
for those two, which have no direction. ``paper`` reproduces Table 8 (``rouge1``) and Table 9 (``rougeL``), whose
computations differ in more than the recall.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from cases.text.statements import Mention, mentions, statements
from cases.text.words import HAN, has_chinese
from cases.vocabulary import normalise
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.entities import entities, spacy_entities
from scoring.metrics.recall import Recall, RecallName, recall
from scoring.metrics.samples import Definition, Sample, known, mean
from scoring.metrics.text_overlap import spoken_length, without_punctuation

METRICS = ("Inquiry", "Examination", "MMA", "Diagnosis", "Treatment", "Info", "Lens", "Turns")
AVERAGES: Mapping[str, tuple[str, Sequence[str]]] = {  # of Tables 2, 3, 8 and 9
    "Avg. (gathering)": ("Average of gathering", ("Inquiry", "Examination", "MMA")),
    "Avg. (decision)": ("Average of decision", ("Diagnosis", "Treatment")),
}
SUPPORT = "support"  # our own column
PUBLISHED_CASES, LEFT_OUT = 30, 6  # Table 9 leaves this position of the authors' cases out of its MMA column

_BESIDE_CHINESE = re.compile(rf"(?<=[{HAN}])(?=\w)|(?<=\w)(?=[{HAN}])")
_OF_A_WORD = rf"[^\W{HAN}]"
EntityRule = Literal["rules", "spacy"]
Window = Literal["all", "next"]  # what follows a picture: everything, or the next turn
Pair = tuple[str, str]  # reference, text


def inquiry_pair(case: MedPmcTranscript, definition: Definition = "sound") -> Pair:
    """Return the texts of Inquiry: the patient's history, to be recalled in the report.

    Sound: patient information, chief complaint, present illness and past history (Med-PMC, equation 5). Published: the
    information is left out although the text names it, and punctuation is removed from the reference only, which joins
    the parts of "3.5" and "follow-up" there but not in the report.
    """
    if definition == "sound":
        return " ".join(case.tellable), case.report
    return " ".join(map(without_punctuation, case.tellable[1:])), case.report


def examination_share(case: MedPmcTranscript, find: EntityRule = "rules") -> float | None:
    """Return the share of the examination text's entities that the report names, in [0, 1]; higher is better.

    Entities are compared as whole words, case folded, with punctuation on both sides as spaces. None (unscored) if the
    text has no entity. Source: Med-PMC, equations 6 and 7. The published column takes spaCy's entities (mostly numbers
    and names, ``find="spacy"``) of the text without punctuation, and looks for them in a report with punctuation, so
    that it misses every "12.5": its numbers are not reproduced here.
    """
    found = (
        spacy_entities(case.examinations)
        if find == "spacy"
        else [entity.phrase for entity in entities(case.examinations)]
    )
    report = _spaced(case.report)
    return mean(
        [float(_written(phrase).search(report) is not None) for phrase in map(_spaced, found) if phrase.strip()]
    )


def imaging_pair(
    case: MedPmcTranscript, definition: Definition = "sound", table: int = 8, window: Window = "all"
) -> Pair | None:
    """Return the texts of MMA (multi-modal analysis): the reports of the images, to be recalled in the doctor's words.

    Sound: the reports of all images of the case, recalled in what the doctor says after the first was shown, including
    the final report, or only in the doctor's turns right after those that show one (``window = "next"``). Source:
    Med-PMC, equation 8. Published, with punctuation removed:

    - Table 8: the reports of the images in the first message that shows one, recalled in the next doctor turn. A case
      whose first image comes with its last turn is dropped (None), as is one that shows an image without a report.
    - Table 9: the reports of all images, recalled in the final report.

    In both definitions, a doctor who was shown no image scores 0 (an empty text), but is unscored if none could be
    shown: the case has none, or the settings withhold them (``withheld``).
    """
    if case.withheld or not case.images:
        return None
    shown = next((place for place, turn in enumerate(case.history) if turn.images and not turn.ends), None)
    if definition == "sound":
        if window == "next":
            texts = [after.doctor for turn, after in pairwise(case.history) if turn.images and not turn.ends]
        else:
            texts = [] if shown is None else [turn.doctor for turn in case.history[shown + 1 :]] + [case.report]
        return " ".join(case.images.values()), " ".join(texts)
    if shown is None:
        return "image", ""
    if table == 9:
        return "".join(map(without_punctuation, case.images.values())), without_punctuation(case.report)
    names = case.history[shown].images
    if shown + 1 == len(case.history) or not set(names) <= case.images.keys():
        return None
    report = "".join(without_punctuation(case.images[name]) for name in names)
    return report, without_punctuation(case.history[shown + 1].doctor)


def info_pairs(case: MedPmcTranscript) -> list[Pair]:
    """Return the texts of Info: each of the patient's replies before the end, with the record as reference.

    The standard patient's words are used if a persona changed them. The record is the patient's information, complaint,
    histories and examinations. In [0, 1]; no direction: Info says how much a reply tells. Source: Med-PMC, equation 9,
    which has no published table.
    """
    record = " ".join([*case.tellable, case.examinations])
    return [(record, turn.told) for turn in case.turns_before_end if turn.told.strip()]


def doctor_length(case: MedPmcTranscript, definition: Definition = "sound") -> float | None:
    """Return Lens: the mean length of the doctor's turns before the end; no direction; None (unscored) without turns.

    Sound: words separated by white space, or characters without it if the turn is Chinese. Published: the parts between
    single spaces.
    """
    if definition == "paper":
        return mean([float(len(turn.doctor.split(" "))) for turn in case.turns_before_end])
    return mean([spoken_length(turn.doctor) for turn in case.turns_before_end])


def support(case: MedPmcTranscript) -> float | None:
    """Return how much of the report is supported by the case, in [0, 1]; higher is better; None without a report.

    Our complement to the recalls, which can be maximised by a report that is long enough, or that denies everything. It
    is the share of the report's content words (``cases.text.statements.mentions``, without function words) that the
    case (information, histories, examinations, diagnosis, treatment, image reports) has at least as often, with the
    same polarity and on no other side. It tells whether the words are the case's, not whether they are in the right
    place, and a good report in its own words is well below 1: compare doctors on the same cases.
    """
    true = _mentions_in(*case.tellable, case.examinations, case.diagnosis, case.treatment, *case.images.values())
    left = Counter((mention.word, mention.negated) for mention in true)
    sides = {mention.word: frozenset[str]() for mention in true}
    for mention in true:
        sides[mention.word] |= mention.sides
    stated = _mentions_in(case.report)
    met = 0
    for mention in stated:
        if left[mention.word, mention.negated] and mention.sides <= (sides[mention.word] or mention.sides):
            left[mention.word, mention.negated] -= 1
            met += 1
    return met / len(stated) if stated else 0.0 if case.report.strip() else None


def _mentions_in(*texts: str) -> list[Mention]:
    return [mention for text in texts for sentence in statements(text) for mention in mentions(sentence)]


def score_medpmc(
    cases: Iterable[MedPmcTranscript],
    name: RecallName = "rouge1",
    definition: Definition = "sound",
    *,
    find: EntityRule = "rules",
    model: str | None = None,
    window: Window = "all",
) -> dict[str, list[Sample]]:
    """Return the values of the eight columns, in percent except Lens and Turns; unscored cases are absent.

    Sound: one recall for all columns; a reference without words is unscored. Published: Diagnosis is ROUGE-L in both
    tables; see the columns' functions for the others. Table 8 applies to every recall but ``rougeL``.

    Raises:
        MissingBackendError: the recall's package or model is missing.
    """
    cases = list(cases)
    measure = recall(name, definition, model=model)
    table = 9 if name == "rougeL" else 8
    by_longest = recall("rougeL", "paper") if definition == "paper" and name in ("rouge1", "rougeL") else measure

    def column(pair: Callable[[MedPmcTranscript], Pair | None], how: Recall = measure) -> list[Sample]:
        found = [
            (case.case, made) for case in cases if (made := pair(case)) and (made[0].strip() or definition == "paper")
        ]
        values = how([made for _, made in found])
        return [Sample(case, 100 * value) for (case, _), value in zip(found, values, strict=True)]

    def mma(case: MedPmcTranscript) -> Pair | None:
        skipped = definition == "paper" and table == 9 and len(cases) == PUBLISHED_CASES and case is cases[LEFT_OUT]
        return None if skipped else imaging_pair(case, definition, table, window)

    return {
        "Inquiry": column(lambda case: inquiry_pair(case, definition)),
        "Examination": known(((case.case, examination_share(case, find)) for case in cases), 100),
        "MMA": column(mma),
        "Diagnosis": column(lambda case: (case.diagnosis, case.report), by_longest),
        "Treatment": column(lambda case: (case.treatment, case.report)),
        "Info": known(((case.case, mean(measure(info_pairs(case)))) for case in cases), 100),
        "Lens": known((case.case, doctor_length(case, definition)) for case in cases),
        "Turns": known((case.case, float(len(case.history))) for case in cases),
    }


def _written(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase as whole words; beside a Chinese word is a sign or none (98次/分, 流速96 cm/s)."""
    phrase = phrase.strip()
    before = "" if has_chinese(phrase[0]) else f"(?<!{_OF_A_WORD})"
    after = "" if has_chinese(phrase[-1]) else f"(?!{_OF_A_WORD})"
    return re.compile(before + _BESIDE_CHINESE.sub(" ?", phrase) + after)


def _spaced(text: str) -> str:
    return " " + re.sub(r"[\W_]+", " ", normalise(text)).strip() + " "
