"""Take the data file out of what was downloaded: a ``.mat``, or a ZIP or RAR with one inside."""

import zipfile
from pathlib import Path, PurePosixPath

from disambig._core.errors import DownloadError
from disambig.datasets.card import DatasetCard

__all__ = ["extract_mat"]


def extract_mat(archive: Path, card: DatasetCard) -> bytes:
    """Return the content of the dataset's ``.mat`` file.

    Only that one member is read, into memory: nothing in the archive decides where it is written.
    """
    import rarfile  # needed here only

    if rarfile.is_rarfile(archive):
        try:
            with rarfile.RarFile(archive) as rar:
                return bytes(rar.read(_choose(rar.namelist(), card)))
        except rarfile.RarCannotExec:
            raise DownloadError(
                f"{card.title} comes as a RAR archive, and unpacking it needs one of the programs "
                "unrar, unar, bsdtar or 7z. Install one and try again, or get and unpack it by "
                f"hand from {card.source}."
            ) from None
        except rarfile.Error as error:
            raise DownloadError(
                f"The archive of {card.title} could not be unpacked: {error}."
            ) from error
    if zipfile.is_zipfile(archive):
        try:
            with zipfile.ZipFile(archive) as archive_file:
                return archive_file.read(_choose(archive_file.namelist(), card))
        except DownloadError:
            raise
        # A damaged archive is met with whatever the decompressor stumbles over.
        except Exception as error:
            raise DownloadError(
                f"The archive of {card.title} could not be unpacked: {error}."
            ) from error
    return archive.read_bytes()


def _choose(members: list[str], card: DatasetCard) -> str:
    files = [name for name in members if name.lower().endswith(".mat")]
    named = [name for name in files if card.is_called(PurePosixPath(name).stem)]
    # An archive of one file needs no name to go by.
    for choice in (named, files):
        if len(choice) == 1:
            return choice[0]
    raise DownloadError(
        f"The archive of {card.title} should hold one file {card.name}.mat. "
        f"It holds {', '.join(members) or 'nothing'}."
    )
