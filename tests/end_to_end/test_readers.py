"""Whatever is in a file, its reader gives a value, names the fault or refuses it; ``benchmarks/fuzz.py`` goes on."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.readers import READERS, changed

OTHERS = {"evaluations", "references"}  # start from a record of another kind


@pytest.mark.parametrize("name", sorted(READERS.keys() - OTHERS))
def test_the_fuzzers_start_from_what_is_read_well(name: str, tmp_path: Path) -> None:
    file = tmp_path / READERS[name].name
    file.write_text(READERS[name].seed, "utf-8")
    found: Any = READERS[name].read(file)
    found = found[0] if isinstance(found, tuple) else found
    assert getattr(found, "records", None) or getattr(found, "cases", None) or getattr(found, "runs", None) or found
    assert not getattr(found, "errors", None)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_a_reader_keeps_its_promise_whatever_is_in_the_file(name: str, tmp_path: Path, seed: int) -> None:
    READERS[name].try_on(changed(READERS[name].seed, random.Random(seed)), tmp_path)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "replace")))
def test_a_reader_keeps_its_promise_on_bytes_of_any_kind(name: str, tmp_path: Path, data: bytes) -> None:
    READERS[name].try_on(data, tmp_path)
