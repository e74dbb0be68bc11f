"""Med-PMC's judgement of a consultation and its report (section 4.2.2, Figure 2), for our own consultations."""

from cases import Case
from llm import UNANSWERED, ModelSettings, ask
from nodes.context import Context
from scoring.case_scores import CaseScores, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import medpmc_transcript, pictures_withheld
from scoring.medpmc.judges import consultation_judge, view
from scoring.medpmc.transcripts import MedPmcTranscript

ASPECTS = {
    "Inquiry": "inquiry",
    "Examination": "examination",
    "MMA": "multimodal_analysis",
    "Diagnosis": "diagnosis",
    "Treatment": "treatment",
}
_NO_PICTURE = "there was no picture to read"


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the judge's five aspects, 1 to 5; higher is better.

    Multi-modal analysis is unscored if the case has no picture or all are withheld; all five are unscored if the judge
    fails.
    """
    withheld = isinstance(settings, Context) and pictures_withheld(settings)
    record = medpmc_transcript(case, answers.dialogue, answers.report, withheld=withheld)
    seen = view(MedPmcTranscript.model_validate(record), case.language)
    try:
        given = await ask(consultation_judge, seen, settings, language=case.language)
    except UNANSWERED as error:
        return CaseScores.none_of(suite.published, error)
    values = {column: getattr(given, aspect) for column, aspect in ASPECTS.items()}
    if not seen.case.images:  # whatever the judge says
        values["MMA"] = None
    return CaseScores(values, {"MMA": _NO_PICTURE} if values["MMA"] is None else {})


suite = Suite(
    "medpmc_judged",
    {**{column: column for column in ASPECTS}, "MMA": "Multi-modal analysis"},
    score,
    needs=frozenset({"dialogue", "report"}),
    ends=(1.0, 5.0),
    judged=tuple(ASPECTS),
    notes="A judge's scores from 1 to 5 for each aspect, as in the paper's Figure 2.",
)
