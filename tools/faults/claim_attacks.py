"""Attacks by arrays whose parts contradict each other, or that are small and become much."""

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attacks import Attack, Make, change_archive, put
from bombs import npy_header

ROWS = 12
AUDIT = ("audit", "table.mat")
HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def claim_attacks() -> Iterator[Attack]:
    """Yield MATLAB files and ``.npz`` archives that say one thing here and another there."""
    yield from _sparse_attacks()
    yield from _matlab_attacks()
    yield from _version_4_attacks()
    yield from _archive_attacks()


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def _packed(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return struct.pack("<II", 15, len(packed)) + packed


def _variable(name: str, shape: Sequence[int], *parts: bytes, kind: int = 6) -> bytes:
    flags = _element(6, struct.pack("<II", kind, 0))
    lengths = _element(5, struct.pack(f"<{len(shape)}i", *shape))
    return _element(14, flags + lengths + _element(1, name.encode()) + b"".join(parts))


def _dense(name: str, shape: Sequence[int], byte: bytes = b"\1") -> bytes:
    count = 1
    for length in shape:
        count *= length
    return _variable(name, shape, _element(2, byte * count), kind=9)


def _sparse(
    rows: Sequence[int], ends: Sequence[int], values: int, *, form: str = "i", width: int = 3
) -> bytes:
    type_of = {"b": 1, "i": 5, "I": 6, "q": 12, "Q": 13}[form]
    parts = (_element(type_of, struct.pack(f"<{len(each)}{form}", *each)) for each in (rows, ends))
    ones = _element(2, b"\1" * values)
    return _variable("partial_target", (width, ROWS), *parts, ones, kind=5)


def _file(*variables: bytes) -> Make:
    return put("table.mat", HEADER + b"".join(variables))


def _sparse_attacks() -> Iterator[Attack]:
    """Yield sparse matrices whose indices or pointers are wrong in one way each."""
    data = _dense("data", (ROWS, 2))
    rows, ends = [0] * ROWS, list(range(ROWS + 1))
    low, high = -(2**31), 2**31 - 1
    cases: dict[str, bytes] = {
        "pointers whose differences overflow": _sparse(rows, [0, high, low, -1, *ends[4:]], ROWS),
        "pointers that begin at one": _sparse(rows, [1, *ends[1:]], ROWS),
        "a pointer too few": _sparse(rows, ends[:-1], ROWS),
        "a pointer too many": _sparse(rows, [*ends, ROWS], ROWS),
        "a value too few": _sparse(rows, ends, ROWS - 1),
        "an index too few": _sparse(rows[:-1], ends, ROWS),
        "an index of 64 bits": _sparse([2**40, *rows[1:]], ends, ROWS, form="q"),
        "an index of 64 bits without a sign": _sparse([2**64 - 1, *rows[1:]], ends, ROWS, form="Q"),
        "an index of 32 bits without a sign": _sparse([2**32 - 1, *rows[1:]], ends, ROWS, form="I"),
        "a negative index of 8 bits": _sparse([-1, *rows[1:]], ends, ROWS, form="b"),
        "no labels": _sparse(rows, ends, ROWS, width=0),
    }
    for name, matrix in cases.items():
        yield Attack("mat", name, _file(data, matrix), (2,))
        yield Attack("mat", f"{name}, packed", _file(_packed(data), _packed(matrix)), (2,))
    repeated = _sparse([0, 0, *rows[1:]], [0, *range(2, ROWS + 2)], ROWS + 1)
    yield Attack("mat", "the same index twice", _file(data, repeated), (2,))
    # These are good: there may be room for more than is used, and labels that no row has.
    yield Attack(
        "mat", "room for more", _file(data, _sparse([*rows, 99], ends, ROWS + 9)), (0,), AUDIT
    )
    wide = _sparse(rows, ends, ROWS, width=9_000_000)
    yield Attack("mat", "nine million labels", _file(data, wide), (0,), AUDIT)


def _matlab_attacks() -> Iterator[Attack]:
    """Yield dense matrices that do not fit, or become much more than the file."""
    data, sets = _dense("data", (ROWS, 2)), _dense("partial_target", (3, ROWS))
    whole = _element(2, bytes(24))
    refused = {
        "data twice": _file(data, sets, data),
        "numbers of another count": _file(_variable("data", (ROWS, 3), whole, kind=9), sets),
        "numbers behind the numbers": _file(_variable("data", (ROWS, 2), whole, whole), sets),
        "a small element of 100 bytes": _file(
            _variable("data", (1, 1), struct.pack("<I4x", 100 << 16 | 2)), sets
        ),
        "packed numbers that end early": _file(_packed(data[:-16]), sets),
        "packed numbers that go on": _file(_packed(data + bytes(64)), sets),
        "a wrong checksum": _file(_packed(data)[:-4] + bytes(4), sets),
        "sparse features of 10**18": _file(
            _variable("data", (2**30, 2**30), *[_element(5, bytes(4))] * 3, kind=5), sets
        ),
        "a name of 1 MB": _file(_variable("n" * 1_000_000, (1, 1)), data, sets),
    }
    for name, make in refused.items():
        yield Attack("mat", name, make, (2,))
    # 50 million candidates, packed a thousandfold: the list of them would take gigabytes.
    yield Attack(
        "mat",
        "every label of 100,000 for 500 rows",
        lambda folder: _file(
            _packed(_dense("data", (500, 1))), _packed(_dense("partial_target", (100_000, 500)))
        )(folder),
        (2,),
    )
    unused = (_variable("z", (2**31 - 1,) * 3), _variable("y", (2, 2), _element(50, b"")))
    yield Attack("mat", "unused variables that are wrong", _file(*unused, data, sets), (0,), AUDIT)


def _version_4_attacks() -> Iterator[Attack]:
    """Yield files of version 4 with sparse matrices whose places are wrong."""
    nan, infinite = float("nan"), float("inf")

    def variable(name: bytes, columns: Sequence[Sequence[float]], kind: int) -> bytes:
        head = struct.pack("<5i", kind, len(columns[0]), len(columns), 0, len(name) + 1)
        numbers = [number for column in columns for number in column]
        return head + name + b"\0" + struct.pack(f"<{len(numbers)}d", *numbers)

    data = variable(b"data", [range(ROWS)], 0)
    for place in (0.0, -1.0, 4.0, 1e300, nan, infinite):
        rows = [place, *[1.0] * (ROWS - 1), 3.0]
        columns = [*range(1, ROWS + 1), float(ROWS)]
        sets = variable(b"partial_target", [rows, columns, [1.0] * (ROWS + 1)], 2)
        yield Attack("mat 4", f"a place {place}", put("table.mat", data + sets), (2,))
    for length in (-1.0, 2.0**31, nan, infinite):
        sets = variable(b"partial_target", [[1.0, length], [1.0, length], [1.0, 0.0]], 2)
        yield Attack("mat 4", f"a length {length}", put("table.mat", data + sets), (2,))


def _archive_attacks() -> Iterator[Attack]:
    """Yield archives with tricks of ZIP, and arrays that NumPy would believe."""
    booleans = npy_header(f"({ROWS}, 3)", "|b1") + b"\xff" * 3 * ROWS
    text = npy_header("(3,)", "<U1") + struct.pack("<3I", 65, 0x110000, 67)
    long_header = b"\x93NUMPY\2\0" + struct.pack("<I", 2**31) + bytes(1000)
    for name, member, content in (
        ("booleans of 255", "candidates.npy", booleans),
        ("a character beyond Unicode", "classes.npy", text),
        ("a header of 2 GB", "X.npy", long_header),
        ("a header of minus signs", "X.npy", npy_header("-" * 5_000 + "1")),
    ):
        yield Attack("npz", name, change_archive("table.npz", {member: content}), (2,))
    for name, change in (
        ("a name twice", _twice),
        ("members that share bytes", _overlapping),
        ("members packed by bzip2", _bzip2),
    ):
        yield Attack("npz", name, lambda folder, change=change: _rewrite(folder, change), (2,))


def _rewrite(folder: Path, change: Any) -> None:
    path = folder / "table.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(change(members))


def _pack(members: Sequence[tuple[str, bytes]], how: int) -> bytes:
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", how) as archive:
        warnings.simplefilter("ignore")  # about names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def _twice(members: dict[str, bytes]) -> bytes:
    return _pack([*members.items(), ("X.npy", members["X.npy"])], zipfile.ZIP_DEFLATED)


def _overlapping(members: dict[str, bytes]) -> bytes:
    content = _pack(list(members.items()), zipfile.ZIP_STORED)
    last = content.rindex(b"PK\1\2")  # its entry in the directory says where the member is
    return content[: last + 42] + bytes(4) + content[last + 46 :]


def _bzip2(members: dict[str, bytes]) -> bytes:
    return _pack(list(members.items()), zipfile.ZIP_BZIP2)
