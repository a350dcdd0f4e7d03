"""Run the jobs of a study that have no record yet."""

import json
import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from typing import Any

from disambig._core.errors import RecordError
from disambig.bench.backends import Backend, open_backend
from disambig.bench.execute import JobOutput, execute_all, failure
from disambig.bench.plan import Plan, PlannedJob, make_plan
from disambig.bench.record import Job, Record, side_by_side
from disambig.bench.settings import Study
from disambig.bench.store import Claims, RecordStore
from disambig.bench.study_results import StudyResult, find_records

_SECONDS_BETWEEN_LOOKS = 0.5
_MOST_FORGOTTEN = 3
_MOST_DEATHS = 1
_WRITERS = 4
_SECONDS_PER_CALL = 0.5
_Kind = tuple[str, str]  # method and parameters


class StudyListener:
    """Base class to follow the progress of a study: override the methods you need.

    See Also
    --------
    run_study : Calls it.

    Examples
    --------
    >>> from disambig.bench import StudyListener
    >>> class Printer(StudyListener):
    ...     def on_job_end(self, planned, record):
    ...         print(planned.data_title, planned.method_title, record.status)
    >>> listener = Printer()  # for run_study(study, store, listener=listener)
    """

    def on_start(self, plan: Plan, done: dict[str, Record], notices: list[str]) -> None:
        """React to a plan: jobs that were done before, and what is run again and why."""

    def on_jobs_start(self, jobs: list[PlannedJob]) -> None:
        """React to jobs that were started together."""

    def on_job_end(self, planned: PlannedJob, record: Record) -> None:
        """React to the end of a job, here or in another runner on the same store."""

    def on_wait(self) -> None:
        """React to the passing of time: called about twice a second while jobs run."""


def run_study(
    study: Study,
    store: str | os.PathLike[str],
    *,
    jobs: int = 1,
    backend: str = "local",
    address: str | None = None,
    max_jobs: int | None = None,
    listener: StudyListener | None = None,
) -> StudyResult:
    """Run the jobs of a study that have no record yet, and return all records.

    It may be interrupted at any moment and called again. Jobs with a record are not run again,
    except those that failed or were run by other code: their records stay in the store, and the
    notices of the result say which code has changed. Several runners may work on one store at the
    same time.

    Parameters
    ----------
    study : Study
        The study to run.
    store : path
        Folder of the records.
    jobs : int, default=1
        Number of processes on this machine, or of workers that Slurm is asked for; each uses one
        thread.
    backend : {"local", "dask", "ray", "slurm"}, default="local"
        Where jobs run.
    address : str, optional
        Address of a Dask or Ray cluster.
    max_jobs : int, default=100_000
        Refuse a study of more jobs before running any.
    listener : StudyListener, optional
        Called on every event.

    See Also
    --------
    read_results : Reads results from a store, without running anything.
    make_report : Makes tables, charts and findings of the result.
    cross_validate : One method on one dataset, without records.

    Examples
    --------
    >>> import tempfile
    >>> from disambig.bench import Study, run_study
    >>> study = Study(
    ...     name="small",
    ...     datasets=[{"name": "glass", "corruption": {"p": [0.3, 0.7], "r": 1}}],
    ...     methods=["plknn", "clpl", "plsvm"],
    ...     protocol={"folds": 2},
    ... )
    >>> folder = tempfile.TemporaryDirectory()
    >>> result = run_study(study, folder.name)
    >>> len(result.records), len(result.failed)
    (20, 0)
    """
    opening = open_backend(backend, jobs=jobs, address=address)  # refuses wrong arguments
    plan = make_plan(study, max_jobs=max_jobs)
    records = RecordStore(store)
    with Claims(records.folder) as claims, opening as workers:
        records.sweep()
        runner = _Runner(plan, records, workers, claims, listener or StudyListener())
        return runner.run()


@dataclass(eq=False)
class _Runner:
    """The state of a run: what waits, what is under way, what is known."""

    plan: Plan
    store: RecordStore
    backend: Backend
    claims: Claims
    listener: StudyListener
    known: dict[str, Record] = field(default_factory=dict)
    outdated: dict[str, Record] = field(default_factory=dict)  # to be replaced
    waiting: deque[list[PlannedJob]] = field(default_factory=deque)
    under_way: dict[Future[Any], list[PlannedJob]] = field(default_factory=dict)
    elsewhere: deque[list[PlannedJob]] = field(default_factory=deque)  # in another runner
    lost: Counter[str] = field(default_factory=Counter)  # how often the backend lost a job
    alone: set[str] = field(default_factory=set)  # what had a part in that
    sizes: dict[_Kind, int | None] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # that the last job of such work took

    def run(self) -> StudyResult:
        found = find_records(self.plan, self.store)
        for key, record in found.records.items():
            if record.is_done:
                (self.outdated if found.has_too_little(key) else self.known)[key] = record
        notices = [f"{error} Its job is run again." for error in found.damaged]
        notices += found.code_notices("They are run again; the old records stay in the store.")
        notices += found.metric_notices()
        notices += (f"{gap} That is done now." for gap in found.gaps(self.outdated))
        gaps = tuple(found.gaps(self.known))
        self.listener.on_start(self.plan, dict(self.known), [*notices, *gaps])
        self.waiting.extend(self._batches())
        while self.waiting or self.elsewhere or self.under_way:
            self._start_some()
            if self.under_way:
                ended = self._wait_for_some()
                try:
                    # First of all: nobody waits until records are on the disk.
                    self._start_some()
                finally:  # what has ended is kept, even if the cluster is gone
                    self._write(ended)
            else:
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            self.listener.on_wait()
            if not self.waiting:
                # What another runner works on: look again, it may have ended or died.
                self.waiting, self.elsewhere = self.elsewhere, deque()
        return StudyResult(self.plan, self.known, tuple(notices), gaps)

    def _batches(self) -> Iterator[list[PlannedJob]]:
        """Yield what waits, in groups that are trained side by side."""
        for group in self.plan.families():
            pending = [planned for planned in group if planned.job.key not in self.known]
            if pending:
                size = self._side_by_side(pending[0].job) or len(pending)
                yield from (pending[i : i + size] for i in range(0, len(pending), size))

    def _side_by_side(self, job: Job) -> int | None:
        """Return how many splits it pays to run together, asked where they will run."""
        if job.stands_alone:
            return 1
        kind = _kind_of(job)
        if kind not in self.sizes:
            try:
                self.sizes[kind] = self.backend.submit(side_by_side, job).result()
            except Exception:  # noqa: BLE001  # the job itself will say what is wrong there
                self.sizes[kind] = 1
        return self.sizes[kind]

    def _start_some(self) -> None:
        while self.waiting and len(self.under_way) < (width := self.backend.width()):
            self._start(self._next_call(width))

    def _next_call(self, width: int) -> list[list[PlannedJob]]:
        """Return batches for one call: several where they are too short for a call of their own."""
        call = [self.waiting.popleft()]
        first = call[0][0].job
        work = _work_of(first)
        seconds = None if first.key in self.alone else self.seconds.get(work)
        # Nobody is to have much while others have nothing.
        most = len(self.waiting) // (2 * width)
        while seconds and len(call) <= most:
            following = self.waiting[0]
            count = sum(map(len, call)) + len(following)
            job = following[0].job
            if count * seconds > _SECONDS_PER_CALL or job.key in self.alone:
                break
            if _work_of(job) != work:
                break
            call.append(self.waiting.popleft())
        return call

    def _start(self, call: Sequence[list[PlannedJob]]) -> None:
        """Start the jobs of a call, but for those that another runner works on."""
        ours: list[list[PlannedJob]] = []
        for batch in call:
            claimed = [planned for planned in batch if self.claims.take(planned.job.key)]
            theirs = [planned for planned in batch if planned not in claimed]
            if theirs:
                self.elsewhere.append(theirs)
            # Another runner may have ended a job since we looked; a claim is given up after its
            # record.
            claimed = [planned for planned in claimed if not self._ended_elsewhere(planned)]
            if claimed:
                ours.append(claimed)
        if ours:
            started = [planned for batch in ours for planned in batch]
            dataset = self.backend.share(started[0].dataset)
            batches = [[planned.job for planned in batch] for batch in ours]
            self.under_way[self.backend.submit(execute_all, dataset, batches)] = started
            self.listener.on_jobs_start(started)

    def _ended_elsewhere(self, planned: PlannedJob) -> bool:
        try:
            record = self.store.read(planned.job.key)
        except RecordError:
            return False
        if record is None or not record.is_done:
            return False
        old = self.outdated.get(record.key)
        if old is not None and old.finished == record.finished:
            return False
        self._keep(planned, record)
        return True

    def _wait_for_some(self) -> list[tuple[PlannedJob, JobOutput]]:
        """Return jobs that have ended, and put back those that the backend has lost."""
        done, _ = wait(self.under_way, timeout=_SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
        ended: list[tuple[PlannedJob, JobOutput]] = []
        for future in done:
            batch = self.under_way.pop(future)
            try:
                outcomes = future.result()
            # The process died, or the cluster gave up.
            except Exception as error:  # noqa: BLE001
                if self._is_tried_again(batch, error):
                    # One by one: only one of them may be at fault.
                    self.waiting.extend([planned] for planned in batch)
                    self.alone.update(planned.job.key for planned in batch)
                    continue
                outcomes = [failure(batch[0].dataset, batch[0].job, error)]
            ended.extend(zip(batch, outcomes, strict=True))
        return ended

    def _write(self, ended: Sequence[tuple[PlannedJob, JobOutput]]) -> None:
        """Keep records of jobs, several at a time: most of it is waiting for the disk."""
        with ThreadPoolExecutor(_WRITERS) as writers:
            written = writers.map(lambda one: self.store.write(*one[1]), ended)
            for (planned, _), record in zip(ended, written, strict=True):
                self._keep(planned, record)

    def _is_tried_again(self, batch: list[PlannedJob], error: Exception) -> bool:
        if len(batch) > 1:
            return True
        key = batch[0].job.key
        self.lost[key] += 1
        if isinstance(error, CancelledError):
            # A cluster that was restarted forgets calls; that is not the fault of the job.
            return self.lost[key] <= _MOST_FORGOTTEN
        # Somebody may have killed its process; if it dies again, the job is at fault.
        return isinstance(error, BrokenExecutor) and self.lost[key] <= _MOST_DEATHS

    def _keep(self, planned: PlannedJob, record: Record) -> None:
        self.claims.release(planned.job.key)
        self.seconds[_work_of(planned.job)] = sum(record.seconds.values())
        self.known[record.key] = record
        self.listener.on_job_end(planned, record)


def _kind_of(job: Job) -> _Kind:
    return job.method, json.dumps(job.parameters, sort_keys=True)


def _work_of(job: Job) -> str:
    """Return what jobs share that take about as long; on other data they may take days."""
    return json.dumps([job.data, *_kind_of(job), job.grid, job.by_epoch], sort_keys=True)
