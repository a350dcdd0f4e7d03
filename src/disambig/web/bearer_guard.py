"""Answer only who has the token: in a header, as programs send it, or in the address."""

import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response

from disambig.web.token_guard import TokenGuard, error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_SCHEME = "bearer "


class BearerGuard(TokenGuard):
    """Lets requests in whose header says ``Authorization: Bearer TOKEN``, and those to /health.

    Whoever can set that header knows the token, so it does not matter under which name the server
    was found, nor which page asks. Everybody else is judged as by ``TokenGuard``. Behind an address
    that is not of this machine alone, a server may have any name.
    """

    def __init__(self, app: "ASGIApp", *, token: str, port: int, is_local: bool = True) -> None:
        super().__init__(app, token=token, port=port)
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
