"""Arrays in NumPy archives: their headers first, and their values only if asked for."""

import io
from dataclasses import dataclass
from math import prod
from typing import Any, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy_format

from disambig._core.typing import AnyArray

_SUFFIX = ".npy"
_LONGEST_HEADER = 10_000  # NumPy's own limit
_LOCAL_HEADER = 30  # bytes in front of every member of a ZIP archive, at least
_READ_AT_ONCE = 1 << 20
_HEADER_READERS = {
    (1, 0): npy_format.read_array_header_1_0,
    (2, 0): npy_format.read_array_header_2_0,
}
# Booleans, numbers, text, bytes and times; no records.
_KINDS = "biufcUSmM"


class ArchiveError(Exception):
    """An archive that is damaged; says what is wrong."""


@dataclass(frozen=True)
class ArrayMember:
    """An array in an archive, as its header describes it; its values have not been read."""

    name: str
    info: ZipInfo
    start: int  # where its values begin
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    order: Literal["C", "F"]

    def read(self, archive: ZipFile) -> AnyArray:
        """Return the array."""
        flat = np.empty(prod(self.shape), dtype=self.dtype)
        raw = flat.view(np.uint8)
        filled = 0
        with archive.open(self.info) as stream:
            stream.read(self.start)
            while piece := stream.read(_READ_AT_ONCE):
                raw[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
                filled += len(piece)
        if filled != len(raw):
            raise ArchiveError(f"{self.info.filename!r} ends too early")
        # NumPy counts on it, and would write outside of what it counted.
        if flat.dtype.kind == "b" and (raw > 1).any():
            raise ArchiveError(f"{self.name!r} holds booleans that are neither True nor False")
        return flat.reshape(self.shape, order=self.order)


def find_members(archive: ZipFile) -> list[tuple[str, ZipInfo]]:
    """Return the arrays of an archive by name; refuse members that share bytes."""
    members, end = [], 0
    for info in sorted(archive.infolist(), key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise ArchiveError(f"{info.filename!r} lies inside another member")
        end = info.header_offset + _LOCAL_HEADER + info.compress_size
        if info.filename.endswith(_SUFFIX):
            members.append((info.filename.removesuffix(_SUFFIX), info))
    return members


def read_header(archive: ZipFile, name: str, info: ZipInfo) -> ArrayMember:
    """Read what an array says about itself; refuse what the archive says otherwise."""
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ArchiveError(f"{info.filename!r} is compressed in a way that NumPy does not use")
    with archive.open(info) as stream:
        beginning = io.BytesIO(stream.read(_LONGEST_HEADER))
    version = npy_format.read_magic(beginning)
    if version not in _HEADER_READERS:
        raise ArchiveError(f"{info.filename!r} has the version {version}")
    try:
        shape, columns_first, dtype = _HEADER_READERS[version](beginning)
    except (MemoryError, RecursionError) as error:  # not for lack of memory
        raise ArchiveError(f"{info.filename!r} has a header of too many parts") from error
    if dtype.hasobject:
        raise ArchiveError(f"{name!r} holds Python objects, which are never loaded")
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ArchiveError(f"{name!r} holds values of the type {dtype}")
    start = beginning.tell()
    if min(shape, default=0) < 0 or info.file_size != start + prod(shape) * dtype.itemsize:
        raise ArchiveError(f"{name!r} says it has the shape {shape}, and has another size")
    return ArrayMember(name, info, start, shape, dtype, "F" if columns_first else "C")
