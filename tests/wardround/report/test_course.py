"""The course of a case as the report, the viewer and the exports tell it."""

from functools import partial

from llm.trace import Event, Trace
from scoring.clini_eval.dialogue import ReconstructionAnswers
from tests.support.recorded_runs import call, graded
from wardround.report.course import Said, Step, passages_of, said_in


def test_the_rounds_of_a_decision_tell_who_said_what_and_who_agreed() -> None:
    decision = partial(call, stage="diagnosis")
    named = {"names": ["Gout", "Sepsis"], "basis": "", "plan": [{"drug": "Colchicine", "days": 3}], "is_sure": False}
    calls = [
        call("history_taking/doctor/turn1"),
        decision("diagnosis/recall", "retriever", answer=[{"case": "Gout"}]),
        decision("diagnosis/visit1/discussion0/seat2", "general", answer={"accepted": True, "reason": None}),
        decision("diagnosis/seat3", "general", answer=None, error="model_error: gone"),
        decision("diagnosis/visit1/summarizing/round0", "summarizing", answer=named, seconds=2.0),
        decision("diagnosis/visit1/feedback/round0/drug_safety", "feedback", answer={"accepted": False}),
        decision("diagnosis/visit1/feedback/round0", "director", answer={"accepted": True}),
    ]
    result = graded("a", stages={"diagnosis": "exhausted"}, rounds={"diagnosis": 2})
    talk, diagnosis = passages_of(result, calls)
    assert (talk.ended, talk.rounds, talk.rounds_told, talk.calls) == ("", None, [], calls[:1])
    assert (diagnosis.ended, diagnosis.rounds, diagnosis.objections, diagnosis.seconds) == ("exhausted", 2, 1, 7.0)
    told = [("names", "Gout; Sepsis"), ("plan 1", "Colchicine; 3"), ("is sure", "no")]
    _, recall, second, third, named_by, safety, director = [one.id for one in calls]
    assert diagnosis.rounds_told == [
        ("", [Step(recall, "retriever", None, [("1", "Gout")], "")]),
        (
            "Visit 2, discussion 1",
            [Step(second, "general 2", True, [], ""), Step(third, "general 3", None, [], "model_error: gone")],
        ),
        (
            "Visit 2, round 1",
            [
                Step(named_by, "summarizing", None, told, ""),
                Step(safety, "feedback, drug safety", False, [], ""),
                Step(director, "director", True, [], ""),
            ],
        ),
    ]
    [without_an_end] = passages_of(graded("b"), calls[1:])
    assert without_an_end.rounds_told == diagnosis.rounds_told
    [without_a_round] = passages_of(result, calls[1:2])
    assert [title for title, _ in without_a_round.rounds_told] == [""]


def test_a_dialogue_that_no_graph_recorded_is_told_from_the_calls_of_its_turns() -> None:
    saps = partial(call, stage="saps", answer={"text": "Before the persona."})
    calls = [
        call("history_taking/doctor/turn1", answer={"text": "Where?"}),
        saps("saps/tracker/turn1", "tracker", answer={"action": "Inquiry"}),
        saps("saps/response_generator/turn1", "response_generator"),
        saps("saps/persona/turn1", "persona", answer={"text": "There."}),
        call("consultation/doctor/turn2", stage="consultation", answer={"text": "Since when?"}),
        call("consultation/patient/turn2", "patient", stage="consultation", answer={"text": "Since noon."}),
        call("diagnosis/summarizing", stage="diagnosis", answer={"text": "No turn."}),
    ]
    content = {"action": "Inquiry", "released": ["A sore foot."]}
    event = Event(id="saps/released_memory/turn1", event="released_memory", stage="saps", content=content)
    trace = Trace(calls=calls, events=[event])
    assert said_in(None, lambda: trace) == [
        Said("doctor", "Where?", "Inquiry"),
        Said("patient", "There.", facts=["A sore foot."]),
        Said("doctor", "Since when?"),
        Said("patient", "Since noon."),
    ]


def test_a_reconstructed_dialogue_names_its_speakers() -> None:
    said = [{"role": role, "content": role} for role in ("system", "assistant", "user")]
    answers = ReconstructionAnswers.model_validate({"reconstructed": {"id": "n", "messages": said, "note": "x"}})
    assert said_in(answers, Trace) == [Said("physician", "assistant"), Said("patient", "user")]
