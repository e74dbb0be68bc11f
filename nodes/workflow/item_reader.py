"""The item reader: finds items of the closed lists in an imported record, with the words that mention each.

As in the making of MedChain (A.1), a model extracts and a person checks; unchecked items count as inferred.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from cases.case import Case
from cases.strict import Strict
from cases.text.sentences import first_sentence, sentences
from cases.vocabulary import (
    AUXILIARY_ITEMS,
    EXAMINATION_ITEMS,
    PHYSICAL_ITEMS,
    TREATMENT_ITEMS,
    GivenExaminationItem,
    GivenTreatmentItem,
    label,
)
from llm import ModelSettings, Role, ask
from nodes.state.stage import Options


class ReadExamination(Strict):
    """An examination of the closed lists, and where the record tells of it."""

    item: GivenExaminationItem
    words: str = Field(min_length=1, description="The words of the record, copied letter by letter.")


class ReadTreatment(Strict):
    """A treatment of the closed list, and where the record tells of it."""

    item: GivenTreatmentItem
    words: str = Field(min_length=1, description="The words of the record, copied letter by letter.")


class ReadItems(Strict):
    """What the record holds of the closed lists."""

    examinations: list[ReadExamination]
    treatments: list[ReadTreatment]


@dataclass(frozen=True)
class ImportedView:
    """What the item reader sees: the parts of a record under their headings, and the closed lists."""

    results: dict[str, str]
    treatment: str
    physical_options: Options
    auxiliary_options: Options
    treatment_options: Options


def items_as_filed(view: ImportedView) -> ReadItems:
    """Offline: items under which results are filed, with their first sentences, and treatments named in the text."""
    plan = [(item, line) for line in sentences(view.treatment) for item in TREATMENT_ITEMS.mentioned_in(line)]
    return ReadItems(
        examinations=[
            ReadExamination(item=item, words=first_sentence(text) or text)
            for item, text in ((EXAMINATION_ITEMS.canonical(heading), text) for heading, text in view.results.items())
            if item
        ],
        treatments=[ReadTreatment(item=item, words=line) for item, line in plan],
    )


def _unrecorded_words(view: ImportedView, answer: ReadItems) -> str | None:
    """Return what is wrong if the words of an item are not in the record, else None."""
    results = _folded(part for section in view.results.items() for part in section)
    for kind, items, source in (
        ("examinations", answer.examinations, results),
        ("treatments", answer.treatments, _folded([view.treatment])),
    ):
        for entry in items:
            if _folded([entry.words]) not in source:
                return f"{kind}: {entry.item}: the words {entry.words!r} are not in that part of the record; copy them"
    return None


item_reader = Role(
    "item_reader", "import", "medchain/item_reader", ReadItems, offline=items_as_filed, check=_unrecorded_words
)


async def read_items(case: Case, settings: ModelSettings) -> ReadItems:
    """Return the examinations and treatments that a case's record mentions, with its words.

    Raises:
        AskError: no valid answer; words that are not in the record make an answer invalid.
    """
    shown = settings.prompt_language(case.language)
    view = ImportedView(
        results={label(item, shown): text for item, text in case.examinations.results.items()},
        treatment=case.key.treatment_course,
        physical_options=Options(PHYSICAL_ITEMS.names, shown),
        auxiliary_options=Options(AUXILIARY_ITEMS.names, shown),
        treatment_options=Options(TREATMENT_ITEMS.names, shown),
    )
    return await ask(item_reader, view, settings, language=case.language, place=f"import/{case.id}")


def _folded(parts: Iterable[str]) -> str:
    return " ".join(" ".join(parts).split()).casefold()
