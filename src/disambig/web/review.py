"""Settle doubtful rows in a browser: one person, this machine."""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from disambig._core.errors import DisambigError
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.labels.decisions import Conflict, DecidedRows, DecisionLog
from disambig.web.doubtful_rows import SETTLE_SCRIPTS, doubtful_data, settle_section
from disambig.web.group_rows import GroupAnswers
from disambig.web.owner_server import CONNECTION, OwnerServer, listen_on_this_machine
from disambig.web.shell import render_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TOKEN_BYTES = 24
_MAX_BODY = 100_000
_SECONDS_FOR_BODY = 10
_NOT_A_DECISION = "A decision needs a row, a label and the label before."
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


def serve_review(
    rows: CleanedTable,
    decisions: str,
    *,
    title: str,
    most_rows: int = DEFAULT_ROWS_SHOWN,
    ready: Callable[[str, DecisionLog], None],
) -> DecisionLog:
    """Serve until interrupted; return the decisions that were made.

    They are appended to the file ``decisions``; those already in it count. ``ready`` is called with
    the address, which holds the token, and the decisions so far.
    """
    log = DecisionLog(decisions, DecidedRows(rows.values, rows.id))
    data = doubtful_data(rows, most=most_rows, saved_in=decisions)
    app = review_app(
        review_page(data, title=title),
        log,
        rows.candidates.classes.tolist(),
        len(rows.candidates),
        group_answers(rows, data),
    )
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    # A browser that comes before the server waits.
    with listen_on_this_machine() as listening:
        port = listening.getsockname()[1]
        server = OwnerServer(TokenGuard(app, token=token, port=port))
        ready(f"http://127.0.0.1:{port}/{token}/", log)
        with suppress(KeyboardInterrupt):  # how a review ends
            server.run(sockets=[listening])
    return log


def group_answers(rows: CleanedTable, data: Mapping[str, Any]) -> GroupAnswers | None:
    """Return what decisions say of other rows of a page; None where they say nothing."""
    groups = data["groups"]
    if groups is None or not any(groups["isTold"]):
        return None
    return GroupAnswers(rows, [row[0] for row in [*data["rows"], *groups["mates"]]])


def review_page(data: Mapping[str, Any], *, title: str) -> str:
    """Return the page, which sends decisions to the server that it comes from.

    ``data`` is what ``doubtful_data`` returned.
    """
    return render_page(
        title=title,
        lead="The most doubtful rows first: choose the label that is right.",
        sections=[settle_section(data["savedIn"])],
        scripts=SETTLE_SCRIPTS,
        data={"doubtful": data},
        connects=True,
    )


def review_app(
    page: str,
    log: DecisionLog,
    classes: list[str],
    n_rows: int,
    of_groups: Callable[[Mapping[int, str]], Mapping[str, Any]] | None = None,
) -> Starlette:
    """Return the application: the page, and the decisions on so many rows and these labels.

    ``of_groups`` returns what all decisions that stand say of other rows. It is asked anew for
    every answer, so that tabs, undone decisions and a new start see the same.
    """
    known = frozenset(classes)

    def content_of(settled: Mapping[int, str]) -> dict[str, Any]:
        decisions = [[row + 1, label] for row, label in settled.items()]
        return {"settled": decisions, **({} if of_groups is None else of_groups(settled))}

    async def answer(settled: Mapping[int, str], status: int = 200) -> Response:
        return _json_response(await run_in_threadpool(content_of, settled), status)

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page.encode("utf-8", "backslashreplace"))

    async def read_decisions(_: Request, status: int = 200) -> Response:
        try:
            settled = await run_in_threadpool(log.settled)
        except (OSError, DisambigError) as error:
            return _error_response(f"{log.path} cannot be read: {error}", 500)
        return await answer(settled, status)

    async def decide(request: Request) -> Response:
        try:
            row, label, before = _parse_decision(await _read_body(request))
        except ValueError as error:
            return _error_response(str(error))
        if not 1 <= row <= n_rows:
            return _error_response(f"The rows are 1 to {n_rows}.")
        if label is not None and label not in known:
            return _error_response("This label is not one of the classes.")
        try:
            settled = await run_in_threadpool(log.settle, row - 1, label, before=before)
        except Conflict:
            return await read_decisions(request, status=409)
        except (OSError, DisambigError) as error:
            return _error_response(f"The decision could not be written: {error}", 500)
        return await answer(settled)

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/decisions", read_decisions, methods=["GET"]),
            Route("/decisions", decide, methods=["POST"]),
        ]
    )


async def _read_body(request: Request) -> bytes:
    # A form of another page cannot send this type without asking first.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ValueError("A decision must be sent as application/json.")
    body = b""
    try:
        async with asyncio.timeout(_SECONDS_FOR_BODY):
            async for part in request.stream():
                body += part
                if len(body) > _MAX_BODY:
                    raise ValueError(f"The request body is larger than {_MAX_BODY // 1000} kB.")
    except TimeoutError:
        raise ValueError(
            f"The request body did not come within {_SECONDS_FOR_BODY} seconds."
        ) from None
    except ClientDisconnect:
        raise ValueError("The request body broke off.") from None  # nobody reads that
    return body


def _parse_decision(body: bytes) -> tuple[int, str | None, str | None]:
    """Return the number of a row, the label chosen, and the one that was thought to stand."""
    try:
        content = json.loads(body)
        row, label, before = content["row"], content["label"], content["before"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(_NOT_A_DECISION) from error
    is_label = isinstance(label, str | None) and isinstance(before, str | None)
    if type(row) is not int or not is_label:
        raise ValueError(_NOT_A_DECISION)
    return row, label, before


def _error_response(error: str, status: int = 400) -> Response:
    return _json_response({"error": error}, status)


def _json_response(content: object, status: int) -> Response:
    # ASCII, so that lone surrogates can be sent.
    return Response(json.dumps(content), status, media_type="application/json")


class TokenGuard:
    """Refuses every request without the token, under another host, or from another origin.

    A page of another site can make a browser send requests to this machine, and a foreign host name
    can be made to point to it. Neither knows the token, so neither gets an answer. The token is the
    first part of every path; the application sees paths without it.
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
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        if scope["type"] == "http" and self._is_allowed(scope):
            inner = {**scope, "path": scope["path"][len(self._root) - 1 :], "raw_path": None}
            connection = scope.get("state", {}).get(CONNECTION)
            with connection.answering() if connection is not None else nullcontext():
                await self._app(inner, receive, send_with_headers)
        else:
            refusal = _error_response("This address is not known here.", 403)
            await refusal(scope, receive, send_with_headers)

    def _is_allowed(self, scope: "Scope") -> bool:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        root = scope["path"][: len(self._root)]
        return (
            host in self._hosts
            # In a time that does not depend on where they differ.
            and secrets.compare_digest(root.encode(), self._root.encode())
            # A browser names the origin of every request that changes something.
            and (origin == f"http://{host}" or (origin is None and scope["method"] == "GET"))
            and headers.get("sec-fetch-site", "none") in _SITES
        )
