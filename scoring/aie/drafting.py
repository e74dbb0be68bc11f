"""Drafts of a simulator test set: a model plays both sides of a consultation and writes a test of each kind.

AIE, section 2.2.1: after each number of exchanges from zero to nine, eight kinds of doctor's turns with the expected
patient's answer, to be corrected by people. Unchecked tests have no ``human_state`` and no ``human_answer``.
"""

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from cases.case import Case
from cases.strict import Strict
from cases.text.record_sentences import RecordSentence, facts_of
from llm import AnswerError, ModelSettings, Role, ask
from nodes.state.chart import Turn
from scoring.aie.simulator_set import record_of
from scoring.aie.transcripts import ACTIONS

ROUNDS = 10
_CODES = {action.lower().replace(" ", "_"): code for code, action in ACTIONS.items()}  # by field of a round
_TREATED = ("present_illness", "past_history")  # sections that say how a treatment has worked


class DraftedTest(Strict):
    """A doctor's words, and what the patient is to answer."""

    doctor: str = Field(min_length=1)
    patient: str = Field(min_length=1)
    facts: list[int] = Field(
        default_factory=list, description="For an effective test, the numbers of the facts told; otherwise empty."
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
        """The existing tests by field."""
        return {name: test for name in type(self).model_fields if (test := getattr(self, name)) is not None}


@dataclass(frozen=True)
class DraftView:
    """What the writer sees: the record, the dialogue so far, and the doctor's words of earlier tests."""

    facts: list[RecordSentence]
    dialogue: list[Turn]
    used: list[str]


def _no_rule(view: DraftView) -> DraftedRound:
    """Fail offline: whatever rules could write, rules would also recognise."""
    raise AnswerError("test items must be drafted by a model; name one")


def _fits(view: DraftView, answer: DraftedRound) -> str | None:
    """Return what is wrong: repeated words, or facts that do not exist or do not belong to the kind of test."""
    used = {_folded(words) for words in view.used}
    for kind, test in answer.by_kind.items():
        if _folded(test.doctor) in used:
            return f"{kind}: the doctor's words {test.doctor!r} are already used in another test; use different words"
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


test_writer = Role("test_writer", "evaluation", "saps/test_writer", DraftedRound, offline=_no_rule, check=_fits)


@dataclass(frozen=True)
class Draft:
    """The drafted tests of a case."""

    record: dict[str, Any]  # in the authors' format
    facts: dict[tuple[str, str], str]  # the record's sentences told by an answer, by round and code


async def draft(case: Case, settings: ModelSettings, rounds: int = ROUNDS) -> Draft:
    """Draft the tests of a case, round by round.

    The dialogue continues with each round's effective inquiry or, in its last third, effective advice.

    Raises:
        AskError: a round has no valid answer.
    """
    facts = facts_of(case)
    dialogue: list[Turn] = []
    used: list[str] = []
    tests: dict[str, dict[str, dict[str, str]]] = {}
    facts_told: dict[tuple[str, str], str] = {}
    for turn in range(rounds):
        view = DraftView(facts, list(dialogue), list(used))
        answer = await ask(test_writer, view, settings, language=case.language, place=f"draft/{case.id}/round{turn}")
        for kind, test in answer.by_kind.items():
            code = _CODES[kind]
            tests.setdefault(str(turn), {})[code] = {"question": test.doctor, "answer": test.patient}
            facts_told[str(turn), code] = " ".join(facts[number - 1].text for number in dict.fromkeys(test.facts))
            used.append(test.doctor)
        asked, advised = answer.effective_inquiry, answer.effective_advice
        chosen = (advised or asked if 3 * turn >= 2 * rounds else asked or advised) or answer.ineffective_inquiry
        dialogue += [Turn(speaker="doctor", text=chosen.doctor), Turn(speaker="patient", text=chosen.patient)]
    record = {
        "id": case.id,
        "raw_data": {"question": record_of(case)},
        "history": [  # no test uses the last exchange
            {"doctor": doctor.text, "patient": patient.text}
            for doctor, patient in zip(dialogue[:-2:2], dialogue[1:-2:2], strict=True)
        ],
        "patient_test": tests,
    }
    return Draft(record, facts_told)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
