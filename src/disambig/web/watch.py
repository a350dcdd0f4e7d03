"""Clean a table again in the background while it is reviewed, and say what has come of it."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol, Self

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from disambig._core.errors import DisambigError
from disambig.tabular.background_cleaning import BackgroundCleaning, CleanedAgain
from disambig.tabular.clean_again import words_to_clean_again
from disambig.tabular.cleaned_table import CleanedTable
from disambig.tabular.labels.decision_log import DecisionLog
from disambig.tabular.labels.decisions import LABEL, Decision, kind_of
from disambig.tabular.labels.reviewers import agreed_decisions
from disambig.web.token_guard import json_response

_NEW_DECISIONS = 10
_SECONDS_OF_QUIET = 30.0
_SECONDS_BETWEEN_LOOKS = 1.0
_DECIMALS = 4

State = Literal["waiting", "cleaning", "done", "failed"]
Decisions = Mapping[int, Decision]


class Run(Protocol):
    """A cleaning that has begun."""

    def poll(self) -> CleanedAgain | None:
        """Return how it ended, or None while it is running."""

    def stop(self) -> None:
        """End it now."""


@dataclass(frozen=True)
class Status:
    """How far cleaning again is, and the table as it was cleaned last."""

    state: State
    rows: CleanedTable
    decisions: int = 0  # that it takes in
    message: str = ""


class CleanAgain:
    """When a table is cleaned again, and what has come of it: one step at a time.

    It is cleaned after so many new decisions, or after so many seconds without another one,
    whichever comes first; one cleaning at a time, and never twice for the same decisions.

    Parameters
    ----------
    rows : CleanedTable
        The table at the beginning.
    start : callable
        Begins to clean it with the decisions that stand then.
    n_new : int, default=10
        Rows newly decided on after which it is cleaned at once.
    quiet : float, default=30
        Seconds without a new decision after which fewer do.
    """

    def __init__(
        self,
        rows: CleanedTable,
        start: Callable[[], Run],
        *,
        n_new: int = _NEW_DECISIONS,
        quiet: float = _SECONDS_OF_QUIET,
    ) -> None:
        # Replaced as a whole: others read it while a step is under way.
        self.status = Status("waiting", rows)
        self._first = rows
        self._start = start
        self._n_new, self._quiet = n_new, quiet
        self._run: Run | None = None
        self._begun_with: Decisions | None = None
        self._last: Decisions | None = None
        self._changed_at = 0.0

    def step(self, decisions: Decisions, now: float) -> None:
        """Look at the decisions that stand at a moment in seconds, and do what is to be done."""
        if self._begun_with is None:
            self._begun_with = _in_table(self._first, decisions)
        if decisions != self._last:
            self._last, self._changed_at = dict(decisions), now
        if self._run is not None:
            ended = self._run.poll()
            if ended is None:
                return
            self._run = None
            self._take(ended)
        n_new = _n_differing(self._begun_with, decisions)
        if n_new >= self._n_new or (n_new and now - self._changed_at >= self._quiet):
            self._begun_with = dict(decisions)
            self._begin(len(decisions))

    def stop(self) -> None:
        """End what is running."""
        if self._run is not None:
            self._run.stop()
            self._run = None

    def fail(self, reason: str) -> None:
        """Say why there is nothing new; until decisions change, nothing is tried again."""
        self.status = replace(self.status, state="failed", message=reason)

    def report(self) -> dict[str, Any]:
        """Return what the page says of it."""
        status, first = self.status, self._first
        return {
            "state": status.state,
            "decisions": status.decisions,
            "errors": round(status.rows.expected_errors, _DECIMALS),
            "errors_before": round(first.expected_errors, _DECIMALS),
            "right": round(float(status.rows.confidence.mean()), _DECIMALS),
            "second_look": int(status.rows.second_look.sum()),
            "message": status.message,
        }

    def _begin(self, n_decisions: int) -> None:
        try:
            self._run = self._start()
        except (DisambigError, OSError) as error:
            self.fail(str(error))
        else:
            self.status = Status("cleaning", self.status.rows, n_decisions)

    def _take(self, ended: CleanedAgain) -> None:
        if ended.rows is None:
            self.fail(ended.message)
        else:
            self.status = Status("done", ended.rows, ended.decisions)


class Watch:
    """Cleans a table again in the background for as long as it is entered.

    Parameters
    ----------
    rows : CleanedTable
        The table; it knows the command that made it, which is run where this process runs.
    log : DecisionLog
        The decisions, of all reviewers.
    n_new, quiet : int and float
        As for ``CleanAgain``.
    """

    def __init__(
        self,
        rows: CleanedTable,
        log: DecisionLog,
        *,
        n_new: int = _NEW_DECISIONS,
        quiet: float = _SECONDS_OF_QUIET,
    ) -> None:
        path = log.path.absolute()
        words_to_clean_again(rows.provenance.command, decisions=path, out="")  # or refuse
        self._log = log
        self._steps = CleanAgain(
            rows, partial(BackgroundCleaning, rows, path), n_new=n_new, quiet=quiet
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no longer; end what is running."""
        self._ended.set()
        self._thread.join()
        self._steps.stop()

    def current(self) -> CleanedTable:
        """Return the table as it was cleaned last; its rows keep their numbers."""
        return self._steps.status.rows

    def report(self) -> dict[str, Any]:
        """Return what the page says of it."""
        return self._steps.report()

    def _look_again_and_again(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_LOOKS):
            try:
                decisions, _ = agreed_decisions(self._log.entries())
                self._steps.step(decisions, time.monotonic())
            except Exception as error:  # noqa: BLE001  # the review goes on, and says it
                self._steps.fail(str(error))


def watch_route(watch: Watch) -> Route:
    """Return the route ``watch``, which says what has come of it."""

    async def show(_: Request) -> Response:
        return json_response(watch.report())

    return Route("/watch", show, methods=["GET"])


def _in_table(rows: CleanedTable, decisions: Decisions) -> dict[int, Decision]:
    """Return the decisions that the cleaning of a table has taken in already."""
    if rows.decision is None:
        return {}
    classes: list[str] = rows.candidates.classes.tolist()
    return {
        row: decision
        for row, decision in decisions.items()
        if rows.decision[row] == kind_of(decision)
        and (kind_of(decision) != LABEL or classes[rows.chosen[row]] == decision)
    }


def _n_differing(before: Decisions, after: Decisions) -> int:
    return sum(before.get(row) != after.get(row) for row in before.keys() | after.keys())
