"""Download a real-world dataset: to the cache, unpacked and checked."""

import logging
import os
import tempfile
from pathlib import Path
from typing import Any

from disambig._core.errors import DownloadError, HashMismatchError, ParameterError
from disambig._core.files import written_atomically
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.fingerprint import check_fingerprint, is_known
from disambig.datasets.locate import cache_folder
from disambig.datasets.unpack import extract_mat

__all__ = ["card_address", "fetch_dataset"]


def fetch_dataset(
    dataset: str | DatasetCard,
    *,
    folder: str | os.PathLike[str] | None = None,
    url: str | None = None,
    progress: Any = None,
) -> Path:
    """Download a dataset and return the path of its file; do nothing if it is there already.

    The data is its authors' and for academic purposes only: read ``card.licence``.

    Parameters
    ----------
    dataset : str or DatasetCard
        Name, or card, of a real-world dataset.
    folder : path, optional
        Where to put the file. By default the cache, where ``load_dataset`` looks.
    url : str, optional
        Another address, for example of a mirror; the content is checked all the same.
    progress : object, optional
        Told about the download: its ``total`` is set, then ``update``, ``reset`` and ``close``
        are called, as pooch does.
    """
    card = find_card(dataset) if isinstance(dataset, str) else dataset
    known_address = card_address(card)
    target = Path(folder or cache_folder()) / f"{card.name}.mat"
    if target.is_file() and is_known(target.read_bytes(), card.hash):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"The folder {target.parent} cannot be used: {error}. Choose another."
        ) from error
    content = _download(url or known_address, target.parent, card, progress)
    with written_atomically(target) as temporary:
        temporary.write_bytes(content)
    return target


def card_address(card: DatasetCard) -> str:
    """Return where a dataset can be downloaded; refuse one that is inside the package."""
    if card.url is None:
        raise ParameterError(
            f"{card.title} is inside the package, there is nothing to download. "
            f"Use load_dataset({card.name!r})."
        )
    return card.url


def _download(address: str, folder: Path, card: DatasetCard, progress: Any) -> bytes:
    """Return the content of the dataset's file; nothing else of the download is kept."""
    by_hand = f"Try another address, or get the file by hand from {card.source}."
    # A folder of its own: two downloads at once do not meet, and a killed one is not taken up.
    with tempfile.TemporaryDirectory(prefix=f".{card.name}-", dir=folder) as workspace:
        try:
            archive = _retrieve(address, Path(workspace), progress)
        except (OSError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise DownloadError(
                f"{address} could not be downloaded: {reason}. {by_hand}"
            ) from error
        content = extract_mat(archive, card)
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
            address, known_hash=None, path=folder, fname="archive", progressbar=progress or False
        )
    finally:
        logger.setLevel(level)
    return Path(path)
