"""How a study ran: where, when, how long, and what failed."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from disambig._core.messages import plural
from disambig.bench.formats import Table
from disambig.bench.record import Record
from disambig.bench.run_table import STEPS
from disambig.bench.study_results import StudyResult
from disambig.bench.wording import MISSING


def run_details(result: StudyResult) -> list[tuple[str, str]]:
    """Return what is to be known of the runs, name and value; where records differ, all values."""
    records = list({record.key: record for _, record in result.jobs()}.values())
    finished = sorted(record.finished for record in records)
    seeds = sorted({planned.job.split.seed for planned in result.plan.jobs})
    packages = sorted({name for record in records for name in _packages(record)})
    details = [
        ("Protocol", result.plan.study.protocol.sentence),
        ("Seeds", ", ".join(map(str, seeds))),
        ("First record", finished[0]),
        ("Last record", finished[-1]),
        ("disambig", _values(record.version for record in records)),
        ("Python", _values(record.environment.get("python") for record in records)),
    ]
    details += [
        (name, _values(_packages(record).get(name) for record in records)) for name in packages
    ]
    details += [
        ("System", _values(_system(record) for record in records)),
        ("Processor", _values(record.environment.get("processor") for record in records)),
        ("Cores", _values(record.environment.get("cores") for record in records)),
        ("Graphics card", _values(record.environment.get("cuda") for record in records)),
    ]
    return [(name, value) for name, value in details if value]


def seconds_table(scores: Any) -> Table:
    """Return how long every method took: on average for each step of a job, and in all.

    Parameters
    ----------
    scores : DataFrame
        Records of a study.
    """
    rows = []
    for method, jobs in scores.groupby("method", sort=False):
        steps = [jobs[f"{step}_seconds"].dropna() for step in STEPS]
        total = math.fsum(seconds.sum() for seconds in steps)
        means = (_seconds(values.mean()) if len(values) else MISSING for values in steps)
        rows.append((str(method), str(len(jobs)), *means, _seconds(total)))
    return Table(
        title="Seconds by method",
        header=("method", "jobs", "to choose parameters", "to fit", "to predict", "all jobs"),
        rows=tuple(rows),
        notes=(
            "Means over jobs, and their sum. Folds that were trained side by side share the time "
            "of their training.",
        ),
    )


def failure_table(result: StudyResult) -> Table:
    """Return what went wrong, a row for every job that failed."""
    rows = []
    for planned, record in result.failed:
        error = record.error or {}
        kind, message = error.get("type", ""), " ".join(error.get("message", "").split())
        rows.append((planned.title, kind, message))
    return Table("Jobs that failed", ("job", "error", "message"), tuple(rows))


def _packages(record: Record) -> dict[str, Any]:
    packages = record.environment.get("packages")
    return packages if isinstance(packages, dict) else {}


def _system(record: Record) -> str | None:
    """Return the name of the system, without its kernel, which does not change results."""
    system = record.environment.get("system")
    return system.partition("-")[0] if isinstance(system, str) else None


def _values(values: Iterable[Any]) -> str:
    """Return the value that all records have; where they differ, each with how many have it."""
    counts = Counter(None if value is None else str(value) for value in values)
    if set(counts) == {None}:
        return ""
    named = {"none" if value is None else value: n for value, n in counts.most_common()}
    if len(named) == 1:
        return next(iter(named))
    return "; ".join(f"{value} ({plural(n, 'job')})" for value, n in named.items())


def _seconds(seconds: float) -> str:
    return f"{seconds:,.3f}" if seconds < 10 else f"{seconds:,.0f}"
