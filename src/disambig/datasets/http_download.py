"""Download a file over HTTP, of a limited size, from a server that may be hostile."""

import contextlib
import http.client
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

from disambig._core.errors import DownloadError
from disambig._core.files import DISK_ERRORS

_SECONDS_OF_SILENCE = 30
# A server that has sent less than this, once the first seconds are over, is hung up on.
_SLOWEST = 4_000  # bytes a second, on average
_FIRST_SECONDS = 60.0
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PART = 1 << 16


def download_file(address: str, path: Path, *, most_bytes: int, progress: Any = None) -> None:
    """Write what an address has to a file, if it is no more than so many bytes.

    Raises DownloadError with the reason alone, and OSError where the disk is full. ``progress`` may
    be a progress bar: it is ``reset``, its ``total`` is set, and ``update`` is called with the
    number of bytes that came.
    """
    with _Patience() as patience:
        try:
            with _open(address, patience) as response, path.open("wb") as file:
                for part in _parts(response, most_bytes, progress):
                    patience.received += len(part)
                    file.write(part)
        # ValueError: an address that cannot be one, or a line that is not of HTTP.
        except (OSError, ValueError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno in DISK_ERRORS:
                raise
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            reason = patience.complaint or str(cause) or type(error).__name__
            raise DownloadError(reason.rstrip(".")) from error
    if patience.complaint:  # a connection that is cut looks to its reader like one that ended
        raise DownloadError(patience.complaint)


def _open(address: str, patience: "_Patience") -> http.client.HTTPResponse:
    """Return the answer that an address leads to, by redirects that do not lose security."""
    opener = urllib.request.OpenerDirector()
    # Nothing but these: no files, no FTP, and redirects are followed here, without their bodies.
    opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(_WatchedConnections(patience))
    opener.addheaders = [("User-Agent", "disambig")]
    scheme_before = ""
    for _ in range(_MOST_REDIRECTS + 1):
        scheme = urlsplit(address).scheme  # in small letters, however it is written
        if scheme not in ("http", "https"):
            raise DownloadError(f"an address begins with http:// or https://. Got {address!r}")
        if (scheme_before, scheme) == ("https", "http"):
            raise DownloadError(
                f"it leads from https to {address!r}. If you trust that, name it as the address"
            )
        response: http.client.HTTPResponse = opener.open(address, timeout=_SECONDS_OF_SILENCE)
        target = response.getheader("Location")
        if response.status not in _REDIRECTS or target is None:
            break
        response.close()
        scheme_before, address = scheme, urljoin(address, target)
    else:
        raise DownloadError(f"it leads from address to address, more than {_MOST_REDIRECTS} times")
    if response.status != http.client.OK:
        response.close()
        raise DownloadError(f"the server answered {response.status} {response.reason}".rstrip())
    return response


def _parts(response: http.client.HTTPResponse, most_bytes: int, progress: Any) -> Iterator[bytes]:
    """Yield the body of an answer in parts; refuse one that is too long, or broken off."""
    length, received = response.length, 0
    too_long = f"at most {most_bytes:,} bytes are taken from there"
    if length is not None and length > most_bytes:
        raise DownloadError(f"it claims to have {length:,} bytes, and {too_long}")
    if progress is not None:
        progress.reset()
        progress.total = length or 0
    # As much as there is: waiting for a whole part would take ages where bytes come one by one.
    while part := response.read1(_PART):
        received += len(part)
        if received > most_bytes:
            raise DownloadError(f"it sends more and more bytes, and {too_long}")
        if progress is not None:
            progress.update(len(part))
        yield part
    if length is not None and received < length:
        raise DownloadError(f"it broke off after {received:,} of {length:,} bytes")


class _Patience:
    """Hangs up on a server that is too slow, from a thread beside the one that reads.

    Whatever is sent slowly: a time-out of the socket begins anew with every byte.
    """

    def __init__(self) -> None:
        self.received = 0
        self.complaint = ""
        self.sockets: list[socket.socket] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        begin = time.monotonic()
        while not self._over.wait(_FIRST_SECONDS / 60):
            seconds = time.monotonic() - begin
            if seconds > _FIRST_SECONDS and self.received < _SLOWEST * seconds:
                self.complaint = (
                    f"only {self.received:,} bytes came in {seconds:.0f} seconds, and fewer than "
                    f"{_SLOWEST:,} a second are too few"
                )
                for connected in list(self.sockets):
                    with contextlib.suppress(OSError):
                        connected.shutdown(socket.SHUT_RDWR)


class _WatchedConnections(urllib.request.AbstractHTTPHandler):
    """Opens connections that patience with the server can end."""

    def __init__(self, patience: _Patience) -> None:
        super().__init__()

        class Plain(http.client.HTTPConnection):
            def connect(self) -> None:
                super().connect()
                patience.sockets.append(self.sock)

        class Secure(http.client.HTTPSConnection):
            def connect(self) -> None:
                super().connect()  # with the handshake, whose parts share one time-out
                patience.sockets.append(self.sock)

        self._plain, self._secure = Plain, Secure

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._plain, request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._secure, request)

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_
