"""Test patient systems: play their replies to labelled items, measure and judge them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cases import Case
from cases.vocabulary import Language
from llm import Role, ask
from llm.role import Answer
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.state.chart import Presentation, Turn
from nodes.state.patient_side import PatientSideState
from scoring.aie.simulator import score_simulator
from scoring.aie.simulator_set import Played, SimulatorItem, as_tests, tracking_by_part
from scoring.asking import ask_each
from scoring.medpmc.judges import MedPmcView, patient_judge, persona_judge, view
from scoring.medpmc.patient_judgements import actor_judgement, as_consultations, patient_judgement, standard
from scoring.metrics.samples import Definition, Sample
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

_PRESENTED = {"age_years", "sex", "occupation", "chief_complaint"}  # what the doctor knows at the start


@dataclass
class Trial:
    """A test of a patient system on items, with what was found so far."""

    cases: Mapping[str, Case]  # of the items, by id
    context: Context  # the models of the patient and of the judges
    samples: dict[str, list[Sample]] = field(default_factory=dict)  # the values by metric
    # items (and questions) without an answer, with the reason
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def unanswered(self) -> list[str]:
        """What has no answer, and why, one sentence each."""
        return [f"{place}: no answer: {reason}" for place, reason in self.failures.items()]

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

    async def yes_shares(role: Role[Answer], names: Collection[str], silence: Answer | None) -> list[Sample]:
        """Return the shares of yes; an empty reply gets the ``silence`` verdict without asking, or none."""
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
