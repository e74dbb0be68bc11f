"""Fuzz the readers of files and words of others, guided by coverage, with a corpus that grows.

    pip install 'wardround[fuzz]'
    python -m benchmarks.fuzz cases corpus/cases -max_total_time=600

What is new to the reader is kept in the corpus, from where the next run goes on. An input that makes a reader raise
what it has not promised ends the run and lies in ``crash-...``; it belongs into a test. Options are libFuzzer's.
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
