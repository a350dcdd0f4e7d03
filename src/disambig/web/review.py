"""Settle doubtful rows in a browser: one person, this machine."""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from disambig._core.errors import DisambigError
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.defaults import DEFAULT_ROWS_SHOWN
from disambig.tabular.labels.decision_log import Conflict, DecisionLog
from disambig.tabular.labels.decisions import DecidedRows, labels_decided
from disambig.web.doubtful_rows import SETTLE_SCRIPTS, doubtful_data, settle_section
from disambig.web.group_rows import GroupAnswers
from disambig.web.owner_server import OwnerServer, listen_on_this_machine
from disambig.web.shell import render_page
from disambig.web.token_guard import TokenGuard, error_response, json_response

_TOKEN_BYTES = 24
_MAX_BODY = 100_000
_SECONDS_FOR_BODY = 10
_NOT_A_DECISION = "A decision needs a row, a label and the label before."


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
    more_routes: Sequence[BaseRoute] = (),
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
        return json_response(await run_in_threadpool(content_of, settled), status)

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page.encode("utf-8", "backslashreplace"))

    async def read_decisions(_: Request, status: int = 200) -> Response:
        try:
            settled = await run_in_threadpool(log.settled)
        except (OSError, DisambigError) as error:
            return error_response(f"{log.path} cannot be read: {error}", 500)
        return await answer(labels_decided(settled), status)

    async def decide(request: Request) -> Response:
        try:
            row, label, before = _parse_decision(await _read_body(request))
        except ValueError as error:
            return error_response(str(error))
        if not 1 <= row <= n_rows:
            return error_response(f"The rows are 1 to {n_rows}.")
        if label is not None and label not in known:
            return error_response("This label is not one of the classes.")
        try:
            settled = await run_in_threadpool(log.settle, row - 1, label, before=before)
        except Conflict:
            return await read_decisions(request, status=409)
        except (OSError, DisambigError) as error:
            return error_response(f"The decision could not be written: {error}", 500)
        return await answer(labels_decided(settled))

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/decisions", read_decisions, methods=["GET"]),
            Route("/decisions", decide, methods=["POST"]),
            *more_routes,
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
