"""The pictures of a case: image files within its folder, small enough to be sent.

A case file may come from anyone, and what it names as a picture is opened and sent to models.
"""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from cases.case import Case
from cases.readable import unreadable

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

LARGEST = 20 * 2**20  # bytes of one picture at most; model servers accept no more
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")

_folders: set[Path] | None = None


class PictureError(ValueError):
    """A picture was not read; says which, why, and how to fix it."""


def only_pictures_in(folders: Iterable[str | Path]) -> None:
    """Restrict this process to pictures in these folders, whatever folder a case names."""
    global _folders
    _folders = {Path(folder).resolve() for folder in folders}


def read_picture(file: str | Path, *, whole: bool = True) -> tuple[bytes, str]:
    """Return the content of a picture and its media type.

    Args:
        file: its path.
        whole: whether to decode it, which finds damage behind its head.

    Raises:
        PictureError: it cannot be read, is not an image or not a whole one, is too large, or is outside the allowed
            folders.
    """
    from PIL import Image as Raster
    from PIL import UnidentifiedImageError

    path = Path(file).resolve()
    if _folders is not None and not any(path.is_relative_to(folder) for folder in _folders):
        raise PictureError(f"{str(file)!r} is outside the folders that this server may read pictures from")
    try:
        if path.is_file() and path.stat().st_size > LARGEST:
            raise PictureError(f"{str(file)!r} is larger than {LARGEST // 2**20} MB; send a smaller copy")
        with path.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        with Raster.open(io.BytesIO(content), formats=_FORMATS) as raster:
            mime = raster.get_format_mimetype() or ""
            if whole:
                _decode(raster, file)
            # Phones put a preview behind the picture (MPO), which every reader of JPEG leaves out.
            return content, "image/jpeg" if mime == "image/mpo" else mime
    except Raster.DecompressionBombError as error:
        raise PictureError(f"{str(file)!r} has too many pixels; send a smaller copy") from error
    except UnidentifiedImageError as error:
        raise PictureError(f"{str(file)!r} is not an image; expected {', '.join(_FORMATS)}") from error
    except (OSError, ValueError, SyntaxError) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"{str(file)!r}: {unreadable(error)}") from error


def _decode(raster: "ImageFile", file: str | Path) -> None:
    try:
        raster.load()
    except MemoryError as error:  # no fault of the picture: a case that ends so is tried again
        raise MemoryError(f"{str(file)!r} has more pixels than fit into memory now; send a smaller copy") from error
    except Exception as error:  # decoders of damaged data raise anything
        if isinstance(error, ValueError) and not raster.tile:  # all lines were decoded, what follows them was not
            raise PictureError(f"{str(file)!r} holds more than a picture ({error}); save it without") from error
        raise PictureError(f"{str(file)!r} is damaged or cut off ({error}); copy it again from its source") from error


def own_picture(case: Case, recorded: str) -> Path | None:
    """Return the picture of a case that a record names by its path on any machine; None if it is no picture of it.

    A record of somebody else's may name any file.
    """
    files = (image.file for image in case.examinations.images)
    own = (file for file in files if Path(recorded).parts[-len(Path(file).parts) :] == Path(file).parts)
    return next((Path(case.folder, file) for file in own), None)


def with_sound_pictures(case: Case) -> Case:
    """Return the case if its pictures can be sent; a case without a folder is looked up in the allowed folders.

    Raises:
        PictureError: names the case, the field and the remedy.
    """
    if not case.folder:
        homes = (case.model_copy(update={"folder": str(folder)}) for folder in _folders or ())
        case = next((home for home in homes if not any(picture_faults(home))), case)
    for field, fault in picture_faults(case):
        raise PictureError(f"case {case.id}, {field}: {fault}")
    return case


def picture_faults(case: Case, *, whole: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the fields and faults of a case's pictures; with ``whole``, each is decoded."""
    for index, image in enumerate(case.examinations.images):
        if fault := picture_fault(case.folder, image.file, whole=whole):
            yield f"examinations.images.{index}.file", fault


def picture_fault(folder: str | Path, file: str, *, whole: bool = True) -> str | None:
    """Return why a file is not a picture within the folder, with links resolved; None if it is one."""
    try:
        if PureWindowsPath(file).drive:  # Windows would contact another host to resolve it
            return f"{file!r} is outside the case's folder; put the picture into it"
        within = Path(folder).resolve()
        path = (within / file).resolve()
        if not path.is_relative_to(within):
            return f"{file!r} is outside the case's folder; put the picture into it"
        if not path.is_file():
            return f"picture {file!r} not found; put it into the case's folder, or remove it from the case"
        read_picture(path, whole=whole)
    except PictureError as error:
        return str(error).replace(str(path), file)
    except (OSError, ValueError, RuntimeError) as error:  # an invalid file name, or a loop of links
        return f"{file!r} is not a valid path ({error})"
    return None
