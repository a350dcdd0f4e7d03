"""A cache of its own for every test, a server on this machine, and small archives."""

import contextlib
import http.server
import io
import struct
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rarfile

from disambig.datasets.card import DatasetCard

RAR_STORED = 0x30
RAR_COMPRESSED = 0x33


class LoopbackServer(http.server.ThreadingHTTPServer):
    """Serves ``files`` by path, and remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        # What the header claims, where it is not the length.
        self.claimed_lengths: dict[str, int] = {}
        self.asked_for: list[str] = []

    def put(self, path: str, content: bytes) -> str:
        """Serve ``content`` and return its address."""
        self.files[path] = content
        return self.address(path)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: LoopbackServer

    def do_GET(self) -> None:
        self.server.asked_for.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        length = self.server.claimed_lengths.get(self.path, len(content))
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the output of the tests clean."""


@pytest.fixture
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISAMBIG_DATA", raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with LoopbackServer() as loopback:
        thread = threading.Thread(target=loopback.serve_forever, args=(0.01,))
        thread.start()
        yield loopback
        loopback.shutdown()
        thread.join()


@pytest.fixture
def toy_card() -> DatasetCard:
    return DatasetCard(
        name="toy_faces",
        title="Toy faces",
        n_samples=3,
        n_features=2,
        n_classes=4,
        average_candidates=2.0,
        source="http://toys.example/page.htm",
        licence="For play only",
        citation="A. Toy, On faces, 2001",
        hash="sha256:00",
        urls=("http://toys.example/faces.rar",),
        aliases=("toys",),
    )


def make_zip(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def make_rar(members: dict[str, bytes], method: int = RAR_STORED) -> bytes:
    """Write a RAR 4 archive whose members lie in it as they are, whatever ``method`` claims."""
    blocks = [b"Rar!\x1a\x07\x00", _rar_block(0x73, 0, struct.pack("<HI", 0, 0))]
    for name, content in members.items():
        encoded = name.encode("ascii")
        fields = struct.pack(
            "<IIBIIBBHI",
            len(content),  # packed
            len(content),  # unpacked
            3,  # Unix
            zlib.crc32(content),
            0x2A210000,  # the first of January 2001
            20,  # the version of RAR needed
            method,
            len(encoded),
            0o100644,
        )
        blocks += [_rar_block(0x74, 0x8000, fields + encoded), content]
    return b"".join([*blocks, _rar_block(0x7B, 0x4000, b"")])


def _rar_block(kind: int, flags: int, fields: bytes) -> bytes:
    header = struct.pack("<BHH", kind, flags, 7 + len(fields)) + fields
    return struct.pack("<H", zlib.crc32(header) & 0xFFFF) + header


@pytest.fixture(params=[make_zip, make_rar], ids=["zip", "rar"])
def make_archive(request: pytest.FixtureRequest) -> Callable[[dict[str, bytes]], bytes]:
    """Return what writes an archive of members, once as ZIP and once as RAR."""
    return request.param


@pytest.fixture
def compressed_rar() -> bytes:
    """Return a RAR whose member only a program such as unrar could unpack."""
    return make_rar({"toy_faces.mat": b"no such stream"}, method=RAR_COMPRESSED)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Hide every program, and have rarfile look again before and after."""
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        _forget_program()
        yield
    _forget_program()


def _forget_program() -> None:
    with contextlib.suppress(rarfile.RarCannotExec):
        rarfile.tool_setup(force=True)
