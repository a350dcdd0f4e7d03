"""Attacks by files of arrays: ``.npz`` and MATLAB, those that crashed once and their like."""

import io
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attacks import ESCAPE, MARKUP, Attack, Make, Payload, change_archive, put
from bombs import Zeros, npy_header, pack_zip, zlib_bomb


def numpy_attacks() -> Iterator[Attack]:
    """Yield ``.npz`` files: tables, parts of unfinished work, and predictions."""
    import numpy as np

    def array(value: Any) -> bytes:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(value), allow_pickle=False)
        return buffer.getvalue()

    def objects() -> bytes:
        text = npy_header("(12, 2)", "|O")
        return text + pickle.dumps(Payload())

    bombs: dict[str, Callable[..., Any]] = {
        "5 GB of zeros": lambda *_: Zeros(5_000, npy_header("(312500000, 2)")),
        "a shape of 10**18": lambda *_: npy_header(f"({10**9}, {10**9})") + bytes(100),
        "a negative shape": lambda *_: npy_header("(-1, 2)") + bytes(100),
        "a shape beyond all integers": lambda *_: npy_header(f"({2**64}, 2)") + bytes(100),
        "a shape of great depth": lambda *_: npy_header("(" * 5_000 + ")" * 5_000),
        "a header that is code": lambda *_: npy_header("__import__('os').mkdir('marker')"),
        "objects": lambda *_: objects(),
        "a pickle": lambda *_: pickle.dumps(Payload()),
        "a structured type": lambda *_: npy_header("(12,)", [("a", "<f8"), ("b", "|O")]),  # type: ignore[arg-type]
        "strings of 10**9": lambda *_: npy_header("(12,)", "<U999999999"),
        "no bytes": lambda *_: b"",
        "a header without end": lambda *_: npy_header("(12, 2)")[:40],
        "more rows than are there": lambda *_: npy_header("(1000000, 2)") + bytes(192),
        "a type of no size": lambda *_: npy_header("(12, 2)", "<U0"),
        "10**12 rows of no size": lambda *_: npy_header(f"({10**12},)", "|V0"),
    }
    for name, bomb in bombs.items():
        for member in ("X.npy", "candidates.npy", "classes.npy"):
            yield Attack(
                "npz", f"{member}: {name}", change_archive("table.npz", {member: bomb}), (2,)
            )
        for reader, pattern in (
            ("part of unfinished work", "out.csv.partial/*.npz"),
            ("predictions", "records/*.npz"),
        ):
            yield Attack(reader, name, _all_members(pattern, bomb))
    arrays = {
        "a lone surrogate": {"classes": ["\ud800", "b", "c"]},
        "an escape": {"classes": [ESCAPE, "b", "c"]},
        "markup": {"classes": [MARKUP, "b", "c"]},
        "classes twice": {"classes": ["a", "a", "b"]},
        "names with escapes": {"feature_names": [ESCAPE, "\ud800"]},
        "a name twice": {"feature_names": ["a", "a"]},
        "NaN": {"X": np.full((12, 2), np.nan)},
        "complex numbers": {"X": np.ones((12, 2), complex)},
        "dates": {"X": np.zeros((12, 2), "M8[s]")},
        "1e308": {"X": np.full((12, 2), 1e308)},
        "denormal numbers": {"X": np.eye(12)[:, :2] * 5e-324},
        "no rows": {"X": np.ones((0, 2))},
        "negative weights": {"weights": -np.ones((12, 3))},
        "weights nan": {"weights": np.full((12, 3), np.nan)},
        "weights 1e308": {"weights": np.full((12, 3), 1e308)},
        "other rows": {"candidates": np.ones((9, 3), bool)},
        "candidates of 7": {"candidates": np.full((12, 3), 7)},
        "no candidate": {"candidates": np.zeros((12, 3), bool)},
        "a scalar": {"X": np.float64(1)},
        "five dimensions": {"X": np.ones((12, 2, 1, 1, 1))},
        "truth that is not a class": {"true_labels": ["zebra"] * 12},
        "numbers as truth": {"true_labels": np.arange(12)},
    }
    for name, changed in arrays.items():
        members = {f"{key}.npy": array(value) for key, value in changed.items()}
        yield Attack("npz", name, change_archive("table.npz", members))
    unused = {"unused.npy": lambda: Zeros(4_500, npy_header("(589824000,)"))}
    yield Attack("npz", "an unused 4.5 GB", change_archive("table.npz", unused), (0,))
    yield Attack(
        "npz", "unused objects", change_archive("table.npz", {"unused.npy": objects}), (0,)
    )
    yield Attack(
        "npz", "a member above", change_archive("table.npz", {"../../above.npy": array([1])})
    )
    yield Attack("npz", "a pickle in its place", put("table.npz", pickle.dumps(Payload())), (2,))
    lie = change_archive("table.npz", {"X.npy": bombs["5 GB of zeros"]}, {"X.npy": 100})
    yield Attack("npz", "5 GB that claim to be 100 bytes", lie, (2,))


def _all_members(pattern: str, content: Callable[..., Any]) -> Make:
    def make(folder: Path) -> None:
        path = min(folder.glob(pattern))
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        path.write_bytes(pack_zip({name: content() for name in names}))

    return make


def mat_attacks() -> Iterator[Attack]:
    """Yield MATLAB files: those that crashed once, and their like."""

    def patch(old: bytes, at: int, new: bytes) -> Make:
        def make(folder: Path) -> None:
            content = (folder / "table.mat").read_bytes()
            place = content.index(old) + at
            (folder / "table.mat").write_bytes(content[:place] + new + content[place + len(new) :])

        return make

    def of_indices(position: int, value: int) -> Make:
        """Return a change of an entry of the first list of row indices, or of column pointers."""

        def make(folder: Path) -> None:
            path = folder / "table.mat"
            content = path.read_bytes()
            start = content.index(b"partial_target") + 16
            kind, size = struct.unpack("<II", content[start : start + 8])
            assert kind == 5, kind  # 32-bit integers
            place = start + 8
            if position < 0:  # of the pointers, which follow
                place += size + size % 8 + 8
            place += 4 * abs(position)
            path.write_bytes(content[:place] + struct.pack("<i", value) + content[place + 4 :])

        return make

    for index in (9, 10**8, -3, -400, -(10**6), 2**31 - 1):
        yield Attack("mat sparse", f"an index {index}", of_indices(2, index), (2,))
        yield Attack("mat sparse", f"a pointer {index}", of_indices(-2, index), (2,))
    for tag in (0, 8, 10, 11, 16, 17, 18, 20, 50, 200, 255):
        yield Attack(
            "mat", f"a type {tag}", lambda folder, tag=tag: _set_byte(folder, 176, tag), (2,)
        )
    for size in (0, 1, 2**31 - 1, 2**31, 2**32 - 1):
        packed = struct.pack("<I", size)
        yield Attack("mat", f"an element of {size} bytes", patch(b"MATLAB", 132, packed))
        yield Attack("mat", f"a number of rows {size}", patch(b"MATLAB", 160, packed))
        yield Attack(
            "mat 4", f"a number of rows {size}", lambda folder, p=packed: _set_bytes(folder, 4, p)
        )
        yield Attack(
            "mat 4", f"a name of {size}", lambda folder, p=packed: _set_bytes(folder, 16, p)
        )
        yield Attack("mat compressed", f"an element of {size} bytes", patch(b"MATLAB", 132, packed))

    def behind_header(*elements: bytes) -> Make:
        def make(folder: Path) -> None:
            path = folder / "table.mat"
            path.write_bytes(path.read_bytes()[:128] + b"".join(elements))

        return make

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content

    def matrix(dims: tuple[int, ...], kind: int, name: bytes, rest: bytes) -> bytes:
        def padded(content: bytes) -> bytes:
            return content + bytes(-len(content) % 8)

        flags = element(6, struct.pack("<II", kind, 0))
        shape = padded(element(5, struct.pack(f"<{len(dims)}i", *dims)))
        return element(14, flags + shape + padded(element(1, name)) + rest)

    def cells(depth: int) -> bytes:
        made = matrix((1, 1), 6, b"", element(9, bytes(8)))
        for _ in range(depth):
            made = matrix((1, 1), 1, b"", made)
        return matrix((1, 1), 1, b"data", made)

    large = matrix((25_000, 25_000), 6, b"data", b"")
    large = struct.pack("<II", 14, len(large) - 8 + 8 + 5_000_000_000 % 2**32) + large[8:]
    large += struct.pack("<II", 9, 5_000_000_000 % 2**32)
    for name, make in {
        "4.5 GB of zeros": behind_header_late(lambda: element(15, zlib_bomb(4_500, large))),
        "packed twice": behind_header_late(
            lambda: element(15, zlib_bomb(1, element(15, zlib_bomb(1))))
        ),
        "cells of great depth": behind_header_late(lambda: cells(3_000)),
        "a matrix of 2**31 x 2**31": behind_header(
            matrix((2**31 - 1, 2**31 - 1), 6, b"data", element(9, bytes(64)))
        ),
        "a matrix of negative size": behind_header(
            matrix((-5, 2), 6, b"data", element(9, bytes(80)))
        ),
        "50 dimensions": behind_header(matrix((1,) * 50, 6, b"data", element(9, bytes(8)))),
        "no dimension": behind_header(matrix((), 6, b"data", element(9, bytes(8)))),
        "a sparse matrix of 50,000,000 labels": sparse_labels,
        "an opaque object": behind_header(matrix((1, 1), 17, b"data", element(9, bytes(8)))),
        "a function": behind_header(matrix((1, 1), 16, b"data", element(9, bytes(8)))),
        "an object": behind_header(matrix((1, 1), 3, b"data", element(1, b"evil"))),
        "an escape for a name": behind_header(
            matrix((1, 1), 6, ESCAPE.encode(), element(9, bytes(8)))
        ),
        "50,000 variables": behind_header_late(
            lambda: b"".join(
                matrix((1, 1), 6, f"v{i}".encode(), element(9, bytes(8))) for i in range(50_000)
            )
        ),
        "version 7.3": lambda folder: (folder / "table.mat").write_bytes(
            b"MATLAB 7.3 MAT-file".ljust(124)
            + struct.pack("<H", 0x0200)
            + b"IM"
            + b"\x89HDF\r\n\x1a\n"
        ),
    }.items():
        yield Attack("mat", name, make, (2,))


def behind_header_late(content: Callable[[], bytes]) -> Make:
    """Return a MATLAB file of elements that are made when they are needed."""

    def make(folder: Path) -> None:
        path = folder / "table.mat"
        path.write_bytes(path.read_bytes()[:128] + content())

    return make


def sparse_labels(folder: Path) -> None:
    """Write a MATLAB file with so many labels that any dense row of them is large."""
    import numpy as np
    from scipy import io as matlab
    from scipy import sparse

    target = sparse.csc_matrix(([1.0] * 12, (range(12), range(12))), shape=(50_000_000, 12))
    matlab.savemat(
        folder / "table.mat", {"data": np.eye(12), "partial_target": target}, do_compression=True
    )


def _set_byte(folder: Path, at: int, value: int) -> None:
    _set_bytes(folder, at, bytes([value]))


def _set_bytes(folder: Path, at: int, new: bytes) -> None:
    path = folder / "table.mat"
    content = path.read_bytes()
    path.write_bytes(content[:at] + new + content[at + len(new) :])
