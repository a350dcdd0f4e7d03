"""Take the data file out of what was downloaded: a ``.mat``, or a ZIP or RAR with one inside."""

import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from disambig._core.errors import DownloadError
from disambig.datasets.card import DatasetCard

__all__ = ["extract_mat"]

_LARGEST_FILE = 2**30


def extract_mat(archive: Path, card: DatasetCard) -> bytes:
    """Return the content of the dataset's ``.mat`` file.

    Only that one member is read, into memory: nothing in the archive decides where it is written.
    """
    import rarfile  # needed here only

    if rarfile.is_rarfile(archive):
        open_archive = rarfile.RarFile
    elif zipfile.is_zipfile(archive):
        open_archive = zipfile.ZipFile
    else:
        return archive.read_bytes()
    try:
        with open_archive(archive) as packed:
            return bytes(packed.read(_choose(packed.infolist(), card)))
    except DownloadError:
        raise
    except rarfile.RarCannotExec:
        raise DownloadError(
            f"{card.title} comes as a RAR archive, and unpacking it needs one of the programs "
            "unrar, unar, bsdtar or 7z. Install one and try again, or get and unpack it by "
            f"hand from {card.source}."
        ) from None
    # A damaged archive is met with whatever the parser or the decompressor stumbles over.
    except Exception as error:
        raise DownloadError(
            f"The archive of {card.title} could not be unpacked: {error}."
        ) from error


def _choose(members: list[Any], card: DatasetCard) -> Any:
    files = [member for member in members if _is_mat(PurePosixPath(member.filename))]
    named = [member for member in files if card.is_called(PurePosixPath(member.filename).stem)]
    # An archive of one file needs no name to go by.
    choice = next((choice[0] for choice in (named, files) if len(choice) == 1), None)
    if choice is None:
        held = ", ".join(member.filename for member in members) or "nothing"
        raise DownloadError(
            f"The archive of {card.title} should hold one file {card.name}.mat. It holds {held}."
        )
    if choice.file_size > _LARGEST_FILE:
        raise DownloadError(
            f"{choice.filename} in the archive of {card.title} would unpack to "
            f"{choice.file_size:,} bytes, and no known dataset is above {_LARGEST_FILE:,}."
        )
    return choice


def _is_mat(path: PurePosixPath) -> bool:
    # Hidden files are what macOS adds beside every other.
    return path.suffix.lower() == ".mat" and not path.name.startswith("._")
