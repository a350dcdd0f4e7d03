"""MATLAB files are read as SciPy reads them, and no claim of a file is believed."""

import io
import os
import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from mat_files import (
    TYPES,
    compress,
    element,
    mat_file,
    matrix,
    numbers,
    sparse_matrix,
    variable,
)
from scipy import sparse

from disambig.tabular.files.mat_bytes import MatFileError
from disambig.tabular.files.mat_format import NewerMatFileError, Variable, find_variables

DTYPES = [*TYPES]


def find(content: bytes) -> list[Variable]:
    return list(find_variables(io.BytesIO(content), len(content)))


def read(content: bytes) -> dict[str, Any]:
    """Read all variables."""
    return {each.name: each.read(io.BytesIO(content)) for each in find(content)}


def assert_like_scipy(content: bytes) -> None:
    ours = read(content)
    theirs = scipy.io.loadmat(io.BytesIO(content))
    assert ours
    for each in find(content):
        expected, got = theirs[each.name], ours[each.name]
        assert got.shape == expected.shape == each.shape
        assert got.dtype == expected.dtype.newbyteorder("=")
        assert sparse.issparse(got) == sparse.issparse(expected) == (each.kind != "numbers")
        if sparse.issparse(got):
            expected, got = (sparse.csc_array(matrix) for matrix in (expected, got))
            np.testing.assert_array_equal(got.indices, expected.indices)
            np.testing.assert_array_equal(got.indptr, expected.indptr)
            expected, got = expected.data, got.data
        assert got.dtype.isnative
        assert got.tobytes() == expected.astype(got.dtype).tobytes()


def draw(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    """Draw numbers of a type, of which any bits are one."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(seed).bytes(count), dtype=dtype).reshape(shape)


SHAPES = st.tuples(st.integers(0, 7), st.integers(0, 7))
SEEDS = st.integers(0, 2**32)
ORDERS = st.sampled_from("<>")


@given(
    dtype=st.sampled_from([*DTYPES, "?"]),
    shape=SHAPES | st.tuples(*[st.integers(0, 4)] * 3),
    seed=SEEDS,
    compressed=st.booleans(),
)
def test_dense_matrices_are_read_as_scipy_reads_them(
    dtype: str, shape: tuple[int, ...], seed: int, compressed: bool
) -> None:
    values = draw(seed, shape, "u1") < 128 if dtype == "?" else draw(seed, shape, dtype)
    file = io.BytesIO()
    variables = {"a": values, "a_longer_name": values.T, "one": values.ravel()[:1]}
    scipy.io.savemat(file, variables, do_compression=compressed)
    assert_like_scipy(file.getvalue())


@given(dtype=st.sampled_from([*DTYPES, "?"]), shape=SHAPES, seed=SEEDS, compressed=st.booleans())
def test_sparse_matrices_are_read_as_scipy_reads_them(
    dtype: str, shape: tuple[int, int], seed: int, compressed: bool
) -> None:
    kept = draw(seed, shape, "u1") < 80
    values = kept if dtype == "?" else np.where(kept, draw(seed, shape, dtype), 0).astype(dtype)
    file = io.BytesIO()
    scipy.io.savemat(file, {"a": sparse.csc_array(values)}, do_compression=compressed)
    assert_like_scipy(file.getvalue())


@given(
    dtype=st.sampled_from(DTYPES),
    number_class=st.integers(6, 15),
    shape=SHAPES,
    seed=SEEDS,
    order=ORDERS,
    compressed=st.booleans(),
)
def test_both_byte_orders_and_any_storage_are_read_as_scipy_reads_them(
    dtype: str,
    number_class: int,
    shape: tuple[int, int],
    seed: int,
    order: str,
    compressed: bool,
) -> None:
    values = draw(seed, shape, dtype)
    how = {"order": order, "compressed": compressed}
    dense = matrix("dense", values, dtype, number_class=number_class, **how)
    columns = sparse.csc_array(values)
    parts = (columns.indices, columns.indptr, columns.data)
    packed = [
        sparse_matrix(f"sparse_{kind}", shape, *parts, dtype, kind, **how)
        for kind in ("i4", "u4", "u1", "i8")
    ]
    small = variable("abc", (1, 2), numbers([7, -3], "i2", order, small=True), small=True, **how)
    assert_like_scipy(mat_file(dense, *packed, small, order=order))


def version_4(name: str, values: Any, dtype: str, order: str, kind: int = 0) -> bytes:
    """Return a variable of a MATLAB 4 file."""
    number_type = ("f8", "f4", "i4", "i2", "u2", "u1").index(dtype)
    code = 1000 * (order == ">") + 10 * number_type + kind
    rows, columns = np.shape(values)
    head = struct.pack(f"{order}5i", code, rows, columns, 0, len(name) + 1)
    content = np.asarray(values).ravel(order="F").astype(order + dtype).tobytes()
    return head + name.encode() + b"\0" + content


@given(
    dtype=st.sampled_from(["f8", "f4", "i4", "i2", "u2", "u1"]),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    seed=SEEDS,
    order=ORDERS,
)
def test_version_4_is_read_as_scipy_reads_it(
    dtype: str, shape: tuple[int, int], seed: int, order: str
) -> None:
    values = draw(seed, shape, dtype)
    content = version_4("a", values, dtype, order) + version_4("bc", values.T, dtype, order)
    pairs = sparse.coo_array(draw(seed, shape, "u1") % 3)
    triples = np.column_stack([pairs.row + 1, pairs.col + 1, pairs.data])
    content += version_4("s", np.vstack([triples, [*shape, 0]]), "f8", order, kind=2)
    assert_like_scipy(content)


@pytest.mark.parametrize("compressed", [False, True])
def test_version_4_and_5_by_scipy(compressed: bool) -> None:
    matrices = {"a": np.arange(6.0).reshape(2, 3), "b": sparse.csc_array(np.eye(3))}
    for version in ("4", "5"):
        file = io.BytesIO()
        scipy.io.savemat(file, matrices, format=version, do_compression=compressed)
        assert_like_scipy(file.getvalue())


@pytest.mark.skipif("DISAMBIG_DATA" not in os.environ, reason="needs the real-world files")
def test_the_real_files_are_read_to_the_bit() -> None:
    files = sorted(Path(os.environ["DISAMBIG_DATA"]).glob("*.mat"))
    assert files
    for file in files:
        assert_like_scipy(file.read_bytes())


def test_what_is_not_numbers_is_passed_over_and_said() -> None:
    file = io.BytesIO()
    cells = np.array([["a", 1]], dtype=object)
    scipy.io.savemat(
        file,
        {"text": "ab", "struct": {"x": 1}, "cells": cells, "z": np.array([[1j]]), "last": [[1]]},
    )
    found = find(file.getvalue())
    assert [(each.name, each.kind) for each in found] == [
        ("text", "text"),
        ("struct", "a struct"),
        ("cells", "a cell array"),
        ("z", "complex numbers"),
        ("last", "numbers"),
    ]


def test_complex_numbers_of_version_4_are_passed_over_and_said() -> None:
    file = io.BytesIO()
    matrices = {"a": np.eye(2) * 1j, "b": sparse.csc_array(np.eye(2) * 1j), "text": "ab"}
    scipy.io.savemat(file, {**matrices, "last": np.eye(2)}, format="4")
    kinds = {each.name: each.kind for each in find(file.getvalue())}
    complex_numbers = "complex numbers"
    assert kinds == {"a": complex_numbers, "b": complex_numbers, "text": "text", "last": "numbers"}


def test_an_object_without_a_name_is_passed_over() -> None:
    opaque = element(14, element(6, struct.pack("<II", 17, 0)) + element(1, b"anything"))
    assert list(read(mat_file(opaque, matrix("a", [[1.0]])))) == ["a"]


def test_only_heads_are_inflated_until_a_variable_is_read() -> None:
    content = mat_file(*(matrix(name, np.zeros((2**10, 2**12)), compressed=True) for name in "ab"))
    tracemalloc.start()
    names = [each.name for each in find(content)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (names, peak < 2**20) == (["a", "b"], True)


def test_a_compressed_variable_that_claims_more_than_it_can_hold_is_refused() -> None:
    claim = struct.pack("<II", 14, 2**30) + variable("a", (2**17, 2**10))[8:]
    with pytest.raises(MatFileError, match="claims to hold more than it can"):
        find(mat_file(compress(claim)))


def test_a_wrong_checksum_of_something_compressed_is_noticed() -> None:
    content = bytearray(mat_file(matrix("a", np.eye(9), compressed=True)))
    content[-1] ^= 1
    with pytest.raises(zlib.error, match="incorrect data check"):
        read(bytes(content))


def test_something_compressed_that_is_longer_than_it_says_is_refused() -> None:
    with pytest.raises(MatFileError, match="is longer than it says"):
        read(mat_file(compress(matrix("a", [[1.0]]) + bytes(8))))


def test_a_file_of_another_version_is_refused() -> None:
    with pytest.raises(MatFileError, match="no version 3"):
        find(mat_file(version=0x0300))
    with pytest.raises(NewerMatFileError):
        find(mat_file(version=0x0200))


TRIPLES = ([0, 1], [0, 1, 2], [1.0, 1.0])  # of a matrix of shape (2, 2)
HOSTILE = {
    "an index too large": sparse_matrix("a", (2, 2), [0, 2], *TRIPLES[1:]),
    "a huge index": sparse_matrix("a", (2, 2), [0, 10**8], *TRIPLES[1:]),
    "a negative index": sparse_matrix("a", (2, 2), [-1, 0], *TRIPLES[1:]),
    "an unsigned index too large": sparse_matrix(
        "a", (2, 2), np.array([0, 2**64 - 1], dtype="u8"), *TRIPLES[1:], index_type="u8"
    ),
    "a pointer too large": sparse_matrix("a", (2, 2), [0, 1], [0, 1, 3], [1, 1]),
    "a huge pointer": sparse_matrix("a", (2, 2), [0, 1], [0, 10**7, 2], [1, 1]),
    "a negative pointer": sparse_matrix("a", (2, 2), [0, 1], [0, -(10**6), 2], [1, 1]),
    "pointers whose differences overflow": sparse_matrix(
        "a", (2, 4), [0, 1], [0, 2**31 - 1, -(2**31), -1, 2], [1, 1]
    ),
    "pointers that do not begin at zero": sparse_matrix("a", (2, 2), [0, 1], [1, 1, 2], [1, 1]),
    "too few pointers": sparse_matrix("a", (2, 2), [0, 1], [0, 2], [1, 1]),
    "too many pointers": sparse_matrix("a", (2, 2), [0, 1], [0, 1, 2, 2], [1, 1]),
    "no pointers": sparse_matrix("a", (2, 2), [0, 1], [], [1, 1]),
    "too few values": sparse_matrix("a", (2, 2), [0, 1], [0, 1, 2], [1]),
    "too few indices": sparse_matrix("a", (2, 2), [0], [0, 1, 2], [1, 1]),
    "indices that are not integers": sparse_matrix("a", (2, 2), *TRIPLES, index_type="f8"),
    "sparse in three dimensions": sparse_matrix("a", (2, 2, 2), *TRIPLES),
    "too few numbers": variable("a", (2, 2), numbers([1, 2, 3], "f8")),
    "too many numbers": variable("a", (2, 2), numbers([1, 2, 3, 4, 5], "f8")),
    "no numbers": variable("a", (2, 2)),
    "more than numbers": variable("a", (1, 1), numbers([1], "f8"), numbers([1], "f8")),
    "numbers of a longer type": variable("a", (1, 1), element(9, bytes(4))),
    "numbers that claim to be longer": variable("a", (2, 2), element(9, bytes(32), length=2**31)),
    "a small element that is too long": variable("a", (1, 5), struct.pack("<I4x", 5 << 16 | 2)),
    "a negative shape": variable("a", (-2, -2), numbers([1, 2, 3, 4], "f8")),
    "a shape that overflows": variable("a", (2**31 - 1,) * 3, numbers([1], "f8")),
    "a variable of no type": element(0, bytes(64)),
    "a number instead of a variable": numbers([1.0], "f8"),
    "a variable longer than the file": element(14, bytes(56), length=100),
    "a variable of nothing": element(14, b""),
    "a compressed variable of nothing": element(15, b""),
    "something compressed that is not": element(15, bytes(64)),
    "something else compressed": compress(numbers([1.0], "f8")),
    "half of a tag": b"\x0e\0\0\0",
} | {
    f"numbers of the type {kind}": variable("a", (1, 2), element(kind, bytes(16)))
    for kind in (0, 8, 10, 11, 14, 15, 16, 20, 50, 200, 255)
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("compressed", [False, True])
def test_what_does_not_fit_is_refused(case: str, compressed: bool) -> None:
    content = compress(HOSTILE[case]) if compressed else HOSTILE[case]
    with pytest.raises((MatFileError, zlib.error)):
        read(mat_file(content))
    # What comes before it, and after it where that can be found, does not make it better.
    with pytest.raises((MatFileError, zlib.error)):
        read(mat_file(matrix("b", [[1.0]]), content, matrix("c", [[1.0]])))


VERSION_4 = {
    "an unknown type": (6, 1, 1, 0, 2),
    "an unknown kind": (3, 1, 1, 0, 2),
    "an unknown byte order": (2000, 1, 1, 0, 2),
    "a negative code": (-1, 1, 1, 0, 2),
    "a negative shape": (0, -1, -1, 0, 2),
    "a shape that overflows": (0, 2**31 - 1, 2**31 - 1, 0, 2),
    "a shape larger than the file": (0, 3, 1, 0, 2),
    "an unknown flag": (0, 1, 1, 2, 2),
    "a negative name": (0, 1, 1, 0, -1),
    "a long name": (0, 1, 1, 0, 2**30),
    "a sparse matrix of one number": (2, 1, 1, 0, 2),
    "a sparse matrix of nothing": (2, 0, 3, 0, 2),
}


@pytest.mark.parametrize("case", VERSION_4)
@pytest.mark.parametrize("order", "<>")
def test_version_4_that_does_not_fit_is_refused(case: str, order: str) -> None:
    code, *others = VERSION_4[case]
    words = (code + 1000 * (order == ">"), *others)
    with pytest.raises(MatFileError):
        read(struct.pack(f"{order}5i", *words) + b"a\0" + bytes(8))


@pytest.mark.parametrize(
    "triples",
    [
        [[0, 1, 1], [2, 2, 0]],
        [[1, 3, 1], [2, 2, 0]],
        [[np.nan, 1, 1], [2, 2, 0]],
        [[1, 1e300, 1], [2, 2, 0]],
        [[1, 1, 1], [np.inf, 2, 0]],
        [[1, 1, 1], [2, -2, 0]],
        [[1, 1], [2, 2]],
    ],
)
def test_sparse_values_outside_of_a_matrix_of_version_4_are_refused(triples: Any) -> None:
    with pytest.raises(MatFileError, match="sparse matrix"):
        read(version_4("a", triples, "f8", "<", kind=2))
