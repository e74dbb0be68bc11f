"""Test patient systems on labelled items, AIE's tests and recorded dialogues: play replies, measure and judge them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cases import Case, Problem
from cases.importers.source import Source
from cases.importers.vignettes import read_vignette
from cases.problems import validation_problems
from cases.text.record_sentences import RecordSentence, facts_of
from cases.text.words import language_of
from cases.vocabulary import Language
from llm import Role, ask
from llm.role import Answer
from nodes.context import Context
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
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Turn
from nodes.state.patient_side import PatientSideState
from scoring.aie.drafting import Draft
from scoring.aie.export import aie_record
from scoring.aie.simulator import score_simulator
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, record_of, tracking_by_part
from scoring.aie.transcripts import CODES, SimulatorReply, SimulatorTest, each_test
from scoring.asking import ask_each
from scoring.medpmc.judges import MedPmcView, patient_judge, persona_judge, view
from scoring.medpmc.patient_judgements import actor_judgement, as_consultations, patient_judgement, standard
from scoring.metrics.samples import Definition, Sample, of_epoch
from scoring.mvme.replies import exchanges, heard
from scoring.mvme.reply_judges import (
    ExaminationAccuracy,
    Relevance,
    consistency_judge,
    examination_judge,
    is_answered,
    orders_examination,
    relevance_judge,
    reply_view,
    shares,
)
from wardround.store.provenance import write_json
from wardround.store.recorded_run import RecordedRun

_PRESENTED = {"age_years", "sex", "occupation", "chief_complaint"}  # what the doctor knows at the start


@dataclass
class Trial:
    """A test of a patient system on items, with what was found so far."""

    cases: Mapping[str, Case]  # of the items, by id
    context: Context  # the models of the patient and of the judges
    samples: dict[str, list[Sample]] = field(default_factory=dict)  # the values by metric
    # items (and questions) without an answer, with the reason
    failures: dict[str, str] = field(default_factory=dict)

    async def play(self, items: Sequence[SimulatorItem], patient: str, setting: str = "") -> list[Played]:
        """Have a patient answer every item; an item without an answer is recorded as a failure, and left out."""

        async def play_item(item: SimulatorItem) -> Played:
            case = self.cases[item.case_id]
            action, reply = await reply_to(item.doctor, item.dialogue, case, self.context, patient)
            return Played(item=item, action=action, reply=reply.text, plain=reply.plain)

        played, failed = await ask_each(items, play_item)
        self.failures |= {f"{item.id}{setting}": reason for item, reason in failed}
        return [reply for _, reply in played]

    async def judge(
        self, role: Role[Answer], views: Mapping[str, tuple[Any, Language]], setting: str = ""
    ) -> dict[str, Answer]:
        """Return a judge's answers by name, in the order of the views; one without an answer is recorded as a failure.

        ``setting`` distinguishes this question from others of the same role about the same item.
        """

        async def ask_judge(name: str) -> Answer:
            place = "/".join(filter(None, (name, setting)))
            view, language = views[name]
            return await ask(role, view, self.context, language=language, place=place)

        answers, failed = await ask_each(list(views), ask_judge)
        self.failures |= {" ".join(filter(None, (f"{name}, {role.name}", setting))): why for name, why in failed}
        return dict(answers)


async def measure(trial: Trial, items: Sequence[SimulatorItem], patient: str, definition: Definition) -> list[Played]:
    """Score a patient's replies by AIE's metrics, and its tracking accuracy by part of the set."""
    played = await trial.play(items, patient)
    trial.samples |= score_simulator(as_tests(played, trial.cases), definition) | tracking_by_part(played, trial.cases)
    return played


async def judge_patient_actor(trial: Trial, items: Sequence[SimulatorItem], patient: str, *_: str) -> None:
    """Judge Med-PMC's patient with and without its tracker, and its words with and without the actor (Tables 4 and 5).

    Without the tracker, MedChain's patient answers: it has the record and tracks nothing.
    """
    acted = await trial.play(items, patient)
    untracked = await trial.play(items, "medchain", " without tracker")
    plain = standard(acted)

    def views(played: Sequence[Played]) -> dict[str, tuple[MedPmcView, Language]]:
        consultations = as_consultations(played, trial.cases)
        languages = {name: trial.cases[name].language for name in consultations}
        return {name: (view(one, languages[name]), languages[name]) for name, one in consultations.items()}

    for setting, played in (("w S-T", plain), ("w/o S-T", untracked)):
        trial.samples |= patient_judgement(await trial.judge(patient_judge, views(played), setting), setting)
    for setting, played in (("w Actor", acted), ("w/o Actor", plain)):
        with_replies = {name: seen for name, seen in views(played).items() if seen[0].replies}
        verdicts = await trial.judge(persona_judge, with_replies, setting)
        trial.samples |= actor_judgement(verdicts, setting, acted=played is acted)


async def judge_replies(trial: Trial, items: Sequence[SimulatorItem], patient: str, *_: str) -> None:
    """Judge relevance, consistency and examination accuracy of a patient's replies (AI Hospital, Table 4)."""
    await judge_played(trial, await trial.play([item for item in items if is_answered(item)], patient))


async def judge_played(trial: Trial, replies: Sequence[Played]) -> None:
    """Judge given replies in the same way: of a tested patient, or in the dialogues of a run."""
    played = [one for one in replies if is_answered(one.item)]
    views = {one.item.id: reply_view(one, trial.cases[one.item.case_id]) for one in played}

    async def yes_shares(role: Role[Answer], names: Iterable[str], silence: Answer | None) -> list[Sample]:
        """Return the shares of yes; an empty reply gets the ``silence`` verdict without asking, or none."""
        names = list(names)
        verdicts = await trial.judge(
            role, {name: (views[name], views[name].language) for name in names if views[name].reply.strip()}
        )
        if silence is not None:
            verdicts |= {name: silence for name in names if not views[name].reply.strip()}
        return shares([(views[name].played.item.case_id, verdicts[name]) for name in names if name in verdicts])

    ordering = [name for name, seen in views.items() if orders_examination(seen)]
    trial.samples |= {
        "Rel": await yes_shares(relevance_judge, views, Relevance(relevant=False)),
        "Con": await yes_shares(consistency_judge, views, None),
        "Acc": await yes_shares(examination_judge, ordering, ExaminationAccuracy(accurate=False)),
    }


async def reply_to(
    words: str, said: Sequence[Turn], case: Case, context: Context, patient: str, *, opened: bool = False
) -> tuple[str, Turn]:
    """Have a patient answer the doctor, with pictures replaced by their written findings.

    If ``opened``, the dialogue has begun even if nothing was said, so that no first words are taken for a greeting.

    Returns:
        The tracked action, empty if none is tracked, and the reply.
    """
    dialogue_so_far = [*said, Turn(speaker="doctor", text=words)]
    state: PatientSideState = {
        "presentation": Presentation(language=case.language, **case.patient.model_dump(include=_PRESENTED)),
        "patient_record": case.patient,
        "examination_record": case.examinations,
        "dialogue": dialogue_so_far,
        "opened": opened,
    }
    text_only = context.model_copy(update={"patient": patient, "send_pictures": False})
    dialogue: list[Turn] = (await PATIENTS[patient].graph.ainvoke(state, context=text_only))["dialogue"]
    doctor, *after = dialogue[len(dialogue_so_far) - 1 :]
    # The doctor does not hear what patient and examiner say to each other.
    heard = [turn for turn in after if turn.addressee in (None, "doctor")]
    return doctor.action or "", heard[-1] if heard else Turn(speaker="patient", text="")


def cases_of(
    path: Path, tests: Sequence[SimulatorTest], known: Mapping[str, Case]
) -> tuple[dict[str, Case], list[Problem]]:
    """Return the case behind each test: a known case with its id and record, or else its record split by rule.

    A split record gives what the patient knows and the examination results.
    """
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    for test in tests:
        if (case := known.get(test.id)) and record_of(case) == test.record:
            cases[test.id] = case
            continue
        language: Language = language_of(test.record)
        opening = next((one.patient or "" for one in test.history[:1]), "")
        vignette = read_vignette(test.record, language, opening)
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
