from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph

from cases import ExaminationRecord, Image
from cases.vocabulary import EXAMINATION_ITEMS
from nodes.context import Context
from nodes.state.chart import Picture
from nodes.workflow.examiner import ExaminerState, examine, release

RECORD = ExaminationRecord(
    physical={"General Examination": "Well.", "Abdominal Examination": "Tender on the right."},
    auxiliary={"Blood Test": "CRP 88 mg/L.", "CT": "Thick appendix.", "Ultrasound": "Free fluid."},
    images=[
        Image(file="images/ct-1.png", item="CT"),
        Image(file="images/ct-2.png", item="CT"),
        Image(file="images/mri.png", item="MRI"),
    ],
)
ORDERS = st.lists(st.sampled_from(EXAMINATION_ITEMS.names), unique=True)


class Hospital(ExaminerState, total=False):
    results: dict[str, str]
    pictures: list[Picture]


def shown(items: list[str], send_pictures: bool = True) -> tuple[dict[str, str], list[str]]:
    results, pictures = release(RECORD, items, "/cases", send_pictures)
    return results, [picture.file for picture in pictures]


def test_every_picture_of_the_case_is_handed_over_where_that_is_set_and_no_other_result() -> None:
    builder = StateGraph(Hospital, context_schema=Context)
    builder.add_node(examine)
    builder.add_edge(START, "examine")
    builder.add_edge("examine", END)
    hospital: Any = builder.compile()
    state = {"examination_record": RECORD, "picture_folder": "/cases", "auxiliary_orders": ["Blood Test"]}
    given = {every: hospital.invoke(state, context=Context(all_pictures=every)) for every in (False, True)}
    assert [len(given[every]["pictures"]) for every in (False, True)] == [0, 3]
    assert given[True]["results"] == given[False]["results"] == {"Blood Test": "CRP 88 mg/L."}


def test_the_examiner_gives_the_result_of_an_ordered_item_and_of_no_other() -> None:
    assert shown(["Blood Test"]) == ({"Blood Test": "CRP 88 mg/L."}, [])


def test_the_examiner_gives_all_pictures_of_an_item_in_place_of_their_written_findings() -> None:
    assert shown(["CT", "Blood Test"]) == (
        {"Blood Test": "CRP 88 mg/L."},
        ["/cases/images/ct-1.png", "/cases/images/ct-2.png"],
    )


def test_where_no_pictures_are_sent_their_written_findings_are_given() -> None:
    assert shown(["CT"], send_pictures=False) == ({"CT": "Thick appendix."}, [])


def test_what_a_picture_does_not_show_is_told_beside_it_and_all_of_it_where_no_pictures_are_sent() -> None:
    record = RECORD.model_copy(update={"unpictured": {"CT": "No fever."}})
    pictured, written = (release(record, ["CT"], "/cases", sent)[0] for sent in (True, False))
    assert (pictured, written) == ({"CT": "No fever."}, {"CT": "Thick appendix."})


def test_an_item_with_pictures_alone_yields_nothing_where_no_pictures_are_sent() -> None:
    assert shown(["MRI"]) == ({}, ["/cases/images/mri.png"])
    assert shown(["MRI"], send_pictures=False) == ({}, [])


def test_an_item_that_is_not_on_record_yields_nothing() -> None:
    assert shown(["Electroencephalography", "X-ray", "Neck Examination"]) == ({}, [])
    assert shown([]) == ({}, [])


@given(items=ORDERS, send_pictures=st.booleans())
def test_whatever_is_ordered_each_released_finding_was_ordered_and_is_on_record(
    items: list[str], send_pictures: bool
) -> None:
    results, pictures = release(RECORD, items, "/cases", send_pictures)
    assert results.items() <= RECORD.results.items()
    assert {*results, *(picture.item for picture in pictures)} <= set(items)
    assert not {*results} & {picture.item for picture in pictures}
    on_record = {*RECORD.results, *(image.item for image in RECORD.images if send_pictures)}
    assert {*results, *(picture.item for picture in pictures)} == set(items) & on_record


@given(items=ORDERS)
def test_the_order_of_the_orders_makes_no_difference(items: list[str]) -> None:
    assert list(shown(items)[0]) == list(shown(items[::-1])[0])
    assert shown(items) == shown(items[::-1])


def test_the_node_answers_physical_auxiliary_and_later_requested_orders_together() -> None:
    builder = StateGraph(Hospital, context_schema=Context)
    builder.add_node(examine)
    builder.add_edge(START, "examine")
    builder.add_edge("examine", END)
    state: Any = {
        "examination_record": RECORD,
        "picture_folder": "/cases",
        "physical_orders": ["General Examination"],
        "auxiliary_orders": ["Blood Test"],
        "requested": ["CT"],
    }
    update: Any = next(builder.compile().stream(state, stream_mode="updates"))["examine"]
    assert list(update["results"]) == ["General Examination", "Blood Test"]
    assert [picture.item for picture in update["pictures"]] == ["CT", "CT"]
