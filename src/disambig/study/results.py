"""The records of a study: those that are there, read without running anything."""

import os
from dataclasses import dataclass

from disambig._core.errors import RecordError, StudyError
from disambig.study.plan import Plan, PlannedJob, make_plan
from disambig.study.record import Record
from disambig.study.settings import Study
from disambig.study.store import RecordStore

__all__ = ["StoredResults", "StudyResult", "read_results", "stored_records"]


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A plan and the records of its jobs, by their keys."""

    plan: Plan
    records: dict[str, Record]

    def jobs(self) -> list[tuple[PlannedJob, Record]]:
        """Return every job with its record."""
        return [(planned, self.records[planned.job.key]) for planned in self.plan.jobs]

    @property
    def failed(self) -> list[tuple[PlannedJob, Record]]:
        """Jobs that went wrong, with their records."""
        return [(planned, record) for planned, record in self.jobs() if not record.is_done]


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
        """What a reader of the results has to know about what is not there."""
        notices = [str(error) for error in self.damaged]
        if self.n_missing:
            n_jobs = self.n_missing + len(self.result.plan.jobs)
            notices.append(f"{self.n_missing} of {n_jobs} jobs have no record yet.")
        return tuple(notices)


def read_results(study: Study, store: str | os.PathLike[str]) -> StoredResults:
    """Return what a store has of a study; nothing is run, and nothing is written.

    Parameters
    ----------
    study : Study
        Its data must be at hand, because a record is known by the data that it is about.
    store : path
        Folder of the records.
    """
    plan = make_plan(study)
    records, damaged = stored_records(plan, RecordStore(store))
    there = tuple(planned for planned in plan.jobs if planned.job.key in records)
    if not there:
        raise StudyError(
            f"There is no record of {study.name!r} in {os.fspath(store)!r} that can be read. Run "
            "the study first, or name the folder of its records by --store."
        )
    result = StudyResult(Plan(study, there), records)
    return StoredResults(result, len(plan.jobs) - len(there), tuple(damaged))


def stored_records(plan: Plan, store: RecordStore) -> tuple[dict[str, Record], list[RecordError]]:
    """Return the records of a plan that are in a store, by key, and what is wrong with others."""
    records, damaged = {}, []
    for key in dict.fromkeys(planned.job.key for planned in plan.jobs):
        try:
            record = store.read(key)
        except RecordError as error:
            damaged.append(error)
            continue
        if record is not None:
            records[key] = record
    return records, damaged
