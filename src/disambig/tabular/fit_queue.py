"""Models that are trained side by side: in this process, and in others beside it."""

import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from importlib import import_module
from pickle import PicklingError
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

from disambig._core.errors import warn_caller
from disambig._core.parameters import check_integer
from disambig._core.processes import (
    at_most_threads,
    available_cores,
    children_ignore_interrupts,
    start_processes,
)
from disambig.tabular.listener import FitListener

if TYPE_CHECKING:
    from disambig.methods.base import PartialLabelClassifier

_SECONDS_BETWEEN_LOOKS = 0.05

# What a fit returned, and the texts and categories of its warnings.
FitResult = tuple[Any, list[tuple[str, type[Warning]]]]


class Fit(Protocol):
    """A fit that can be sent to another process."""

    @property
    def title(self) -> str:
        """What people call it."""
        ...

    def __call__(self, listener: FitListener) -> Any:
        """Train, tell the listener of epochs, and return the result."""
        ...


class FitWorkers:
    """Worker processes that train models; a context manager that ends them.

    Parameters
    ----------
    n_jobs : int, default=-1
        Models to train at once, one of them in this process; -1 for one per core.

    See Also
    --------
    fit_table : Takes it as ``n_jobs``.
    clean_table : Takes it too.

    Examples
    --------
    >>> from disambig.datasets import example_tables
    >>> from disambig.tabular import FitWorkers, clean_table, fit_table
    >>> frame = example_tables()["vehicles.csv"].head(60)
    >>> options = {"method": "plknn", "id": "vehicle", "truth": "checked"}
    >>> with FitWorkers(n_jobs=1) as workers:  # 2 or more train in processes
    ...     model = fit_table(frame, **options, n_jobs=workers)
    ...     cleaned = clean_table(frame, **options, n_jobs=workers)
    >>> cleaned.shape[0]
    60
    """

    def __init__(self, n_jobs: int = -1) -> None:
        if n_jobs != -1:
            check_integer("n_jobs", n_jobs, minimum=1)
        self._n_jobs = n_jobs
        self._pool: Any = None
        self.news: Any = None
        self.count = 0  # of the processes beside this one
        self.threads: int | None = None  # of every process; None is as many as it likes

    def start(self, n_fits: int, method: str | None = None) -> Self:
        """Start as many processes as so many fits can use, unless that was done before.

        They load what the method of this name needs, while this process may do something else.
        """
        if self._pool is None and self._n_jobs != 1 and n_fits > 1:
            cores = available_cores()
            n_jobs = min(cores if self._n_jobs == -1 else self._n_jobs, n_fits)
            if n_jobs > 1:
                self._open(n_jobs - 1, max(1, cores // n_jobs), method)
        return self

    def _open(self, count: int, threads: int, method: str | None) -> None:
        from joblib.externals.loky.backend import get_context  # slow to import

        self.count, self.threads = count, threads
        self.news = get_context("loky").SimpleQueue()
        self._pool = start_processes(count, threads=threads, set_up=_set_up, arguments=(self.news,))
        if method is not None:
            for _ in range(count):
                self._submit(_load, method)

    def submit(self, fit: Fit) -> "Future[FitResult]":
        """Let a process train a model; the result comes with what it warned of."""
        future: Future[FitResult] = self._submit(_fit_there, fit)
        return future

    def _submit(self, function: Callable[..., object], argument: object) -> "Future[Any]":
        pool = self._pool  # another thread may close it now
        if pool is None:
            raise RuntimeError("the processes were ended")
        with children_ignore_interrupts():  # they start here
            future: Future[Any] = pool.submit(function, argument)
        return future

    def close(self) -> None:
        """End the processes, those at work too; when it returns, none of them writes anything."""
        if self._pool is not None:
            pool, self._pool, self.news, self.count = self._pool, None, None, 0
            pool.shutdown(wait=True, kill_workers=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class FitQueue(FitListener):
    """Fits to be done, by this process and by workers, whoever is free.

    It is the listener of the fits in this process: what workers report meanwhile is passed on to
    the listener given here, always by the thread that fits.

    Parameters
    ----------
    listener : FitListener
        Hears of all fits.
    workers : FitWorkers, optional
        Processes that were started.
    """

    def __init__(self, listener: FitListener, workers: FitWorkers | None = None) -> None:
        self._listener = listener
        self._workers = workers or FitWorkers(1)
        self._lock = Lock()
        self._waiting: deque[Fit] = deque()
        self._under_way: dict[Future[FitResult], Fit] = {}
        self._to_announce: deque[Fit] = deque()
        self._take: Callable[[str, Any], None] = lambda *_: None

    def start(self, fits: Sequence[Fit], take: Callable[[str, Any], None]) -> None:
        """Let workers begin; ``take`` is called with the title and the result of every fit."""
        self._waiting.extend(fits)
        self._take = take
        for _ in range(self._workers.count):
            self._hand_over()
        self._hear()

    def finish(self) -> None:
        """Do what is left, and wait for what workers do."""
        while True:
            self._hear()
            with self._lock:  # or a fit may be on its way to a worker, and be nowhere
                fit = self._waiting.popleft() if self._waiting else None
                under_way = list(self._under_way)
            if fit is not None:
                self._listener.on_fit_start(fit.title)
                result = fit(self)
                self._listener.on_fit_end(fit.title)
                self._take(fit.title, result)
            elif under_way:
                wait(under_way, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
            else:
                return

    @property
    def n_at_once(self) -> int:
        """How many fits are done at a time."""
        return self._workers.count + 1

    @property
    def is_asked_for_time(self) -> bool:
        """Whether the listener does anything with an estimate of the time."""
        return type(self._listener).on_time_estimated is not FitListener.on_time_estimated

    # ---- as the listener of fits in this process

    def on_fits_start(self, n_fits: int) -> None:
        """Pass it on."""
        self._listener.on_fits_start(n_fits)

    def on_time_estimated(self, n_fits: int, seconds: float) -> None:
        """Pass it on."""
        self._listener.on_time_estimated(n_fits, seconds)

    def on_fit_start(self, title: str) -> None:
        """Pass it on."""
        self._listener.on_fit_start(title)

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        """Pass it on, with what workers have reported."""
        self._hear()
        self._listener.on_epoch_end(title, epoch, n_epochs)

    def on_fit_end(self, title: str) -> None:
        """Pass it on."""
        self._listener.on_fit_end(title)

    # ---- workers

    def _hand_over(self, done: "Future[Any] | None" = None) -> None:
        """Give the next fit to a worker that is free; called by the thread that found it so."""
        if done is not None and (done.cancelled() or done.exception() is not None):
            return  # whoever waits for the result decides
        with self._lock:
            if not self._waiting:
                return
            fit = self._waiting.popleft()
            try:
                future = self._workers.submit(fit)
            except RuntimeError:  # the processes have died or were ended: the rest is done here
                self._waiting.appendleft(fit)
                return
            self._to_announce.append(fit)
            self._under_way[future] = fit
        future.add_done_callback(self._hand_over)

    def _hear(self) -> None:
        """Pass on what workers have begun, the epochs that they have done, and their results."""
        with self._lock:
            ended = [future for future in self._under_way if future.done()]
        self._announce()
        while self._workers.news is not None and not self._workers.news.empty():
            epoch = self._workers.news.get()
            self._announce()  # it may be of a fit that has begun just now
            self._listener.on_epoch_end(*epoch)
        for future in ended:
            with self._lock:
                fit = self._under_way.pop(future, None)
            if fit is None:
                continue  # it is done again
            try:
                result, warned = future.result()
            except (BrokenExecutor, PicklingError) as error:
                self._go_on_alone(fit, error)
                continue
            for message, category in warned:
                warn_caller(message, category)
            self._listener.on_fit_end(fit.title)
            self._take(fit.title, result)

    def _announce(self) -> None:
        with self._lock:
            begun = [fit.title for fit in self._to_announce]
            self._to_announce.clear()
        for title in begun:
            self._listener.on_fit_start(title)

    def _go_on_alone(self, failed: Fit, error: Exception) -> None:
        """End the workers, and do here what they were doing."""
        self._workers.close()
        with self._lock:
            self._waiting.extend([failed, *self._under_way.values()])
            self._under_way.clear()
        warn_caller(
            "Models cannot be trained in several processes here, so the rest is trained one by one "
            f"({type(error).__name__}). If memory is short, use --jobs 1 (in Python n_jobs=1)."
        )


@contextmanager
def fit_queue(
    method: "PartialLabelClassifier", n_fits: int, n_jobs: int | FitWorkers, listener: FitListener
) -> Iterator[FitQueue]:
    """Give a queue for so many fits of a method; processes that were started for it end with it."""
    is_given = isinstance(n_jobs, FitWorkers)
    workers = n_jobs if isinstance(n_jobs, FitWorkers) else FitWorkers(n_jobs)
    listener.on_fits_start(n_fits)
    try:
        workers.start(n_fits)
        if workers.threads is None or not _can_be_elsewhere(method):
            yield FitQueue(listener)
        else:
            with at_most_threads(workers.threads):
                yield FitQueue(listener, workers)
    except BaseException:
        workers.close()  # or they would go on with fits that nobody waits for
        raise
    if not is_given:
        workers.close()


def _can_be_elsewhere(method: "PartialLabelClassifier") -> bool:
    """Whether another process may fit a method: there is one card, and callers wait here."""
    from disambig.methods.side_by_side import fits_at_once  # slow to import

    parameters = method.get_params(deep=False)
    followed = parameters.get("callbacks") is not None or bool(parameters.get("verbose"))
    return not followed and fits_at_once(method) == 1


# ---- in a worker

_news: Any = None


def _set_up(news: Any) -> None:
    global _news
    _news = news
    # An interrupt in a terminal reaches all processes; the first one then ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _load(method: str) -> None:
    """Import what a fit by this method needs."""
    from disambig.methods.registry import get_method

    get_method(method)
    import_module("disambig.tabular.out_of_fold")  # which imports this module


class _Reporter(FitListener):
    """Sends epochs to the process that waits."""

    def on_epoch_end(self, title: str, epoch: int, n_epochs: int) -> None:
        _news.put((title, epoch, n_epochs))


def _fit_there(fit: Fit) -> FitResult:
    # With the usual filters, which leave out what only developers need; those of the process that
    # waits then decide.
    with warnings.catch_warnings(record=True) as caught:
        result = fit(_Reporter())
    return result, [(str(warning.message), warning.category) for warning in caught]
