"""Training sets from runs: interviews, a role's answers, and preferences, in the formats that TRL's trainers read.

All are chat messages. In a dialogue the patient is the user, the physician the assistant; in a role's call the prompt
is the user, the answer as JSON the assistant.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from cases import CaseFileError
from cases.dialogue_files import read_dialogues
from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message
from cases.grouping import grouped
from llm.trace import Call
from scoring.clini_eval.dialogue import dialogue_of_consultation
from scoring.consultation import ConsultationAnswers
from scoring.metrics.samples import of_epoch
from wardround.config.experiment import GIVES, ConfigurationError
from wardround.printing import counted
from wardround.rating.marks import Mark, marks_of_runs
from wardround.store.dialogue_files import outcome_of
from wardround.store.recorded_run import RecordedRun, find_runs

Line = dict[str, Any]
_AUTHOR = "dialogue_writer"
_OVERALL = ("doctor_total", "patient_total")  # questions of the scale `pairwise`


def dialogues_in(sources: Sequence[Path]) -> list[Dialogue]:
    """Return the dialogues in files and runs, each epoch under an id of its own, without those that failed a gate.

    Raises:
        CaseFileError: a line is not a dialogue.
        ConfigurationError: there is none.
    """
    found: list[Dialogue] = []
    refused = 0
    for source in sources:
        if source.is_dir():
            runs = find_runs([source])
            by_key = [each for run in runs for each in _dialogues(run)]
            found += [one.model_copy(update={"id": of_epoch(one.id, epoch)}) for (_, epoch), one in by_key]
            refused += sum(len(run.results) for run in runs if run.experiment.graph == "reconstruction")
            continue
        read, problems = read_dialogues(source)
        if problems:
            raise CaseFileError(problems)
        found += read
    if not found and refused:
        raise ConfigurationError(
            f"{', '.join(map(str, sources))}: of {counted(refused, 'note')} no dialogue was kept; the file "
            "*.failed.jsonl of the reconstruction has the reasons"
        )
    if not found:
        graphs = ", ".join(graph for graph, parts in GIVES.items() if "dialogue" in parts)
        raise ConfigurationError(
            f"{', '.join(map(str, sources))}: has no dialogues; use a run of {graphs}, or what "
            "`wardround reconstruct` writes"
        )
    return found


def interviews(dialogues: Iterable[Dialogue], by_turn: bool = False) -> Iterator[Line]:
    """Yield a line per dialogue, for a loss on the assistant's words; if ``by_turn``, a prompt and completion per turn.

    Only what was said is written, not the notes of a dialogue.
    """
    for dialogue in dialogues:
        if not by_turn:
            yield {"id": dialogue.id, "messages": _as_messages(dialogue.messages)}
            continue
        for place, message in enumerate(dialogue.messages):
            if message.role == PHYSICIAN and any(turn.role == PATIENT for turn in dialogue.messages[:place]):
                prompt, completion = _as_messages(dialogue.messages[:place]), _as_messages([message])
                yield {"id": f"{dialogue.id}/{place}", "prompt": prompt, "completion": completion}


def answers_of(runs: Sequence[RecordedRun], role: str) -> Iterator[Line]:
    """Yield a line for each answer of a model in this role: its prompt, and the answer as JSON; none with pictures.

    Of a reconstruction, only what is in a dialogue that passed the gates: no draft that they sent back, and nothing of
    a note whose dialogue failed.
    """
    for run in runs:
        passed: set[Path] | None = None
        if run.experiment.graph == "reconstruction":
            passed = {run.trace_file(*key) for key, _ in _dialogues(run)}
        for file, calls in run.each_trace():
            if passed is not None and file not in passed:
                continue
            sent_back = {call.id for drafts in _drafts(calls).values() for call in drafts[:-1]} if passed else set()
            for call in calls:
                answered = call.role == role and call.error is None and call.id not in sent_back
                if answered and (prompt := _prompt(call)):
                    name = f"{run.name}/{file.stem}/{call.id}"
                    yield {"id": name, "prompt": prompt, "completion": _as_message(call.answer)}


def preferences(runs: Sequence[RecordedRun], marks: Sequence[Mark] = ()) -> Iterator[Line]:
    """Yield every preference in the runs: ``prompt``, ``chosen``, ``rejected``, ``case``, and ``by``, its source.

    - ``gates``: for a section that the gates sent back, the final draft of a dialogue that passed, against the first.
    - ``judges``: for a decision to which a physician of a later stage objected, the one that all accepted, against the
      first.
    - ``raters``: of two consultations with one patient, the one that most overall judgements prefer.
    """
    for run in runs:
        passed = {key for key, _ in _dialogues(run)} if run.experiment.graph == "reconstruction" else set()
        for result in run.each_answered():
            calls = run.trace(result).calls
            found = _accepted_over_objected(calls) if result.answers else []
            if result.key in passed:
                found = _passed_over_refused(calls)
            for place, line in found:
                name = f"{run.name}/{result.case_id}#{result.epoch}/{place}"
                yield {"id": name, "case": result.case_id, **line}
    yield from _preferred_by_raters(runs, marks)


def _passed_over_refused(calls: Sequence[Call]) -> Iterator[tuple[str, Line]]:
    """Yield pairs of a section's last and first draft."""
    for section, attempts in _drafts(calls).items():
        yield from _pair(section, attempts[0], attempts[-1].answer, "gates")


def _drafts(calls: Sequence[Call]) -> dict[str, list[Call]]:
    """Return the drafts of each section of a reconstruction; unreadable ones are left out."""
    return grouped(
        (call.id.partition("/revision")[0], call)
        for call in calls
        if call.role == _AUTHOR and call.answer is not None and call.error is None
    )


def _accepted_over_objected(calls: Sequence[Call]) -> Iterator[tuple[str, Line]]:
    """Yield pairs of a stage's accepted and first decision."""
    verdicts: dict[str, dict[int, list[Call]]] = defaultdict(lambda: defaultdict(list))
    for call in calls:
        before, judged, after = call.id.partition("/feedback/")
        part, numbered, rest = f"/{after}".partition("/round")
        number = rest.split("/")[0]
        if judged and numbered and number.isdigit() and call.answer is not None:
            verdicts[before + part][int(number)].append(call)
    for stage, rounds in verdicts.items():
        first, last = rounds[min(rounds)], rounds[max(rounds)]
        if len(rounds) < 2 or not all(call.answer["accepted"] for call in last):
            continue
        objected, accepted = (_decided(calls, stage, judged) for judged in (first, last))
        if objected and accepted:
            answer = accepted.answer
            if "decision" in answer and "decision" not in objected.answer:  # a revision also replies to the objections
                answer = answer["decision"]
            yield from _pair(stage, objected, answer, "judges")


def _decided(calls: Sequence[Call], stage: str, verdicts: Sequence[Call]) -> Call | None:
    """Return the last call of this stage and part before the verdicts, which made the judged decision."""
    first_verdict = min(call.started for call in verdicts)
    name, *part = stage.split("/")
    calls_before = [
        call
        for call in calls
        if call.started < first_verdict
        and call.stage == verdicts[0].stage
        and call.role != verdicts[0].role
        and call.id.startswith(f"{name}/")
        and set(part) <= set(call.id.split("/"))
        and call.answer is not None
    ]
    return max(calls_before, key=lambda call: call.started, default=None)


def _preferred_by_raters(runs: Sequence[RecordedRun], marks: Sequence[Mark]) -> Iterator[Line]:
    votes: dict[tuple[str, str, str, int], int] = defaultdict(int)
    for mark in marks_of_runs(runs, marks)[0]:
        if mark.scale == "pairwise" and mark.question in _OVERALL:
            votes[mark.item] += mark.value
    if not votes:
        return
    messages_of = {(run.name, *key): dialogue.messages for run in runs for key, dialogue in _dialogues(run)}
    for (one, other, case_id, epoch), sum_ in sorted(votes.items()):
        better, worse = (
            messages_of.get((name, case_id, epoch)) for name in ((one, other) if sum_ < 0 else (other, one))
        )
        if not sum_ or better is None or worse is None:
            continue
        shared = len([*takewhile(lambda both: both[0] == both[1], zip(better, worse, strict=False))])
        if shared == 0 or shared in (len(better), len(worse)):
            continue  # no common beginning to answer, or one dialogue only continues the other
        labels = {"id": f"{one}/{other}/{case_id}#{epoch}", "case": case_id, "by": "raters"}
        parts = {"prompt": better[:shared], "chosen": better[shared:], "rejected": worse[shared:]}
        yield labels | {part: _as_messages(messages) for part, messages in parts.items()}


def _pair(place: str, rejected: Call, chosen: Any, by: str) -> Iterator[tuple[str, Line]]:
    if chosen != rejected.answer and (prompt := _prompt(rejected)):
        answers = {"chosen": _as_message(chosen), "rejected": _as_message(rejected.answer)}
        yield place, {"by": by, "prompt": prompt, **answers}


def _dialogues(run: RecordedRun) -> Iterator[tuple[tuple[str, int], Dialogue]]:
    """Yield the dialogues of a run by case and epoch, without those that failed a gate."""
    if "dialogue" not in GIVES[run.experiment.graph]:
        return
    doctors = run.models.get("doctor", [])
    for result in run.each_answered():
        if isinstance(result.answers, ConsultationAnswers) and result.scored and result.answers.dialogue:
            case = run.case_of(*result.key)
            dialogue = dialogue_of_consultation(case, {"dialogue": result.answers.dialogue})
            yield result.key, dialogue.model_copy(update={"models": doctors})
        elif isinstance(outcome := outcome_of(result), Dialogue):
            yield result.key, outcome


def _as_messages(messages: Iterable[Message]) -> list[Line]:
    return [message.model_dump() for message in messages]


def _prompt(call: Call) -> list[Line]:
    """Return the messages sent; empty if they contained pictures."""
    sent = call.messages or []
    return [] if any("content" not in message for message in sent) else sent


def _as_message(answer: Any) -> list[Line]:
    return [{"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)}]
