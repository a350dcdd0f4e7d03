"""Archives that are small and unpack to a lot, or that lie about what they hold."""

import struct
import zlib
from collections.abc import Mapping

MEGABYTE = 1 << 20


class Zeros:
    """So many megabytes of one byte behind a beginning, packed and never expanded here.

    The checksum is wrong, which nobody knows who has not expanded all of it.
    """

    crc = 0

    def __init__(self, megabytes: int, begin: bytes = b"", byte: bytes = b"\0") -> None:
        self.size = len(begin) + megabytes * MEGABYTE
        block = byte * MEGABYTE
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        head = packer.compress(begin) + packer.flush(zlib.Z_FULL_FLUSH)
        again = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
        self.packed = head + again * megabytes + packer.flush(zlib.Z_FINISH)


def pack_zip(
    members: Mapping[str, bytes | Zeros], claims: Mapping[str, int] | None = None
) -> bytes:
    """Return an archive; ``claims`` are sizes that it gives in the place of true ones."""
    body, directory = b"", b""
    for name, content in members.items():
        packed = content if isinstance(content, Zeros) else None
        data = packed.packed if packed else zlib_raw(content)  # type: ignore[arg-type]
        crc = packed.crc if packed else zlib.crc32(content)  # type: ignore[arg-type]
        size = packed.size if packed else len(content)  # type: ignore[arg-type]
        size = (claims or {}).get(name, size)
        encoded = name.encode("utf-8", "surrogatepass")
        # Beyond 4 GB sizes stand in an extra field.
        is_large = size >= 2**32 - 1
        extra = struct.pack("<HHQQ", 1, 16, size, len(data)) if is_large else b""
        sizes = (2**32 - 1, 2**32 - 1) if is_large else (len(data), size)
        fields = struct.pack(
            "<HHHHHIIIHH", 45, 0x800, 8, 0, 0x21, crc, *sizes, len(encoded), len(extra)
        )
        directory += (
            b"PK\1\2" + struct.pack("<H", 45) + fields
            + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + encoded + extra
        )  # fmt: skip
        body += b"PK\3\4" + fields + encoded + extra + data
    count = len(members)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end


def zlib_raw(content: bytes) -> bytes:
    """Return bytes packed as members of archives are."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


def npy_header(shape: str, dtype: str = "<f8") -> bytes:
    """Return the beginning of an ``.npy`` file that claims a shape."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def zlib_bomb(megabytes: int, begin: bytes = b"") -> bytes:
    """Return a zlib stream of zeros behind a beginning, without its checksum."""
    return b"\x78\x9c" + Zeros(megabytes, begin).packed
