"""The exchanges of a dialogue, and people's marks of them (AI Hospital, section 6.1, appendix E).

Each exchange has four questions: does the reply fit what the doctor said, does it agree with the record, did the doctor
recommend an examination, did the examiner perform one. Where the first two annotators differ, the third decides.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cases import Case, Problem
from cases.text.record_sentences import facts_of
from nodes.offline.doctor_actions import is_vague
from nodes.offline.record_answers import tells_diagnosis
from nodes.offline.relevance import answering
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Turn
from scoring.aie.simulator_set import Played, SimulatorItem
from scoring.consultation import Exchange, doctor_turns
from scoring.metrics.samples import Sample
from scoring.records import read_sheet


def exchanges(dialogue: Sequence[Turn]) -> list[Exchange]:
    """Return the doctor's turns that were answered: #QA. The patient's first words answer nothing."""
    return [exchange for exchange in doctor_turns(dialogue) if exchange.reply]


def heard(exchange: Exchange) -> str:
    """Return the reply as heard by the doctor: the last words addressed to them."""
    return next((turn.text for turn in reversed(exchange.reply) if turn.addressee in (None, "doctor")), "")


def labelled(exchange: Exchange, case: Case, name: str) -> Played:
    """Label an exchange by rules for the judges' offline rules; no prompt shows the labels.

    If examinations were requested, their results are due, otherwise the sentences of the record that answer the
    question. After a stated diagnosis, the patient should ask back; later turns are the conclusion.
    """
    facts = facts_of(case)
    due = [fact.text for fact in answering(facts, exchange.doctor.text, case.language)]
    action: Action = "Effective Inquiry" if due else "Ineffective Inquiry"
    if any(turn.speaker == "doctor" and tells_diagnosis(turn.text) for turn in exchange.before):
        action, due = "Conclusion", []
    elif tells_diagnosis(exchange.doctor.text):
        action, due = "Ambiguous Inquiry", []
    elif exchange.examined:
        action = "Effective Advice" if due else "Ineffective Advice"
    elif is_vague(exchange.doctor.text, case.language):
        action, due = "Ambiguous Inquiry", []
    item = SimulatorItem(
        id=name,
        case_id=case.id,
        language=case.language,
        part="check",
        dialogue=list(exchange.before),
        doctor=exchange.doctor.text,
        action=action,
        expected=due,
    )
    return Played(item, "", heard(exchange))


QUESTIONS = ("relevant", "consistent", "recommended", "performed")
KEY = ("run", "case_id", "epoch", "round")
Key = tuple[str, ...]
Marks = Mapping[Key, Mapping[str, bool]]
_ANSWERS = {"yes": True, "y": True, "1": True, "是": True, "no": False, "n": False, "0": False, "否": False}


def read_marks(path: Path, *, some_blank: bool = False) -> tuple[Marks, list[Problem]]:
    """Read the marks of one annotator's sheet (of `score replies --sheet`) by round.

    Cells must be yes or no. With ``some_blank`` they may also be empty, as a third annotator leaves what is settled.
    """
    marks: dict[Key, dict[str, bool]] = {}
    _, rows, problems = read_sheet(path, (*KEY, *QUESTIONS))
    for line, row in rows:
        key = tuple(row[name].removeprefix("'") for name in KEY)
        given = {name: _ANSWERS.get(row[name].casefold()) for name in QUESTIONS}
        problems += [
            Problem(str(path), line, name, f"{row[name]!r} is neither yes nor no")
            for name, answer in given.items()
            if answer is None and not (some_blank and row[name] == "")
        ]
        if key in marks:
            problems.append(Problem(str(path), line, "round", "appears twice; expected each round once"))
        marks[key] = {name: answer for name, answer in given.items() if answer is not None}
    return marks, problems


def settle(first: Marks, second: Marks, third: Marks | None = None) -> tuple[dict[Key, dict[str, bool]], list[Key]]:
    """Return the final marks of every round that both marked, and the undecided rounds.

    Where the first two annotators agree, their answer stands; where they differ, the third's decides by majority.
    """
    final: dict[Key, dict[str, bool]] = {}
    undecided: list[Key] = []
    for key in (key for key in first if key in second):
        decides = (third or {}).get(key, {})
        settled = {
            name: first[key][name] if first[key][name] == second[key][name] else decides.get(name) for name in QUESTIONS
        }
        if None in settled.values():
            undecided.append(key)
        else:
            final[key] = {name: bool(answer) for name, answer in settled.items()}
    return final, undecided


def agreement(first: Marks, second: Marks) -> dict[str, list[Sample]]:
    """Return the percentage of rounds in which the first two annotators agree, by question; 0 to 100."""
    both = [key for key in first if key in second]
    return {
        name: [Sample(_case(key), 100.0 * (first[key][name] == second[key][name])) for key in both]
        for name in QUESTIONS
    }


def human_scores(final: Marks) -> dict[str, Sequence[Sample]]:
    """Return Rel, Con and Acc of the final marks, in percent; higher is better.

    ``Acc`` is the share of the performed examinations that the doctor had recommended: its denominator is Table 4's
    #Test (98.2 % there is 55 of 56). ``Acc (not recommended)`` follows the appendix: of the rounds without a
    recommendation, the share without an examination.
    """
    performed = {key: marks for key, marks in final.items() if marks["performed"]}
    not_recommended = {key: marks for key, marks in final.items() if not marks["recommended"]}
    return {
        "Rel": [Sample(_case(key), 100.0 * marks["relevant"]) for key, marks in final.items()],
        "Con": [Sample(_case(key), 100.0 * marks["consistent"]) for key, marks in final.items()],
        "Acc": [Sample(_case(key), 100.0 * marks["recommended"]) for key, marks in performed.items()],
        "Acc (not recommended)": [
            Sample(_case(key), 100.0 * (not marks["performed"])) for key, marks in not_recommended.items()
        ],
    }


def _case(key: Key) -> str:
    return key[1]
