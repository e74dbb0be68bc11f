"""One case of a run in full: dialogue, decisions, judged answers, errors."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cases import Case
from cases.vocabulary import labels
from llm.trace import RECALLED, Call, Event, Trace, kept_at
from nodes.state.collaboration import Collaboration
from scoring.consultation import ConsultationAnswers, Orders, compare_orders, reference_parts, report_parts
from scoring.medchain.answers import Answers
from scoring.medchain.judges import claim_judge
from scoring.mvme.judges import director, misdiagnosis_judge
from scoring.mvme.transcripts import PARTS
from wardround.report.course import Passage, Said, passages_of, said_in, title_of
from wardround.serving.loopback import as_data
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result, RunAnswers

_LONGEST = 2_000  # characters of one answer
_LONGEST_SIDE = 480  # pixels of a picture


@dataclass(frozen=True)
class CaseSection:
    """All that the report shows of a case in one epoch."""

    anchor: str  # of the section, for links
    result: Result  # how the case ended
    file: str  # where its trace stands
    trace: Trace  # its calls and events
    dialogue: Sequence[Said]  # what was said
    # the title of each score, what was answered, what the key says, the score, and what the judge says to it
    judged: Sequence[tuple[str, str, str, str, str]]
    passages: Sequence[Passage]  # the parts of the course in their order, with what each decided
    orders: Orders | None  # the examinations that were ordered, beside the key's
    collaboration: Collaboration | None  # how several doctors came to one report
    case: Case | None  # what it was about; None if the case file is not there any more
    pictures: Mapping[str, str]  # of the case's pictures those that were handed over, small, by file
    # the earlier cases that stood before parts of the course: the parts, the case, how near its symptoms are (cosine),
    # and its diagnosis
    recalled: Sequence[tuple[str, str, float, str]]


def case_section(run: RecordedRun, result: Result, case: Case | None, anchor: str) -> CaseSection:
    """The section of a case; without its key if the case file is not there any more."""
    trace, answers = run.trace(result), result.answers
    dialogue = said_in(answers, lambda: trace)
    return CaseSection(
        anchor=anchor,
        result=result,
        file=kept_at(run.trace_file(result)).name,
        trace=trace,
        dialogue=dialogue,
        judged=list(_judged(run, result, case, _analyses(trace.calls))),
        passages=passages_of(result, trace.calls),
        orders=_orders(answers, case),
        collaboration=answers.collaboration if isinstance(answers, ConsultationAnswers) else None,
        case=case,
        pictures=_pictures(case, {file for said in dialogue for file in said.files}),
        recalled=list(_recalled(trace.events)),
    )


def _recalled(events: Sequence[Event]) -> Iterator[tuple[str, str, float, str]]:
    """A row for each case; parts before which the same cases stood are named together, in the first of the rows."""
    found: dict[tuple[tuple[str, float, str], ...], list[str]] = {}
    for event in events:
        if event.event == RECALLED and isinstance(event.content, dict):
            rows = []
            for one in event.content.get("cases", ()):
                name = one["case"] if one.get("verified", True) else f"{one['case']} (of this run)"
                rows.append((name, one["similarity"], "; ".join(one.get("diagnosis", ()))))
            found.setdefault(tuple(rows), []).append(title_of(event.stage))
    for recalled, stages in found.items():
        for number, row in enumerate(recalled):
            yield "" if number else ", ".join(dict.fromkeys(stages)), *row


def in_brief(answer: Any) -> str:
    """An answer as text, the beginning of a long one; all of it stands in the trace file."""
    text = "" if answer is None else json.dumps(answer, ensure_ascii=False, indent=1)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters; all in the trace)"


def _pictures(case: Case | None, handed_over: Collection[str]) -> dict[str, str]:
    """Pictures of the case as addresses; a record may name any file, and what is none of the case's stays unread."""
    shown: dict[str, str] = {}
    if case is None or not handed_over:
        return shown
    for image in case.examinations.images:
        of_case = Path(image.file).parts
        small, _ = as_data(Path(case.folder) / image.file, _LONGEST_SIDE)
        shown |= {name: small for name in handed_over if small and Path(name).parts[-len(of_case) :] == of_case}
    return shown


def _analyses(calls: Sequence[Call]) -> dict[str, str]:
    """What judges say to each part: the director (AI Hospital, figure 5), and of each claim of a report on pictures."""
    given = {call.role: call.answer for call in calls if call.error is None and isinstance(call.answer, dict)}
    grades = given.get(director.name, {})
    said = {part: str(grade["analysis"]) for part, grade in grades.items() if isinstance(grade, dict)}
    if why := given.get(misdiagnosis_judge.name):
        said["diagnosis"] = f"{said.get('diagnosis', '')}\n{why['type']}: {why['reason']}".strip()
    if claims := list(_claims(calls)):
        said["examination"] = "\n".join(claims)
    return said


def _claims(calls: Sequence[Call]) -> Iterator[str]:
    """Each claim of the references with the verdict on it, and why (MedChain, figure 7)."""
    for call in calls:
        if call.role == claim_judge.name and call.error is None and isinstance(call.answer, dict):
            for one in call.answer.get("verdicts", ()):
                reason = f" ({one['reason']})" if one["reason"] else ""
                yield f"{'+' if one['supported'] else '-'} {one['claim']}{reason}"


def _judged(
    run: RecordedRun, result: Result, case: Case | None, analyses: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str, str]]:
    titles = run.suite.titles
    pairs = pairs_of(result.answers, case)
    for name, (given, reference) in pairs.items():
        yield titles.get(name, name.capitalize()), given, reference, _score(result, name), analyses.get(name, "")
    for name, title in titles.items():
        if name not in pairs and name in result.scores:
            yield title, "", "", _score(result, name), ""


def _orders(answers: RunAnswers | None, case: Case | None) -> Orders | None:
    """By the names that the case's language has for them."""
    if case is None or not isinstance(answers, Answers | ConsultationAnswers):
        return None
    orders = compare_orders(answers.orders, case.key.examination_items)
    return Orders(**{group: labels(items, case.language) for group, items in orders})


def _score(result: Result, name: str) -> str:
    value = result.scores.get(name)
    return f"{value:.3f}" if value is not None else result.unscored.get(name, "")


def pairs_of(answers: RunAnswers | None, case: Case | None) -> dict[str, tuple[str, str]]:
    """What was answered and what the key says, by the name of the score that compares them."""
    if isinstance(answers, ConsultationAnswers):
        wanted = reference_parts(case) if case else None
        given = report_parts(answers.report) if answers.report else None
        return {part: (given[part] if given else "", wanted[part] if wanted else "") for part in PARTS}
    if not isinstance(answers, Answers):
        return {}
    referral, key = answers.referral, case.key if case else None
    return {
        "referral_level1": (referral.department if referral else "", (key and key.department) or ""),
        "referral_level2": (_listed(referral and referral.sub_departments), _listed(key and key.sub_departments)),
        "history_taking": (_listed(answers.orders), _listed(key and key.examination_items)),
        "examination": (_named(answers.reports), _named(key and key.imaging_reports)),
        "diagnosis": (_listed(answers.diagnosis), _listed(key and key.diagnosis)),
        "treatment": (_listed(answers.treatment), _listed(key and key.treatment_items)),
    }


def _listed(items: Any) -> str:
    return "\n".join(items or ())


def _named(texts: Any) -> str:
    return "\n".join(f"{name}: {text}" for name, text in (texts or {}).items())
