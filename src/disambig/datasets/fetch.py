"""Download a real-world dataset: to the cache, unpacked and checked."""

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from disambig._core.errors import DownloadError, HashMismatchError
from disambig._core.files import written_atomically
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.fingerprint import check_fingerprint
from disambig.datasets.locate import cache_folder
from disambig.datasets.unpack import extract_mat

__all__ = ["fetch_dataset"]


def fetch_dataset(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    url: str | None = None,
    progress: Any = False,
) -> Path:
    """Download a dataset and return the path of its file; do nothing if it is there already.

    The data is its authors' and for academic purposes only: read ``card.licence``.

    Parameters
    ----------
    name : str
        Name of a real-world dataset.
    folder : path, optional
        Where to put the file. By default the cache, where ``load_dataset`` looks.
    url : str, optional
        Another address, for example of a mirror; the content is checked all the same.
    progress : bool or object, default=False
        Passed to pooch: an object with ``total``, ``update``, ``reset`` and ``close``.
    """
    card = find_card(name)
    address = url or card.url
    if card.is_embedded or address is None:
        raise DownloadError(
            f"{card.title} is inside the package, there is nothing to download. "
            f"Use load_dataset({card.name!r})."
        )
    target = Path(folder or cache_folder()) / f"{card.name}.mat"
    if _is_there(target, card):
        return target
    content = _download(address, target.parent, card, progress)
    with written_atomically(target) as temporary:
        temporary.write_bytes(content)
    return target


def _is_there(target: Path, card: DatasetCard) -> bool:
    if not target.is_file():
        return False
    try:
        check_fingerprint(target.read_bytes(), card.hash, target, "")
    except HashMismatchError:
        return False
    return True


def _download(address: str, folder: Path, card: DatasetCard, progress: Any) -> bytes:
    """Return the content of the dataset's file; nothing else of the download is kept."""
    by_hand = f"Try another address, or get the file by hand from {card.source}."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A folder of its own: two downloads at once do not meet, and a killed one is not taken up.
        with tempfile.TemporaryDirectory(prefix=f".{card.name}-", dir=folder) as workspace:
            archive = _retrieve(address, Path(workspace), progress)
            content = extract_mat(archive, card)
    except DownloadError:
        raise
    except (OSError, ValueError) as error:
        raise DownloadError(f"{address} could not be downloaded: {error}. {by_hand}") from error
    try:
        check_fingerprint(content, card.hash, address, f"Nothing was kept. {by_hand}")
    except HashMismatchError as error:
        raise DownloadError(str(error)) from error
    return content


def _retrieve(address: str, folder: Path, progress: Any) -> Path:
    import pooch  # slow to import

    # pooch would print the archive's hash as an advice to users: the file inside is what counts.
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        path = pooch.retrieve(
            address, known_hash=None, path=folder, fname="archive", progressbar=progress
        )
    finally:
        logger.setLevel(level)
    return Path(path)
