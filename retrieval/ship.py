"""Write the file of shipped embeddings: ``python -m retrieval.ship [TEXTS] [--out FILE] [--model NAME]``."""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from cases import load_cases
from retrieval.embedding import DEFAULT_MODEL, content_digest, embed
from retrieval.features import remember
from retrieval.vector_cache import SHIPPED


def ship(texts: Iterable[str], path: Path = SHIPPED, model: str = DEFAULT_MODEL) -> int:
    """Embed texts and write them as a shipped file; returns how many different ones there are.

    The file holds ``digests`` (n, 32) uint8, ``vectors`` (n, d) float16 and ``model``; the same texts always give
    the same file.
    """
    by_digest = {content_digest(text, model): text for text in texts}
    digests = sorted(by_digest)
    vectors = embed([by_digest[digest] for digest in digests], model).astype(np.float16)
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    np.savez_compressed(path, digests=keys, vectors=vectors, model=np.array(model))
    return len(digests)


def main() -> None:
    """Ship a text file's lines, or the symptom descriptions of all built-in cases."""
    parser = argparse.ArgumentParser(prog="python -m retrieval.ship", description=main.__doc__)
    parser.add_argument("texts", nargs="?", type=Path, help="one text a line; without it, the built-in cases")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--model", default=DEFAULT_MODEL)
    options = parser.parse_args()
    if options.texts:
        texts = [line.strip() for line in options.texts.read_text("utf-8").splitlines() if line.strip()]
    else:
        texts = [remember(case).symptoms for case in load_cases()]
    print(f"{ship(texts, options.out, options.model)} embeddings in {options.out}")


if __name__ == "__main__":
    main()
