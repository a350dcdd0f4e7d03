"""Bytes of a MATLAB file, never more than are there, inflated as they are asked for."""

import zlib
from typing import BinaryIO

import numpy as np

from disambig._core.typing import AnyArray

# A compressed byte never becomes more bytes than this.
_MOST_INFLATED = 1032
_READ_AT_ONCE = 1 << 16
_INFLATED_AT_ONCE = 1 << 18


class MatFileError(Exception):
    """A file that is damaged, or not a MATLAB file; says what is wrong."""


class BytesLeft:
    """Bytes of a stream, of which ``left`` may still be taken."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        self.stream = stream
        self.left = left

    def fill(self, raw: AnyArray) -> None:
        """Take as many bytes as an array of bytes has, into it."""
        self.left -= len(raw)
        if self.stream.readinto(raw.data) != len(raw):  # type: ignore[attr-defined]  # files and pipes have it
            raise MatFileError("it ends too early")

    def take(self, count: int) -> AnyArray:
        """Take so many bytes, as an array."""
        if count > self.left:
            raise MatFileError("a part of it claims to be longer than the whole")
        raw = np.empty(count, dtype=np.uint8)
        self.fill(raw)
        return raw

    def check_end(self) -> None:
        """Refuse a variable that is longer than what was read of it."""
        if self.left:
            raise MatFileError("a variable in it is longer than its shape says")


class InflatedBytes(BytesLeft):
    """Compressed bytes of a stream, inflated as they are asked for."""

    def __init__(self, stream: BinaryIO, left: int) -> None:
        super().__init__(stream, left * _MOST_INFLATED)
        self._compressed = BytesLeft(stream, left)
        self._inflater = zlib.decompressobj()
        self._waiting = b""

    def fill(self, raw: AnyArray) -> None:
        """Inflate as many bytes as an array of bytes has, into it."""
        self.left -= len(raw)
        filled, view = 0, raw.data
        while filled < len(raw):
            piece = self._inflate(min(len(raw) - filled, _INFLATED_AT_ONCE))
            if not piece:
                raise MatFileError("something compressed in it ends too early")
            view[filled : filled + len(piece)] = piece
            filled += len(piece)

    def check_end(self) -> None:
        """Refuse compressed bytes that hold more than was read, or have a wrong checksum."""
        super().check_end()
        if self._inflate(1) or not self._inflater.eof:
            raise MatFileError("something compressed in it is longer than it says")

    def _inflate(self, most: int) -> bytes:
        """Return some of the next bytes, and none at their end."""
        piece = b""
        while not piece and not self._inflater.eof:
            if not self._waiting:
                count = min(self._compressed.left, _READ_AT_ONCE)
                self._waiting = self._compressed.take(count).tobytes()
            nothing_left = not self._waiting
            piece = self._inflater.decompress(self._waiting, most)
            self._waiting = self._inflater.unconsumed_tail
            if nothing_left:
                break
        return piece
