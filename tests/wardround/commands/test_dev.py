import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import typer

from wardround.commands.dev import _allowed, _configuration


def test_servers_started_in_the_same_moment_each_find_their_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARDROUND_CACHE", str(tmp_path))
    with ThreadPoolExecutor(8) as starts:
        files = list(starts.map(_configuration, [[]] * 32))
    assert all("graphs" in json.loads(file.read_text("utf-8")) for file in files)


@pytest.mark.parametrize("token", ["short", "with/a/slash/in/it"])
def test_an_unusable_token_is_refused_before_the_server_starts(
    token: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WARDROUND_TOKEN", token)
    with pytest.raises(typer.Exit):
        _allowed([], [], False)
    assert "WARDROUND_TOKEN: expected at least 16 characters" in capsys.readouterr().err
