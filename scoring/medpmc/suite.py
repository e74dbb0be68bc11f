"""Med-PMC's suite of recalls, for our own consultations (section 4)."""

from cases import Case
from llm import ModelSettings
from scoring.case_scores import CaseScores, Metric, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import transcript_of
from scoring.medpmc.metrics import AVERAGES, METRICS, SUPPORT, score_medpmc, support
from scoring.metrics.samples import PERCENT, mean

_NO_REFERENCE = "no reference to compare with"
_NOT_SHOWN = "no picture may be handed over with these settings"
_PICTURELESS = "the case has no picture"
_COMPARED = ("Inquiry", "Examination", "MMA", "Diagnosis", "Treatment")  # with a text of the case


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the recall (ROUGE-1) of each part in percent, lengths in words, and the number of turns."""
    found = score_medpmc([transcript_of(case, answers, settings)])
    values = {name: mean([sample.value for sample in found[name]]) for name in METRICS}
    unscored = {name: _NO_REFERENCE for name, value in values.items() if value is None}
    if "MMA" in unscored:
        unscored["MMA"] = _NOT_SHOWN if case.examinations.images else _PICTURELESS
    return CaseScores(values, unscored)


def without_reference(case: Case) -> dict[str, str]:
    """Return the columns for which this case has nothing to compare a report with, whatever a doctor does."""
    found = score_medpmc([transcript_of(case, ConsultationAnswers())])
    missing = {name: _NO_REFERENCE for name in _COMPARED if not found[name]}
    return missing | ({} if case.examinations.images else {"MMA": _PICTURELESS})


def support_of_report(case: Case, answers: ConsultationAnswers) -> float | None:
    """Return the complement of the recalls: how much of the report the case supports, in percent."""
    found = support(transcript_of(case, answers))
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
    lengths=("Lens",),
    without_reference=without_reference,
    means=AVERAGES,
    notes="Recall in percent (ROUGE-1), except lengths and turns. Support (ours): share of the report that the case "
    "supports. Lens counts what is said; a doctor's thoughts count only with thoughts = 'spoken', as in the paper.",
)
suite.metrics.add(SUPPORT, Metric(SUPPORT, support_of_report))
