"""The exchanges of a dialogue: what a doctor said, and what was said in reply (AI Hospital, section 6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodes.offline.record_answers import wants_examination
from nodes.state.chart import Turn


@dataclass(frozen=True)
class Exchange:
    """A turn of the doctor with the reply to it.

    Attributes:
        number: of the doctor's turn; the first is 1.
        before: what was said until then.
        doctor: the doctor's turn.
        reply: what patient and examiner said until the doctor's next turn.
    """

    number: int
    before: Sequence[Turn]
    doctor: Turn
    reply: Sequence[Turn]

    @property
    def examined(self) -> bool:
        """Whether the patient went to the examiner; of a patient without one, whether results were asked for."""
        to_examiner = any(turn.addressee == "examiner" for turn in self.reply)
        return to_examiner or (not self.addressed and wants_examination(self.doctor.text))

    @property
    def addressed(self) -> bool:
        """Whether the words say whom they are for: AI Hospital's patient speaks to the doctor or to the examiner."""
        return any(turn.addressee for turn in self.reply)

    @property
    def text(self) -> str:
        """All that was said in reply."""
        return "\n".join(turn.text for turn in self.reply)


def exchanges(dialogue: Sequence[Turn]) -> list[Exchange]:
    """The turns of the doctor that were answered: #QA. The patient's first words answer nothing."""
    starts = [place for place, turn in enumerate(dialogue) if turn.speaker == "doctor"]
    found = [
        Exchange(number, dialogue[:start], dialogue[start], dialogue[start + 1 : end])
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(dialogue)], strict=True), start=1)
    ]
    return [one for one in found if one.reply]
