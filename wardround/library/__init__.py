"""The built-in experiment files, one for each table of the papers, found by name."""

from pathlib import Path

FOLDER = Path(__file__).parent


def library_files() -> dict[str, Path]:
    """Return the built-in files by name."""
    return {file.stem: file for file in sorted(FOLDER.glob("*.toml"))}


def find_file(file: Path | None) -> Path | None:
    """Return the built-in file of this name, unless a file with that path exists; a run directory may have the name."""
    if file is None or (file.exists() and not file.is_dir()):
        return file
    return library_files().get(str(file).removesuffix(".toml"), file)
