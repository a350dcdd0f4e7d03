"""What a hostile server answers: the bytes that it sends, good, false, too many or too few."""

import io
import itertools
import random
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bases import pack_rar
from mutations import mutate

# What a server sends, part by part, to a client that asked for an address of that port.
Answer = Callable[[int], Iterable[bytes]]
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECONDS_BETWEEN_BYTES = 0.02
_NAMES = ("toy_faces.mat", "Toy Faces.mat", "x.MAT", "../../evil.mat", "/evil.mat", "..\\evil.mat")
_TARGETS = (
    "/file", "file:///etc/hosts", "ftp://127.0.0.1/file", "data:,hello", "gopher://127.0.0.1/",
    "javascript:1", "http://", "http://[", "http://a b/", "//", "\x1b]0;owned\x07", "x" * 60_000,
    "http://127.0.0.1:1/", "http://256.256.256.256/", "https://127.0.0.1:{port}/", "/\u20ac",
)  # fmt: skip
_STATUS = (100, 101, 199, 204, 206, 300, 302, 304, 400, 401, 403, 404, 416, 418, 500, 503, 599, 999)
_LENGTHS = ("-1", "0", "1", "99999999999999999999", "x", "1e9", "", "0x10", "+5", "5, 6", "\x00")


@dataclass(frozen=True)
class Said:
    """An answer: its name, whether it has the right file, whether it takes patience."""

    name: str
    answer: Answer
    is_right: bool = False
    is_slow: bool = False


def right(file: bytes, chance: random.Random) -> Said:
    """Return an answer with the right file, as it is or packed, sent in one of the usual ways."""
    name = chance.choice(_NAMES)
    body = chance.choice((file, _zip({name: file}), pack_rar(name, file)))
    answer = chance.choice((_sized, _unsized, _in_chunks))(body)
    if chance.random() < 0.2:
        head = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/%s\r\n\r\n"
        return Said("a redirect to the right file", _Twice(head, answer), is_right=True)
    return Said("the right file", answer, is_right=True)


class _Twice:
    """An answer that leads elsewhere first."""

    def __init__(self, head: bytes, answer: Answer) -> None:
        self._head, self._answer, self._asked = head, answer, 0

    def __call__(self, port: int) -> Iterable[bytes]:
        self._asked += 1
        return [self._head % (port, b"moved")] if self._asked == 1 else self._answer(port)


def wrong(file: bytes, chance: random.Random) -> Said:
    """Return an answer that does not have the file, or not within the limits."""
    return chance.choice(_WRONG)(file, chance)


def _wrong_content(file: bytes, chance: random.Random) -> Said:
    name, other = chance.choice(_NAMES), chance.randbytes(chance.choice((0, 1, 100, 5000)))
    body = chance.choice(
        (
            b"",
            b"<html>Moved</html>",
            other,
            file + b"x",
            _zip({name: other}),
            _zip({}),
            _zip({"readme.txt": file}),
            _zip({"a.mat": file, "b.mat": file}),
            _zip({f"{number}/toys.mat": b"" for number in range(3000)}),
            _zip({"\x1b[31m.txt": file, "b" * 60_000: b""}),
            pack_rar(name, other),
            pack_rar("toy_faces.txt", file),
        )
    )
    return Said("another file", chance.choice((_sized, _unsized, _in_chunks))(body))


def _changed_archive(file: bytes, chance: random.Random) -> Said:
    packed = chance.choice((file, _zip({"toys.mat": file}), pack_rar("toys.mat", file)))
    body = mutate(packed, chance)
    return Said("a changed archive", chance.choice((_sized, _unsized, _in_chunks))(body))


def _bomb(file: bytes, chance: random.Random) -> Said:
    """Return an archive that would unpack to far more than it is, or says so."""
    method = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", method) as archive,
        archive.open("toys.mat", "w", force_zip64=True) as member,
    ):
        for _ in range(chance.choice((4, 40, 200))):
            member.write(bytes(10**6))
    packed = bytearray(buffer.getvalue())
    if chance.random() < 0.5:  # the size after unpacking, in the directory
        entry = packed.index(b"PK\x01\x02")
        packed[entry + 24 : entry + 28] = chance.choice((0, 1000, len(file))).to_bytes(4, "little")
    claim = chance.choice((2**31, 2**32 - 1, len(file) + 1, len(file) - 1, 0))
    body = chance.choice((bytes(packed), bytes(packed), pack_rar("toys.mat", file, claim)))
    return Said("a bomb", _sized(body))


def _endless(_: bytes, chance: random.Random) -> Said:
    forever: Callable[[bytes], Iterator[bytes]] = itertools.repeat
    starts: tuple[tuple[bytes, bytes], ...] = (
        (OK + b"\r\n", bytes(100_000)),
        (CHUNKED, b"10000\r\n" + bytes(0x10000) + b"\r\n"),
        (CHUNKED + b"FFFFFFFFFFFFFFF\r\n", bytes(100_000)),
        (OK, b"name: value\r\n"),
        (OK + b"name: ", b"x" * 10_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 ", b"x" * 10_000),
        (b"HTTP/1.1 302 Found\r\nLocation: /file\r\n\r\n", bytes(100_000)),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", bytes(100_000)),
        (b"", chance.randbytes(1000)),
    )
    start, part = chance.choice(starts)
    # Only patience ends what never gets to a body.
    return Said(
        "endless", lambda _: itertools.chain([start], forever(part)), is_slow=b"100 C" in part
    )


def _slow(file: bytes, chance: random.Random) -> Said:
    starts = (
        b"",
        b"HTTP/1.1 200 ",
        OK,
        OK + b"Content-Length: %d\r\n\r\n" % len(file),
        OK + b"\r\n",
        CHUNKED,
        CHUNKED + b"9;",
        CHUNKED + b"0\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /",
    )
    start = chance.choice(starts)
    filling = b"" if chance.random() < 0.3 else b"x"

    def dribble(_: int) -> Iterator[bytes]:
        yield start
        while True:
            time.sleep(SECONDS_BETWEEN_BYTES)
            yield filling

    return Said("a byte now and then" if filling else "silence", dribble, is_slow=True)


def _broken_off(file: bytes, chance: random.Random) -> Said:
    body = chance.choice((file, _zip({"toys.mat": file})))
    whole = b"".join(chance.choice((_sized, _in_chunks))(body)(0))
    end = chance.randrange(len(whole) - 5)
    return Said("broken off", lambda _: [whole[:end]])


def _false_length(file: bytes, chance: random.Random) -> Said:
    claim = chance.choice((*_LENGTHS, str(len(file) + 1), str(len(file) - 1), str(10**9)))
    head = OK + f"Content-Length: {claim}\r\n".encode() * chance.choice((1, 2)) + b"\r\n"
    # Where the length means nothing, what comes until the end may be the right file.
    return Said("a false length", lambda _: [head, file])


def _redirect(_: bytes, chance: random.Random) -> Said:
    status, target = chance.choice((301, 302, 303, 307, 308)), chance.choice(_TARGETS)

    def answer(port: int) -> list[bytes]:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {target.replace('{port}', str(port))}\r\n\r\n"
        return [head.encode()]

    return Said("a redirect", answer)


def _status(_: bytes, chance: random.Random) -> Said:
    status, reason = chance.choice(_STATUS), chance.choice(("", "No", "\x1b[31mred", "x" * 5000))
    return Said("a status", lambda _: [f"HTTP/1.1 {status} {reason}\r\n\r\nbody".encode()])


def _nonsense(_: bytes, chance: random.Random) -> Said:
    whole = mutate(OK + b"Content-Length: 5\r\nConnection: close\r\n\r\nhello", chance)
    said = chance.choice((b"", chance.randbytes(500), b"\r\n" * 1000, whole, b"SSH-2.0-x\r\n"))
    return Said("nonsense", lambda _: [said])


_WRONG: tuple[Callable[[bytes, random.Random], Said], ...] = (
    _wrong_content, _changed_archive, _changed_archive, _bomb, _endless, _slow, _broken_off,
    _false_length, _redirect, _status, _nonsense,
)  # fmt: skip


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _sized(body: bytes) -> Answer:
    return lambda _: [OK + b"Content-Length: %d\r\n\r\n" % len(body), body]


def _unsized(body: bytes) -> Answer:
    return lambda _: [OK + b"\r\n", body]


def _in_chunks(body: bytes) -> Answer:
    parts = [body[begin : begin + 999] for begin in range(0, len(body), 999)]
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return lambda _: [CHUNKED, *chunks, b"0\r\n\r\n"]
