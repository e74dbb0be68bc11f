"""A real, very small model on every seat: what it says is worth nothing, what breaks is."""

import time
from pathlib import Path
from typing import Any

import pytest

from graphs.contexts import CONTEXTS
from tests.real_model.seen import Seen, looped
from tests.real_model.smollm import Served
from tests.support.courses import PATIENTS, WAYS
from tests.support.runs import calls, results, run
from wardround.config.experiment import Experiment

pytestmark = pytest.mark.real_model

CASE = "surgery-01"  # English, of the test split
# Knowledge prepared from a note and the points of Clini-Eval are lists, which 160 tokens would cut off.
LONGER = 600
SHORT = {"max_turns": 2, "max_tokens": 160, "repairs": 2, "timeout": 900.0, "max_attempts": 2, "send_pictures": False}
JUDGED_BY = {"medchain": "mvme", "ai_hospital": "mvme", "saps": "aie", "medpmc": "medpmc", "clinichat": "clini_eval"}

COURSES: dict[str, dict[str, Any]] = {}
for patient in PATIENTS:  # one with recalled cases, whose records are most of a prompt
    own = {"patient": patient, "retrieval": patient == "medchain"}
    COURSES[f"consultation, {patient}"] = {"graph": "consultation", "suite": JUDGED_BY[patient], "workflow": own}
for way in WAYS:
    own = {"reconstruction": way}
    COURSES[f"reconstruction, {way}"] = {"graph": "reconstruction", "suite": "clini_eval", "workflow": own}
own = {"patient": "ai_hospital", "interns": 2, "max_rounds": 1, "retrieval": False}
COURSES["dispute resolution"] = {"graph": "dispute_resolution", "workflow": own}
COURSES["one step"] = {"graph": "one_step", "workflow": {}}
own = {"general_agents": 2, "discussion_rounds": 1, "max_feedback_rounds": 1}
COURSES["workflow"] = {"graph": "clinical_workflow", "workflow": own}
# How a course of a weak model may end. What else it ends with is ours to mend.
ENDS = {"completed", "unparseable_answer", "context_length"}


@pytest.mark.parametrize("course", COURSES)
def test_a_course_and_its_judges_come_to_an_end_that_is_recorded(
    course: str, smollm2: Served, tmp_path: Path, record_property: Any
) -> None:
    obeyed = CONTEXTS[COURSES[course]["graph"]].model_fields
    short = {key: value for key, value in SHORT.items() if key in obeyed}
    if COURSES[course].get("suite") == "clini_eval":
        short["max_tokens"] = LONGER
    experiment = Experiment.model_validate(
        {
            **COURSES[course],
            "data": {"case_ids": [CASE]},
            "models": {"default": smollm2.spec},
            "judges": {"default": smollm2.spec},
            "workflow": {**short, **COURSES[course]["workflow"]},
            "run": {"concurrency": 1, "max_connections": 1},
        }
    )
    before, clock = smollm2.reused(), time.monotonic()
    run(experiment, tmp_path)
    (result,) = results(tmp_path)
    made = [entry for entry in calls(tmp_path, CASE) if "attempts" in entry]  # the others are events
    reused = smollm2.reused() - before if smollm2.log else None
    seen = Seen.of(course, result.termination, made, reused, time.monotonic() - clock)
    record_property("seen", seen.row)
    print(seen.row, result.error, result.unscored)
    assert result.termination in ENDS, result.error
    assert seen.calls == seen.typed + seen.repaired + sum(seen.failed.values())
    # One call alone may fail in a short course: a director of this size cannot compare two reports.
    assert sum(seen.failed.values()) <= max(1, 0.1 * seen.calls)
    assert [text for call in made for text in looped(call["answer"])] == []
