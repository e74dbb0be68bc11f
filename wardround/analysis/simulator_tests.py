"""AIE's tests of a patient: the cases behind them, playing and writing them, and tests made of a run's dialogues."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases import Case, Problem
from cases.importers.choices import closing_question
from cases.importers.source import Source
from cases.importers.vignettes import read_vignette
from cases.problems import validation_problems
from cases.text.record_sentences import RecordSentence, facts_of
from cases.text.words import language_of
from cases.vocabulary import Language
from nodes.offline.doctor_actions import is_vague, names_nothing
from nodes.offline.relevance import released_for
from nodes.patients.saps.state_tracker import (
    AMBIGUOUS,
    EFFECTIVE,
    INEFFECTIVE,
    WHOLE_KINDS,
    Action,
    WordsView,
    kind_by_rule,
)
from nodes.state.chart import Turn
from scoring.aie.drafting import Draft
from scoring.aie.export import aie_record
from scoring.aie.simulator_set import record_of
from scoring.aie.transcripts import CODES, SimulatorReply, SimulatorTest, each_test
from scoring.asking import ask_each
from scoring.metrics.samples import of_epoch
from scoring.mvme.replies import exchanges, heard
from wardround.analysis.simulators import Trial, reply_to
from wardround.store.provenance import write_json
from wardround.store.recorded_run import RecordedRun


def cases_of(
    path: Path, tests: Sequence[SimulatorTest], known: Mapping[str, Case]
) -> tuple[dict[str, Case], list[Problem]]:
    """Return the case behind each test: a known case with its id and record, or else its record split by rule.

    A split record gives what the patient knows and the examination results, without the question that closes it.
    """
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    for test in tests:
        if (case := known.get(test.id)) and record_of(case) == test.record:
            cases[test.id] = case
            continue
        language: Language = language_of(test.record)
        opening = next((one.patient or "" for one in test.history[:1]), "")
        narrative = closing_question(test.record)[0] or test.record
        vignette = read_vignette(narrative, language, opening)
        content = {
            "id": test.id,
            "language": language,
            "patient": vignette.patient,
            "examinations": vignette.findings.record,
            "provenance": {"source": f"AIE's simulator tests ({path.name})"},
        }
        try:
            cases[test.id] = Case.model_validate(content)
        except ValidationError as error:
            problems += validation_problems(path, f"patient {test.id}", error)
    return cases, problems


def questions_of(tests: Sequence[SimulatorTest]) -> list[tuple[str, str, str]]:
    """Return the questions that can be asked: patient, round and the action they were written for."""
    each = ((test.id, *one) for test in tests for one in each_test(test.patient_test))
    return [(name, turn, kind) for name, turn, kind, one in each if one.question]


def lacking_dialogue(tests: Sequence[SimulatorTest]) -> list[tuple[str, str, str]]:
    """Return the questions whose dialogue so far is shorter than their round says."""
    known = {test.id: len(test.history) for test in tests}
    return [place for place in questions_of(tests) if int(place[1]) > known[place[0]]]


async def play_tests(trial: Trial, tests: Sequence[SimulatorTest], patient: str) -> list[SimulatorTest]:
    """Ask a patient the questions of the tests; return the tests with its replies and tracked actions.

    Questions without an answer are recorded as failures of the trial. The question of round k is asked after the first
    k exchanges of the test's dialogue. As in the published tests, no first question is taken for a greeting.
    """
    by_id = {test.id: test for test in tests}

    async def answer(place: tuple[str, str, str]) -> SimulatorReply:
        name, turn, kind = place
        test = by_id[name]
        test_reply = test.patient_test[turn][kind]
        dialogue = [
            Turn(speaker=speaker, text=text)
            for exchange in test.history[: int(turn)]
            for speaker, text in (("doctor", exchange.doctor), ("patient", exchange.patient))
            if text
        ]
        action, reply = await reply_to(
            test_reply.question or "", dialogue, trial.cases[name], trial.context, patient, opened=True
        )
        return test_reply.model_copy(update={"prediction": reply.text, "state_prediction": CODES.get(action)})

    played, failed = await ask_each(questions_of(tests), answer)
    trial.failures |= {"/".join(place): reason for place, reason in failed}
    replies: dict[str, dict[str, dict[str, SimulatorReply]]] = {}
    for (name, turn, kind), reply in played:
        replies.setdefault(name, {}).setdefault(turn, {})[kind] = reply
    return [test.model_copy(update={"patient_test": replies[test.id]}) for test in tests if test.id in replies]


def write_tests(path: Path, source: Path, played: Sequence[SimulatorTest]) -> None:
    """Write the authors' file with these replies in place of its own.

    Raises:
        OSError: it cannot be written.
    """
    replies = {test.id: test.patient_test for test in played}
    records = []
    for each in Source(source).records():
        record: Any = each.value
        for turn, kind, one in each_test(record["patient_test"]):
            reply = replies.get(str(record["id"]), {}).get(turn, {}).get(kind)
            for part in ("prediction", "state_prediction"):
                one.pop(part, None)
                if reply is not None and (value := getattr(reply, part)) is not None:
                    one[part] = value
        records.append(record)
    write_json(path, records)


def tests_of_run(run: RecordedRun) -> list[SimulatorTest]:
    """Turn the doctor's turns of a run's dialogues into tests, with the replies that were given.

    As nobody has labelled them, the rules give the action of the doctor's words, and the record sentences asked for as
    the expected answer. The round is the number of earlier exchanges; the opening turn and unanswered turns are left
    out.
    """
    found = []
    for result, answers in run.each_dialogue():
        case, dialogue = run.case_of(*result.key), answers.dialogue
        rounds: dict[str, dict[str, dict[str, str | None]]] = {}
        facts = facts_of(case)
        for place, one in enumerate(exchanges(dialogue)):
            if one.doctor.action == "Initialization":
                continue
            action, released = _label_by_rule(one.doctor.text, facts, case.language)
            code = CODES[action]
            rounds[str(place)] = {
                code: {
                    "human_state": code,
                    "human_answer": " ".join(fact.text for fact in released),
                    "question": one.doctor.text,
                    "state_prediction": CODES.get(one.doctor.action or ""),
                    "prediction": heard(one),
                }
            }
        if rounds:
            record = aie_record(case, dialogue)
            name = of_epoch(case.id, result.epoch)
            found.append(SimulatorTest.model_validate({**record, "id": name, "patient_test": rounds}))
    return found


def heard_by_rule(drafts: Iterable[tuple[Case, Draft]]) -> dict[tuple[str, str, str], str]:
    """Return the action that the rules assign to each drafted question, by case, round and code."""
    actions: dict[tuple[str, str, str], str] = {}
    for case, one in drafts:
        facts = facts_of(case)
        for turn, code, test in each_test(one.record["patient_test"]):
            actions[case.id, turn, code] = _label_by_rule(test["question"], facts, case.language)[0]
    return actions


def _label_by_rule(
    words: str, facts: Sequence[RecordSentence], language: Language
) -> tuple[Action, Sequence[RecordSentence]]:
    """Return the action that the rules assign to the doctor's words, and the record sentences that these release."""
    kind = kind_by_rule(WordsView(words, [], language)).kind
    if whole := WHOLE_KINDS.get(kind):
        return whole, ()
    if (names_nothing if kind == "advice" else is_vague)(words, language):
        return AMBIGUOUS[kind], ()
    released = released_for(facts, words, kind, language)
    return (EFFECTIVE if released else INEFFECTIVE)[kind], released
