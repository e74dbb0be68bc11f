"""Med-PMC's recall scores of a consultation and its report (section 4), for our own consultations."""

from cases import Case
from llm import ModelSettings
from nodes.context import Context
from scoring.case_scores import CaseScores, Metric, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import medpmc_transcript, pictures_withheld
from scoring.medpmc.metrics import AVERAGES, METRICS, SUPPORT, score_medpmc, support
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.samples import PERCENT, mean

_NO_REFERENCE = "no reference to compare with"
_NOT_SHOWN = "no picture may be handed over with these settings"


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the recall (ROUGE-1) of each part in percent, lengths in words, and the number of turns."""
    withheld = isinstance(settings, Context) and pictures_withheld(settings)
    made = medpmc_transcript(case, answers.dialogue, answers.report, withheld=withheld)
    found = score_medpmc([MedPmcTranscript.model_validate(made)])
    values = {name: mean([sample.value for sample in found[name]]) for name in METRICS}
    unscored = {name: _NO_REFERENCE for name, value in values.items() if value is None}
    if "MMA" in unscored:
        unscored["MMA"] = _NOT_SHOWN if case.examinations.images else "the case has no picture"
    return CaseScores(values, unscored)


def support_of_report(case: Case, answers: ConsultationAnswers) -> float | None:
    """Return the complement of the recalls: how much of the report the case supports, in percent."""
    record = medpmc_transcript(case, answers.dialogue, answers.report)
    found = support(MedPmcTranscript.model_validate(record))
    return None if found is None else 100 * found


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
    means=AVERAGES,
    notes="Recall in percent (ROUGE-1), except lengths and turns. Support (ours): share of the report that the case "
    "supports. Lens counts what is said; a doctor's thoughts count only with thoughts = 'spoken', as in the paper.",
)
suite.metrics.add(SUPPORT, Metric(SUPPORT, support_of_report))
