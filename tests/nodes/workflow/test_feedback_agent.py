import pytest

from nodes.state.decisions import Decision, Diagnosis
from nodes.state.stage import Options
from nodes.workflow.feedback_agent import JudgeView, accept_unless_neighbours_disagree
from nodes.workflow.stages import STAGES, read_chart
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings


@pytest.mark.parametrize(("told", "accepted"), [(0.6, False), (0.1, True)])
def test_who_knows_no_near_case_does_not_object_to_a_diagnosis(told: float, accepted: bool) -> None:
    gout = RememberedCase(id="gout", verified=True, diagnosis=["Gout"])
    decision: Decision = Diagnosis(names=["Sepsis"], basis="Fever.")
    chart = read_chart(findings(), "diagnosis", None)  # type: ignore[arg-type]
    view = JudgeView(
        stage=STAGES["diagnosis"],
        chart=chart,
        image_class=None,
        options=Options((), "en"),
        neighbours=[Neighbour(gout, 0.5, told)],
        file=[],
        judge="treatment",
        decision=decision,
        reply="",
    )
    assert accept_unless_neighbours_disagree(view).accepted is accepted
