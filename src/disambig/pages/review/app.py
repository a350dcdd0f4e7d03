"""What the server of a review answers: the page, the decisions so far, and one more of them."""

import json
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from disambig._core.errors import DisambigError
from disambig.tables.labels.decision_log import Conflict, Decision, DecisionLog

__all__ = ["review_app"]

_MOST_BYTES = 100_000
_MOST_DIGITS = 15


def review_app(page: str, log: DecisionLog, classes: list[str], n_rows: int) -> Starlette:
    """Return the application.

    Parameters
    ----------
    page : str
        The HTML page.
    log : DecisionLog
        Where decisions go.
    classes : list of str
        Labels that may be decided on.
    n_rows : int
        Rows of the table.
    """
    known = frozenset(classes)

    async def show(_: Request) -> Response:
        return HTMLResponse(page)

    async def tell(request: Request) -> Response:
        since = request.query_params.get("since", "0")
        if not since.isdecimal() or len(since) > _MOST_DIGITS:
            return _refusal("'since' is a number.")
        return await _answer(int(since))

    async def decide(request: Request) -> Response:
        try:
            decision, seen = _read(await _body(request))
        except ValueError as error:
            return _refusal(str(error))
        if not 0 <= decision.row < n_rows:
            return _refusal(f"There are the rows 1 to {n_rows}.")
        if decision.label is not None and decision.label not in known:
            return _refusal("There is no such label.")
        try:
            await run_in_threadpool(log.append, decision, seen=seen)
        except Conflict:
            return await _answer(seen, status=409)
        except (OSError, DisambigError) as error:
            return JSONResponse({"error": f"It could not be written: {error}"}, status_code=500)
        return await _answer(seen)

    async def _answer(since: int, status: int = 200) -> Response:
        try:
            made = await run_in_threadpool(log.since, 0)
        except (OSError, DisambigError) as error:
            return JSONResponse({"error": f"{log.path} cannot be read: {error}"}, status_code=500)
        # Somebody has put another file there, with less in it: it counts from its beginning.
        start = since if since <= len(made) else 0
        content = {"decisions": [[one.row + 1, one.label] for one in made[start:]]}
        return JSONResponse(content | {"next": len(made)}, status_code=status)

    return Starlette(
        routes=[
            Route("/", show),
            Route("/decisions", tell, methods=["GET"]),
            Route("/decisions", decide, methods=["POST"]),
        ]
    )


async def _body(request: Request) -> bytes:
    # A form of another page cannot be of this type without asking first.
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ValueError("A decision is JSON.")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise ValueError("A decision is short.")
    return body


def _read(body: bytes) -> tuple[Decision, int]:
    try:
        content: Any = json.loads(body)
        row, label, seen = content["row"], content["label"], content["seen"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError("A decision has a row, a label and a number seen.") from error
    is_number = type(row) is int and type(seen) is int and seen >= 0
    if not is_number or not isinstance(label, str | None):
        raise ValueError("A decision has a row, a label and a number seen.")
    return Decision(row - 1, label), seen


def _refusal(error: str) -> Response:
    return JSONResponse({"error": error}, status_code=400)
