"""The pictures of a case: files within its folder that are images by their content, and not too large to be sent.

A case file may come from anybody. What it names as a picture is opened and sent to whichever model is asked.
"""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path, PureWindowsPath

from cases.case import Case

LARGEST = 20 * 2**20  # bytes; what model servers take of one picture at most
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")

_folders: set[Path] | None = None


class PictureError(ValueError):
    """A picture that is not read: which one, why, and what would mend it."""


def only_pictures_in(folders: Iterable[str | Path]) -> None:
    """From now on this process reads pictures of these folders alone, whatever folder a case names."""
    global _folders
    _folders = {Path(folder).resolve() for folder in folders}


def read_picture(file: str | Path) -> tuple[bytes, str]:
    """The content of a picture and its media type.

    Raises:
        PictureError: it cannot be read, is no image, is too large, or lies where this process reads none.
    """
    from PIL import Image as Raster
    from PIL import UnidentifiedImageError

    path = Path(file).resolve()
    if _folders is not None and not any(path.is_relative_to(folder) for folder in _folders):
        raise PictureError(f"{str(file)!r} lies in no folder that this server may read pictures of")
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise PictureError(f"{str(file)!r} is larger than {LARGEST // 2**20} MB; send a smaller copy")
        with path.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        with Raster.open(io.BytesIO(content), formats=_FORMATS) as raster:
            return content, raster.get_format_mimetype() or ""
    except Raster.DecompressionBombError as error:
        raise PictureError(f"{str(file)!r} has too many pixels; send a smaller copy") from error
    except UnidentifiedImageError as error:
        raise PictureError(f"{str(file)!r} is no image by its content; {', '.join(_FORMATS)} are read") from error
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"{str(file)!r} cannot be read ({error})") from error


def with_sound_pictures(case: Case) -> Case:
    """The case, if its pictures can be sent; where they are read of certain folders alone, it need not name its own.

    Raises:
        PictureError: naming case, field and remedy.
    """
    if not case.folder:
        homes = (case.model_copy(update={"folder": str(folder)}) for folder in _folders or ())
        case = next((home for home in homes if not any(picture_faults(home))), case)
    for field, fault in picture_faults(case):
        raise PictureError(f"case {case.id}, {field}: {fault}")
    return case


def picture_faults(case: Case) -> Iterator[tuple[str, str]]:
    """What is wrong with the pictures of a case: the field, and what would mend it."""
    for index, image in enumerate(case.examinations.images):
        if fault := picture_fault(case.folder, image.file):
            yield f"examinations.images.{index}.file", fault


def picture_fault(folder: str | Path, file: str) -> str | None:
    """Why a file that a case names is no picture of its folder, every link followed; None if it is one."""
    try:
        if PureWindowsPath(file).drive:  # Windows would ask another host for it before anything is found out
            return f"{file!r} leads out of the case's folder; put the picture into it"
        within = Path(folder).resolve()
        path = (within / file).resolve()
        if not path.is_relative_to(within):
            return f"{file!r} leads out of the case's folder; put the picture into it"
        if not path.is_file():
            return f"no picture at {file!r}; put it into the case's folder, or leave it out of the case"
        read_picture(path)
    except PictureError as error:
        return str(error).replace(str(path), file)
    except (OSError, ValueError, RuntimeError) as error:  # a name that no disk takes, a ring of links
        return f"{file!r} cannot be the path of a picture ({error})"
    return None
