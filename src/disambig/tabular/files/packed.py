"""Files packed by gzip, bzip2, xz, zip or Zstandard: unpacked within limits, and packed again."""

import bz2
import errno
import gzip
import importlib
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from disambig._core.errors import TableError, import_extra
from disambig._core.messages import join_names, quote_value

# What each is called, and the bytes that it begins with.
_KINDS = {
    ".gz": ("gzip", b"\x1f\x8b"),
    ".bz2": ("bzip2", b"BZh"),
    ".xz": ("xz", b"\xfd7zXZ\0"),
    ".zip": ("zip", b"PK\x03\x04"),
    ".zst": ("Zstandard", b"\x28\xb5\x2f\xfd"),
}
PACKED_SUFFIXES = tuple(_KINDS)
# bzip2 begins like text, but goes on with the digits of pi.
_BEGINNINGS = {
    suffix: beginning for suffix, (_, beginning) in _KINDS.items() if suffix != ".bz2"
} | {".bz2": b"1AY&SY"}
# The same bytes for the same table, whenever it is written.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_GZIP_LEVEL = 6  # packs nearly as small as 9, in a third of the time
# What libraries raise at damaged files, besides OSError.
_DAMAGED = (
    EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError, NotImplementedError,
    ValueError,
)  # fmt: skip


def packing_of(path: str | os.PathLike[str]) -> str | None:
    """Return the suffix of a path that says how the file is packed, in lower case; None if none."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in _KINDS else None


def without_packing(path: str | os.PathLike[str]) -> Path:
    """Return a path without the suffix that says how the file is packed, if it has one."""
    path = Path(path)
    return path.with_suffix("") if packing_of(path) else path


def begins_like_packed(start: bytes) -> str | None:
    """Return the suffix of the files that begin with some bytes, if packed files do."""
    for suffix, beginning in _BEGINNINGS.items():
        if start.startswith(beginning, 4 if suffix == ".bz2" else 0):
            return suffix
    return None


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Give a stream of what is packed in a file, and the name that this had."""
    suffix = packing_of(path)
    assert suffix is not None
    kind, beginning = _KINDS[suffix]
    with path.open("rb") as file:
        start = file.read(16)
        if not start.startswith(beginning):
            raise TableError(_wrong_name(path, suffix, start))
        file.seek(0)
        try:
            if suffix == ".zip":
                with zipfile.ZipFile(file) as archive:
                    member = _only_member(archive, path)
                    with archive.open(member) as stream:
                        yield cast(BinaryIO, stream), PurePosixPath(member.filename).name
            else:
                with _unpacking(suffix, file) as stream:
                    yield stream, without_packing(path).name
        except TableError:
            raise
        except (OSError, *_DAMAGED) as error:
            # A place before the beginning of a file is one that a damaged archive names.
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise  # of the disk
            raise TableError(
                f"{path} is damaged: it cannot be unpacked by {kind} ({error}). Copy or pack it "
                "again."
            ) from error


@contextmanager
def pack(suffix: str, stream: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Give a stream into which the content of a file is written; ``name`` is its name in a zip."""
    if suffix == ".zip":
        with (
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(_member(name), "w", force_zip64=True) as member,
        ):
            yield cast(BinaryIO, member)
        return
    with _packing(suffix, stream) as packed:
        yield packed


def check_can_pack(suffix: str) -> None:
    """Refuse a kind of packing that takes a library which is not installed."""
    if suffix == ".zst":
        _zstandard()


def _unpacking(suffix: str, file: BinaryIO) -> Any:
    match suffix:
        case ".gz":
            return gzip.GzipFile(fileobj=file)
        case ".bz2":
            return bz2.BZ2File(file)
        case ".xz":
            return lzma.LZMAFile(file)
    library = _zstandard()
    if hasattr(library, "ZstdFile"):
        return library.ZstdFile(file)
    return library.CompressedInputStream(library.PythonFile(file, "r"), "zstd")


def _packing(suffix: str, stream: BinaryIO) -> Any:
    match suffix:
        case ".gz":
            return gzip.GzipFile("", "wb", _GZIP_LEVEL, stream, mtime=0)
        case ".bz2":
            return bz2.BZ2File(stream, "wb")
        case ".xz":
            return lzma.LZMAFile(stream, "wb")
    library = _zstandard()
    if hasattr(library, "ZstdFile"):
        return library.ZstdFile(stream, "wb")
    return library.CompressedOutputStream(library.PythonFile(stream, "w"), "zstd")


def _zstandard() -> Any:
    """Return a library for Zstandard: Python's own, since 3.14, or pyarrow."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return import_extra("pyarrow", extra="parquet")


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _NO_TIME)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16  # a file that its owner may write, and everybody read
    return member


def _only_member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """Return the one file in an archive, besides what a Mac adds."""
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir()
        and not member.filename.startswith("__MACOSX/")
        and not PurePosixPath(member.filename).name.startswith("._")
        and PurePosixPath(member.filename).name != ".DS_Store"
    ]
    if len(members) != 1:
        names = join_names(quote_value(member.filename) for member in members)
        raise TableError(
            f"A .zip with a table needs to hold one file. {path} holds {len(members):,}"
            f"{': ' if names else ''}{names}. Unpack it, and give the path of the table."
        )
    (member,) = members
    if member.flag_bits & 1:
        raise TableError(f"{path} is protected by a password. Unpack it first.")
    return member


def _wrong_name(path: Path, suffix: str, start: bytes) -> str:
    kind = _KINDS[suffix][0]
    other = begins_like_packed(start)
    if other is not None:
        return (
            f"{path} is packed by {_KINDS[other][0]}, and not by {kind} as its name says. Rename "
            f"it to {without_packing(path).name}{other}."
        )
    return (
        f"{path} is not packed by {kind}, as its name says. If it is not packed at all, rename it "
        f"to {without_packing(path).name}; else copy it again."
    )
