"""One case of a run in full: dialogue, decisions, judged answers, errors."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cases import Case
from cases.pictures import own_picture
from cases.vocabulary import Language, label, labels
from llm.trace import RECALLED, Call, Event, Trace, kept_at
from nodes.state.collaboration import Collaboration
from scoring.consultation import ConsultationAnswers, Orders, compare_orders, reference_parts, report_parts
from scoring.medchain.answers import Answers
from scoring.medchain.judges import claim_judge
from scoring.mvme.judges import LEFT_EMPTY, ReportParts, director, misdiagnosis_judge
from scoring.mvme.transcripts import PARTS
from wardround.report.course import Passage, Said, passages_of, said_in
from wardround.serving.loopback import as_data
from wardround.store.recorded_run import RecordedRun
from wardround.store.result import Result, RunAnswers
from wardround.tables.ends import title_of

_MAX_CHARACTERS = 2_000  # of one answer
_MAX_PIXELS = 480  # of a picture's longer side


@dataclass(frozen=True)
class CaseSection:
    """Everything that the report shows of a case in one epoch."""

    anchor: str  # of the section, for links
    result: Result  # how the case ended
    file: str  # name of its trace file
    trace: Trace  # its calls and events
    dialogue: Sequence[Said]  # what was said
    # by score: its title, the answer, the key, the score, and the judge's analysis
    judged: Sequence[tuple[str, str, str, str, str]]
    passages: Sequence[Passage]  # the parts of the workflow in order, with what each decided
    orders: Orders | None  # the ordered examinations compared with the key's
    collaboration: Collaboration | None  # how several doctors came to one report
    case: Case | None  # None if the case file is gone
    pictures: Mapping[str, str]  # thumbnails of the case's pictures that were handed over, by file
    # retrieved earlier cases: the parts that got them, the case, its similarity (cosine of symptoms), its diagnosis
    recalled: Sequence[tuple[str, str, float, str]]

    @property
    def language(self) -> Language:
        """The language of what was said and decided; empty if unknown."""
        return self.result.language or (self.case.language if self.case else "")


def case_section(run: RecordedRun, result: Result, case: Case | None, anchor: str) -> CaseSection:
    """Return the section of a case; without its key if the case file is gone."""
    trace, answers = run.trace(result), result.answers
    case = case and run.played(case, result.epoch)
    dialogue = said_in(answers, lambda: trace)
    return CaseSection(
        anchor=anchor,
        result=result,
        file=kept_at(run.trace_file(*result.key)).name,
        trace=trace,
        dialogue=dialogue,
        judged=list(_judged_rows(run, result, case, _analyses(trace.calls))),
        passages=passages_of(result, trace.calls),
        orders=_orders(answers, case),
        collaboration=answers.collaboration if isinstance(answers, ConsultationAnswers) else None,
        case=case,
        pictures=_thumbnails(case, {picture.file for said in dialogue for picture in said.pictures}),
        recalled=list(_recalled_cases(trace.events)),
    )


def _recalled_cases(events: Sequence[Event]) -> Iterator[tuple[str, str, float, str]]:
    """Yield a row for each retrieved case; the first row names all parts that got the same cases."""
    found: dict[tuple[tuple[str, float, str], ...], list[str]] = {}
    for event in events:
        if event.event == RECALLED and isinstance(event.content, dict):
            rows = []
            for one in event.content.get("cases", ()):
                name = one["case"] if one.get("verified", True) else f"{one['case']} (from this run)"
                rows.append((name, one["similarity"], "; ".join(one.get("diagnosis", ()))))
            found.setdefault(tuple(rows), []).append(title_of(event.stage))
    for recalled, stages in found.items():
        for number, row in enumerate(recalled):
            yield "" if number else ", ".join(dict.fromkeys(stages)), *row


def in_brief(answer: Any) -> str:
    """Return an answer as text, truncated if long; the trace file has all of it."""
    text = "" if answer is None else json.dumps(answer, ensure_ascii=False, indent=1)
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}… ({len(text)} characters; the trace has the full text)"


def _thumbnails(case: Case | None, handed_over: Collection[str]) -> dict[str, str]:
    """Return handed-over pictures of the case as data URLs."""
    own = {name: file for name in handed_over if case and (file := own_picture(case, name))}
    thumbnails = {file: as_data(file, _MAX_PIXELS)[0] for file in dict.fromkeys(own.values())}
    return {name: thumbnails[file] for name, file in own.items() if thumbnails[file]}


def _analyses(calls: Sequence[Call]) -> dict[str, str]:
    """Return the judges' analysis of each part: the director's (AI Hospital, Figure 5), and the claims' verdicts."""
    answers_by_role = {call.role: call.answer for call in calls if isinstance(call.answer, dict)}
    grades = answers_by_role.get(director.name, {})
    analyses = {part: str(grade["analysis"]) for part, grade in grades.items() if isinstance(grade, dict)}
    if why := answers_by_role.get(misdiagnosis_judge.name):
        analyses["diagnosis"] = f"{analyses.get('diagnosis', '')}\n{why['type']}: {why['reason']}".strip()
    if claims := list(_claims(calls)):
        analyses["examination"] = "\n".join(claims)
    return analyses


def _claims(calls: Sequence[Call]) -> Iterator[str]:
    """Yield each claim of the references with its verdict and the reason (MedChain, Figure 7)."""
    for call in calls:
        if call.role == claim_judge.name and isinstance(call.answer, dict):
            for one in call.answer.get("verdicts", ()):
                reason = f" ({one['reason']})" if one["reason"] else ""
                yield f"{'+' if one['supported'] else '-'} {one['claim']}{reason}"


def _judged_rows(
    run: RecordedRun, result: Result, case: Case | None, analyses: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str, str]]:
    titles = run.suite.titles
    pairs, answers = pairs_of(result.answers, case), result.answers
    has_report = isinstance(answers, ConsultationAnswers) and answers.report is not None
    for name, (answer, reference) in pairs.items():
        is_left = has_report and not answer.strip() and result.scores.get(name) is not None
        analysis = LEFT_EMPTY if is_left else analyses.get(name, "")
        yield titles.get(name, name.capitalize()), answer, reference, _score(result, name), analysis
    for name in dict.fromkeys((*titles, *run.suite.parts)):
        if name not in pairs and name in result.scores:
            yield titles.get(name, name), "", "", _score(result, name), ""


def _orders(answers: RunAnswers | None, case: Case | None) -> Orders | None:
    """Compare orders with the key, with item names in the case's language."""
    if case is None or not isinstance(answers, Answers | ConsultationAnswers):
        return None
    orders = compare_orders(answers.orders, case.key.examination_items)
    return Orders(**{group: labels(items, case.language) for group, items in orders})


def _score(result: Result, name: str) -> str:
    value = result.scores.get(name)
    return f"{value:.3f}" if value is not None else result.unscored.get(name, "")


def pairs_of(answers: RunAnswers | None, case: Case | None, language: Language = "en") -> dict[str, tuple[str, str]]:
    """Return answer and key as text, by the name of the score that compares them; items as this language calls them."""
    if isinstance(answers, ConsultationAnswers):
        reference = reference_parts(case) if case else ReportParts()
        reported = report_parts(answers.report) if answers.report else ReportParts()
        return {part: (reported[part], reference[part]) for part in PARTS}
    if not isinstance(answers, Answers):
        return {}
    referral, key = answers.referral, case.key if case else None

    def listed(items: Any) -> str:
        return "\n".join(labels(items or (), language))

    def department(of: Any) -> str:
        return label(of.department or "", language) if of else ""

    return {
        "referral_level1": (department(referral), department(key)),
        "referral_level2": (listed(referral and referral.sub_departments), listed(key and key.sub_departments)),
        "history_taking": (listed(answers.orders), listed(key and key.examination_items)),
        "examination": (_named_texts(answers.reports), _named_texts(key and key.imaging_reports)),
        "diagnosis": ("\n".join(answers.diagnosis or ()), "\n".join(key.diagnosis if key else ())),
        "treatment": (listed(answers.treatment), listed(key and key.treatment_items)),
    }


def _named_texts(texts: Any) -> str:
    return "\n".join(f"{name}: {text}" for name, text in (texts or {}).items())
