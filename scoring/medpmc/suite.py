"""Med-PMC's suites for our own consultations: recalls (section 4), judgements of the doctor, and of the patient."""

from dataclasses import replace

from cases import Case
from llm import UNANSWERED, ModelSettings, ask, side_by_side
from nodes.context import Context
from scoring.case_scores import CaseScores, Metric, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import medpmc_transcript, pictures_withheld
from scoring.medpmc.judges import consultation_judge, patient_judge, persona_judge, view, with_images_only
from scoring.medpmc.metrics import AVERAGES, METRICS, SUPPORT, score_medpmc, support
from scoring.medpmc.patient_judgements import ASPECTS
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.samples import PERCENT, mean

_NO_REFERENCE = "no reference to compare with"
_NOT_SHOWN = "no picture may be handed over with these settings"
_PICTURELESS = "the case has no picture"
_COMPARED = ("Inquiry", "Examination", "MMA", "Diagnosis", "Treatment")  # with a text of the case


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the recall (ROUGE-1) of each part in percent, lengths in words, and the number of turns."""
    found = score_medpmc([_transcript(case, answers, settings)])
    values = {name: mean([sample.value for sample in found[name]]) for name in METRICS}
    unscored = {name: _NO_REFERENCE for name, value in values.items() if value is None}
    if "MMA" in unscored:
        unscored["MMA"] = _NOT_SHOWN if case.examinations.images else _PICTURELESS
    return CaseScores(values, unscored)


def without_reference(case: Case) -> dict[str, str]:
    """Return the columns for which this case has nothing to compare a report with, whatever a doctor does."""
    found = score_medpmc([_transcript(case, ConsultationAnswers())])
    missing = {name: _NO_REFERENCE for name in _COMPARED if not found[name]}
    return missing | ({} if case.examinations.images else {"MMA": _PICTURELESS})


def support_of_report(case: Case, answers: ConsultationAnswers) -> float | None:
    """Return the complement of the recalls: how much of the report the case supports, in percent."""
    found = support(_transcript(case, answers))
    return None if found is None else 100 * found


def _transcript(case: Case, answers: ConsultationAnswers, settings: ModelSettings | None = None) -> MedPmcTranscript:
    withheld = isinstance(settings, Context) and pictures_withheld(settings)
    record = medpmc_transcript(case, answers.dialogue, answers.report, withheld=withheld)
    return MedPmcTranscript.model_validate(record)


suite = Suite(
    "medpmc",
    {
        "Inquiry": "Inquiry",
        "Examination": "Examination",
        "MMA": "Multi-modal analysis",
        "Diagnosis": "Diagnosis",
        "Treatment": "Treatment",
        "Info": "Information",
        "Lens": "Length of a turn",
        "Turns": "Turns",
    },
    score,
    needs=frozenset({"dialogue", "report"}),
    ends=PERCENT,
    neither=("Lens", "Turns"),
    without_reference=without_reference,
    means=AVERAGES,
    notes="Recall in percent (ROUGE-1), except lengths and turns. Support (ours): share of the report that the case "
    "supports. Lens counts what is said; a doctor's thoughts count only with thoughts = 'spoken', as in the paper.",
)
suite.metrics.add(SUPPORT, Metric(SUPPORT, support_of_report))


DOCTOR_ASPECTS = {
    "Inquiry": "inquiry",
    "Examination": "examination",
    "MMA": "multimodal_analysis",
    "Diagnosis": "diagnosis",
    "Treatment": "treatment",
}
_NO_PICTURE = "there was no picture to read"


async def score_judged(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the judge's five aspects, 1 to 5; higher is better.

    Multi-modal analysis is unscored if the case has no picture or all are withheld; all five are unscored if the judge
    fails.
    """
    seen = view(_transcript(case, answers, settings), case.language)
    try:
        given = await ask(consultation_judge, seen, settings, language=case.language)
    except UNANSWERED as error:
        return CaseScores.none_of(judged_suite.published, error)
    given = with_images_only(seen, given)
    values = {column: getattr(given, aspect) for column, aspect in DOCTOR_ASPECTS.items()}
    return CaseScores(values, {"MMA": _NO_PICTURE} if values["MMA"] is None else {})


judged_suite = Suite(
    "medpmc_judged",
    {**{column: column for column in DOCTOR_ASPECTS}, "MMA": "Multi-modal analysis"},
    score_judged,
    needs=frozenset({"dialogue", "report"}),
    ends=(1.0, 5.0),
    judged=tuple(DOCTOR_ASPECTS),
    without_reference=lambda case: {} if case.examinations.images else {"MMA": _NO_PICTURE},
    notes="A judge's scores from 1 to 5 for each aspect, as in the paper's Figure 2.",
)


_TOTAL, _CONSISTENCY, _CHARACTER = "Total", "Semantic consistency", "Character feature"
_PLAIN = "no actor spoke, so nothing was rephrased"
_SILENT = "the patient said nothing"


async def score_standard_patient(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return five aspects of the patient, 0 to 2 each, and their sum; higher is better.

    The patient is judged by the intended words, without a persona's manner. All are unscored if the judge fails.
    """
    made = _transcript(case, answers, settings)
    if not _spoken(made):
        return CaseScores.none_of(standard_patient_suite.published, _SILENT)
    try:
        patient = await ask(patient_judge, view(made, case.language), settings, language=case.language)
    except UNANSWERED as error:
        return CaseScores.none_of(standard_patient_suite.published, error)
    values = {column: getattr(patient, aspect) for column, aspect in ASPECTS.items()}
    return CaseScores({**values, _TOTAL: sum(values.values())})


async def score_patient(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return :func:`score_standard_patient`'s columns and two of the actor, 0 to 5; higher is better.

    If no actor spoke, the plain words are compared with themselves, and their consistency is left out, as in the
    table. A judge that fails leaves its columns unscored.
    """
    made = _transcript(case, answers, settings)
    if not (spoken := _spoken(made)):
        return CaseScores.none_of(patient_suite.published, _SILENT)
    with_persona = view(made, case.language)
    acted = bool(with_persona.replies)
    pairs = with_persona.replies or [(words, words) for words in spoken]

    async def score_actor() -> CaseScores:
        try:
            persona = await ask(persona_judge, replace(with_persona, replies=pairs), settings, language=case.language)
        except UNANSWERED as error:
            return CaseScores.none_of((_CONSISTENCY, _CHARACTER), error)
        consistency = persona.semantic_consistency if acted else None
        return CaseScores({_CONSISTENCY: consistency, _CHARACTER: persona.character_features})

    patient, actor = await side_by_side([score_standard_patient(case, answers, settings), score_actor()])
    plain = {} if acted else {_CONSISTENCY: _PLAIN}
    return CaseScores({**patient.values, **actor.values}, {**patient.unscored, **actor.unscored, **plain})


def _spoken(made: MedPmcTranscript) -> list[str]:
    return [turn.patient for turn in made.turns_before_end if turn.patient]


_RANGES = (
    "Description (D), information completeness (I), cooperation (C), understanding (U), communication (CM): 0 to "
    "2 each; their total: 0 to 10"
)
_ENDS = {**dict.fromkeys(ASPECTS, (0.0, 2.0)), _TOTAL: (0.0, 10.0)}
standard_patient_suite = Suite(
    "medpmc_standard",
    {column: column for column in (*ASPECTS, _TOTAL)},
    score_standard_patient,
    needs=frozenset({"dialogue", "patient"}),
    ends=_ENDS,
    judged=(*ASPECTS, _TOTAL),
    notes=f"{_RANGES}.",
)
patient_suite = Suite(
    "medpmc_patient",
    {**{column: column for column in (*ASPECTS, _TOTAL)}, _CONSISTENCY: _CONSISTENCY, _CHARACTER: _CHARACTER},
    score_patient,
    needs=frozenset({"dialogue", "patient"}),
    ends={**_ENDS, **dict.fromkeys((_CONSISTENCY, _CHARACTER), (0.0, 5.0))},
    judged=(*ASPECTS, _TOTAL, _CONSISTENCY, _CHARACTER),
    notes=f"{_RANGES}; semantic consistency and character feature of the actor: 0 to 5. The paper prints "
    "4.85 for the consistency of its actor, 4.59 for its character, and 0.77 without an actor (Table 5).",
)
