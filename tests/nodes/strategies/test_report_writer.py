"""What experts who disagree report together without a model."""

from dataclasses import replace
from typing import Any

import pytest

from cases.vocabulary import DEPARTMENTS, TREATMENT_ITEMS
from nodes.state.decisions import Judgement, Verdict
from nodes.state.experts import Analysis, Expert, Synthesis
from nodes.state.stage import Options
from nodes.strategies.domain_expert import ExpertView, VoterView, accept_if_half_is_shared, analyse_by_rule
from nodes.strategies.report_writer import WriterView, most_proposed
from nodes.workflow.stages import STAGES, read_chart
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings

OBJECTION = Judgement(judge="1", verdict=Verdict(accepted=False, reason="No."))


def view_of(stage: str, proposals: list[list[str]], objections: bool, language: Any = "en") -> WriterView:
    chart = replace(read_chart(findings(), stage, None), language=language)  # type: ignore[arg-type]
    return WriterView(
        stage=STAGES[stage],
        chart=chart,
        image_class=None,
        options=Options((), language),
        neighbours=[],
        file=[],
        task="",
        purpose="",
        reports=[],
        analyses=[
            Analysis(team=0, seat=seat, expert=f"E{seat}", analysis="", proposal=proposal)
            for seat, proposal in enumerate(proposals, start=1)
        ],
        synthesis=None,
        objections=[OBJECTION] if objections else [],
    )


@pytest.mark.parametrize(
    ("stage", "proposals", "at_first", "after_objections"),
    [
        (
            "referral.level1",
            [["Internal Medicine"], ["Oncology"], ["Oncology"], ["Oncology"], ["Surgery"]],
            ["Oncology"],
            ["Oncology"],
        ),
        ("diagnosis", [["Gout"], ["Gout"], ["Insomnia"]], ["Gout"], ["Gout"]),
        ("diagnosis", [["Flu"], ["Gout"], ["gout"], ["Sepsis"]], ["Gout"], ["Gout"]),
        (
            "history_taking.auxiliary",
            [["Blood Test"], ["Blood Test", "CT"], ["Endoscopy"], ["Blood Test", "CT"], ["Blood Test"]],
            ["Blood Test"],
            ["Blood Test", "CT"],
        ),
        ("treatment", [["Medication"], ["Surgery"]], ["Medication", "Surgery"], ["Medication", "Surgery"]),
    ],
)
def test_an_objection_adds_what_a_second_expert_holds_and_no_second_answer_where_one_is_asked_for(
    stage: str, proposals: list[list[str]], at_first: list[str], after_objections: list[str]
) -> None:
    """Three of five sent a patient to oncology; after an objection the one who had said internal medicine decided."""
    for objections, expected in ((False, at_first), (True, after_objections)):
        assert most_proposed(view_of(stage, proposals, objections)).proposal == expected


def test_a_report_and_a_vote_call_a_department_a_department() -> None:
    """外科 was called 手术, and 中医科 by its English name."""
    written = most_proposed(view_of("referral.level1", [["Surgery"], ["Traditional Chinese Medicine"]], False, "zh"))
    assert written.report == "E1：外科\nE2：中医科"
    case = RememberedCase(id="near", verified=True, department="Surgery")
    view = view_of("referral.level1", [["Psychology"]], False, "zh")
    shared = {name: getattr(view, name) for name in ("stage", "chart", "image_class", "options", "file", "task")}
    voting: Any = {"expert": None, "seat": 1, "synthesis": view.analyses[0]}
    vote = accept_if_half_is_shared(VoterView(**shared, neighbours=[Neighbour(case, 0.9)], **voting))
    assert vote.reason == "相似病例有而此处没有：外科；相似病例少有：心理科"
    surgeons = Synthesis(team=0, report="", proposal=["Surgery"])
    assert surgeons.told("zh", Options(DEPARTMENTS.names, "zh")).endswith("外科")
    assert surgeons.told("zh", Options(TREATMENT_ITEMS.names, "zh")).endswith("手术")


def test_a_team_that_reviews_looks_at_something_else_than_the_one_before() -> None:
    """Two teams of three agents each wrote the same report of the same hard case."""
    written = view_of("diagnosis", [["Gout"]], False)
    gout = Neighbour(
        RememberedCase(id="a", verified=True, diagnosis=["Gout"], chief_complaint="My toe hurts."), 0.9, 0.9
    )
    report = Synthesis(team=1, report="Gout.", proposal=["Gout"])
    case: dict[str, Any] = {
        name: value for name, value in vars(written).items() if name not in ("synthesis", "objections", "analyses")
    }
    case["chart"] = replace(written.chart, results={"Blood Test": "Urate 600 µmol/L."})
    said = [
        analyse_by_rule(
            ExpertView(
                **{**case, "neighbours": [gout], "reports": reports},
                expert=Expert(domain="Surgery", focus=""),
                seat=seat,
                assignment="",
                analyses=[],
            )
        ).analysis
        for reports in ([], [report])
        for seat in (2, 3)
    ]
    assert len(set(said)) == len(said)
