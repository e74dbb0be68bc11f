"""How fast diseases are linked to ICD-10 terms: the pruned search against a full one, and whether both find the same.

    python -m benchmarks.icd10_linking [--terms icd10cm|FILE.xls|FILE.csv] [--reports FILE] [--sample 40] [--seed 0]

The full search is ``rapidfuzz.process.extract`` over all names, on one core. Without ``--reports`` the diseases are
names of the list itself with letters dropped. Times are ratios to the full search, not seconds of some machine; the
gain is in Chinese lists, where two names share few characters. Exit status 1 if any answer differs.
"""

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rapidfuzz import fuzz, process

from scoring.metrics.icd10_terms import CUTOFF, ICD10CM, LIMIT, TermList, load_terms
from scoring.mvme.disease_entities import split_diseases
from scoring.mvme.transcripts import read_reports, sections


def diseases_of(reports: Path) -> list[str]:
    """The diseases of all diagnoses, of doctors and references."""
    texts = []
    for report in read_reports(reports).records:
        texts.append(sections(report.report).get("diagnosis", ""))
        texts.append((report.reference.diagnosis if report.reference else None) or "")
    return sorted({name for text in texts for name in split_diseases(text)})


def misspelt(terms: TermList, draw: random.Random, count: int) -> list[str]:
    """Names of the list with every tenth letter dropped."""
    return ["".join(letter for letter in name if draw.random() > 0.1) for name in draw.sample(terms.names, count)]


def timed(search: Callable[[str], list[str]], diseases: Sequence[str]) -> tuple[list[list[str]], float]:
    """The answers and the processor seconds of all of them."""
    start = time.process_time()
    answers = [search(disease) for disease in diseases]
    return answers, time.process_time() - start


def main(terms: str = ICD10CM, reports: Path | None = None, sample: int = 40, seed: int = 0) -> None:
    """Search both ways, compare and print."""
    draw = random.Random(seed)
    known = load_terms(terms)
    found = diseases_of(reports) if reports else misspelt(known, draw, 20 * sample)
    chosen = draw.sample(found, min(sample, len(found)))
    folded = [known.fold(name) for name in known.names]

    def full(disease: str) -> list[str]:
        best = process.extract(known.fold(disease), folded, scorer=fuzz.WRatio, limit=LIMIT, score_cutoff=CUTOFF)
        return [known.names[row] for _, _, row in best]

    def pruned(disease: str) -> list[str]:
        return [candidate.name for candidate in known.candidates(disease)]

    _, index = timed(pruned, [known.names[0]])
    wanted, slow = timed(full, chosen)
    given, fast = timed(pruned, chosen)
    different = sum(one != other for one, other in zip(wanted, given, strict=True))
    ratio = slow / max(fast, 1e-9)
    print(f"{len(known)} terms, {len(found)} diseases, {len(chosen)} of them searched both ways")
    print(f"pruned search: {ratio:.1f} times as fast; different answers: {different}")
    print(f"all {len(found)} diseases by the pruned search: {fast / len(chosen) * len(found) + index:.1f} s here")
    raise typer.Exit(bool(different))


if __name__ == "__main__":
    typer.run(main)
