"""How much of the test cases is in the memory: the nearest remembered case by text, and by diagnosis."""

from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz, process

from cases import Case
from cases.vocabulary import normalise
from retrieval import CaseMemoryError, EmbeddingModelError, Memory, RememberedCase, kin_of, open_memory, remember
from wardround.store.recorded_run import RecordedRun
from wardround.tables.table import Column, DoesNotFitError, Table, alike, key_columns

_NOTES = (
    "Text: the remembered case with the nearest symptom description, its cosine similarity, and the largest share of "
    "text in common with any remembered case. Kin (the case itself, its variants, and cases that share half a record "
    "or more) is never recalled.",
    "Diagnosis: the remembered case whose diagnosis is named most like the case's principal diagnosis. If the names "
    "are the same word for word, recalling that case gives away the answer. This is what a memory of earlier cases is "
    "for; a run with --set retrieval=false shows how much it contributes.",
)


def build(runs: Sequence[RecordedRun]) -> list[Table]:
    """Tabulate each case of each run that uses retrieval, with the nearest remembered cases.

    Raises:
        DoesNotFitError: a memory cannot be opened.
    """
    rows, notes = [], list(_NOTES)
    for run in runs:
        context = run.experiment.context
        if not context.retrieval or run.experiment.data.notes is not None:
            continue
        try:
            memory = open_memory(context.memory, context.embedding)
            case_rows = _rows(list(run.cases.values()), memory)
        except (CaseMemoryError, EmbeddingModelError) as error:
            raise DoesNotFitError(f"{run.name}: {error}") from error
        diagnosed = [row for row in case_rows if row["same"] is not None]
        same_name = sum(row["same"] == "yes" for row in diagnosed)
        kin = sum(row["kin"] == "yes" for row in case_rows)
        notes.append(
            f"{run.name}: the principal diagnosis is in the memory word for word for {same_name} of {len(diagnosed)} "
            f"cases; {kin} of {len(case_rows)} cases have kin there."
        )
        rows += [{"run": run.name, **row} for row in case_rows]
    columns = [
        *key_columns("run", "case"),
        Column("nearest", "Nearest", "Text"),
        Column("similarity", "Similarity", "Text", form=".3f"),
        *alike({"overlap": "Shared", "kin": "Kin"}, "Text"),
        *alike({"diagnosed": "Nearest", "likeness": "Likeness", "same": "Word for word"}, "Diagnosis"),
    ]
    return [Table("leakage", "Overlap of the memory with the cases", columns, rows, notes, "Nearest remembered cases.")]


def _rows(cases: Sequence[Case], memory: Memory) -> list[dict[str, Any]]:
    remembered = sorted(memory.verified(), key=lambda one: one.id)
    diseases = {normalise(name): one.id for one in reversed(remembered) for name in one.diagnosis}
    return [{"case": case.id, **_by_text(case, memory, remembered), **_by_diagnosis(case, diseases)} for case in cases]


def _by_text(case: Case, memory: Memory, remembered: Sequence[RememberedCase]) -> dict[str, Any]:
    kin = kin_of(case)
    found = memory.recall(remember(case).symptoms, None, before=0, k=1)
    return {
        "nearest": found[0].case.id if found else None,
        "similarity": found[0].similarity if found else None,
        "overlap": max((kin.overlap(one) for one in remembered), default=0.0),
        "kin": "yes" if any(kin.includes(one) for one in remembered) else "no",
    }


def _by_diagnosis(case: Case, diseases: Mapping[str, str]) -> dict[str, Any]:
    """Return the disease name nearest to the principal diagnosis."""
    name = normalise(case.key.diagnosis[0]) if case.key.diagnosis else ""
    found = process.extractOne(name, diseases.keys(), scorer=fuzz.ratio) if name else None
    if found is None:
        return {"diagnosed": None, "likeness": None, "same": None}
    nearest, score, _ = found
    return {"diagnosed": diseases[nearest], "likeness": score / 100, "same": "yes" if nearest == name else "no"}
