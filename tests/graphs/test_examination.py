import base64
import re
from pathlib import Path
from typing import Any

import pytest

from graphs import diagnosis, examination
from nodes.state.chart import Picture
from nodes.state.decisions import Verdict
from tests.graphs.scripting import (
    asked_of,
    builtin,
    calls,
    findings,
    most_at_once,
    object_always,
    pictures_in,
    raw,
    script,
    seats,
    words,
)
from tests.support.fake_server import FakeServer

GRAPH: Any = examination.graph
RESULTS = {
    "CT": "A nodule of 8 mm.",
    "X-ray": "A shadow at the left base.",
    "Blood Test": "CRP 60 mg/L.",
    "Ultrasound": "No fluid.",
}


def run(given: dict[str, Any], **context: Any) -> dict[str, Any]:
    settings: Any = {"retrieval": False, **context}
    result: dict[str, Any] | None = GRAPH.invoke(findings(**given), context=settings)
    return result or {}


def test_each_image_class_gets_a_report_and_other_examinations_none() -> None:
    result = run({"results": RESULTS})
    assert result["reports"] == {name: RESULTS[name] for name in ("X-ray", "CT", "Ultrasound")}
    assert {record.stage for record in result["decisions"]} == {
        "examination:X-ray",
        "examination:CT",
        "examination:Ultrasound",
    }


def test_where_no_image_class_was_ordered_nobody_is_asked() -> None:
    result = run({"results": {"Blood Test": "Normal."}})
    assert not result.get("reports") and calls(result) == []


def test_the_calls_of_each_image_class_are_told_apart_in_the_trace() -> None:
    made = calls(run({"results": RESULTS}, feedback="off", discussion_rounds=1))
    assert len(made) == 3 * (3 + 1)
    assert len({call.id for call in made}) == len(made)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_the_image_classes_are_reported_side_by_side(how: str) -> None:
    context: Any = {"retrieval": False, "discussion_rounds": 1, "general_agents": 2, "feedback": "downstream"}
    with FakeServer(latency=0.4) as server:
        context["models"] = seats(server)
        if how == "invoke":
            GRAPH.invoke(findings(results=RESULTS), context=context)
        else:
            await GRAPH.ainvoke(findings(results=RESULTS), context=context)
    assert most_at_once(asked_of(server, "general")) == 3 * 2
    assert most_at_once(asked_of(server, "summarizing")) >= 2
    assert most_at_once(asked_of(server, "feedback")) >= 2 * 2


def test_a_class_is_judged_on_its_own_and_sent_back_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def object_to_the_ct(view: Any) -> Verdict:
        return Verdict(accepted=view.image_class != "CT", reason="Which lobe?")

    script(monkeypatch, "feedback", object_to_the_ct)
    result = run({"results": RESULTS}, max_feedback_rounds=2)
    ended = {record.stage: (record.ended, len(record.rounds)) for record in result["decisions"]}
    assert ended == {
        "examination:X-ray": ("agreed", 1),
        "examination:Ultrasound": ("agreed", 1),
        "examination:CT": ("exhausted", 3),
    }


def picture_of(case_id: str) -> tuple[Picture, str]:
    """A built-in picture, as the examiner hands it over and as it should go over the wire."""
    case = builtin(case_id)
    [image] = case.examinations.images
    path = Path(case.folder) / image.file
    return Picture(item=image.item, file=str(path)), base64.b64encode(path.read_bytes()).decode()


# Peers' failure 7: images overwritten by a second text-only call, or never sent.


@pytest.mark.slow
@pytest.mark.parametrize("general_agents", [1, 2])
def test_the_picture_goes_to_everyone_who_discusses_decides_or_judges_its_report(
    general_agents: int,
) -> None:
    xray, xray_data = picture_of("emergency-medicine-01")
    ct, ct_data = picture_of("otolaryngology-01")
    with FakeServer(
        answer=lambda request: {"accepted": False, "reason": "Which side?"} if request.model == "feedback" else None
    ) as server:
        run(
            {"results": {"Blood Test": "Normal.", "Ultrasound": "No fluid."}, "pictures": [xray, ct]},
            models=seats(server),
            max_feedback_rounds=1,
            general_agents=general_agents,
        )
    assert {request.model for request in server.requests} == {"general", "feedback"} | (
        {"summarizing"} if general_agents > 1 else set()
    )
    classes = {"X-ray": [xray_data], "CT": [ct_data], "Ultrasound": []}
    seen = dict.fromkeys(classes, 0)
    for request in server.requests:
        [image_class] = [name for name in classes if re.search(f"report(ed)? on: {name}$", request.text, re.MULTILINE)]
        assert [url.partition("base64,")[2] for url in pictures_in(request)] == classes[image_class]
        assert all(url.startswith("data:image/png;base64,") for url in pictures_in(request))
        seen[image_class] += 1
    assert seen["X-ray"] == seen["CT"] == seen["Ultrasound"] >= 2 * 3


def test_neither_a_pictures_name_nor_its_folder_goes_over_the_wire() -> None:
    picture, _ = picture_of("emergency-medicine-01")
    with FakeServer() as server:
        run({"pictures": [picture]}, models=seats(server), general_agents=1)
    assert server.requests
    assert not any("emergency-medicine-01" in raw(request) for request in server.requests)


def test_other_stages_are_sent_the_reports_and_no_pictures() -> None:
    picture, _ = picture_of("emergency-medicine-01")
    given: Any = findings(pictures=[picture], reports={"X-ray": "No fracture line."})
    with FakeServer() as server:
        context: Any = {"retrieval": False, "models": seats(server), "general_agents": 1}
        diagnosis.graph.invoke(given, context=context)
    assert not any(pictures_in(request) for request in server.requests)
    assert all("No fracture line." in request.text for request in server.requests)


def test_on_a_second_visit_only_the_new_classes_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, "feedback", object_always)
    given = {"results": RESULTS, "reports": {"CT": "Reported before."}, "backtracks": 1}
    result = run(given, max_feedback_rounds=0)
    assert {record.stage: record.visit for record in result["decisions"]} == {
        "examination:X-ray": 1,
        "examination:Ultrasound": 1,
    }
    assert result["reports"]["CT"] == "Reported before."
    assert all("visit1" in call.id for call in calls(result))
    assert not any("Reported before." in words(call) for call in calls(result)), "a report rests on its own pictures"
