"""Predictions for many clients by one thread: requests that come together share a pass."""

import asyncio
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from disambig._core.parameters import check_integer, check_real
from disambig.tabular.model_folder import ModelParts
from disambig.tabular.new_rows import NewRows, predict_new_rows
from disambig.web.serve_metrics import ServeMetrics
from disambig.web.serve_requests import Asked, RequestError
from disambig.web.serve_rows import SentRows, parse_body, read_requests, write_answer

_RETRY = "Send the request again in a second."


@dataclass(frozen=True, kw_only=True)
class ServeLimits:
    """What a server of predictions takes, and when it predicts.

    Attributes
    ----------
    body_bytes : int
        Largest body of a request.
    request_rows : int
        Most rows of a request.
    queue : int
        Most requests that may be there at once, being read, waiting or predicted.
    batch_rows : int
        Most rows that are predicted in one go, unless one request has more.
    wait_ms : float
        How long to wait for more requests, in milliseconds, before some are predicted. With 0
        those are taken that have come while others were predicted.

    See Also
    --------
    serve_model : Takes them.
    model_app : Takes them, too.

    Examples
    --------
    >>> from disambig.web import ServeLimits
    >>> ServeLimits(request_rows=500).queue
    64
    """

    body_bytes: int = 10_000_000
    request_rows: int = 10_000
    queue: int = 64
    batch_rows: int = 1_000
    wait_ms: float = 0.0

    def __post_init__(self) -> None:
        for name in ("body_bytes", "request_rows", "queue", "batch_rows"):
            check_integer(name, getattr(self, name), minimum=1)
        check_real("wait_ms", self.wait_ms, minimum=0, maximum=10_000)


@dataclass(eq=False)
class _Job:
    asked: Asked
    body: bytes
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[bytes]"

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the answer still."""
        return not self.answer.done()

    def finish(self, answer: bytes | Exception) -> None:
        """Hand over the answer, to the thread that waits for it."""

        def hand_over() -> None:
            if not self.is_wanted:
                return
            if isinstance(answer, bytes):
                self.answer.set_result(answer)
            else:
                self.answer.set_exception(answer)

        with suppress(RuntimeError):  # the loop has ended before its time
            self.loop.call_soon_threadsafe(hand_over)


_Parsed = tuple[_Job, SentRows]


class BatchPredictor:
    """Answers requests in a thread of its own, those that come together in one go.

    The answers are those that each request would get alone. A request that cannot be read is
    refused, and changes nothing for the others.
    """

    def __init__(self, model: ModelParts, limits: ServeLimits, metrics: ServeMetrics) -> None:
        self._model = model
        self._limits = limits
        self._metrics = metrics
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._is_ending = False

    @property
    def is_ready(self) -> bool:
        """Whether requests are answered."""
        return not self._is_ending and (self._thread is None or self._thread.is_alive())

    @property
    def queued(self) -> int:
        """How many requests wait until those before them are predicted."""
        return self._jobs.qsize()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places for requests; refuse where there is none."""
        if not self.is_ready:
            raise RequestError(f"The server is ending. {_RETRY}", 503)
        if self._metrics.waiting >= self._limits.queue:
            raise RequestError(
                f"The server has {self._limits.queue:,} requests to answer, and takes no more. "
                f"{_RETRY}",
                429,
            )
        self._metrics.waiting += 1
        try:
            yield
        finally:
            self._metrics.waiting -= 1

    async def answer(self, asked: Asked, body: bytes) -> bytes:
        """Return the body of the answer to a request that has a place."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="disambig-predict", daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        job = _Job(asked, body, loop, loop.create_future())
        self._jobs.put(job)
        return await job.answer

    def end(self) -> None:
        """Answer what has come, and end the thread."""
        self._is_ending = True
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()

    # ---- in the thread

    def _run(self) -> None:
        batch: list[_Parsed] = []
        for job in self._coming():
            sent = self._parse(job) if job is not None and job.is_wanted else None
            n_rows = _row_count(batch) + (0 if sent is None else len(sent))
            if batch and (job is None or n_rows > self._limits.batch_rows):
                self._predict(batch)
                batch = []
            if job is not None and sent is not None:
                batch.append((job, sent))

    def _coming(self) -> Iterator[_Job | None]:
        """Yield requests as they come, and None where none has come in time; end with the server.

        While requests are predicted others come, and these are the next ones in one go.
        """
        job = self._jobs.get()
        while job is not None:
            latest = time.monotonic() + self._limits.wait_ms / 1000
            try:
                while job is not None:
                    yield job
                    job = self._jobs.get(timeout=max(0.0, latest - time.monotonic()))
            except queue.Empty:
                yield None
                job = self._jobs.get()
        yield None

    def _parse(self, job: _Job) -> SentRows | None:
        columns, most_rows = self._model.plan.names, self._limits.request_rows
        try:
            return parse_body(columns, job.asked, job.body, most_rows=most_rows)
        except Exception as error:  # noqa: BLE001  # the client's fault or ours: others go on
            job.finish(error)
        return None

    def _predict(self, batch: Sequence[_Parsed]) -> None:
        try:
            answers = self._answers(batch)
        except Exception as error:  # noqa: BLE001  # a fault of ours; which request meets it?
            if len(batch) == 1:
                batch[0][0].finish(error)
            else:
                for one in batch:
                    self._predict([one])
            return
        for (job, _), answer in zip(batch, answers, strict=True):
            job.finish(answer)

    def _answers(self, batch: Sequence[_Parsed]) -> list[bytes | RequestError]:
        requests = [(job.asked, sent) for job, sent in batch]
        read = read_requests(self._model, requests)
        tables = [rows for rows in read if isinstance(rows, NewRows)]
        found = iter(predict_new_rows(self._model, tables))
        answers = [
            write_answer(asked, rows, next(found)) if isinstance(rows, NewRows) else rows
            for (asked, _), rows in zip(requests, read, strict=True)
        ]
        if tables:
            n_rows = sum(len(table.values) for table in tables)
            self._metrics.count_batch(len(tables), n_rows)
        return answers


def _row_count(batch: Sequence[_Parsed]) -> int:
    return sum(len(sent) for _, sent in batch)
