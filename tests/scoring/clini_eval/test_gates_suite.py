"""The suite of the gates: a dialogue is scored by what it passes, and nobody is asked."""

import asyncio

import pytest

from cases import load_cases
from cases.dialogues import Dialogue, Message
from llm import ModelSettings
from llm.trace import Call, Trace, collecting_calls
from nodes.reconstruction.gates import GATES
from scoring.case_scores import CaseScores
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.suite import SUITES


def scores(answers: ReconstructionAnswers) -> CaseScores:
    with collecting_calls() as calls:
        found = asyncio.run(SUITES["gates"].score(load_cases()[0], answers, ModelSettings()))
    assert calls == []
    return found


@pytest.mark.parametrize(("weeks", "passed"), [("three", 1.0), ("77", 0.0)])
def test_a_gate_is_one_if_the_dialogue_passes_it_and_else_zero(weeks: str, passed: float) -> None:
    said = ["Hello, doctor.", "What is it?", f"I have had a cough for {weeks} weeks.", "Thank you."]
    messages = [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(said)]
    dialogue = Dialogue(id="a", messages=messages, note="Cough for 3 weeks.", objections=[])
    found = scores(ReconstructionAnswers(reconstructed=dialogue))
    of_numbers = dict.fromkeys(("numbers_of_the_note", "times_of_the_note"), passed)
    assert found.values == dict.fromkeys(GATES, 1.0) | of_numbers and not found.unscored
    unread = scores(ReconstructionAnswers(reconstructed=dialogue.model_copy(update={"objections": None})))
    assert unread.values == {**found.values, "entailed_by_the_note": None} and set(unread.unscored) == {
        "entailed_by_the_note"
    }


def test_without_a_dialogue_no_gate_is_scored() -> None:
    found = scores(ReconstructionAnswers())
    assert set(found.values.values()) == {None} and set(found.unscored) == set(GATES)


def test_the_gates_of_a_run_know_who_wrote_the_dialogue() -> None:
    said = [
        "Hello, doctor.",
        "Has anyone in the family been ill?",
        "There is alcohol abuse and gambling in the family.",
        "Thank you.",
    ]
    messages = [Message(role="assistant" if n % 2 else "user", content=text) for n, text in enumerate(said)]
    dialogue = Dialogue(id="a", messages=messages, note="Family history: unremarkable except for alcohol abuse.")
    for model, kept in (("offline", 0.0), ("openai:m", 1.0)):  # a rule has no words but the note's
        call = Call(
            id="a", role="dialogue_writer", stage="reconstruction", model=model, prompt="p", prompt_hash="h",
            started=0.0, seconds=0.0,
        )  # fmt: skip
        answers = ReconstructionAnswers.of({"dialogue": dialogue, "trace": Trace(calls=(call,))})
        assert answers.reconstructed and answers.reconstructed.models == [model]
        assert scores(answers).values["sentences_of_the_note"] == kept
