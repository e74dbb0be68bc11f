"""The models of each run, the roles that each answered for, and their cards."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from llm.blocks import block_of
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, Table

_CARD = "card_"


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate each model of each run with its card (Med-PMC, Table 6), with a column for each entry of any card."""
    rows = [{"run": run.name, **row} for run in runs for row in _rows(run)]
    card_columns = dict.fromkeys(name for row in rows for name in row if name.startswith(_CARD))
    columns = [
        Column("run", "Run", key=True),
        Column("model", "Model", key=True),
        Column("spec", "Spec"),
        *(Column(name, name.removeprefix(_CARD).capitalize()) for name in card_columns),
        Column("roles", "Roles"),
    ]
    notes = (
        []
        if card_columns
        else ["To add the maker, size, precision and so on, set a card in the model's block, [model.NAME]."]
    )
    return [Table("models", "Models", columns, rows, notes, "The models, and the roles that each model answered.")]


def _rows(run: RecordedRun) -> Iterator[dict[str, Any]]:
    roles_of: defaultdict[str, list[str]] = defaultdict(list)
    for role, models in run.models.items():
        for model in models:
            roles_of[model].append(role)
    for model, roles in sorted(roles_of.items()):
        block = block_of(model, run.experiment.model)
        card = {f"{_CARD}{name}": text for name, text in block.card.items()}
        yield {"model": model, "spec": block.text, **card, "roles": ", ".join(sorted(roles))}
