"""Read image files that may be anything: within limits, upright, in colour."""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from disambig._core.errors import import_extra
from disambig._core.typing import AnyArray
from disambig.tabular.described.describers import UnreadableCellError

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_SUFFIXES = (
    *(".bmp", ".gif", ".jpeg", ".jpg", ".jfif", ".pbm", ".pgm", ".png", ".pnm", ".ppm"),
    *(".tif", ".tiff", ".webp"),
)
# Readers of other formats start programs (EPS), or are seldom used and little tested.
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
_LARGEST_FILE = 500_000_000  # bytes
_MOST_PIXELS = 80_000_000  # fewer than those that Pillow warns of
_ADDRESSES = ("http:", "https:", "ftp:", "s3:", "gs:", "file:", "data:")
_LONGEST_SUFFIX = max(map(len, IMAGE_SUFFIXES))


def is_image_path(cell: str) -> bool:
    """Tell whether a cell ends like the name of an image file."""
    return cell[-_LONGEST_SUFFIX:].lower().endswith(IMAGE_SUFFIXES)  # a text may be long


def is_address(cell: str) -> bool:
    """Tell whether a cell is an address, such as one of a web page."""
    return cell.lower().startswith(_ADDRESSES)


def is_file(folder: Path, cell: str) -> bool:
    """Tell whether a cell names a file; the path begins in a folder."""
    try:
        return _path_of(folder, cell).is_file()
    except (OSError, ValueError):  # a path may be too long, or hold a zero
        return False


def read_image_file(folder: Path, cell: str) -> bytes:
    """Return the content of the file that a cell names; the path begins in a folder."""
    if is_address(cell):
        raise UnreadableCellError("is an address, and nothing is fetched: save the file")
    try:
        path = _path_of(folder, cell)
        if not path.is_file():  # a pipe or a device may never end
            raise UnreadableCellError("is not a file" if path.exists() else "is not there")
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:  # a path may hold a zero
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableCellError(f"cannot be opened ({reason})") from error
    if len(content) > _LARGEST_FILE:
        raise UnreadableCellError(f"has more than {_LARGEST_FILE / 1e6:,.0f} MB")
    if not content:
        raise UnreadableCellError("is an empty file")
    return content


def _path_of(folder: Path, cell: str) -> Path:
    """Return where the file of a cell is; paths of Windows are known elsewhere, too."""
    path = folder / cell
    return folder / cell.replace("\\", "/") if "\\" in cell and not path.exists() else path


def open_image(content: bytes, *, smallest: int) -> "Image":
    """Return an upright image in RGB, its first picture if it moves; transparent is white.

    A large JPEG may come smaller, which is faster, but both sides have ``smallest`` pixels or more
    where they did before.
    """
    pillow, transposed = _pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd metadata
        try:
            with pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
                if image.width * image.height > _MOST_PIXELS:
                    raise pillow.DecompressionBombError
                image.draft("RGB", (smallest, smallest))
                image.load()
                return _in_colour(transposed(image))
        except pillow.DecompressionBombError as error:
            raise UnreadableCellError(f"has more than {_MOST_PIXELS:,} pixels") from error
        except MemoryError:
            raise
        except Exception as error:  # whatever Pillow makes of any bytes
            raise UnreadableCellError(f"is damaged or not an image ({_brief(error)})") from error


def _pillow() -> tuple[Any, Any]:
    module = import_extra("PIL.Image", extra="images")
    return module, import_extra("PIL.ImageOps", extra="images").exif_transpose


def _in_colour(image: "Image") -> "Image":
    pillow, _ = _pillow()
    if image.mode.startswith(("I", "F")):
        image = pillow.fromarray(_to_bytes(np.array(image, dtype=np.float32), image.mode))
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        image = image.convert("RGBA")
        white = pillow.new("RGBA", image.size, "white")
        image = pillow.alpha_composite(white, image)
    return image.convert("RGB")


def _to_bytes(values: AnyArray, mode: str) -> AnyArray:
    """Return grey values as bytes; the brightest possible is guessed where no mode says it.

    In place, because a small file can be unpacked to a gigabyte.
    """
    np.nan_to_num(values, copy=False)
    tops = (1.0, 255.0, 65535.0) if mode == "F" else (255.0, 65535.0)
    top = 65535.0 if "16" in mode else min(one for one in (*tops, np.inf) if values.max() <= one)
    if top == np.inf:
        top = values.max()
    values *= 255 / top
    return values.clip(0, 255, out=values).round(out=values).astype(np.uint8)


def _brief(error: Exception) -> str:
    text = next(iter(str(error).splitlines()), "") or type(error).__name__
    return "its format is not known" if "cannot identify" in text else text[:100]
