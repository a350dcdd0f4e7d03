"""Find dataset files on this machine, or fetch and unpack them."""

import logging
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from disambig._core.errors import (
    DatasetNotFoundError,
    DownloadError,
    HashMismatchError,
    ParameterError,
    import_extra,
)
from disambig._core.files import write_atomically
from disambig._core.fingerprint import check_file_digest, has_digest
from disambig.datasets.card import DatasetCard, find_card

DATA_VARIABLE = "DISAMBIG_DATA"
_LARGEST_FILE = 2**30


def cache_folder() -> Path:
    """Return the folder that downloads are kept in."""
    from platformdirs import user_cache_dir  # not needed where the data is at hand

    return Path(user_cache_dir("disambig"))


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


def extract_mat(archive: Path, card: DatasetCard) -> bytes:
    """Return the content of the dataset's ``.mat`` file.

    Only that member is read, into memory, so that no path in the archive is ever written to.
    """
    rarfile = import_extra("rarfile", extra="fetch")
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
    # The parsers and decompressors raise all kinds of errors on damaged archives.
    except Exception as error:
        raise DownloadError(
            f"The archive of {card.title} could not be unpacked: {error}."
        ) from error


def _choose(members: list[Any], card: DatasetCard) -> Any:
    files = [member for member in members if _is_mat(PurePosixPath(member.filename))]
    named = [member for member in files if card.is_called(PurePosixPath(member.filename).stem)]
    # The only .mat file of an archive may have any name.
    choice = next((choice[0] for choice in (named, files) if len(choice) == 1), None)
    if choice is None:
        held = ", ".join(member.filename for member in members) or "nothing"
        raise DownloadError(
            f"The archive of {card.title} should hold one file {card.name}.mat. It holds {held}."
        )
    if choice.file_size > _LARGEST_FILE:
        raise DownloadError(
            f"{choice.filename} in the archive of {card.title} would unpack to "
            f"{choice.file_size:,} bytes. At most {_LARGEST_FILE:,} are allowed."
        )
    return choice


def _is_mat(path: PurePosixPath) -> bool:
    # Hidden files are what macOS adds beside every other.
    return path.suffix.lower() == ".mat" and not path.name.startswith("._")


def fetch_dataset(
    dataset: str | DatasetCard,
    *,
    folder: str | os.PathLike[str] | None = None,
    url: str | None = None,
    progress: Any = None,
) -> Path:
    """Download a dataset and return the path of its file; do nothing if it is there already.

    The data belongs to its authors and is for academic purposes only: read ``card.licence``.
    Downloading needs the extra ``fetch``: ``pip install 'disambig[fetch]'``.

    Parameters
    ----------
    dataset : str or DatasetCard
        Name, or card, of a real-world dataset.
    folder : path, optional
        Where to put the file. By default the cache, where ``load_dataset`` looks.
    url : str, optional
        Another address, for example of a mirror; the content is checked all the same.
    progress : object, optional
        A progress bar as pooch takes it: its ``total`` is set, then ``update``, ``reset`` and
        ``close`` are called.
    """
    card = find_card(dataset) if isinstance(dataset, str) else dataset
    known_address = card_address(card)
    target = Path(folder or cache_folder()) / f"{card.name}.mat"
    if target.is_file() and has_digest(target.read_bytes(), card.hash):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(
            f"The folder {target.parent} cannot be used: {error}. Choose another."
        ) from error
    content = _download(url or known_address, target.parent, card, progress)
    with write_atomically(target) as temporary:
        temporary.write_bytes(content)
    return target


def card_address(card: DatasetCard) -> str:
    """Return where a dataset can be downloaded; refuse one that is inside the package."""
    if card.url is None:
        raise ParameterError(
            f"{card.title} is part of the package and cannot be downloaded. "
            f"Use load_dataset({card.name!r})."
        )
    return card.url


def _download(address: str, folder: Path, card: DatasetCard, progress: Any) -> bytes:
    """Return the content of the dataset's file; the rest of the download is not kept."""
    by_hand = f"Try another address, or get the file by hand from {card.source}."
    # In a temporary folder: downloads that run at once do not meet, and none is resumed.
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
        check_file_digest(content, card.hash, address, f"Nothing was kept. {by_hand}")
    except HashMismatchError as error:
        raise DownloadError(str(error)) from error
    return content


def _retrieve(address: str, folder: Path, progress: Any) -> Path:
    pooch = import_extra("pooch", extra="fetch")
    import_extra("rarfile", extra="fetch")  # or the download would be for nothing
    # pooch would advise users to note the archive's hash, but the file inside is what counts.
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
