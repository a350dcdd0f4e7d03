"""What a store has of a study: results, those of other code, metrics added later."""

import os
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace

from disambig._core.errors import DisambigError, RecordError, StudyError
from disambig._core.messages import plural
from disambig.bench.evaluate import metric_code, outcome_of
from disambig.bench.plan import Plan, PlannedJob, make_plan
from disambig.bench.record import Job, Record, changed_modules
from disambig.bench.settings import Study
from disambig.bench.store import RecordStore
from disambig.metrics.registry import METRICS


@dataclass(frozen=True, eq=False)
class StudyResult:
    """The results of a study: its plan and the records of its jobs.

    Attributes
    ----------
    plan : Plan
        The study and its jobs.
    records : dict of Record
        Records by the key of their job.
    notices : tuple of str
        Remarks on the records: what was run again and why, what was made by other code.
    gaps : tuple of str
        Metrics of the study that records lack, and why.

    See Also
    --------
    run_study : Makes it.
    make_report : Makes tables, charts and findings of it.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> planned, record = result.jobs()[0]
    >>> planned.data_title, planned.method_title, record.status
    ('glass, p=0.3, r=1', 'PLKNN', 'done')
    """

    plan: Plan
    records: dict[str, Record]
    notices: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()

    def jobs(self) -> list[tuple[PlannedJob, Record]]:
        """Return every job with its record."""
        return [(planned, self.records[planned.job.key]) for planned in self.plan.jobs]

    @property
    def failed(self) -> list[tuple[PlannedJob, Record]]:
        """Jobs that went wrong, with their records."""
        return [(planned, record) for planned, record in self.jobs() if not record.is_done]


@dataclass(frozen=True, eq=False)
class FoundRecords:
    """What a store has of a plan; jobs go by their keys."""

    plan: Plan
    # Made by the code that is here; failures are among them.
    records: dict[str, Record] = field(default_factory=dict)
    # For jobs without such a record: the latest result by other code.
    of_other_code: dict[str, Record] = field(default_factory=dict)
    damaged: list[RecordError] = field(default_factory=list)
    # Metrics that were computed now, each with the number of records.
    computed: Counter[str] = field(default_factory=Counter)
    # Why metrics of the study cannot be computed, by job and metric.
    problems: dict[str, dict[str, Exception]] = field(default_factory=dict)

    def code_notices(self, what_now: str) -> Iterator[str]:
        """Yield which methods have results by other code, what changed, and what is done now."""
        groups: dict[str, list[str]] = {}
        for key, planned in self.plan.by_key.items():
            if record := self.of_other_code.get(key):
                change = _what_changed(record, planned.job)
                groups.setdefault(change, []).append(planned.method_title)
        for change, titles in groups.items():
            yield (
                f"{len(titles)} of {len(self.plan.by_key)} jobs "
                f"({', '.join(dict.fromkeys(titles))}) were recorded with other code: {change}. "
                f"{what_now}"
            )

    def metric_notices(self) -> Iterator[str]:
        """Yield which metrics of the study were computed from kept predictions."""
        for name in self.plan.study.metrics:
            if self.computed[name]:
                yield (
                    f"{name} was computed from the kept predictions of "
                    f"{plural(self.computed[name], 'record')} made before it."
                )

    def gaps(self, keys: Container[str]) -> Iterator[str]:
        """Yield which metrics of the study these jobs lack, and why."""
        lacking = [self.problems[key] for key in self.problems if key in keys]
        gaps = Counter((name, str(error)) for one in lacking for name, error in one.items())
        for (name, why), count in gaps.items():
            yield f"{name} cannot be computed for {plural(count, 'record')}: {why}"

    def has_too_little(self, key: str) -> bool:
        """Tell whether the record of a job lacks what a metric of the study is computed from."""
        return any(isinstance(error, RecordError) for error in self.problems.get(key, {}).values())


def _what_changed(record: Record, job: Job) -> str:
    if not record.code:
        return f"that of disambig {record.version}, which did not record it"
    changed = changed_modules(record.code, job.code)
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"{', '.join(changed[:3])}{more} changed"


def find_records(plan: Plan, store: RecordStore) -> FoundRecords:
    """Look for the records of a plan, and compute the metrics that they lack."""
    found = FoundRecords(plan)
    for key in plan.by_key:
        try:
            record = store.read(key)
        except RecordError as error:
            found.damaged.append(error)
        else:
            if record is not None:
                found.records[key] = record
    missing = [planned.job for key, planned in plan.by_key.items() if key not in found.records]
    found.of_other_code.update(store.of_other_code(missing))
    for records in (found.records, found.of_other_code):
        for key, record in records.items():
            if record.is_done:
                records[key] = _with_every_metric(found, plan.by_key[key], record, store)
    return found


def _with_every_metric(
    found: FoundRecords, planned: PlannedJob, record: Record, store: RecordStore
) -> Record:
    """Return a record with the metrics that it lacks, or has by other code than is here.

    A record that was made by other code keeps what it has.
    """
    names = [
        name
        for name in METRICS
        if name not in record.metrics
        or (record.key == planned.job.key and record.metric_code.get(name) != metric_code(name))
    ]
    if not names:
        return record
    metrics = {name: value for name, value in record.metrics.items() if name not in names}
    problems: dict[str, Exception] = {}
    try:
        trial = planned.job.trial_on(planned.dataset)
        outcome = outcome_of(store.read_predictions(record), trial)
    except DisambigError as error:
        problems = dict.fromkeys(names, error)
    else:
        for name in names:
            try:
                metrics[name] = METRICS[name].compute(outcome)
                found.computed[name] += 1
            # A metric may raise anything, and the others are still there.
            except Exception as error:  # noqa: BLE001
                problems[name] = error
    asked = {name: problems[name] for name in found.plan.study.metrics if name in problems}
    if asked:
        found.problems[planned.job.key] = asked
    return replace(record, metrics=metrics)


@dataclass(frozen=True, eq=False)
class StoredResults:
    """The results of a study that are in a store.

    Attributes
    ----------
    result : StudyResult
        The jobs that have a record, including those that failed.
    n_missing : int
        Number of jobs without a readable record.
    damaged : tuple of RecordError
        Records that cannot be read; their jobs count as missing.

    See Also
    --------
    read_results : Makes it.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import read_results
    >>> stored = read_results(study, folder.name)
    >>> stored.n_missing, stored.damaged
    (0, ())
    """

    result: StudyResult
    n_missing: int
    damaged: tuple[RecordError, ...]

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader of the results has to know about them, and about what is not there."""
        notices = [*map(str, self.damaged), *self.result.notices, *self.result.gaps]
        if self.n_missing:
            n_jobs = self.n_missing + len(self.result.plan.jobs)
            notices.append(f"{self.n_missing} of {n_jobs} jobs have no record yet.")
        return tuple(notices)


def read_results(
    study: Study, store: str | os.PathLike[str], *, max_jobs: int | None = None
) -> StoredResults:
    """Read the results of a study from a store; nothing is run or written.

    Where there are no results by the installed code, those by other code are used; the notices say
    so.

    Parameters
    ----------
    study : Study
        The study. Its data must be available, because records are identified by their data.
    store : path
        Folder of the records.
    max_jobs : int, default=100_000
        Refuse a study of more jobs.

    See Also
    --------
    run_study : Runs what is missing.

    Examples
    --------
    Continues the example of :func:`run_study`:

    >>> from disambig.bench import read_results
    >>> stored = read_results(study, folder.name)
    >>> len(stored.result.records)
    20
    """
    plan = make_plan(study, max_jobs=max_jobs)
    found = find_records(plan, RecordStore(store))
    records = found.of_other_code | found.records
    recorded = tuple(planned for planned in plan.jobs if planned.job.key in records)
    if not recorded:
        raise StudyError(
            f"There is no record of {study.name!r} in {os.fspath(store)!r} that can be read. Run "
            "the study first, or name the folder of its records with --store."
        )
    what_now = "They are shown as they were recorded; 'disambig study' runs them again."
    notices = (*found.code_notices(what_now), *found.metric_notices())
    gaps = tuple(found.gaps(records))
    result = StudyResult(Plan(study, recorded), records, notices, gaps)
    return StoredResults(result, len(plan.jobs) - len(recorded), tuple(found.damaged))
