"""The data sheet of a set of dialogues: CliniChat's Table 1 and Figure 3."""

import re
from collections import Counter
from collections.abc import Iterable

from pydantic import Field

from cases.dialogues import PATIENT, PHYSICIAN, Dialogue
from cases.strict import Strict
from scoring.metrics.samples import mean

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’.,/-][^\W_\u3400-\u9fff]+)*")


class DataSheet(Strict):
    """What a set of dialogues holds. A turn is the physician's words with the reply to them; None if there is none."""

    dialogues: int
    max_turns: int | None
    min_turns: int | None
    average_turns: float | None
    average_words_patient: float | None = Field(description="In an utterance; a Chinese character counts as a word.")
    average_words_physician: float | None
    departments: dict[str, int] = Field(description="Dialogues by department, the largest first.")
    diseases: dict[str, int] = Field(description="Dialogues by principal disease, the most frequent first.")
    languages: dict[str, int]
    failed: dict[str, int] = Field(default_factory=dict, description="Notes without a dialogue, by reason.")


def data_sheet(dialogues: Iterable[Dialogue], failed: Iterable[str] = ()) -> DataSheet:
    """Count a set of dialogues.

    Args:
        dialogues: what was kept.
        failed: the reason of each note that was not: a termination, or the gates that it failed.
    """
    turns: list[int] = []
    words: dict[str, list[int]] = {PATIENT: [], PHYSICIAN: []}
    departments: Counter[str] = Counter()
    diseases: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for dialogue in dialogues:
        turns.append(sum(message.role == PHYSICIAN for message in dialogue.spoken))
        for message in dialogue.spoken:
            words[message.role].append(count_words(message.content))
        departments[dialogue.department or "not recorded"] += 1
        diseases[dialogue.diseases[0] if dialogue.diseases else "not recorded"] += 1
        languages[dialogue.language] += 1
    return DataSheet(
        dialogues=len(turns),
        max_turns=max(turns, default=None),
        min_turns=min(turns, default=None),
        average_turns=mean(turns),
        average_words_patient=mean(words[PATIENT]),
        average_words_physician=mean(words[PHYSICIAN]),
        departments=dict(departments.most_common()),
        diseases=dict(diseases.most_common()),
        languages=dict(languages),
        failed=dict(Counter(failed).most_common()),
    )


def count_words(text: str) -> int:
    """The words of a text; each Chinese character is one."""
    return len(_WORD.findall(text))
