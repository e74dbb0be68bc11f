"""The examiner: returns the results of ordered examinations, and of no others."""

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
    """Return the results and pictures of the ordered items, as far as they are on record.

    An item with pictures gives only these, which the doctors have to read; with ``send_pictures`` off, it gives their
    written findings.
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
    """Return the results and pictures that a record has of the given items, in the record's order."""
    pictures = [
        Picture(item=image.item, file=os.path.join(folder, image.file))
        for image in record.images
        if send_pictures and image.item in items
    ]
    pictured = {picture.item for picture in pictures}
    texts = {item: text for item, text in record.results.items() if item not in pictured}
    texts |= {item: text for item, text in record.unpictured.items() if item in pictured}
    return {item: texts[item] for item in record.results if item in items and item in texts}, pictures
