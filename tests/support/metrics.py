"""Keep metrics that a test registers from reaching other tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from scoring.suite import SUITES


@contextmanager
def suites_given_back() -> Iterator[None]:
    """Restore the metrics of all suites at the end."""
    before = {name: dict(suite.metrics) for name, suite in SUITES.items()}
    try:
        yield
    finally:
        for name, suite in SUITES.items():
            suite.metrics._entries = before[name]
