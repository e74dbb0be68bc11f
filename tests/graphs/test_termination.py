"""Whatever everybody answers, every graph ends, at an end that has a name, within the calls that its counters allow."""

import dataclasses
import json
import random
import threading
from collections import Counter
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from cases.vocabulary import IMAGE_CLASSES
from llm.role import Role
from nodes.state.chart import Ended
from nodes.state.collaboration import MOST_CONFLICTS, Ending
from nodes.state.experts import MOST_EXPERTS, MOST_TEAMS, MOST_WEIGHING
from nodes.strategies.report_writer import VOTES
from nodes.workflow.stages import STAGES, judges_after
from tests.graphs.scripting import builtin, calls
from tests.support.canaries import PATIENT_SIDE
from tests.support.courses import COURSES, Course
from tests.support.schema_sampler import sample

CASES = ["otolaryngology-01", "internal-medicine-06"]
BESIDE_PATIENT = {*PATIENT_SIDE, "patient_profile", "state_tracker", "memory_bank"}
# MDAgents finds its own complexity here; a patient system is the same in the workflow as in a consultation.
ENDING = [course for course in COURSES if course.patient == "medchain" or course.graph != "clinical_workflow"]
ENDING = sorted({dataclasses.replace(course, complexity="") for course in ENDING}, key=str)
A_REPLY = 10  # records on the patient's side for one turn of the doctor, at most
RECORDED = {"agreed", "exhausted", "not_judged"}


@cache
def _schema_of(answer: type[BaseModel]) -> dict[str, Any]:
    return answer.model_json_schema()


class Whims:
    """Rules that answer anything of the right type: yes as often as the temper says, the rest by the seed."""

    def __init__(self, seed: int, temper: float) -> None:
        self.seed, self.temper = seed, temper
        self.asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def rule_of(self, role: Role[Any]) -> Any:
        def answer(view: Any) -> Any:
            with self._lock:
                self.asked[role.name] += 1
                turn = self.asked[role.name]
            draw = random.Random(f"{self.seed}:{role.name}:{role.stage}:{turn}")
            kind: type[BaseModel] = role.answer
            drawn = self._moody(sample(_schema_of(kind), draw), draw)
            try:
                return role.answer.model_validate_json(json.dumps(drawn))
            except ValidationError:  # what the schema does not say of the type
                return vars(role)["offline"](view)

        return answer

    def _moody(self, value: Any, draw: random.Random) -> Any:
        if isinstance(value, bool):
            return draw.random() < self.temper
        if isinstance(value, dict):
            return {
                name: []
                if name in ("disputes", "conflicts") and draw.random() < self.temper
                else self._moody(part, draw)
                for name, part in value.items()
            }
        return [self._moody(part, draw) for part in value] if isinstance(value, list) else value


def most_calls(course: Course, setting: dict[str, Any]) -> Counter[str]:
    """How often each role can be asked at most, by the counters of the graphs."""
    turns, interns, rounds = setting["max_turns"], setting["interns"], setting["max_rounds"]
    dialogues = interns if course.graph == "dispute_resolution" else 1
    most = Counter(doctor=dialogues * (turns + 1), extraction=dialogues)
    most["patient's side"] = dialogues * (A_REPLY * turns + 1) + MOST_CONFLICTS * A_REPLY
    if course.graph == "dispute_resolution":
        most += Counter(intern=interns * rounds, director=2 + rounds + 1 + 1)  # facts, disputes, the report
    if course.graph == "clinical_workflow":
        agents, again = setting["general_agents"], setting["max_feedback_rounds"]
        visits = setting["max_backtracks"] + 1
        talks = (setting["discussion_rounds"] if agents > 1 else 1) + again
        for name, stage in STAGES.items():
            times = visits * len(IMAGE_CLASSES) if name == "examination" else 1
            most["general"] += times * agents * talks
            most["summarizing"] += times * (again + 1)
            most["feedback"] += times * (again + 1) * len(judges_after(stage))
        most["reviewer"] = visits - 1
        # Each of the other strategies, for each decision and each of its revisions.
        decided = (again + 1) * (len(STAGES) - 1 + visits * len(IMAGE_CLASSES))
        panel = (MOST_EXPERTS + MOST_WEIGHING) * (1 + VOTES)
        group = MOST_EXPERTS * (rounds + 1) + MOST_EXPERTS * rounds * setting["talk_turns"]
        experts = max(panel, group, MOST_TEAMS * MOST_EXPERTS)
        most += Counter(intern=decided * interns * (rounds + 1), director=decided * (rounds + 2))
        most += Counter(recruiter=2 * decided, leader=decided * MOST_TEAMS, writer=decided * max(VOTES, MOST_TEAMS))
        most += Counter(expert=decided * experts, decider=decided, moderator=decided * (1 + rounds), solo=decided)
    return most


def ends_of(result: dict[str, Any]) -> list[tuple[str, set[str]]]:
    """Each end that a final state names, with the names that there are."""
    ends = [(record.ended, RECORDED) for record in result.get("decisions", [])]
    if "dialogue" in result and "consultations" not in result:  # of several doctors it is the opening that they share
        ends.append((result["dialogue_ended"], set(get_args(Ended)) - {""}))
    if "collaboration" in result:
        ends.append((result["collaboration"].ended, set(get_args(Ending))))
    return ends


SETTINGS = st.fixed_dictionaries(
    {
        "max_turns": st.integers(1, 4),
        "interns": st.integers(1, 3),
        "max_rounds": st.integers(0, 2),
        "talk_turns": st.integers(0, 2),
        "general_agents": st.integers(1, 2),
        "discussion_rounds": st.integers(1, 2),
        "max_feedback_rounds": st.integers(0, 2),
        "max_backtracks": st.integers(0, 2),
        "feedback": st.sampled_from(["downstream", "same_stage", "off"]),
        "orders": st.sampled_from(["group", "dialogue"]),
        "dispute_resolution": st.booleans(),
        "turn_taking": st.booleans(),
    }
)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(
    setting=SETTINGS,
    seed=st.integers(0, 2**32),
    temper=st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    case_id=st.sampled_from(CASES),
)
@pytest.mark.parametrize("course", ENDING, ids=str)
def test_whatever_is_answered_a_graph_ends_at_a_named_end_within_the_calls_that_its_counters_allow(
    course: Course, setting: dict[str, Any], seed: int, temper: float, case_id: str
) -> None:
    whims = Whims(seed, temper)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Role, "offline", property(whims.rule_of), raising=False)
        result = course.run(builtin(case_id), **setting)
    asked = Counter("patient's side" if call.role in BESIDE_PATIENT else call.role for call in calls(result))
    allowed = most_calls(course, setting)
    assert {role: number for role, number in asked.items() if number > allowed[role]} == {}
    assert all(end in names for end, names in ends_of(result)), ends_of(result)
    assert ends_of(result) or course.graph == "one_step"
    for record in result.get("decisions", []):
        judged = record.strategy == "group" or setting["feedback"] != "off"
        bound = setting["max_feedback_rounds"] if judged else max(VOTES - 1, setting["max_rounds"])
        assert 1 <= len(record.rounds) <= bound + 1 and record.visit <= setting["max_backtracks"]


@pytest.mark.slow
def test_those_whims_disagree_for_ever_so_that_only_the_counters_end_a_graph() -> None:
    whims = Whims(1, 0.0)
    setting = {"max_turns": 3, "max_feedback_rounds": 2, "max_backtracks": 1, "feedback": "downstream"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Role, "offline", property(whims.rule_of), raising=False)
        result = Course("clinical_workflow").run(builtin(CASES[0]), **setting)
        discussed = Course("dispute_resolution").run(builtin(CASES[0]), max_rounds=2, interns=2)
    assert {record.ended for record in result["decisions"]} == {"exhausted"}
    assert {len(record.rounds) for record in result["decisions"]} == {3}
    assert result["dialogue_ended"] == "turn_limit" and len(calls(result, "reviewer")) == 1
    assert (discussed["collaboration"].ended, discussed["collaboration"].rounds) == ("rounds_used_up", 2)
