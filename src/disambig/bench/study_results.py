"""What a store has of a study: results, those of other code, metrics added later."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from disambig._core.errors import DisambigError, RecordError, StudyError
from disambig.bench.evaluate import metric_code
from disambig.bench.plan import Plan, PlannedJob, make_plan
from disambig.bench.record import Job, Record, changed_modules
from disambig.bench.settings import Study
from disambig.bench.store import RecordStore
from disambig.bench.trial import make_trial
from disambig.metrics import METRICS


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A plan and the records of its jobs.

    Attributes
    ----------
    plan : Plan
        The study and its jobs.
    records : dict of Record
        By the keys of the jobs.
    notices : tuple of str
        What was run again and why, or was made by other code; what was computed later.
    gaps : tuple of str
        Metrics of the study that records lack, and why.
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
    """What a store has of a plan.

    Attributes
    ----------
    plan : Plan
        What was looked for.
    records : dict of Record
        Made by the code that is here, by the keys of their jobs; failures are among them.
    of_other_code : dict of Record
        For jobs without such a record: the latest result by other code.
    damaged : list of RecordError
        Records that cannot be read.
    late_metrics, gaps : list of str
        Metrics of the study that were computed now, and those that could not be.
    too_little : set of str
        Keys of records that have too little to compute a metric of the study.
    """

    plan: Plan
    records: dict[str, Record] = field(default_factory=dict)
    of_other_code: dict[str, Record] = field(default_factory=dict)
    damaged: list[RecordError] = field(default_factory=list)
    late_metrics: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    too_little: set[str] = field(default_factory=set)

    def code_notices(self, what_now: str) -> Iterator[str]:
        """Yield what has results by other code: which methods, what changed, what is done now."""
        jobs = _unique(self.plan)
        groups: dict[str, list[str]] = {}
        for planned in jobs:
            if record := self.of_other_code.get(planned.job.key):
                change = _what_changed(record, planned.job)
                groups.setdefault(change, []).append(planned.method_title)
        for change, titles in groups.items():
            yield (
                f"{len(titles)} of {len(jobs)} jobs have results by other code of "
                f"{', '.join(dict.fromkeys(titles))} ({change}). {what_now}"
            )


def _what_changed(record: Record, job: Job) -> str:
    if not record.code:
        return f"disambig {record.version}, which did not record its code"
    changed = changed_modules(record.code, job.code)
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"changed: {', '.join(changed[:3])}{more}"


def _unique(plan: Plan) -> list[PlannedJob]:
    """Return every job once, though two methods of a study may be the same."""
    jobs: dict[str, PlannedJob] = {}
    for planned in plan.jobs:
        jobs.setdefault(planned.job.key, planned)
    return list(jobs.values())


def find_records(plan: Plan, store: RecordStore) -> FoundRecords:
    """Look for the records of a plan, and compute the metrics that they lack."""
    found = FoundRecords(plan)
    jobs = _unique(plan)
    for planned in jobs:
        try:
            record = store.read(planned.job.key)
        except RecordError as error:
            found.damaged.append(error)
            continue
        if record is not None:
            found.records[planned.job.key] = record
    missing = [planned.job for planned in jobs if planned.job.key not in found.records]
    found.of_other_code.update(store.of_other_code(missing))
    _add_metrics(found, jobs, store)
    return found


def _add_metrics(found: FoundRecords, jobs: list[PlannedJob], store: RecordStore) -> None:
    computed: Counter[str] = Counter()
    gaps: Counter[str] = Counter()
    for planned in jobs:
        key = planned.job.key
        records = found.records if key in found.records else found.of_other_code
        record = records.get(key)
        names = _outdated_metrics(record, key) if record and record.is_done else []
        if not record or not names:
            continue
        metrics = {name: value for name, value in record.metrics.items() if name not in names}
        late, problems = _late_metrics(planned, record, names, store)
        records[key] = replace(record, metrics=metrics | late)
        computed.update(list(late))
        for name, error in problems.items():
            if name in found.plan.study.metrics:
                gaps[f"{name} cannot be computed for {{}} records: {error}"] += 1
                if isinstance(error, RecordError):
                    found.too_little.add(key)
    for name in found.plan.study.metrics:
        if computed[name]:
            found.late_metrics.append(
                f"{name} was computed from the kept predictions of {computed[name]} records, "
                "which were made before it."
            )
    found.gaps.extend(gap.format(count) for gap, count in gaps.items())


def _outdated_metrics(record: Record, key: str) -> list[str]:
    """Return the metrics that a record lacks or, if it is of the code here, has by other code."""
    return [
        name
        for name in METRICS
        if name not in record.metrics
        or (record.key == key and record.metric_code.get(name) != metric_code(name))
    ]


def _late_metrics(
    planned: PlannedJob, record: Record, names: list[str], store: RecordStore
) -> tuple[dict[str, float], dict[str, Exception]]:
    """Return metrics from kept predictions, and what is wrong with those that cannot be had."""
    try:
        trial = make_trial(planned.dataset, planned.job.split, planned.job.corruption)
        outcome = store.read_predictions(record).outcome_on(trial)
    except DisambigError as error:
        return {}, dict.fromkeys(names, error)
    metrics: dict[str, float] = {}
    problems: dict[str, Exception] = {}
    for name in names:
        try:
            metrics[name] = METRICS[name].compute(outcome)
        # A metric may raise anything, and the others are still there.
        except Exception as error:  # noqa: BLE001
            problems[name] = error
    return metrics, problems


@dataclass(frozen=True, eq=False)
class StoredResults:
    """What a store has of a study.

    Attributes
    ----------
    result : StudyResult
        The jobs that have a record, and these; what failed is among them.
    n_missing : int
        Jobs of the study without a record that can be read.
    damaged : tuple of RecordError
        Records that cannot be read; their jobs count as missing.
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


def read_results(study: Study, store: str | os.PathLike[str]) -> StoredResults:
    """Return what a store has of a study; nothing is run, and nothing is written.

    Results that were made by other code are taken where there are none by the code that is here;
    the notices say so.

    Parameters
    ----------
    study : Study
        Its data must be there, because a record is known by the data that it is about.
    store : path
        Folder of the records.
    """
    plan = make_plan(study)
    found = find_records(plan, RecordStore(store))
    records = found.of_other_code | found.records
    recorded = tuple(planned for planned in plan.jobs if planned.job.key in records)
    if not recorded:
        raise StudyError(
            f"There is no record of {study.name!r} in {os.fspath(store)!r} that can be read. Run "
            "the study first, or name the folder of its records by --store."
        )
    what_now = "They are shown as they were recorded; 'disambig study' runs them again."
    notices = (*found.code_notices(what_now), *found.late_metrics)
    result = StudyResult(Plan(study, recorded), records, notices, tuple(found.gaps))
    return StoredResults(result, len(plan.jobs) - len(recorded), tuple(found.damaged))
