"""What a server of predictions counts, in the text format of Prometheus."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_ROWS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


class Histogram:
    """Numbers counted by the smallest limit that each is within."""

    def __init__(self, limits: Sequence[float]) -> None:
        self._limits = limits
        self._counts = [0] * (len(limits) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Count a number."""
        self._counts[bisect_left(self._limits, value)] += 1
        self._sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the text format; those of larger limits include the smaller ones."""
        *within, total = accumulate(self._counts)
        for limit, count in zip(self._limits, within, strict=True):
            yield f'{name}_bucket{{le="{limit:g}"}} {count}'
        yield f'{name}_bucket{{le="+Inf"}} {total}'
        yield f"{name}_sum {self._sum!r}"
        yield f"{name}_count {total}"


class ServeMetrics:
    """Counts of requests, rows and batches; any thread may add to them.

    Attributes
    ----------
    waiting : int
        How many requests for predictions are read, wait or are answered now.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self._lock = threading.Lock()
        self._by_status: Counter[int] = Counter()
        self._rows = 0
        self._seconds = Histogram(_SECONDS)
        self._batch_rows = Histogram(_ROWS)
        self._batch_requests = Histogram(_ROWS)

    def count_answer(self, status: int, seconds: float) -> None:
        """Count a request for predictions that was answered."""
        with self._lock:
            self._by_status[status] += 1
            self._seconds.add(seconds)

    def count_batch(self, n_requests: int, n_rows: int) -> None:
        """Count requests that were predicted in one go."""
        with self._lock:
            self._rows += n_rows
            self._batch_rows.add(n_rows)
            self._batch_requests.add(n_requests)

    def text(self, *, places: int) -> str:
        """Return the text; ``places`` is the largest number that may be waiting."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines(places))

    def _lines(self, places: int) -> Iterator[str]:
        yield from _head("requests_total", "counter", "Requests for predictions, by status.")
        for status, count in sorted(self._by_status.items()):
            yield f'disambig_requests_total{{status="{status}"}} {count}'
        for name, kind, what, value in (
            ("rows_total", "counter", "Rows that were predicted.", self._rows),
            ("queue_requests", "gauge", "Requests that are not answered yet.", self.waiting),
            ("queue_places", "gauge", "Requests that may be there at once.", places),
        ):
            yield from _head(name, kind, what)
            yield f"disambig_{name} {value}"
        for name, what, histogram in (
            ("request_seconds", "Seconds from a request to its answer.", self._seconds),
            ("batch_rows", "Rows that were predicted in one go.", self._batch_rows),
            ("batch_requests", "Requests predicted in one go.", self._batch_requests),
        ):
            yield from _head(name, "histogram", what)
            yield from histogram.lines(f"disambig_{name}")


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP disambig_{name} {what}"
    yield f"# TYPE disambig_{name} {kind}"
