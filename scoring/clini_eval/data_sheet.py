"""The data sheet of a set of dialogues: CliniChat's Table 1 and Figure 3."""

from collections import Counter
from collections.abc import Callable, Iterable

from pydantic import Field

from cases.dialogues import Dialogue
from cases.strict import Strict
from scoring.clini_eval.points import STATISTICS, statistics_of
from scoring.metrics.samples import mean

_FEW = 0.02
RESEARCH_ONLY = "For research only, not for care."  # in the data sheet, and on the cards of a model and of a data set
LICENCE = "of the notes and of the models that wrote the dialogues"


class ModelUse(Strict):
    """What one model was asked and what it used."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None = Field(description="US dollars; None if its price is unknown.")


class DataSheet(Strict):
    """Statistics of a set of dialogues; None if it has none. A turn is the physician's words with their reply."""

    dialogues: int
    max_turns: int | None
    min_turns: int | None
    average_turns: float | None
    average_words_patient: float | None = Field(
        description="Words per utterance as in Clini-Eval: mean of the dialogues' means, each Chinese character a word."
    )
    average_words_physician: float | None
    departments: dict[str, int] = Field(description="Dialogues by department, the largest first.")
    diseases: dict[str, int] = Field(description="Dialogues by principal disease, the most frequent first.")
    inferred: int = Field(
        default=0, description="Dialogues whose note names no disease, so that the writer inferred it."
    )
    sources: dict[str, int] = Field(default_factory=dict, description="Dialogues by the file of their note.")
    languages: dict[str, int]
    left_out: list[str] = Field(default_factory=list, description="Parts of the source that are not notes, and why.")
    failed: dict[str, int] = Field(default_factory=dict, description="Notes without a dialogue, by reason.")
    calls: int | None = Field(
        default=None, description="Number of questions asked of models, also for notes that failed."
    )
    tokens: int | None = Field(default=None, description="Tokens read and written by models.")
    cost: float | None = Field(default=None, description="US dollars; None if a price is unknown.")
    models: dict[str, ModelUse] = Field(
        default_factory=dict, description="The same by model; empty while the job is in progress."
    )
    use: str = Field(default=RESEARCH_ONLY, description="What the dialogues are for.")
    licence: str = Field(default=f"that {LICENCE}; this sheet grants none", description="On what terms.")

    @property
    def rare(self) -> list[str]:
        """Departments with under 2 % of the dialogues: too few to learn from."""
        return [name for name, count in self.departments.items() if count < _FEW * self.dialogues]


def data_sheet(dialogues: Iterable[Dialogue], failed: Iterable[str] = (), left_out: Iterable[str] = ()) -> DataSheet:
    """Summarise a set of dialogues; ``failed`` are reasons why notes have none, ``left_out`` what is not a note."""
    dialogues = list(dialogues)
    counts = [statistics_of(one) for one in dialogues]
    turns, physician, patient = ([value for one in counts if (value := one[name]) is not None] for name in STATISTICS)

    def counted(named: Callable[[Dialogue], str | None]) -> dict[str, int]:
        return dict(Counter(named(one) or "not recorded" for one in dialogues).most_common())

    return DataSheet(
        dialogues=len(dialogues),
        max_turns=int(max(turns)) if turns else None,
        min_turns=int(min(turns)) if turns else None,
        average_turns=mean(turns),
        average_words_patient=mean(patient),
        average_words_physician=mean(physician),
        left_out=list(left_out),
        departments=counted(lambda one: one.department),
        diseases=counted(lambda one: one.diseases[0] if one.diseases else one.inferred),
        inferred=sum(bool(one.inferred and not one.diseases) for one in dialogues),
        sources=counted(lambda one: one.source),
        languages=dict(Counter(one.language for one in dialogues)),
        failed=dict(Counter(failed).most_common()),
    )
