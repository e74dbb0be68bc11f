"""Med-PMC's suite on own runs."""

from typing import Any

import pytest

import graphs.roles  # noqa: F401 - registers the patients
from cases import load_cases
from nodes.context import Context
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.judged_suite import judged_suite
from scoring.medpmc.suite import suite
from wardround.analysis.summary import estimate_scores
from wardround.store.result import Result

PICTURED = next(case for case in load_cases("builtin") if case.examinations.images)
SAID = ConsultationAnswers(dialogue=[Turn(speaker="doctor", text="An X-ray, please.")])


@pytest.mark.parametrize(
    ("settings", "mma"),
    [
        ({"patient": "medpmc"}, 0.0),
        ({"patient": "ai_hospital"}, 0.0),
        ({"patient": "medpmc", "tracker": False}, None),
        ({"patient": "saps"}, None),
        ({"patient": "medchain"}, None),
        ({"patient": "medpmc", "pictures_in_dialogue": "none"}, None),
        ({"patient": "medpmc", "pictures_in_dialogue": "report"}, None),
        ({"patient": "medpmc", "send_pictures": False}, None),
    ],
)
async def test_the_analysis_of_pictures_is_unscored_where_none_may_be_shown(
    settings: dict[str, Any], mma: float | None
) -> None:
    found = await suite.score(PICTURED, SAID, Context.model_validate(settings))
    assert found.values["MMA"] == mma
    assert ("no picture may be handed over" in found.unscored.get("MMA", "")) == (mma is None)


async def test_a_case_without_a_picture_has_no_reference_for_its_analysis_so_that_its_failure_is_not_wrong_there() -> (
    None
):
    plain = next(case for case in load_cases("builtin") if not case.examinations.images)
    untreated = PICTURED.model_copy(update={"key": PICTURED.key.model_copy(update={"treatment_course": ""})})
    assert list(suite.without_reference(plain)) == list(judged_suite.without_reference(plain)) == ["MMA"]
    assert suite.without_reference(PICTURED) == judged_suite.without_reference(PICTURED) == {}
    assert list(suite.without_reference(untreated)) == ["Treatment"]
    for case in (plain, untreated):
        unscored = (await suite.score(case, SAID, Context.model_validate({"patient": "medpmc"}))).unscored
        assert suite.without_reference(case).items() <= unscored.items()


def test_the_two_averages_stand_after_their_columns_and_only_where_all_of_them_are_scored() -> None:
    assert list(suite.titles)[:7] == [
        "Inquiry", "Examination", "MMA", "Avg. (gathering)", "Diagnosis", "Treatment", "Avg. (decision)",
    ]  # fmt: skip
    line = {"case_id": "a", "epoch": 1, "termination": "completed", "tokens": 0, "cost": None, "seconds": 0.0,
            "calls": 0, "models": {}}  # fmt: skip
    scores = {"Inquiry": 30.0, "Examination": 60.0, "MMA": 90.0, "Diagnosis": 10.0, "Treatment": 30.0}

    def averages(scores: dict[str, float | None]) -> list[float | None]:
        found = estimate_scores([Result.model_validate({**line, "scores": scores})], suite)
        return [found[name].mean for name in ("Avg. (gathering)", "Avg. (decision)")]

    assert averages(dict(scores)) == [60.0, 20.0]
    assert averages({**scores, "MMA": None}) == [None, 20.0]
