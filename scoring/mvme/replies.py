"""The exchanges of a dialogue: a doctor's turn with its reply (AI Hospital, section 6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from cases import Case
from cases.text.record_sentences import facts_of
from nodes.offline.doctor_actions import is_vague
from nodes.offline.record_answers import tells_diagnosis, wants_examination
from nodes.offline.relevance import answering
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Turn
from scoring.aie.simulator_set import Played, SimulatorItem


@dataclass(frozen=True)
class Exchange:
    """A doctor's turn with its reply."""

    number: int  # of the doctor's turn, from 1
    before: Sequence[Turn]  # the dialogue before it
    doctor: Turn  # the doctor's turn
    reply: Sequence[Turn]  # turns of patient and examiner until the doctor's next turn

    @property
    def examined(self) -> bool:
        """Whether the patient went to the examiner; for a patient without one, whether results were requested."""
        to_examiner = any(turn.addressee == "examiner" for turn in self.reply)
        return to_examiner or (not self.addressed and wants_examination(self.doctor.text))

    @property
    def addressed(self) -> bool:
        """Whether turns have addressees: AI Hospital's patient speaks to the doctor or to the examiner."""
        return any(turn.addressee for turn in self.reply)


def exchanges(dialogue: Sequence[Turn]) -> list[Exchange]:
    """Return the doctor's turns that were answered: #QA. The patient's first words answer nothing."""
    starts = [place for place, turn in enumerate(dialogue) if turn.speaker == "doctor"]
    found = [
        Exchange(number, dialogue[:start], dialogue[start], dialogue[start + 1 : end])
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(dialogue)], strict=True), start=1)
    ]
    return [exchange for exchange in found if exchange.reply]


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
