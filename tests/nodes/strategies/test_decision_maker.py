"""What is decided by several reports without a model."""

from nodes.state.experts import Synthesis
from nodes.state.stage import Options
from nodes.strategies.decision_maker import DecisionMakerView, follow_the_reports
from nodes.workflow.stages import STAGES, read_chart
from tests.graphs.scripting import findings


def decided(*proposals: list[str]) -> list[str]:
    view = DecisionMakerView(
        stage=STAGES["diagnosis"],
        chart=read_chart(findings(), "diagnosis", None),  # type: ignore[arg-type]
        image_class=None,
        options=Options((), "en"),
        neighbours=[],
        file=[],
        task="",
        syntheses=[Synthesis(team=team, report="", proposal=each) for team, each in enumerate(proposals, start=1)],
        opinions=[],
    )
    return follow_the_reports(view).listed()


def test_what_most_reports_propose_is_decided_else_what_the_first_does() -> None:
    assert decided(["Gout", "Flu"], ["Sepsis", "gout"], ["Gout"]) == ["Gout"]
    assert decided(["Gout"], ["Flu"]) == ["Gout"]


def test_two_reports_that_call_a_disease_differently_agree_on_it() -> None:
    assert decided(["Flu", "BPH"], ["Benign prostatic hyperplasia", "Gout"]) == ["BPH"]
