"""Find the file of a real-world dataset on this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

from disambig._core.errors import DatasetNotFoundError
from disambig.datasets.card import DatasetCard
from disambig.datasets.fingerprint import is_known

__all__ = ["DATA_VARIABLE", "cache_folder", "find_file"]

DATA_VARIABLE = "DISAMBIG_DATA"


def cache_folder() -> Path:
    """Return the folder that downloads are kept in."""
    import pooch  # slow to import, and not needed where the data is at hand

    return Path(pooch.os_cache("disambig"))


def find_file(card: DatasetCard, folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the ``.mat`` file of a dataset, under whichever of its usual names.

    Looks in ``folder`` if one is given, else in the folder named by ``DISAMBIG_DATA``, else among
    the downloads. Case, spaces and punctuation of the file name do not matter.
    """
    looked_in = []
    for place in [Path(folder)] if folder is not None else _usual_folders():
        looked_in.append(str(place))
        files = [path for path in sorted(place.glob("[!.]*.[mM][aA][tT]")) if path.is_file()]
        named = [path for path in files if card.is_called(path.stem)]
        if named:
            return _the_known_one(named, card)
    raise DatasetNotFoundError(
        f"{card.title} needs its file, {card.name}.mat or a usual spelling of it. "
        f"Found none in {' or '.join(looked_in)}. Get it by 'disambig fetch {card.name}', or from "
        f"{card.source}, and set {DATA_VARIABLE} to the folder that holds it. "
        f"Licence: {card.licence}"
    )


def _usual_folders() -> Iterator[Path]:
    named = os.environ.get(DATA_VARIABLE)
    if named:
        yield Path(named).expanduser()
    yield cache_folder()  # not asked for where the file is in the first one


def _the_known_one(paths: list[Path], card: DatasetCard) -> Path:
    """Of several spellings in one folder, prefer the file that the card describes."""
    if len(paths) > 1:
        for path in paths:
            if is_known(path.read_bytes(), card.hash):
                return path
    return paths[0]
