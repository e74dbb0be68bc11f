"""Med-PMC's suite of the doctor, judged from 1 to 5 in five aspects (section 4, Figure 2)."""

from cases import Case
from llm import UNANSWERED, ModelSettings, ask
from scoring.case_scores import CaseScores, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import transcript_of
from scoring.medpmc.judges import consultation_judge, view, with_images_only

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
    seen = view(transcript_of(case, answers, settings), case.language)
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
