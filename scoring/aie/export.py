"""Convert our consultations to AIE transcripts, to compute its metrics on them."""

from collections.abc import Iterator, Sequence
from typing import Any

from cases import Case
from cases.text.record_sentences import facts_of
from nodes.state.chart import Turn
from scoring.aie.transcripts import CODES
from scoring.consultation import doctor_turns


def aie_record(case: Case, dialogue: Sequence[Turn]) -> dict[str, Any]:
    """Return one record of a transcript file. A doctor's turn without a reply is the conclusion.

    The record is the source's own text if the case kept it, so that coverage matches the authors' measure.
    """
    key, source = case.key, case.provenance
    facts = [fact.text for fact in facts_of(case)]
    return {
        "id": case.id,
        **({"dataset": source.dataset} if source.dataset else {}),
        "raw_data": {
            "question": source.record or " ".join(filter(None, [*facts, key.question])),
            "answer": key.options.get(key.option) or "\n".join(key.diagnosis),
            "options": dict(key.options),
            "answer_idx": key.option,
        },
        "question": key.question,
        "entities": list(key.entities),
        "chief_complain": case.patient.chief_complaint,
        "history": list(_history(dialogue)),
    }


def _history(dialogue: Sequence[Turn]) -> Iterator[dict[str, str]]:
    for one in doctor_turns(dialogue):
        asked, replies = one.doctor, [turn for turn in one.reply if turn.addressee != "examiner"]
        memory = {"memory": "\n".join(fact for turn in replies for fact in turn.facts)}
        if not replies:
            yield {"doctor": asked.text, "state": CODES["Conclusion"], **memory}
            continue
        patient = "\n".join(turn.text for turn in replies)
        yield {"doctor": asked.text, "state": CODES.get(asked.action or "", ""), **memory, "patient": patient}
