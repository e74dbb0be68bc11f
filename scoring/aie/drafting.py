"""Drafts of a patient simulator's test set: a model plays both sides of a consultation and words a test of each kind.

AIE, section 2.2.1: after each number of exchanges from none to nine, a doctor's words of eight kinds with what the
patient is to answer; people correct them. What nobody has checked has no ``human_state`` and no ``human_answer``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from cases.case import Case
from cases.strict import Strict
from cases.text.record_sentences import RecordSentence, record_sentences
from llm import AnswerError, ModelSettings, Role, ask
from nodes.patients.saps.state_tracker import Action
from nodes.state.chart import Turn
from scoring.aie.simulator_set import record_of
from scoring.aie.transcripts import CODES

ROUNDS = 10
_TREATED = ("present_illness", "past_history")  # where the record says how a treatment has worked


class DraftedTest(Strict):
    """A doctor's words, and what the patient is to answer."""

    doctor: str = Field(min_length=1)
    patient: str = Field(min_length=1)
    facts: list[int] = Field(
        default_factory=list, description="Of an effective one: the numbers of the facts told. Else empty."
    )


class DraftedRound(Strict):
    """A test of each kind; an effective one is null if the record holds nothing more of its kind."""

    effective_inquiry: DraftedTest | None
    ineffective_inquiry: DraftedTest
    ambiguous_inquiry: DraftedTest
    effective_advice: DraftedTest | None
    ineffective_advice: DraftedTest
    ambiguous_advice: DraftedTest
    demand: DraftedTest
    other_topic: DraftedTest

    @property
    def by_kind(self) -> dict[str, DraftedTest]:
        """The tests that there are, by field."""
        return {name: test for name in KINDS if (test := getattr(self, name)) is not None}


KINDS: Mapping[str, Action] = {
    "effective_inquiry": "Effective Inquiry",
    "ineffective_inquiry": "Ineffective Inquiry",
    "ambiguous_inquiry": "Ambiguous Inquiry",
    "effective_advice": "Effective Advice",
    "ineffective_advice": "Ineffective Advice",
    "ambiguous_advice": "Ambiguous Advice",
    "demand": "Demand",
    "other_topic": "Other Topic",
}


@dataclass(frozen=True)
class DraftView:
    """What the writer sees: the record, what was said so far, and the doctor's words of earlier tests."""

    facts: list[RecordSentence]
    dialogue: list[Turn]
    used: list[str]


def _nobody(view: DraftView) -> DraftedRound:
    """Offline: there is no rule; what rules would word, rules would recognise."""
    raise AnswerError("test items are drafted by a model; name one")


def _fits(view: DraftView, answer: DraftedRound) -> str | None:
    """What is wrong: words that were used, facts that there are not or that nothing entitles to."""
    used = {_folded(words) for words in view.used}
    for kind, test in answer.by_kind.items():
        if _folded(test.doctor) in used:
            return f"{kind}: the doctor's words {test.doctor!r} stand in another test; word another"
        used.add(_folded(test.doctor))
        if not kind.startswith("effective"):
            if test.facts:
                return f"{kind}: no fact may be told after it; leave facts empty"
        elif not test.facts or not all(1 <= number <= len(view.facts) for number in test.facts):
            return f"{kind}: give the numbers (1 to {len(view.facts)}) of the facts that answer it, or null"
        elif kind == "effective_advice" and not all(
            fact.is_result or fact.section in _TREATED for fact in (view.facts[number - 1] for number in test.facts)
        ):
            return f"{kind}: its facts must be results, or tell how a treatment has worked"
    return None


test_writer = Role("test_writer", "evaluation", "saps/test_writer", DraftedRound, offline=_nobody, check=_fits)


@dataclass(frozen=True)
class Draft:
    """The drafted tests of a case."""

    record: dict[str, Any]  # in the authors' form
    facts: dict[tuple[str, str], str]  # the sentences of the record that an answer tells, by round and code


async def draft(case: Case, settings: ModelSettings, rounds: int = ROUNDS) -> Draft:
    """The tests of a case, round by round.

    The dialogue goes on with each round's effective inquiry, in its last third with the effective advice.

    Raises:
        AskError: a round has no valid answer.
    """
    facts = record_sentences(case.patient, case.examinations, case.language)
    dialogue: list[Turn] = []
    used: list[str] = []
    tests: dict[str, dict[str, dict[str, str]]] = {}
    told: dict[tuple[str, str], str] = {}
    for turn in range(rounds):
        view = DraftView(facts, list(dialogue), list(used))
        answer = await ask(test_writer, view, settings, language=case.language, place=f"draft/{case.id}/round{turn}")
        for kind, test in answer.by_kind.items():
            code = CODES[KINDS[kind]]
            tests.setdefault(str(turn), {})[code] = {"question": test.doctor, "answer": test.patient}
            told[str(turn), code] = " ".join(facts[number - 1].text for number in dict.fromkeys(test.facts))
            used.append(test.doctor)
        asked, advised = answer.effective_inquiry, answer.effective_advice
        said = (advised or asked if 3 * turn >= 2 * rounds else asked or advised) or answer.ineffective_inquiry
        dialogue += [Turn(speaker="doctor", text=said.doctor), Turn(speaker="patient", text=said.patient)]
    record = {
        "id": case.id,
        "raw_data": {"question": record_of(case)},
        "history": _exchanges(dialogue[:-2]),  # no test knows what was said after the last round
        "patient_test": tests,
    }
    return Draft(record, told)


def _exchanges(dialogue: Sequence[Turn]) -> list[dict[str, str]]:
    return [
        {"doctor": doctor.text, "patient": patient.text}
        for doctor, patient in zip(dialogue[::2], dialogue[1::2], strict=True)
    ]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
