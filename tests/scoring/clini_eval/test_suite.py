import pytest

from llm import ModelSettings
from nodes.state.chart import Turn
from scoring.clini_eval.points import MAINS, STATISTICS, TOTAL
from scoring.clini_eval.suite import suite
from scoring.consultation import ConsultationAnswers
from tests.graphs.scripting import builtin
from tests.support.fake_server import FakeServer

CASE = builtin("surgery-01")
ANSWERS = ConsultationAnswers(
    dialogue=[Turn(speaker="doctor", text="Do you smoke?"), Turn(speaker="patient", text="No.")]
)


async def test_every_column_has_a_value_or_a_reason() -> None:
    scores = await suite.score(CASE, ANSWERS, ModelSettings())
    assert scores.values.keys() >= suite.columns.keys()
    assert scores.unscored.keys() == {name for name, value in scores.values.items() if value is None}
    assert scores.values[TOTAL] is None and (scores.values["Assessed Points"] or 0) > 0


async def test_a_dialogue_in_which_the_doctor_said_nothing_is_unscored_and_says_so() -> None:
    scores = await suite.score(CASE, ConsultationAnswers(), ModelSettings())
    assert set(scores.values.values()) == {None} and "no turn of the physician" in scores.unscored[TOTAL]


async def test_a_patient_who_said_nothing_has_no_mean_of_words_and_the_reason_says_so() -> None:
    said = ConsultationAnswers(dialogue=[Turn(speaker="doctor", text="Do you smoke?")])
    scores = await suite.score(CASE, said, ModelSettings())
    assert scores.unscored["Avg. Words Pt."] == "no one spoke on this side of the dialogue"


async def test_a_judge_who_fails_leaves_the_points_unscored_by_name_and_what_is_counted_stands() -> None:
    with FakeServer(answer=lambda request: "no JSON") as server:
        settings = ModelSettings(models={"default": f"openai:judge@{server.base_url}"}, max_attempts=1)
        scores = await suite.score(CASE, ANSWERS, settings)
    assert {name: scores.values[name] for name in MAINS} == dict.fromkeys(MAINS)
    assert scores.unscored[TOTAL].startswith("judge failed: unparseable_answer")
    assert {name: scores.values[name] for name in STATISTICS} == dict(zip(STATISTICS, (1.0, 3.0, 1.0), strict=True))


async def test_a_judge_who_answers_gives_all_numbers() -> None:
    with FakeServer() as server:
        settings = ModelSettings(models={"default": f"openai:judge@{server.base_url}"}, max_attempts=1)
        scores = await suite.score(CASE, ANSWERS, settings)
    assert scores.values[TOTAL] == pytest.approx(sum(scores.values[name] or 0 for name in MAINS))
    assert scores.unscored == {}
    assert len(scores.values.keys() - suite.columns.keys()) == 30 and scores.values["Family History"] is not None
