"""Guess how long the rest of a study takes, from what its jobs took so far."""

from collections.abc import Iterable

from disambig.study.plan import PlannedJob
from disambig.study.record import Record

__all__ = ["TimeLeft"]


class TimeLeft:
    """Learns what jobs cost, by method and data.

    A job that is like none before it is taken to cost what its method costs on other data, or what
    jobs cost on average.
    """

    def __init__(self) -> None:
        self._costs: dict[tuple[str, ...], list[float]] = {}
        self._work_done = 0.0

    def learn(self, planned: PlannedJob, record: Record, *, now: bool = True) -> None:
        """Take note of a job that has ended, now or in an earlier run."""
        cost = sum(record.seconds.values())
        for kind in _kinds(planned):
            self._costs.setdefault(kind, []).append(cost)
        if now:
            self._work_done += cost

    def seconds(self, pending: Iterable[PlannedJob], elapsed: float) -> float | None:
        """Return the seconds that pending jobs will take, at the pace so far; None if unknown."""
        if self._work_done == 0:
            return None
        work = sum(self._expected(planned) for planned in pending)
        return elapsed * work / self._work_done

    def _expected(self, planned: PlannedJob) -> float:
        known = next(self._costs[kind] for kind in _kinds(planned) if kind in self._costs)
        return sum(known) / len(known)


def _kinds(planned: PlannedJob) -> list[tuple[str, ...]]:
    method, dataset = planned.method_title, planned.dataset.name
    return [(method, dataset, planned.data_title), (method, dataset), (method,), ()]
