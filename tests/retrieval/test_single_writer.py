from pathlib import Path

import pytest

from retrieval.single_writer import SingleWriter


def test_who_is_refused_because_another_has_written_does_not_keep_the_memory_from_a_third(tmp_path: Path) -> None:
    stale, other = SingleWriter(tmp_path), SingleWriter(tmp_path)
    other.acquire()
    with pytest.raises(BlockingIOError, match="another process is writing to it"):
        stale.acquire()
    other.written()
    other.release()
    with pytest.raises(BlockingIOError, match="another process has written to it since"):
        stale.acquire()
    third = SingleWriter(tmp_path)
    third.acquire()
    third.release()
