"""Med-PMC's three judges: of the consultation (1-5), of the simulated patient (0-2), of the persona (0-5).

Each is an ordinary role; the offline rules compare what is stated, for testing pipelines and ranking similar systems.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from cases.strict import NotBoolean, Strict
from cases.text.named_tests import named_tests
from cases.text.statements import statements
from cases.vocabulary import Language
from llm import Role
from nodes.offline.hearing import heard_items
from prompts import said
from scoring.aie.simulator import AMBIGUOUS, ASKS_BACK, DENIAL, EFFECTIVE, INEFFECTIVE, has_keyword
from scoring.medpmc.metrics import imaging_pair, inquiry_pair
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.diagnosis_grade import name_words
from scoring.metrics.entities import without_image_marks
from scoring.metrics.samples import mean, share
from scoring.metrics.stated_share import stated_share
from scoring.metrics.text_overlap import levenshtein_ratio, words
from scoring.mvme.disease_entities import split_diseases

_CLEAR = 60  # words up to which the offline rule counts a reply as clear

FromOneToFive = Annotated[float, Field(ge=1, le=5, allow_inf_nan=False), NotBoolean]
UpToTwo = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False), NotBoolean]
UpToFive = Annotated[float, Field(ge=0, le=5, allow_inf_nan=False), NotBoolean]


class ConsultationScores(Strict):
    """How good a consultation is beside the case's record, 1 (worst) to 5 (best) in each aspect; decimals allowed."""

    inquiry: FromOneToFive = Field(description="Order, clarity and completeness of the history taking.")
    examination: FromOneToFive = Field(
        description="Whether the necessary examinations were done, and how they were read."
    )
    multimodal_analysis: FromOneToFive | None = Field(
        default=None,
        description="The reading of the images, compared with their reports; null only if the case has none.",
    )
    diagnosis: FromOneToFive
    treatment: FromOneToFive


class PatientScores(Strict):
    """How well a simulated patient plays, 0 (worst) to 2 (best) in each aspect."""

    description: UpToTwo = Field(description="How clearly the complaints are described.")
    completeness: UpToTwo = Field(description="Whether all that was asked for and is on record is told.")
    cooperation: UpToTwo
    understanding: UpToTwo = Field(description="Whether the answers fit the questions.")
    communication: UpToTwo


class PersonaScores(Strict):
    """How well a persona's words render the standard patient's, 0 (worst) to 5 (best) in each aspect."""

    semantic_consistency: UpToFive = Field(description="Whether the meaning is kept.")
    character_features: UpToFive = Field(description="How much of the persona can be heard.")


@dataclass(frozen=True)
class MedPmcView:
    """What these judges see; each prompt declares the part it uses."""

    case: MedPmcTranscript
    dialogue: str
    replies: Sequence[tuple[str, str]]  # intended and spoken words, if a persona changed them


def view(case: MedPmcTranscript, language: Language) -> MedPmcView:
    """Return what a judge sees of a transcript; what images show is on record in words if none could be shown.

    The dialogue has the patient's intended words, without a persona's manner (Med-PMC, section 4.1).
    """
    lines = []
    for turn in case.history:
        lines.append(said("doctor", turn.doctor, language))
        if turn.told:  # a conclusion may have an empty reply, which is no silence of the patient's
            lines.append(said("examiner" if turn.by_technician else "patient", turn.told, language))
    replies = [
        (turn.standard_patient, turn.patient)
        for turn in case.turns_before_end
        if turn.standard_patient is not None and turn.patient is not None
    ]
    if case.withheld:
        case = case.model_copy(update={"images": {}, "examinations": case.examinations_in_words})
    return MedPmcView(case, "\n".join(lines), replies)


def with_images_only(seen: MedPmcView, given: ConsultationScores) -> ConsultationScores:
    """Return the scores without one for images that the case lacks or that were withheld, whatever the judge says."""
    return given if seen.case.images else given.model_copy(update={"multimodal_analysis": None})


def _scores_the_images(seen: MedPmcView, given: ConsultationScores) -> str | None:
    unscored = seen.case.images and given.multimodal_analysis is None
    return "multimodal_analysis is null, but the case has images" if unscored else None


def judge_consultation_offline(seen: MedPmcView) -> ConsultationScores:
    """Score each aspect as ``1 + 4 x`` a share.

    Inquiry, examinations, images' reports and treatment: how much is stated, by meaning, polarity and side; for
    examinations times the share of orders that are on record. Diagnosis: the share of the diagnoses named within one
    sentence of the report.
    """
    case, imaging = seen.case, imaging_pair(seen.case)
    history, _ = inquiry_pair(case)
    examined = without_image_marks(case.examinations)
    record = "\n".join([history, examined, case.diagnosis, case.treatment, *case.images.values()])
    return ConsultationScores(
        inquiry=_to_five(stated_share(case.report, history, record)),
        examination=_to_five(stated_share(case.report, examined, record) * _share_on_record(case)),
        multimodal_analysis=None if imaging is None else _to_five(stated_share(imaging[1], imaging[0], record)),
        diagnosis=_to_five(_share_named(case.report, case.diagnosis)),
        treatment=_to_five(stated_share(case.report, case.treatment, record)),
    )


def judge_patient_offline(seen: MedPmcView) -> PatientScores:
    """Score each aspect as twice a share.

    Description: replies of at most 60 words. Completeness: how much of the record all replies state. Cooperation: turns
    with a reply. Understanding: replies that fit the doctor's action (stating the record, denying, or asking back).
    Communication: replies that do not repeat an earlier one. All 0 without a turn.
    """
    case, turns = seen.case, seen.case.turns_before_end
    replies = [turn.told for turn in turns if turn.told.strip()]
    record = f"{inquiry_pair(case)[0]} {without_image_marks(case.examinations)}"
    return PatientScores(
        description=2 * share(len(words(text)) <= _CLEAR for text in replies),
        completeness=2 * stated_share("\n".join(replies), record),
        cooperation=2 * share(bool(turn.told.strip()) for turn in turns),
        understanding=2 * share(_fits(turn.state, turn.told, record) for turn in turns),
        communication=2 * share(text not in replies[:place] for place, text in enumerate(replies)),
    )


def judge_persona_offline(seen: MedPmcView) -> PersonaScores:
    """Score each aspect as five times a share, averaged over the replies.

    Consistency: how much of the intended words is stated in the spoken ones. Features: how much the words differ,
    ``min(1, 2 x (1 - similarity ratio))``, so that unchanged words show no character.
    """
    consistency = mean([stated_share(said, meant) for meant, said in seen.replies]) or 0.0
    difference = mean([1 - levenshtein_ratio(words(meant), words(said)) for meant, said in seen.replies]) or 0.0
    return PersonaScores(semantic_consistency=5 * consistency, character_features=5 * min(1.0, 2 * difference))


consultation_judge = Role(
    "consultation_judge",
    "evaluation",
    "judges/consultation",
    ConsultationScores,
    offline=judge_consultation_offline,
    check=_scores_the_images,
)
patient_judge = Role("patient_judge", "evaluation", "judges/patient", PatientScores, offline=judge_patient_offline)
persona_judge = Role("persona_judge", "evaluation", "judges/persona", PersonaScores, offline=judge_persona_offline)


def _share_named(report: str, diagnosis: str) -> float:
    stated = [{*name_words(sentence)} for sentence in statements(report)]
    return share(any(words >= {*name_words(name)} for words in stated) for name in split_diseases(diagnosis))


def _share_on_record(case: MedPmcTranscript) -> float:
    """Return the share of the ordered examinations that are on record; 1 if none is named."""
    ordered = {item for turn in case.turns_before_end for item in heard_items(turn.doctor)}
    recorded = {test.item for test in named_tests(case.examinations)}
    return len(ordered & recorded) / len(ordered) if ordered and recorded else 1.0


def _to_five(share: float) -> float:
    return 1 + 4 * share


def _fits(action: str, reply: str, record: str) -> bool:
    if action in EFFECTIVE:
        return stated_share(record, reply) >= 0.5
    if action in INEFFECTIVE:
        return has_keyword(reply, DENIAL)
    return has_keyword(reply, ASKS_BACK) if action in AMBIGUOUS else bool(reply.strip())
