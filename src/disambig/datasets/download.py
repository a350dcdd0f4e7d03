"""Find dataset files on this machine, or fetch them."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from disambig._core.cache_folder import cache_folder
from disambig._core.errors import (
    DatasetNotFoundError,
    DownloadError,
    HashMismatchError,
    ParameterError,
)
from disambig._core.files import errors_about, make_folder, write_atomically
from disambig._core.fingerprint import check_file_digest, has_digest
from disambig._core.messages import option
from disambig._core.temporaries import temporary_beside
from disambig.datasets.archive import check_unpacker, extract_mat, largest_file
from disambig.datasets.card import DatasetCard, find_card
from disambig.datasets.http_download import download_file

DATA_VARIABLE = "DISAMBIG_DATA"
_LARGEST_DOWNLOAD = 100 * 10**6
# An archive that was packed again may be a little larger.
_SPARE = 10**6


def find_file(card: DatasetCard, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the ``.mat`` file of a dataset, under whichever of its usual names.

    Looks in ``folder`` if one is given, else in the folder named by ``DISAMBIG_DATA``, else among
    the downloads. Case, spaces and punctuation of the file name do not matter.
    """
    looked_in = []
    for searched in [Path(folder)] if folder is not None else _usual_folders():
        looked_in.append(str(searched))
        files = [path for path in sorted(searched.glob("[!.]*.[mM][aA][tT]")) if path.is_file()]
        named = [path for path in files if card.is_called(path.stem)]
        if named:
            return _prefer_known(named, card)
    raise DatasetNotFoundError(
        f"{card.title} needs its file, {card.name}.mat or a usual spelling of it. "
        f"Found none in {' or '.join(looked_in)}. Get it by 'disambig fetch {card.name}', or from "
        f"{card.source}, and set {DATA_VARIABLE} to the folder that holds it. "
        f"Licence: {card.licence}"
    )


def _usual_folders() -> Iterator[Path]:
    if named := os.environ.get(DATA_VARIABLE):
        yield Path(named).expanduser()
    yield cache_folder()


def _prefer_known(paths: list[Path], card: DatasetCard) -> Path:
    """Return the file that the card describes, of several spellings in one folder, or the first."""
    if len(paths) > 1:
        for path in paths:
            if has_digest(path.read_bytes(), card.hash):
                return path
    return paths[0]


def fetch_dataset(
    dataset: str | DatasetCard,
    *,
    folder: str | os.PathLike[str] | None = None,
    url: str | None = None,
    progress: Any = None,
) -> Path:
    """Download a dataset and return the path of its file, unless it is already there.

    The data belongs to its authors and is for academic purposes only: read ``card.licence``.
    Downloading needs the extra ``fetch``: ``pip install 'disambig[fetch]'``.

    Parameters
    ----------
    dataset : str or DatasetCard
        Name, or card, of a real-world dataset.
    folder : path, optional
        Folder for the file. A different file of the same name there is refused and left
        unchanged. By default the cache, where ``load_dataset`` looks and where a damaged file is
        replaced.
    url : str, optional
        Another address, such as a mirror; the content is checked all the same. By default the
        addresses of the card, one after the other.
    progress : object, optional
        A progress bar. For every address that is tried, ``reset`` is called, ``total`` is set (0
        if the server does not say), and ``update`` is called with the number of new bytes.

    See Also
    --------
    load_dataset : Reads what was downloaded.
    list_datasets : All cards; those with ``urls`` can be downloaded.

    Examples
    --------
    >>> from disambig.datasets import fetch_dataset, list_datasets
    >>> [card.name for card in list_datasets() if card.urls]
    ['birdsong', 'lost', 'msrcv2', 'soccer_player', 'yahoo_news']
    >>> path = fetch_dataset("lost")  # doctest: +SKIP
    """
    card = find_card(dataset) if isinstance(dataset, str) else dataset
    check_downloadable(card)
    target = Path(folder or cache_folder()) / f"{card.name}.mat"
    if target.is_file() and has_digest(target.read_bytes(), card.hash):
        return target
    if folder is not None and os.path.lexists(target):  # the cache is ours
        raise ParameterError(
            f"{target} already exists, and is not the known file of {card.title}. It was "
            "left unchanged: move it away, or choose another folder."
        )
    addresses = card.urls if url is None else (url,)
    for address in addresses:
        check_unpacker(address, card)  # or the download would be for nothing
    try:
        make_folder(target.parent)
    except OSError as error:
        raise DownloadError(
            f"The folder {target.parent} cannot be used: {error}. Choose another."
        ) from error
    most_bytes = _most_bytes(card, is_known=url is None)
    content = _download_first(addresses, target, card, most_bytes, progress)
    with write_atomically(target) as temporary:
        temporary.write_bytes(content)
    return target


def check_downloadable(card: DatasetCard) -> None:
    """Refuse a dataset that is inside the package."""
    if card.is_embedded:
        raise ParameterError(
            f"{card.title} is part of the package and cannot be downloaded. "
            f"Use load_dataset({card.name!r})."
        )


def _most_bytes(card: DatasetCard, *, is_known: bool) -> int:
    """Return how much may be downloaded: little more than the archive has, where that is known."""
    if is_known and card.archive_size is not None:
        return card.archive_size + _SPARE
    # An archive at another address may hold other files too.
    return max(_LARGEST_DOWNLOAD, largest_file(card))


def _download_first(
    addresses: Iterable[str], target: Path, card: DatasetCard, most_bytes: int, progress: Any
) -> bytes:
    """Return the content of the dataset's file, from the first address that has it."""
    failures = []
    for address in addresses:
        # A file of its own: downloads that run at once do not meet, and none is resumed.
        with temporary_beside(target) as archive, errors_about(target, archive):
            try:
                download_file(address, archive, most_bytes=most_bytes, progress=progress)
                content = extract_mat(archive, card)
                check_file_digest(content, card.hash, "What came", "Nothing was kept.")
            except (DownloadError, HashMismatchError) as error:
                failures.append(f"{address}: {str(error).rstrip('.')}.")
            else:
                return content
    raise DownloadError(
        "\n".join(
            (
                f"{card.title} could not be downloaded.",
                *failures,
                f"Try another address: {option('url')}. Or get the file by hand from "
                f"{card.source}, and set {DATA_VARIABLE} to the folder that holds it.",
            )
        )
    )
