"""Answer only who has the token, under this host, from this page."""

import json
import secrets
from contextlib import nullcontext
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response

from disambig.web.owner_server import CONNECTION, LOOPBACK

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = (LOOPBACK, "localhost")
_USUAL_PORT = 80
# Values of sec-fetch-site: typed into the browser, or asked for by the page itself.
_SITES = ("none", "same-origin")
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class TokenGuard:
    """Refuses every request without the token, under another host, or from another origin.

    A page of another site can make a browser send requests to this machine, and a foreign host name
    can be made to point to it. Neither knows the token, so neither gets an answer. The token is the
    first part of every path; the application sees paths without it.
    """

    def __init__(
        self, app: "ASGIApp", *, token: str, port: int, names: tuple[str, ...] = LOOPBACK_NAMES
    ) -> None:
        self._app = app
        self._root = f"/{token}/"
        self._hosts = {f"{name}:{port}" for name in names}
        if port == _USUAL_PORT:  # which browsers leave out
            self._hosts.update(names)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        path = self._path_inside(scope) if scope["type"] == "http" else None
        if path is not None:
            inner = {**scope, "path": path, "raw_path": None}
            connection = scope.get("state", {}).get(CONNECTION)
            with connection.answering() if connection is not None else nullcontext():
                await self._app(inner, receive, send_with_headers)
        else:
            await self._refusal()(scope, receive, send_with_headers)

    def _refusal(self) -> Response:
        return error_response("This address is not known here.", 403)

    def _path_inside(self, scope: "Scope") -> str | None:
        """Return the path that the application sees; None for a request that is refused."""
        return scope["path"][len(self._root) - 1 :] if self._is_allowed(scope) else None

    def _is_allowed(self, scope: "Scope") -> bool:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        root = scope["path"][: len(self._root)]
        return (
            self._is_host(host)
            # In a time that does not depend on where they differ.
            and secrets.compare_digest(root.encode(), self._root.encode())
            # A browser names the origin of every request that changes something.
            and (self._is_origin(origin, host) or (origin is None and scope["method"] == "GET"))
            and headers.get("sec-fetch-site", "none") in _SITES
        )

    def _is_host(self, host: str) -> bool:
        return host in self._hosts

    def _is_origin(self, origin: str | None, host: str) -> bool:
        return origin == f"http://{host}"


def error_response(error: str, status: int = 400) -> Response:
    """Return a refusal, with what was wrong."""
    return json_response({"error": error}, status)


def json_response(content: object, status: int = 200) -> Response:
    """Return an answer for a script of the page."""
    # ASCII, so that lone surrogates can be sent.
    return Response(json.dumps(content), status, media_type="application/json")
