import re
import threading
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.stage import build_stage
from nodes.state.decisions import Referral, Triage
from nodes.workflow.general_agent import Proposal, weigh_or_give_way
from nodes.workflow.stages import STAGES
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import (
    Verdicts,
    accept,
    asked_of,
    calls,
    findings,
    most_at_once,
    object_always,
    script,
    seats,
    words,
)
from tests.support.fake_server import ChatRequest, FakeServer

# Who has to work with a decision: the physicians of the stages that come after it (MedChain, B.2).
PHYSICIANS_OF_LATER_STAGES = {
    "referral.level1": {"history_taking", "examination", "diagnosis", "treatment"},
    "referral.level2": {"history_taking", "examination", "diagnosis", "treatment"},
    "history_taking.physical": {"examination", "diagnosis", "treatment"},
    "history_taking.auxiliary": {"examination", "diagnosis", "treatment"},
    "examination": {"diagnosis", "treatment"},
    "diagnosis": {"treatment"},
    "treatment": {"follow_up"},
}
EACH_STAGE = pytest.mark.parametrize("stage", PHYSICIANS_OF_LATER_STAGES)


@cache
def graph_of(stage: str) -> Any:
    return build_stage(STAGES[stage]).compile()


def start_of(stage: str) -> dict[str, Any]:
    start = findings(results={"CT": "A nodule of 8 mm in the left lung.", "Blood Test": "Normal."})
    return {**start, "image_class": "CT"} if stage == "examination" else start


def run(stage: str, **context: Any) -> dict[str, Any]:
    result: dict[str, Any] = graph_of(stage).invoke(start_of(stage), context={"retrieval": False, **context})
    return result


def record_of(result: dict[str, Any]) -> Any:
    [record] = result["decisions"]
    return record


@EACH_STAGE
def test_a_stage_ends_agreed_at_once_when_every_judge_accepts_the_first_decision(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", accept)
    result = run(stage)
    assert (record_of(result).ended, len(record_of(result).rounds)) == ("agreed", 1)
    assert len(calls(result, "general")) == 6 and len(calls(result, "summarizing")) == 1


@EACH_STAGE
def test_a_stage_ends_agreed_when_the_only_objection_is_met_by_the_revision(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judges = sorted(PHYSICIANS_OF_LATER_STAGES[stage])
    script(monkeypatch, "feedback", Verdicts({judges[-1]: [False]}))
    result = run(stage)
    record = record_of(result)
    assert (record.ended, len(record.rounds)) == ("agreed", 2)
    assert [item.judge for item in record.rounds[0].judgements if not item.verdict.accepted] == [judges[-1]]
    assert all(item.verdict.accepted for item in record.rounds[1].judgements)
    assert len(calls(result, "general")) == 9, "two rounds of talk at first, one after the objection"


@EACH_STAGE
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_a_stage_ends_exhausted_when_a_judge_never_agrees_and_its_last_revision_was_judged_too(
    stage: str, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", object_always)
    result = run(stage, max_feedback_rounds=rounds)
    record = record_of(result)
    assert record.ended == "exhausted"
    assert len(record.rounds) == rounds + 1
    assert [{item.judge for item in each.judgements} for each in record.rounds] == [
        PHYSICIANS_OF_LATER_STAGES[stage]
    ] * (rounds + 1)
    assert len(calls(result, "summarizing")) == rounds + 1


@EACH_STAGE
def test_with_feedback_off_nobody_is_asked_to_judge_and_the_record_says_so(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", object_always)
    result = run(stage, feedback="off")
    assert calls(result, "feedback") == []
    assert record_of(result).ended == "not_judged"
    assert [each.judgements for each in record_of(result).rounds] == [[]]


@EACH_STAGE
def test_feedback_of_the_same_stage_asks_one_judge_who_is_a_physician_of_that_stage(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", accept)
    result = run(stage, feedback="same_stage")
    [verdict] = record_of(result).rounds[0].judgements
    assert verdict.judge == stage.split(".")[0]
    [call] = calls(result, "feedback")
    assert f"responsible for: {stage.split('.')[0].replace('_', ' ')}." in words(call)


@EACH_STAGE
def test_downstream_feedback_asks_exactly_the_physicians_of_the_later_stages(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", accept)
    result = run(stage)
    asked = Counter(
        words(call).split("responsible for: ")[1].split(".")[0].replace(" ", "_") for call in calls(result, "feedback")
    )
    assert asked == Counter(PHYSICIANS_OF_LATER_STAGES[stage])


@EACH_STAGE
def test_a_single_agents_proposal_is_the_decision_without_a_summarizing_call(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, "feedback", Verdicts({min(PHYSICIANS_OF_LATER_STAGES[stage]): [False]}))
    result = run(stage, general_agents=1, discussion_rounds=3)
    assert calls(result, "summarizing") == []
    proposals = calls(result, "general")
    assert len(proposals) == 2, "one at first, one after the objection"
    assert [each.decision for each in record_of(result).rounds] == [call.answer["decision"] for call in proposals]


@pytest.mark.parametrize("agents", [2, 3, 5])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_each_agent_speaks_once_in_each_round_of_the_discussion(agents: int, rounds: int) -> None:
    result = run("diagnosis", general_agents=agents, discussion_rounds=rounds, feedback="off")
    assert {call.id for call in calls(result, "general")} == {
        f"diagnosis/general/discussion{talk}/seat{seat + 1}" for talk in range(rounds) for seat in range(agents)
    }


@pytest.mark.parametrize("feedback", ["downstream", "same_stage"])
def test_with_retrieval_off_no_memory_is_opened_in_discussion_verdicts_or_revisions_and_no_prompt_shows_earlier_cases(
    feedback: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a memory was opened")

    monkeypatch.setattr("nodes.workflow.case_retrieval.open_memory", refuse)
    script(monkeypatch, "feedback", object_always)
    for stage in STAGES:
        result = run(stage, feedback=feedback, max_feedback_rounds=1)
        assert calls(result, "refiner") == []
        assert not any("earlier case" in words(call).lower() for call in calls(result))


REMEMBERED = RememberedCase(
    id="earlier",
    verified=True,
    age_years=66,
    sex="male",
    chief_complaint="his complaint",
    symptoms="his symptoms",
    history="his history",
    physical_examination={"Skin Examination": "his finding"},
    auxiliary_examination={"Stool Test": "his result"},
    imaging_report={"CT": "his report", "X-ray": "his other report"},
    diagnosis=["his disease"],
    treatment_items=["Radiotherapy"],
    department="Pediatrics",
    sub_departments=["Neonatology"],
)
NEEDED = {
    "referral.level1": "66 years, male: his complaint. Department: Pediatrics.",
    "referral.level2": "66 years, male: his complaint. Sub-department: Neonatology.",
    "history_taking.physical": "66 years, male: his complaint. Examined: Skin Examination.",
    "history_taking.auxiliary": "66 years, male: his complaint. Diagnosis: his disease. Tests done: Stool Test.",
    "examination": "66 years, male. Imaging report: CT: his report.",
    "diagnosis": "66 years, male: his symptoms. Diagnosis: his disease.",
    "treatment": "66 years, male. Diagnosis: his disease. Treatment: Radiation Therapy.",
}


@EACH_STAGE
def test_who_discusses_decides_or_judges_is_shown_of_another_patient_what_the_stage_needs_and_in_a_fence_of_its_own(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def recalled(*_: Any) -> list[Neighbour]:
        return [Neighbour(REMEMBERED, 0.9)]

    monkeypatch.setattr("nodes.workflow.case_retrieval.neighbours_for", recalled)
    result = graph_of(stage).invoke(start_of(stage), context={"retrieval": True})
    for call in calls(result):
        before, _, rest = words(call).partition('<data name="earlier cases, other patients">\n')
        told, _, _ = rest.partition("\n</data>")
        if "/discussion1/" in call.id:  # weighed in the doctor's own view, which stands there
            assert not told and "is your own view" in before
            continue
        assert told == f"1. {NEEDED[stage]}"
        assert "Other patients" in before[-200:]
    assert {call.role for call in calls(result)} == {"general", "summarizing", "feedback"}
    [event] = result["trace"].events
    assert event.event == "recalled" and event.stage == stage
    shown = {"case": REMEMBERED.id, "similarity": 0.9, "verified": True, "diagnosis": REMEMBERED.diagnosis}
    assert event.content == {"symptoms": start_of(stage)["symptoms"], "cases": [shown]}


@pytest.mark.parametrize(
    ("stage", "departments"),
    [
        ("referral.level1", None),
        ("referral.level2", {"Pediatrics"}),
        ("diagnosis", {"Surgery"}),
    ],
)
def test_earlier_cases_are_recalled_from_the_department_that_has_the_case_and_at_the_first_referral_from_all(
    stage: str, departments: set[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {**start_of(stage), "triage": Triage(urgency="routine", department="Pediatrics")}
    start["referral"] = Referral(urgency="routine", department="Surgery", sub_departments=["General Surgery"])
    told = []

    def look(view: Any) -> Proposal[Any]:
        told.extend(neighbour.case.department for neighbour in view.neighbours if not neighbour.aside)
        return weigh_or_give_way(view)

    script(monkeypatch, "general", look)
    graph_of(stage).invoke(start, context={"retrieval": True, "neighbours": 9, "feedback": "off"})
    assert told
    assert set(told) == departments if departments else len(set(told)) > 1


def test_a_memory_that_is_needed_and_cannot_be_opened_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("no memory here")

    monkeypatch.setattr("nodes.workflow.case_retrieval.open_memory", refuse)
    with pytest.raises(OSError, match="no memory here"):
        run("diagnosis", retrieval=True)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_over_a_server_whoever_revises_decides_or_judges_reads_all_decisions_objections_and_replies_of_the_stage(
    language: str,
) -> None:
    made: Counter[str] = Counter()

    def answer(request: ChatRequest) -> dict[str, Any] | None:
        round_ = made[request.model]
        made[request.model] += 1
        names = {"names": [f"disease {round_}"], "basis": ""}
        match request.model:
            case "feedback":
                return {"accepted": round_ == 2, "reason": f"objection {round_}"}
            case "summarizing":
                return {"reply": f"reply {round_}", "decision": names} if round_ else names
        return {"reasoning": "", "decision": {"names": ["a proposal"], "basis": ""}}

    with FakeServer(answer=answer) as server:
        context = {"retrieval": False, "models": seats(server), "general_agents": 2, "discussion_rounds": 1}
        result = graph_of("diagnosis").invoke(start_of("diagnosis"), context={**context, "language": language})

    assert [(each.decision["names"], each.reply) for each in record_of(result).rounds] == [
        (["disease 0"], ""),
        (["disease 1"], "reply 1"),
        (["disease 2"], "reply 2"),
    ]
    assert [request.model for request in server.requests] == ["general", "general", "summarizing", "feedback"] * 3
    for request in server.requests:
        round_ = request.index // 4
        decided = round_ + (request.model == "feedback")
        read = {what: re.findall(rf"{what} (\d)$", request.text, re.MULTILINE) for what in ("objection", "reply")}
        assert read["objection"] == [str(earlier) for earlier in range(round_)]
        assert read["reply"] == [str(earlier) for earlier in range(1, decided)]
        assert re.findall(r"disease (\d)", request.text) == [str(earlier) for earlier in range(decided)]


def test_the_physician_who_accepts_is_named_and_has_no_say_in_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "feedback", Verdicts({"diagnosis": [False], "treatment": [True]}))
    result = run("history_taking.physical", discussion_rounds=1)
    for call in calls(result, "general", place="discussion1"):
        assert "Accepted by the physician for treatment." in words(call) and "fine" not in words(call)
    assert record_of(result).ended == "agreed"


def test_a_single_agent_answers_an_objection_with_its_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", NumberedViews())
    script(monkeypatch, "feedback", Verdicts({"treatment": [False]}))
    result = run("diagnosis", general_agents=1)
    assert [each.reply for each in record_of(result).rounds] == ["", "said by 1 in talk 1"]
    assert "said by 1 in talk 1" in words(calls(result, "feedback", place="round1")[0])


class NumberedViews:
    """General agents who say the same, but number what they say."""

    def __init__(self) -> None:
        self.spoken: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __call__(self, view: Any) -> Proposal[Any]:
        with self._lock:
            talk = self.spoken[view.seat]
            self.spoken[view.seat] += 1
        decision = view.stage.decision.model_validate({"names": ["Bronchitis"], "basis": ""})
        return Proposal(decision=decision, reasoning=f"said by {view.seat} in talk {talk}")


def test_each_agent_sees_the_others_last_views_and_its_own_and_nothing_older(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "general", NumberedViews())
    script(monkeypatch, "feedback", Verdicts({"treatment": [False]}))
    result = run("diagnosis", discussion_rounds=2)
    every = {(seat, talk): f"said by {seat} in talk {talk}" for seat in (1, 2, 3) for talk in range(3)}
    for talk in range(3):
        for seat in (1, 2, 3):
            [call] = [
                call for call in calls(result, "general", place=f"discussion{talk}") if call.id.endswith(f"seat{seat}")
            ]
            seen = {place for place, said in every.items() if said in words(call)}
            assert seen == ({(each, talk - 1) for each in (1, 2, 3)} if talk else set())
            assert (f"What doctor {seat} said is your own view" in words(call)) == (talk > 0)
    for round_, talk in ((0, 1), (1, 2)):
        [summary] = calls(result, "summarizing", place=f"round{round_}")
        seen = {place for place, said in every.items() if said in words(summary)}
        assert seen == {(seat, talk) for seat in (1, 2, 3)}, "the senior doctor weighs the last views"


@pytest.mark.parametrize(
    ("language", "senior", "generalist"),
    [
        ("en", "the senior doctor", "the primary care physician"),
        ("zh", "上级医师", "全科医师"),
    ],
)
def test_who_closes_the_discussion_is_the_senior_doctor_or_a_generalist(
    language: str, senior: str, generalist: str
) -> None:
    for decider, named, other in (("senior", senior, generalist), ("generalist", generalist, senior)):
        told = [words(call) for call in calls(run("diagnosis", decider=decider, language=language), "summarizing")]
        assert told and all(named in text and other not in text for text in told)


def test_each_judge_is_shown_the_decision_that_is_to_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def revise(view: Any) -> Proposal[Any]:
        name = "Revised disease" if view.objections else "First disease"
        return Proposal(decision=view.stage.decision.model_validate({"names": [name], "basis": ""}), reasoning="")

    script(monkeypatch, "general", revise)
    script(monkeypatch, "feedback", Verdicts({"treatment": [False]}))
    result = run("diagnosis")
    first, second = calls(result, "feedback")
    assert "First disease" in words(first) and "Revised disease" not in words(first)
    assert [re.findall('name="([^"]*)">\n(?:First|Revised)', words(call)) for call in (first, second)] == [
        ["the group's decision"],
        ["decision 1", "the group's decision"],
    ]
    assert result["diagnosis"].names == ["Revised disease"]
    assert [each.decision["names"] for each in record_of(result).rounds] == [["First disease"], ["Revised disease"]]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_the_judges_say_a_stage_ends_in_time_and_says_rightly_how(data: st.DataObject) -> None:
    stage = data.draw(st.sampled_from(sorted(STAGES)))
    bound = data.draw(st.integers(0, 4))
    judges = sorted(PHYSICIANS_OF_LATER_STAGES[stage])
    verdicts = {judge: data.draw(st.lists(st.booleans(), max_size=bound + 1)) for judge in judges}
    said = [
        [verdict[round_] if round_ < len(verdict) else True for verdict in verdicts.values()] for round_ in range(5)
    ]
    agreed_in = next((round_ for round_ in range(bound + 1) if all(said[round_])), None)

    with pytest.MonkeyPatch.context() as patch:
        script(patch, "feedback", Verdicts(verdicts))
        result = run(stage, max_feedback_rounds=bound, general_agents=data.draw(st.integers(1, 3)))

    record = record_of(result)
    assert record.ended == ("exhausted" if agreed_in is None else "agreed")
    assert len(record.rounds) == (bound if agreed_in is None else agreed_in) + 1
    for round_, each in enumerate(record.rounds):
        assert [item.judge for item in each.judgements] == judges
        assert [item.verdict.accepted for item in each.judgements] == said[round_]
    assert len(calls(result, "feedback")) == len(judges) * len(record.rounds)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_members_of_a_group_speak_at_once_and_so_do_its_judges(how: str) -> None:
    with FakeServer(latency=0.4) as server:
        context = {"retrieval": False, "models": seats(server), "discussion_rounds": 1, "general_agents": 4}
        if how == "invoke":
            graph_of("referral.level1").invoke(start_of("referral.level1"), context=context)
        else:
            await graph_of("referral.level1").ainvoke(start_of("referral.level1"), context=context)
    assert most_at_once(asked_of(server, "general")) == 4
    assert most_at_once(asked_of(server, "feedback")) == 4
    assert len(asked_of(server, "summarizing")) == 1
