"""``wardround experiments``: what a reader sees of the files that come along."""

from typer.testing import CliRunner

from wardround.commands.experiments import experiments_app
from wardround.library import library_files


def test_each_file_is_told_in_one_whole_sentence() -> None:
    lines = CliRunner().invoke(experiments_app, ["list"]).stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(library_files())
    assert all(line.endswith(".") and ". " not in line and len(line) < 200 for line in lines)
