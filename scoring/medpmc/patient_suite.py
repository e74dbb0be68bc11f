"""Med-PMC's judgement of the simulated patient in our own dialogues (section 4.5, Tables 4 and 5)."""

from dataclasses import replace

from cases import Case
from llm import UNANSWERED, ModelSettings, ask
from scoring.case_scores import CaseScores, Suite, judge_failed
from scoring.consultation import ConsultationAnswers
from scoring.medpmc.export import medpmc_transcript
from scoring.medpmc.judges import patient_judge, persona_judge, view
from scoring.medpmc.patient_judgements import ASPECTS
from scoring.medpmc.transcripts import MedPmcTranscript

_TOTAL, _CONSISTENCY, _CHARACTER = "Total", "Semantic consistency", "Character feature"
_PLAIN = "no actor spoke, so nothing was rephrased"
_SILENT = "the patient said nothing"


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return five aspects of the patient, 0 to 2 each, their sum, and two of the actor, 0 to 5; higher is better.

    The patient is judged by the intended words, without a persona's manner. If no actor spoke, the plain words are
    compared with themselves, and their consistency is left out, as in the table. A judge that fails leaves its columns
    unscored.
    """
    made = MedPmcTranscript.model_validate(medpmc_transcript(case, answers.dialogue, answers.report))
    spoken = [turn.patient for turn in made.turns_before_end if turn.patient]
    if not spoken:
        return CaseScores.none_of(suite.published, _SILENT)
    plain = [turn.model_copy(update={"patient": turn.told, "standard_patient": None}) for turn in made.history]
    intended = view(made.model_copy(update={"history": plain}), case.language)
    with_persona = view(made, case.language)
    acted = bool(with_persona.replies)
    values: dict[str, float | None] = dict.fromkeys(suite.published)
    unscored = {} if acted else {_CONSISTENCY: _PLAIN}
    try:
        patient = await ask(patient_judge, intended, settings, language=case.language)
        values |= {column: getattr(patient, aspect) for column, aspect in ASPECTS.items()}
        values[_TOTAL] = sum(getattr(patient, aspect) for aspect in ASPECTS.values())
    except UNANSWERED as error:
        unscored |= dict.fromkeys((*ASPECTS, _TOTAL), judge_failed(error))
    try:
        pairs = with_persona.replies or [(words, words) for words in spoken]
        persona = await ask(persona_judge, replace(with_persona, replies=pairs), settings, language=case.language)
        values[_CONSISTENCY] = persona.semantic_consistency if acted else None
        values[_CHARACTER] = persona.character_features
    except UNANSWERED as error:
        unscored = {**dict.fromkeys((_CONSISTENCY, _CHARACTER), judge_failed(error)), **unscored}
    return CaseScores(values, unscored)


suite = Suite(
    "medpmc_patient",
    {**{column: column for column in (*ASPECTS, _TOTAL)}, _CONSISTENCY: _CONSISTENCY, _CHARACTER: _CHARACTER},
    score,
    needs=frozenset({"dialogue", "patient"}),
    judged=(*ASPECTS, _TOTAL, _CONSISTENCY, _CHARACTER),
    notes="Description (D), information completeness (I), cooperation (C), understanding (U), communication (CM): 0 to "
    "2 each; their total: 0 to 10; semantic consistency and character feature of the actor: 0 to 5. The paper prints "
    "4.85 for the consistency of its actor, 4.59 for its character, and 0.77 without an actor (Table 5).",
)
