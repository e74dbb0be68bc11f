"""A consultation of ours as a transcript of AIE, so that its metrics can be computed on it."""

from collections.abc import Iterator, Sequence

from cases import Case
from cases.text.record_sentences import record_sentences
from nodes.state.chart import Turn
from scoring.aie.transcripts import CODES, AieTranscript, AieTurn


def aie_transcript(case: Case, dialogue: Sequence[Turn]) -> AieTranscript:
    """The dialogue against the whole record: the person, the histories and the results.

    A doctor's turn without a reply is the conclusion. The options of a multiple choice are not part of a case.
    """
    record = " ".join(fact.text for fact in record_sentences(case.patient, case.examinations, case.language))
    return AieTranscript.model_construct(
        id=case.id, record=record, options={}, answer_idx="", history=list(_history(dialogue))
    )


def exchanges(dialogue: Sequence[Turn]) -> Iterator[tuple[Turn, list[Turn]]]:
    """Each turn of the doctor with what the doctor heard in reply; nothing if the dialogue ends there."""
    starts = [place for place, turn in enumerate(dialogue) if turn.speaker == "doctor"]
    for start, end in zip(starts, [*starts, len(dialogue)][1:], strict=True):
        yield dialogue[start], [turn for turn in dialogue[start + 1 : end] if turn.addressee != "examiner"]


def _history(dialogue: Sequence[Turn]) -> Iterator[AieTurn]:
    for asked, replies in exchanges(dialogue):
        state = CODES.get(asked.action or "", "") if replies else CODES["Conclusion"]
        patient = "\n".join(turn.text for turn in replies) if replies else None
        yield AieTurn(doctor=asked.text, state=state, patient=patient)
