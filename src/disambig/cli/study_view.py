"""What is seen of a study while it runs: a live view in a terminal, a plain log elsewhere."""

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from disambig.bench.runner import StudyListener
from disambig.cli.console import Terminal, duration, make_table, plain, say

if TYPE_CHECKING:
    from disambig.bench.plan import Plan, PlannedJob
    from disambig.bench.record import Record

_SECONDS_BETWEEN_LINES = 10
_SHARE_TO_JUDGE_BY = 0.1


class TimeLeft:
    """Learns what jobs cost, by method and data.

    A job that is like none before it is taken to cost what its method costs on other data, or what
    jobs cost on average.
    """

    def __init__(self) -> None:
        self._costs: dict[tuple[str, ...], list[float]] = {}
        self._work_done = 0.0

    def learn(self, planned: "PlannedJob", record: "Record", *, now: bool = True) -> None:
        """Take note of a job that has ended, now or in an earlier run."""
        cost = sum(record.seconds.values())
        for kind in _kinds(planned):
            self._costs.setdefault(kind, []).append(cost)
        if now:
            self._work_done += cost

    def seconds(self, pending: Iterable["PlannedJob"], elapsed: float) -> float | None:
        """Return the seconds that pending jobs will take, at the pace so far; None if unknown."""
        if self._work_done == 0:
            return None
        work = sum(self._expected(planned) for planned in pending)
        return elapsed * work / self._work_done

    def _expected(self, planned: "PlannedJob") -> float:
        known = next(self._costs[kind] for kind in _kinds(planned) if kind in self._costs)
        return sum(known) / len(known)


def _kinds(planned: "PlannedJob") -> list[tuple[str, ...]]:
    method, dataset = planned.method_title, planned.dataset.name
    return [(method, dataset, planned.data_title), (method, dataset), (method,), ()]


class _Tally(StudyListener):
    """Counts jobs; the two views show the counts."""

    def __init__(self, console: Terminal) -> None:
        self._console = console
        self._time_left = TimeLeft()
        self._failed = 0
        self._to_do = 0  # in this run
        self._methods_met: set[str] = set()
        self._running: set[str] = set()
        self._pending: dict[str, PlannedJob] = {}
        self._total = 0
        self._started = time.monotonic()

    def on_start(self, plan: "Plan", done: "dict[str, Record]", notices: list[str]) -> None:
        """Count what there is to do and what is done."""
        self._total = len(plan.by_key)
        self._pending = {key: planned for key, planned in plan.by_key.items() if key not in done}
        self._to_do = len(self._pending)
        for key, record in done.items():
            self._time_left.learn(plan.by_key[key], record, now=False)
            self._methods_met.add(plan.by_key[key].method_title)
        for notice in notices:
            self._print(notice)
        if done:
            self._print(f"{len(done)} of {self._total} jobs were done before.")

    def on_jobs_start(self, jobs: "Sequence[PlannedJob]") -> None:
        """Count what runs."""
        self._running |= {planned.job.key for planned in jobs}

    def on_job_end(self, planned: "PlannedJob", record: "Record") -> None:
        """Count what has ended; say at once what failed."""
        self._running.discard(record.key)
        self._methods_met.add(planned.method_title)
        self._pending.pop(record.key, None)
        if record.is_done:
            self._time_left.learn(planned, record)
        else:
            self._failed += 1
            error = record.error or {}
            self._print(f"Failed: {planned.title}: {error.get('type')}: {error.get('message')}")

    @property
    def _done(self) -> int:
        return self._total - len(self._pending)

    def _status(self) -> str:
        failed = f", {self._failed} failed" if self._failed else ""
        seconds = self._seconds_left()
        left = f", about {duration(seconds)} left" if seconds else ""
        return f"{len(self._running)} running{failed}{left}"

    def _seconds_left(self) -> float | None:
        """Return the time left, once there is something to judge it by; before, None.

        A method that has not been met may take any time, and most of the first seconds goes into
        starting processes.
        """
        pending = self._pending.values()
        is_early = self._to_do - len(pending) < _SHARE_TO_JUDGE_BY * self._to_do
        if is_early or any(one.method_title not in self._methods_met for one in pending):
            return None
        return self._time_left.seconds(pending, time.monotonic() - self._started)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left open."""

    def _print(self, text: str) -> None:
        say(text, self._console, wrap=False)


class PlainLog(_Tally):
    """A line every few seconds."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        self._last_line = time.monotonic()

    def on_wait(self) -> None:
        """Say how far it is, if that was not said just now."""
        if time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._print(f"{self._done} of {self._total} jobs done, {self._status()}")


class LiveView(_Tally):
    """A bar, and a table of mean accuracy so far that fills as jobs end."""

    def __init__(self, console: Terminal) -> None:
        super().__init__(console)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("jobs done, {task.description}", markup=False),
        )
        self._bar = Progress(*columns, console=console)
        self._task = self._bar.add_task("starting", total=None)
        self._scores: dict[tuple[str, str], list[float]] = {}
        self._datasets: list[str] = []
        self._methods: list[str] = []
        self._live = Live(console=console, transient=True, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def on_start(self, plan: "Plan", done: "dict[str, Record]", notices: list[str]) -> None:
        """Set the table up, with what is known from before."""
        super().on_start(plan, done, notices)
        self._datasets = list(dict.fromkeys(planned.dataset.name for planned in plan.jobs))
        self._methods = list(dict.fromkeys(planned.method_title for planned in plan.jobs))
        for planned in plan.jobs:
            if planned.job.key in done:
                self._note(planned, done[planned.job.key])
        self._refresh()

    def on_job_end(self, planned: "PlannedJob", record: "Record") -> None:
        """Add the job to the table."""
        super().on_job_end(planned, record)
        self._note(planned, record)
        self._refresh()

    def on_wait(self) -> None:
        """Keep the clock going."""
        self._refresh()

    def _note(self, planned: "PlannedJob", record: "Record") -> None:
        if "accuracy" in record.metrics:
            cell = self._scores.setdefault((planned.dataset.name, planned.method_title), [])
            cell.append(record.metrics["accuracy"])

    def _refresh(self) -> None:
        self._bar.update(
            self._task, total=self._total, completed=self._done, description=self._status()
        )
        table = make_table("data", *self._methods)
        for dataset in self._datasets:
            cells = [self._scores.get((dataset, method)) for method in self._methods]
            table.add_row(plain(dataset), *(f"{np.mean(c):.3f}" if c else "" for c in cells))
        self._live.update(Group("mean accuracy so far", table, self._bar))
