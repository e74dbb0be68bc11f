"""Score floors and ceiling: the scores of answers made without the patient, and of the answer key itself."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal

from cases import AnswerKey, Case
from cases.grouping import grouped
from cases.text.prose import paragraph
from cases.text.record_sentences import facts_of
from cases.text.statements import statements
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Picture
from nodes.state.decisions import Referral
from scoring.case_scores import Suite
from scoring.consultation import ConsultationAnswers, reference_parts
from scoring.medchain.answers import Answers
from scoring.metrics.set_overlap import intersection_over_union
from scoring.mvme.judges import ReportParts
from scoring.mvme.transcripts import PARTS

Floor = Literal["constant", "shuffled keys", "oracle"]
FLOORS: dict[Floor, str] = {
    "constant": "every case gets the same answer, the one that is right most often in the train split",
    "shuffled keys": "every case is answered with the key of another case in its language",
    "oracle": "every case is answered with its own key",
}
DialogueFloor = Literal["constant dialogue", "shuffled dialogues", "record told"]
DIALOGUE_FLOORS: dict[DialogueFloor, str] = {
    "constant dialogue": "every case gets the offline baseline's dialogue and report of one other case",
    "shuffled dialogues": "every case gets the offline baseline's dialogue and report of another case",
    "record told": "in the offline baseline's dialogue, the patient tells the whole record and hands over all "
    "pictures; the report is made from the record and the key",
}
Reference = tuple[AnswerKey, ReportParts]
_NO_DIAGNOSIS = "-"  # a report needs one; the case's own key then has none to score it against


def answers_of_floors(cases: Sequence[Case], train: Sequence[Case], suite: Suite) -> dict[Floor, list[Any]]:
    """Return the answers of each floor to the cases, in order; empty if keys cannot answer what the suite scores.

    Keys can answer a suite of decisions or of reports, but not of dialogues. The constant answer is computed from
    ``train``, separately for each language; without ``train`` there is none.
    """
    if not answerable(suite):
        return {}
    make = _MAKERS[suite.needs]
    own: list[Reference] = [(case.key, reference_parts(case)) for case in cases]
    groups = _by_language(cases)
    source = _exchanged_within(groups if all(len(places) > 1 for places in groups) else [range(len(cases))])

    @cache
    def constant(language: str) -> Reference:
        return usual([case for case in train if case.language == language] or train)

    floors: dict[Floor, list[Reference]] = {
        "constant": [constant(case.language) for case in cases] if train else [],
        "shuffled keys": [own[source[place]] for place in range(len(cases))] if len(cases) > 1 else [],
        "oracle": own,
    }
    return {name: [make(*pair) for pair in references] for name, references in floors.items() if references}


def dialogues_of_floors(
    cases: Sequence[Case], baseline: Sequence[ConsultationAnswers]
) -> dict[DialogueFloor, list[ConsultationAnswers]]:
    """Return the dialogue of each floor about each case, in order; dialogues are only exchanged within a language."""
    groups = _by_language(cases)
    source = _exchanged_within(groups)
    found: dict[DialogueFloor, list[ConsultationAnswers]] = {
        "record told": [_record_told(case, answers) for case, answers in zip(cases, baseline, strict=True)]
    }
    if all(len(places) > 1 for places in groups):
        same_for_all = {
            place: second if place == first else first
            for first, second, *others in groups
            for place in (first, second, *others)
        }
        found = {
            "constant dialogue": [baseline[same_for_all[place]] for place in range(len(cases))],
            "shuffled dialogues": [baseline[source[place]] for place in range(len(cases))],
            **found,
        }
    return found


def _by_language(cases: Sequence[Case]) -> list[list[int]]:
    """Return the places of the cases of each language."""
    return list(grouped((case.language, place) for place, case in enumerate(cases)).values())


def _exchanged_within(groups: Iterable[Sequence[int]]) -> dict[int, int]:
    """Assign each place another one's answer of its group; nobody gets their own, unless alone."""
    source: dict[int, int] = {}
    for places in groups:
        others = list(places)
        random.Random(0).shuffle(others)
        source |= zip(others, [*others[1:], *others[:1]], strict=True)
    return source


def _record_told(case: Case, answers: ConsultationAnswers) -> ConsultationAnswers:
    """Put the whole record and all pictures into the patient's first reply, and all of it into the report."""
    facts = facts_of(case)
    record = [fact.text for fact in facts]
    shown = [Picture(item=image.item, file=str(Path(case.folder) / image.file)) for image in case.examinations.images]
    dialogue = list(answers.dialogue)
    for place, turn in enumerate(dialogue):
        if turn.speaker == "patient" and place:  # a dialogue's opening is not a reply
            update = {"text": "\n".join([turn.text, *record]), "facts": record, "plain": "", "pictures": shown}
            dialogue[place] = turn.model_copy(update=update)
            break
    report = _final_report(case.key, reference_parts(case))
    own = paragraph(*(fact.text for fact in facts if not fact.is_result))
    read = "\n".join([report.examinations, *case.key.imaging_reports.values()])
    report = report.model_copy(update={"symptoms": own, "examinations": read})
    return answers.model_copy(update={"dialogue": dialogue, "report": report})


def answerable(suite: Suite) -> bool:
    """Whether keys can answer what a suite scores."""
    return suite.needs in _MAKERS


def usual(train: Sequence[Case]) -> Reference:
    """Return the best constant answer, part by part.

    A single answer is the most frequent one. Of items, the most frequent ones are taken, as many as give the highest
    mean overlap with the keys. Of texts, the most frequent sentences are taken, as many as a text has at the median.
    """
    keys = [case.key for case in train]
    parts = [reference_parts(case) for case in train]
    department = Counter(key.department for key in keys if key.department).most_common(1)
    diagnosis = Counter(key.diagnosis[0] for key in keys if key.diagnosis).most_common(1)
    classes = dict.fromkeys(item for key in keys for item in key.imaging_reports)
    key = AnswerKey(
        urgency=None,
        department=department[0][0] if department else None,
        sub_departments=_best_items(key.sub_departments for key in keys),
        examination_items=_best_items(key.examination_items for key in keys),
        imaging_reports={
            item: _usual_text(key.imaging_reports[item] for key in keys if item in key.imaging_reports)
            for item in classes
        },
        diagnosis=[name for name, _ in diagnosis],
        treatment_items=_best_items(key.treatment_items for key in keys),
    )
    texts = {part: _usual_text(each[part] for each in parts) for part in PARTS if part != "diagnosis"}
    return key, ReportParts(**texts)


def _best_items(lists: Iterable[Sequence[Any]]) -> list[Any]:
    wanted = [set(items) for items in lists if items]
    ranked = [item for item, _ in Counter(chain.from_iterable(map(sorted, wanted))).most_common()]

    def overlap(count: int) -> float:
        return mean(intersection_over_union(ranked[:count], items) or 0.0 for items in wanted)

    return ranked[: max(range(1, len(ranked) + 1), key=overlap)] if ranked else []


def _usual_text(texts: Iterable[str]) -> str:
    split = [found for text in texts if (found := statements(text))]
    if not split:
        return ""
    counted = Counter(chain.from_iterable(dict.fromkeys(found) for found in split))
    return "\n".join(sentence for sentence, _ in counted.most_common(round(median(map(len, split)))))


def _decisions(key: AnswerKey, parts: ReportParts) -> Answers:
    referral = key.department and Referral(
        urgency=key.urgency or "routine", department=key.department, sub_departments=list(key.sub_departments)
    )
    return Answers(
        referral=referral or None,
        orders=list(key.examination_items),
        reports=dict(key.imaging_reports),
        diagnosis=list(key.diagnosis),
        treatment=list(key.treatment_items),
    )


def _report(key: AnswerKey, parts: ReportParts) -> ConsultationAnswers:
    return ConsultationAnswers(report=_final_report(key, parts))


def _final_report(key: AnswerKey, parts: ReportParts) -> FinalReport:
    texts = {part: parts[part] for part in PARTS if part != "diagnosis"}
    return FinalReport(diagnosis=list(key.diagnosis) or [_NO_DIAGNOSIS], **texts)


_MAKERS: dict[frozenset[str], Callable[[AnswerKey, ReportParts], Any]] = {
    frozenset({"decisions"}): _decisions,
    frozenset({"report"}): _report,
}
