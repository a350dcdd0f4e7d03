"""Matrices of numbers in MATLAB files, every claim of the file checked first.

A file of version 5 to 7.2 is a header and variables. Whatever it holds is an element: a type, a
length, and that many bytes. A variable is an element of elements, flags, shape, name and numbers,
and may be compressed as a whole. Version 4 is the matrices themselves, one after the other.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from disambig._core.errors import CandidateError
from disambig._core.typing import AnyArray, Sparse
from disambig.candidates.storage import check_indices
from disambig.tabular.files.mat_bytes import BytesLeft, InflatedBytes, MatFileError

_HEADER = 128  # bytes
_VARIABLE, _COMPRESSED = 14, 15
_INTEGERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 12: "i8", 13: "u8"}
_NUMBERS = _INTEGERS | {7: "f4", 9: "f8"}
_CHARACTERS = {1: "i1", 2: "u1", 16: "u1"}
_WORDS = {5: "i4", 6: "u4"}
_SPARSE, _OPAQUE = 5, 17
_KINDS = {1: "a cell array", 2: "a struct", 3: "an object", 4: "text", _SPARSE: "sparse numbers"}
_KINDS |= dict.fromkeys(range(6, 16), "numbers")
_COMPLEX_BIT = 1 << 11
_MOST_DIMENSIONS = 32
_LONGEST_NAME = 4096

_VERSION_4_NUMBERS = ("f8", "f4", "i4", "i2", "u2", "u1")
_VERSION_4_KINDS = ("numbers", "text", "sparse numbers")


class NewerMatFileError(Exception):
    """A file of version 7.3, which is HDF5 and not read here."""


@dataclass(frozen=True)
class Variable:
    """A variable as its head describes it; its numbers have not been read.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        "numbers" and "sparse numbers" can be read; else what it is instead, such as "a struct".
    shape : tuple of int
        Its shape.
    nbytes : int
        The bytes that it takes once it is not compressed.
    read : callable
        Takes the stream of the file; returns an array, or for sparse numbers a sparse one.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    nbytes: int
    read: Callable[[BinaryIO], Any]


def find_variables(stream: BinaryIO, size: int) -> Iterator[Variable]:
    """Find the variables of a file of ``size`` bytes, and expand none.

    Raises NewerMatFileError for a file of version 7.3, which is another format.
    """
    header = stream.read(_HEADER)
    if len(header) >= 20 and 0 in header[:4] and any(header[:20]):
        yield from _find_version_4(stream, size)
        return
    order = {b"IM": "<", b"MI": ">"}.get(header[126:])
    if order is None:
        raise MatFileError("it does not begin like one")
    version = struct.unpack(f"{order}H", header[124:126])[0] >> 8
    if version == 2:
        raise NewerMatFileError
    if version != 1:
        raise MatFileError(f"there is no version {version}")
    position = _HEADER
    while position < size:
        body, end = _open_variable(stream, position, size, order)
        nbytes = body.left
        name, kind, shape = _read_head(body, order)
        if name:
            read = partial(_read_variable, start=position, size=size, order=order)
            yield Variable(name, kind, shape, nbytes, read)
        position = end


def _open_variable(stream: BinaryIO, start: int, size: int, order: str) -> tuple[BytesLeft, int]:
    """Return the bytes of the variable at some place, and where the next one begins."""
    stream.seek(start)
    kind, length = struct.unpack(f"{order}II", BytesLeft(stream, size - start).take(8).data)
    end = start + 8 + length
    if end > size:
        raise MatFileError("it ends too early")
    body = BytesLeft(stream, length)
    if kind == _COMPRESSED:
        body = InflatedBytes(stream, length)
        kind, length = struct.unpack(f"{order}II", body.take(8).data)
        if length > body.left:
            raise MatFileError("something compressed in it claims to hold more than it can")
        body.left = length
    if kind != _VARIABLE:
        raise MatFileError(f"it has an element of type {kind} where a variable is needed")
    return body, end


def _read_head(body: BytesLeft, order: str) -> tuple[str, str, tuple[int, ...]]:
    """Read name, kind and shape of a variable; what it holds comes next."""
    flags = _read_element(body, order, _WORDS, longest=8)
    if len(flags) != 2:
        raise MatFileError("a variable in it has no flags")
    number = int(flags[0]) & 0xFF
    if number == _OPAQUE:  # an object of which MATLAB does not say how it is kept
        return "", "an object", ()
    shape = tuple(_read_element(body, order, _WORDS, longest=4 * _MOST_DIMENSIONS).tolist())
    if len(shape) < 2 or min(shape) < 0:
        raise MatFileError(f"a variable in it has the shape {shape}")
    name = _read_element(body, order, _CHARACTERS, longest=_LONGEST_NAME)
    kind = _KINDS.get(number, "neither numbers nor text")
    if int(flags[0]) & _COMPLEX_BIT and kind.endswith("numbers"):
        kind = "complex numbers"
    return name.tobytes().decode("latin-1"), kind, shape


def _read_variable(stream: BinaryIO, start: int, size: int, order: str) -> Any:
    body, _ = _open_variable(stream, start, size, order)
    _, kind, shape = _read_head(body, order)
    if kind == "numbers":
        matrix: Any = _in_shape(_read_element(body, order, _NUMBERS), shape)
    else:
        rows, ends = (_read_element(body, order, _INTEGERS) for _ in range(2))
        matrix = _sparse_matrix(_read_element(body, order, _NUMBERS), rows, ends, shape)
    body.check_end()
    return matrix


def _read_element(
    body: BytesLeft, order: str, types: Mapping[int, str], longest: int | None = None
) -> AnyArray:
    """Read an element as an array in the byte order of this machine."""
    tag = body.take(8)
    kind, length = struct.unpack(f"{order}II", tag.data)
    is_small = kind > 0xFFFF  # so small that its bytes are inside the tag
    if is_small:
        kind, length = kind & 0xFFFF, kind >> 16
    if kind not in types:
        raise MatFileError(f"it has an element of type {kind} where it cannot be")
    dtype = np.dtype(order + types[kind])
    if length % dtype.itemsize or length > (4 if is_small else longest or length):
        raise MatFileError(f"it has an element of type {kind} and {length:,} bytes")
    raw = tag[4 : 4 + length] if is_small else body.take(length)
    if not is_small:
        body.take(min(-length % 8, body.left))  # elements begin at multiples of eight bytes
    return raw.view(dtype).astype(dtype.newbyteorder("="), copy=False)


def _in_shape(values: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    if len(values) != prod(shape):
        raise MatFileError(f"it has {len(values):,} numbers for a matrix of the shape {shape}")
    return values.reshape(shape, order="F")


def _sparse_matrix(
    values: AnyArray, rows: AnyArray, ends: AnyArray, shape: tuple[int, ...]
) -> Sparse:
    """Return a CSC array; ``rows`` and ``values`` may have room for more than is used."""
    if len(shape) != 2:
        raise MatFileError(f"it has a sparse matrix of the shape {shape}")
    try:
        check_indices(values, rows, ends, (shape[1], shape[0]))
    except CandidateError as error:
        raise MatFileError(str(error).removesuffix(".")) from error
    used = int(ends[-1])
    return sparse.csc_array((values[:used], rows[:used], ends), shape=shape)


def _find_version_4(stream: BinaryIO, size: int) -> Iterator[Variable]:
    position, order = 0, "<"
    while position < size:
        stream.seek(position)
        body = BytesLeft(stream, size - position)
        words = body.take(20)
        if position == 0 and not 0 <= struct.unpack("<i", words[:4].data)[0] < 1000:
            order = ">"
        code, n_rows, n_columns, is_complex, name_length = struct.unpack(f"{order}5i", words.data)
        # The digits of the code are byte order, zero, type of the numbers, kind of matrix.
        number_type, kind_code = divmod(code - 1000 * (order == ">"), 10)
        if not (0 <= number_type < 6 and kind_code < 3 and is_complex in (0, 1)):
            raise MatFileError(f"it has a variable of type {code}")
        if min(n_rows, n_columns, name_length) < 0 or name_length > _LONGEST_NAME:
            raise MatFileError(f"it has a matrix of the shape {(n_rows, n_columns)}")
        name = body.take(name_length).tobytes().strip(b"\0").decode("latin-1")
        start, shape = size - body.left, (n_rows, n_columns)
        dtype = np.dtype(order + _VERSION_4_NUMBERS[number_type])
        nbytes = prod(shape) * dtype.itemsize
        position = start + nbytes * (1 + is_complex)
        if position > size:
            raise MatFileError("it ends too early")
        kind = _VERSION_4_KINDS[kind_code]
        if is_complex or (kind == "sparse numbers" and n_columns == 4):
            kind = "complex numbers"
        read: Callable[[BinaryIO], Any]
        read = partial(_read_version_4, start=start, shape=shape, dtype=dtype)
        if kind == "sparse numbers":
            # A matrix with a row for every value, and the shape in the last one.
            shape, read = _shape_of_triples(read(stream)), partial(_read_triples, read=read)
        yield Variable(name, kind, shape, nbytes, read)


def _read_version_4(
    stream: BinaryIO, start: int, shape: tuple[int, int], dtype: np.dtype[Any]
) -> AnyArray:
    stream.seek(start)
    count = prod(shape) * dtype.itemsize
    raw = BytesLeft(stream, count).take(count)
    return _in_shape(raw.view(dtype).astype(dtype.newbyteorder("="), copy=False), shape)


def _shape_of_triples(triples: AnyArray) -> tuple[int, int]:
    if triples.shape[1] != 3 or not len(triples):
        raise MatFileError(f"it has a sparse matrix kept in the shape {triples.shape}")
    n_rows, n_columns = triples[-1, :2].tolist()
    for count in (n_rows, n_columns):
        if not 0 <= count < 2**31:  # nor is it infinite, or not a number
            raise MatFileError(f"it has a sparse matrix of the shape {(n_rows, n_columns)}")
    return int(n_rows), int(n_columns)


def _read_triples(stream: BinaryIO, read: Callable[[BinaryIO], AnyArray]) -> Sparse:
    """Return a COO array from rows, columns (counted from one) and values."""
    triples = read(stream)
    shape = _shape_of_triples(triples)
    places = triples[:-1, :2] - 1.0
    if not ((places >= 0) & (places < shape)).all():
        raise MatFileError("it has a sparse matrix with values outside of its shape")
    rows, columns = places.astype(np.int64).T
    return sparse.coo_array((triples[:-1, 2], (rows, columns)), shape=shape)
