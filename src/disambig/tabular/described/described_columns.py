"""Which columns hold images, and their cells as numbers, computed once."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from disambig._core.errors import TableError, warn_caller
from disambig._core.messages import option, plural, quote_value, row_name
from disambig._core.typing import AnyArray, IntArray
from disambig.tabular.described.described_cache import DescribedCache
from disambig.tabular.described.describers import (
    DescribedKind,
    Describer,
    UnreadableCellError,
)
from disambig.tabular.described.image_files import (
    is_address,
    is_file,
    is_image_path,
    read_image_file,
)
from disambig.tabular.described.text_models import as_content

# Cells, and bytes of their contents, that are described at a time.
_AT_A_TIME = 32
_MOST_BYTES = 64_000_000
_SECONDS_UNTIL_KEPT = 30.0
_MOST_NAMED = 10
# Files, to know whether a column is one of images.
_LOOKED_FOR = 20

FoundImages = Literal["files", "addresses", "missing"]
# Is told how many of how many different cells are done.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class DescribedColumns:
    """Which columns hold images, what turns them and texts into numbers, and where these are kept.

    Parameters
    ----------
    images : str or sequence of str, default=()
        Columns whose cells are paths of image files. Others are found by themselves, where most
        cells end like image files and some of these are there.
    image_model : str, optional
        What describes an image: ``"built-in"``, which needs no weights, or a pretrained network
        such as ``"torchvision:resnet18"``. By default the built-in one, and for new rows the one
        that the model was trained with.
    text_model : str, optional
        What describes a text: the folder of a model of sentence-transformers, or its name. By
        default words are counted, and new rows are described as the model was trained.
    folder : path, default="."
        Paths in the table begin here.
    cache : path, optional
        Folder to keep the numbers in, by the content of the files; it is made if it is not there.
        By default they are computed anew every time.

    See Also
    --------
    fit_table : Takes it as ``described``.

    Examples
    --------
    >>> from disambig.tabular import DescribedColumns
    >>> described = DescribedColumns(images="photo", folder="birds")
    >>> described.image_columns
    ('photo',)
    """

    images: str | Sequence[str] = ()
    image_model: str | None = None
    text_model: str | None = None
    folder: str | os.PathLike[str] = "."
    cache: str | os.PathLike[str] | None = None

    @property
    def image_columns(self) -> tuple[str, ...]:
        """The columns that were named as images."""
        return (self.images,) if isinstance(self.images, str) else tuple(self.images)

    def model_of(self, kind: DescribedKind) -> str | None:
        """Return the name of the describer that was asked for, or None."""
        return {"image": self.image_model, "text": self.text_model}[kind]

    def find_images(self, cells: Sequence[str]) -> FoundImages | None:
        """Tell what cells name that mostly end like image files; None for other cells."""
        paths = [cell for cell in cells if is_image_path(cell)]
        if 2 * len(paths) <= len(cells):
            return None
        folder = Path(self.folder)
        some = paths[:: -(-len(paths) // _LOOKED_FOR)]
        if any(is_file(folder, cell) for cell in some):
            return "files"
        return "addresses" if is_address(some[0]) else "missing"

    def numbers_of(
        self,
        column: str,
        codes: IntArray,
        cells: Sequence[str],
        kind: DescribedKind,
        describer: Describer,
        progress: Progress,
    ) -> AnyArray:
        """Return the numbers of every row of a column, NaN where nothing is or can be read.

        ``codes`` says for every row which of the different ``cells`` it has, -1 for none. What
        cannot be read is warned of by name; a column of which half cannot be read is refused.
        """
        read = partial(read_image_file, Path(self.folder)) if kind == "image" else as_content
        cache = None if self.cache is None else DescribedCache(self.cache, describer)
        numbers, faults = _describe(cells, read, describer, cache, progress)
        if faults:
            unreadable = np.zeros(len(cells) + 1, dtype=bool)
            unreadable[list(faults)] = True
            message = _unreadable_message(column, codes, cells, faults, kind)
            if unreadable[codes].sum() * 2 > (codes >= 0).sum():
                raise TableError(f"{message} {_ADVICE[kind]}")
            warn_caller(f"{message} They count as gaps.")
        return np.vstack([numbers, np.full((1, describer.width), np.nan, np.float32)])[codes]


_ADVICE: dict[DescribedKind, str] = {
    "image": "Paths begin in the folder of the table. Check them; otherwise leave these cells "
    f"empty, or train without the column: {option('ignore')}.",
    "text": f"Leave these cells empty, or train without the column: {option('ignore')}.",
}


def _describe(
    cells: Sequence[str],
    read: Callable[[str], bytes],
    describer: Describer,
    cache: DescribedCache | None,
    progress: Progress,
) -> tuple[AnyArray, dict[int, str]]:
    """Return the numbers of every cell, and why some, by their places, cannot be read."""
    numbers = np.full((len(cells), describer.width), np.nan, dtype=np.float32)
    faults: dict[int, str] = {}
    known = {} if cache is None else cache.load()
    new: dict[bytes, AnyArray] = {}
    kept_at = time.monotonic()
    try:
        for some in _read_some(cells, read):
            keys: dict[int, bytes] = {}
            contents: dict[bytes, bytes] = {}
            for place, content in some:
                if isinstance(content, str):
                    faults[place] = content
                    continue
                keys[place] = sha256(content).digest()
                if keys[place] not in known:
                    contents[keys[place]] = content
            said = dict(zip(contents, describer.describe(list(contents.values())), strict=True))
            readable = {key: one for key, one in said.items() if not isinstance(one, str)}
            known.update(readable)
            new.update(readable)
            for place, key in keys.items():
                if key in known:
                    numbers[place] = known[key]
                else:
                    faults[place] = str(said[key])
            progress(some[-1][0] + 1, len(cells))
            if cache is not None and time.monotonic() > kept_at + _SECONDS_UNTIL_KEPT:
                cache.keep(new)
                new, kept_at = {}, time.monotonic()
    finally:  # of an interrupted run, too
        if cache is not None:
            cache.keep(new)
    return numbers, faults


def _read_some(
    cells: Sequence[str], read: Callable[[str], bytes]
) -> Iterator[list[tuple[int, bytes | str]]]:
    """Yield the places and contents of some cells at a time; a string says why there is none."""
    some: list[tuple[int, bytes | str]] = []
    size = 0
    for place, cell in enumerate(cells):
        try:
            content: bytes | str = read(cell)
        except UnreadableCellError as error:
            content = str(error)
        some.append((place, content))
        size += len(content)
        if len(some) == _AT_A_TIME or size > _MOST_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _unreadable_message(
    column: str,
    codes: IntArray,
    cells: Sequence[str],
    faults: dict[int, str],
    kind: DescribedKind,
) -> str:
    """Name the cells that cannot be read, each with its first row and the reason."""
    first_row = dict(zip(codes[::-1].tolist(), range(len(codes) - 1, -1, -1), strict=True))
    shown = "; ".join(
        f"{quote_value(cells[place])} ({row_name(first_row[place])}) {faults[place]}"
        for place in sorted(faults, key=first_row.__getitem__)[:_MOST_NAMED]
    )
    more = len(faults) - _MOST_NAMED
    return (
        f"{len(faults):,} of {plural(len(cells), kind)} of column {column!r} cannot be read: "
        f"{shown}{f'; and {more:,} more' if more > 0 else ''}."
    )
