"""What passes between interns and director: facts, reports, disputes, and counters (AI Hospital, section 4)."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field

from cases.strict import NonEmpty, Strict
from cases.vocabulary import Language
from nodes.state.chart import Ended, Picture, Progress, Turn, each_file_once, pictures_seen
from nodes.state.decisions import Decision, Round, in_words
from nodes.state.reducers import union_by
from nodes.state.stage import StageInput
from prompts import load_words, mark
from retrieval import Neighbour

DiscussedPart = Literal["diagnosis", "basis", "treatment"]  # of a report; symptoms and examinations are agreed facts
Part = Literal["referral", "symptoms", "examinations", DiscussedPart]  # of a report, or of a decision of the workflow
Person = Literal["patient", "examiner"]
Ending = Literal["agreed", "rounds_used_up", "no_discussion"]
MOST_DISPUTES = 3
MOST_CONFLICTS = 5


class Facts(Strict):
    """What is known of the patient, as compiled by the director."""

    symptoms: str = Field(description="The patient's symptoms and history.")
    examinations: str = Field(description="The examinations that were done and what they showed.")


class Conflict(Strict):
    """A point on which the doctors' facts contradict each other, or that one of them alone reports."""

    point: NonEmpty = Field(description="What does not fit together.")
    ask: Person = Field(description="Who can answer: the patient, or the examiner for results.")
    question: NonEmpty = Field(
        description="The question as it is put to them; the examiner is asked for the test by name."
    )


class Confirmation(Strict):
    """What the patient or the examiner said on a conflict."""

    number: int = Field(description="Number of the conflict; the first is 1.")
    conflict: Conflict
    reply: str


class Dispute(Strict):
    """A point that the doctors have to settle."""

    part: Part = Field(description="The part of the report that it is about.")
    point: NonEmpty = Field(description="Who holds what, and what the question is.")


class Consultation(Strict):
    """One intern's own consultation, apart from the report on it."""

    seat: int
    dialogue: list[Turn]
    results: dict[str, str]
    pictures: list[Picture]
    ended: Ended = ""


class Statement(Strict):
    """One intern's report after one round; round 0 is before the discussion."""

    round: int
    seat: int
    report: dict[str, Any]
    reasoning: str = ""

    def told(self, language: Language) -> str:
        """Return the report and the reasons as a prompt shows them: a final report with its titles, or the values.

        A decision of one's own whose values are not all texts is shown with the names of its fields, and as JSON.
        """
        titles = load_words("consultation/seat", language)["report"]
        colon = mark("label", language)
        why = load_words("consultation/words", language)["statement"]["reasons"]
        if self.report.keys() <= titles.keys():
            parts = [f"{titles[name]}{colon}{in_words({name: value}, language)}" for name, value in self.report.items()]
        elif all(map(_is_text, self.report.values())):
            parts = [in_words(self.report, language)]
        else:
            parts = [f"{name}{colon}{json.dumps(value, ensure_ascii=False)}" for name, value in self.report.items()]
        return "\n".join([*filter(None, parts), *([f"{why}{colon}{self.reasoning}"] if self.reasoning else [])])


def _is_text(value: object) -> bool:
    return all(isinstance(each, str) for each in (value if isinstance(value, list) else [value]))


class DiscussionRound(Strict):
    """The reports of one round, and what the director found in them."""

    number: int
    statements: list[Statement]
    disputes: list[Dispute] = Field(description="Disputes that the director found; the agenda of the next round.")
    agreed: bool


class Collaboration(Strict):
    """How several doctors reached one report."""

    interns: int
    ended: Ending = Field(
        description="Why it ended: no dispute was left, the rounds were used up, or there was one doctor only."
    )
    rounds: int = Field(description="Number of times that the interns revised their reports.")
    facts: Facts | None = None
    confirmations: list[Confirmation] = Field(default_factory=list)
    discussion: list[DiscussionRound] = Field(default_factory=list)


class ConferenceState(StageInput, Progress, total=False):
    """What interns and director see: the findings of the consultations, and their discussion."""

    recalled: list[Neighbour]
    seat: int
    consultations: Annotated[list[Consultation], union_by("seat")]
    conflicts: list[Conflict]
    confirmations: Annotated[list[Confirmation], union_by("number")]
    facts: Facts
    statements: Annotated[list[Statement], union_by("round", "seat")]
    round: int
    disputes: list[Dispute]
    discussion: list[DiscussionRound]
    ended: str
    report: Any
    collaboration: Collaboration
    decision: Decision
    minutes: list[Round]


class CollaborationOutput(Progress, total=False):
    """What a discussion adds: the answer, and how the doctors reached it."""

    report: Any
    collaboration: Collaboration


def last_statements(state: ConferenceState) -> list[Statement]:
    """Return the last statement of each intern, by seat."""
    last = {statement.seat: statement for statement in state.get("statements", [])}  # ordered by round
    return [last[seat] for seat in sorted(last)]


def pictures_shown(state: ConferenceState, seat: int | None = None) -> list[str]:
    """Return the picture files from the consultation of one intern, or of all, each once."""
    consultations = [one for one in state.get("consultations", []) if seat in (None, one.seat)]
    seen = each_file_once(picture for one in consultations for picture in pictures_seen(one.pictures, one.dialogue))
    return [picture.file for picture in seen]
