"""How fast diseases are linked to ICD-10 terms: the pruned search against a full one, and whether both find the same.

    python benchmarks/icd10_linking.py [--terms icd10cm|FILE.xls|FILE.csv] [--reports FILE] [--sample 40] [--seed 0]

The full search is ``rapidfuzz.process.extract`` over all names, on one core. Without ``--reports`` the diseases are
names of the list itself with letters dropped. Times are ratios to the full search, not seconds of some machine; the
gain is in Chinese lists, where two names share few characters. Exit status 1 if any answer differs.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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


def main() -> int:
    """Search both ways, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--terms", default=ICD10CM)
    parser.add_argument("--reports", type=Path)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    draw = random.Random(options.seed)
    terms = load_terms(options.terms)
    found = diseases_of(options.reports) if options.reports else misspelt(terms, draw, 20 * options.sample)
    sample = draw.sample(found, min(options.sample, len(found)))
    folded = [terms.fold(name) for name in terms.names]

    def full(disease: str) -> list[str]:
        best = process.extract(terms.fold(disease), folded, scorer=fuzz.WRatio, limit=LIMIT, score_cutoff=CUTOFF)
        return [terms.names[row] for _, _, row in best]

    def pruned(disease: str) -> list[str]:
        return [candidate.name for candidate in terms.candidates(disease)]

    _, index = timed(pruned, [terms.names[0]])
    wanted, slow = timed(full, sample)
    given, fast = timed(pruned, sample)
    different = sum(one != other for one, other in zip(wanted, given, strict=True))
    ratio = slow / max(fast, 1e-9)
    print(f"{len(terms)} terms, {len(found)} diseases, {len(sample)} of them searched both ways")
    print(f"pruned search: {ratio:.1f} times as fast; different answers: {different}")
    print(f"all {len(found)} diseases by the pruned search: {fast / len(sample) * len(found) + index:.1f} s here")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
