"""The application that serves predictions: its routes, and what each answers."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from disambig.tabular.model_folder import ModelParts
from disambig.web.serve_batches import BatchPredictor, ServeLimits
from disambig.web.serve_metrics import CONTENT_TYPE, ServeMetrics
from disambig.web.serve_openapi import openapi
from disambig.web.serve_page import serve_page
from disambig.web.serve_requests import RequestError, read_head
from disambig.web.serve_rows import check_can_be_served
from disambig.web.token_guard import error_response, json_response

_SECONDS_FOR_BODY = 30
_TIMES_HEARD = 10  # so many times the limit, before a client is cut off
_RETRY_AFTER = {429: "1", 503: "1"}
_log = logging.getLogger(__name__)


def model_app(
    model: ModelParts, *, name: str = "a model", limits: ServeLimits | None = None
) -> Starlette:
    """Return the ASGI application that predicts by a model, for a server of your own.

    It answers everybody: ``serve_model`` and ``disambig serve`` put a token before it.

    Parameters
    ----------
    model : TableModel
        What ``load_model`` returned; with ``only_predict=True`` it needs less memory.
    name : str, default="a model"
        What pages call it.
    limits : ServeLimits, optional
        What it takes, and when it predicts.

    See Also
    --------
    serve_model : Serves it on this machine.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import fit_table
    >>> from disambig.web import model_app
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> model = fit_table(
    ...     frame, method="plknn", id="vehicle", truth="checked", n_folds=0
    ... )
    >>> app = model_app(model, name="vehicles")
    >>> [route.path for route in app.routes]
    ['/', '/predict', '/health', '/metrics', '/openapi.json']
    """
    check_can_be_served(model)
    limits = limits or ServeLimits()
    metrics = ServeMetrics()
    predictor = BatchPredictor(model, limits, metrics)
    description = openapi(model, name=name, limits=limits)
    page = serve_page(model, name=name).encode("utf-8", "backslashreplace")

    async def predict(request: Request) -> Response:
        begun = time.perf_counter()
        response = await _answered(request, predictor, limits)
        metrics.count_answer(response.status_code, time.perf_counter() - begun)
        return response

    async def show_page(_: Request) -> Response:
        return HTMLResponse(page)

    async def show_health(_: Request) -> Response:
        ready = predictor.is_ready
        return json_response({"ready": ready}, 200 if ready else 503)

    async def show_metrics(_: Request) -> Response:
        text = metrics.text(places=limits.queue, queued=predictor.queued)
        return Response(text, media_type=CONTENT_TYPE)

    async def describe(_: Request) -> Response:
        return json_response(description)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(predictor.end)

    return Starlette(
        routes=[
            Route("/", show_page),
            Route("/predict", predict, methods=["POST"]),
            Route("/health", show_health),
            Route("/metrics", show_metrics),
            Route("/openapi.json", describe),
        ],
        exception_handlers={404: _no_such_path, 405: _no_such_method},
        lifespan=lifespan,
    )


async def _answered(request: Request, predictor: BatchPredictor, limits: ServeLimits) -> Response:
    """Return the answer to a request for predictions, whatever becomes of it."""
    try:
        with predictor.place():  # before its body is taken into memory
            headers = request.headers
            asked = read_head(
                request.query_params.multi_items(),
                headers.get("content-type", ""),
                headers.get("accept", ""),
            )
            body = await _read_body(request, limits.body_bytes)
            answer = await predictor.answer(asked, body)
        return Response(answer, media_type=asked.wanted)
    except RequestError as error:
        response = error_response(str(error), error.status)
        if error.status in _RETRY_AFTER:
            response.headers["retry-after"] = _RETRY_AFTER[error.status]
        return response
    # A fault of ours, about which the client can do nothing.
    except Exception as error:  # noqa: BLE001
        _log.exception("a request could not be answered")
        what = f"This should not happen. It is a bug in disambig: {type(error).__name__}."
        return error_response(f"{what} Please report it.", 500)


async def _read_body(request: Request, most_bytes: int) -> bytes:
    """Return the body; refuse a large one, as soon as its sender can hear that.

    Many clients send all of it before they listen, and a connection that is closed meanwhile is
    all that they learn. Those that ask whether to go on hear it at once.
    """
    too_large = RequestError(
        f"A request may have {most_bytes:,} bytes. This one has more: send its rows in parts.", 413
    )
    stated = request.headers.get("content-length", "")
    n_stated = int(stated[:20]) if stated.isascii() and stated.isdigit() else 0
    most_heard = _TIMES_HEARD * most_bytes
    if n_stated > (most_bytes if "expect" in request.headers else most_heard):
        raise too_large
    body, n_bytes = bytearray(), 0
    try:
        async with asyncio.timeout(_SECONDS_FOR_BODY):
            async for part in request.stream():
                n_bytes += len(part)
                if n_bytes <= most_bytes:
                    body += part
                else:
                    body.clear()
                if n_bytes > most_heard:
                    break
    except TimeoutError:
        raise RequestError(
            f"The body must come within {_SECONDS_FOR_BODY} seconds. It did not: send its rows in "
            "parts.",
            408,
        ) from None
    except ClientDisconnect:
        raise RequestError("The request body broke off.") from None  # nobody reads that
    if n_bytes > most_bytes:
        raise too_large
    return bytes(body)


async def _no_such_path(request: Request, _: Exception) -> Response:
    return error_response(
        f"There is no {request.url.path[:100]!r} here. There are /predict, /health, /metrics and "
        "/openapi.json.",
        404,
    )


async def _no_such_method(request: Request, _: Exception) -> Response:
    needed = "POST" if request.url.path == "/predict" else "GET"
    response = error_response(f"This address needs {needed}. Got {request.method[:20]}.", 405)
    response.headers["allow"] = needed
    return response
