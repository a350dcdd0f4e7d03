"""Answer only who has the token: in a header, as programs send it, or in the address."""

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response

from disambig.web.owner_server import LOOPBACK
from disambig.web.token_guard import LOOPBACK_NAMES, TokenGuard, error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SCHEME = "bearer "


class BearerGuard(TokenGuard):
    """Lets requests in whose header says ``Authorization: Bearer TOKEN``, and those to /health.

    Whoever can set that header knows the token, so it does not matter under which name the server
    was found, nor which page asks. Everybody else is judged as by ``TokenGuard``. Behind an address
    that is not of this machine alone, a server may have any name, and a proxy with TLS before it.
    """

    def __init__(
        self,
        app: "ASGIApp",
        *,
        token: str,
        port: int,
        host: str = LOOPBACK,
        is_local: bool = True,
    ) -> None:
        super().__init__(app, token=token, port=port, names=(host, *LOOPBACK_NAMES))
        self._token = token
        self._is_local = is_local

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "http" and scope["path"] == "/health" and scope["method"] == "GET":
            await self._app(scope, receive, send)  # says whether it is ready, and nothing else
        else:
            await super().__call__(scope, receive, send)

    def _refusal(self) -> Response:
        refusal = error_response(
            "This needs the token of the server: send the header Authorization: Bearer TOKEN, or "
            "open the address that was printed when it was started.",
            401,
        )
        refusal.headers["www-authenticate"] = "Bearer"
        return refusal

    def _path_inside(self, scope: "Scope") -> str | None:
        given = Headers(scope=scope).get("authorization", "")
        if given[: len(_SCHEME)].lower() == _SCHEME:
            same = secrets.compare_digest(given[len(_SCHEME) :].encode(), self._token.encode())
            return scope["path"] if same else None
        return super()._path_inside(scope)

    def _is_host(self, host: str) -> bool:
        return super()._is_host(host) if self._is_local else bool(host)

    def _is_origin(self, origin: str | None, host: str) -> bool:
        by_proxy = not self._is_local and origin == f"https://{host}"
        return by_proxy or super()._is_origin(origin, host)
