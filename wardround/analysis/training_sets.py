"""What runs leave to train on: interviews, a role's answers, and preferences, in the forms that TRL's trainers read.

Messages are chat messages. Of a dialogue the user is the patient, the assistant the physician; of a role's call the
user is the prompt, the assistant the answer as JSON.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue, Message, read_dialogues
from llm.trace import Call
from scoring.clini_eval.dialogue import dialogue_of_consultation
from scoring.consultation import ConsultationAnswers
from wardround.config.experiment import GIVES, ConfigurationError
from wardround.rating.marks import Mark
from wardround.store.dialogue_files import outcome_of
from wardround.store.recorded_run import RecordedRun, find_runs

Line = dict[str, Any]
_AUTHOR = "dialogue_writer"
_ON_THE_WHOLE = ("doctor_total", "patient_total")  # of the scale `pairwise`


def dialogues_in(sources: Sequence[Path]) -> list[Dialogue]:
    """The dialogues of files, and those that runs have kept: what failed a gate is not among them.

    Raises:
        ConfigurationError: a line is no dialogue, or there is none.
    """
    found: list[Dialogue] = []
    for source in sources:
        if source.is_dir():
            found += [dialogue for run in find_runs([source]) for _, dialogue in _kept(run)]
            continue
        read, problems = read_dialogues(source)
        if problems:
            raise ConfigurationError("\n".join(map(str, problems)))
        found += read
    if not found:
        graphs = ", ".join(graph for graph, parts in GIVES.items() if "dialogue" in parts)
        raise ConfigurationError(
            f"{', '.join(map(str, sources))}: holds no dialogue; a run of {graphs} does, and what "
            "`wardround reconstruct` writes"
        )
    return found


def interviews(dialogues: Iterable[Dialogue], by_turn: bool = False) -> Iterator[Line]:
    """A line a dialogue, for a loss on the assistant's words; or a prompt with its completion for each turn.

    Whatever the notes of a dialogue say, only what was said is written.
    """
    for dialogue in dialogues:
        if not by_turn:
            yield {"id": dialogue.id, "messages": _plain(dialogue.messages)}
            continue
        for place, message in enumerate(dialogue.messages):
            if message.role == PHYSICIAN and any(said.role == PATIENT for said in dialogue.messages[:place]):
                prompt, completion = _plain(dialogue.messages[:place]), _plain([message])
                yield {"id": f"{dialogue.id}/{place}", "prompt": prompt, "completion": completion}


def answers_of(runs: Sequence[RecordedRun], role: str) -> Iterator[Line]:
    """A line for each answer that a model gave as this role: its prompt, and the answer as JSON. Pictures have none."""
    for run in runs:
        for file, calls in run.each_trace():
            for call in calls:
                if call.role == role and call.error is None and (prompt := _asked(call)):
                    yield {
                        "id": f"{run.name}/{file.stem}/{call.id}",
                        "prompt": prompt,
                        "completion": _said(call.answer),
                    }


def preferences(runs: Sequence[RecordedRun], marks: Sequence[Mark] = ()) -> Iterator[Line]:
    """Every preference that the runs hold: ``prompt``, ``chosen``, ``rejected``, ``case``, and ``by``, who preferred.

    ``gates``: of a section that the gates sent back, the draft that was kept in a dialogue that passed them, against
    the first. ``judges``: of a decision that a physician of a later stage objected to, the one that all accepted,
    against the first. ``raters``: of two consultations with one patient, the one that most judgements on the whole
    prefer.
    """
    for run in runs:
        kept = {key for key, _ in _kept(run)} if run.experiment.graph == "reconstruction" else set()
        for result in run.each_answered():
            calls = run.trace(result).calls
            found = _accepted_over_objected(calls) if result.answers else []
            if result.key in kept:
                found = _kept_over_refused(calls)
            for place, line in found:
                name = f"{run.name}/{result.case_id}#{result.epoch}/{place}"
                yield {"id": name, "case": result.case_id, **line}
    yield from _preferred_by_raters(runs, marks)


def _kept_over_refused(calls: Sequence[Call]) -> Iterator[tuple[str, Line]]:
    """The drafts of a section, first and last; a draft that could not be read is none."""
    drafts: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if call.role == _AUTHOR and call.answer is not None and call.error is None:
            drafts[call.id.partition("/revision")[0]].append(call)
    for section, written in drafts.items():
        yield from _pair(section, written[0], written[-1].answer, "gates")


def _accepted_over_objected(calls: Sequence[Call]) -> Iterator[tuple[str, Line]]:
    """The decisions of a stage, the first and that which was accepted."""
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
            if "decision" in answer and "decision" not in objected.answer:  # a revision replies to the objections too
                answer = answer["decision"]
            yield from _pair(stage, objected, answer, "judges")


def _decided(calls: Sequence[Call], stage: str, verdicts: Sequence[Call]) -> Call | None:
    """The last that was asked before the verdicts, of this stage and part: whose decision it was."""
    began = min(call.started for call in verdicts)
    name, *part = stage.split("/")
    asked = [
        call
        for call in calls
        if call.started < began
        and call.stage == verdicts[0].stage
        and call.role != verdicts[0].role
        and call.id.startswith(f"{name}/")
        and set(part) <= set(call.id.split("/"))
        and call.answer is not None
    ]
    return max(asked, key=lambda call: call.started, default=None)


def _preferred_by_raters(runs: Sequence[RecordedRun], marks: Sequence[Mark]) -> Iterator[Line]:
    votes: dict[tuple[str, str, str, int], int] = defaultdict(int)
    for mark in marks:
        if mark.scale == "pairwise" and mark.question in _ON_THE_WHOLE:
            votes[mark.item] += mark.value
    if not votes:
        return
    spoken = {(run.name, *key): dialogue.messages for run in runs for key, dialogue in _kept(run)}
    for (one, other, case_id, epoch), sum_ in sorted(votes.items()):
        better, worse = (spoken.get((name, case_id, epoch)) for name in ((one, other) if sum_ < 0 else (other, one)))
        if not sum_ or better is None or worse is None:
            continue
        shared = len([*takewhile(lambda both: both[0] == both[1], zip(better, worse, strict=False))])
        if shared == 0 or shared in (len(better), len(worse)):
            continue  # nothing that both answer, or one only breaks off
        name = f"{one}/{other}/{case_id}#{epoch}"
        yield {"id": name, "case": case_id, "by": "raters"} | {
            part: _plain(said)
            for part, said in (("prompt", better[:shared]), ("chosen", better[shared:]), ("rejected", worse[shared:]))
        }


def _pair(place: str, refused: Call, kept: Any, by: str) -> Iterator[tuple[str, Line]]:
    if kept != refused.answer and (prompt := _asked(refused)):
        yield place, {"by": by, "prompt": prompt, "chosen": _said(kept), "rejected": _said(refused.answer)}


def _kept(run: RecordedRun) -> Iterator[tuple[tuple[str, int], Dialogue]]:
    """The dialogues of a run by case and epoch, what failed a gate left out."""
    if "dialogue" not in GIVES[run.experiment.graph]:
        return
    for result in run.each_answered():
        if isinstance(result.answers, ConsultationAnswers) and result.scored and result.answers.dialogue:
            case = run.cases[result.case_id]
            told = dialogue_of_consultation(case, {"dialogue": result.answers.dialogue})
            yield result.key, told.model_copy(update={"models": run.models.get("doctor", [])})
        elif isinstance(outcome := outcome_of(result), Dialogue):
            yield result.key, outcome


def _plain(messages: Iterable[Message]) -> list[Line]:
    return [message.model_dump() for message in messages]


def _asked(call: Call) -> list[Line]:
    """What was sent; nothing if pictures were."""
    sent = call.messages or []
    return [] if any("content" not in message for message in sent) else sent


def _said(answer: Any) -> list[Line]:
    return [{"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)}]
