import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wardround.commands.dev import _configuration


def test_servers_started_in_the_same_moment_each_find_their_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    with ThreadPoolExecutor(8) as starts:
        files = list(starts.map(_configuration, [[]] * 32))
    assert all("graphs" in json.loads(file.read_text("utf-8")) for file in files)
