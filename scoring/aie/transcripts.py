"""AIE's cases, transcripts and simulator tests, and the codes of a doctor's actions."""

import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, AliasPath, BeforeValidator, Field

from cases import Problem
from cases.importers.choices import closing_question, letter, lettered
from scoring.records import ForeignModel, Oddity, Reading, Text, number_of, read_records, repeated, with_warnings

ACTIONS = {
    "O": "Initialization",
    "A-A-A": "Effective Inquiry",
    "A-A-B": "Ineffective Inquiry",
    "A-B": "Ambiguous Inquiry",
    "B-A-A": "Effective Advice",
    "B-A-B": "Ineffective Advice",
    "B-B": "Ambiguous Advice",
    "C": "Demand",
    "D": "Other Topic",
    "E": "Conclusion",
}
CODES = {action: code for code, action in ACTIONS.items()}
INQUIRIES = ("A-A-A", "A-A-B", "A-B")
ADVICE = ("B-A-A", "B-A-B", "B-B")
TELLING = ("O", "A-A-A", "B-A-A")  # actions after which the patient tells what is on record

Test = TypeVar("Test")
_ROUND = re.compile(r"0|[1-9]\d*", re.ASCII)


def _options(value: Any) -> Any:
    """Return options by upper-case letter (or number), also from ``(A) ... (B) ...`` or a list."""
    if isinstance(value, Mapping):
        by_letter = {letter(key): text for key, text in value.items()}
        return by_letter if len(by_letter) == len(value) else value
    if isinstance(value, str):
        return lettered(value) or {}
    return {} if value is None else lettered(value) or value


def _letter(value: str) -> str:
    """Return the letter (or number) that an answer is, as the options have it; other answers as they are."""
    found = letter(value)
    return found if len(found) == 1 or found.isdecimal() else value


def _raw(name: str, **more: Any) -> Any:
    return Field(validation_alias=AliasPath("raw_data", name), **more)


class AieTurn(ForeignModel):
    """The doctor's words, their action, and the patient's answer, if any."""

    doctor: str
    state: str = Field(default="", description="A code of ACTIONS; empty where nobody tracked actions.")
    patient: str | None = None


class AieTranscript(ForeignModel):
    """One case with its consultation; a case not yet played has only its first turn and no diagnosis."""

    id: Text
    dataset: str | None = Field(default=None, description="The examination from which a case of MedicalExam comes.")
    record: str = _raw("question", min_length=1)
    options: Annotated[dict[str, Text | None], BeforeValidator(_options)] = _raw("options", default_factory=dict)
    answer_idx: Annotated[Text, AfterValidator(_letter)] = _raw("answer_idx")
    written_idx: Text = _raw("answer_idx", default="", description="The right letter as the file has it.")
    answer: Text | None = _raw("answer", default=None)
    question: str | None = None
    history: list[AieTurn]
    diagnosis: Text | None = None

    @property
    def has_right_option(self) -> bool:
        """Whether the right letter is known and, where there are options, one of these, so that it can be chosen."""
        return bool(self.answer_idx) and (not self.options or self.answer_idx in self.options)

    @property
    def played(self) -> bool:
        """Whether the doctor said or chose anything after the opening."""
        return len(self.history) > 1 or self.diagnosis is not None

    @property
    def untracked(self) -> bool:
        """Whether no turn but the conclusion names an action, where a tracker names one for each."""
        states = {turn.state for turn in self.history} - {CODES["Conclusion"]}
        return bool(states) and states.isdisjoint(ACTIONS)

    @property
    def right(self) -> str:
        """The right answer as text: the option's, or the answer itself if there are no options."""
        return self.options.get(self.answer_idx) or self.answer or self.answer_idx

    @property
    def case(self) -> str:
        """The number in the authors' files, prefixed by the examination for MedicalExam."""
        number = number_of(self.id, self.dataset or "HospitalCases")
        return f"{self.dataset}/{number}" if self.dataset else number

    @property
    def asked(self) -> str:
        """The closing question; if the files repeat the record as the question, only that with which it closes."""
        asked = (self.question or "").strip()
        if asked and " ".join(self.findings.split()) not in " ".join(asked.split()):
            return asked
        return closing_question(self.record)[1]

    @property
    def findings(self) -> str:
        """The record without the closing question, which a patient could not tell."""
        record = self.record.strip()
        asked = (self.question or "").strip()
        repeated = asked and asked != record and record.endswith(asked)
        return (record.removesuffix(asked).rstrip() if repeated else closing_question(record)[0]) or self.record


class SimulatorReply(ForeignModel):
    """One test of a patient simulator: the doctor's words, the answer expected by people, and the simulator's reply."""

    human_state: str | None = None
    human_answer: str | None = None
    question: str | None = None
    answer: str | None = None
    state_prediction: str | None = None
    prediction: str | None = None


class Exchange(ForeignModel):
    """An exchange before a test."""

    doctor: str
    patient: str | None = None


class SimulatorTest(ForeignModel):
    """One patient with the tests of each round, by the action they were written for."""

    id: Text
    record: str = _raw("question", min_length=1)
    history: list[Exchange] = Field(
        default=[], description="The dialogue; the test of a round knows its turns up to that round."
    )
    patient_test: dict[str, dict[str, SimulatorReply]]


def each_test(rounds: Mapping[str, Mapping[str, Test]]) -> Iterator[tuple[str, str, Test]]:
    """Yield every test of a patient with its round and the action (a code) that it was written for."""
    return ((turn, code, test) for turn, by_code in rounds.items() for code, test in by_code.items())


def read_aie(path: str | Path) -> Reading[AieTranscript]:
    """Read cases (HospitalCases, MedicalExam) or transcripts; unknown actions and answers are warnings."""
    reading = read_records(path, AieTranscript)
    twice = repeated(one.case for one in reading.records)
    return with_warnings(reading, chain(_odd_transcripts(reading.records), twice))


def read_simulator_tests(path: str | Path) -> Reading[SimulatorTest]:
    """Read simulator tests; a non-numeric round is an error, an action without a code of ACTIONS a warning."""
    reading = read_records(path, SimulatorTest)
    strange = [
        Problem(str(path), f"patient {test.id}", f"patient_test.{turn}", "is not a round number; expected 0, 1, 2, ...")
        for test in reading.records
        for turn in test.patient_test
        if not _ROUND.fullmatch(turn)
    ]
    return with_warnings(replace(reading, problems=reading.problems + strange), _odd_tests(reading.records))


def _odd_transcripts(transcripts: list[AieTranscript]) -> Iterator[Oddity]:
    if untracked := [one for one in transcripts if one.untracked]:
        others = f" and {len(untracked) - 1} more" if len(untracked) > 1 else ""
        found = sorted({turn.state for one in untracked for turn in one.history} - ACTIONS.keys())
        yield (
            f"case {untracked[0].case}{others}",
            "history",
            f"no metric of actions is scored: expected one of {', '.join(ACTIONS)} as each turn's 'state', found only "
            f"{reprlib.repr(found)}",
        )
    for transcript in transcripts:
        name = f"case {transcript.case}"
        for number, turn in enumerate(transcript.history):
            if not transcript.untracked and turn.state not in ACTIONS:
                yield name, f"history.{number}.state", _unknown_action(turn.state)
        if transcript.options and not transcript.has_right_option:
            expected = f"expected one of the options {', '.join(transcript.options)}, found {transcript.answer_idx!r}"
            yield name, "raw_data.answer_idx", f"{expected}; DIAGNOSIS is not scored in sound mode"


def _odd_tests(tests: list[SimulatorTest]) -> Iterator[Oddity]:
    for test in tests:
        for turn, action, reply in each_test(test.patient_test):
            if (reply.human_state or action) not in ACTIONS:
                field = f"patient_test.{turn}.{action}.human_state"
                yield f"patient {test.id}", field, _unknown_action(reply.human_state or action)


def _unknown_action(code: str) -> str:
    return f"expected an action ({', '.join(ACTIONS)}), found {code!r}; it counts as no action"
