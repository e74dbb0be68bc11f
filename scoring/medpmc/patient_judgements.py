"""Med-PMC's judgements of patient and actor, with and without tracker and actor (Med-PMC, section 4.5, Tables 4, 5)."""

from collections.abc import Mapping, Sequence

from cases import Case
from nodes.state.chart import labelled_results
from scoring.aie.simulator_set import Played
from scoring.medpmc.export import CODES, patient_sections
from scoring.medpmc.judges import PatientScores, PersonaScores
from scoring.medpmc.transcripts import MedPmcTranscript
from scoring.metrics.samples import Sample

ASPECTS = {  # Table 4's columns
    "D": "description",
    "I": "completeness",
    "C": "cooperation",
    "U": "understanding",
    "CM": "communication",
}
_UP_TO_TWO, _UP_TO_TEN, _UP_TO_FIVE = (0.0, 2.0), (0.0, 10.0), (0.0, 5.0)
ENDS = {  # the lowest and highest score of each column, by setting
    **{f"{column} {setting}": _UP_TO_TWO for column in ASPECTS for setting in ("w S-T", "w/o S-T")},
    **{f"Total {setting}": _UP_TO_TEN for setting in ("w S-T", "w/o S-T")},
    **{
        f"{column} {setting}": _UP_TO_FIVE
        for column in ("Semantic Consistency", "Character Feature")
        for setting in ("w Actor", "w/o Actor")
    },
}
_LEFT_OUT = ("Demand", "Conclusion")  # the dialogue has no demands of this kind, and a farewell gets no reply


def as_consultations(played: Sequence[Played], cases: Mapping[str, Case]) -> dict[str, MedPmcTranscript]:
    """Group replies by case into one Med-PMC consultation each: labelled action, intended words and spoken words."""
    histories: dict[str, list[dict[str, str | None]]] = {}
    for reply in played:
        if reply.item.action not in _LEFT_OUT:
            histories.setdefault(reply.item.case_id, []).append(
                {
                    "doctor": reply.item.doctor,
                    "state": CODES[reply.item.action],
                    "patient": reply.reply,
                    "standard_patient": reply.plain or None,
                }
            )
    return {case_id: _transcript(cases[case_id], history) for case_id, history in histories.items()}


def standard(played: Sequence[Played]) -> list[Played]:
    """Return the replies without the actor: the intended words are also the spoken ones for the actor's judge."""
    return [Played(item=one.item, action=one.action, reply=one.plain or one.reply, plain=one.plain) for one in played]


def patient_judgement(scores: Mapping[str, PatientScores], setting: str) -> dict[str, list[Sample]]:
    """Return Table 4: five aspects of the standard patient, 0 to 2 each, and their sum, 0 to 10; higher is better.

    One value per consultation as scored by the judge. Source: Med-PMC, section 4.5: description clarity (D),
    information completeness (I), cooperation (C), understanding (U), communication ability (CM). The setting, ``w S-T``
    or ``w/o S-T``, is appended to the names; without the state tracker, the patient has the whole record.
    """
    found = {
        f"{column} {setting}": [Sample(case, getattr(given, aspect)) for case, given in scores.items()]
        for column, aspect in ASPECTS.items()
    }
    totals = {case: sum(getattr(given, aspect) for aspect in ASPECTS.values()) for case, given in scores.items()}
    return {**found, f"Total {setting}": [Sample(case, total) for case, total in totals.items()]}


def actor_judgement(scores: Mapping[str, PersonaScores], setting: str, *, acted: bool) -> dict[str, list[Sample]]:
    """Return Table 5: semantic consistency and character feature of the actor's words, 0 to 5; higher is better.

    One value per consultation as scored by the judge. Without the actor, the plain words are compared with themselves,
    and their consistency, which is meaningless, is left out as in the table. The setting, ``w Actor`` or ``w/o Actor``,
    is appended to the names. Source: Med-PMC, section 4.5.
    """
    found = {f"Character Feature {setting}": [Sample(c, given.character_features) for c, given in scores.items()]}
    if acted:
        consistency = [Sample(c, given.semantic_consistency) for c, given in scores.items()]
        found = {f"Semantic Consistency {setting}": consistency, **found}
    return found


def _transcript(case: Case, history: list[dict[str, str | None]]) -> MedPmcTranscript:
    results = labelled_results(case.examinations.results, case.language)
    text = {**patient_sections(case), "Examinations": "\n".join(results), "Diagnosis": "", "Treatment": ""}
    return MedPmcTranscript.model_validate({"id": case.id, "Text": text, "history": history})
