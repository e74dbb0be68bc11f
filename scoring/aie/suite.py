"""AIE's metrics of a doctor (section 4.4.2), for our own consultations."""

from cases import Case
from llm import ModelSettings
from scoring.aie.export import aie_record
from scoring.aie.metrics import COLUMNS, score_aie
from scoring.aie.transcripts import AieTranscript
from scoring.case_scores import CaseScores, Suite
from scoring.consultation import ConsultationAnswers
from scoring.metrics.samples import PERCENT, mean


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the metrics of one dialogue, in percent except AVG_TURN and AVG_LEN; `score mcq` scores the diagnosis."""
    transcript = AieTranscript.model_validate(aie_record(case, answers.dialogue))
    found = score_aie([transcript], language=case.language)
    values = {name: mean([sample.value for sample in found[name]]) for name in suite.published}
    return CaseScores(values, {name: "no action of this kind" for name, value in values.items() if value is None})


suite = Suite(
    "aie",
    COLUMNS,
    score,
    needs=frozenset({"dialogue", "actions"}),
    ends=PERCENT,
    neither=("AVG_TURN", "AVG_LEN"),
    lengths=("AVG_LEN",),
    notes="Percent, except turns and lengths. Shares of actions and lengths are means over cases; `wardround score aie "
    "RUN` pools all actions and turns instead. To add DIAGNOSIS afterwards, use `wardround score aie RUN --diagnose "
    "SPEC` (from the dialogue) or `wardround score mcq RUN` (from the whole record).",
)
