from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.vocabulary import IMAGE_CLASSES
from llm import Call, Trace
from nodes.state.chart import Findings, Progress
from nodes.state.collaboration import ConferenceState, Confirmation, Conflict, Consultation, Statement
from nodes.state.decisions import Judgement, Round, StageRecord, Verdict
from nodes.state.experts import Analysis, PanelState, Synthesis
from nodes.state.reducers import union_by
from nodes.state.stage import Objection, Opinion, StageState
from nodes.workflow.stages import STAGES, position_of

# Few values, so that two branches often bring the same key, with the same or another content.
WORDS = st.sampled_from(["", "a", "b", "ab"])
SMALL = st.integers(0, 2)
VERDICTS = st.builds(Verdict, accepted=st.booleans(), reason=WORDS)
CALLS = st.builds(
    Call,
    id=st.sampled_from(["x/1", "x/2", "y/1"]),
    role=WORDS,
    stage=st.just("diagnosis"),
    model=st.just("offline"),
    prompt=st.just("en/p"),
    prompt_hash=st.just("0"),
    started=SMALL.map(float),
    seconds=SMALL.map(float),
    answer=st.one_of(st.none(), WORDS),
)
RECORDS = st.builds(
    StageRecord,
    stage=st.one_of(st.sampled_from(sorted(STAGES)), st.sampled_from(["examination:CT", "examination:MRI"])),
    visit=SMALL,
    ended=st.sampled_from(["agreed", "exhausted", "not_judged"]),
    rounds=st.lists(
        st.builds(
            Round,
            decision=st.dictionaries(WORDS, WORDS, max_size=2),
            judgements=st.lists(st.builds(Judgement, judge=WORDS, verdict=VERDICTS), max_size=1),
        ),
        max_size=1,
    ),
)
OPINIONS = st.builds(
    Opinion, discussion_round=SMALL, seat=SMALL, decision=st.dictionaries(WORDS, WORDS, max_size=1), reasoning=WORDS
)
OBJECTIONS = st.builds(Objection, judge=WORDS, verdict=VERDICTS, round=SMALL)

ANALYSES = st.builds(Analysis, team=SMALL, seat=SMALL, expert=WORDS, analysis=WORDS, proposal=st.just(["Measles"]))
STATEMENTS = st.builds(Statement, round=SMALL, seat=SMALL, report=st.dictionaries(WORDS, WORDS, max_size=1))
CONSULTATIONS = st.builds(
    Consultation,
    seat=SMALL,
    dialogue=st.just([]),
    results=st.dictionaries(WORDS, WORDS, max_size=1),
    pictures=st.just([]),
)
CONFIRMATIONS = st.builds(
    Confirmation, number=SMALL, conflict=st.just(Conflict(point="p", ask="patient", question="q")), reply=WORDS
)


def reducer(state: type, field: str) -> Callable[[Any, Any], Any]:
    """What the state merges a field by."""
    merge: Callable[[Any, Any], Any] = get_type_hints(state, include_extras=True)[field].__metadata__[0]
    return merge


REDUCERS: dict[str, tuple[Callable[[Any, Any], Any], st.SearchStrategy[Any]]] = {
    "traces": (reducer(Progress, "trace"), st.lists(CALLS, max_size=4).map(lambda calls: Trace(calls=tuple(calls)))),
    "reports": (reducer(Findings, "reports"), st.dictionaries(st.sampled_from(IMAGE_CLASSES), WORDS, max_size=3)),
    "records": (reducer(Progress, "decisions"), st.lists(RECORDS, max_size=4)),
    "opinions": (reducer(StageState, "opinions"), st.lists(OPINIONS, max_size=4)),
    "judgements": (reducer(StageState, "judgements"), st.lists(OBJECTIONS, max_size=4)),
    "analyses": (reducer(PanelState, "analyses"), st.lists(ANALYSES, max_size=4)),
    "statements": (reducer(ConferenceState, "statements"), st.lists(STATEMENTS, max_size=4)),
    "consultations": (reducer(ConferenceState, "consultations"), st.lists(CONSULTATIONS, max_size=4)),
    "confirmations": (reducer(ConferenceState, "confirmations"), st.lists(CONFIRMATIONS, max_size=4)),
}
EACH = pytest.mark.parametrize("name", REDUCERS)


def ordered(value: Any) -> Any:
    """A merged value with its order, which the equality of dicts leaves out."""
    return list(value.items()) if isinstance(value, dict) else value


def keys(name: str, value: Any) -> set[Any]:
    if name == "traces":
        return {call.id for call in value.calls}
    if name == "reports":
        return set(value)
    fields = {
        "records": ("visit", "stage"),
        "opinions": ("discussion_round", "seat"),
        "judgements": ("round", "judge"),
        "analyses": ("team", "seat"),
        "statements": ("round", "seat"),
        "consultations": ("seat",),
        "confirmations": ("number",),
    }[name]
    return {tuple(getattr(item, field) for field in fields) for item in value}


def size(value: Any) -> int:
    return len(value.calls) if isinstance(value, Trace) else len(value)


@pytest.mark.slow
@EACH
@given(data=st.data())
def test_branches_merge_in_any_order_and_grouping_without_a_loss_or_a_repetition(
    name: str, data: st.DataObject
) -> None:
    merge, values = REDUCERS[name]
    first, second, third = (data.draw(values) for _ in range(3))
    merged = merge(first, second)
    assert ordered(merged) == ordered(merge(second, first)), "whichever branch ends first"
    assert ordered(merge(merged, third)) == ordered(merge(first, merge(second, third))), "however three are grouped"
    assert ordered(merged) == ordered(merge(merged, second)) == ordered(merge(merged, merged)), "the same again"
    assert ordered(merge(first, None)) == ordered(merge(None, first)) == ordered(merge(first, first)), "nothing new"
    assert keys(name, merged) == keys(name, first) | keys(name, second), "nothing that was found is lost"
    assert size(merged) == len(keys(name, merged)), "nothing stands twice"


def test_stage_records_stand_in_the_order_of_the_course_and_not_of_the_alphabet() -> None:
    records = [
        StageRecord(stage=stage, position=position_of(STAGES[stage]), visit=0, ended="agreed", rounds=[])
        for stage in sorted(STAGES)
    ]
    assert [record.stage for record in reducer(Progress, "decisions")(records, None)] == [
        "referral.level1",
        "referral.level2",
        "history_taking.physical",
        "history_taking.auxiliary",
        "examination",
        "diagnosis",
        "treatment",
    ]


def test_of_two_reports_of_one_class_the_longer_stands_and_of_two_as_long_the_greater_in_spelling() -> None:
    merge = reducer(Findings, "reports")
    assert merge({"CT": "Zero."}, {"CT": "A small effusion."}) == {"CT": "A small effusion."}
    assert merge({"CT": "a"}, {"CT": "b"}) == merge({"CT": "b"}, {"CT": "a"}) == {"CT": "b"}


def test_a_revised_report_of_a_team_takes_the_place_of_the_first_and_the_teams_stand_in_order() -> None:
    merge = reducer(PanelState, "syntheses")
    first, other, revised = (
        Synthesis(team=team, report=report, proposal=["Measles"]) for team, report in ((2, "z"), (1, "b"), (2, "a"))
    )
    assert merge([first], [other]) == [other, first]
    assert merge([other, first], [revised]) == [other, revised]


def test_a_field_has_one_reducer_however_often_its_annotation_is_evaluated() -> None:
    first, second = (union_by("visit", "position", "stage") for _ in range(2))
    assert first is second is reducer(Progress, "decisions"), "Python 3.14 evaluates annotations when asked for them"
    assert union_by("team", latest=True) is not union_by("team")
