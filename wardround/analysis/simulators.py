"""Patient systems on labelled items: each reply is played, then measured (AIE) or judged (Med-PMC, AI Hospital)."""

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass
class Trial:
    """A patient system put to items: what was found about its replies so far."""

    cases: Mapping[str, Case]  # by id; the items are about them
    context: Context  # the models of the patient and of the judges
    samples: dict[str, list[Sample]] = field(default_factory=dict)  # the values by metric
    # what got no answer, by item (and question), with the reason
    failures: dict[str, str] = field(default_factory=dict)

    async def play(self, items: Sequence[SimulatorItem], patient: str, setting: str = "") -> list[Played]:
        """Have a patient answer every item; what got no answer is a failure, and left out."""

        async def one(item: SimulatorItem) -> Played:
            case = self.cases[item.case_id]
            action, reply = await reply_to(item.doctor, item.dialogue, case, self.context, patient)
            return Played(item=item, action=action, reply=reply.text, plain=reply.plain)

        played, failed = await ask_each(items, one)
        self.failures |= {f"{item.id}{setting}": reason for item, reason in failed}
        return [reply for _, reply in played]

    async def judge(
        self, role: Role[Answer], views: Mapping[str, tuple[Any, Language]], setting: str = ""
    ) -> dict[str, Answer]:
        """A judge's answers by name, in the order of the views; what got none is a failure, and left out.

        The setting tells this question from another of the same role about the same thing.
        """

        async def one(name: str) -> Answer:
            place = "/".join(filter(None, (name, setting)))
            seen, language = views[name]
            return await ask(role, seen, self.context, language=language, place=place)

        answers, failed = await ask_each(list(views), one)
        self.failures |= {" ".join(filter(None, (f"{name}, {role.name}", setting))): why for name, why in failed}
        return dict(answers)


async def measure(trial: Trial, items: Sequence[SimulatorItem], patient: str, definition: Definition) -> list[Played]:
    """AIE's metrics of a patient's replies, and the accuracy of its tracking by part of the set."""
    played = await trial.play(items, patient)
    trial.samples |= score_simulator(as_tests(played, trial.cases), definition) | tracking_by_part(played, trial.cases)
    return played


async def judge_patient_actor(trial: Trial, items: Sequence[SimulatorItem], patient: str, *_: str) -> None:
    """Med-PMC's patient with and without its tracker, its words with and without the actor (Tables 4 and 5).

    Without the tracker MedChain's patient answers, which holds the record and tracks nothing.
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
        said = {name: seen for name, seen in views(played).items() if seen[0].replies}
        verdicts = await trial.judge(persona_judge, said, setting)
        trial.samples |= actor_judgement(verdicts, setting, acted=played is acted)


async def judge_replies(trial: Trial, items: Sequence[SimulatorItem], patient: str, *_: str) -> None:
    """Relevance, consistency and examination accuracy of a patient's replies (AI Hospital, Table 4)."""
    await judge_played(trial, await trial.play([item for item in items if is_answered(item)], patient))


async def judge_played(trial: Trial, replies: Sequence[Played]) -> None:
    """The same of replies that were given: of a patient that was tried, or in the dialogues of a run."""
    played = [one for one in replies if is_answered(one.item)]
    views = {one.item.id: reply_view(one, trial.cases[one.item.case_id]) for one in played}

    async def judged(role: Role[Answer], of: Iterable[str], silence: Answer | None) -> list[Sample]:
        """The share of yes; silence has a verdict that nobody needs to be asked for, or none."""
        of = list(of)
        given = await trial.judge(
            role, {name: (views[name], views[name].language) for name in of if views[name].reply.strip()}
        )
        if silence is not None:
            given |= {name: silence for name in of if not views[name].reply.strip()}
        return shares([(views[name].played.item.case_id, given[name]) for name in of if name in given])

    orders = [name for name, seen in views.items() if orders_examination(seen)]
    trial.samples |= {
        "Rel": await judged(relevance_judge, views, Relevance(relevant=False)),
        "Con": await judged(consistency_judge, views, None),
        "Acc": await judged(examination_judge, orders, ExaminationAccuracy(accurate=False)),
    }


async def reply_to(
    words: str, said: Sequence[Turn], case: Case, context: Context, patient: str, *, opened: bool = False
) -> tuple[str, Turn]:
    """Have a patient answer the doctor in words, pictures being told by their written findings.

    Where it is ``opened``, the dialogue is under way although nothing was said, and no first words are a greeting.

    Returns:
        The tracked action, empty if none is tracked, and the reply.
    """
    before = [*said, Turn(speaker="doctor", text=words)]
    state: PatientSideState = {
        "presentation": Presentation(
            language=case.language,
            age_years=case.patient.age_years,
            sex=case.patient.sex,
            occupation=case.patient.occupation,
            chief_complaint=case.patient.chief_complaint,
        ),
        "patient_record": case.patient,
        "examination_record": case.examinations,
        "dialogue": before,
        "opened": opened,
    }
    in_words = context.model_copy(update={"patient": patient, "send_pictures": False})
    dialogue: list[Turn] = (await PATIENTS[patient].graph.ainvoke(state, context=in_words))["dialogue"]
    doctor, *after = dialogue[len(before) - 1 :]
    # What patient and examiner say to each other is not for the doctor's ears.
    heard = [turn for turn in after if turn.addressee in (None, "doctor")]
    return doctor.action or "", heard[-1] if heard else Turn(speaker="patient", text="")
