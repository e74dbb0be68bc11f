"""What passes between the experts of MedAgents and MDAgents: analyses, messages, reports, and counters."""

from typing import Annotated, Literal

from pydantic import Field

from cases.strict import NonEmpty, Strict, UniqueItems, at_most, each_once
from cases.vocabulary import Language
from nodes.state.decisions import in_words
from nodes.state.reducers import union_by
from nodes.state.stage import Options, StageState
from prompts import load_words, mark

MOST_EXPERTS = 5  # MedAgents' experts for the question, and MDAgents' group
MOST_WEIGHING = 2  # MedAgents' experts for the options
MOST_TEAMS = 3
Complexity = Literal["low", "moderate", "high"]


class Expert(Strict):
    """A specialist of the panel."""

    domain: NonEmpty = Field(description="The field of medicine.")
    focus: str = Field(description="What this expert should attend to.")


Panel = Annotated[list[Expert], each_once(lambda expert: (expert.domain.casefold(), expert.focus.casefold()))]


class Member(Expert):
    """A specialist of a group in which some report to others."""

    reports_to: int | None = Field(description="Number of the expert whom this one reports to; null if independent.")


class Team(Strict):
    """Specialists who write one report together; the first leads them."""

    purpose: NonEmpty = Field(description="What the team is to find out.")
    experts: Annotated[Panel, *at_most(MOST_EXPERTS)] = Field(
        min_length=1, description="The members, with the leader first."
    )


Proposed = Annotated[
    list[NonEmpty], UniqueItems, Field(description="The answer as a list, in the terms of the question.")
]


class WithProposal(Strict):
    """A proposal that sums up a text; base of analyses and reports."""

    proposal: Proposed

    def proposed(self, language: Language, options: Options | None = None) -> str:
        """Return the proposal as a prompt shows it; ``options`` tell a department from an operation of that name."""
        names = options.called if options else {}
        return in_words({"proposal": [names.get(name, name) for name in self.proposal]}, language)

    def with_proposal(self, text: str, language: Language, options: Options | None = None) -> str:
        """Return a text and, named as such, the proposal that sums it up."""
        name = load_words("strategies/words", language)["proposed"]
        return f"{text}\n{name}{mark('label', language)}{self.proposed(language, options)}"


class Analysis(WithProposal):
    """One expert's analysis."""

    team: int = Field(description="Number of the team; the first is 1, and 0 means that there are no teams.")
    seat: int
    expert: str
    analysis: str

    def told(self, language: Language, options: Options | None = None) -> str:
        """Return the expert, the analysis and the proposal as a prompt shows them."""
        return self.with_proposal(f"{self.expert}\n{self.analysis}", language, options)


class Synthesis(WithProposal):
    """The joint report of a panel or a team."""

    team: int
    report: str

    def told(self, language: Language, options: Options | None = None) -> str:
        """Return the report and the proposal as a prompt shows them."""
        return self.with_proposal(self.report, language, options)


class Said(Strict):
    """What one expert told another, and nobody else."""

    discussion_round: int
    turn: int
    seat: int = Field(description="Seat of the speaker.")
    to: int
    text: str


class PanelState(StageState, total=False):
    """The state of a decision by experts."""

    experts: list[Expert]
    weighing: list[Expert]
    expert: Expert
    members: list[Member]
    messages: Annotated[list[Said], union_by("discussion_round", "turn", "seat", "to")]
    turn: int
    teams: list[Team]
    team: int
    tasks: list[str]
    analyses: Annotated[list[Analysis], union_by("team", "seat")]
    syntheses: Annotated[list[Synthesis], union_by("team", latest=True)]
    complexity: Complexity
    feedback: str


def purpose_of(state: PanelState) -> str:
    """Return the purpose of the current team; empty without teams."""
    team = state.get("team", 0)
    return state["teams"][team - 1].purpose if team else ""


def earlier_reports(state: PanelState) -> list[Synthesis]:
    """Return the reports of the teams before the current one."""
    return [item for item in state.get("syntheses", []) if item.team < state.get("team", 0)]
