"""Experiment files that come along, one for each table of the papers; find them by name."""

from pathlib import Path

FOLDER = Path(__file__).parent


def library_files() -> dict[str, Path]:
    """The files by name."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.toml"))}


def find_file(file: Path | None) -> Path | None:
    """A file that comes along, where a name of the library was given and no file of that name lies here."""
    if file is None or file.exists():
        return file
    return library_files().get(str(file).removesuffix(".toml"), file)
