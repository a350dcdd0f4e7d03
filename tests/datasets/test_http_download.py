"""Whatever a server does, a download ends: with the file, or with the reason why not."""

import http.client
import itertools
import socket
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from disambig._core.errors import DownloadError
from disambig.datasets import http_download
from disambig.datasets.http_download import download_file

OK = b"HTTP/1.1 200 OK\r\n"
BEGIN_CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LIMIT = 1000
Serve = Callable[[Callable[[], Iterable[bytes]]], str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Return what starts a server that says the same to everybody, and returns its address."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as ended:

        def start(answer: Callable[[], Iterable[bytes]]) -> str:
            listening = ended.enter_context(socket.create_server(("127.0.0.1", 0)))
            thread = threading.Thread(target=_answer_all, args=(listening, answer))
            thread.start()
            ended.callback(thread.join)
            ended.callback(lambda: listening.shutdown(socket.SHUT_RDWR))
            return f"http://127.0.0.1:{listening.getsockname()[1]}/file"

        yield start


def _answer_all(listening: socket.socket, answer: Callable[[], Iterable[bytes]]) -> None:
    with suppress(OSError):
        while True:
            client, _ = listening.accept()
            with client, suppress(OSError):
                client.recv(10_000)
                for part in answer():
                    client.sendall(part)


def refusal(address: str, path: Path) -> str:
    """Return why nothing is downloaded from an address."""
    with pytest.raises(DownloadError) as caught:
        download_file(address, path, most_bytes=LIMIT)
    assert not path.exists() or path.stat().st_size <= LIMIT
    return str(caught.value)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(OK + b"Content-Length: 1000\r\n\r\n" + bytes(1000), id="its length"),
        pytest.param(OK + b"\r\n" + bytes(1000), id="its end"),
        pytest.param(BEGIN_CHUNKS + b"3E8\r\n" + bytes(1000) + b"\r\n0\r\n\r\n", id="chunks"),
    ],
)
def test_a_file_up_to_the_limit_comes_whole(serve: Serve, tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "file"
    download_file(serve(lambda: [head]), path, most_bytes=LIMIT)
    assert path.read_bytes() == bytes(1000)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda: itertools.chain([OK + b"\r\n"], itertools.repeat(b"x" * 99)), id="x"),
        pytest.param(
            lambda: itertools.chain(
                [BEGIN_CHUNKS], itertools.repeat(b"64\r\n" + bytes(100) + b"\r\n")
            ),
            id="chunks",
        ),
        pytest.param(lambda: [BEGIN_CHUNKS + b"FFFFFFFFFFFFFFFFFFFF\r\n" + bytes(2000)], id="one"),
        pytest.param(lambda: [OK + b"Content-Length: 1001\r\n\r\n" + bytes(1001)], id="one byte"),
        pytest.param(lambda: [OK + b"Content-Length: 99999999999\r\n\r\n"], id="a claim"),
    ],
)
def test_more_than_the_limit_is_refused(serve: Serve, tmp_path: Path, answer) -> None:
    assert "at most 1,000 bytes are taken from there" in refusal(serve(answer), tmp_path / "x")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "Remote end closed connection"),
        (b"nonsense\r\n\r\n", "nonsense"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "the server answered 404 Not Found"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "the server answered 204"),
        (b"HTTP/1.1 302 Found\r\n\r\n", "the server answered 302"),
        (OK + b"Content-Length: 9\r\n\r\nhalf", "broke off after 4 of 9 bytes"),
        (BEGIN_CHUNKS + b"9\r\nhalf", "IncompleteRead"),
        (BEGIN_CHUNKS + b"zz\r\nhalf", "IncompleteRead|zz"),
        (OK + b"x" * 70_000, "got more than 65536 bytes"),
        (OK + b"a: b\r\n" * 200 + b"\r\n", "got more than 100 headers"),
    ],
)
def test_what_is_not_a_whole_answer_is_refused(serve, tmp_path, said, reason) -> None:
    found = refusal(serve(lambda: [said]), tmp_path / "file")
    assert any(one in found for one in reason.split("|")), found


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"HTTP/1.1 200 ", id="status line"),
        pytest.param(OK, id="headers"),
        pytest.param(OK + b"Content-Length: 900\r\n\r\n", id="body"),
        pytest.param(BEGIN_CHUNKS + b"9;", id="size of a chunk"),
        pytest.param(BEGIN_CHUNKS + b"0\r\n", id="after the chunks"),
    ],
)
def test_a_byte_now_and_then_is_too_few(serve, tmp_path, monkeypatch, start) -> None:
    monkeypatch.setattr(http_download, "_FIRST_SECONDS", 0.3)

    def dribble() -> Iterator[bytes]:
        yield start
        while not stopped.wait(0.01):
            yield b"x"

    stopped = threading.Event()
    try:
        assert "a second are too few" in refusal(serve(dribble), tmp_path / "file")
    finally:
        stopped.set()


def test_silence_is_too_few(serve, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(http_download, "_SECONDS_OF_SILENCE", 0.2)
    stopped = threading.Event()
    address = serve(lambda: [OK + b"Content-Length: 900\r\n\r\n", b""[stopped.wait() :]])
    try:
        assert "timed out" in refusal(address, tmp_path / "file")
    finally:
        stopped.set()


def test_a_redirect_is_followed_without_its_endless_body(serve, tmp_path) -> None:
    target = serve(lambda: [OK + b"\r\nhello"])
    head = f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n".encode()
    address = serve(lambda: itertools.chain([head], itertools.repeat(bytes(10_000))))
    download_file(address, tmp_path / "file", most_bytes=LIMIT)
    assert (tmp_path / "file").read_bytes() == b"hello"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/file", "leads from address to address, more than 5 times"),
        ("file:///etc/hosts", "an address begins with http:// or https://. Got 'file:///etc"),
        ("ftp://127.0.0.1/file", "an address begins with"),
        ("data:,hello", "an address begins with"),
        ("http://", "leads from address to address"),
        ("http://[", "Invalid IPv6 URL"),
        ("http://a b/", "control characters"),
    ],
)
def test_a_redirect_elsewhere_is_refused(serve, tmp_path, target, reason) -> None:
    head = f"HTTP/1.1 301 Moved\r\nLocation: {target}\r\n\r\n".encode()
    assert reason in refusal(serve(lambda: [head]), tmp_path / "file")


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_a_redirect_does_not_lose_security(monkeypatch, tmp_path, scheme) -> None:
    class Found:
        status = http.client.FOUND

        def getheader(self, _: str) -> str:
            return f"{scheme}://example.org/file"

        def close(self) -> None:
            pass

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", lambda *_, **__: Found())
    reason = refusal("https://example.org/file", tmp_path / "file")
    assert reason.startswith(f"it leads from https to '{scheme}://example.org/file'")
