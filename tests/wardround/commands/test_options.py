"""Options that several commands have in common."""

from pathlib import Path

import pytest

from tests.support.commands import wardround


@pytest.mark.parametrize("command", ["score mvme", "floors", "judges", "rate", "reproduce aie", "cases rate"])
def test_a_dash_is_no_file_for_json_since_the_tables_are_printed_where_it_would_go(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = wardround(*command.split(), tmp_path, "--json", "-")
    assert told.exit_code == 2 and told.stderr.startswith("error: --json -: expected a file name")
    assert not (tmp_path / "-").exists()
