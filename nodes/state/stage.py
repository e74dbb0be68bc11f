"""What passes between the members of a stage's group: recalled cases, opinions, judgements, and counters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import Field

from cases.strict import Strict
from cases.vocabulary import Language, labels
from llm.context_window import RECALLED
from nodes.state.chart import Findings, Progress
from nodes.state.decisions import Decision, Judgement, Round, Treatment, in_words
from nodes.state.reducers import union_by
from prompts import load_prompt, mark
from prompts.shown import shown_once
from retrieval import Neighbour, feature_line


class Opinion(Strict):
    """What one general agent proposes in one round of the discussion."""

    discussion_round: int = Field(description="Number of the round, counted over all revisions; the first is 0.")
    seat: int = Field(description="Number of the agent; the first is 1.")
    decision: dict[str, Any]
    reasoning: str

    def told(self, language: Language) -> str:
        """Return the decision and the reasoning as a prompt shows them."""
        return f"{in_words(self.decision, language)}\n{self.reasoning}"


class Objection(Judgement):
    """A judgement of one feedback round."""

    round: int


@dataclass(frozen=True)
class Options:
    """The allowed choices, by canonical name; ``str(options)`` lists them in the language of the prompt."""

    names: Sequence[str]
    language: Language

    def __str__(self) -> str:
        """Return the names as a prompt shows them."""
        return mark("series", self.language).join(labels(self.names, self.language))

    @property
    def called(self) -> dict[str, str]:
        """What each choice is called in the language of the prompt, by its canonical name."""
        return dict(zip(self.names, labels(self.names, self.language), strict=True))

    def __bool__(self) -> bool:
        """Whether there is a closed list of choices."""
        return bool(self.names)


@dataclass(frozen=True)
class Recalled(Sequence[Neighbour]):
    """Similar earlier cases; ``str(recalled)`` is their text in a prompt, marked as other patients' cases."""

    sheds: ClassVar[str] = RECALLED
    cases: Sequence[Neighbour]  # the most similar first, then further ones for the offline rules only
    shown: tuple[str, ...]  # the features that a prompt shows
    language: Language  # of the prompt
    image_class: str | None = None  # of the report to write, if any; cases without a report on it are left out

    def shorter(self) -> "Recalled | None":
        """Drop the least similar case, for a prompt that would not fit; None if there is none."""
        return replace(self, cases=self._in_prompt[:-1]) if self._in_prompt else None

    @property
    def _in_prompt(self) -> list[Neighbour]:
        return [neighbour for neighbour in self.cases if not neighbour.aside]

    def __getitem__(self, place: Any) -> Any:
        """Return the case at a position."""
        return self.cases[place]

    def __len__(self) -> int:
        """Return the number of recalled cases."""
        return len(self.cases)

    def __str__(self) -> str:
        """Return the cases as text, fenced off from the rest of the prompt."""
        key = ("recalled", self.language, tuple(self.shown), self.image_class)
        return shown_once([neighbour.case for neighbour in self._in_prompt], key, self._words)

    def _words(self) -> str:
        lines = (feature_line(near.case, self.language, self.shown, self.image_class) for near in self._in_prompt)
        numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(filter(None, lines), start=1))
        return load_prompt("medchain/recalled", self.language).render({"cases": numbered})[1]


class StageInput(Findings, total=False):
    """What a stage starts from: the findings, and the image class if it reports on one.

    ``rounds`` has the stage's decisions so far with objections and replies; ``revision`` counts how often a strategy's
    decision was sent back.
    """

    image_class: str
    physical_orders: list[str]
    rounds: list[Round]
    revision: int


class Decided(Progress, total=False):
    """What a strategy returns: a decision, how it was reached, and the recalled cases. The workflow files it."""

    recalled: list[Neighbour]
    decision: Decision
    reply: str
    minutes: list[Round]
    ended: str
    strategy: str


class StageState(StageInput, Decided, total=False):
    """The state of one stage: the findings it starts from, its discussion, and what that decides."""

    specialists: list[str]
    seat: int
    discussion_round: int
    opinions: Annotated[list[Opinion], union_by("discussion_round", "seat")]
    judge: str
    round: int
    judgements: Annotated[list[Objection], union_by("round", "judge")]
    auxiliary_orders: list[str]
    treatment: Treatment


def opinions_of(state: StageState, discussion_round: int) -> list[Opinion]:
    """Return the opinions of one round of the discussion, by seat."""
    return [opinion for opinion in state.get("opinions", []) if opinion.discussion_round == discussion_round]


def judgements_of(state: StageState, feedback_round: int) -> list[Judgement]:
    """Return the judgements of one feedback round, as they are filed."""
    found = (item for item in state.get("judgements", []) if item.round == feedback_round)
    return [Judgement(judge=item.judge, verdict=item.verdict) for item in found]


def last_objections(state: StageState) -> list[Judgement]:
    """Return the judgements of the last round that did not accept the decision."""
    return [item for item in judgements_of(state, state.get("round", 0) - 1) if not item.verdict.accepted]
