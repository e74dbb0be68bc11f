from dataclasses import replace

import pytest

from cases.vocabulary import EXAMINATION_ITEMS, Language
from nodes.state.stage import Options
from nodes.workflow.reviewer import ReviewView, what_most_neighbours_had
from nodes.workflow.stages import read_chart
from retrieval import Neighbour, RememberedCase
from tests.graphs.scripting import findings


@pytest.mark.parametrize(
    ("language", "reason"), [("en", "most similar cases had them"), ("zh", "多数相似病例做过这些检查")]
)
def test_offline_what_more_than_half_of_the_similar_cases_had_is_missing_unless_it_was_ordered(
    language: Language, reason: str
) -> None:
    chart = replace(read_chart(findings(), "diagnosis", None), language=language)  # type: ignore[arg-type]
    half, other = (
        RememberedCase(
            id=item,
            verified=True,
            physical_examination={item: "Normal."},
            auxiliary_examination={"Blood Test": "Normal."},
        )
        for item in ("General Examination", "Chest Examination")  # the latter also for the place of a cough
    )
    near = [Neighbour(half, 0.5), Neighbour(other, 0.5)]

    def missing(*ordered: str) -> tuple[list[str], str]:
        options = Options([item for item in EXAMINATION_ITEMS.names if item not in ordered], language)
        found = what_most_neighbours_had(ReviewView(chart, options, near))
        return found.items, found.reason

    assert missing() == (["Chest Examination", "Blood Test"], reason)
    assert missing("Blood Test") == (["Chest Examination"], reason)
    assert missing("Chest Examination", "Blood Test") == ([], "")
