"""Who may talk to the page: whoever knows its address, from that address, on this machine."""

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["OnlyFromItsOwnAddress"]

# Typed into the browser, or asked for by the page itself.
_SITES = ("none", "same-origin")
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class OnlyFromItsOwnAddress:
    """Refuses every request without the token, under another host, or from another origin.

    A page of another site may make a browser ask for anything on this machine, and a name of its
    own may be made to mean this machine: neither knows the token, and neither gets an answer.

    Parameters
    ----------
    app : ASGI application
        What is asked otherwise; it sees paths without the token.
    token : str
        The first part of every path.
    port : int
        Where it is served.
    """

    def __init__(self, app: "ASGIApp", *, token: str, port: int) -> None:
        self._app = app
        self._root = f"/{token}/"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        if scope["type"] == "http" and self._may_ask(scope):
            inside = {**scope, "path": scope["path"][len(self._root) - 1 :], "raw_path": None}
            await self._app(inside, receive, send_with_headers)
        else:
            refusal = JSONResponse({"error": "This address is not known here."}, status_code=403)
            await refusal(scope, receive, send_with_headers)

    def _may_ask(self, scope: "Scope") -> bool:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        begin = scope["path"][: len(self._root)]
        return (
            host in self._hosts
            # In a time that does not depend on where they differ.
            and secrets.compare_digest(begin.encode(), self._root.encode())
            # A browser names the origin of whatever changes something.
            and (origin == f"http://{host}" or (origin is None and scope["method"] == "GET"))
            and headers.get("sec-fetch-site", "none") in _SITES
        )
