"""One case of a run in full: dialogue, decisions, judged answers, errors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cases import Case
from cases.dialogues import PATIENT, PHYSICIAN
from llm.trace import Call, Trace
from nodes.state.collaboration import Collaboration
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.medchain.answers import Answers
from scoring.medchain.judges import claim_judge
from scoring.mvme.judges import director, misdiagnosis_judge
from scoring.mvme.transcripts import PARTS
from wardround.store.recorded_run import RecordedRun
from wardround.store.run_directory import Result, RunAnswers
from wardround.store.traces import read_trace

_LONGEST = 2_000  # characters of one answer


@dataclass(frozen=True)
class CaseSection:
    """All that the report shows of a case in one epoch.

    Attributes:
        anchor: of the section, for links.
        result: how the case ended.
        file: where its trace stands.
        trace: its calls and events.
        dialogue: who said what.
        judged: the title of each score, what was answered, what the key says, the score, and what the judge says to it.
        collaboration: how several doctors came to one report.
    """

    anchor: str
    result: Result
    file: str
    trace: Trace
    dialogue: Sequence[tuple[str, str]]
    judged: Sequence[tuple[str, str, str, str, str]]
    collaboration: Collaboration | None


def case_section(run: RecordedRun, result: Result, case: Case | None, anchor: str) -> CaseSection:
    """The section of a case; without its key if the case file is not there any more."""
    file = run.trace_file(result)
    trace, answers = read_trace(file), result.answers
    return CaseSection(
        anchor=anchor,
        result=result,
        file=file.name,
        trace=trace,
        dialogue=dialogue_of(answers, lambda: trace.calls),
        judged=list(_judged(run, result, case, _analyses(trace.calls))),
        collaboration=answers.collaboration if isinstance(answers, ConsultationAnswers) else None,
    )


def in_brief(answer: Any) -> str:
    """An answer as text, the beginning of a long one; all of it stands in the trace file."""
    text = "" if answer is None else json.dumps(answer, ensure_ascii=False, indent=1)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters; all in the trace)"


def dialogue_of(answers: RunAnswers | None, calls: Callable[[], Sequence[Call]]) -> list[tuple[str, str]]:
    """The dialogue as the graph kept it; where it kept none, what was said in history-taking."""
    if isinstance(answers, ConsultationAnswers) and answers.dialogue:
        return [(turn.speaker, turn.text) for turn in answers.dialogue]
    if isinstance(answers, ReconstructionAnswers) and answers.reconstructed:
        names = {PHYSICIAN: "physician", PATIENT: "patient"}
        return [(names.get(said.role, said.role), said.content) for said in answers.reconstructed.spoken]
    return [
        (call.role, call.answer["text"])
        for call in calls()
        if call.stage == "history_taking" and isinstance(call.answer, dict) and isinstance(call.answer.get("text"), str)
    ]


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
