"""The examiner: gives the results of what was ordered, and of nothing else."""

import os
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from cases.case import ExaminationRecord
from nodes.context import Context
from nodes.node import node
from nodes.state.chart import Picture


class ExaminerState(TypedDict, total=False):
    """The examiner's view of the state: the examination record, and what was ordered."""

    examination_record: ExaminationRecord
    picture_folder: str
    physical_orders: list[str]
    auxiliary_orders: list[str]
    requested: list[str]


@node
async def examine(state: ExaminerState, runtime: Runtime[Context]) -> dict[str, Any]:
    """Results and pictures of the ordered items, as far as they are on record.

    An item with pictures is answered with the pictures alone, so that reading them is left to the doctors;
    with ``send_pictures`` off, with their written findings.
    """
    ordered = [*state.get("physical_orders", []), *state.get("auxiliary_orders", []), *state.get("requested", [])]
    if runtime.context.all_pictures:
        ordered += [image.item for image in state["examination_record"].images]
    results, pictures = release(
        state["examination_record"], ordered, state.get("picture_folder", ""), runtime.context.send_pictures
    )
    return {"results": results, "pictures": pictures}


def release(
    record: ExaminationRecord, items: list[str], folder: str, send_pictures: bool
) -> tuple[dict[str, str], list[Picture]]:
    """What an examination record shows of the given items, in the record's order."""
    pictures = [
        Picture(item=image.item, file=os.path.join(folder, image.file))
        for image in record.images
        if send_pictures and image.item in items
    ]
    pictured = {picture.item for picture in pictures}
    told = {item: text for item, text in record.results.items() if item not in pictured}
    told |= {item: text for item, text in record.unpictured.items() if item in pictured}
    return {item: told[item] for item in record.results if item in items and item in told}, pictures
