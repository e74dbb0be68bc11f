"""Fuzz the readers of foreign files and texts, guided by coverage, with a growing corpus.

    pip install 'wardround[fuzz]'
    python -m benchmarks.fuzz cases corpus/cases -max_total_time=600

Inputs that reach new code are added to the corpus, where the next run continues. An input that makes a reader raise an
undocumented error ends the run and is saved as ``crash-...``; add it to the tests. Options are libFuzzer's.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["cases", "llm", "scoring", "wardround"], enable_loader_override=False):
    from tests.support.readers import READERS


def main() -> None:
    """Fuzz one reader until it fails or its time is up."""
    if len(sys.argv) < 3 or sys.argv[1] not in READERS:
        sys.exit(f"usage: python -m benchmarks.fuzz READER CORPUS [OPTIONS]; readers are {', '.join(READERS)}")
    reader, corpus = READERS[sys.argv[1]], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "seed").write_text(reader.seed, "utf-8")
    with TemporaryDirectory() as folder:
        atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: reader.try_on(data, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
