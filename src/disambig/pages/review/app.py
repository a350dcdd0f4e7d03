"""What the server of a review answers: the page, the decisions so far, and one more of them."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from disambig._core.errors import DisambigError
from disambig.tables.labels.decision_log import Conflict, DecisionLog

__all__ = ["review_app"]

_MOST_BYTES = 100_000
_FORM = "A decision has a row, a label and the label before."


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
        return HTMLResponse(page.encode("utf-8", "backslashreplace"))

    async def tell(_: Request) -> Response:
        return await _answer()

    async def decide(request: Request) -> Response:
        try:
            row, label, before = _read(await _body(request))
        except ValueError as error:
            return _refusal(str(error))
        if not 1 <= row <= n_rows:
            return _refusal(f"There are the rows 1 to {n_rows}.")
        if label is not None and label not in known:
            return _refusal("There is no such label.")
        try:
            settled = await run_in_threadpool(log.settle, row - 1, label, before=before)
        except Conflict:
            return await _answer(status=409)
        except (OSError, DisambigError) as error:
            return _json({"error": f"It could not be written: {error}"}, 500)
        return _told(settled)

    async def _answer(status: int = 200) -> Response:
        try:
            return _told(await run_in_threadpool(log.settled), status)
        except (OSError, DisambigError) as error:
            return _json({"error": f"{log.path} cannot be read: {error}"}, 500)

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


def _read(body: bytes) -> tuple[int, str | None, str | None]:
    """Return the number of a row, the label chosen, and the one that was thought to stand."""
    try:
        content: Any = json.loads(body)
        row, label, before = content["row"], content["label"], content["before"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(_FORM) from error
    is_label = isinstance(label, str | None) and isinstance(before, str | None)
    if type(row) is not int or not is_label:
        raise ValueError(_FORM)
    return row, label, before


def _told(settled: Mapping[int, str], status: int = 200) -> Response:
    return _json({"settled": [[row + 1, label] for row, label in settled.items()]}, status)


def _refusal(error: str) -> Response:
    return _json({"error": error}, 400)


def _json(content: object, status: int) -> Response:
    # In ASCII, which half a character is no obstacle to.
    return Response(json.dumps(content), status, media_type="application/json")
