"""Files of MATLAB 5 made piece by piece, so that any piece of them can be wrong."""

import struct
import zlib
from typing import Any

import numpy as np

TYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}
DOUBLE, SPARSE, UINT8 = 6, 5, 9


def element(kind: int, content: bytes, order: str = "<", *, length: int | None = None) -> bytes:
    """Return an element of a type; its tag may claim another length."""
    claimed = len(content) if length is None else length
    return struct.pack(f"{order}II", kind, claimed) + content + bytes(-len(content) % 8)


def small_element(kind: int, content: bytes, order: str = "<") -> bytes:
    """Return an element whose bytes, four at most, are in its tag."""
    return struct.pack(f"{order}I", len(content) << 16 | kind) + content.ljust(4, b"\0")


def numbers(values: Any, dtype: str, order: str = "<", *, small: bool = False) -> bytes:
    """Return an element of numbers."""
    content = np.asarray(values).ravel(order="F").astype(order + dtype).tobytes()
    return (small_element if small else element)(TYPES[dtype], content, order)


def variable(
    name: str,
    shape: tuple[int, ...],
    *contents: bytes,
    number_class: int = DOUBLE,
    flags: int = 0,
    order: str = "<",
    compressed: bool = False,
    small: bool = False,
) -> bytes:
    """Return a variable that holds some elements."""
    as_element = small_element if small and len(name) <= 4 else element
    parts = [
        element(6, struct.pack(f"{order}II", flags << 8 | number_class, 0), order),
        element(5, struct.pack(f"{order}{len(shape)}i", *shape), order),
        as_element(1, name.encode("latin-1"), order),
        *contents,
    ]
    whole = element(14, b"".join(parts), order)
    return compress(whole, order) if compressed else whole


def compress(content: bytes, order: str = "<") -> bytes:
    """Return an element that holds something compressed; only these are not padded."""
    packed = zlib.compress(content)
    return struct.pack(f"{order}II", 15, len(packed)) + packed


def matrix(name: str, values: Any, dtype: str = "f8", order: str = "<", **how: Any) -> bytes:
    """Return a dense matrix."""
    content = numbers(values, dtype, order)
    return variable(name, np.shape(values), content, order=order, **how)


def sparse_matrix(
    name: str,
    shape: tuple[int, ...],
    rows: Any,
    ends: Any,
    values: Any,
    dtype: str = "f8",
    index_type: str = "i4",
    order: str = "<",
    **how: Any,
) -> bytes:
    """Return a sparse matrix."""
    contents = (
        numbers(rows, index_type, order),
        numbers(ends, index_type, order),
        numbers(values, dtype, order),
    )
    return variable(name, shape, *contents, number_class=SPARSE, order=order, **how)


def mat_file(*variables: bytes, order: str = "<", version: int = 0x0100) -> bytes:
    """Return a file."""
    mark = b"IM" if order == "<" else b"MI"
    text = b"MATLAB 5.0 MAT-file".ljust(124, b" ")
    return text + struct.pack(f"{order}H", version) + mark + b"".join(variables)
