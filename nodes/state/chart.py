"""What the doctors know: the findings in the state, and the chart that a stage reads from them.

The findings do not include the patient's full record, the examination record or the answer key. A doctor's node takes
`Findings`, so that no other state key reaches it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import TypedDict

from cases.case import Sex
from cases.strict import Strict
from cases.vocabulary import AUXILIARY_ITEMS, Language, label
from llm import Trace, merge_traces
from llm.context_window import TURNS
from llm.role import says_back
from nodes.state.decisions import Diagnosis, Referral, StageRecord, Triage, in_words
from nodes.state.reducers import union_by
from prompts import SpokenLanguage, load_prompt, mark, stage_title, with_full_stop
from prompts.shown import shown_once
from retrieval import Kin


class Presentation(Strict):
    """What is known at admission. Histories are filled only if the patient is not asked (``interactive`` off)."""

    language: SpokenLanguage
    age_years: float | None = None
    sex: Sex | None = None
    occupation: str = ""
    chief_complaint: str
    present_illness: str = ""
    past_history: str = ""
    personal_history: str = ""
    family_history: str = ""


class Picture(Strict):
    """A picture that the examiner handed over."""

    item: str
    file: str = Field(description="Absolute path of the picture.")


Speaker = Literal["doctor", "patient", "examiner"]
Ended = Literal["", "concluded", "turn_limit", "patient_ended"]
TALKING: tuple[Speaker, ...] = ("doctor", "patient")
_IN_A_ROW = 3


class Turn(Strict):
    """One utterance of the dialogue."""

    speaker: Speaker
    text: str
    addressee: Speaker | None = Field(
        default=None, description="The only one spoken to; None means everybody in the room."
    )
    pictures: list[Picture] = Field(default_factory=list, description="Pictures handed over with the words.")
    action: str | None = Field(
        default=None, description="The doctor's action that the patient's side answers, if tracked."
    )
    plain: str = Field(
        default="", description="The patient's words before a persona rephrased them; empty without one."
    )
    facts: list[str] = Field(default_factory=list, description="Sentences of the records released for these words.")


def said_by(speaker: Speaker, dialogue: Sequence[Turn]) -> list[str]:
    """Return the words of each of a speaker's turns."""
    return [turn.text for turn in dialogue if turn.speaker == speaker]


def each_file_once(pictures: Iterable[Picture]) -> list[Picture]:
    """Return pictures, those of one file once."""
    return list({picture.file: picture for picture in pictures}.values())


def pictures_seen(filed: Iterable[Picture], dialogue: Iterable[Turn]) -> list[Picture]:
    """Return the pictures on file and those handed over in a dialogue, each once."""
    return each_file_once([*filed, *(picture for turn in dialogue for picture in turn.pictures)])


def repeating(dialogue: Sequence[Turn]) -> list[Speaker]:
    """Return who of doctor and patient said one long sentence, or one question, at least three times in a row at last.

    Nothing ends a dialogue for that: the published protocols have no such rule.
    """
    ended = {speaker: said_by(speaker, dialogue)[-_IN_A_ROW:] for speaker in TALKING}
    return [
        speaker
        for speaker, turns in ended.items()
        if len(turns) == _IN_A_ROW and all(says_back(turn, turns[0]) for turn in turns[1:])
    ]


def heard_by(listener: Speaker, dialogue: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a listener said or heard, without the fields that are for the patient's side only."""
    return [
        turn.model_copy(update={"action": None, "plain": "", "facts": []})
        if turn.action or turn.plain or turn.facts
        else turn
        for turn in dialogue
        if turn.addressee in (None, listener) or turn.speaker == listener
    ]


class EarlierTurns(list[Turn]):
    """The earlier turns of a dialogue, for a role that only has to reply to the last one."""

    sheds: ClassVar[str] = TURNS

    def shorter(self) -> "EarlierTurns | None":
        """Drop the oldest turn, for a prompt that would not fit; None if there is none."""
        return EarlierTurns(self[1:]) if self else None


class Reference(Strict):
    """What earlier stages should have found; given to a stage only if ``sequential`` is off."""

    triage: Triage | None = None
    referral: Referral | None = None
    results: dict[str, str] = Field(default_factory=dict)
    pictures: list[Picture] = Field(default_factory=list)
    reports: dict[str, str] = Field(default_factory=dict)
    diagnosis: Diagnosis | None = None


def merge_reports(left: dict[str, str] | None, right: dict[str, str] | None) -> dict[str, str]:
    """Merge the reports of parallel branches, by image class in the order of the vocabulary.

    Two reports on one class come only from two visits to a case. The longer one is kept (of equally long ones, the
    last in string order), so that the result does not depend on the order of the branches.
    """
    merged: dict[str, str] = {}
    for reports in (left or {}, right or {}):
        for item, report in reports.items():
            merged[item] = max(report, merged.get(item, ""), key=lambda text: (len(text), text))
    return {item: merged[item] for item in AUXILIARY_ITEMS.names if item in merged}


def merge_decided(
    left: dict[str, dict[str, Any]] | None, right: dict[str, dict[str, Any]] | None
) -> dict[str, dict[str, Any]]:
    """Merge the decisions of stages without a field of their own, by stage; each stage writes only its own."""
    return dict(sorted({**(left or {}), **(right or {})}.items()))


class Findings(TypedDict, total=False):
    """All that a doctor may see of the state."""

    case_id: str
    built_for: str  # the strategy of the graph that admitted the case
    kin: Kin
    presentation: Presentation
    symptoms: str
    triage: Triage
    referral: Referral
    dialogue: list[Turn]
    results: dict[str, str]
    pictures: list[Picture]
    reports: Annotated[dict[str, str], merge_reports]
    diagnosis: Diagnosis
    decided: Annotated[dict[str, dict[str, Any]], merge_decided]
    reference: Reference
    backtracks: int


class Progress(TypedDict, total=False):
    """What every node may add to: the record of decisions, and the trace."""

    decisions: Annotated[list[StageRecord], union_by("visit", "position", "stage")]
    trace: Annotated[Trace, merge_traces]


@dataclass(frozen=True)
class Chart:
    """The chart as a stage sees it; ``str(chart)`` is its text in a prompt."""

    language: Language
    presentation: Presentation
    referral: Referral | None
    triage: Triage | None
    dialogue: list[Turn]
    results: dict[str, str]
    pictures: list[Picture]
    reports: dict[str, str]
    diagnosis: Diagnosis | None
    decided: dict[str, dict[str, Any]]
    orders: Sequence[str] = ()  # physical examinations, if auxiliary ones are ordered after them
    begun: bool = True  # whether the dialogue is shown from its beginning
    sheds: ClassVar[str] = TURNS

    def shorter(self) -> "Chart | None":
        """Drop the oldest turn of the dialogue, for a prompt that would not fit; None if there is none."""
        return replace(self, dialogue=self.dialogue[1:], begun=False) if self.dialogue else None

    def __str__(self) -> str:
        """Return the chart as text, in the language of the prompt."""
        by_identity = (self.presentation, self.referral, self.triage, self.diagnosis, *self.dialogue, *self.pictures)
        by_value = (tuple(self.results.items()), tuple(self.reports.items()), tuple(self.orders), repr(self.decided))
        return shown_once(by_identity, ("chart", self.language, self.begun, len(self.dialogue), *by_value), self._words)

    def _words(self) -> str:
        name, title = partial(label, language=self.language), partial(stage_title, language=self.language)
        return load_prompt("medchain/chart", self.language).render({"chart": self, "name": name, "title": title})[1]

    @property
    def decided_in_words(self) -> dict[str, str]:
        """What each stage without a field of its own decided, as a prompt shows it."""
        return {stage: in_words(decision, self.language) for stage, decision in self.decided.items()}

    @property
    def department(self) -> str | None:
        """The department in charge of the case, once it is referred."""
        placed = self.referral or self.triage
        return placed.department if placed else None

    @property
    def all_pictures(self) -> list[Picture]:
        """The pictures on file and those handed over in the dialogue, each once."""
        return pictures_seen(self.pictures, self.dialogue)

    @cached_property  # doctors ask for it with each similar case
    def patients_words(self) -> str:
        """The complaint, the present illness if the record is read, and all that the patient said, as one text."""
        entry = self.presentation
        told = (entry.chief_complaint, entry.present_illness, *said_by("patient", self.dialogue))
        return " ".join(with_full_stop(part, entry.language) for part in told if part)


def labelled_results(results: Mapping[str, str], language: Language) -> list[str]:
    """Return each result after the name of its examination, with the language's colon."""
    colon = mark("label", language)
    return [f"{label(item, language)}{colon}{text}" for item, text in results.items()]


def of_the_dialogue(chart: Chart) -> Chart:
    """Return the chart of a doctor who knows only the dialogue: no age, sex or occupation, the complaint as told."""
    complaint = next(iter(said_by("patient", chart.dialogue)), "")
    return replace(chart, presentation=Presentation(language=chart.presentation.language, chief_complaint=complaint))
