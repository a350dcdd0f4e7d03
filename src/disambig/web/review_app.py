"""The application of a review: the page, its decisions, rows in full, and what comes of it."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from disambig._core.errors import DisambigError
from disambig.tabular.labels.decision_log import Conflict
from disambig.tabular.labels.decisions import Answer, Decision, NotThese, labels_decided
from disambig.web.reasons_route import row_number
from disambig.web.review_log import ReviewLog, Standing
from disambig.web.token_guard import error_response, json_response

_MAX_BODY = 100_000
_SECONDS_FOR_BODY = 10
_NOT_THIS = "not this"
_NOT_A_DECISION = "A decision needs a row, a label, an answer, and what stood before."
_ANSWERS = {each.value: each for each in Answer}


def review_app(
    page: Callable[[], str],
    log: ReviewLog,
    classes: Sequence[str],
    n_rows: int,
    *,
    of_groups: Callable[[Mapping[int, str]], Mapping[str, Any]] | None = None,
    values_of: Callable[[int], list[str]] | None = None,
    results: Callable[[], list[str]] | None = None,
    more_routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Return the application: the page, and the decisions on so many rows and these labels.

    ``page`` is made anew for every visit. ``of_groups`` returns what all decisions that stand say
    of other rows. It is asked anew for every answer, so that tabs, undone decisions and a new start
    see the same. ``values_of`` returns the texts of a row in full, ``results`` what came of the
    review, in sentences.
    """
    known = frozenset(classes)

    def content_of(standing: Standing) -> dict[str, Any]:
        undo = standing.undo
        content: dict[str, Any] = {
            "settled": [[row + 1, *decision_fields(one)] for row, one in standing.settled.items()],
            "undo": None if undo is None else [undo[0] + 1, *decision_fields(undo[1])],
        }
        if standing.checked:
            checked = [[row + 1, *decision_fields(one)] for row, one in standing.checked.items()]
            content["checked"] = checked
        return content | (
            {} if of_groups is None else dict(of_groups(labels_decided(standing.settled)))
        )

    async def answer(standing: Standing, status: int = 200) -> Response:
        return json_response(await run_in_threadpool(content_of, standing), status)

    async def show_page(_: Request) -> Response:
        text = await run_in_threadpool(page)
        return HTMLResponse(text.encode("utf-8", "backslashreplace"))

    async def read_decisions(_: Request, status: int = 200) -> Response:
        try:
            standing = await run_in_threadpool(log.standing)
        except (OSError, DisambigError) as error:
            return error_response(f"{log.log.path} cannot be read: {error}", 500)
        return await answer(standing, status)

    async def decide(request: Request) -> Response:
        try:
            row, decision, before = _parse_decision(await _read_body(request))
        except ValueError as error:
            return error_response(str(error))
        if not 1 <= row <= n_rows:
            return error_response(f"The rows are 1 to {n_rows}.")
        if not _labels_of(decision) <= known:
            return error_response("This label is not one of the classes.")
        try:
            standing = await run_in_threadpool(log.decide, row - 1, decision, before=before)
        except Conflict:
            return await read_decisions(request, status=409)
        except (OSError, DisambigError) as error:
            return error_response(f"The decision could not be written: {error}", 500)
        return await answer(standing)

    async def show_row(request: Request) -> Response:
        number = row_number(request.query_params.get("row", ""), n_rows)
        if number is None or values_of is None:
            return error_response(f"The rows are 1 to {n_rows}.", 404)
        return json_response({"values": await run_in_threadpool(values_of, number - 1)})

    async def show_results(_: Request) -> Response:
        try:
            sentences = [] if results is None else await run_in_threadpool(results)
        except (OSError, DisambigError) as error:
            return error_response(f"{log.log.path} cannot be read: {error}", 500)
        return json_response({"sentences": sentences})

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/decisions", read_decisions, methods=["GET"]),
            Route("/decisions", decide, methods=["POST"]),
            Route("/row", show_row),
            Route("/results", show_results),
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


def _parse_decision(body: bytes) -> tuple[int, Decision | None, Decision | None]:
    """Return the number of a row, the decision, and the one that was thought to stand."""
    try:
        content = json.loads(body)
        row, label, before = content["row"], content["label"], content["before"]
        decision = _decision_of(label, content.get("answer"))
        stood = None if before is None else _decision_of(*before)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(_NOT_A_DECISION) from error
    if type(row) is not int or isinstance(before, str):
        raise ValueError(_NOT_A_DECISION)
    if isinstance(label, str) and isinstance(decision, NotThese) and isinstance(stood, NotThese):
        decision = NotThese(decision.labels | stood.labels)  # one more; a list says which they are
    return row, decision, stood


def _decision_of(label: object, answer: object) -> Decision | None:
    if label is None:
        return None if answer is None else _ANSWERS[answer]  # type: ignore[index]
    if isinstance(label, str) and answer is None:
        return label
    labels: list[Any] = label if isinstance(label, list) else [label]
    if answer != _NOT_THIS or not labels or not all(isinstance(one, str) for one in labels):
        raise ValueError(_NOT_A_DECISION)
    return NotThese(frozenset(labels))


def _labels_of(decision: Decision | None) -> frozenset[str]:
    if isinstance(decision, NotThese):
        return decision.labels
    return frozenset([decision] if isinstance(decision, str) else [])


def decision_fields(decision: Decision | None) -> list[Any]:
    """Return label and answer, as the page reads and sends them."""
    if isinstance(decision, NotThese):
        return [sorted(decision.labels), _NOT_THIS]
    if isinstance(decision, Answer):
        return [None, decision.value]
    return [decision, None]
