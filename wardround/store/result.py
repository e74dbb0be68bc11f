"""A line of ``results.jsonl``: how one case ended in one epoch."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from llm.checksums import read_sealed
from llm.errors import AnswerError
from llm.specs import WITHOUT_MODEL
from llm.trace import Call
from scoring.case_scores import JUDGE_FAILED, NO_SCORE
from scoring.clini_eval.dialogue import ReconstructionAnswers
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers

LIMIT = "_limit"  # suffix of the termination of a case that was stopped at a limit
LIMIT_OF_RUN = "run_"

RunAnswers = Answers | ConsultationAnswers | ReconstructionAnswers


class Result(BaseModel):
    """One line of ``results.jsonl``: how one case ended in one epoch."""

    model_config = ConfigDict(extra="forbid")

    case_id: str
    epoch: int
    termination: str = Field(description="`completed`, or the reason why the case did not complete.")
    scores: dict[str, float | None] = Field(default_factory=dict)
    unscored: dict[str, str] = Field(default_factory=dict, description="Why a score is missing, by score.")
    tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    error: str | None = None
    calls: int = Field(default=0, description="Number of questions asked of models, not of rules or people.")
    uncounted: int = Field(default=0, description="Of these, questions answered by servers that reported no tokens.")
    models: dict[str, list[str]] = Field(default_factory=dict, description="The models that answered, by role.")
    stages: dict[str, str] = Field(default_factory=dict, description="How each stage ended: agreed or exhausted.")
    rounds: dict[str, int] = Field(default_factory=dict, description="Number of judged decisions of each stage.")
    dropped_seats: int = Field(default=0, description="Number of group members' answers left out as unreadable.")
    unanswered: dict[str, int] = Field(
        default_factory=dict, description="Number of other questions that got no answer in a completed case, by role."
    )
    unnamed_results: int = Field(
        default=0, description="Number of results released that no rule finds named in the order."
    )
    repeating: list[str] | None = Field(
        default=None, description="Who repeated one turn to the end; None if not known."
    )
    answers: RunAnswers | None = Field(default=None, description="Answers of the graph; None if it reached none.")
    language: str = Field(
        default="", description="Language in which it was played; empty in older lines and of a lost worker."
    )
    run: str = Field(default="", description="Id of the run, as in the manifest; empty in older lines.")
    program: str = Field(
        default="",
        description="Version and commit that ran the case, if not those in the manifest, which began the run.",
    )

    @property
    def scored(self) -> bool:
        """Whether the case ended with answers that could be scored; a failed case did not."""
        return self.termination == "completed" or self.limited

    @property
    def limited(self) -> bool:
        """Whether the case was stopped at a limit, and scored with what it had."""
        return self.termination.endswith(LIMIT)

    @property
    def limited_by_run(self) -> bool:
        """Whether that limit was the whole run's."""
        return self.limited and self.termination.startswith(LIMIT_OF_RUN)

    @property
    def final(self) -> bool:
        """Whether running again would change nothing; false if a model was unreachable or the run reached a limit."""
        if self.limited:
            return not self.limited_by_run
        for_good = f"{JUDGE_FAILED}: {AnswerError.reason}"
        return self.termination in ("completed", AnswerError.reason, "sex_bound") and all(
            why.startswith(for_good) for why in self.judges_failed
        )

    @property
    def refused(self) -> bool:
        """Whether the case was refused, as its findings imply another sex than was asked for: it did not fail."""
        return self.termination == "sex_bound"

    def is_kept(self, *, retry_failed: bool) -> bool:
        """Whether it stays when the run is resumed; ``retry_failed`` retries also what failed for good."""
        return self.final and (not retry_failed or (self.scored and not self.judges_failed))

    @property
    def judges_failed(self) -> list[str]:
        """Why judges gave no score to an existing answer."""
        return [why for why in self.unscored.values() if why.startswith(JUDGE_FAILED)]

    @property
    def key(self) -> tuple[str, int]:
        """What identifies it in the run: case id and epoch."""
        return self.case_id, self.epoch

    def misses_of(self, calls: Iterable[Call]) -> bool:
        """Whether some of the case's questions to models are not among its calls.

        Earlier versions also counted what a limit refused and, in lines without `uncounted`, what rules answered.
        """
        counts_rules = "uncounted" not in self.model_fields_set
        return self.calls > sum(counts_rules or call.model not in WITHOUT_MODEL for call in calls)

    def without_answers(self) -> "Result":
        """Return it without its answers, which make up most of it."""
        return self.model_copy(update={"answers": None})


_RESULT = TypeAdapter(Result)


def read_result(line: str) -> Result:
    """Parse a result line.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        result = read_sealed(line, _RESULT)
    except ValidationError as error:
        raise ValueError("is not a result") from error
    if any(score is not None and not abs(score) < NO_SCORE for score in result.scores.values()):
        raise ValueError("has a score that is not a number")
    return result
