"""Take the file of a dataset out of an archive that may be hostile."""

import os
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from disambig._core.errors import DownloadError, import_extra
from disambig._core.messages import join_names
from disambig.datasets.card import DatasetCard

# Of a file that is not all numbers.
_OVERHEAD = 10**6
_PART = 1 << 16
# The methods of ZIP that zipfile expands in parts: others make gigabytes of a few bytes at once.
_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def largest_file(card: DatasetCard) -> int:
    """Return how many bytes the file of a dataset may have: twice what its arrays would take.

    The arrays are the features, the candidate sets and the true labels, as numbers of 8 bytes.
    """
    return _OVERHEAD + 2 * 8 * card.n_samples * (card.n_features + 2 * card.n_classes)


def check_unpacker(address: str, card: DatasetCard) -> None:
    """Refuse the address of a RAR archive where there is no program that unpacks it."""
    rarfile = _import_rarfile()
    if urlsplit(address).path.lower().endswith(".rar"):
        try:
            rarfile.tool_setup()
        except rarfile.RarCannotExec:
            raise _no_unpacker(card) from None


def extract_mat(archive: Path, card: DatasetCard) -> bytes:
    """Return the content of the dataset's ``.mat`` file.

    Only that member is read, into memory, so that no path in the archive is ever written to.
    """
    rarfile = _import_rarfile()
    if rarfile.is_rarfile(archive):
        open_archive = rarfile.RarFile
    elif zipfile.is_zipfile(archive):
        open_archive = zipfile.ZipFile
    else:
        _check_size(archive.stat().st_size, card)
        return archive.read_bytes()
    try:
        with open_archive(archive) as packed:
            member = _choose(packed.infolist(), card)
            _check_size(member.file_size, card)
            if isinstance(member, zipfile.ZipInfo) and member.compress_type not in _ZIP_METHODS:
                raise DownloadError(
                    f"The archive of {card.title} is packed by a method other than Deflate."
                )
            with packed.open(member) as stream:
                return _read(stream, card)
    except DownloadError:
        raise
    except rarfile.RarCannotExec:
        raise _no_unpacker(card) from None
    # The parsers and decompressors raise all kinds of errors on damaged archives.
    except Exception as error:
        raise DownloadError(
            f"The archive of {card.title} could not be unpacked: {error or type(error).__name__}."
        ) from error


def _import_rarfile() -> Any:
    rarfile = import_extra("rarfile", extra="fetch")
    if sys.platform == "win32":
        # Its installer does not add it to the path.
        programs = os.environ.get("PROGRAMFILES", r"C:\Program Files")
        rarfile.SEVENZIP2_TOOL = rf"{programs}\7-Zip\7z.exe"
    return rarfile


def _no_unpacker(card: DatasetCard) -> DownloadError:
    return DownloadError(
        f"{card.title} comes as a RAR archive, and there is no program here that unpacks it. "
        "Install one and try again: sudo apt install unar (Debian, Ubuntu), brew install unar "
        "(macOS), winget install 7zip.7zip (Windows). Or get and unpack it by hand from "
        f"{card.source}."
    )


def _choose(members: list[Any], card: DatasetCard) -> Any:
    files = [member for member in members if _is_mat(PurePosixPath(member.filename))]
    named = [member for member in files if card.is_called(PurePosixPath(member.filename).stem)]
    # The only .mat file of an archive may have any name.
    choice = next((choice[0] for choice in (named, files) if len(choice) == 1), None)
    if choice is None:
        held = join_names(member.filename for member in members) or "nothing"
        raise DownloadError(
            f"The archive of {card.title} should hold one file {card.name}.mat. It holds {held}."
        )
    return choice


def _is_mat(path: PurePosixPath) -> bool:
    # Hidden files are what macOS adds beside every other.
    return path.suffix.lower() == ".mat" and not path.name.startswith("._")


def _read(stream: BinaryIO, card: DatasetCard) -> bytes:
    """Return all of a member; its size, which the archive states, need not be true."""
    content = bytearray()
    while part := stream.read(_PART):
        content += part
        _check_size(len(content), card)
    return bytes(content)


def _check_size(size: int, card: DatasetCard) -> None:
    most = largest_file(card)
    if size > most:
        raise DownloadError(
            f"The file of {card.title} would have {size:,} bytes or more. It has "
            f"{card.n_samples:,} rows and {card.n_features:,} features, so at most {most:,} are "
            "allowed."
        )
