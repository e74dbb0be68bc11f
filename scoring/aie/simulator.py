"""AIE: whether a patient simulator tells what it is asked for, and no more (AIE, sections 2.3 and 4.4.1).

Each reply is scored under the action that people assigned to the doctor's words, against the answer they expect.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cases.grouping import grouped
from cases.text.words import language_of
from cases.vocabulary import USUAL_SIGNS, data_file
from scoring.aie.transcripts import SimulatorTest, each_test
from scoring.metrics.samples import Definition, Sample
from scoring.metrics.text_overlap import Overlap, rouge_1, rouge_chinese_words, spoken_length, words

EFFECTIVE, INEFFECTIVE, AMBIGUOUS = ("A-A-A", "B-A-A"), ("A-A-B", "B-A-B"), ("A-B", "B-B")
DEMAND, OTHER_TOPIC = "C", "D"
DENIAL, ASKS_BACK = "HONEST", "GUIDANCE"  # keywords of denying or following advice, and of asking to be more specific

_KEYWORDS = data_file("scoring.aie", "keywords")


@dataclass(frozen=True)
class Reply:
    """One reply of a simulator (or a person) to the doctor's words."""

    test: str
    place: str
    action: str
    text: str
    reference: str
    record: str
    tracked: str | None
    human: str | None
    turn: str = ""


def replies(tests: Iterable[SimulatorTest]) -> Iterator[Reply]:
    """Yield the replies of a test file; tests without a reply are skipped."""
    for test in tests:
        for turn, kind, found in each_test(test.patient_test):
            if found.prediction is not None:
                yield Reply(
                    test=test.id,
                    turn=turn,
                    place=f"{test.id}/{turn}/{kind}",
                    action=found.human_state or kind,
                    text=found.prediction,
                    reference=found.human_answer or found.answer or "",
                    record=test.record,
                    tracked=found.state_prediction,
                    human=found.human_answer,
                )


def accuracy(reply: Reply, definition: Definition = "sound") -> float:
    """Return how much of the expected facts the reply tells: ROUGE-1 recall, in [0, 1]; higher is better.

    EI and EA only. Sound: counted words by language. Published: sets of jieba's tokens, with white space removed from
    the reply and an empty reply read as "None". Source: AIE, equation 7.
    """
    return _overlap(reply, reply.reference, definition).recall


def passive(reply: Reply, definition: Definition = "sound") -> float:
    """Return how little the reply tells beyond what was asked, in [0, 1]; higher is better; EI and EA only.

    ``1 - max(P(record) - P(reference), 0)``, P the ROUGE-1 precision of the reply; tokenised as in :func:`accuracy`.
    Sound: 0 for a reply without words, which is none. Source: AIE, equation 10, which prints the difference itself;
    its text and the published numbers are as here.
    """
    if definition == "sound" and not words(reply.text):
        return 0.0
    from_record = _overlap(reply, reply.record, definition).precision
    return 1 - max(from_record - _overlap(reply, reply.reference, definition).precision, 0.0)


def cautious(reply: Reply, definition: Definition = "sound") -> float:
    """Return how little of the record slips out where nothing should: ``1 - P(record)``, in [0, 1]; higher is better.

    P is the ROUGE-1 precision of the reply, tokenised as in :func:`accuracy`. Computed over ineffective actions (II,
    IA) and ambiguous ones (AI, AA), separately and together. Sound: 0 for a reply without words, which is none. Source:
    AIE, equation 11, which prints P(record) over EI and EA; its text and the published numbers are as here.
    """
    if definition == "sound" and not words(reply.text):
        return 0.0
    return 1 - _overlap(reply, reply.record, definition).precision


def honest(reply: Reply, definition: Definition = "sound") -> float:
    """Return 1 if the reply has a keyword of denying or of following the advice; higher is better; II and IA only.

    Without a keyword 0; published: P(record) instead, so that a lie taken from the record scores 1. The keywords ("没",
    "不", ...) are matched anywhere and are weak evidence. Source: AIE, equation 8.
    """
    if has_keyword(reply.text, DENIAL, definition):
        return 1.0
    return _overlap(reply, reply.record, definition).precision if definition == "paper" else 0.0


def guidance(reply: Reply, definition: Definition = "sound") -> float:
    """Return 1 if the reply has a keyword that asks the doctor to be more specific, else 0; higher is better.

    AI and AA only. Source: AIE, equation 12; published keywords for Chinese, our own for English replies.
    """
    return float(has_keyword(reply.text, ASKS_BACK, definition))


def focus(reply: Reply, definition: Definition = "sound") -> float:
    """Return 1 if the reply has a keyword saying that the consultation is online (C) or leading back to it (D).

    Else 0; higher is better. Source: AIE, equation 9; published keywords for Chinese, our own for English replies.
    """
    return float(has_keyword(reply.text, reply.action, definition))


def tracking(reply: Reply) -> float | None:
    """Return 1 if the simulator tracked the action assigned by people, else 0; higher is better; None without any."""
    return None if reply.tracked is None else float(reply.tracked == reply.action)


def length(reply: Reply, definition: Definition = "sound") -> float:
    """Return the length of the reply; no direction.

    Sound: characters without white space if it is Chinese, else words. Published: characters without blanks, an empty
    reply read as "None". Source: the released score files.
    """
    if definition == "paper":
        return float(len(_published(reply.text)))
    return spoken_length(reply.text)


_Metric = Callable[[Reply, Definition], float]
_SCORED: Mapping[str, tuple[_Metric, tuple[str, ...]]] = {
    "ACCURACY": (accuracy, EFFECTIVE),
    "PASSIVE": (passive, EFFECTIVE),
    "CAUTIOUS": (cautious, INEFFECTIVE + AMBIGUOUS),
    "CAUTIOUS_INEFFECTIVE": (cautious, INEFFECTIVE),
    "CAUTIOUS_AMBIGUOUS": (cautious, AMBIGUOUS),
    "HONEST": (honest, INEFFECTIVE),
    "GUIDANCE": (guidance, AMBIGUOUS),
    "FOCUS": (focus, (DEMAND, OTHER_TOPIC)),
}
LENGTH = "AVG_LEN"
METRICS = (*_SCORED, "TRACKING", LENGTH)


def score_simulator(
    tests: Iterable[SimulatorTest],
    definition: Definition = "sound",
    turn: str | None = None,
    among: Collection[str] | None = None,
) -> dict[str, list[Sample]]:
    """Return the values of the simulator's metrics, in percent except AVG_LEN; one per reply, by patient.

    TRACKING is the accuracy of the tracked actions. The published figures average over replies, as here. ``turn``
    restricts to one round, that is, a number of earlier exchanges (AIE, figure 3a), and ``among`` to replies of these
    places.
    """
    samples: dict[str, list[Sample]] = {name: [] for name in METRICS}
    for reply in replies(tests):
        if turn not in (None, reply.turn) or (among is not None and reply.place not in among):
            continue
        for name, (metric, actions) in _SCORED.items():
            if reply.action in actions:
                samples[name].append(Sample(reply.test, 100 * metric(reply, definition)))
        if (right := tracking(reply)) is not None:
            samples["TRACKING"].append(Sample(reply.test, 100 * right))
        samples[LENGTH].append(Sample(reply.test, length(reply, definition)))
    return samples


def unanswered(tests: Iterable[SimulatorTest]) -> list[str]:
    """Return the places of the questions that have no reply; they are unscored."""
    each = ((test.id, *one) for test in tests for one in each_test(test.patient_test))
    return [f"{name}/{turn}/{kind}" for name, turn, kind, found in each if found.prediction is None]


def rounds_of(tests: Iterable[SimulatorTest]) -> list[str]:
    """Return the rounds that have replies, in order."""
    return sorted({reply.turn for reply in replies(tests)}, key=lambda turn: (len(turn), turn))


def keyword_precision(tests: Iterable[SimulatorTest]) -> dict[str, list[Sample]]:
    """Return, of the replies with a metric's keyword, the share that should have it, in percent; higher is better.

    Our complement to HONEST, GUIDANCE and FOCUS, which are recalls: a patient who answers everything with "no? sorry"
    gets 100 in all three, but here only the share of these actions. One value per reply with the keyword; for FOCUS,
    the keyword of either demands or other topics. None if no reply should have it. A denial after an effective inquiry
    may be true, so that a good patient has less than 100 for HONEST; compare simulators on the same test set.
    """
    keywords = {"HONEST": (DENIAL,), "GUIDANCE": (ASKS_BACK,), "FOCUS": (DEMAND, OTHER_TOPIC)}
    given = list(replies(tests))
    asked = {reply.action for reply in given}
    return {
        f"{name}_PRECISION": [
            Sample(reply.test, 100.0 * (reply.action in _SCORED[name][1]))
            for reply in given
            if asked & {*_SCORED[name][1]} and any(has_keyword(reply.text, each) for each in of_metric)
        ]
        for name, of_metric in keywords.items()
    }


def confusion(tests: Iterable[SimulatorTest]) -> dict[str, Counter[str]]:
    """Count how often each action (as assigned by people) was tracked as which (AIE, figure 3c)."""
    tracked = grouped((reply.action, reply.tracked) for reply in replies(tests) if reply.tracked is not None)
    return {action: Counter(found) for action, found in tracked.items()}


def beside_people(
    tests: Iterable[SimulatorTest], definition: Definition = "sound", people: Iterable[SimulatorTest] | None = None
) -> dict[str, list[tuple[float, float]]]:
    """Return pairs of a simulator's and a person's value on the same question, one per reply (AIE, figure 3b).

    LENGTH (characters), and the metrics by :func:`score_simulator`'s names. With ``people`` (a test file with people's
    replies) all of them. Without it, the expected answers replace people's replies, and ACCURACY and PASSIVE, which are
    measured against these answers, are left out.
    """
    human_replies = None if people is None else {reply.place: reply.text for reply in replies(people)}
    pairs: dict[str, list[tuple[float, float]]] = {}
    for reply in replies(tests):
        person = reply.human if human_replies is None else human_replies.get(reply.place)
        if person is None:
            continue
        human_reply = replace(reply, text=person)
        pairs.setdefault("LENGTH", []).append((float(len(reply.text)), float(len(person))))
        for name, (metric, actions) in _SCORED.items():
            if reply.action in actions and (human_replies is not None or actions != EFFECTIVE):
                pairs.setdefault(name, []).append((metric(reply, definition), metric(human_reply, definition)))
    return pairs


def _overlap(reply: Reply, other: str, definition: Definition) -> Overlap:
    if definition == "sound":
        return rouge_1(words(reply.text), words(other))
    return rouge_1(rouge_chinese_words(_published(reply.text)), rouge_chinese_words(other))


def _published(text: str) -> str:
    return text.replace(" ", "") or "None"


def has_keyword(text: str, keywords: str, definition: Definition = "sound") -> bool:
    """Whether a reply has one of these keywords: of DENIAL, ASKS_BACK, or the answers to DEMAND and OTHER_TOPIC."""
    if definition == "paper" or language_of(text) == "zh":
        found: Sequence[str] = _KEYWORDS["zh"][keywords].split()
        read = _published(text) if definition == "paper" else text
        return any(keyword in read for keyword in found)
    return re.search(_KEYWORDS["en"][keywords], text.translate(USUAL_SIGNS), re.IGNORECASE) is not None
