"""Med-PMC's suites of the patient, and of the actor who speaks for it (section 4.5, Tables 4 and 5)."""

from dataclasses import replace

from cases import Case
from llm import UNANSWERED, ModelSettings, ask, side_by_side
from scoring.case_scores import CaseScores, Suite
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import transcript_of
from scoring.medpmc.judges import patient_judge, persona_judge, view
from scoring.medpmc.patient_judgements import ASPECTS
from scoring.medpmc.transcripts import MedPmcTranscript

_TOTAL, _CONSISTENCY, _CHARACTER = "Total", "Semantic consistency", "Character feature"
_PLAIN = "no actor spoke, so nothing was rephrased"
_SILENT = "the patient said nothing"


async def score_standard_patient(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return five aspects of the patient, 0 to 2 each, and their sum; higher is better.

    The patient is judged by the intended words, without a persona's manner. All are unscored if the judge fails.
    """
    made = transcript_of(case, answers, settings)
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
    made = transcript_of(case, answers, settings)
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
    """Return the patient's own words, without the results that a technician tells."""
    return [turn.patient for turn in made.turns_before_end if turn.patient and not turn.by_technician]


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
